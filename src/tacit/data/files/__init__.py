"""The supported sources and their readers: CSV, Parquet, DuckDB and PostgreSQL."""
