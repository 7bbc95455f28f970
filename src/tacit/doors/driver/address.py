"""Addresses of a data set for drivers: which catalog or server, who asks, and with which budget.

    tacit:///tacit.toml?analyst=ana&epsilon=0.1                     a catalog on this machine
    tacit+https://stats.example.org/?epsilon=0.1&most=1             a server, with the token of `tacit login`
    tacit+https://ana:TOKEN@stats.example.org/?epsilon=0.1          a server, with the token in the address

There is no default epsilon: a question without one, in the address or in its SQL, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tacit.doors.limited import limit_of
from tacit.errors import InvalidInput
from tacit.privacy.rounding import exact

SCHEMES = {"tacit": "", "tacit+https": "https", "tacit+http": "http"}
BUDGET = ("epsilon", "delta", "error", "confidence")
INTERVALS = ("columns", "none")
OPTIONS = (*BUDGET, "most", "intervals", "analyst", "ca", "simultaneous")
EXAMPLES = "expected tacit:///tacit.toml or tacit+https://stats.example.org"


@dataclass(frozen=True, slots=True)
class Address:
    """A data set and how it is asked. The token never appears in its repr."""

    catalog: str = ""
    server: str = ""
    token: str = field(default="", repr=False)
    analyst: str | None = None
    ca: str | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    most: Fraction | None = None
    intervals: str = "columns"

    @property
    def place(self) -> str:
        """The catalog or the server, for messages."""
        return self.server or self.catalog


def read_address(text: str, options: Mapping[str, Any] | None = None) -> Address:
    """The address that a text is; `options` count more than what is written in it.

    >>> read_address("tacit:///tacit.toml?epsilon=0.1").budget
    {'epsilon': '0.1'}
    """
    if not isinstance(text, str) or "://" not in text:
        raise InvalidInput(f"the address must be a URL; {EXAMPLES}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidInput(f"invalid address; {EXAMPLES}") from None
    if parts.scheme not in SCHEMES or parts.fragment:
        raise InvalidInput(f"unsupported address; {EXAMPLES}")
    written = parse_qsl(parts.query, keep_blank_values=True)
    if len({name for name, _ in written}) < len(written):
        raise InvalidInput("an option of the address is given twice; give each once")
    place: dict[str, Any] = {}
    if scheme := SCHEMES[parts.scheme]:
        if not parts.hostname or parts.path not in ("", "/"):
            raise InvalidInput("a server has no path; expected for example tacit+https://stats.example.org")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        place = {"server": f"{scheme}://{host}{f':{port}' if port else ''}", "token": unquote(parts.password or "")}
    elif parts.netloc:
        raise InvalidInput("a catalog follows three slashes; expected for example tacit:///tacit.toml")
    else:
        place = {"catalog": unquote(parts.path[1:]) or "tacit.toml"}  # four slashes for an absolute path, as SQLAlchemy writes it
    named = {"analyst": unquote(parts.username)} if parts.username else {}
    return with_options(place, {**named, **dict(written), **(options or {})})


def with_options(place: Mapping[str, Any], options: Mapping[str, Any]) -> Address:
    """The address with its options, each of them checked."""
    unknown = sorted(set(options) - {*OPTIONS, "token"})
    if unknown:
        raise InvalidInput(f"unknown option {unknown[0][:40]!r} of an address; expected {', '.join(OPTIONS)}")
    kept = {name: value for name, value in options.items() if value not in (None, "")}
    intervals = kept.get("intervals", "columns")
    if intervals not in INTERVALS:
        raise InvalidInput(f"intervals must be {' or '.join(INTERVALS)}", argument="intervals")
    budget = {name: kept[name] for name in BUDGET if name in kept}
    for name, value in budget.items():
        exact(value, name)
    if str(kept.get("simultaneous", "")).lower() in ("true", "1"):
        budget["simultaneous"] = True
    most = limit_of(kept.get("most"))
    chosen: dict[str, Any] = dict(place)
    chosen |= {name: value for name, value in kept.items() if name in ("token", "analyst", "ca")}
    return Address(**chosen, budget=budget, most=most, intervals=intervals)
