"""The closed form of the chance against sampling, the odds against games, and the promise over a whole game."""

from __future__ import annotations

import numpy as np
import pytest

from chance import mean_limit, most_hits
from tacit.errors import InvalidInput
from tacit.publish.audited.probabilistic_max import Groups, ProbabilisticMaxAuditor
from tacit.publish.audited.question import question

AUDITOR = ProbabilisticMaxAuditor(lower=0, upper=1, drift=0.5, intervals=3, risk=0.2, rounds=8)


def posterior(state, generator):
    """A database drawn from the odds that the history leaves."""
    values = generator.random(len(state.bounds)) * state.bounds
    for level in state.sizes():
        rows = np.flatnonzero(state.tight & (state.bounds == level))
        values[generator.choice(rows)] = level
    return values


def histories(generator, people, count):
    """States reached by answering, safe or not."""
    for _ in range(count):
        values, state = generator.random(people), AUDITOR.begin(people)
        for _ in range(generator.integers(0, 5)):
            rows = np.flatnonzero(generator.random(people) < generator.choice([0.3, 0.6, 0.9]))
            if rows.size:
                state = AUDITOR.learn(state, question("max", rows), values[rows].max())
        yield state


def test_the_chance_is_what_sampling_finds():
    generator, draws, checked, inner = np.random.default_rng(1), 1500, 0, 0
    for state in histories(generator, 12, 40):
        if not AUDITOR.safety.holds(state):
            continue
        rows = np.flatnonzero(generator.random(12) < 0.7)
        asked, unsafe = question("max", rows), 0
        for _ in range(draws):
            answer = posterior(state, generator)[rows].max()
            unsafe += not AUDITOR.safety.holds(AUDITOR.learn(state, asked, answer))
        chance = AUDITOR.chance(state, rows)
        assert abs(unsafe / draws - chance) < mean_limit(draws, among=40)
        checked, inner = checked + 1, inner + (0.05 < chance < 0.95)
    assert checked >= 5
    assert inner >= 2


def test_a_chance_that_forgets_the_jumps_is_caught(monkeypatch):
    """Planted: the answer may equal a past one, which happens with positive probability."""
    state = AUDITOR.learn(AUDITOR.begin(40), question("max", range(40)), 0.99)
    rows = np.arange(30)
    true = AUDITOR.chance(state, rows)
    monkeypatch.setattr("tacit.publish.audited.probabilistic_max._safe_jumps", lambda levels, safety: iter(()))
    assert AUDITOR.chance(state, rows) > true + 0.5


def test_the_odds_after_a_history_are_right():
    """Over many games, how often x1 lies in an interval is how often the state says; 3 intervals, 4 places of x1's group."""
    generator, games = np.random.default_rng(2), 6000
    expected, found, cells = np.zeros(3), np.zeros(3), np.array([0, 1 / 3, 2 / 3, 1])
    for _ in range(games):
        values, state = generator.random(6), AUDITOR.begin(6)
        for rows in ([0, 1, 2, 3], [2, 3, 4, 5], [0, 1, 4]):
            state = AUDITOR.learn(state, question("max", rows), values[rows].max())
        bound = state.bounds[0]
        point = 1 / state.sizes()[bound] if state.tight[0] else 0.0
        below = np.clip((bound - cells[:-1]) / (1 / 3), 0, 1) * (1 / 3) / bound * (1 - point)
        expected += below + point * ((cells[:-1] < bound) & (bound <= cells[1:]))
        found += np.histogram(values[0], cells)[0]
    assert np.all(np.abs(expected - found) / games < mean_limit(games, width=2, among=3))  # a difference in [-1, 1]


def test_a_game_becomes_unsafe_at_most_as_often_as_promised():
    """A greedy analyst asks the smallest sets that are answered; 1,500 games against a risk of 0.2."""
    generator, games, unsafe, answers = np.random.default_rng(3), 1500, 0, 0
    for _ in range(games):
        values, state = generator.random(60), AUDITOR.begin(60)
        for size in (12, 16, 20, 24, 30, 40, 50, 60):
            asked = question("max", generator.choice(60, size, replace=False))
            if AUDITOR.decide(state, asked).answered:
                state, answers = AUDITOR.learn(state, asked, values[asked.members].max()), answers + 1
        unsafe += not AUDITOR.safety.holds(state)
    assert unsafe <= most_hits(games, 0.2)
    assert answers > games  # and it does answer


def test_a_planted_auditor_that_allows_all_breaks_the_promise():
    generator, games, unsafe = np.random.default_rng(4), 400, 0
    for _ in range(games):
        values, state = generator.random(60), AUDITOR.begin(60)
        for size in (3, 4, 5, 6):
            asked = question("max", generator.choice(60, size, replace=False))
            state = AUDITOR.learn(state, asked, values[asked.members].max())
        unsafe += not AUDITOR.safety.holds(state)
    assert unsafe > most_hits(games, 0.2)


def test_answers_run_out_and_parameters_are_checked():
    state = Groups(np.ones(100), np.zeros(100, dtype=bool), answers=8)
    assert "all 8 answers" in AUDITOR.decide(state, question("max", range(100))).reason
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        ProbabilisticMaxAuditor(0, 1, drift=1.5)


def test_a_single_row_is_never_answered():
    assert AUDITOR.chance(AUDITOR.begin(3), np.array([1])) == 1
