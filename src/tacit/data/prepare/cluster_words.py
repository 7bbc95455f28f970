"""SQL as Spark spells it."""

from __future__ import annotations

import re
from collections.abc import Mapping

QUOTED = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")*)\"")


def spelled(query: str, views: Mapping[str, str]) -> str:
    """SQL with names as Spark quotes them, and with the names of its views.

    >>> print(spelled('SELECT "a ""b" FROM "tacit_staged x" WHERE c <> "d"', {"tacit_staged x": "tacit_view_0"}))
    SELECT `a "b` FROM tacit_view_0 WHERE c <> `d`
    """

    def one(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        known = found[1].replace('""', '"')
        return views.get(known) or f"`{known.replace('`', '``')}`"

    return QUOTED.sub(one, query)
