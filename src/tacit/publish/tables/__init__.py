"""Generalized tables and exact marginals. Nothing here is differentially private, and the results say so."""
