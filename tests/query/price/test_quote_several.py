"""Several quantiles of one expression: which design they have, that it is paid for once, and that its intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from chance import CHANCE
from tacit.accounting.composition import loss
from tacit.accounting.events import Batch, LaplaceNoise
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy.loss import Pure
from tacit.query.price.explain import explained
from tacit.query.price.price import Quote, price, request
from tacit.release.answer import Receipt
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

TENTHS = "SELECT APPROX_QUANTILES(cost, 10) AS part FROM visits"
ROW = {"ward": 0, "cost": 0, "age": 0, "day": 0, "diagnosis": None, "scan": None}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    catalog = clinic(tmp_path_factory.mktemp("several"), max_rows=2)
    with world_in_memory(catalog, {"visits": [], "wards": PUBLIC}) as made:
        yield made


def quoted(made: World, text: str, change: Any = "add-remove", **asked: Any) -> Quote:
    return price(made.plan(text), request(**({"epsilon": 1} | asked)), change)[0]


def kinds(quote: Quote) -> set[type]:
    return {type(rank.mechanism) for rank in quote.ranks}


def columns(*shares: str, over: str = "cost") -> str:
    return f"SELECT {', '.join(f'QUANTILE_CONT({over}, {share}) AS c{at}' for at, share in enumerate(shares))} FROM visits"


def test_many_quantiles_are_read_from_a_tree_and_few_are_drawn(place: World) -> None:
    assert kinds(quoted(place, TENTHS)) == {FromTree}
    assert kinds(quoted(place, columns("0.1", "0.2", "0.4", "0.6", "0.8", "0.9"))) == {FromTree}
    assert kinds(quoted(place, columns("0.5"))) == {QuantileWithInterval}
    assert kinds(quoted(place, columns("0.25", "0.5"))) == {QuantileWithInterval}


def test_without_intervals_errors_alone_decide(place: World) -> None:
    few = columns("0.25", "0.5", "0.6", "0.75")
    assert kinds(quoted(place, few, interval=False)) == {Quantile}
    many = quoted(place, "SELECT APPROX_QUANTILES(cost, 40) AS part FROM visits", interval=False)
    assert kinds(many) == {FromTree}
    assert {rank.mechanism.confidence for rank in many.ranks if isinstance(rank.mechanism, FromTree)} == {None}


def test_other_expressions_have_trees_of_their_own(place: World) -> None:
    text = "SELECT APPROX_QUANTILES(cost, 10) AS part, MEDIAN(age) AS half, COUNT(*) AS n FROM visits"
    quote = quoted(place, text)
    assert kinds(quote) == {FromTree, QuantileWithInterval}
    assert loss(quote.event) == Pure(Fraction(1), quote.reach.neighbours)


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize("text", [TENTHS, "SELECT ward, APPROX_QUANTILES(cost, 10) AS part FROM visits GROUP BY ward"])
def test_a_tree_is_paid_for_once_and_in_full(place: World, text: str, change: Any) -> None:
    """Its record is the epsilon of all its quantiles, for all groups; each level's noise is for all rows of a unit."""
    quote = quoted(place, text, change)
    trees = {rank.mechanism.tree for rank in quote.ranks if isinstance(rank.mechanism, FromTree)}
    assert len(trees) == 1
    tree = trees.pop()
    assert tree.epsilon == 1
    assert tree.sensitivity == quote.reach.l1 * (2 if change == "change-one" else 1)
    assert isinstance(quote.event, Batch)
    assert quote.event.events == (tree.event,)
    levels = [event for event in tree.event.events if isinstance(event, LaplaceNoise)]
    assert sum(event.sensitivity / event.scale for event in levels) == 1
    assert loss(quote.event) == Pure(Fraction(1), quote.reach.neighbours)


def test_on_a_very_fine_grid_quantiles_are_drawn(place: World) -> None:
    """A tree of many levels takes longer than the work that a question is priced for."""
    text = "SELECT APPROX_QUANTILES(cost * cost * cost, 40) AS part FROM visits"
    assert kinds(quoted(place, text)) == {QuantileWithInterval}


def test_weights_count(place: World) -> None:
    """Where one quantile has nearly all the weight, it is drawn by itself, and so are the others."""
    text = columns("0.1", "0.2", "0.4", "0.6", "0.8", "0.9")
    assert kinds(quoted(place, text, weights={"c3": 1000})) == {QuantileWithInterval}


def test_explain_has_one_line_for_a_tree_with_all_that_it_serves(place: World) -> None:
    told = explained(quoted(place, TENTHS))
    assert [noise.what for noise in told.noise] == ["quantiles 0, 0.1, ..., 1"]
    assert told.noise[0].share == "100 % of epsilon, for part_0, part_1, ..., part_10"
    assert told.noise[0].cost == "pure epsilon 1 (add or remove one unit)"
    assert str(told).count("tree of counts") == 1
    assert len(told.to_dict()["noise"]) == 1


def test_explain_adds_up_the_shares_of_what_a_tree_serves(place: World) -> None:
    """Two trees and a count: their shares are those of what each one releases, and 100 % together."""
    several = "APPROX_QUANTILES(cost, 6) AS c, APPROX_QUANTILES(age, 6) AS a, COUNT(*) AS n"
    told = explained(quoted(place, f"SELECT {several} FROM visits"))
    trees = [noise for noise in told.noise if "tree" in noise.mechanism]
    assert [noise.what for noise in trees] == ["quantiles 0, 0.166667, ..., 1"] * 2
    assert [noise.share.split(", for ")[1] for noise in trees] == ["c_0, c_1, ..., c_6", "a_0, a_1, ..., a_6"]
    parts = [float(noise.share.split(" %")[0]) for noise in told.noise]
    assert sum(parts) == pytest.approx(100, abs=1e-3)
    assert [noise.cost for noise in trees] == [f"pure epsilon {part / 100:.6g} (add or remove one unit)" for part in parts[1:]]


def test_explain_counts_one_level_in_the_singular(place: World) -> None:
    quote = quoted(place, "SELECT APPROX_QUANTILES(age, 8) AS a FROM visits")
    assert quote.ranks[0].mechanism.tree.levels == 1  # type: ignore[union-attr]
    assert ": 1 level of " in str(explained(quote))


def test_quantiles_that_are_drawn_have_lines_of_their_own(place: World) -> None:
    told = explained(quoted(place, "SELECT MEDIAN(cost) AS m, MAX(cost) AS top FROM visits"))
    assert [noise.what for noise in told.noise] == ["quantile 0.5", "quantile 1"]


def test_an_answer_has_the_quantiles_in_order_and_encloses_them(place: World) -> None:
    costs = [50 * (at % 100) for at in range(4000)]
    made = place.with_rows("visits", ranked([[ROW | {"cost": cost}] for cost in costs]))
    quote = quoted(made, TENTHS, epsilon=4, confidence=1 - Fraction(CHANCE) / 11)
    exact = made.engine.run(quote.question.group)
    shown = answer(quote, noised(quote, exact), Receipt("", 0, Fraction(4)))
    values = [column.values[0] for column in shown.columns]
    assert all(one <= two for one, two in pairwise(values))
    for at, column in enumerate(shown.columns):
        assert column.low is not None
        assert column.high is not None
        true = sorted(costs)[(len(costs) - 1) * at // 10] / 100
        assert column.low[0] <= true <= column.high[0]
        assert column.high[0] - column.low[0] <= 5
