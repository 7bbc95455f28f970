"""So that nobody starves the rest: how many connections one address, and one account, may hold."""
