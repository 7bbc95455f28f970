"""What can be read, and how: CSV, Parquet, DuckDB and PostgreSQL."""
