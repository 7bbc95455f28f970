"""Chapter 1, what is promised: values only, no data, no randomness."""
