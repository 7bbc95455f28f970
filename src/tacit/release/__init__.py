"""Chapter 5, what leaves: released numbers with their error bars, their price and their receipt."""
