"""Chapter 6: released numbers with their intervals, their price and their receipt."""
