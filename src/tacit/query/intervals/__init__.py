"""Intervals around released numbers: from their noise, through everything that a question makes of them."""
