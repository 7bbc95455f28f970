"""Any TOML file with its lines, a schema, and all of its problems at once."""
