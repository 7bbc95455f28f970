"""SELECT from an answer: what is a question of its own, and what is made of its released rows without another look at data."""
