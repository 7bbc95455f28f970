"""Chapter 4, how a question becomes an exact answer."""
