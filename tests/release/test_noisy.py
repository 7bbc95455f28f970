"""The last step, replayed: what leaves on neighbouring tables is as close as was paid for, and nothing else decides it.

Question, price and engine run once on each of two neighbours; only `noised` is repeated. Where a mechanism lists its law, the loss
is exact; else it is bounded from draws, with the chance of chance.py to accuse an honest mechanism.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import partialmethod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from chance import CHANCE, follows_law
from listed import counted
from tacit.accounting.events import Batch, CalibratedGaussian, GaussianNoise
from tacit.evidence.verify.epsilon import epsilon, epsilon_of_draws
from tacit.evidence.verify.score import read
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise import discrete
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.selection import GaussianKeyThreshold, Kept, KeyThreshold
from tacit.privacy.sealed import Sealed
from tacit.query.engines.exact import Exact
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote, price, request
from tacit.release.noisy import InProcess, noised
from worlds import PUBLIC, World, clinic, ranked, without, world_in_memory

SURE = 1 - CHANCE
ROW = {"ward": 0, "cost": 5000, "age": 10, "day": 0, "diagnosis": "flu", "scan": 0}
OTHER = {"ward": 1, "cost": 0, "age": 0, "day": 9, "diagnosis": "cold", "scan": None}
SPREAD = [{**ROW, "ward": 0}, {**ROW, "ward": 1}, {**ROW, "ward": 2}]
UNITS = [SPREAD, [OTHER], [OTHER, ROW]]
NUMBERS = [
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(cost), COUNT(scan) FROM visits",
    "SELECT COUNT(DISTINCT person) FROM visits",
    "SELECT COUNT(DISTINCT diagnosis), COUNT(DISTINCT ward) FROM visits",
    "SELECT COVAR_POP(age, cost) FROM visits",
    "SELECT SUM(cost) FROM visits",
    "SELECT AVG(age) FROM visits",
    "SELECT STDDEV(age) FROM visits",
    "SELECT SUM(age), COUNT(*) FROM visits WHERE cost > 10",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(DISTINCT person), SUM(age) FROM visits GROUP BY ward",
    "SELECT site, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY site",
]
RANKS = ["SELECT MEDIAN(age) FROM visits", "SELECT MAX(age) FROM visits", "SELECT QUANTILE(age, 0.2) FROM visits WHERE ward <> 'c'"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("noisy")), {"visits": ranked(UNITS), "wards": PUBLIC}) as made:
        yield made


def neighbours(place: World, quote: Quote, unit: int = 0) -> tuple[Exact, Exact]:
    """The sealed answers with and without a unit."""
    group = quote.question.group
    full = place.engine.run(group)
    less = place.with_rows("visits", without(place.tables["visits"], unit)).engine.run(group)
    place.with_rows("visits", place.tables["visits"])
    return full, less


def quoted(place: World, text: str, kind: type, **budget: Any) -> Quote:
    quotes = price(place.plan(text), request(**{"epsilon": 1, "delta": 1e-6 if kind is Gaussian else 0, **budget}))
    kinds = [{type(part.mechanism) for part in quote.sums} for quote in quotes]  # each sum has the noise that suits it
    allowed = ({kind}, {Laplace, Gaussian})
    return next(quote for wanted in allowed for quote, found in zip(quotes, kinds, strict=True) if found <= wanted)


def replayed(quote: Quote, exact: Exact, count: int) -> np.ndarray:
    """`count` releases of all sums of a quote, one to a row: the same mechanism, made for all of them at once."""
    columns = []
    for part in quote.sums:
        units = np.atleast_1d(exact.moments[part.place].unseal())  # type: ignore[union-attr]
        released = part.mechanism.release_each(Sealed(np.tile(units, count)))
        columns.append(np.asarray(released, dtype=np.float64).reshape(count, len(units)))
    return np.hstack(columns)


def released(noisy: Noisy) -> list[float]:
    """The released sums of one `Noisy`, in the order of `replayed`."""
    return [number for _, values in noisy.sums.values() for number in values.tolist()]


# --- measured from draws ---------------------------------------------------------------------------------------------------------


def measured(one: np.ndarray, two: np.ndarray, delta: float = 0) -> Any:
    return epsilon_of_draws(read(one), read(two), SURE, delta)


@pytest.mark.parametrize("count", [25_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("text", NUMBERS)
def test_replayed_sums_are_within_their_claim(place: World, text: str, kind: type, count: int) -> None:
    quote = quoted(place, text, kind)
    full, less = neighbours(place, quote)
    found = measured(replayed(quote, full, count), replayed(quote, less, count), float(quote.delta))
    assert not found.refutes(1), str(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SELECT COUNT(*) FROM visits", 300_000),
        pytest.param("SELECT SUM(cost) FROM visits", 300_000, marks=pytest.mark.slow),
        pytest.param("SELECT ward, COUNT(*) FROM visits GROUP BY ward", 1_500_000, marks=pytest.mark.slow),
    ],
)
def test_ten_percent_too_little_noise_is_caught(place: World, text: str, count: int) -> None:
    """The planted bug: the sensitivity is said to be 10 % less than it is."""
    quote = quoted(place, text, Laplace)
    full, less = neighbours(place, quote)

    def weaker(mechanism: Laplace) -> Laplace:
        return Laplace(
            mechanism.sensitivity, mechanism.epsilon * Fraction(10, 9), 1, mechanism.dimension, True, mechanism.neighbours
        )

    planted = replace(quote, sums=tuple(replace(part, mechanism=weaker(part.mechanism)) for part in quote.sums))  # type: ignore[arg-type]
    assert measured(replayed(planted, full, count), replayed(planted, less, count)).refutes(1)


@pytest.mark.parametrize("text", ["SELECT COUNT(*), SUM(age) FROM visits", "SELECT ward, COUNT(*) FROM visits GROUP BY ward"])
def test_the_whole_road_and_the_replay_agree(place: World, text: str) -> None:
    """100 times through the engine and `noised`: the same law as the replay, by Kolmogorov and Smirnov."""
    quote = quoted(place, text, Laplace)
    whole = np.array([released(noised(quote, place.engine.run(quote.question.group))) for _ in range(100)])
    replay = replayed(quote, place.engine.run(quote.question.group), 30_000)
    assert whole.shape[1] == replay.shape[1]
    for at in range(whole.shape[1]):
        assert ks_2samp(whole[:, at], replay[:, at]).pvalue > CHANCE / whole.shape[1]


# --- exact, from listed laws -----------------------------------------------------------------------------------------------------


def listed_loss(quote: Quote, full: Exact, less: Exact) -> float:
    """The sum of the exact losses of all mechanisms of a quote between two answers."""
    total = 0.0
    for part in quote.sums:
        one, two = (exact.moments[part.place].unseal() for exact in (full, less))  # type: ignore[union-attr]
        total += epsilon(part.mechanism, int(one[0]), int(two[0])).bound
    for rank in quote.ranks:
        one, two = (expanded(exact.moments[rank.place][0]) for exact in (full, less))  # type: ignore[index]
        total += epsilon(rank.mechanism, one, two).bound
    return total


def expanded(cell: Sealed[Any]) -> list[int]:
    return sorted(counted(cell.unseal()).elements())


@pytest.mark.parametrize("text", [*[text for text in NUMBERS if "GROUP" not in text and "cost" not in text], *RANKS])
def test_listed_laws_of_neighbours_are_within_the_claim(place: World, text: str) -> None:
    quote = quoted(place, text, Laplace, epsilon=3)
    for unit in range(len(UNITS)):
        assert listed_loss(quote, *neighbours(place, quote, unit)) <= 3 * (1 + 1e-9)


@pytest.mark.parametrize(("text", "least"), [("SELECT COUNT(*) FROM visits", 2.99), ("SELECT MEDIAN(age) FROM visits", 0.7)])
def test_listed_laws_come_near_the_claim(place: World, text: str, least: float) -> None:
    """So that the test above measures something: the worst unit is there."""
    quote = quoted(place, text, Laplace, epsilon=3)
    assert listed_loss(quote, *neighbours(place, quote)) > least


def test_ranks_counted_by_rows_are_caught(place: World) -> None:
    """The planted bug: the distance in ranks as if one row, and not one unit of three, could come or go."""
    made = place.with_rows("visits", ranked([[{**ROW, "age": 5}] * 3, *[[ROW]] * 20]))
    quote = quoted(made, "SELECT MEDIAN(age) FROM visits", Laplace, epsilon=3)
    answers = neighbours(made, quote)
    place.with_rows("visits", place.tables["visits"])
    (rank,) = quote.ranks
    by_row = QuantileWithInterval(Fraction(1, 2), 0, 10, 1, 3, max_rows=1, neighbours=rank.mechanism.neighbours)
    assert listed_loss(quote, *answers) <= 3
    assert listed_loss(replace(quote, ranks=(replace(rank, mechanism=by_row),)), *answers) > 3


def test_quantiles_of_groups_are_priced_for_all_groups_together(place: World) -> None:
    """One unit with a row in every group: the losses of the groups add up to the claim at most."""
    quote = quoted(place, "SELECT ward, MEDIAN(age) FROM visits GROUP BY ward", Laplace, epsilon=3)
    full, less = neighbours(place, quote)
    (rank,) = quote.ranks
    cells = zip(full.moments[rank.place], less.moments[rank.place], strict=True)  # type: ignore[arg-type]
    losses = [epsilon(rank.mechanism, expanded(one), expanded(two)).bound for one, two in cells]
    assert sum(losses) <= 3 * (1 + 1e-9)
    assert sum(loss > 0 for loss in losses) == 3


@pytest.mark.parametrize("text", RANKS)
def test_replayed_quantiles_follow_their_law(place: World, text: str) -> None:
    quote = quoted(place, text, Laplace)
    full, _ = neighbours(place, quote)
    (rank,) = quote.ranks
    law = rank.mechanism.law(expanded(full.moments[rank.place][0]))  # type: ignore[index]
    low = rank.call.over.node.low  # type: ignore[union-attr]
    expected: dict[float, float] = {}
    for triple, weight in law.probabilities.items():
        expected[float(triple[0])] = expected.get(float(triple[0]), 0.0) + float(weight)  # type: ignore[index]
    drawn = np.array([noised(quote, full).ranks[rank.call][0][0] - low for _ in range(500)])
    assert follows_law(drawn.tolist(), expected)


# --- private keys ----------------------------------------------------------------------------------------------------------------


def test_private_keys_are_shown_as_often_on_neighbours_as_was_paid_for(place: World) -> None:
    """A diagnosis that one person has is shown, with its count, within (epsilon, delta); delta is large so that it is seen."""
    text = "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"
    rare = ranked([[{**ROW, "diagnosis": "rare"}] * 3, *[[OTHER]] * 40])
    made = place.with_rows("visits", rare)
    quote = price(made.plan(text), request(epsilon=2, delta=0.2))[0]
    full, less = neighbours(made, quote)

    place.with_rows("visits", place.tables["visits"])

    def shown(quote: Quote, exact: Exact) -> list[Any]:
        return [keyed(noised(quote, exact)) for _ in range(3000)]

    one, two = shown(quote, full), shown(quote, less)
    assert not epsilon_of_draws(read(one), read(two), SURE, 0.2).refutes(2)
    assert any("rare" in dict(keys) for keys in one)
    assert not any("rare" in dict(keys) for keys in two)
    planted = deepcopy(quote)
    object.__setattr__(planted.keys, "threshold", 1)  # a group is shown wherever anybody is in it
    assert epsilon_of_draws(read(shown(planted, full)), read(shown(planted, less)), SURE, 0.2).refutes(2)


def keyed(noisy: Noisy) -> tuple[tuple[str, bool], ...]:
    """The keys that are shown, and whether their count is above 25."""
    ((_, counts),) = noisy.sums.values()
    return tuple((key, bool(count > 25)) for (key,), count in zip(noisy.groups, counts, strict=True))


def test_numbers_of_keys_that_are_not_shown_do_not_leave(place: World) -> None:
    text = "SELECT diagnosis, COUNT(*), SUM(cost), MEDIAN(age) FROM visits GROUP BY diagnosis"
    quote = price(place.plan(text), request(epsilon=1, delta=1e-9))[0]
    found = noised(quote, place.engine.run(quote.question.group))
    assert found.groups == ()
    assert all(len(values) == 0 for _, values in found.sums.values())
    assert [len(values) for triple in found.ranks.values() for values in triple] == [0, 0, 0]


# --- the hook --------------------------------------------------------------------------------------------------------------------


def test_an_observer_sees_every_release_with_its_sensitivity_and_its_scale(place: World) -> None:
    quote = quoted(place, "SELECT ward, COUNT(*), MEDIAN(age) FROM visits GROUP BY ward", Laplace)
    watched: list[Any] = []
    found = InProcess(place.engine, [lambda *seen: watched.append(seen)]).noisy(quote)
    ((seen_quote, seen_exact, seen_noisy),) = watched
    assert (seen_quote, seen_noisy) == (quote, found)
    assert all(isinstance(moment, Sealed | tuple) for moment in seen_exact.moments)
    assert [(part.mechanism.sensitivity, part.mechanism.scale) for part in seen_quote.sums] == [(3, 6)]


PRIVATE = "SELECT diagnosis, COUNT(*), SUM(age), COUNT(cost) FROM visits GROUP BY diagnosis"


@pytest.fixture
def spread(place: World, tmp_path: Path) -> World:
    """One row in a group and three groups: the l2 sensitivity of a count is the root of three, and no whole number."""
    return place.with_catalog(clinic(tmp_path, max_rows=3, max_rows_per_group=1))


def scales_that_run(place: World, quote: Quote, monkeypatch: pytest.MonkeyPatch, shown: int) -> tuple[set[Fraction], list[Any]]:
    """The scales that noise is drawn at where this many keys are shown, and what an observer sees."""
    watched: list[Any] = []
    seen: set[Fraction] = set()
    drawn = discrete.draw_gaussian
    monkeypatch.setattr(discrete, "draw_gaussian", lambda scale, size: (seen.add(scale), drawn(scale, size))[1])
    for kind in (KeyThreshold, GaussianKeyThreshold):
        monkeypatch.setattr(kind, "release_with", partialmethod(first_keys, shown=shown))
    noised(quote, place.engine.run(quote.question.group), [lambda *release: watched.append(release)])
    return seen, watched


def first_keys(self: KeyThreshold, keys: Any, counts: Any, others: Any, most: int | None, shown: int) -> Kept:
    """As `release_with`, with so many keys."""
    columns = tuple(Sealed(np.resize(column.unseal(), shown)) for column in others)
    return Kept(tuple((f"key {at}",) for at in range(shown)), (50,) * shown, columns)


@pytest.mark.parametrize("shown", [0, 1, 2, 40])
def test_what_runs_under_private_keys_is_what_was_priced_and_recorded(
    spread: World, monkeypatch: pytest.MonkeyPatch, shown: int
) -> None:
    """The event of the quote goes to the ledger; each part that ran states the same one, and noise is drawn at its scale."""
    quote = quoted(spread, PRIVATE, Gaussian)
    drawn, watched = scales_that_run(spread, quote, monkeypatch, shown)
    ((seen, _, noisy),) = watched
    sums = tuple(part.mechanism.event for part, _ in noisy.sums.values())  # type: ignore[union-attr]
    together = (quote.keys.event, *sums)  # type: ignore[union-attr]
    assert seen.event == quote.event == Batch((CalibratedGaussian(together, *quote.stated),))  # type: ignore[arg-type, misc]
    assert drawn == {event.scale for event in sums}  # type: ignore[union-attr]
    assert [len(values) for _, values in noisy.sums.values()] == [shown] * 3


@pytest.mark.usefixtures("disagreeing")
def test_noise_that_is_not_the_recorded_one_is_caught(spread: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: priced for one number, and run for as many as are shown."""
    quote = quoted(spread, PRIVATE, Gaussian)
    alone = [
        replace(part, mechanism=Gaussian(part.mechanism.sensitivity, part.mechanism.rho, 1, 1, True, part.mechanism.neighbours))  # type: ignore[union-attr]
        for part in quote.sums
    ]
    recorded = replace(quote, sums=tuple(alone)).event
    drawn, _ = scales_that_run(spread, quote, monkeypatch, 2)
    assert recorded != quote.event
    *_, together = recorded.events  # type: ignore[union-attr]
    assert drawn.isdisjoint({event.scale for event in together.events if isinstance(event, GaussianNoise)})  # type: ignore[union-attr]


