"""SUM against ranks of fractions, with lucky and unlucky primes; known facts about how many sums can be answered."""

from __future__ import annotations

import random
from itertools import cycle

import numpy as np
import pytest

from auditing_oracles import Spaces, all_questions, walk
from tacit.publish.audited import sums
from tacit.publish.audited.question import question
from tacit.publish.audited.sums import SumAuditor, combination, enough_digits, find


def test_every_history_of_four_rows_agrees_with_ranks_of_fractions():
    seen = {True: 0, False: 0}
    for answered, safe, history, asked in walk(SumAuditor(), Spaces(4), 4, depth=3):
        assert answered == safe, (history, asked)
        seen[answered] += 1
    assert min(seen.values()) > 500


def long_history(people, generator, auditor):
    """Random questions until no more are answered, each decision beside that of fractions."""
    oracle, state, history = Spaces(people), auditor.begin(people), []
    for asked in generator.sample(all_questions(people, ["sum"]), 30):
        decision = auditor.decide(state, asked)
        yield decision, oracle, history, asked
        if decision.answered:
            state, history = auditor.learn(state, asked, 0), [*history, (asked, 0)]


@pytest.mark.parametrize("primes", [None, (2, 3, 5, 7, 11, 13), (3, 2, 101)])
def test_no_prime_is_unlucky_enough_to_change_a_decision(primes, monkeypatch):
    """Small primes divide many minors: false alarms are raised, found out, and change nothing."""
    if primes:
        source = cycle(primes)
        monkeypatch.setattr(sums, "random_prime", lambda: next(source))
    generator, unlucky = random.Random(11), []
    monkeypatch.setattr("tacit.publish.audited.sums._echelon_of", watched(unlucky))
    for _ in range(5):
        for decision, oracle, history, asked in long_history(7, generator, SumAuditor()):
            assert decision.answered == oracle.safe(history, asked), (history, asked)
            assert decision.known == oracle.follows(history, asked)
    assert bool(unlucky) == bool(primes)


def watched(seen):
    from tacit.publish.audited.sums import _echelon_of

    def built(*arguments):
        seen.append(1)
        return _echelon_of(*arguments)

    return built


def test_trusting_one_prime_would_be_wrong(monkeypatch):
    """The planted bug: alarms believed without confirmation refuse what is harmless."""
    monkeypatch.setattr(sums, "random_prime", lambda: 2)
    auditor, state = SumAuditor(), SumAuditor().begin(4)
    for members in ([0, 1, 2], [0, 1, 3]):
        state = auditor.learn(state, question("sum", members), 0)
    asked = question("sum", [0, 2, 3])  # modulo 2 the three add up to row 1 alone; in truth to 3 x1 + 2 x2 + ...
    alarms = find(state, asked.members)
    assert alarms.unlucky
    assert alarms.unit is None
    assert auditor.decide(state, asked).answered


def test_at_most_one_sum_fewer_than_rows_is_answered():
    generator, people = np.random.default_rng(2), 24
    auditor, state = SumAuditor(), SumAuditor().begin(people)
    for _ in range(300):
        asked = question("sum", np.flatnonzero(generator.random(people) < 0.5).tolist() or [0])
        decision = auditor.decide(state, asked)
        if decision.answered:
            state = auditor.learn(state, asked, 0)
    assert people - 4 <= state.echelon.rank <= people - 1
    pairs, state = [question("sum", [at, at + 1]) for at in range(people - 1)], auditor.begin(people)
    for asked in pairs:
        assert auditor.decide(state, asked).answered
        state = auditor.learn(state, asked, 0)
    assert state.echelon.rank == people - 1
    assert auditor.decide(state, question("sum", range(people))).known  # neighbouring pairs add up to everybody
    assert not auditor.decide(state, question("sum", range(people - 1))).answered


def test_large_coefficients_are_lifted():
    """Rows of a matrix with a large determinant: one prime shows the combination, many digits prove it."""
    generator = np.random.default_rng(4)
    asked = generator.random((30, 30)) < 0.5
    echelon = sums.empty(30, 101)
    for vector in asked:
        residue = echelon.residue(vector.astype(float))
        assert residue.any()
        echelon = echelon.with_one_more(vector, residue)
    unit = np.arange(30) == 3
    found = combination(echelon, unit)
    assert found is not None
    made = sum(number * row.astype(int) for number, row in zip(found.numerators, asked, strict=True))
    assert (made == found.denominator * unit).all()
    assert found.denominator > 10**6
    assert enough_digits(30, 101) > 6


def test_groups_stand_for_people_asked_together():
    auditor, state = SumAuditor(), SumAuditor().begin(100_000)
    state = auditor.learn(state, question("sum", range(50_000)), 0)
    state = auditor.learn(state, question("sum", range(25_000, 75_000)), 0)
    assert state.sizes.tolist() == [25_000, 25_000, 25_000, 25_000]
    assert not auditor.decide(state, question("sum", [*range(50_000), 60_000])).answered
    assert auditor.decide(state, question("sum", [*range(50_000), 60_000, 70_000])).answered
    assert "row 60001" in auditor.decide(state, question("sum", [*range(50_000), 60_000])).reason


def test_remainders_are_exact_to_two_to_the_52():
    generator, limit = random.Random(1), 2**52
    for prime in (2, 3, 33554467, 67108859):
        numbers = [generator.randrange(-limit, limit) for _ in range(400)]
        numbers += [prime * (limit // prime) + more for more in (-1, 0)] + [-prime * (limit // prime) + more for more in (0, 1)]
        assert sums.remainder(np.array(numbers, dtype=float), prime).tolist() == [number % prime for number in numbers]
