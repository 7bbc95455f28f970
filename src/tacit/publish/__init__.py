"""Chapter 6: other ways to publish; each folder can be read alone."""
