"""Stability, worst work, error and price of a plan."""
