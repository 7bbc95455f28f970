"""From a plan and a budget to quotes: the mechanism and the noise for every released number, and the cost.

Everything here is a function of the query, the catalog and the budget: the quote is the same whatever the data contains. The price
over groups follows what one unit can touch (stability.py): disjoint groups are not disjoint people.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tacit.accounting.gaussian_curve import Moves, calibrated_rho
from tacit.errors import NoBudget, NotAllowed, TooManyGroups, TooMuchWork
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.residual import Estimated
from tacit.mechanisms.residual_shares import CUMULATIVE
from tacit.mechanisms.running import Running
from tacit.privacy.conversion import largest_rho_down
from tacit.privacy.loss import Change
from tacit.privacy.rounding import sqrt_up
from tacit.query.intervals.bands import Added, Sum
from tacit.query.intervals.misses import missed_by, most_groups
from tacit.query.intervals.trends import Trend, is_better, squares_of, trend_of
from tacit.query.language.margins import MOST_SETS
from tacit.query.plan import Moment
from tacit.query.price.forecast import for_error
from tacit.query.price.needs import (
    ADDITIVE,
    Item,
    Need,
    Spread,
    Summed,
    besides_sums,
    epsilon_shares,
    moves,
    needs_of,
    paid,
    placed,
    rho_shares,
    row_size,
    spread_out,
    summed,
)
from tacit.query.price.quote import (
    FINEST_GRID,
    LEAST_EPSILON,
    UNIT,
    Quote,
    Rank,
    Request,
    Shares,
    dimension_of,
    gaussian,
    laplace,
    quote_of,
    request,
    with_noise,
)
from tacit.query.price.shared import Sharer, Sharing, deviations, total_error
from tacit.query.price.stability import Reach, entries_moved, l1_sensitivity, l2_sensitivity, largest_move, reach, row_range
from tacit.query.price.work import afford, affordable
from tacit.query.question import Question, Window, cells_of, nodes, pause, private

__all__ = [
    "FINEST_GRID",
    "LEAST_EPSILON",
    "MANY_GROUPS",
    "UNIT",
    "Quote",
    "Rank",
    "Request",
    "Sum",
    "calibrate_rho",
    "check",
    "missed_by",
    "price",
    "request",
]

Weights = Mapping[int, Fraction]
MOST_MIXED = 4  # ways to divide sums between Gaussian and Laplace noise that are compared
MANY_SUMS = 2_000  # in all parts of a question; pricing one takes about a millisecond
LEAST_WIDTH = 1e-6  # of a row: noise that is less counts as this
MANY_GROUPS = 10_000  # more are answered if the query gives their number, or has a LIMIT


def price(
    question: Question, asked: Request, change: Change = "add-remove", fixed: bool = False, cores: int | None = None
) -> tuple[Quote, ...]:
    """The quotes for a query, the one with the smallest error first; a ledger may admit a later one and not the first.

    `fixed` says that the number of its rows is public (`rows_are_public`): COUNT(*) beside other numbers is then exact and has no
    share of epsilon. A question that asks for nothing else is priced as if it were private.
    Raises if the worst case of answering is too much work for the declared `cores` (work.md); no quote depends on them.
    """
    check(question, asked, cores)
    doubled = change == "change-one" and any(map(private, question.parts))  # priced for add/remove, which then counts twice
    factor = 2 if doubled else 1
    touched = [reach(part, "add-remove" if doubled else change, fixed) for part in question.parts]
    if not any(map(_depends, question.parts, touched)):
        if fixed:
            return price(question, asked, change, cores=cores)
        raise NotAllowed("the answer does not depend on the data", remedy="use COUNT(*)")
    if asked.error is not None:
        return (for_error(question, asked, touched, factor),)
    if asked.epsilon is None:
        raise NoBudget("missing budget", remedy="give epsilon=0.5", argument="epsilon")
    weights = placed(asked.weights, question)
    if len(question.below) >= MOST_SETS or asked.loss == CUMULATIVE:
        return _only_shared(question, asked, touched, weights)
    pure = _with_laplace(question, asked, touched, factor, weights)
    sharing = Sharing.of(question, touched) if question.below and factor == 1 else None
    if sharing is not None and any(sharing.conditions) and not affordable(sharing.as_run(question), cores):
        sharing = None
    gaussian = any(map(paid, question.parts, touched)) or (factor == 1 and any(map(private, question.parts)))
    concentrated = bool(asked.delta) and gaussian
    if not concentrated and sharing is None:
        return (pure,)
    offers = list(_gaussian_offers(question, asked, touched, factor, weights)) if concentrated else []
    seen = Seen.of(pure, weights, _factors(question, [quote for offer in offers for quote in offer]))
    other = seen.half_widths(pure)

    def missed(quote: Quote) -> float:
        widths = seen.half_widths(quote)
        return seen.relative_error(widths, other) if asked.loss is None else total_error(quote, widths, asked.loss)

    important = None if asked.loss is not None else seen.important(other)
    shared = None if sharing is None else Sharer(question, asked, tuple(touched), sharing, weights, important)
    pures = [pure] if shared is None else [pure, shared.with_laplace()]
    if concentrated and shared is not None:
        offers.append(list(shared.with_gaussian(calibrate_rho(asked.epsilon, asked.delta / 2))))
    best = min(offers, key=lambda offer: missed(offer[0]), default=[])
    return tuple(sorted([min(pures, key=missed), *best], key=missed))


def _only_shared(question: Question, asked: Request, touched: Sequence[Reach], weights: Weights) -> tuple[Quote, ...]:
    """The quotes of more margins than can be asked apart, or of cumulative ones."""
    sharing = Sharing.of(question, touched, fewest=1)
    if sharing is None:
        raise NotAllowed(
            "the loss cumulative is for counts and sums by several sets of public keys", remedy="leave out loss", argument="loss"
        )
    sharer = Sharer(question, asked, tuple(touched), sharing, weights)
    pure = sharer.with_laplace()
    if not asked.delta:
        return (pure,)
    quotes = [pure, *sharer.with_gaussian(calibrate_rho(asked.epsilon or Fraction(0), asked.delta / 2))]
    return tuple(sorted(quotes, key=lambda quote: total_error(quote, deviations(quote), sharer.loss)))


def check(question: Question, asked: Request, cores: int | None = None) -> None:
    """Refuses a question with more groups than are asked for, or with too much work; all else depends on its shape (shape.py)."""
    _check_groups(question, asked)
    _check_sums(question)
    afford(_as_run(question), cores)


def _as_run(question: Question) -> Question:
    """The question as its work is counted: one with more sets than can be asked apart runs by the sources that its parts share."""
    if len(question.below) < MOST_SETS:
        return question
    sharing = Sharing.of(question, [reach(part) for part in question.parts])
    if sharing is None:
        raise NotAllowed(
            f"MARGINS with more than {MOST_SETS} sets are of COUNT and SUM, by columns with public values",
            remedy="ask for fewer columns, or for COUNT(*) and SUM alone",
        )
    return sharing.as_run(question)


def _depends(question: Question, touched: Reach) -> bool:
    """Whether one unit can change what is released of a part."""
    return private(question) or any(moves(moment, touched) for moment in question.group.moments)


def _check_groups(question: Question, asked: Request) -> None:
    """Refuses an answer of more groups than anybody reads, unless it is meant: a stray GROUP BY cost has 500,000."""
    cells = sum(cells_of(part) for part in question.shown if not private(part) and part.limit is None)
    if cells > max(MANY_GROUPS, asked.groups or 0):
        raise TooManyGroups(
            f"the answer would have {cells:,} groups, including empty ones; the default limit is {MANY_GROUPS:,}",
            remedy=f"group by coarser expressions, add a LIMIT, or give groups={cells}",
            argument="groups",
        )


def _check_sums(question: Question) -> None:
    """Refuses more sums than can be priced in a moment: the work of pricing follows their number, which is known before."""
    sums = sum(len(part.group.moments) for part in question.parts)
    if sums > MANY_SUMS:
        raise TooMuchWork(
            f"the question needs {sums:,} sums, one for each aggregate and grouping set; at most {MANY_SUMS:,} are allowed",
            remedy="ask for fewer columns or grouping sets at once",
        )


def _with_laplace(question: Question, asked: Request, touched: Sequence[Reach], factor: int, weights: Weights) -> Quote:
    """Every sum, quantile and set of private keys of every part has its share of epsilon (needs.md)."""
    added = summed(question, _spread(question, touched, concentrated=False))
    shares = Shares(epsilon_shares(question, touched, added, weights), asked.epsilon or Fraction(0), factor)
    parts = question.parts
    noises = with_noise(question, added, lambda at, each: laplace(parts[at], each, touched[at], shares.epsilon(at, each)))
    return quote_of(question, asked, touched, noises, shares)


def _gaussian_offers(
    question: Question, asked: Request, touched: Sequence[Reach], factor: int, weights: Weights
) -> Iterator[list[Quote]]:
    """Quotes in which all sums have Gaussian noise, and those in which only sums do that one unit spreads over many groups.

    Laplace noise is scaled to the l1 sensitivity and Gaussian noise to the l2, so a sum gains the more, the smaller l2 is to l1.
    So do private keys, whose numbers of units one unit moves by one in each of its groups; they are offered with either noise.
    """
    added = summed(question, _spread(question, touched, concentrated=True))
    shares = Shares(epsilon_shares(question, touched, added, weights), asked.epsilon or Fraction(0), factor)
    trend = trend_of(question) if _has_windows(question) else None
    gains = {item: spread_out(item.what, touched[item.part]) for item in shares.of if isinstance(item.what, Moment)}
    keys = {item: Fraction(1, touched[item.part].units_l1) for item in shares.of if item.what == "keys" and factor == 1}
    for limit in sorted({*gains.values(), *keys.values()}, reverse=True)[:MOST_MIXED]:
        sums, with_keys = ([item for item, gain in each.items() if gain <= limit] for each in (gains, keys))
        for among in ([*sums, *chosen] for chosen in ([], with_keys) if sums or chosen):
            rhos = rho_shares(question, touched, added, weights, among)
            split = Split(shares, rhos, {} if trend is None else _running(question, trend, touched[0], weights, rhos))
            yield list(_with_gaussian(question, asked, touched, added, split))
            if not with_keys:
                break


def moves_of(question: Question, moment: Moment, touched: Reach) -> Moves:
    """How far one unit moves the vector of a moment over the groups, in what `gaussian` calls its units."""
    length, dimension = l2_sensitivity(moment, touched), dimension_of(question, touched)
    entries = min(dimension, entries_moved(moment, touched))
    total, largest = l1_sensitivity(moment, touched), largest_move(moment, touched)
    return Moves(Fraction(int(length)) if dimension == 1 else length, entries, total, largest)


def moves_of_keys(groups: int) -> Moves:
    """How far one unit moves the numbers of units of private keys: by one in each of its groups."""
    return Moves(sqrt_up(Fraction(groups)), groups, groups, 1)


def _has_windows(question: Question) -> bool:
    """Whether the answer adds up its own rows; only then can running totals serve."""
    return any(isinstance(node, Window) and node.order for output in question.outputs for node in nodes(output.value))


def _running(
    question: Question, trend: Trend, touched: Reach, weights: Weights, rhos: Mapping[Item, Fraction]
) -> dict[Moment, Running]:
    """The sums that running totals answer with less error in total, at the same rho: running.md, section 5."""
    chosen: dict[Moment, Running] = {}
    for moment in (item.what for item in rhos if isinstance(item.what, Moment)):
        moved = l1_sensitivity(moment, touched), largest_move(moment, touched)
        made = Running(*moved, Fraction(1), trend.shape, touched.neighbours)
        if is_better(squares_of(question, trend, moment), weights, l2_sensitivity(moment, touched), made):
            chosen[moment] = made
    return chosen


@dataclass(frozen=True, slots=True)
class Split:
    """The shares of all that is released, those of rho among sums with Gaussian noise, and which of them are running totals."""

    shares: Shares
    rhos: Mapping[Item, Fraction]
    running: Mapping[Moment, Running]


def _with_gaussian(question: Question, asked: Request, touched: Sequence[Reach], added: Summed, split: Split) -> Iterator[Quote]:
    """The sums with a share of rho are (epsilon, delta) together, with the epsilon of their shares; others have Laplace noise.

    The least noise comes first, twice: stated with its epsilon and delta, which a ledger charges with its rho, and as rho alone.
    Then the noise whose rho is within half of delta by the conversion alone, which a cap of this epsilon and delta still admits.
    For a unit that changes, a concentrated loss counts four times, and the conversion serves alone.
    """
    shares, rhos = split.shares, split.rhos
    epsilon = shares.whole * sum(share for item, share in shares.of.items() if item in rhos)
    delta = asked.delta / (2 if any(map(private, question.parts)) else 1)
    parts = question.parts

    def quote(rho: Fraction) -> Quote:
        def noise(at: int, each: Moment) -> Additive:
            part, reached, item = parts[at], touched[at], Item(at, each)
            if item in shares.of and item not in rhos:
                return laplace(part, each, reached, shares.epsilon(at, each))
            if each in split.running:
                return replace(split.running[each], rho=rho * rhos[item])
            return gaussian(part, each, reached, rho * rhos.get(item, Fraction(1)))

        keys = {item.part: rho * share for item, share in rhos.items() if item.what == "keys"}
        return quote_of(question, asked, touched, with_noise(question, added, noise), replace(shares, rhos=keys))

    if shares.factor > 1:
        yield quote(calibrate_rho(epsilon, delta) / shares.factor**2)
        return

    def moved(item: Item) -> Moves:
        touches = touched[item.part]
        if not isinstance(item.what, Moment):
            return moves_of_keys(touches.units_l1)
        running = split.running.get(item.what)
        return moves_of(parts[item.part], item.what, touches) if running is None else Moves(running.units, running.dimension)

    moves = tuple(map(moved, rhos))
    least = quote(calibrated_rho(moves, tuple(rhos.values()), epsilon, delta))
    yield replace(least, stated=(epsilon, delta))
    yield least
    yield quote(calibrate_rho(epsilon, delta / 2))


def calibrate_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho within (epsilon, delta), to 24 decimals, so that a ledger stores it exactly.

    A millionth of delta is reserved for the tails that samplers leave out, which are far smaller.
    """
    return Fraction(int(largest_rho_down(epsilon, delta * (1 - Fraction(1, 10**6))) * 10**24), 10**24)


