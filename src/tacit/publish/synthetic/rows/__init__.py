"""Synthetic rows and contingency tables from noisy marginals."""
