"""Chapter 4: the catalog, and how data is prepared."""
