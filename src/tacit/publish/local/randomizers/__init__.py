"""What runs on a respondent's device: one file, one randomizer."""
