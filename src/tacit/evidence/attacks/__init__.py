"""Attacks: each is a function with its claim, its citation and an example that runs."""
