"""From a plan and a budget to a quote: the mechanism and the noise for every released number, and the cost.

Everything here is a function of the query, the catalog and the budget: the quote is the same whatever the data contains. The price
over groups follows what one unit can touch (stability.py): disjoint groups are not disjoint people.

A group-by-group mechanism (a quantile) gets the whole share of epsilon in every group, with the unit counted as the most rows that
it has over all groups together: row by row, one unit moves the groups' losses by at most its rows times the loss of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import prod

from tacit.accounting import calibrate
from tacit.accounting.events import Batch, Event
from tacit.errors import ErrorNotPublic, InvalidBudget, InvalidInput, NoBudget, NotAllowed, TooManyGroups
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.mechanisms.selection import KeyThreshold
from tacit.mechanisms.smooth import SmoothQuantile
from tacit.privacy.arguments import truth_of
from tacit.privacy.loss import largest_concentrated_down, positive_budget, probability
from tacit.privacy.neighbours import Change, Neighbours
from tacit.privacy.rounding import Number, brief, exact, exp_up, float_up
from tacit.query.groups import private, shown_at_most, size
from tacit.query.plan import Call, Moment, NumberType, Question
from tacit.query.price.aggregates import moments_of
from tacit.query.price.margins import ADDITIVE, Added, Margin, Spread, Summed, summed
from tacit.query.price.misses import beside_in, calls_behind, calls_of, chooses, pieces
from tacit.query.price.modes import Mode, modes_of, priced_modes
from tacit.query.price.stability import Reach, l1_sensitivity, l2_sensitivity, reach, row_range, tables_of
from tacit.query.price.work import afford
from tacit.query.results import Out, Result, is_noisy

UNIT = Neighbours("add-remove", "unit")
LEAST_MISS = Fraction(1, 10**200)
MANY_GROUPS = 10_000  # more are answered if the query gives their number, or has a LIMIT
LARGEST_EPSILON = 1000  # beyond it e^epsilon takes long to compute and means nothing
FINEST_GRID = 2**40  # points from which a quantile is released by smooth sensitivity
LEAST = Fraction(1, 10**30)
LEAST_EPSILON = Fraction(1, 10**4)  # of a query: what a query reveals besides its answer counts per query, not per epsilon


@dataclass(frozen=True, slots=True)
class Request:
    """The analyst's budget, or the required error; and the confidence of the intervals."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    error: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    simultaneous: bool = False
    groups: int | None = field(default=None, repr=False, compare=False)  # does not affect what is asked


def request(
    epsilon: Number | None = None,
    delta: Number = 0,
    error: Number | None = None,
    confidence: Number = Fraction(95, 100),
    simultaneous: bool = False,
    groups: int | None = None,
) -> Request:
    """A request from plain numbers: a budget or an error, not both. More than 10,000 groups require `groups`."""
    if (epsilon is None) == (error is None):
        raise NoBudget("missing budget", remedy="give epsilon=0.5, or error=50 with confidence=0.95, and not both")
    sure = exact(confidence, "confidence", InvalidBudget)
    if not 0 < sure <= 1 - LEAST_MISS:
        raise InvalidBudget(f"confidence must be above 0 and below 1, not {brief(confidence)}; give for example confidence=0.95")
    return Request(
        None if epsilon is None else _enough(_usual(positive_budget(epsilon), "epsilon")),
        probability(delta),
        None if error is None else _usual(positive_budget(error, "error"), "error"),
        sure,
        truth_of(simultaneous, "simultaneous"),
        None if groups is None else _whole(groups),
    )


def _whole(groups: int) -> int:
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise InvalidInput(f"groups must be a whole number of at least 1, not {str(groups)[:40]}; give for example groups=100000")
    return groups


def _usual(number: Fraction, name: str) -> Fraction:
    """A number that keeps noise and intervals within the range of a float."""
    if not LEAST <= number <= 1 / LEAST:
        raise InvalidBudget(f"{name} must lie between 1e-30 and 1e30; give for example {name}=0.5")
    return number


