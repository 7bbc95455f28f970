"""Keys as the engine compares them: by their texts, which it does faster if each is the text of a whole number, as most are.

A reader of texts gives the keys of a batch as numbers if all of them are whole numbers in their shortest form. Such a number and
its text stand for each other. Where every key of every table is given so, preparation goes on with the numbers; else each becomes
its text again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.data.engine import Workshop
from tacit.data.ownership import key_name, staged_name
from tacit.data.quoting import name
from tacit.privacy.catalog import Table


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


def settled(workshop: Workshop, tables: Mapping[str, Table], staged: Mapping[str, Mapping[str, KeyForm]]) -> Keys:
    """One type for the keys of all tables: texts if any is one, else the widest integers."""
    types = workshop.words.types
    forms = [form for columns in staged.values() for form in columns.values()]
    whole = types.wide if types.wide in {form.type for form in forms} else types.whole
    if all(form.type != types.text for form in forms):
        return Keys(whole)
    numbered = {
        table: frozenset(
            column for column, form in columns.items() if form.numbered and not _restored(workshop, tables[table], column)
        )
        for table, columns in staged.items()
    }
    left = any(
        form.type == types.text and key not in numbered[table] for table, known in staged.items() for key, form in known.items()
    )
    return Keys(types.text, numbered=numbered) if left else Keys(whole, as_text=True, numbered=numbered)


def _restored(workshop: Workshop, table: Table, column: str) -> bool:
    """Whether a numbered key has texts that are not numbers; it is a text in all rows then."""
    key, text, rows, kind = key_name(column), text_name(column), staged_name(table), workshop.words.types.text
    ((texts,),) = workshop.rows(f"SELECT count({text}) FROM {rows}")
    if texts:
        workshop.run(f"ALTER TABLE {rows} ALTER {key} TYPE {kind} USING coalesce({text}, CAST({key} AS {kind}))")
    return bool(texts)
