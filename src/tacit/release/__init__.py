"""Chapter 6, what leaves: released numbers with their intervals, their price and their receipt."""
