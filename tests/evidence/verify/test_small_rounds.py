"""Rounds on a small table: the attack of `evidence` on the code that runs, with everything that is released, rows included."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from chance import CHANCE
from measured_rows import SIZES, axes_of, joint
from tacit.errors import LawViolated
from tacit.evidence.verify.epsilon import EpsilonBound, epsilon_of_draws
from tacit.evidence.verify.score import read
from tacit.privacy.catalog import Source, Table
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows import rounds
from tacit.publish.synthetic.rows.inference import drawn_codes, fit
from tacit.publish.synthetic.rows.marginals import Counts, Design, Measured
from tacit.publish.synthetic.rows.rounds import Aim, rounds_designs, run_rounds
from tacit.query.price.price import request

DRAWS = 150
OTHERS = np.array([[0, 0, 0]] * 40 + [[1, 1, 0]] * 40)
OWN = np.array([[5, 3, 1]])  # a person like nobody else
ALL, ONE = Aim(steps=2), Aim(workload=(("x", "y"),))  # two of three pairs, or always the same


def design_of(aim: Aim) -> Design:
    axes = axes_of()
    table = Table("generated", Source("csv", "generated.csv"), {axis.name: axis.column for axis in axes})
    return rounds_designs(table, axes, request(epsilon=1), "add-remove", aim)[0]


def released(design: Design, rows: Counts) -> list[int]:
    """Everything that a release has, in a line of one length: columns, the pairs that were measured, and rows drawn from them."""
    alone = [np.bincount(rows[:, at], minlength=axis.size) for at, axis in enumerate(design.axes)]
    singles = tuple(np.asarray(design.single.over(counts.size).release_units(Sealed(counts))).astype(np.int64) for counts in alone)
    measured = Measured(design, singles, {}, groups=tuple(np.arange(size) for size in SIZES.values()))
    assert design.rounds is not None
    sealed = {places: Sealed(joint(rows, places, measured.merged_groups)) for places in design.rounds.candidates}
    measured = run_rounds(measured, design.rounds, sealed, lambda words, share: None)
    told = {each.places: each.counts for each in measured.rounds}
    pairs = [told.get(places, np.full(joint(rows, places, measured.merged_groups).size, 0)) for places in sealed]
    made = np.stack(drawn_codes(measured, fit(measured, 80), 80), axis=1)
    drawn = [np.bincount(made[:, at], minlength=axis.size) for at, axis in enumerate(design.axes)]
    return [int(each) for part in (*singles, *pairs, *drawn) for each in part]


def attacked(design: Design) -> EpsilonBound:
    """What an attacker measures who knows all rows but one, and has seen both worlds as often as he likes."""
    one, other = (read([released(design, rows) for _ in range(DRAWS)]) for rows in (OTHERS, np.concatenate([OTHERS, OWN])))
    return epsilon_of_draws(one, other, confidence=1 - CHANCE)


def test_a_row_is_told_apart_within_the_epsilon() -> None:
    """The bound exceeds the real epsilon with at most CHANCE; what is caught by the same attack is in the tests below."""
    assert not attacked(design_of(ALL)).refutes(1)


def test_marginals_without_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = rounds.noise_of
    monkeypatch.setattr(rounds, "noise_of", lambda plan, budget: replace(genuine(plan, budget), budget=Fraction(50)))
    design = design_of(ONE)
    assert design.rounds is not None
    planted = replace(
        design, rounds=replace(design.rounds, whole=Fraction(60), rho=Fraction(10**6))
    )  # for the filter, which would see it
    assert attacked(planted).refutes(1)


def test_a_filter_sees_marginals_without_noise_first(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = rounds.noise_of
    monkeypatch.setattr(rounds, "noise_of", lambda plan, budget: replace(genuine(plan, budget), budget=Fraction(50)))
    with pytest.raises(LawViolated, match="a round would cost more"):
        released(design_of(ALL), OTHERS)


def test_columns_of_half_a_hundredth_of_the_noise_are_caught() -> None:
    sound = design_of(ONE)
    assert attacked(replace(sound, single=replace(sound.single, budget=200 * sound.single.budget))).refutes(1)
