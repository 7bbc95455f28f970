"""A session asked as an attacker asks: whom it picks, what is refused, and that bits are not recovered."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from chance import most_hits
from tacit.data.catalog import parse_catalog
from tacit.errors import InvalidInput
from tacit.evidence.attacks.questioner import PEOPLE, Questioner, Target, chosen_target, known_people, reconstruct_people
from tacit.evidence.attacks.reconstruction import least_absolute
from tacit.evidence.attacks.scratch import copied_data, people_data
from tacit.mechanisms.noise import discrete

CATALOG = """\
[budget]
epsilon = 1

[tables.visits]
source = "visits.csv"
unit = { column = "who" }
max_rows = 4
[tables.visits.columns]
cost = { bounds = [0, 10] }
kind = { values = ["a", "b"] }

[tables.staff]
source = "staff.csv"
unit = "row"
[tables.staff.columns]
age = { bounds = [0, 110] }
badge = { bounds = [1, 20], outside = "null" }
sex = { values = ["F", "M"] }
diagnosis = { values = ["chronic", "other", "none"] }
"""


def exact_noise(scale, size):
    return np.zeros(size, dtype=np.int64)


def test_the_target_is_chosen_by_what_is_declared():
    catalog = parse_catalog(CATALOG)
    assert chosen_target(catalog) == Target("staff", "badge", "\"diagnosis\" = 'chronic'")
    assert chosen_target(catalog, "staff", "age", "sex = 'M'") == Target("staff", "age", "sex = 'M'")
    with pytest.raises(InvalidInput, match="--by COLUMN"):
        chosen_target(catalog, table="visits")


def test_beyond_the_budget_nothing_is_answered():
    with people_data([1, 0, 1, 1], epsilon=1) as data:
        target = Target(PEOPLE.table, PEOPLE.column, PEOPLE.secret, (1, 2, 3, 4))
        asked = Questioner(data.session(), target, Fraction(1, 2))
        answers = [asked.query(np.array(subset)) for subset in ([0, 1], [0, 2], [1, 2], [0, 1])]
    assert [answer is None for answer in answers] == [False, False, True, False]
    assert answers[3] == answers[0]
    assert len(asked.seconds) == len(asked.answers) == 3


def test_a_session_gives_no_bits_away():
    """24 fair bits, each right with 0.51."""
    assert reconstruct_people(24, 30, epsilon=1, seed=3).recovered <= most_hits(24, 0.51) / 24 < 1


def test_without_noise_the_same_questions_give_all_away(monkeypatch):
    """The planted bug: a session whose noise is always zero."""
    monkeypatch.setattr(discrete, "draw_laplace", exact_noise)
    assert reconstruct_people(12, 20, epsilon=1).recovered == 1
    assert reconstruct_people(12, 20, epsilon=1, solver=least_absolute).recovered == 1


def test_the_truth_for_the_judge_is_the_truth():
    """A copy with epsilon 10^6: noise other than 0 has a chance of e^-10^6."""
    bits = np.array([1, 0, 0, 1, 1])
    with people_data(bits, epsilon=1) as data:
        before = data.ledger.head.number if data.ledger.head else 0
        with copied_data(data.catalog, 4 * 10**6) as copy:
            target, found = known_people(copy.session(), PEOPLE, 10**6)
        assert (data.ledger.head.number if data.ledger.head else 0) == before
    assert target.values == (1, 2, 3, 4, 5)
    assert found.tolist() == bits.astype(bool).tolist()


def test_nobody_known_alone_is_refused():
    by_secret = Target("people", "secret", "person > 1")
    with people_data([1, 1, 0], epsilon=1) as data, copied_data(data.catalog, 4 * 10**6) as copy:
        session = copy.session()
        with pytest.raises(InvalidInput, match="does not identify people"):
            known_people(session, by_secret, 10**6)


@pytest.mark.slow
def test_twenty_sessions_of_128_people_and_512_questions():
    """2,560 fair bits, each right with 0.503."""
    shares = [reconstruct_people(128, 512, epsilon=1, seed=seed).recovered for seed in range(20)]
    assert 128 * sum(shares) <= most_hits(2560, 0.503)
