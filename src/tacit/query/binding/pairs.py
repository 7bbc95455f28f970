"""Aggregates of two columns together: only rows in which both have a value count, in every one of their sums."""

from __future__ import annotations

from dataclasses import replace

from tacit.query.binding import terms
from tacit.query.plan import Call, IsNull, Literal, Row, Term

PAIRS = frozenset({"covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept"})


def paired(function: str, one: Term, other: Term) -> Call:
    """The aggregate of two numbers, each NULL where one of them is."""
    left, right = terms.number_node(one), terms.number_node(other)
    if left == right:
        return Call(function, one, other=other)
    return Call(function, replace(one, node=_where(left, right)), other=replace(other, node=_where(right, left)))


def _where(row: Row, known: Row) -> Row:
    """A row that is NULL where another is."""
    return terms.choose([(IsNull(known), Literal(None))], row) if known.nullable else row