def _enough(epsilon: Fraction) -> Fraction:
    if epsilon < LEAST_EPSILON:
        raise InvalidBudget("epsilon of a question must be at least 0.0001; give for example epsilon=0.1")
    return epsilon


@dataclass(frozen=True, slots=True)
class Sum:
    """Noise for one moment over all groups; `units` of the moment make one unit of the answer."""

    place: int
    moment: Moment
    mechanism: Additive


@dataclass(frozen=True, slots=True)
class Rank:
    """One quantile in every group, from the list of a moment; the mechanism is priced for 1 / `rows` of what a unit has there."""

    place: int
    call: Call
    rows: int
    mechanism: QuantileWithInterval | SmoothQuantile

    @property
    def event(self) -> Event:
        """The event for all groups together. All rows of a unit may be in one group, a chain of neighbours there: one loss, not
        several.
        """
        alone = self.mechanism.event
        return alone if isinstance(alone, Batch) else replace(alone, epsilon=alone.epsilon * self.rows)


@dataclass(frozen=True, slots=True)
class Quote:
    """All that will be done to answer, and its price; `event` is what the ledger records.

    Of a question with several parts there is a quote for each, `beside` and `below` as in the question; the price is that of all
    parts together. `margins` are sums that are not measured, but added up from those of another part.
    """

    question: Question
    request: Request
    reach: Reach
    sums: tuple[Sum, ...]
    ranks: tuple[Rank, ...]
    keys: KeyThreshold | None
    epsilon: Fraction
    delta: Fraction
    margins: tuple[Margin, ...] = ()
    modes: tuple[Mode, ...] = ()
    beside: tuple[Quote, ...] = ()
    below: tuple[Quote, ...] = ()

    @property
    def event(self) -> Event:
        return Batch(tuple(event for part in self.parts for event in part._events))

    @property
    def _events(self) -> tuple[Event, ...]:
        """What is released for this part alone."""
        events: list[Event] = [*(part.mechanism.event for part in self.sums), *(part.event for part in self.drawn)]
        return (self.keys.event, *events) if self.keys else tuple(events)

    @property
    def parts(self) -> tuple[Quote, ...]:
        """The quotes of all parts, in the order of the question's."""
        return self, *self.beside, *self.below

    @property
    def noisy_sums(self) -> tuple[Sum | Margin, ...]:
        """The sums of this part, measured and added up."""
        return self.sums + self.margins

    @property
    def measured(self) -> bool:
        """Whether anything is asked of the engine for this part."""
        return bool(self.sums or self.drawn or self.keys)

    @property
    def drawn(self) -> tuple[Rank | Mode, ...]:
        """What is drawn group by group from lists of values."""
        return *self.ranks, *self.modes

    @property
    def cells(self) -> int | None:
        """How many groups the answer has; None if that is private."""
        return None if self.keys else _cells(self.question)


def price(question: Question, asked: Request, change: Change = "add-remove", fixed: bool = False) -> tuple[Quote, ...]:
    """The quotes for a query, the one with the smallest error first; a ledger may admit a later one and not the first.

    `fixed` says that the number of its rows is public (`rows_are_public`): COUNT(*) beside other numbers is then exact and has no
    share of epsilon. A question that asks for nothing else is priced as if it were private.
    Raises if the worst case of answering is too much work (work.md).
    """
    _check_groups(question, asked)
    doubled = change == "change-one" and any(map(private, question.parts))  # priced for add/remove, which then counts twice
    factor = 2 if doubled else 1
    touched = [reach(part, "add-remove" if doubled else change, fixed) for part in question.parts]
    afford(question)
    if not any(map(_depends, question.parts, touched)):
        if fixed:
            return price(question, asked, change)
        raise NotAllowed("the answer does not depend on the data", remedy="use COUNT(*)")
    if asked.error is not None:
        return (_for_error(question, asked, touched, factor),)
    if asked.epsilon is None:
        raise NoBudget("missing budget", remedy="give epsilon=0.5")
    quotes = [_with_laplace(question, asked, touched, factor)]
    if asked.delta and any(map(_paid, question.parts, touched)):
        quotes.append(_with_gaussian(question, asked, touched, factor))
    return tuple(sorted(quotes, key=_width))


