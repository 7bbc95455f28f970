"""Stability, worst-case work, error and price of a plan."""
