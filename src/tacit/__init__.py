"""tacit: a private statistical database. The public names are loaded when they are first used."""
