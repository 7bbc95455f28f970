"""Names and texts quoted as SQL of the engine."""

from __future__ import annotations


def name(identifier: str) -> str:
    """An identifier as SQL.

    >>> print(name('a "b" c'))
    "a ""b"" c"
    """
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL, which cannot contain NUL.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''").replace("\0", "\ufffd") + "'"
