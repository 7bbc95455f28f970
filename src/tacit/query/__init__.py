"""Chapter 5: from a query to an exact answer."""
