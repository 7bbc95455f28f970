"""SQL and frames, read into a syntax tree."""
