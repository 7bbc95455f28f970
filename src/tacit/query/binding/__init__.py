"""Names, types and ranges: what the syntax tree means over the catalog."""
