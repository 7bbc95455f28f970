"""UNION ALL over private tables: the rows of all parts, one below the other, with columns of one meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.errors import NotAllowed
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder
from tacit.query.binding.scope import Declared, Identity, Scope, Source
from tacit.query.language.syntax import At, Name, Query, UnionAll
from tacit.query.plan import BooleanType, CategoryType, Column, DateType, NumberType, PublicScan, Row, Rows, Term, Union

if TYPE_CHECKING:
    from tacit.query.binding.relations import Relations

Held = Declared | Term | Identity
Found = tuple[Rows | PublicScan, list[tuple[str, Held]], bool, bool]


def union(relations: Relations, query: UnionAll, of: Callable[[Relations, Query], Found]) -> Found:
    """The rows of all parts, aligned by position; what names a unit there still names it."""
    found = [of(relations, part) for part in _flat(query)]
    widths = {len(columns) for _, columns, _, _ in found}
    if any(public for _, _, public, _ in found):
        raise NotAllowed("UNION ALL is answered over private tables", remedy="leave the public tables out", at=query.at)
    if len(widths) != 1:
        raise NotAllowed("the parts of UNION ALL have different numbers of columns", remedy="select the same columns", at=query.at)
    source, columns, rows = next(relations.numbers), [], [[] for _ in found]  # type: ignore[var-annotated]
    names, lows = [], []
    for place, (name, _) in enumerate(found[0][1]):
        held = [part[1][place][1] for part in found]
        if all(isinstance(each, Identity) for each in held):
            spaces = {each.space for each in held if isinstance(each, Identity)}
            if len(spaces) > 1:
                raise _apart(name, query.at)
            identity = held[0]
            nodes = [each.node for each in held if isinstance(each, Identity) and each.node is not None]
            if nodes:
                names.append(name)
                lows.append(0)
                for part, node in zip(rows, nodes, strict=True):
                    part.append(node)
                node = replace(nodes[0], source=source, name=name)
                identity = Identity(identity.space, node)  # type: ignore[union-attr]
            columns.append((name, identity))
            continue
        if not all(isinstance(each, Term) or (isinstance(each, Declared) and each.column.kind != "presence") for each in held):
            raise _apart(name, query.at)
        aligned, meaning = _aligned([_term(each) for each in held])
        low, high = min(row.low for row in aligned), max(row.high for row in aligned)
        names.append(name)
        lows.append(low)
        for part, row in zip(rows, aligned, strict=True):
            part.append(row)
        columns.append((name, Term(Column(source, name, low, high, any(row.nullable for row in aligned)), meaning)))
    parts = tuple((part[0], tuple(values)) for part, values in zip(found, rows, strict=True))
    return Union(parts, tuple(names), tuple(lows), source), columns, False, False  # type: ignore[arg-type]


def _flat(query: Query) -> Iterator[Query]:
    if isinstance(query, UnionAll):
        for part in query.parts:
            yield from _flat(part)
    else:
        yield query


def _apart(name: str, at: At) -> NotAllowed:
    return NotAllowed(
        f"the column {name[:60]!r} of UNION ALL is not of one kind in all parts",
        remedy="select the same columns in all parts",
        at=at,
    )


def _term(held: Held) -> Term:
    if isinstance(held, Term):
        return held
    assert isinstance(held, Declared)  # noqa: S101  # the caller has looked
    return Binder(Scope((Source("t", {"x": held}),))).term(Name(("x",)))


def _aligned(found: list[Term]) -> tuple[list[Row], NumberType | CategoryType | DateType | BooleanType]:
    """Terms as integers of one meaning."""
    meaning = found[0]
    for term in found[1:]:
        _, node, kind = terms.aligned(meaning, term)
        meaning = Term(node, kind)
    return [terms.aligned(meaning, term)[1] for term in found], meaning.type  # type: ignore[return-value]
