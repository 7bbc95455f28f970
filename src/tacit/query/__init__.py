"""Chapter 5, how a question becomes an exact answer."""