def _spread(question: Question, touched: Sequence[Reach], concentrated: bool) -> Spread:
    """How far one number of a part misses, squared and added over its sums, in rows and at the same noise for all."""
    norm = l2_sensitivity if concentrated else l1_sensitivity
    parts = []
    for part, reached in zip(question.parts, touched, strict=True):
        sums = paid(part, reached)
        squares = [(norm(moment, reached) / Fraction(max(1, *map(abs, row_range(moment))))) ** 2 for _, moment in sums]
        fixed = [square for square, (_, moment) in zip(squares, sums, strict=True) if moment.kind not in ADDITIVE]
        alone, rest = besides_sums(part), sum(fixed, start=Fraction(0))
        parts.append((len(sums) - len(fixed), sum(squares, start=-rest), len(fixed) + alone, rest + alone))
    return Spread(tuple(parts), concentrated)


# --- the errors that an analyst sees, by which two quotes for a question are compared ----------------------------------------


Widths = tuple[float, ...]
Factors = Mapping[tuple[int, Moment], tuple[float, float]]
"""By column and sum, how much further than one period its numbers miss, row by row: alone, and by running totals."""


def _factors(question: Question, quotes: Sequence[Quote]) -> Factors:
    """Of a question that running totals may answer; empty for all others."""
    served = {each.moment: each.mechanism for quote in quotes for each in quote.sums if isinstance(each.mechanism, Running)}
    trend = trend_of(question) if served else None
    if trend is None:
        return {}
    found: dict[tuple[int, Moment], tuple[float, float]] = {}
    for moment, mechanism in served.items():
        widest = mechanism.deviation / float(mechanism.noise_scale)
        for place, squares in squares_of(question, trend, moment).items():
            found[place, moment] = math.sqrt(squares.alone), math.sqrt(squares.running) / widest
    return found


