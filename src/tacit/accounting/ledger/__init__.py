"""The record of all spending, with its analyst and its purpose: a chain of entries that nothing resets."""
