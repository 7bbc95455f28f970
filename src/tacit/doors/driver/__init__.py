"""Drivers for programs that speak SQL to a database: PEP 249 and SQLAlchemy."""