def _depends(question: Question, touched: Reach) -> bool:
    """Whether one unit can change what is released of a part."""
    return private(question) or any(_moves(moment, touched) for moment in question.group.moments)


def _check_groups(question: Question, asked: Request) -> None:
    """Refuses an answer of more groups than anybody reads, unless it is meant: a stray GROUP BY cost has 500,000."""
    if question.limit is not None:
        return
    cells = sum(_cells(part) for part in question.shown if not private(part))
    if cells > max(MANY_GROUPS, asked.groups or 0):
        raise TooManyGroups(
            f"the answer would have {cells:,} groups, including empty ones; the default limit is {MANY_GROUPS:,}",
            remedy=f"group by coarser expressions, add a LIMIT, or give groups={cells}",
        )


def _moves(moment: Moment, touched: Reach) -> bool:
    """Whether one unit can change a moment, so that its release has a price."""
    return moment.kind == "list" or l1_sensitivity(moment, touched) > 0


# --- by budget ---------------------------------------------------------------------------------------------------------------


def _additive(question: Question) -> list[tuple[int, Moment]]:
    return [(place, moment) for place, moment in enumerate(question.group.moments) if moment.kind != "list"]


def _quantiles(question: Question) -> list[tuple[int, Call]]:
    moments = question.group.moments
    return [(moments.index(moments_of(call, question.calls)[0]), call) for call in question.calls if call.name == "quantile"]


def _charged(question: Question) -> list[tuple[int, Moment]]:
    """The sums that are paid for; the number of units is already released with private keys."""
    return [(place, moment) for place, moment in _additive(question) if not (private(question) and moment.kind == "units")]


def _paid(question: Question, touched: Reach) -> list[tuple[int, Moment]]:
    """The same without those that no unit can change: they are released as they are, and have no share."""
    return [(place, moment) for place, moment in _charged(question) if _moves(moment, touched)]


def _with_laplace(question: Question, asked: Request, touched: Sequence[Reach], factor: int) -> Quote:
    """Every sum, quantile and set of private keys of every part has the same share of epsilon."""
    added = summed(question, _spread(question, touched, concentrated=False))
    share = (asked.epsilon or Fraction(0)) / (factor * _shares(question, touched, added))
    noises = _noised(question, touched, added, partial(_laplace, epsilon=share))
    return _quote(question, asked, touched, noises, share, factor)


def _with_gaussian(question: Question, asked: Request, touched: Sequence[Reach], factor: int) -> Quote:
    """All sums of all parts together get their share of epsilon; for a unit that changes, a concentrated loss counts four times."""
    added = summed(question, _spread(question, touched, concentrated=True))
    share = (asked.epsilon or Fraction(0)) / (factor * _shares(question, touched, added))
    number = sum(_paid_alone(part, touched[at], at in added) for at, part in enumerate(question.parts))
    delta = asked.delta / (2 if any(map(private, question.parts)) else 1)
    rho = calibrate_rho(factor * share * number, delta) / (factor**2 * number)
    noises = _noised(question, touched, added, partial(_gaussian, rho=rho))
    return _quote(question, asked, touched, noises, share, factor)


