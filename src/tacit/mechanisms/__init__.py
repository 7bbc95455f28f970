"""Chapter 3, how noise keeps the promise: one file, one mechanism, its proof beside it in a .md."""
