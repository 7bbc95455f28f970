"""A Spark cluster: where it is, sessions on it, and a store that it makes."""
