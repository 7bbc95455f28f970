"""Chapter 2, what it costs."""
