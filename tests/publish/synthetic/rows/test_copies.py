"""Copies: intervals over them hold as often as they say, other rules do not, and copies cost nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from chance import fewest_hits, follows_law, most_hits
from measured_rows import axes_of, released
from tacit.errors import InvalidInput
from tacit.mechanisms.laplace import Laplace
from tacit.publish.synthetic.rows.cells import Chosen
from tacit.publish.synthetic.rows.copies import combine, read_copies, varied
from tacit.publish.synthetic.rows.inference import fit
from tacit.publish.synthetic.rows.marginals import Noise
from tacit.publish.synthetic.rows.release import SyntheticTable
from tacit.release.answer import Receipt

TRUTH, NOISE, SAMPLING, COPIES, TRIALS = 5.0, 2.0, 3.0, 5, 3000
FAR = 40
LAW = {k: np.tanh(0.5) * np.exp(-abs(k)) for k in range(-FAR, FAR + 1)}  # of discrete Laplace noise of scale 1
Drawn = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def normal_estimates(rng: np.random.Generator, truth: float) -> Drawn:
    """The estimate on copy 0 and on the others, where all is normal and affine."""
    base = truth + rng.normal(0, NOISE, TRIALS)
    return base, base[:, None] + rng.normal(0, NOISE, (TRIALS, COPIES))


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_intervals_hold_as_often_as_they_say(corrected: bool, confidence: float) -> None:
    base, copies = normal_estimates(np.random.default_rng(1), TRUTH)
    hits = 0
    for released_one, each in zip(base, copies, strict=True):
        made = combine(each, released=released_one if corrected else None, confidence=confidence)
        hits += made.low <= TRUTH <= made.high
    assert fewest_hits(TRIALS, confidence, 8) <= hits <= most_hits(TRIALS, confidence, 8)


def test_intervals_of_a_population_hold() -> None:
    """Claim 2 is an approximation of the degrees of freedom, so that a hundredth is granted."""
    rng = np.random.default_rng(2)
    own = TRUTH + rng.normal(0, SAMPLING, TRIALS)
    hits = 0
    for truth in own:
        base = truth + rng.normal(0, NOISE)
        made = combine(base + rng.normal(0, NOISE, COPIES), [SAMPLING**2] * COPIES)
        hits += made.low <= TRUTH <= made.high
    assert fewest_hits(TRIALS, 0.94) <= hits <= most_hits(TRIALS, 0.97)


@pytest.mark.parametrize(("other", "sampling"), [("synthetic 2003", SAMPLING), ("partial 2003", 0.5), ("one copy", 0.5)])
def test_other_rules_are_seen(other: str, sampling: float) -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for truth in TRUTH + rng.normal(0, sampling, TRIALS):
        copies = truth + rng.normal(0, NOISE) + rng.normal(0, NOISE, COPIES)
        between, within = copies.var(ddof=1), sampling**2
        total = {
            "synthetic 2003": max((1 + 1 / COPIES) * between - within, 0.0),
            "partial 2003": within + between / COPIES,
            "one copy": within,
        }[other]
        middle = copies[0] if other == "one copy" else copies.mean()
        hits += abs(middle - TRUTH) <= stdtrit(COPIES - 1 if other != "one copy" else 1e6, 0.975) * total**0.5
    assert hits < fewest_hits(TRIALS, 0.95)


def test_copies_vary_each_count_by_its_own_noise() -> None:
    measured = released(np.zeros((0, 3), dtype=np.int64), epsilon=3, delta=0)
    loud = replace(measured.design.single, budget=Fraction(1))
    measured = replace(measured, design=replace(measured.design, single=loud))
    moves = [int(each) for _ in range(400) for each in np.concatenate(varied(measured).singles) - np.concatenate(measured.singles)]
    assert follows_law([each for each in moves if abs(each) <= FAR], LAW)
    again = varied(measured)
    for before, after in zip(measured.rounds, again.rounds, strict=True):
        assert before.counts.size == after.counts.size
        assert before.noise == after.noise
    assert [groups.tolist() for groups in again.merged_groups] == [groups.tolist() for groups in measured.merged_groups]


def test_noise_of_the_other_law_is_seen() -> None:
    """A planted bug: noise at half its scale."""
    counts = np.zeros(4000, dtype=np.int64)
    measured = released(np.zeros((0, 3), dtype=np.int64), epsilon=3, delta=0)
    half = Noise(Laplace, 1, Fraction(2))
    moves = np.asarray(half.over(1).release_each(counts)).tolist()
    assert measured.design.single.law is Laplace
    assert not follows_law([each for each in moves if abs(each) <= FAR], LAW)


def _table(rows: np.ndarray[Any, Any]) -> SyntheticTable:
    measured = released(rows, epsilon=2, delta="1e-6")
    design = measured.design
    receipt = Receipt(design.epsilon, design.delta, entry=1)
    made = SyntheticTable(
        Chosen(design.table, design.axes, {}), measured, fit(measured, 100), (np.zeros(1, np.int64),) * 3, {}, receipt
    )
    return made.redrawn(rows.shape[0])


def test_intervals_over_copies_hold_on_generated_rows() -> None:
    """The share of z, and the mean of x where z is 1; naive intervals of one copy miss what the noise moved."""
    rng, trials, hits, naive = np.random.default_rng(4), 24, np.zeros(2, int), 0
    for _ in range(trials):
        z = (rng.random(2000) < 0.3).astype(np.int64)
        rows = np.stack([rng.binomial(5, 0.3 + 0.3 * z), rng.integers(0, 4, 2000), z], axis=1)
        made_of = _table(rows)
        copies = [np.stack(each.codes, axis=1) for each in made_of.copies(5)]
        for at, estimate in enumerate((lambda table: table[:, 2].mean(), lambda table: table[table[:, 2] == 1, 0].mean())):
            base, *others = map(estimate, copies)
            made = combine(others, released=base)
            hits[at] += made.low <= estimate(rows) <= made.high
            forgetful = [estimate(np.stack(made_of.redrawn(2000).codes, axis=1)) for _ in range(5)]
            blind = combine(forgetful)
            naive += blind.low <= estimate(rows) <= blind.high
    assert (hits >= fewest_hits(trials, 0.9, 2)).all(), hits
    assert naive < fewest_hits(2 * trials, 0.9), "copies of one set of counts, without fresh noise"


def test_copies_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    made = _table(np.stack([rng.integers(0, 6, 500), rng.integers(0, 4, 500), rng.integers(0, 2, 500)], axis=1))
    monkeypatch.setattr("tacit.publish.synthetic.rows.release.once", None)
    monkeypatch.setattr("tacit.publish.synthetic.rows.marginals.count_marginal", None)
    copies = made.copies(3, rows=77)
    assert [each.copy for each in copies] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert {each.rows for each in copies} == {77}
    assert all(each.receipt == made.receipt and each.measured is made.measured for each in copies)
    assert len({each.codes[0].tobytes() for each in copies}) == 4
    assert len({each.rows for each in made.copies(4)}) > 1, "the number of rows varies with the noise"
    assert "copy 2 of 3" in copies[2].notes[-1]
    assert not any("copy" in note for note in copies[0].notes)


def test_what_is_given_is_checked() -> None:
    for wrong in ([1.0], [1.0, float("nan")], []):
        with pytest.raises(InvalidInput):
            combine(wrong)
    for more in ({"variances": [1.0]}, {"variances": [1.0, -1.0]}, {"released": float("inf")}):
        with pytest.raises(InvalidInput):
            combine([1.0, 2.0], **more)  # type: ignore[arg-type]
    for number in (1, 101, True, 2.5):
        with pytest.raises(InvalidInput):
            read_copies(number)  # type: ignore[arg-type]
    same = combine([3.0, 3.0])
    assert (same.low, same.estimate, same.high) == (3.0, 3.0, 3.0)
    assert len(axes_of()) == 3
