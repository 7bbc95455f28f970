"""Chapter 8, why believe it: attacks that work on weaker ways, and measurements of ours."""
