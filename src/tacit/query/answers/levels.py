"""A SELECT from answers is read before anything is paid for: what cannot be answered is refused by plan and catalog alone.

Names and expressions are read in the language of released numbers (released/expressions.py). The questions of a statement are
collected, each once however often it is named, with the rows of public tables, which are read here, since they are public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any

from tacit.errors import NotAllowed, TooMuchWork, UnknownName
from tacit.privacy.catalog import Catalog
from tacit.query.answers.kinds import ANSWERS, PUBLIC, QUESTION, ROWS, Kinds, as_select, is_grouped, mixed
from tacit.query.answers.named import LONGEST_NAME, Grouped, Named
from tacit.query.answers.plan import (
    Answered,
    Derivation,
    Draw,
    Draws,
    Field,
    Level,
    Listed,
    Met,
    Stage,
    Total,
    everywhere,
    standing,
    typed,
)
from tacit.query.binding.conditions import conjuncts
from tacit.query.binding.relations import looked_up
from tacit.query.binding.scope import keys_of, name_of, of_group
from tacit.query.free import Facts, free_columns, sources_of
from tacit.query.intervals.misses import chooses, linear, most_groups
from tacit.query.language.syntax import (
    Apply,
    At,
    Constant,
    Expression,
    From,
    InQuery,
    Item,
    Limits,
    Name,
    Nested,
    Query,
    Scalar,
    Select,
    Star,
    UnionAll,
)
from tacit.query.passes import rewrite
from tacit.query.plan import Column, Term, TextColumn
from tacit.query.price.header import PUBLIC as EXACT
from tacit.query.price.header import Heading, free_header, header_of, is_nullable
from tacit.query.question import (
    KeyValue,
    Order,
    Out,
    Output,
    Question,
    Result,
    Test,
    Window,
    canonical_plan,
    inner,
    is_noisy,
    nodes,
    private,
)
from tacit.query.released.calls import not_alone
from tacit.query.released.expressions import Results
from tacit.query.trees import each_once

MOST_QUESTIONS = 8  # of a statement: each is a release of its own
MOST_LEVELS = 16
MOST_ROWS = 200_000  # of any step
MOST_WORK = 10**8  # values that are computed: about a second of work

# --- one statement -----------------------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """Reads one statement; its questions are collected, two that say the same once."""

    catalog: Catalog
    public: Facts
    kinds: Kinds = field(init=False)
    questions: list[Select] = field(default_factory=list)
    plans: list[Question] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    read: dict[int, tuple[Query, Select, Question, str]] = field(default_factory=dict)  # a name of WITH is read once
    levels: int = 0
    totals: int = 0
    work: int = 0

    def __post_init__(self) -> None:
        self.kinds = Kinds(self.catalog, self.public)

    # --- rows ---

    def rows_of(self, source: From | Nested) -> Answered | Listed | Level:
        """The rows of an item of FROM."""
        kind = self.kinds.of_source(source)
        if kind == PUBLIC:
            return self._listed(source)
        if not isinstance(source, Nested) or kind not in (QUESTION, ANSWERS):
            raise mixed(source, source.at)
        return self.answered(source.query) if kind == QUESTION else self.level(as_select(source.query))

    def _listed(self, source: From | Nested) -> Listed:
        """Public rows, read before anything is paid for."""
        query = source.query if isinstance(source, Nested) else Select((Item(Star(source.at), None),), source)
        if isinstance(query, UnionAll):
            query = Select((Item(Star(query.at), None),), Nested(query, source.alias, source.at))
        columns = free_columns(query, self.catalog, lambda: self.public)
        assert columns is not None  # noqa: S101  # its kind says so
        headings = free_header(columns)
        fields = tuple(Field(each.name, each.type, each.nullable, standing(0, each.name, each.type)) for each in headings)
        return Listed(columns, fields)

    def answered(self, query: Query) -> Answered:
        """The rows of a question of the statement."""
        if id(query) not in self.read:
            select = replace(as_select(query), options=())
            plan = rewrite(select, self.catalog, self.public)
            self.read[id(query)] = query, select, plan, canonical_plan(plan)
        _, select, plan, said = self.read[id(query)]
        if said not in self.known:
            if len(self.questions) == MOST_QUESTIONS:
                raise TooMuchWork(f"the statement has more than {MOST_QUESTIONS} questions", remedy="ask for fewer at once")
            self.known[said] = len(self.questions)
            self.plans.append(plan)
            self.questions.append(select)
        number = self.known[said]
        fields = tuple(_field_of(number, at, heading, plan) for at, heading in enumerate(header_of(plan)))
        most = sum(most_groups(part) for part in plan.shown)
        most = most if plan.limit is None else min(most, plan.limit)
        return Answered(number, fields, most, any(map(chooses, plan.shown)), any(is_noisy(part.order) for part in plan.shown))

    def one_value(self, written: Scalar) -> Answered | Listed | Level:
        """A sub-query that is a value: one column, and one row at most."""
        query = written.query
        if self.kinds.of(query) == ROWS:
            raise NotAllowed(
                "a sub-query as a value would return rows of private data", remedy="select one aggregate", at=written.at
            )
        rows = self.rows_of(Nested(query, "value", written.at))
        grouped = isinstance(query, UnionAll) or query.group_by or query.sets or query.distinct or query.below
        plain_rows = isinstance(query, Select) and not any(is_grouped(item.expression) for item in query.items)
        if len(rows.fields) != 1 or ((grouped or plain_rows) and rows.most > 1 and getattr(query, "limit", None) != 1):
            raise NotAllowed(
                "a sub-query as a value has one column and one row", remedy="select one aggregate, or add LIMIT 1", at=written.at
            )
        return rows

    # --- one SELECT ---

    def level(self, select: Select) -> Level:
        """A SELECT over the rows of its sources."""
        self.levels += 1
        if self.levels > MOST_LEVELS:
            raise TooMuchWork(f"the statement has more than {MOST_LEVELS} levels", remedy="use fewer sub-queries")
        if select.below:
            raise NotAllowed("UNION ALL over answers is not supported", remedy="put UNION ALL into the question in FROM")
        if select.limits != Limits():
            raise NotAllowed(
                "released numbers are of no unit any more, so its contributions cannot be limited here",
                remedy="leave the limits out, or ask the question in FROM by itself with them",
            )
        if select.sets:
            raise NotAllowed("ROLLUP, CUBE and GROUPING SETS over an answer are not supported", remedy="use them in the question")
        named, pool = self._sources(select)
        rows = Results(named)
        where = rows.test(_joined_by_and(pool)) if pool else None
        items = self._items(select, named)
        grouped = bool(select.group_by or select.having or select.distinct) or any(is_grouped(i.expression) for i in items)
        return (self._of_groups if grouped else self._of_rows)(replace(select, items=items), named, rows, where)

    def _sources(self, select: Select) -> tuple[Named, list[Expression]]:
        """The columns of FROM, and the conditions on their rows that are left after joins on equal columns."""
        named, pool = Named(self), [self._with_list(each) for each in conjuncts(select.where)]
        kinds = ["inner", *(joined.kind for joined in select.joins)]
        for number, source in enumerate(sources_of(select)):
            rows, joined = self.rows_of(source), select.joins[number - 1] if number else None
            shared = () if joined is None else self._shared(named, joined, rows)
            named.add_source(source.alias, rows, frozenset(shared), source.at)
            conditions = list(conjuncts(joined.on)) if joined is not None else []
            own = pool if kinds[number] == "inner" else conditions
            own += conditions if kinds[number] == "inner" else []
            equal = [pair for name in shared for pair in [_pair_shared(named, name, len(rows.fields), source.at)]]
            equal += self._equal(named, own, len(rows.fields)) if number else []
            if kinds[number] == "left" and (own or not equal):
                raise NotAllowed(
                    "the ON of a LEFT JOIN over an answer compares exact columns with =", remedy="put other conditions into WHERE",
                    at=source.at,
                )  # fmt: skip
            named.met.append(Met(rows, kinds[number], tuple(equal)))
        self._check_rows(named.met)
        return named, pool

    def _with_list(self, written: Expression) -> Expression:
        """A condition in which a query of public values is the list of its values."""
        found = looked_up(written)
        if found is None:
            return written
        asked, negated = found
        rows = self.rows_of(Nested(asked.query, "the sub-query", asked.at)) if isinstance(asked, InQuery) else None
        if not isinstance(rows, Listed) or not isinstance(asked, InQuery) or len(rows.fields) != 1:
            raise NotAllowed(
                "a condition over an answer may look values up in one column of a public table only", remedy="use a join",
                at=asked.at,
            )  # fmt: skip
        listed = (Constant(_as_constant(value), asked.at) for value in rows.columns[0][1] if value is not None)
        condition = Apply("in", (asked.value, *listed), asked.at) if rows.most else Constant(value=False, at=asked.at)
        return Apply("not", (condition,), asked.at) if negated else condition

    def _shared(self, named: Named, joined: Any, rows: Answered | Listed | Level) -> tuple[str, ...]:
        """The columns of USING, or those that both sides of a NATURAL join have."""
        if not joined.natural:
            return tuple(name.lower() for name in joined.using)
        return tuple(each.name.lower() for each in rows.fields if named.binder.scope.has(Name((each.name,))))

    def _equal(self, named: Named, conditions: list[Expression], own: int) -> list[tuple[int, int]]:
        """Equalities of an exact column before with one of the last source; they are taken out of the conditions."""
        first, found = len(named.fields) - own, []
        for each in list(conditions):
            if not isinstance(each, Apply) or each.function != "=" or not all(isinstance(side, Name) for side in each.arguments):
                continue
            both = [side for side in each.arguments if isinstance(side, Name)]
            if not all(map(named.binder.scope.has, both)):
                continue
            places = sorted(place for side in both if (place := named.place(side)) is not None)
            if len(places) == 2 and places[0] < first <= places[1] and all(named.fields[place].exact for place in places):
                Results(named).comparison(each)  # refused where the two are of different kinds
                conditions.remove(each)
                found.append((places[0], places[1] - first))
        return found

    def _check_rows(self, met: Sequence[Met]) -> None:
        """Refuses more rows than are computed with, however many match."""
        rows = prod(max(1, _fan_out(each)) for each in met)
        if rows > MOST_ROWS:
            raise TooMuchWork(
                f"the statement may have {rows:,} rows over its answers: the limit is {MOST_ROWS:,}",
                remedy="join on equal keys, or ask for fewer groups",
            )

    def _items(self, select: Select, named: Named) -> tuple[Item, ...]:
        """The items of SELECT, a star written out, each with its name."""
        items: list[Item] = []
        for item in select.items:
            if not isinstance(item.expression, Star):
                items.append(item)
                continue
            wanted = item.expression.table
            chosen = [source for source in named.binder.scope.sources if wanted is None or source.alias.lower() == wanted.lower()]
            if not chosen:
                raise UnknownName(f"unknown table {str(wanted)[:60]!r} in the question", at=item.expression.at)
            for source in chosen:
                words = [(word, term) for word, term in source.columns.items() if word not in source.using or wanted is not None]
                at = item.expression.at
                items += [Item(Name((source.alias, word), at), _name_in(named, term)) for word, term in words]
        names = each_once([item.name or name_of(item.expression)[:LONGEST_NAME] for item in items])
        return tuple(replace(item, name=name) for item, name in zip(items, names, strict=True))

    def _of_rows(self, select: Select, named: Named, rows: Results, where: Test | None) -> Level:
        unsure = any(each.rows.chosen for each in named.met)
        shown = self._shown(select, named, rows, where, unsure)
        return replace(shown, rows=shown.shown, most=self._counted(shown, select))

    def _of_groups(self, select: Select, named: Named, rows: Results, where: Test | None) -> Level:
        if select.distinct and (select.group_by or any(is_grouped(item.expression) for item in select.items)):
            raise NotAllowed("DISTINCT beside GROUP BY is not supported", remedy="leave one of them out")
        unsure = any(each.rows.chosen for each in named.met)
        groups = Grouped(self, rows, named, where, unsure)
        written = [item.expression for item in select.items] if select.distinct else keys_of(
            select.group_by, select.items, is_grouped)  # fmt: skip
        for each in written:
            expression, name = of_group(each, select.items, named.binder.scope)
            groups.add_key(expression, name or name_of(expression)[:LONGEST_NAME])
        keys = len(groups.arguments)
        having = None
        results = Results(groups)
        if select.having is not None:
            groups.aliases = _names(select)
            having = results.with_names(select.items, windows=False).test(select.having)
        chosen = groups.unsure or is_noisy(where)
        level = self._shown(select, groups, results, having, chosen)
        outputs = tuple(Output("", out) for out in groups.arguments)
        first = named.stage(named.question(where, outputs=outputs), unsure, {})
        level = replace(level, rows=first, keys=keys, aggregates=tuple(groups.aggregates))
        return replace(level, most=self._counted(level, select))

    def _shown(self, select: Select, named: Named, rows: Results, having: Test | None, unsure: bool) -> Level:
        """The columns that are shown of rows or groups, with their order and limit."""
        outs = [self._output(item.expression, named, rows) for item in select.items]
        named.aliases = _names(select)
        words = rows.with_names(select.items)
        qualify = words.test(select.qualify) if select.qualify is not None else None
        order = tuple(Order(self._order(each.expression, select, outs, words), each.descending) for each in select.order_by)
        totals = self._windows((*outs, qualify, order), named, having, unsure)
        outputs = tuple(Output(item.name or "", out) for item, out in zip(select.items, outs, strict=True))
        question = named.question(having, outputs=outputs, qualify=qualify, order=order, limit=select.limit, offset=select.offset)
        stage = named.stage(question, unsure, totals)
        fields = tuple(self._field(output, named, stage, totals) for output in outputs)
        cut = select.limit is not None or select.offset > 0
        sorted_before = any(each.rows.sorted for each in named.met) and not isinstance(named, Grouped)
        by_noise = is_noisy(order) or (bool(order) and unsure and _has_window(order))
        chosen = unsure or is_noisy(having) or is_noisy(qualify) or (cut and (by_noise or sorted_before))
        chosen = chosen or (qualify is not None and _has_window(qualify) and is_noisy(having))
        return Level(stage, stage, fields, chosen=chosen, sorted=by_noise or (sorted_before and not order))

    def _output(self, expression: Expression, named: Named, rows: Results) -> Out:
        """An item of SELECT; a column that can only be shown is one by itself."""
        if isinstance(expression, Name) and not isinstance(named, Grouped) and (place := named.place(expression)) is not None:
            return named.columns[place]
        return named.value(expression) if isinstance(expression, Scalar) else rows.out(expression)

    def _order(self, written: Expression, select: Select, outs: Sequence[Out], rows: Results) -> Out:
        """An expression of ORDER BY: the place or the name of an item, or any other."""
        names = _names_in_order(select)
        if isinstance(written, Constant):
            if not isinstance(written.value, Fraction) or written.value not in range(1, len(outs) + 1):
                raise UnknownName("invalid position in ORDER BY", remedy=f"use 1 to {len(outs)}", at=written.at)
            out = outs[int(written.value) - 1]
        elif isinstance(written, Name) and len(written.parts) == 1 and written.parts[0].lower() in names:
            out = outs[names.index(written.parts[0].lower())]
        else:
            out = rows.out(written)
        asked = rows.asked
        if isinstance(asked, Named) and any(each.alone for each in asked.fields_in(out)):
            raise not_alone(written.at)
        return out

    # --- columns ---

    def total(self, shown: Field, named: Named) -> Total | None:
        """One statement about the sum of a column over rows, if the column is a sum with a noise of its own."""
        if shown.shows is None or sum(not isinstance(each.rows, Listed) for each in named.met) != 1:
            return None
        number, output = shown.shows
        plan = self.plans[number]
        out = plan.outputs[output].value
        sums = linear(out, plan) if isinstance(out, Result) else None
        if sums is None or len(sums.weights) != 1 or plan.below or private(plan):
            return None
        self.totals += 1
        return Total(number, output, self.totals)

    def _windows(self, parts: object, named: Named, having: Test | None, unsure: bool) -> dict[Window, Total]:
        """The windows that add up one column over whole partitions: their ends follow from the law of the sum."""
        found = {}
        for each in set(_windows_in(parts)):
            plain_sum = each.function in ("sum", "avg") and not each.order and each.frame is None and isinstance(each.child, Result)
            if plain_sum and not unsure and not is_noisy(having):
                (shown,) = named.fields_in(each.child)
                if (total := self.total(shown, named)) is not None:
                    found[each] = total
        return found

    def _field(self, output: Output, named: Named, stage: Stage, totals: Mapping[Window, Total]) -> Field:
        """A column of a level."""
        out, question = output.value, stage.question
        window = _has_window(out)
        exact = not is_noisy(out) and not (window and (stage.unsure or is_noisy(question.having)))
        shown = named.fields[named.columns.index(out)] if isinstance(out, KeyValue | Result) else None
        if shown is not None:
            return replace(shown, name=output.name, shows=None if isinstance(named, Grouped) else shown.shows)
        kind = named.type_of(out)
        nullable = is_nullable(typed(out, tuple(named.fields), tuple(named.columns)), question)
        draws = frozenset(_draws(out, named, question, totals))
        unknown = any(each.unknown for each in named.fields_in(out)) or (window and stage.unsure)
        alone = not exact and kind in ("text", "boolean")
        return Field(output.name, kind, nullable, standing(0, output.name, kind), exact, draws, None, alone, unknown)

    def _counted(self, level: Level, select: Select) -> int:
        """The most rows of a level; the values that it computes are counted."""
        most = prod(max(1, _fan_out(each)) for each in level.rows.met)
        size = sum(1 for stage in (level.rows, level.shown) for _ in nodes((stage.question.outputs, stage.question.having)))
        self.work += most * (size + len(level.rows.fields))
        if level.aggregates is not None and not level.keys:
            most = 1
        return most if select.limit is None else min(most, select.limit)


def _field_of(number: int, place: int, heading: Heading, plan: Question) -> Field:
    """A column of the answer to a question."""
    exact = heading.kind in ("key", EXACT)
    outs = [(part, part.outputs[place].value) for part in plan.shown]
    terms = {part.group.keys[out.index].term if isinstance(out, KeyValue) else None for part, out in outs}
    own = terms.pop() if len(terms) == 1 else None
    term = own if own is not None and not isinstance(own.node, TextColumn) else standing(0, heading.name, heading.type)
    draws: Draws = frozenset() if exact else frozenset({Draw(number, place, ())})
    alone = not exact and heading.type not in ("integer", "number", "date")
    return Field(heading.name, heading.type, heading.nullable, term, exact, draws, (number, place), alone, heading=heading)


def _fan_out(met: Met) -> int:
    """How many rows of an item of FROM one row before can meet."""
    if not isinstance(met.rows, Listed) or not met.equal:
        return 1 if met.kind == "value" else met.rows.most
    values = [met.rows.columns[own][1] for _, own in met.equal]
    return max(Counter(zip(*values, strict=True)).values(), default=1)


def _as_constant(value: Any) -> Any:
    return value if isinstance(value, str | bool) else Fraction(str(value))


def _joined_by_and(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Apply("and", tuple(parts), parts[0].at)


def _pair_shared(named: Named, name: str, own: int, at: At) -> tuple[int, int]:
    """A column of USING: where it stands before, and in the last source."""
    first = len(named.fields) - own
    places = [place for place, each in enumerate(named.fields) if each.name.lower() == name]
    before, after = [place for place in places if place < first], [place for place in places if place >= first]
    if not before or not after or not named.fields[before[0]].exact or not named.fields[after[0]].exact:
        raise NotAllowed(f"{name[:60]} must be an exact column on both sides of the join", remedy="write ON a.x = b.x", at=at)
    return before[0], after[0] - first


def _name_in(named: Named, term: object) -> str | None:
    """The name of a column as it was given."""
    return named.fields[term.node.source].name if isinstance(term, Term) and isinstance(term.node, Column) else None


def _names_in_order(select: Select) -> list[str]:
    return [(item.name or "").lower() for item in select.items]


def _names(select: Select) -> frozenset[str]:
    """The names of SELECT."""
    return frozenset(_names_in_order(select))


def _windows_in(parts: object) -> Iterator[Window]:
    """The windows inside some nodes."""
    for each in parts if isinstance(parts, tuple) else (parts,):
        if each is not None:
            yield from (node for node in nodes(each) if isinstance(node, Window))


def _has_window(parts: object) -> bool:
    return any(True for _ in _windows_in(parts))


def _draws(node: object, named: Named, question: Question, totals: Mapping[Window, Total]) -> Iterator[Draw | Total]:
    """The released numbers behind an output: of its own row, and of all rows where a window draws on them."""
    if isinstance(node, Window):
        if (total := totals.get(node)) is not None:
            yield total
        else:
            yield from everywhere(named.draws_of(node, question.having))
    elif isinstance(node, Result):
        yield from named.draws_of(node)
    else:
        for part in inner(node):
            yield from _draws(part, named, question, totals)


# --- the statement -----------------------------------------------------------------------------------------------------------


def derivation_of(select: Select, catalog: Catalog, public: Facts) -> Derivation | None:
    """The plan of a SELECT from answers; None for a question by itself."""
    reading = Reading(catalog, public)
    if reading.kinds.of(select) != ANSWERS:
        return None
    level = reading.level(select)
    work = reading.work * max(1, sum(not each.exact for each in level.fields))  # the ends of each column have a chance of their own
    if work > MOST_WORK:
        raise TooMuchWork(
            f"the statement computes {work:,} values over its answers: the limit is {MOST_WORK:,}",
            remedy="ask for fewer groups or columns",
        )
    return Derivation(tuple(reading.questions), tuple(reading.plans), level)
