"""Attacks on published tables: the disclosures of a generalized table, of its publisher's choices and of exact marginals."""
