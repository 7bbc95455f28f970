"""releases.toml: from text to `Releases`, or everything that is wrong with it, each with its key, its line and the remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.data.catalog import read_toml
from tacit.data.declaration import BROKEN, Reading, Wrong, key_lines, shaped
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.privacy.periods import Calendar
from tacit.privacy.rounding import decimal_text, exact
from tacit.publish.releases.declaration import FORMATS, Release, Releases, Synthetic

Declared = Mapping[str, Any]

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
KINDS = ("sql", "stream", "margins", "synthetic")
TAKEN = ("index", "feed", "catalog")
MOST_RELEASES = 200
AMOUNTS = ("epsilon", "delta", "error", "confidence")
PLACES = re.compile(r":(first|last)\b")
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
FILE = "releases.toml"


@cache
def schema() -> Declared:
    """The JSON Schema of releases.toml, which editors can check with."""
    loaded: Declared = json.loads(files("tacit.publish.releases").joinpath("releases.schema.json").read_text("utf-8"))
    return loaded


def read_releases(path: Path) -> Releases:
    """The releases that a file declares."""
    try:
        return parse_releases(path.read_text("utf-8-sig"), path.name)
    except FileNotFoundError:
        raise InvalidCatalog(
            f"release declaration not found: {path}; write it beside the catalog, or name it with --releases"
        ) from None
    except UnicodeDecodeError:
        raise InvalidCatalog(f"{path} is not UTF-8 text; save it as UTF-8") from None


def parse_releases(text: str, name: str = FILE) -> Releases:
    r"""The releases that a text declares; raises `InvalidCatalog` with all problems, and nothing else.

    >>> text = 'title="Clinic"\n[releases.all]\ntitle="All"\nsql="SELECT COUNT(*) AS n FROM visits"\nepsilon=0.1'
    >>> parse_releases(text).releases[0].budget
    (('epsilon', '0.1'),)
    """
    try:
        return _read(text, name)
    except RecursionError:
        raise InvalidCatalog(f"{name} is nested too deeply for a declaration of releases") from None


def _read(text: str, name: str) -> Releases:
    reading = Reading(key_lines(text))
    document = read_toml(text, name)
    _check_seen(document, (), reading)
    declared = shaped(document, reading.report, schema())
    given: Declared = {} if declared.get("releases") in (None, BROKEN) else declared["releases"]
    if len(given) > MOST_RELEASES:
        reading.report(("releases",), f"has {len(given)} releases", f"declare at most {MOST_RELEASES}")
    made = [reading.attempt(("releases", each), partial(_release, each, one)) for each, one in given.items()]
    releases = tuple(each for each in made if isinstance(each, Release))
    for each in releases:
        if each.replaces and each.replaces not in given:
            reading.report(
                ("releases", each.name, "replaces"), f"unknown release {each.replaces!r}", "keep the older release declared"
            )
    if not given and not reading.problems:
        reading.report(("releases",), "has no releases", "declare at least one")
    if reading.problems:
        raise reading.unusable(name)
    own = {key: declared[key] for key in ("title", "about", "url", "publisher", "license", "language", "analyst", "through")
           if key in declared}  # fmt: skip
    return Releases(releases, **own)


def _check_seen(value: Any, path: tuple[str, ...], reading: Reading) -> None:
    """Refuses texts that look like others: control characters, letters without width, and marks that turn the direction."""
    texts = value if isinstance(value, list) else [value]
    if any(isinstance(text, str) and UNSEEN.search(text) for text in texts):
        reading.report(path, "contains an invisible character", "remove control characters and direction marks")
    for key, each in value.items() if isinstance(value, Mapping) else ():
        _check_seen(each, (*path, key), reading)


def _release(name: str, declared: Any) -> Release | None:
    """The release, or None where its shape was reported already."""
    if declared is BROKEN or BROKEN in declared.values():
        return None
    if not NAME.fullmatch(name) or name in TAKEN:
        taken = ", ".join(TAKEN)
        raise Wrong(
            "", "is not a valid release name", f"a name must have lower-case letters, digits and -, and differ from {taken}"
        )
    kinds = [kind for kind in KINDS if kind in declared]
    if len(kinds) != 1:
        raise Wrong("", f"needs exactly one of {', '.join(KINDS[:-1])} and {KINDS[-1]}", 'write for example sql = "SELECT ..."')
    _check_horizon(declared)
    _check_amounts(declared, kinds[0])
    period = declared.get("period", "")
    start = declared.get("from", "")
    sql = _margins(declared["margins"], bool(period)) if kinds[0] == "margins" else declared.get(kinds[0], "")
    sql = sql if isinstance(sql, str) else ""
    _check_period(sql, period, start, kinds[0])
    formats = declared.get("formats", list(FORMATS))
    budget = tuple((each, decimal_text(exact(declared[each]))) for each in AMOUNTS if each in declared)
    return Release(
        name, declared["title"], sql, _synthetic(declared.get("synthetic")), declared.get("horizon"), budget, period, start,
        tuple(each for each in FORMATS if each in formats), declared.get("notes", ""), declared.get("replaces", ""),
    )  # fmt: skip


def _check_amounts(declared: Declared, kind: str) -> None:
    if ("epsilon" in declared) == ("error" in declared):
        raise Wrong("epsilon", "needs exactly one of epsilon and error", "write for example epsilon = 0.1")
    if kind == "synthetic" and (unknown := [each for each in ("error", "confidence") if each in declared]):
        raise Wrong(unknown[0], "is not supported for synthetic rows", "give epsilon, and delta for Gaussian noise")
    if kind == "stream" and not ("epsilon" in declared and declared.get("delta")):
        raise Wrong("delta", "is missing, or epsilon is", "give both for a stream: the price of each period, with Gaussian noise")


def _check_horizon(declared: Declared) -> None:
    """A stream has a number of periods, and nothing else has one."""
    if "stream" in declared and "horizon" not in declared:
        raise Wrong("horizon", "is missing", "say how many periods the stream will ever have, for example horizon = 120")
    if "horizon" in declared and "stream" not in declared:
        raise Wrong("horizon", "is for a stream", 'write the question as stream = "SELECT ...", or remove it')


def _check_period(sql: str, period: str, start: str, kind: str) -> None:
    """A release with a period asks about its days, and one without cannot."""
    places = {found[1] for found in PLACES.finditer(sql)}
    if period and kind == "sql" and places != {"first", "last"}:
        raise Wrong("sql", f"must name the days of its {period}", "add a condition such as WHERE day BETWEEN :first AND :last")
    if kind == "stream" and places != {"last"}:
        raise Wrong("stream", "must name the last day that it reads, and no other", "add a condition such as WHERE day <= :last")
    if kind == "stream" and not period:
        raise Wrong("period", "is missing", 'write the period of the budget, for example period = "month"')
    if not period and (places or start):
        key = "from" if start else "sql"
        raise Wrong(key, "names a period, and the release has none", 'add for example period = "month"')
    if start:
        try:
            Calendar(period).numbered(start)  # type: ignore[arg-type]  # one of the kinds of the schema
        except InvalidInput as error:
            raise Wrong("from", "is not a period of this release", str(error)) from None


def _margins(declared: Declared, periodic: bool) -> str:
    """Counts of all combinations of the columns, and of all their margins; names are quoted as SQL quotes them."""
    if periodic != ("day" in declared):
        what = ("day is missing", "name the date column that decides the period") if periodic else (
            "day needs a period", 'add for example period = "month"',
        )  # fmt: skip
        raise Wrong("margins", *what)
    quoted = [_quoted(each) for each in declared["columns"]]
    where = f" WHERE {_quoted(declared['day'])} BETWEEN :first AND :last" if periodic else ""
    columns = ", ".join(quoted)
    return f"SELECT {columns}, COUNT(*) AS n FROM {_quoted(declared['table'])}{where} GROUP BY CUBE ({columns})"  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _synthetic(declared: Declared | None) -> Synthetic | None:
    if declared is None:
        return None
    return Synthetic(
        declared["table"], tuple(declared["columns"]) if "columns" in declared else None, declared.get("rows"), declared.get("bins")
    )
