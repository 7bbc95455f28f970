"""A catalog to fill in: tables and columns by name, with "?" where only the data owner knows the answer.

The draft uses names and declared types alone. Bounds, values and units must be public knowledge, so tacit never guesses them. Every
table is private until the data owner declares otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import category

from tacit.data.catalog.columns import MOST_DIGITS
from tacit.data.declaration import OURS, PLACEHOLDER, folded, key_text, whole_text
from tacit.data.dialect import Nature
from tacit.data.files.kinds import Field, Found
from tacit.data.files.raw import Raw
from tacit.errors import InvalidInput
from tacit.privacy.catalog import MEMORY
from tacit.untrusted import UNSEEN

HEAD = f"""\
# What is declared about this data set. All of it is public knowledge, and none of it is taken from the data: bounds and
# values come from a form, a code book or the law, never from looking at rows. Where "{PLACEHOLDER}" stands, fill in what is true;
# `tacit check` says what is left. `tacit schema` prints a JSON Schema, with which an editor checks and completes this file.

[budget]  # the guarantee over everything ever released, by all analysts together
epsilon = "{PLACEHOLDER}"  # for example 1 (strict) to 8 (loose)
# delta = 1e-7  # needed for private keys; far below one in the number of people

# [analysts.ana]  # policy for one analyst, inside the budget
# epsilon = 0.5
"""

COLUMNS = """\
# A line for each column that may be asked about; take the others away. Ways to declare one:
#   { bounds = [0, 100] }                                       a whole number; others need a step: step = 0.01
#   { values = ["F", "M"], unknown = "other" }                  one of a public list
#   { type = "date", bounds = ["2020-01-01", "2024-12-31"] }    a day
#   { keys = "private" }                                        text whose values are not public
#   { key = true }                                              identifies one row
#   { }                                                         only whether it is there can be asked
# For synthetic rows a number or a day of many values has bins too, said by where each but the first begins: bins = [18, 45, 65]
"""

LONGEST_COMMENT = 100  # characters of a database's comment on a column

DECLARED: Mapping[Nature, Mapping[str, object]] = {
    "integer": {"bounds": PLACEHOLDER},
    "wide": {"bounds": PLACEHOLDER},
    "double": {"bounds": PLACEHOLDER, "step": PLACEHOLDER},
    "truth": {"values": [False, True]},
    "day": {"type": "date", "bounds": PLACEHOLDER},
    "moment": {"type": "date", "bounds": PLACEHOLDER},
}


def draft(listed: Iterable[Found]) -> str:
    """The text of a catalog for the tables that were found: valid TOML, with `"?"` in the places to fill in.

    >>> print(draft([Found("visits", "visits.csv", (Field("patient_id"), Field("cost")))]).partition("[tables.visits]")[2])
    <BLANKLINE>
    source = "visits.csv"
    unit = "?"  # whose a row is: "row" if each row is one person, or { column = "patient_id" }
    # max_rows = 8  # with unit = { ... }: the most rows of one person that any answer uses
    # rows_at_most = 1000000  # the most rows the table may have, a public fact; else 2 million are assumed
    # public = true  # instead of unit, if anybody may know every row
    <BLANKLINE>
    [tables.visits.columns]
    patient_id = "?"
    cost = "?"
    <BLANKLINE>
    """
    tables = _with_unique_names(listed)
    return "\n".join([HEAD, COLUMNS, *("\n".join(_table(table, tables)) for table in tables)])


def draft_of_frames(frames: Mapping[str, Any]) -> str:
    """The draft of a catalog for data frames, from the names and types of their columns: no value is read.

    `prepare(sources={...})` gets the rows later.
    """
    from tacit.data.engine import Workshop
    from tacit.data.files.sources import arrow_columns, as_arrow

    if not frames:
        raise InvalidInput("no frame given; pass at least one, for example tacit.init(visits=frame)")
    found = []
    with TemporaryDirectory(prefix="tacit-") as folder:
        workshop = Workshop(Path(folder), "60%")
        with closing(workshop.engine):
            for name, frame in frames.items():
                schema = as_arrow(_without_rows(frame), str(name)).schema
                columns = arrow_columns(workshop, schema.empty_table())
                fields = tuple(Field(each.name, columns[folded(each.name)].type) for each in schema)
                found.append(Found(folded(str(name)), MEMORY, fields))
    return draft(found)


def _without_rows(frame: Any) -> Any:
    """The frame without its rows, where it can be cut: pandas and Polars by `head`, Arrow by `slice`."""
    if hasattr(frame, "head"):
        return frame.head(0)
    return frame.slice(0, 0) if hasattr(frame, "slice") else frame


def _with_unique_names(tables: Iterable[Found]) -> list[Found]:
    """The tables under unique names that are valid in a catalog."""
    named: list[Found] = []
    for table in tables:
        wanted = name = "table" if _unusable(table.name, ()) else folded(table.name)
        count = 1
        while any(name == other.name for other in named):
            count += 1
            name = f"{wanted}_{count}"
        named.append(replace(table, name=name))
    return named


def _table(table: Found, tables: Sequence[Found]) -> Iterator[str]:
    owner = whole_text(_likely_owner(table, tables))
    yield f"[{key_text(('tables', table.name))}]"
    yield f"source = {whole_text(table.source)}"
    yield from (f"{key} = {whole_text(value)}" for key, value in table.declared.items())
    yield f'unit = "{PLACEHOLDER}"  # whose a row is: "row" if each row is one person, or {owner}'
    yield "# max_rows = 8  # with unit = { ... }: the most rows of one person that any answer uses"
    yield "# rows_at_most = 1000000  # the most rows the table may have, a public fact; else 2 million are assumed"
    yield "# public = true  # instead of unit, if anybody may know every row"
    yield f"\n[{key_text(('tables', table.name, 'columns'))}]"
    for place, field in enumerate(table.fields):
        yield _column(field, [folded(other.name) for other in table.fields[:place]])
    yield ""


def _likely_owner(table: Found, tables: Sequence[Found]) -> dict[str, str]:
    """A guess from names alone: patient_id probably means patients.id. It is written as a comment, so nothing depends on it."""
    named = [folded(field.name) for field in table.fields if _sounds_like_a_key(field.name)]
    declared = [field for field in table.fields if field.references]
    for field in declared:
        led_to, column = field.references or ("", "")
        if any(other.name == folded(led_to) and other is not table for other in tables):
            return {"column": folded(field.name), "references": f"{folded(led_to)}.{folded(column)}"}
    for column in named:
        for other in tables:
            fields = [folded(field.name) for field in other.fields]
            if other is not table and other.name.rstrip("s") == column.removesuffix("_id") and "id" in fields:
                return {"column": column, "references": f"{other.name}.id"}
    return {"column": next((column for column in named if column != "id"), "...")}


def _sounds_like_a_key(name: str) -> bool:
    return folded(name) in ("id", "uuid", "key") or folded(name).endswith(("_id", "_key"))


def _column(field: Field, before: Sequence[str]) -> str:
    name, problem = key_text([field.name]), _unusable(field.name, before)
    if problem:
        return f"# {name} cannot be declared: {problem}"
    if field.type is None:
        return f'{name} = "{PLACEHOLDER}"'
    kind = field.type.partition("(")[0].lower()  # the brackets of an ENUM contain values
    if Raw("", field.type).nature == "nested":
        return f"# {name} cannot be asked about: it is of the type {kind}"
    return f"{name} = {whole_text(_column_draft(field))}  # {kind}{_said(field)}"


def _said(field: Field) -> str:
    """The comment of a database on a column, on one line."""
    said = " ".join(UNSEEN.sub(" ", field.comment).split())
    printed = "".join(character for character in said if category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return f": {printed[:LONGEST_COMMENT]}" if printed else ""


def _column_draft(field: Field) -> object:
    if field.key:
        return {"key": True}
    if field.values:
        return {"values": list(field.values), **({"unknown": "drop"} if field.required else {})}
    drafted = _kind_draft(field)
    if isinstance(drafted, Mapping) and "bounds" in drafted:
        bounds = {} if field.bounds is None else {"bounds": list(field.bounds)}
        return {**drafted, **bounds, **({"nulls": "drop"} if field.required else {})}
    return drafted


def _kind_draft(field: Field) -> object:
    raw = Raw("", field.type or "")
    if raw.nature != "decimal":
        return PLACEHOLDER if _sounds_like_a_key(field.name) else DECLARED.get(raw.nature, PLACEHOLDER)
    scale = raw.digits[1]
    step = {"step": Decimal(1).scaleb(-scale) if scale <= MOST_DIGITS else PLACEHOLDER}
    return {"bounds": PLACEHOLDER} | (step if scale else {})


def _unusable(name: str, before: Sequence[str]) -> str:
    """Why a name cannot be used in a catalog, or None."""
    if not name:
        return "it has no name"
    if UNSEEN.search(name) or any(category(character) == "Cc" for character in name):
        return "its name has control characters or marks of writing direction"
    if folded(name).startswith(OURS):
        return f"names that begin with {OURS} are tacit's own"
    return "another column has the same name, and names match without case" if folded(name) in before else ""
