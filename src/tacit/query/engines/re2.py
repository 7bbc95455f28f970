"""Regular expressions over declared values, matched by RE2: in time linear in the text, whatever the pattern.

An empty DuckDB in memory has it. Python's own matcher may take exponential time, and so is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from tacit.errors import InvalidSQL, NotAllowed

LONGEST_PATTERN = 500


def matching(texts: Sequence[str], pattern: str) -> list[str]:
    """Those of the texts of which some part matches.

    >>> matching(["north", "south", "east"], "^(n|s).*th$")
    ['north', 'south']
    """
    if len(pattern) > LONGEST_PATTERN:
        raise NotAllowed(f"a regular expression has at most {LONGEST_PATTERN} characters", remedy="write a shorter one")
    return list(_matching(tuple(texts), pattern))


@lru_cache(maxsize=64)
def _matching(texts: tuple[str, ...], pattern: str) -> tuple[str, ...]:
    import duckdb

    query = "SELECT text FROM (SELECT unnest(?::VARCHAR[]) AS text) WHERE regexp_matches(text, ?)"
    try:
        rows = _engine().cursor().execute(query, [list(texts), pattern]).fetchall()
    except duckdb.Error:
        raise InvalidSQL("invalid regular expression", remedy="write one that RE2 reads, such as '^(north|south)$'") from None
    held = {text for (text,) in rows}
    return tuple(text for text in texts if text in held)


@cache
def _engine() -> Any:
    """An engine with no data and no way to any."""
    import duckdb

    engine = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False, "threads": 1})
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")
    return engine
