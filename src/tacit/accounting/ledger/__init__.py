"""What was spent, by whom and for what: a chain of entries that nothing resets."""
