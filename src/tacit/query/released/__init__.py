"""The language of released numbers: SELECT, HAVING, QUALIFY and ORDER BY over aggregates and keys; free, and total."""
