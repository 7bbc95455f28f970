"""Attacks on published tables: what a generalized table, its publisher's choices and exact marginals disclose."""
