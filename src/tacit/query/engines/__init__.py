"""Engines run a plan and return sealed exact integers."""
