"""The console: pages that the front makes from the clerk's replies. They show released numbers and public facts, and no token."""
