"""Small tables: what runs there is the generator's own code, seen from outside as an attacker sees it, and by its exact law."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chance import CHANCE
from tacit.evidence.verify.epsilon import EpsilonBound, epsilon_of_draws
from tacit.evidence.verify.score import read
from tacit.evidence.verify.small_tables import ROWS, Rows, _sound, column_counts, exponential, pair_counts, plant_cases
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.farthest import Farthest
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.rows import marginals
from tacit.publish.synthetic.rows.marginals import Design, Noise, measure
from tacit.query.engines.exact import Exact
from tacit.query.plan import Column, Group, Lookup


@dataclass(frozen=True)
class InMemory:
    """Rows as an engine counts them: a cell is a stored value, or its group in a table."""

    rows: Rows

    def run(self, group: Group) -> Exact:
        cells, size = np.zeros(len(self.rows), dtype=np.int64), 1
        for key in group.keys:
            node: Any = key.term.node
            table = node.table if isinstance(node, Lookup) else tuple(range(node.high + 1))
            stored = node.child if isinstance(node, Lookup) else node
            assert isinstance(stored, Column)
            values = [table[row["abc".index(stored.name)]] for row in self.rows]
            cells, size = cells * (max(table) + 1) + np.array(values, dtype=np.int64), size * (max(table) + 1)
        return Exact((Sealed(np.bincount(cells, minlength=size).astype(np.int64)),))


def outputs(design: Design, rows: Rows, draws: int) -> list[list[int]]:
    """Everything that is released, in a line of one length: the columns, which pairs, and the cells of those."""
    engine, found = InMemory(rows), []
    for _ in range(draws):
        made = measure(design, engine)  # type: ignore[arg-type]
        chosen = [made.pairs.get(pair) for pair in design.candidates]
        cells = [[0] * 5 if counts is None else [1000, *counts.tolist(), *[0] * (4 - counts.size)] for counts in chosen]
        found.append([cell for part in (*(single.tolist() for single in made.singles), *cells) for cell in part])
    return found


def attacked(design: Design, draws: int) -> EpsilonBound:
    """What an attacker measures who knows all but one person, of two rows that nobody else has."""
    others = ROWS[:1] * 200
    one, other = (read(outputs(design, rows, draws)) for rows in (others, (*others, *(ROWS[2:] * 2))))
    return epsilon_of_draws(one, other, confidence=1 - CHANCE)


def test_an_attacker_measures_less_than_the_claim_and_sees_a_twentieth_of_the_noise() -> None:
    """The bound exceeds the real epsilon with at most CHANCE. Planted: an epsilon of 18, in which 1 is passed by far."""
    sound = _sound()
    assert not attacked(sound.design, 600).refutes(1)
    assert sound.design.pair is not None
    loud = replace(sound.design, single=_less(sound.design.single), pair=_less(sound.design.pair))
    assert attacked(loud, 600).refutes(1)


def _less(noise: Noise) -> Noise:
    return replace(noise, budget=20 * noise.budget)


def test_the_loss_of_the_sound_design_is_near_its_claim_and_that_of_the_plants_above() -> None:
    check = _sound().check()
    assert check.holds
    assert 0.93 < (check.measured or 0) <= 1, "nine tenths are noise, which is told in full; of the choices some"
    assert all(case.run(Effort(samples=16)).broken for _, (_, case) in plant_cases())


def test_noise_of_a_fifth_too_little_in_the_columns_or_the_pairs_is_seen() -> None:
    sound = _sound()
    assert sound.design.pair is not None
    for part, more in (("single", 1.25), ("pair", 1.2)):
        noise = getattr(sound.design, part)
        wrong = replace(sound, design=replace(sound.design, **{part: replace(noise, budget=noise.budget * int(100 * more) / 100)}))
        assert not wrong.check().holds, part


def test_the_counts_and_the_chances_are_those_that_run() -> None:
    design, rows = _sound().design, (*ROWS, ROWS[0])
    engine = InMemory(rows)
    for place, axis in enumerate(design.axes):
        found = marginals.count_marginal(design.table, [axis], engine).unseal()  # type: ignore[arg-type]
        assert found.tolist() == column_counts(rows)[2 * place : 2 * place + 2]
    for pair, counts in pair_counts(design, rows).items():
        axes = [design.axes[place] for place in pair]
        assert marginals.count_marginal(design.table, axes, engine).unseal().tolist() == counts.tolist()  # type: ignore[arg-type]
    guess, exact = [np.zeros(4, dtype=np.int64)] * 2, [np.array([3, 0, 0, 0]), np.array([0, 5, 0, 0])]
    assert math.isclose(sum(exponential(design, guess, exact)), 1)
    assert design.choice is not None
    assert exponential(design, guess, exact)[1] == float(Farthest(guess, 2, design.choice).law(exact).probabilities[1])
