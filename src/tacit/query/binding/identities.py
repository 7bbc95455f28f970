"""Which columns of a private table name its unit or a key that leads to it, and the parts of a condition."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.privacy.catalog import Catalog, Table
from tacit.query.binding.scope import Identity
from tacit.query.language.syntax import Apply, Expression, InQuery, Name
from tacit.query.plan import Code

MOST_CODES = 2**53 - 1


def code_column(source: int, name: str) -> Code:
    """The code of a key in the store: compared with others, never shown or computed with."""
    from tacit.data.ownership import code_name

    return Code(source, code_name(name), 0, MOST_CODES, True)


def identities_of(catalog: Catalog, table: Table, source: int) -> dict[str, Identity]:
    """The identities of a private table: its own key (the unit, or what leads to it), and keys in which others look theirs up."""
    from tacit.data.ownership import coded, led_through, own_key

    found: dict[str, Identity] = {}
    own, through = own_key(table), led_through(catalog, table)
    if own is not None and through is None:
        found[own.lower()] = Identity(None)
    for column, space in coded(catalog)[table.name].items():
        named = table.key == column and (own != column or through is not None)  # then preparation keeps one row of a unit
        found.setdefault(column.lower(), Identity(space, code_column(source, column), named))
    return found


def conjuncts(written: Expression | None) -> Iterator[Expression]:
    """The conditions that AND joins."""
    if isinstance(written, Apply) and written.function == "and":
        for part in written.arguments:
            yield from conjuncts(part)
    elif written is not None:
        yield written


def names_in(written: Expression) -> Iterator[Name]:
    """Every column that an expression names, sub-queries apart."""
    if isinstance(written, Name):
        yield written
    elif isinstance(written, Apply):
        for part in written.arguments:
            yield from names_in(part)
    elif isinstance(written, InQuery):
        yield from names_in(written.value)
