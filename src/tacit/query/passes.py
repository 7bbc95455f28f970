"""From the query text to a plan that can be priced: the passes, in order.

qualify   names and functions get their meaning; SELECT, HAVING and ORDER BY become arithmetic on released numbers
bound     every private table is limited to the declared rows of a unit, below every other step
totals    per-unit totals that are cheaper together than one by one
split     aggregates become moments: exact integers, counted once even where several aggregates need them
excluded  groups that WHERE excludes by the catalog alone are left out
keys      every group of the answer is known in advance, or must pass a threshold
fit       the expression for the engine is not too large
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from tacit.errors import TooManyGroups
from tacit.privacy.catalog import Catalog
from tacit.query.binding.scope import PublicFacts
from tacit.query.excluded import excluded
from tacit.query.intervals.aggregates import MOST_QUANTILES, drawn_in_groups, moments_of
from tacit.query.language.sql import in_question
from tacit.query.language.syntax import Select
from tacit.query.periods import in_periods
from tacit.query.plan import (
    Bound,
    Choose,
    Column,
    Compare,
    Group,
    Literal,
    Moment,
    PerUnit,
    Relation,
    Row,
    Rows,
    Scan,
    TextColumn,
)
from tacit.query.planning import Extent
from tacit.query.price.stability import Joined, copies, rows_of
from tacit.query.question import MOST_CELLS, Call, Question, one_question, private, size
from tacit.query.released.qualify import qualify
from tacit.query.trees import below, expressions_of


@dataclass(frozen=True, slots=True)
class Counting:
    """How the rows of a unit are counted (stability.md): in a relation, copies of a row of a source there, and in one group.

    `together` finds the total behind a sum, by its source, and the most that all totals of a unit add up to there.
    """

    rows_of: Callable[[Rows], int]
    copies: Callable[[Relation, int], int | None]
    limited: Callable[[Group], Group]
    together: Callable[[Call, Group], tuple[int, int] | None]


# --- bound: the limits of a unit ---------------------------------------------------------------------------------------------


def bound(question: Question, counting: Counting) -> Question:
    """The query with its rows in one group limited if that is declared; raises if a table has no limit of its own."""
    group = question.group
    limited = {id(step.child) for step in below(group) if isinstance(step, Bound)}
    if any(isinstance(step, Scan) and id(step) not in limited for step in below(group)):
        raise TypeError("a scan without a row limit has no stability; the binder puts one above it")
    return replace(question, group=counting.limited(group))


def limited(group: Group) -> Group:
    """The group with the declared limit of the table that the rows come from, if a row of the query is a row of that table.

    Tables that are joined along a reference, or only tested, add no row. If rows multiply or are merged, the declared limit would
    mean something else, so no limit applies. Of several such tables the smallest limit counts, in whatever order they are joined.
    """
    tables = Joined.of(group.child).lone() if group.keys else []
    declared = [(table.rows_per_group, source) for table, source in tables if table.rows_per_group < table.max_rows]
    if not declared:
        return group
    most, source = min(declared)
    first = min(step.source for step in below(group) if isinstance(step, Scan))
    return replace(group, per_group=most, limited=None if source == first else source)


# --- totals: those that a unit moves less together than one by one (stability.md) --------------------------------------------


def totals(question: Question, counting: Counting) -> Question:
    """The query with the maximum total of all rows of one unit, for each SUM and AVG over a per-unit total."""
    return replace(question, calls=tuple(_with_total(call, question, counting) for call in question.calls))


def _with_total(call: Call, question: Question, counting: Counting) -> Call:
    """The combined total is used if it is less than what the rows of a unit cost one by one; otherwise an average is centered."""
    found = counting.together(call, question.group) if call.name in ("sum", "avg") else None
    times = None if found is None else counting.copies(question.group.child, found[0])
    if found is None or times is None or call.over is None or isinstance(call.over.node, TextColumn):
        return call
    rows, node, together = counting.rows_of(question.group.child), call.over.node, times * found[1]
    apart = rows * max(abs(node.low), abs(node.high)) if call.name == "sum" else rows * (node.high - node.low) // 2
    return replace(call, together=together) if together < apart else call


def together(call: Call, group: Group) -> tuple[int, int] | None:
    """The total of a sub-query behind a sum, and what a unit's totals add up to: their values, or the number of its rows.

    A total that is clamped between bounds with 0 among them is never farther from 0 than before.
    """
    node = call.over.node if call.over is not None else None
    if (declared := declared_together(call, group)) is not None or call.name != "sum":
        return declared
    column = clamped_of(node, around_zero=True) if isinstance(node, Choose) else node
    if not isinstance(column, Column):
        return None
    steps = (step for step in below(group) if isinstance(step, PerUnit) and step.source == column.source)
    counted = (rows_of(step.child) for step in steps for total in step.totals if (total.name, total.kind) == (column.name, "rows"))
    most = next(counted, column.together)
    return None if most is None else (column.source, most)


def declared_together(call: Call, _: Group) -> tuple[int, int] | None:
    """The same for a plain sum of values of the unit."""
    node = call.over.node if call.over is not None else None
    return (node.source, node.together) if isinstance(node, Column) and node.together is not None else None


def clamped_of(node: Choose, around_zero: bool = False) -> Row | None:
    """The number that a CASE keeps between bounds, which lie around 0 where asked; None for any other CASE."""
    kept = node.otherwise
    for test, end in node.branches:
        if not isinstance(test, Compare) or test.operator != "<" or not isinstance(end, Literal) or end.value is None:
            return None
        below_low, above_high = (test.left, test.right) == (kept, end), (test.left, test.right) == (end, kept)
        if not (below_low or above_high) or (around_zero and (end.value > 0 if below_low else end.value < 0)):
            return None
    return kept


# --- split: aggregates to moments, each computed and paid for once -----------------------------------------------------------


def split(question: Question, _: Counting) -> Question:
    """The query with the moments that its calls need, each once, in the order of first use."""
    needed: dict[Moment, None] = {}
    for call in question.calls:
        needed.update(dict.fromkeys(moments_of(call, question.calls)))
    if private(question):
        needed[Moment("units")] = None  # the threshold of private keys reads it
    return replace(question, group=replace(question.group, moments=tuple(needed)))


# --- excluded: groups that WHERE excludes by the catalog alone ----------------------------------------------------------------


def without_excluded(question: Question, _: Counting) -> Question:
    """The query without groups that no row can be in (excluded.md)."""
    return excluded(question)


# --- keys: groups that are known in advance, or must pass a threshold --------------------------------------------------------


def keys(question: Question, _: Counting) -> Question:
    """The query itself; raises if it has too many public groups."""
    cells = prod(size(key) for key in question.group.keys)
    drawn = drawn_in_groups(question)
    most = MOST_QUANTILES // drawn if drawn else MOST_CELLS
    if cells > most:
        many = str(cells) if cells < 10**15 else "more than 10^15"
        raise TooManyGroups(
            f"the question has {many} groups, including empty ones; the limit is {most}",
            remedy="group by fewer or coarser expressions, for example FLOOR(x / 10) * 10",
        )
    return question


# --- fit: small enough to be written out for an engine -----------------------------------------------------------------------


def fit(question: Question, _: Counting) -> Question:
    """The query itself; raises if its expressions are too large together."""
    Extent().check(*expressions_of(question.group))
    return question


# --- all of them, in their order ---------------------------------------------------------------------------------------------

PASSES: tuple[Callable[[Question, Counting], Question], ...] = (bound, totals, split, without_excluded, keys, fit)


def rewrite(select: Select, catalog: Catalog, public: PublicFacts, counting: Counting | None = None) -> Question:
    """The query as a plan; a function of the text, the catalog and the public tables alone. `counting` is today's by default."""
    counting = counting or Counting(rows_of, copies, limited, together)
    with one_question():
        return _of_list(select, catalog, public, counting) if select.also else _of_one(select, catalog, public, counting, 1)


def _of_one(select: Select, catalog: Catalog, public: PublicFacts, counting: Counting, questions: int) -> Question:
    """The plan of one question among several; what may be done for it is divided among them."""
    question = qualify(select, catalog, public, counting.rows_of)
    beside = tuple(_through(replace(part, questions=questions), counting) for part in question.beside)
    below = tuple(replace(_through(replace(part, questions=questions), counting), beside=beside) for part in question.below)
    whole = replace(_through(replace(question, questions=questions), counting), beside=beside, below=below)
    return whole if catalog.per is None else in_periods(whole, catalog.per)


def _of_list(select: Select, catalog: Catalog, public: PublicFacts, counting: Counting) -> Question:
    """The plan of a list of questions. Each is read by itself; a refusal names its question."""
    from tacit.query.listed import joined, questions_of

    plans, asked = [], questions_of(select)
    for number, each in enumerate(asked, 1):
        with in_question(number):
            plans.append(_of_one(each, catalog, public, counting, len(asked)))
    return joined(plans)


def _through(question: Question, counting: Counting) -> Question:
    """One part of a question, after all passes."""
    for rewritten in PASSES:
        question = rewritten(question, counting)
    return question
