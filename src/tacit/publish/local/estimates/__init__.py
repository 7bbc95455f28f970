"""What a collector learns from the reports: estimates, intervals and plans."""