@dataclass(frozen=True, slots=True)
class Seen:
    """The numbers of an answer, each with the chance that it may miss, by which quotes for it are compared.

    Quotes for one question have most of their noise in common. Results for one mechanism are kept here, and no longer.
    """

    needs: tuple[tuple[Need, Fraction], ...]
    factors: Factors = field(default_factory=dict)
    _known: dict[tuple[Additive | Added | Estimated, Fraction], float] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, quote: Quote, weights: Mapping[int, Fraction], factors: Factors) -> Seen:
        """The numbers of the question of a quote."""
        return cls(tuple((need, _chance_of_miss(need, quote)) for need in needs_of(quote.question, weights)), factors)

    def relative_error(self, mine: Widths, other: Widths) -> float:
        """The squared half widths of all numbers of the answer, each relative to the other quote and with its weight, added up."""
        total = 0.0
        for (need, _), width, theirs in zip(self.needs, mine, other, strict=True):
            total += float(need.weight) ** 2 * ((width / theirs) ** 2 if theirs else 1.0)
        return total

    def important(self, widths: Widths) -> dict[tuple[int, Moment], Fraction]:
        """How much the square of each sum counts where errors are relative to these widths, by part and moment."""
        found: dict[tuple[int, Moment], Fraction] = {}
        for (need, _), width in zip(self.needs, widths, strict=True):
            for item, _ in need.squares:
                if isinstance(item.what, Moment):
                    counted = (float(need.weight) * row_size(item.what) / max(width, LEAST_WIDTH)) ** 2
                    found[need.part, item.what] = found.get((need.part, item.what), Fraction(0)) + Fraction(f"{counted:.6g}")
        return found

    def half_widths(self, quote: Quote) -> Widths:
        """The error of each number of the answer at its confidence, in rows: the root of the squares of what each of its sums does.

        Drawn values have the same noise in every quote for a question, and count as nothing here. Private keys miss by their
        threshold: a group of fewer units is hardly ever shown.
        """
        mechanisms = [{each.moment: each.mechanism for each in part.noisy_sums} for part in quote.parts]
        return tuple(
            float(keys.threshold)
            if (keys := quote.parts[need.part].keys) and any(item.what == "keys" for item, _ in need.squares)
            else self._half_width(need, missed, mechanisms[need.part])
            for need, missed in self.needs
        )

    def _half_width(self, need: Need, missed: Fraction, mechanisms: Mapping[Moment, Additive | Added | Estimated]) -> float:
        squares = [
            float(square)
            * (self._interval(mechanisms[item.what], missed) * self._factor(need, item.what, mechanisms) / row_size(item.what)) ** 2
            for item, square in need.squares
            if isinstance(item.what, Moment) and item.what in mechanisms
        ]
        return math.sqrt(sum(squares))

    def _factor(self, need: Need, moment: Moment, mechanisms: Mapping[Moment, Additive | Added | Estimated]) -> float:
        if not self.factors or need.place is None:
            return 1.0
        return self.factors.get((need.place, moment), (1.0, 1.0))[isinstance(mechanisms[moment], Running)]

    def _interval(self, mechanism: Additive | Added | Estimated, missed: Fraction) -> float:
        key = mechanism, missed
        if key not in self._known:
            pause()
            self._known[key] = float(mechanism.interval(1 - missed).above)
        return self._known[key]


def _chance_of_miss(need: Need, quote: Quote) -> Fraction:
    """The chance that one number of the answer may miss."""
    part = quote.parts[need.part]
    if need.column is not None and part.question in quote.question.shown:
        return missed_by(need.column.value, part.question, quote.request, most_groups(part.question))
    return 1 - quote.request.confidence
