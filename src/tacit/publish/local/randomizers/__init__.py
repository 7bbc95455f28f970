"""The code that runs on a respondent's device: one file, one randomizer."""
