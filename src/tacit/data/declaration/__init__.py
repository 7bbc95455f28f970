"""Reads any TOML file by a schema, with line numbers, and reports all of its problems at once."""
