"""A catalog to fill in: tables and columns by name, with "?" where only the data owner knows the answer.

The draft uses names and declared types alone. Bounds, values and units must be public knowledge, so tacit never guesses them. Every
table is private until the data owner declares otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import category

from tacit.data.catalog.suggest import Declaration, Suggestion, by_name, by_type, sounds_like_a_key, suggest_unit
from tacit.data.declaration import OURS, PLACEHOLDER, folded, key_text, whole_text
from tacit.data.files.kinds import Field, Found
from tacit.errors import InvalidInput
from tacit.privacy.catalog import MEMORY
from tacit.untrusted import UNSEEN

SCHEMA = ".tacit/tacit.schema.json"  # beside the catalog: an editor finds it without a network
HEAD = f"""\
#:schema ./{SCHEMA}
# What is declared about this data set. All of it is public knowledge, and none of it is taken from the data: bounds and
# values come from a form, a code book or the law, never from looking at rows. Where "{PLACEHOLDER}" stands, fill in what is true;
# `tacit check` says what is left. The first line lets an editor check and complete this file.

[budget]  # the guarantee over everything ever released, by all analysts together
"""
NO_BUDGET = f"""\
epsilon = "{PLACEHOLDER}"  # for example 1 (strict) to 8 (loose)
# delta = 1e-7  # needed for private keys; far below one in the number of people
"""
ANALYSTS = """
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


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of the data owner about one table: keys of `[tables.NAME]`, and columns by their names in the source.

    A column that is None is left out, and so is a table that is `left_out`. A column that is missing is still open, with the
    suggestion of its name in a comment.
    """

    keys: Mapping[str, object] = field(default_factory=dict)
    columns: Mapping[str, Declaration | None] = field(default_factory=dict)
    left_out: bool = False


def draft(listed: Iterable[Found], answers: Sequence[Answers] = (), budget: Mapping[str, object] | None = None) -> str:
    """The text of a catalog for the tables that were found: valid TOML, with `"?"` in the places to fill in.

    >>> print(draft([Found("visits", "visits.csv", (Field("patient_id"), Field("age")))]).partition("[tables.visits]")[2])
    <BLANKLINE>
    source = "visits.csv"
    unit = "?"  # whose a row is: "row" if each row is one person, or { column = "patient_id" } with max_rows = 8
    rows_at_most = "?"  # the most rows the table can ever have, a public fact: 100000, 1000000, 10000000 ...
    # public = true  # instead of both, if anybody may know every row
    <BLANKLINE>
    [tables.visits.columns]
    patient_id = "?"
    age = "?"  # perhaps { bounds = [0, 120] }
    <BLANKLINE>
    """
    tables = with_unique_names(listed)
    given = [*answers, *([Answers()] * (len(tables) - len(answers)))]
    own = "".join(f"{key} = {whole_text(value)}\n" for key, value in (budget or {}).items())
    head = HEAD + (own or NO_BUDGET) + ANALYSTS
    bodies = ("\n".join(_table(table, tables, each)) for table, each in zip(tables, given, strict=True) if not each.left_out)
    return "\n".join([head, COLUMNS, *bodies])


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


def with_unique_names(tables: Iterable[Found]) -> list[Found]:
    """The tables under unique names that are valid in a catalog."""
    named: list[Found] = []
    for table in tables:
        wanted = name = "table" if unusable(table.name, ()) else folded(table.name)
        count = 1
        while any(name == other.name for other in named):
            count += 1
            name = f"{wanted}_{count}"
        named.append(replace(table, name=name))
    return named


def _table(table: Found, tables: Sequence[Found], answers: Answers) -> Iterator[str]:
    yield f"[{key_text(('tables', table.name))}]"
    yield f"source = {whole_text(table.source)}"
    yield from (f"{key} = {whole_text(value)}" for key, value in {**table.declared, **answers.keys}.items())
    if "unit" not in answers.keys and "public" not in answers.keys:
        yield from _open_unit(table, tables)
    yield ""
    if "public" in answers.keys:
        return
    yield f"[{key_text(('tables', table.name, 'columns'))}]"
    for place, each in enumerate(table.fields):
        before = [folded(other.name) for other in table.fields[:place]]
        yield from _column(each, before, answers)
    yield ""


def _open_unit(table: Found, tables: Sequence[Found]) -> Iterator[str]:
    """The open places of a table; the likely owner is a guess from names alone, in a comment, so nothing depends on it."""
    unit = suggest_unit(table, tables)
    owner = whole_text(unit if isinstance(unit, Mapping) else _any_owner(table))
    yield f'unit = "{PLACEHOLDER}"  # whose a row is: "row" if each row is one person, or {owner} with max_rows = 8'
    yield f'rows_at_most = "{PLACEHOLDER}"  # the most rows the table can ever have, a public fact: 100000, 1000000, 10000000 ...'
    yield "# public = true  # instead of both, if anybody may know every row"


def _any_owner(table: Found) -> dict[str, str]:
    named = (folded(each.name) for each in table.fields if folded(each.name).endswith(("_id", "_key")))
    return {"column": next(named, "...")}


def _column(field: Field, before: Sequence[str], answers: Answers) -> Iterator[str]:
    name, problem = key_text([field.name]), unusable(field.name, before)
    typed = by_type(field)
    kind = "" if field.type is None else field.type.partition("(")[0].lower()  # the brackets of an ENUM contain values
    if problem:
        yield f"# {name} cannot be declared: {problem}"
    elif typed is not None and typed.declaration is None:
        yield f"# {name} cannot be asked about: it is of the type {kind}"
    elif field.name in answers.columns:
        declared = answers.columns[field.name]
        if declared is not None:
            yield f"{name} = {whole_text(declared) if declared else '{ }'}"
    else:
        drafted = None if sounds_like_a_key(field.name) and not field.key else typed
        yield _open_column(name, kind + _said(field), drafted, by_name(field.name))


def _said(field: Field) -> str:
    """The comment of a database on a column, on one line."""
    said = " ".join(UNSEEN.sub(" ", field.comment).split())
    printed = "".join(character for character in said if category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return f": {printed[:LONGEST_COMMENT]}" if printed else ""


def _open_column(name: str, kind: str, typed: Suggestion | None, named: Suggestion | None) -> str:
    """A column to fill in; a suggestion by its name is a comment, so nothing depends on it."""
    declared = whole_text(PLACEHOLDER if typed is None else typed.declaration)
    is_open = typed is None or typed.is_open
    perhaps = (
        "" if not is_open or named is None or not named.declaration or named.is_open else f"perhaps {_short(named.declaration)}"
    )
    comment = ", ".join(filter(None, [kind, perhaps]))
    return f"{name} = {declared}" + (f"  # {comment}" if comment else "")


def _short(declaration: Declaration) -> str:
    text = whole_text(declaration)
    return text if len(text) <= LONGEST_EXAMPLE else "one of the values of its ISO standard"


LONGEST_COMMENT = 100  # characters of a database's comment on a column
LONGEST_EXAMPLE = 80


def unusable(name: str, before: Sequence[str]) -> str:
    """Why a name cannot be used in a catalog, or None."""
    if not name:
        return "it has no name"
    if UNSEEN.search(name) or any(category(character) == "Cc" for character in name):
        return "its name has control characters or marks of writing direction"
    if folded(name).startswith(OURS):
        return f"names that begin with {OURS} are tacit's own"
    return "another column has the same name, and names match without case" if folded(name) in before else ""


def init(frame: Any = None, /, **frames: Any) -> str:
    """The text of a catalog to fill in for data frames (pandas, Polars, Arrow), from their columns' names and types alone.

    One frame is the table `data`; several are named by their arguments. Their rows are given to `prepare(sources=...)`.
    """
    return draft_of_frames({**({} if frame is None else {"data": frame}), **frames})