def calibrate_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho within (epsilon, delta), to 24 decimals, so that a ledger stores it exactly.

    A millionth of delta is reserved for the tails that samplers leave out, which are far smaller.
    """
    return Fraction(int(largest_concentrated_down(epsilon, delta * (1 - Fraction(1, 10**6))) * 10**24), 10**24)


def _measured(question: Question, added: bool) -> list[tuple[int, Moment]]:
    """The sums of a part that get noise of their own: all that are paid for, or those that cannot be added up."""
    return [(place, moment) for place, moment in _charged(question) if not (added and moment.kind in ADDITIVE)]


def _paid_alone(question: Question, touched: Reach, added: bool) -> int:
    """How many of these sums a unit can change."""
    return sum(_moves(moment, touched) for _, moment in _measured(question, added))


def _shares(question: Question, touched: Sequence[Reach], added: Summed) -> int:
    """Epsilon is split evenly over what is released: every sum that a unit can change, quantile and mode, and private keys."""
    return max(1, sum(_paid_alone(part, touched[at], at in added) + _alone(part) for at, part in enumerate(question.parts)))


def _alone(question: Question) -> int:
    """What a part releases besides sums: its quantiles and modes, and its keys where they are private."""
    return len(_quantiles(question)) + len(modes_of(question)) + private(question)


def _spread(question: Question, touched: Sequence[Reach], concentrated: bool) -> Spread:
    """How far one number of a part misses, squared and added over its sums, in rows and at the same noise for all."""
    norm = l2_sensitivity if concentrated else l1_sensitivity
    parts = []
    for part, reached in zip(question.parts, touched, strict=True):
        sums = _paid(part, reached)
        squares = [(norm(moment, reached) / Fraction(max(1, *map(abs, row_range(moment))))) ** 2 for _, moment in sums]
        fixed = [square for square, (_, moment) in zip(squares, sums, strict=True) if moment.kind not in ADDITIVE]
        alone, rest = _alone(part), sum(fixed, start=Fraction(0))
        parts.append((len(sums) - len(fixed), sum(squares, start=-rest), len(fixed) + alone, rest + alone))
    return Spread(tuple(parts), concentrated)


def _dimension(question: Question, touched: Reach) -> int:
    """How many numbers get noise: the public groups; for private keys, those that one unit can touch (gaussian.md)."""
    return touched.groups if private(question) else _cells(question)


def _cells(question: Question) -> int:
    return prod(size(key) for key in question.group.keys)


def _laplace(question: Question, moment: Moment, touched: Reach, epsilon: Fraction) -> Laplace:
    return Laplace(l1_sensitivity(moment, touched), epsilon, 1, _dimension(question, touched), True, touched.neighbours)


def _gaussian(question: Question, moment: Moment, touched: Reach, rho: Fraction) -> Gaussian:
    return Gaussian(l2_sensitivity(moment, touched), rho, 1, _dimension(question, touched), True, touched.neighbours)


Noises = list[tuple[tuple[Sum, ...], tuple[Margin, ...]]]


def _noised(
    question: Question, touched: Sequence[Reach], added: Summed, noise: Callable[[Question, Moment, Reach], Additive]
) -> Noises:
    """For every part the sums that get noise, and those that are added up from the sums of another part."""
    sums = [
        tuple(Sum(place, moment, noise(part, moment, touched[at])) for place, moment in _measured(part, at in added))
        for at, part in enumerate(question.parts)
    ]
    margins: list[tuple[Margin, ...]] = [()] * len(sums)
    for at, (source, count) in added.items():
        known = {part.moment: part for part in sums[source]}
        wanted = [(place, moment) for place, moment in _charged(question.parts[at]) if moment.kind in ADDITIVE]
        margins[at] = tuple(
            Margin(place, moment, source, known[moment].place, Added(known[moment].mechanism, count)) for place, moment in wanted
        )
    return list(zip(sums, margins, strict=True))


def _quote(question: Question, asked: Request, touched: Sequence[Reach], noises: Noises, share: Fraction, factor: int) -> Quote:
    concentrated = any(part.mechanism.concentrated for sums, _ in noises for part in sums)
    private_parts = sum(map(private, question.parts))
    for_keys = (asked.delta / 2 if concentrated else asked.delta) / max(1, private_parts)
    spent = asked.delta if concentrated or private_parts else Fraction(0)
    quotes = []
    for at, (part, (sums, margins)) in enumerate(zip(question.parts, noises, strict=True)):
        reached = touched[at]
        rows = reached.l1 if reached.groups > 1 else 1
        ranks = tuple(
            Rank(place, call, rows, _rank(call, share, 1 - _missed_of(at, call, question, asked), reached))
            for place, call in _quantiles(part)
        )
        keys = _keys(part, reached, share, for_keys, factor)
        modes = priced_modes(part, share, reached)
        quotes.append(Quote(part, asked, reached, sums, ranks, keys, asked.epsilon or share, spent, margins, modes))
    return _together(quotes)


def _together(quotes: Sequence[Quote]) -> Quote:
    """The quote of the first part, with those of the others in their places."""
    first, number = quotes[0], len(quotes[0].question.beside)
    beside = tuple(quotes[1 : 1 + number])
    return replace(first, beside=beside, below=tuple(replace(part, beside=beside) for part in quotes[1 + number :]))


def _rank(call: Call, epsilon: Fraction, confidence: Fraction, touched: Reach) -> QuantileWithInterval | SmoothQuantile:
    """The exponential mechanism, whose interval comes from draws of its own; on a very fine grid, smooth sensitivity.

    The error of the exponential mechanism in ranks grows with the logarithm of the grid. The noise of smooth sensitivity follows
    the gaps between values instead, but its scale is private, so it has no interval. It is priced for add/remove, and gets half of
    its share if a unit changes.
    """
    node = call.over.node if call.over else None
    low, high = (getattr(node, "low", 0), getattr(node, "high", 0))
    share = call.share or Fraction(0)
    if high - low < FINEST_GRID:
        return QuantileWithInterval(share, 0, high - low, 1, epsilon, confidence, touched.l1, touched.neighbours)
    rows, parts = 1 if touched.groups > 1 else touched.l1, 2 if touched.change == "change-one" else 1
    return SmoothQuantile(share, 0, high - low, 1, epsilon * rows / (parts * touched.l1), max_rows=rows, neighbours=UNIT)


def _keys(question: Question, touched: Reach, share: Fraction, delta: Fraction, factor: int) -> KeyThreshold | None:
    """`delta` is for the keys; a unit that changes passes it along two neighbours, so it counts 1 + e^epsilon times."""
    if not private(question):
        return None
    if not delta:
        raise NoBudget(
            "private keys require a delta: groups are released through a noisy threshold",
            remedy="give for example delta=1e-7",
        )
    if factor == 2 and share > LARGEST_EPSILON:
        raise InvalidBudget(f"epsilon is too large for private keys; the limit is {LARGEST_EPSILON} per number")
    passed = 1 + exp_up(share) if factor == 2 else 1
    return KeyThreshold(share, delta / passed, touched.units_l1, max(table.min_people for table in tables_of(question.group)), UNIT)


# --- by error ----------------------------------------------------------------------------------------------------------------


def _for_error(question: Question, asked: Request, touched: Sequence[Reach], factor: int) -> Quote:
    """The least epsilon with which every number of the answer has the wanted error; each sum gets what it needs."""
    if any(map(private, question.parts)):
        raise ErrorNotPublic("with private keys, the error of a group cannot be set in advance", remedy="give epsilon and delta")
    needed = [_needed(part, asked, reached) for part, reached in zip(question.parts, touched, strict=True)]
    number = sum(share > 0 for part in needed for share in part.values())  # what no unit can change needs none
    if factor * sum(share for part in needed for share in part.values()) < LEAST_EPSILON:
        least = calibrate.short_up(LEAST_EPSILON / (factor * number), 6)  # then the error is smaller than was asked for
        needed = [{moment: max(share, least) if share else share for moment, share in part.items()} for part in needed]
    epsilon = factor * sum((share for part in needed for share in part.values()), start=Fraction(0))
    quotes = []
    for part, reached, shares in zip(question.parts, touched, needed, strict=True):
        noise = {each: _laplace(part, each, reached, share or LEAST_EPSILON) for each, share in shares.items()}
        sums = tuple(Sum(place, each, noise[each]) for place, each in _additive(part))
        quotes.append(Quote(part, asked, reached, sums, (), None, epsilon, Fraction(0)))
    return _together(quotes)


def _needed(question: Question, asked: Request, touched: Reach) -> dict[Moment, Fraction]:
    """What every sum of one part must cost at least."""
    needed: dict[Moment, Fraction] = {}
    for output in question.outputs:
        for call in calls_of(output.value, question):
            moment, step = _one_sum(output.value, call, question)
            steps = int((asked.error or Fraction(0)) / step)
            missed = _missed(question, asked, call)
            least = calibrate.discrete_laplace_epsilon_up(l1_sensitivity(moment, touched), steps, missed)
            needed[moment] = max(needed.get(moment, Fraction(0)), calibrate.short_up(least, 6))
    spare = [moment for _, moment in _additive(question) if moment not in needed]
    if spare or not needed:
        raise ErrorNotPublic(
            "with --error, every aggregate in HAVING or ORDER BY must also be in SELECT", remedy="add it to SELECT"
        )
    return needed


def _one_sum(out: Out, call: Call, question: Question) -> tuple[Moment, Fraction]:
    """The single moment behind a number whose error is public, and the size of one of its units in the answer."""
    moments = moments_of(call, question.calls)
    if call.name == "mode":
        raise ErrorNotPublic("MODE is a chosen value, which has no error", remedy="give epsilon")
    if not isinstance(out, Result) or len(moments) != 1 or moments[0].kind == "list":
        raise ErrorNotPublic(
            f"the error of {_word(out, call)} depends on how many people there are, which is private",
            remedy="ask for its SUM and its COUNT with an error each, or give epsilon",
        )
    meaning = call.over.type if call.over is not None and call.name == "sum" else None
    return moments[0], meaning.step if isinstance(meaning, NumberType) else Fraction(1)


def _word(out: Out, call: Call) -> str:
    names = {"avg": "an average", "quantile": "a quantile", "corr": "a correlation"}
    names |= dict.fromkeys(("covar_pop", "covar_samp"), "a covariance")
    names |= dict.fromkeys(("regr_slope", "regr_intercept"), "a regression")
    return names.get(call.name, "a variance") if isinstance(out, Result) else "an expression"


# --- error bars --------------------------------------------------------------------------------------------------------------


def missed_by(out: Out, question: Question, asked: Request, groups: int) -> Fraction:
    """The chance that each released number of an output may miss, so that the output misses with at most 1 - confidence.

    Where released numbers choose the rows, or where it is asked for, all rows hold together; then also all columns.
    """
    together = asked.simultaneous or chooses(question)
    columns = sum(1 for output in question.outputs if is_noisy(output.value)) if asked.simultaneous else 1
    parts = question.among if together else 1
    return (1 - asked.confidence) / (pieces(out, question, groups, together) * max(1, columns) * parts)


def _missed(question: Question, asked: Request, call: Call) -> Fraction:
    """The strictest chance of a miss among the outputs that use a call; private keys count as many groups as can be shown."""
    if asked.simultaneous and private(question):
        raise NotAllowed("with private keys, intervals hold per value only", remedy="leave out simultaneous")
    outs = [output.value for output in question.outputs if call in calls_behind(output.value, question)]
    return min((missed_by(out, question, asked, _most_groups(question)) for out in outs), default=1 - asked.confidence)


def _missed_of(at: int, call: Call, question: Question, asked: Request) -> Fraction:
    """The same for the call of a part; where it stands beside the question, among the outputs that use its number."""
    part, index = question.parts[at], at - 1
    if not 0 <= index < len(question.beside):
        return _missed(part, asked, call)
    if asked.simultaneous and any(map(private, question.shown)):
        raise NotAllowed("with private keys, intervals hold per value only", remedy="leave out simultaneous")
    used = [(each, out.value) for each in question.shown for out in each.outputs if index in beside_in(out.value)]
    return min((missed_by(out, each, asked, _most_groups(each)) for each, out in used), default=1 - asked.confidence)


def _most_groups(question: Question) -> int:
    return shown_at_most(question) if private(question) else _cells(question)


def _width(quote: Quote) -> float:
    """The half-widths of the sums, each in units of its sensitivity, added up: the measure by which two quotes are compared."""
    miss = 1 - quote.request.confidence
    return sum(
        float(part.mechanism.interval(1 - miss).above) / float_up(Fraction(max(1, l1_sensitivity(part.moment, each.reach))))
        for each in quote.parts
        for part in each.noisy_sums
    )
