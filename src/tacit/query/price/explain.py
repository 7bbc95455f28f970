"""The cost of a query and the accuracy of its answer: from public parameters, spending nothing and reading nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from tacit.accounting.calibrate import short_up
from tacit.accounting.composition import loss
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.residual import Estimated
from tacit.mechanisms.running import Running
from tacit.mechanisms.selection import GaussianKeyThreshold
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy.periods import named
from tacit.privacy.rounding import as_text, counted, decimal_text
from tacit.query.intervals.aggregates import CHOICES, moments_of
from tacit.query.intervals.bands import Added, Margin, Shared, half_width_of_sum
from tacit.query.intervals.misses import calls_of, chooses, is_exact, window_kind
from tacit.query.intervals.trends import widest_sum
from tacit.query.passes import clamped_of
from tacit.query.plan import (
    Bound,
    Choose,
    Column,
    Join,
    Literal,
    Moment,
    NumberType,
    PerUnit,
    PublicScan,
    Relation,
    Row,
    Scan,
    Semi,
    Term,
    TextColumn,
    Union,
    UnitJoin,
)
from tacit.query.price.explanation import Expected, Explanation, Noise
from tacit.query.price.forecast import FORECAST, forecast_text
from tacit.query.price.header import Heading, header_of
from tacit.query.price.price import FINEST_GRID, Quote, Rank, Sum, missed_by
from tacit.query.price.quote import Mode, candidates
from tacit.query.price.stability import is_private, rows_of
from tacit.query.question import Call, End, Out, Output, Question, Result, Window, is_word, pause, size
from tacit.query.trees import below, children, nodes_of


def explained_free(columns: tuple[Heading, ...] = (), left: str = "") -> Explanation:
    """The explanation of a question that reads public tables or the catalog only."""
    nothing, tree = Fraction(0), ("public tables or the catalog alone",)
    free = Explanation(tree, "exact, without noise", (), (), nothing, nothing, Fraction(1), left)
    return replace(free, columns=columns)


def explained_without_rows(columns: tuple[Heading, ...], left: str = "") -> Explanation:
    """The explanation of a question with LIMIT 0, or of rows, by its columns."""
    tree = ("no rows: LIMIT 0 returns the columns only",)
    return replace(explained_free(columns, left), tree=tree, groups="none")


def explained(quote: Quote, left: str = "", takes: tuple[str, ...] = (), group_rows: int | None = None) -> Explanation:
    """The explanation of a quote; `takes` says what it takes from the data set. `group_rows` is assumed by the analyst."""
    parts = quote.parts
    uses = [_Uses.of(part.question) for part in parts]
    words, names = _words(quote.question), _names(quote.question)
    shown = [(at, parts[at], words[at]) for at in (0, *range(1 + len(quote.beside), len(parts)))]
    return Explanation(
        tree=tuple(line for part, word in zip(parts, words, strict=True) for line in _tree(part, word)),
        groups=_groups(quote) if len(parts) == 1 else f"those of {len(parts)} parts; one unit can be in all parts",
        noise=tuple(
            _in_part(noise, word)
            for at, (part, word) in enumerate(zip(parts, words, strict=True))
            for noise in _noise(part, uses[at])
        ),
        errors=tuple(
            replace(
                _expected_error(output, part, uses[place], group_rows),
                column=f"{names[place][at]}{f' ({word})' if word else ''}",
            )
            for place, part, word in shown
            for at, output in enumerate(part.question.outputs)
            if not is_exact(output.value, part.question)
        ),
        epsilon=quote.epsilon,
        delta=quote.delta,
        confidence=quote.request.confidence,
        left=left,
        takes=takes,
        columns=header_of(quote.question),
    )


def _words(question: Question) -> list[str]:
    """The name of every part: its number, and in a list that of its question."""
    if not question.listed:
        return [f"part {number}" for number in range(1, len(question.parts) + 1)] if len(question.parts) > 1 else [""]
    shown = [
        f"question {number}{f', part {part - start + 1}' if end - start > 1 else ''}"
        for number, (start, end) in enumerate(question.spans, 1)
        for part in range(start, end)
    ]
    return [shown[0], *(f"sub-query {number}" for number in range(1, len(question.beside) + 1)), *shown[1:]]


def _names(question: Question) -> list[list[str]]:
    """The names of the columns of every part: those of the first part of its question."""
    firsts = [start for start, end in question.spans for _ in range(start, end)]
    own = [[output.name for output in question.shown[first].outputs] for first in firsts]
    return [own[0], *([output.name for output in part.outputs] for part in question.beside), *own[1:]]


def _tree(quote: Quote, word: str) -> list[str]:
    """The tree of a part; of several, each under its number and with its groups."""
    if not word:
        return tree(quote.question)
    return [word, *(f"  {line}" for line in tree(quote.question)), f"  groups: {_groups(quote)}"]


def _in_part(noise: Noise, word: str) -> Noise:
    return replace(noise, what=f"{noise.what} ({word})") if word else noise


def _groups(quote: Quote) -> str:
    touched = f"one unit touches at most {quote.reach.groups}, with at most {rows_text(quote.reach.per_group)} in each"
    if quote.keys:
        return f"private, shown where the noisy number of units reaches {quote.keys.threshold}; {touched}"
    if not quote.question.group.keys:
        return f"one; one unit has at most {rows_text(quote.reach.per_group)} in it"
    return f"{quote.cells}, all of them public; {touched}"


@dataclass(frozen=True, slots=True)
class _Uses:
    """Who uses what in a question, found once: the places of the columns of each moment and call, and the terms of each moment."""

    columns: Mapping[Moment | Call | str, Sequence[int]]
    terms: Mapping[Moment, Sequence[Term | None]]

    @classmethod
    def of(cls, question: Question) -> _Uses:
        moments = {call: moments_of(call, question.calls) for call in question.calls}
        columns: dict[Moment | Call | str, list[int]] = {}
        for place, output in enumerate(question.outputs):
            calls = list(calls_of(output.value, question))
            whats: list[Moment | Call | str] = [*calls]
            whats += [each for call in calls for each in moments.get(call) or moments_of(call, question.calls)]
            for what in dict.fromkeys(whats):
                columns.setdefault(what, []).append(place)
        terms: dict[Moment, list[Term | None]] = {}
        for call, each in moments.items():
            for moment in dict.fromkeys(each):
                terms.setdefault(moment, []).extend((call.over, call.other, *call.others))
        return cls(columns, terms)


def _noise(quote: Quote, uses: _Uses) -> list[Noise]:
    parts = [_with_share(_of_sum(part, quote, uses), [part.moment], quote, uses) for part in quote.sums]
    for ranks in released_together(quote.ranks):
        parts.append(_with_share(noise_of_ranks(ranks, quote.request.confidence), [rank.call for rank in ranks], quote, uses))
    parts += [_with_share(_of_mode(part, quote), [part.call], quote, uses) for part in quote.modes]
    parts += [_of_margin(part, quote, uses) for part in quote.margins]
    parts += [_of_shared(part, quote, uses) for part in quote.shared]
    if quote.keys:
        cost, scale = str(loss(quote.keys.event)), as_text(quote.keys.scale)
        touched, named = str(quote.reach.units_l1), "threshold on noisy numbers of units"
        if isinstance(quote.keys, GaussianKeyThreshold):
            touched, named = f"{as_text(quote.keys.length)} (l2)", "threshold on numbers of units with Gaussian noise"
        what = Noise("keys", named, touched, scale, cost)
        return [_with_share(what, ["keys"], quote, uses), *parts]
    return parts


def _with_share(noise: Noise, whats: Sequence[Moment | Call | str], quote: Quote, uses: _Uses) -> Noise:
    """With its share of epsilon and the columns that use it, where it is not the only one with one use."""
    pause()
    shares = dict(quote.shares)
    share = sum((shares.get(what, Fraction(1, len(whats))) for what in whats), start=Fraction(0))
    if share == 1 and len(whats) == 1:
        return noise
    places = sorted({place for what in whats for place in uses.columns.get(what, ())})
    columns = [quote.question.outputs[place].name for place in places]
    used = f", for {first_and_last(columns) if len(whats) > 1 else ', '.join(columns)}" if columns else ""
    return replace(noise, share=f"{as_text(100 * share)} % of epsilon{used}")


_NAMES = {
    "rows": "count", "units": "number of units", "sum": "sum", "centred": "centred sum", "squares": "centred sum of squares",
    "products": "centred sum of products",
    "distinct": "number of different values",
}  # fmt: skip


def _of_sum(part: Sum, quote: Quote, uses: _Uses) -> Noise:
    """In the units of the answer, not in steps of the grid."""
    mechanism, unit = part.mechanism, _unit(part.moment, uses)
    sensitivity = f"{as_text(mechanism.sensitivity * unit)} ({mechanism.norm})"
    what = _name(part.moment, quote.question)
    return Noise(what, mechanism.name, sensitivity, as_text(mechanism.scale * unit), str(mechanism.loss))


def _of_margin(part: Margin, quote: Quote, uses: _Uses) -> Noise:
    mechanism, unit = part.mechanism.mechanism, _unit(part.moment, uses)
    what, scale = _name(part.moment, quote.question), as_text(mechanism.scale * unit)
    count = f"{part.mechanism.count} numbers of part {part.part + 1}, each with {mechanism.name} noise"
    return Noise(what, f"sum of {count}", "that of its parts", scale, "no cost of its own")


def _of_shared(part: Shared, quote: Quote, uses: _Uses) -> Noise:
    """Estimated from measurements that all parts share: their number, their cost, and the deviation of one number here."""
    strategy, unit = part.mechanism.strategy, _unit(part.moment, uses)
    noise = strategy.measurements[0].noise.name
    sources = f"{len(strategy.measurements)} measurements with {noise} noise, shared by all parts"
    deviation = f"{part.mechanism.variance**0.5 * float(unit):.6g} (deviation)"
    return Noise(
        _name(part.moment, quote.question), f"estimate from {sources}", "that of the measurements", deviation, str(strategy.loss)
    )


def _unit(moment: Moment, uses: _Uses) -> Fraction:
    """The size of one unit of a moment in the answer: a step of the column; if sums are centered, half of one, or its square."""
    steps = {
        term.node: term.type.step for term in uses.terms.get(moment, ()) if term is not None and isinstance(term.type, NumberType)
    }
    step, other = (steps.get(node, Fraction(1)) for node in (moment.value or Literal(0), moment.other or Literal(0)))
    units = {"sum": step, "centred": step / 2, "squares": step**2 / 8, "products": step * other / 4}
    return units.get(moment.kind, Fraction(1))


_TOTALS = {
    "rows": "rows", "sum": "total", "least": "least", "largest": "largest", "mean": "mean", "distinct": "distinct values of",
}  # fmt: skip


def _name(moment: Moment, question: Question) -> str:
    if moment.text is not None:
        return f"{_NAMES[moment.kind]} of {moment.text.name}"
    if moment.value is None:
        return _NAMES[moment.kind]
    over = [node for node in (moment.value, moment.other) if node is not None]
    return f"{_NAMES[moment.kind]} of {' and '.join(_columnwords_of(node, question) for node in over)}"


def _columnwords_of(node: Row, question: Question) -> str:
    """A column by its name, one between bounds too; a total of a sub-query by what it is for one unit."""
    if isinstance(node, Choose) and isinstance(kept := clamped_of(node), Column):
        return f"clamped {_columnwords_of(kept, question)}"
    made = {
        (step.source, total.name): total for step in below(question.group) if isinstance(step, PerUnit) for total in step.totals
    }
    total = made.get((node.source, node.name)) if isinstance(node, Column) else None
    if total is None:
        return getattr(node, "name", "an expression")
    over = [] if total.value is None else [_columnwords_of(total.value, question)]
    return " ".join([_TOTALS[total.kind], *over, "per unit"])


def _of_mode(part: Mode, quote: Quote) -> Noise:
    over = part.call.over.node if part.call.over else None
    return Noise(
        f"mode of {_columnwords_of(over, quote.question) if not isinstance(over, TextColumn | None) else 'an expression'}",
        f"exponential mechanism over {len(candidates(part.call)):,} declared values",
        rows_text(int(2 * part.mechanism.sensitivity)),
        as_text(1 / part.mechanism.factor),
        str(part.loss),
    )


def _expected_error(output: Output, quote: Quote, uses: _Uses, group_rows: int | None) -> Expected:
    """The error bar of a column where the data has no say in it."""
    pause()
    question, out = quote.question, output.value
    call = question.calls[out.index] if isinstance(out, Result) else None
    if call is not None and call.name in CHOICES:
        chosen = next(part for part in quote.modes if part.call == call)
        short = chosen.rows_short(missed_by(out, question, quote.request, quote.cells or 1))
        most = f"at most {short:.6g} rows below the most frequent at {float(quote.request.confidence):.4g} confidence"
        return Expected(output.name, f"a chosen value, without an interval; {most}")
    if call is not None and call.name == "quantile" and not quote.request.interval:
        return Expected(output.name, "no interval: all of epsilon goes to the value")
    if is_word(out):
        return Expected(output.name, "text made from noisy numbers; it has no interval")
    if isinstance(out, End):
        which = "low" if out.side == "low" else "high"
        return Expected(output.name, f"the {which} end of the interval of {question.outputs[out.place].name}")
    released = out.child if isinstance(out, Window) and out.function == "sum" and window_kind(out, question) == "linear" else out
    together = quote.request.simultaneous or chooses(question)
    if isinstance(released, Result) and not (quote.keys and (together or released is not out)):  # else how many are shown decides
        moments = moments_of(question.calls[released.index], question.calls)
        parts = [part for part in quote.noisy_sums if part.moment in moments]
        if len(moments) == 1 and parts:
            missed = missed_by(out, question, quote.request, quote.cells or 1)
            rows = _rows_added(out, quote) if isinstance(out, Window) else 1
            noise = parts[0].mechanism
            alone = _width(noise, rows, out, missed)
            width = alone * float(_unit(moments[0], uses))
            exact_width = width_text(alone, _unit(moments[0], uses))
            most = "up to " if isinstance(out, Window) and out.order else ""
            held = f", for all {quote.cells} rows together" if together and (quote.cells or 1) > 1 else ""
            sure = f"at {float(quote.request.confidence):.4g} confidence"
            return Expected(output.name, f"{most}± {width:.6g} {sure}{held}", exact_width)
    if call is not None and call.name in FORECAST and not (quote.keys and together):
        missed = missed_by(out, question, quote.request, quote.cells or 1)
        text, error = forecast_text(call, quote, missed, group_rows)
        return Expected(output.name, text, None if error is None else width_text(error, Fraction(1)))
    return Expected(output.name, "not known in advance; it is reported with the answer")


def _width(noise: Additive | Added | Estimated, rows: int, out: Out, missed: Fraction) -> float:
    """The largest error of a released sum, or of a window over `rows` of them."""
    if isinstance(noise, Running):
        return widest_sum(noise, out, missed)
    return (
        float(noise.interval(1 - missed).above) if isinstance(noise, Added | Estimated) else half_width_of_sum(noise, rows, missed)
    )


def width_text(width: float, unit: Fraction) -> str:
    """A half width times its unit as an exact decimal text, rounded up to 12 digits where it has none.

    >>> width_text(54.0, Fraction(1, 100)), width_text(0.1, Fraction(1)), width_text(1, Fraction(1, 3))
    ('0.54', '0.1', '0.333333333334')
    """
    return decimal_text(short_up(Fraction(repr(float(width))) * unit, 12))


def _rows_added(window: Window, quote: Quote) -> int:
    """How many released numbers a window adds up at most: the rows of a partition."""
    within = prod(size(quote.question.group.keys[key.index]) for key in set(window.partition))
    return (quote.cells or 1) // within


# --- the plan as a tree, with the most rows that one unit has at each step ---------------------------------------------------


def tree(question: Question) -> list[str]:
    """The lines of the tree, from the groups down to the tables."""
    group = question.group
    keys = ", ".join(f"{key.name} ({'private' if isinstance(key.term.node, TextColumn) else size(key)})" for key in group.keys)
    return [f"group by {keys}" if keys else "all rows together", *_step_lines(group.child, 1)]


def _step_lines(relation: Relation, depth: int) -> list[str]:
    """A step and those below it, each with the most rows that one unit has there."""
    if isinstance(relation, Scan | PublicScan):
        return [f"{'  ' * depth}scan {relation.table.name}"]
    has = f": at most {rows_text(rows_of(relation))} per unit" if is_private(relation) and not isinstance(relation, Bound) else ""
    inner = [line for child in children(relation) for line in _step_lines(child, depth + 1)]
    return [f"{'  ' * depth}{_step(relation)}{has}", *inner]


def _step(relation: Relation) -> str:
    match relation:
        case Bound():
            return f"keep at most {rows_text(relation.max_rows)} per unit{_in_periods(relation)}"
        case Join():
            return f"{relation.kind} join {relation.table.name}, at most {_matches(relation.fan_out)} per row"
        case UnitJoin():
            on = "the unit and a key" if relation.pairs else "the unit"
            return f"{relation.kind} join on {on}" + (", at most 1 match per row" if relation.once else "")
        case Semi():
            where = "of the same unit" if is_private(relation.other) else "in a public table"
            return f"rows {'without' if relation.negated else 'with'} a match {where}"
        case PerUnit():
            kept = f", for at most {relation.most} of them" if relation.most is not None else ""
            return " and ".join(["one row per unit", *(words_of(node) for _, node in relation.keys)]) + kept
        case Union():
            return "union all"
        case _:
            return "where"


def _in_periods(relation: Bound) -> str:
    per = relation.child.table.per
    if per is None or relation.periods is None:
        return ""
    return f" and {per.calendar.word}, of {named(relation.periods, per.calendar)}"


def _matches(count: int) -> str:
    return f"{count} match" if count == 1 else f"{count} matches"


def words_of(node: Row) -> str:
    """A column by its name, and an expression by the columns in it."""
    if isinstance(node, Column):
        return node.name.removeprefix("tacit_code ")
    named = dict.fromkeys(each.name for each in nodes_of(node) if isinstance(each, Column))
    return f"an expression of {', '.join(named)}" if named else "an expression"


def rows_text(count: int) -> str:
    """A number of rows in words."""
    return f"{count} row" if count == 1 else f"{count} rows"


# --- quantiles: how they are released, and how far they may miss -------------------------------------------------------------


NAMED = 6  # quantiles or columns in one line


def released_together(ranks: Sequence[Rank]) -> list[tuple[Rank, ...]]:
    """The quantiles that one release serves: those that are read from one tree, and each of the others alone."""
    together: dict[int | Rank, list[Rank]] = {}
    for rank in ranks:
        together.setdefault(rank.place if isinstance(rank.mechanism, FromTree) else rank, []).append(rank)
    return [tuple(each) for each in together.values()]


def noise_of_ranks(parts: Sequence[Rank], confidence: Fraction) -> Noise:
    """How quantiles that one release serves are released."""
    read = [part.mechanism for part in parts if isinstance(part.mechanism, FromTree)]
    return _of_tree(read) if len(read) > 1 else _alone(parts[0], confidence)


def first_and_last(names: Sequence[str]) -> str:
    """All names, or the first two and the last, where there are more than a line has room for.

    >>> first_and_last(list("abcdefgh"))
    'a, b, ..., h'
    """
    return ", ".join(names if len(names) <= NAMED else [*names[:2], "...", names[-1]])


def _alone(part: Rank, confidence: Fraction) -> Noise:
    if isinstance(part.mechanism, SmoothQuantile):
        return Noise(
            f"quantile {as_text(part.mechanism.q)}",
            "smooth sensitivity",
            "private",
            "private",
            str(loss(part.event)),
            f"chosen because the column has over 2^{FINEST_GRID.bit_length() - 1} possible values; its error bar is the bounds",
        )
    if isinstance(part.mechanism, FromTree):
        return _of_tree([part.mechanism])
    if isinstance(part.mechanism, Quantile):
        return Noise(
            f"quantile {as_text(part.mechanism.q)}",
            "exponential mechanism, one draw without an interval",
            f"{as_text(part.mechanism.sensitivity)} ranks",
            f"{part.mechanism.rank_error(confidence):.4g} ranks from its aim",
            str(part.mechanism.loss),
            "asked for without an interval: all of epsilon goes to the value",
        )
    extreme, ends, both = part.mechanism.extreme, max(part.mechanism.margins), part.mechanism.of_many
    drawn = "one draw of both ends" if both.together else "a draw of each end"
    return Noise(
        f"quantile {as_text(part.mechanism.q)}",
        f"exponential mechanism, {'one draw' if extreme else f'{drawn}, and one of the value for few rows'}",
        f"{as_text(both.low.sensitivity)} ranks",
        f"{ends} ranks to {'the other end' if extreme else 'each end'}",
        str(part.mechanism.loss),
        "chosen because its interval comes from draws of its own; smooth sensitivity has a private scale, so no interval"
        if extreme
        else f"few rows: below about {part.mechanism.many:,}, which a draw of its own tells; the interval comes from the draws",
    )


def _of_tree(read: Sequence[FromTree]) -> Noise:
    tree, shares = read[0].tree, sorted({each.q for each in read})
    levels = f"{counted(tree.levels, 'level')} of {tree.branches} branches"
    return Noise(
        f"quantile{'s' if len(shares) > 1 else ''} {first_and_last([as_text(share) for share in shares])}",
        f"Laplace noise on one tree of counts: {levels}",
        f"{rows_text(tree.sensitivity)}{' at each level' if tree.levels > 1 else ''}",
        f"{as_text(tree.noise.scale)}; about {_ranks(read)}",
        str(tree.loss),
        "chosen because one tree serves all quantiles of this expression: draws of their own would divide epsilon",
    )


def _ranks(read: Sequence[FromTree]) -> str:
    """How far the values, or the ends of the intervals, are expected to be from the quantiles: of all that are read."""
    tree, enclosed = read[0].tree, read[0].confidence is not None
    away = [tree.error(each.q) if each.confidence is None else tree.half_width(each.q, 1 - each.confidence) for each in read]
    shown = list(dict.fromkeys(f"{each:.4g}" for each in (min(away), max(away))))
    return f"{' to '.join(shown)} ranks to {'an end of the interval' if enclosed else 'the quantile'}"
