"""Chapter 7, other ways to publish; each folder can be read alone."""
