"""The distributed engine: Apache Spark on a prepared store of Parquet files."""
