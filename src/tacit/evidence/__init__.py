"""Chapter 8, why believe it: attacks on weaker release methods, and measurements of tacit itself."""
