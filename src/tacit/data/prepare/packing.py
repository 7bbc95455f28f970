"""Keys and codes in the form that an engine compares fastest: as whole numbers.

An engine compares keys by their texts, and does so faster if each is the text of a whole number, as most are. A reader of texts
gives the keys of a batch as numbers if all of them are whole numbers in their shortest form. Such a number and its text stand for
each other. Where every key of every table is given so, preparation goes on with the numbers; else each becomes its text again.

The codes of a row are packed into few numbers: each column has its bits in one of them, and NULL is the code after its last point.
Rows are prepared in this form because an engine moves one number faster than ten. The numbers and the row's texts, each preceded by
its length, are also the row's canonical form: different rows have different forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.data.dialect import DUCKDB, Dialect, name
from tacit.data.engine import Workshop
from tacit.data.ownership import key_name, staged_name
from tacit.privacy.catalog import Column, Table


@dataclass(frozen=True, slots=True)
class KeyForm:
    """The type by which a staged key is compared; a text is `numbered` if it is staged as a number where that is the same."""

    type: str
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Keys:
    """The type in which the engine compares the keys of all tables; `as_text`, if they are numbers that stand for their texts.

    `numbered` are the key columns, by table, that were texts in the source.
    """

    type: str
    as_text: bool = False
    numbered: Mapping[str, frozenset[str]] | None = None

    def texts_of(self, table: Table) -> frozenset[str]:
        """The key columns of a table that are staged as numbers and stand for texts."""
        return (self.numbered or {}).get(table.name, frozenset())


def text_name(column: str) -> str:
    """The column of a staged table for the keys that are not whole numbers in their shortest form."""
    return name(f"tacit_text {column}")


def settle_keys(workshop: Workshop, tables: Mapping[str, Table], staged: Mapping[str, Mapping[str, KeyForm]]) -> Keys:
    """One type for the keys of all tables: texts if any is one, else the widest integers."""
    types = workshop.words.types
    forms = [form for columns in staged.values() for form in columns.values()]
    whole = types.wide if types.wide in {form.type for form in forms} else types.whole
    if all(form.type != types.text for form in forms):
        return Keys(whole)
    numbered = {
        table: frozenset(
            column for column, form in columns.items() if form.numbered and not _restore_texts(workshop, tables[table], column)
        )
        for table, columns in staged.items()
    }
    left = any(
        form.type == types.text and key not in numbered[table] for table, keys in staged.items() for key, form in keys.items()
    )
    return Keys(types.text, numbered=numbered) if left else Keys(whole, as_text=True, numbered=numbered)


def _restore_texts(workshop: Workshop, table: Table, column: str) -> bool:
    """Whether a numbered key has texts that are not numbers; it is a text in all rows then."""
    key, text, rows, kind = key_name(column), text_name(column), staged_name(table), workshop.words.types.text
    ((texts,),) = workshop.rows(f"SELECT count({text}) FROM {rows}")
    if texts:
        workshop.run(f"ALTER TABLE {rows} ALTER {key} TYPE {kind} USING coalesce({text}, CAST({key} AS {kind}))")
    return bool(texts)


# --- the codes of a row packed into few numbers ------------------------------------------------------------------------------


MOST_BITS = 62


@dataclass(frozen=True, slots=True)
class Packing:
    """Which number contains which columns, from the highest bits down; and the text columns, which are carried unchanged."""

    numbers: tuple[tuple[Column, ...], ...]
    texts: tuple[Column, ...]
    words: Dialect

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as SQL, of the columns of a packed row."""
        return (*(_number(place) for place in range(len(self.numbers))), *(name(column.name) for column in self.texts))

    def pack(self, values: Mapping[str, str]) -> dict[str, str]:
        """SQL for each column of a packed row, from SQL for the codes (NULL is the code after the last) and the texts."""
        packed = {}
        for place, columns in enumerate(self.numbers):
            shifts = _shifts(columns)
            packed[_number(place)] = " + ".join(
                self.words.shifted_left(values[column.name], str(shifts[column.name])) for column in columns
            )
        return {**packed, **{name(column.name): values[column.name] for column in self.texts}}

    def unpack(self) -> dict[str, str]:
        """SQL for each prepared value, from a packed row."""
        values = {}
        for place, columns in enumerate(self.numbers):
            for key, shift in _shifts(columns).items():
                values[key] = self.words.shifted_right(_number(place), str(shift))
        codes = {column.name: column for columns in self.numbers for column in columns}
        masked = {key: f"{values[key]} & {2 ** column.points.bit_length() - 1}" for key, column in codes.items()}
        nullable = {key: f"nullif({sql}, {codes[key].points})" if codes[key].nullable else sql for key, sql in masked.items()}
        return {**nullable, **{column.name: name(column.name) for column in self.texts}}

    @property
    def widths(self) -> dict[str, int]:
        """How many bits each number of a packed row has, by its name as SQL."""
        return {_number(place): sum(column.points.bit_length() for column in each) for place, each in enumerate(self.numbers)}

    def canonical_texts(self) -> list[str]:
        """SQL for the texts of a packed row, each preceded by its length."""
        return [with_length(name(column.name), self.words) for column in self.texts]


def packing_of(columns: Mapping[str, Column], words: Dialect = DUCKDB) -> Packing:
    """How rows of these columns are packed: in the order of their names, so that the order of declaration does not matter.

    >>> flags = {key: Column(key, "presence") for key in "ba"}
    >>> packing_of(flags).pack({"a": "x", "b": "y"})
    {'"tacit_row 0"': '(x << 1) + (y << 0)'}
    >>> packing_of(flags).unpack()["a"]
    'nullif(("tacit_row 0" >> 1) & 1, 1)'
    """
    numbers: list[list[Column]] = []
    room = 0
    in_order = [columns[key] for key in sorted(columns)]
    for column in (column for column in in_order if column.kind != "text"):
        bits = column.points.bit_length()
        if bits > room:
            numbers.append([])
            room = MOST_BITS
        numbers[-1].append(column)
        room -= bits
    return Packing(tuple(map(tuple, numbers)), tuple(column for column in in_order if column.kind == "text"), words)


def with_length(sql: str, words: Dialect) -> str:
    """SQL for a text preceded by its length in bytes, which makes its end unambiguous; empty for NULL."""
    return f"coalesce({words.bytes_of(sql)} || ':' || {sql}, '')"


def _number(place: int) -> str:
    return name(f"tacit_row {place}")


def _shifts(columns: tuple[Column, ...]) -> dict[str, int]:
    shifts, shift = {}, 0
    for column in reversed(columns):
        shifts[column.name] = shift
        shift += column.points.bit_length()
    return shifts
