"""Rule 1, decide before you look: sessions on the full and on the empty table differ in nothing but what was released.

Both are asked the same questions; on the empty one, the numbers that the full one released are put in the place of its own. Then
the refusals, their texts, the prices, the columns, their types, the public groups and what is left must be the same.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from questions import clinic_questions

import tacit
import tacit.session
from tacit.errors import TacitError
from tacit.query.prepare import prepare
from tacit.release import noisy

CATALOG = """
[budget]
epsilon = 100000
delta = 1e-3

[analysts.ana]
epsilon = 30
epsilon_per_query = 2

[analysts.bob]
delta = 0

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 4
max_rows_per_group = 2

[tables.visits.columns]
person = { key = true }
ward = { values = ["a", "b", "c"], unknown = "other" }
age = { bounds = [-2, 5] }
cost = { bounds = [0, 50], step = 0.5 }
day = { type = "date", bounds = ["2020-01-01", "2020-12-31"], nulls = "drop" }
diagnosis = { keys = "private" }
scan = {}

[tables.wards]
source = "wards.csv"
public = true
"""
WARDS = "ward,site,beds\na,north,3\nb,north,4\nb,south,1\nz,south,2\n"
TAILS = ["", " ORDER BY 1 DESC", " ORDER BY 1 LIMIT 2", " HAVING COUNT(*) > 3", " HAVING COUNT(*) > 1e9", " LIMIT 0"]
HOSTILE = [
    "SELECT COUNT(*) FROM nowhere",
    "SELECT SUM(scan) FROM visits",
    "SELECT AVG(diagnosis) FROM visits",
    "SELECT diagnosis FROM visits",
    "SELECT person, COUNT(*) FROM visits GROUP BY person",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits",
    "SELECT SUM(cost * cost * cost * cost * cost * cost) FROM visits",
    "SELECT 1 / COUNT(*) FROM visits",
    "SELECT MEDIAN(cost), MAX(day) - MIN(day) FROM visits",
    "SELECT ward, SUM(cost) / COUNT(*) AS x FROM visits GROUP BY ward ORDER BY x",
]
questions = st.builds("{}{}".format, clinic_questions(private_keys=True), st.sampled_from(TAILS)) | st.sampled_from(HOSTILE)
budgets = st.one_of(
    st.builds(lambda epsilon: {"epsilon": epsilon}, st.sampled_from(["0.01", "0.5", "3", "0", "x"])),
    st.builds(
        lambda epsilon, delta: {"epsilon": epsilon, "delta": delta}, st.sampled_from(["0.01", "1"]), st.sampled_from(["1e-9", "2"])
    ),
    st.builds(lambda error: {"error": error, "simultaneous": True}, st.sampled_from(["5", "1000"])),
)


def data_set(folder, rows):
    folder.mkdir()
    (folder / "visits.csv").write_text("\n".join(["person,ward,age,cost,day,diagnosis,scan", *rows]))
    (folder / "wards.csv").write_text(WARDS)
    (folder / "tacit.toml").write_text(CATALOG)
    prepare(tacit.open(folder / "tacit.toml").catalog)
    return tacit.open(folder / "tacit.toml")


def some_rows():
    draw = np.random.default_rng(11)  # rows, not noise
    for person in range(300):
        for _ in range(draw.integers(1, 7)):
            values = [person, draw.choice(["a", "b", "c", "x", ""]), draw.integers(-9, 9), round(float(draw.gamma(2, 9)), 2)]
            yield ",".join(
                map(str, [*values, f"2020-{draw.integers(1, 13):02d}-11", draw.choice(["flu", "cold"]), draw.choice(["", "s"])])
            )


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    full, empty = data_set(folder / "full", list(some_rows())), data_set(folder / "empty", [])
    yield full, empty
    full.close()
    empty.close()


def outcome(data, analyst, question, budget):
    """All that an analyst sees, but for what names this very data set."""
    try:
        seen = data.session(analyst).sql(question, **budget).to_dict()
    except TacitError as error:
        return type(error).__name__, str(error)
    return {key: value for key, value in seen.items() if key != "data_version"}


def replayed(pair, analyst, question, budget, monkeypatch):
    full, empty = pair
    released = []
    with monkeypatch.context() as watched:
        watched.setattr(noisy, "_observers", [lambda quote, exact, out: released.append(out)])
        first = outcome(full, analyst, question, budget)
    with monkeypatch.context() as replaced:
        replaced.setattr(tacit.session, "noised", lambda quote, exact: released[-1])
        second = outcome(empty, analyst, question, budget)
    return first, second


def same_sessions(examples):
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(st.sampled_from(["ana", "bob"]), questions, budgets)
    def law(pair, monkeypatch, analyst, question, budget):
        first, second = replayed(pair, analyst, question, budget, monkeypatch)
        assert first == second

    return law


test_sessions_on_full_and_empty_tables_are_the_same = same_sessions(150)
test_a_thousand_sessions_are_the_same = pytest.mark.slow(same_sessions(1000))


def test_the_replay_sees_what_it_looks_for(pair, monkeypatch):
    """A refusal that depends on the data, a price that does, and a group that appears because somebody is in it."""
    question, budget = "SELECT ward, COUNT(*) AS n FROM visits WHERE age > 4 GROUP BY ward", {"epsilon": "0.03"}
    honest = tacit.session.noised

    def peeking(quote, exact):
        if exact.moments[0].unseal().sum() > 0:
            raise tacit.errors.Refused("too few people")
        return honest(quote, exact)

    with monkeypatch.context() as planted:
        planted.setattr(tacit.session, "noised", peeking)
        outcomes = [outcome(data, "bob", question, budget) for data in pair]
    assert outcomes[0] != outcomes[1]
