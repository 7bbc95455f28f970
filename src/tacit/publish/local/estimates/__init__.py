"""The collector's inference from the reports: estimates, intervals and plans."""