def test_nothing_in_the_package_gives_an_observer() -> None:
    """Runners of the package are made without one; the process that answers has no way to be given any."""
    import tacit

    texts = [path.read_text() for path in Path(tacit.__file__).parent.rglob("*.py")]
    named = [text for text in texts if any(word in text for word in ("InProcess(", "released(", "observers"))]
    made = [node for text in named for node in ast.walk(ast.parse(text))]
    calls = [(node.func.id, len(node.args)) for node in made if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    given = {name: {many for called, many in calls if called == name} for name in ("InProcess", "released")}
    assert given == {"InProcess": {1}, "released": {2, 3}}
    assert sum(isinstance(node, ast.Attribute) and node.attr == "observers" for node in made) == 2  # where it is kept, and read


def test_a_smooth_quantile_has_the_bounds_for_ends(place: World) -> None:
    """Its scale is private, so the only ends that may leave are public already."""
    quote = quoted(place, "SELECT MEDIAN(age * 1000000000000 + cost) FROM visits", Laplace)
    (rank,) = quote.ranks
    value, low, high = noised(quote, place.engine.run(quote.question.group)).ranks[rank.call]
    node = rank.call.over.node  # type: ignore[union-attr]
    assert (low[0], high[0]) == (node.low, node.high)
    assert low[0] <= value[0] <= high[0]
