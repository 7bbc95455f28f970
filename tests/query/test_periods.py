"""A question reads the periods that it is charged to, and a person's rows of one of them move it by no more than its price.

Every (person, month) of small clinics is taken away in turn, and every whole person for the price of a lifetime. Each rule of
periods.md is shown to be needed by a planted bug that the same check catches.
"""

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tacit
from by_month import Clinic, declared, prepared, without
from joined import Asked
from moved import by_group, check_clinic, moves
from tacit.errors import NeverTrue, NotAllowed
from tacit.privacy.periods import Calendar
from tacit.query import passes, periods
from tacit.query.engines import compile as compiled
from tacit.query.language.sql import parse
from tacit.query.periods import charged, periods_of_group
from tacit.query.plan import Bound, UnitJoin
from tacit.query.price.lifetime import whole_person
from tacit.query.price.price import price, request
from tacit.query.trees import below

WIDELY = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
LENGTHS = pytest.mark.parametrize("examples", [2, pytest.param(25, marks=pytest.mark.slow)])
MONTH = Calendar("month")
SAME = "DATE_TRUNC('month', v.day) = DATE_TRUNC('month', l.taken)"
PAIR = "v.patient = l.patient"
ANSWERED = (
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(DISTINCT patient) FROM visits",
    "SELECT SUM(value) FROM labs WHERE taken >= DATE '2025-02-01'",
    "SELECT DATE_TRUNC('month', day) AS m, COUNT(*), SUM(cost) FROM visits GROUP BY m",
    "SELECT EXTRACT(DAY FROM day) AS d, COUNT(*), COUNT(DISTINCT patient) FROM visits GROUP BY d",
    "SELECT MEDIAN(cost) FROM visits WHERE day < DATE '2025-03-01'",
    f"SELECT COUNT(*), SUM(l.value) FROM visits v JOIN labs l ON {PAIR} AND {SAME}",
    f"SELECT COUNT(*), COUNT(l.value) FROM visits v LEFT JOIN labs l ON {PAIR} AND {SAME}",
    f"SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE {PAIR} AND {SAME})",
    f"SELECT COUNT(*), SUM(v.cost) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE {PAIR} AND {SAME})",
    "SELECT p.age, COUNT(*) FROM patients p JOIN visits v ON p.id = v.patient GROUP BY p.age",
    "SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id)",
    "SELECT COUNT(*), SUM(age) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE l.patient = p.id)",
    "SELECT SUM(n) FROM (SELECT patient, DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY patient, m) t",
    "SELECT n, COUNT(*) FROM (SELECT patient, DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY patient, m) t"
    " GROUP BY n",
    "SELECT n, COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits WHERE day < '2025-02-01' GROUP BY patient) t GROUP BY n",
    "SELECT COUNT(*) FROM (SELECT day AS d FROM visits UNION ALL SELECT taken AS d FROM labs) t WHERE d < DATE '2025-03-01'",
    f"SELECT COUNT(*) FROM visits v JOIN labs l ON {PAIR} AND v.day = l.taken JOIN patients p ON p.id = v.patient WHERE p.age > 2",
)
REFUSED = {
    f"SELECT COUNT(*) FROM visits v JOIN labs l ON {PAIR}": "must be on the same month",
    f"SELECT COUNT(*) FROM visits v LEFT JOIN labs l ON {PAIR}": "must be on the same month",
    f"SELECT COUNT(*) FROM visits v JOIN labs l ON {PAIR} AND EXTRACT(DAY FROM v.day) = EXTRACT(DAY FROM taken)": "same month",
    f"SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE {PAIR})": "must be on the same month",
    "SELECT COUNT(*) FROM visits v WHERE v.patient IN (SELECT patient FROM labs)": "must be on the same month",
    "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) t": "a row per person over several periods",
    "SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON p.id = v.patient": "a LEFT JOIN keeps rows of patients",
    "SELECT COUNT(*) FROM (SELECT id FROM patients p WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = p.id)) q"
    " JOIN visits v ON v.patient = q.id": "looked up in several periods cannot be",
    "SELECT COUNT(*) FROM (SELECT age AS x FROM patients UNION ALL SELECT cost AS x FROM visits) t": "with and without periods",
}


# --- what is charged ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    found = Asked(prepared(tmp_path_factory.mktemp("clinic"), Clinic(((1, 3),), ((1, "2025-01-02", 3),), ((1, "2025-02-02", 1),))))
    yield found
    found.close()


def months(asked: Asked, text: str) -> list[str]:
    runs = charged(asked.plan(text))
    return [MONTH.name(at)[-2:] for low, high in runs for at in range(low, high + 1)]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("", "01 02 03 04"),
        ("WHERE day >= DATE '2025-02-28'", "02 03 04"),
        ("WHERE day BETWEEN DATE '2025-02-01' AND DATE '2025-03-01' AND cost > 3", "02 03"),
        ("WHERE day = DATE '2025-03-31'", "03"),
        ("WHERE EXTRACT(MONTH FROM day) IN (1, 4)", "01 04"),
        ("WHERE NOT day < DATE '2025-04-01'", "04"),
        ("WHERE day < DATE '2025-02-01' OR cost > 3", "01 02 03 04"),
        ("WHERE day < DATE '2025-02-01' OR (day > DATE '2025-03-31' AND cost > 3)", "01 04"),
        ("WHERE DATE_TRUNC('month', day) = DATE '2025-02-01'", "02"),
        ("WHERE CASE WHEN cost > 3 THEN day < DATE '2025-02-01' ELSE day < DATE '2025-03-01' END", "01 02"),
    ],
)
def test_periods_follow_from_conditions_on_the_period_column(asked, where, expected):
    assert months(asked, f"SELECT COUNT(*) FROM visits {where}") == expected.split()


def test_every_part_of_a_question_adds_its_own_periods(asked):
    early, late = "day < DATE '2025-02-01'", "taken >= DATE '2025-04-01'"
    union = (
        f"SELECT COUNT(*) FROM (SELECT cost AS x FROM visits WHERE {early} UNION ALL SELECT value AS x FROM labs WHERE {late}) t"
    )
    assert months(asked, union) == ["01", "04"]
    scalar = f"SELECT COUNT(*) + (SELECT COUNT(*) FROM labs WHERE {late}) FROM visits WHERE {early}"
    assert months(asked, scalar) == ["01", "04"]
    found = f"SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = p.id AND {late})"
    assert months(asked, found) == ["04"]


def test_a_join_on_one_period_reads_those_that_both_sides_have(asked):
    joined = f"FROM visits v JOIN labs l ON {PAIR} AND {SAME} WHERE v.day < DATE '2025-04-01' AND l.taken >= DATE '2025-02-01'"
    assert months(asked, f"SELECT COUNT(*) {joined}") == ["02", "03"]


def test_rows_that_come_first_are_not_decided_by_a_test_of_groups(asked):
    inner = "SELECT patient, DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY patient, m"
    assert months(asked, f"SELECT SUM(n) FROM ({inner}) t WHERE m >= DATE '2025-03-01'") == ["03", "04"]


def test_what_has_not_begun_is_not_read(tmp_path):
    catalog = declared(tmp_path / "clinic", Clinic(), through="2025-02")
    plan = passes.rewrite(parse("SELECT COUNT(*) FROM visits"), catalog, None)
    assert charged(plan) == ((MONTH.numbered("2025-01"), MONTH.numbered("2025-02")),)
    with pytest.raises(NeverTrue, match="no period that has begun"):
        passes.rewrite(parse("SELECT COUNT(*) FROM visits WHERE day > DATE '2025-03-01'"), catalog, None)


@pytest.mark.parametrize("text", REFUSED)
def test_what_would_let_one_period_move_another_is_refused_with_the_line_to_add(asked, text):
    with pytest.raises(NotAllowed, match=REFUSED[text]) as refused:
        asked.plan(text)
    if "same month" in REFUSED[text]:
        assert "DATE_TRUNC('month', visits.day) = DATE_TRUNC('month', labs.taken)" in str(refused.value.remedy)


def test_a_table_without_periods_needs_the_budget_of_a_lifetime(tmp_path):
    catalog = declared(tmp_path / "clinic", Clinic())
    assert charged(passes.rewrite(parse("SELECT COUNT(*) FROM patients"), catalog, None)) == ()
    alone = replace(catalog, per=replace(catalog.per, lifetime=None))
    with pytest.raises(NotAllowed, match="patients has no period"):
        passes.rewrite(parse("SELECT COUNT(*) FROM patients"), alone, None)


def test_an_engine_reads_no_table_with_periods_unless_they_are_charged(asked):
    plan = asked.plan("SELECT COUNT(*) FROM visits")
    bound = plan.group.child
    assert isinstance(bound, Bound)
    with pytest.raises(TypeError, match="in those that are charged"):
        asked.engine.run(replace(plan.group, child=replace(bound, periods=None)))


# --- brute force -------------------------------------------------------------------------------------------------------------


DAYS = st.sampled_from(["2025-01-01", "2025-01-31", "2025-02-01", "2025-02-28", "2025-03-01", "2025-03-31", "2025-04-30"])
PEOPLE = st.integers(1, 3)
CLINICS = st.builds(
    Clinic,
    st.just(((1, 3), (2, 0), (3, 9))),
    st.lists(st.tuples(PEOPLE, DAYS, st.integers(0, 9)), min_size=4, max_size=14).map(tuple),
    st.lists(st.tuples(PEOPLE, DAYS, st.integers(-3, 3)), min_size=2, max_size=12).map(tuple),
)
FULL = Clinic(
    ((1, 3), (2, 9)),
    tuple((1, f"2025-{month:02}-{day:02}", 9) for month in range(1, 5) for day in (1, 15)),
    (*((1, f"2025-{month:02}-{day:02}", -3) for month in range(1, 5) for day in (2, 15, 28)), (2, "2025-03-01", 1)),
)


@LENGTHS
def test_no_persons_period_moves_a_question_further_than_its_price(tmp_path: Path, examples: int) -> None:
    checked = 0

    @settings(WIDELY, max_examples=examples)
    @given(CLINICS)
    def inner(clinic: Clinic) -> None:
        nonlocal checked
        found = Asked(prepared(tmp_path / "clinic", clinic))
        checked += check_clinic(found, ANSWERED)
        found.close()

    inner()
    assert checked > 5 * examples


@pytest.fixture
def full(tmp_path):
    found = Asked(prepared(tmp_path / "full", FULL))
    yield found
    found.close()


JOINED = f"SELECT COUNT(*) FROM visits v JOIN labs l ON {PAIR}"
LOOKED_UP = f"SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE {PAIR})"
PER_PERSON = "SELECT n, COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) t GROUP BY n"


LONELY = Clinic(FULL.patients, FULL.visits, ((1, "2025-02-02", 1),))


@pytest.mark.parametrize("text", [JOINED, LOOKED_UP])
def test_a_join_over_several_periods_is_caught(tmp_path, monkeypatch, text):
    """Planted: it is admitted on the person alone. Alone that does no harm, since the engine compares the periods in any case."""
    found = Asked(prepared(tmp_path / "lonely", LONELY))
    monkeypatch.setattr(periods, "_same_period", lambda *_: True)
    check_clinic(found, [text])
    monkeypatch.setattr(compiled, "_equal_periods", lambda *_: [])
    found.engine._compiled.clear()
    with pytest.raises(AssertionError):
        check_clinic(found, [text])
    found.close()


def test_a_row_per_person_over_several_periods_is_caught(tmp_path, monkeypatch):
    """Planted: it is admitted, and grouped by the person alone; a removal moves it from one total to another (l1 2, not 1)."""
    full = Asked(prepared(tmp_path / "two", Clinic(((1, 3),), ((1, "2025-01-02", 1), (1, "2025-02-02", 1)))))
    monkeypatch.setattr(periods, "_determined", lambda *_: True)
    monkeypatch.setattr(compiled, "_own", lambda rows: ["tacit_unit"])
    with pytest.raises(AssertionError):
        check_clinic(full, [PER_PERSON])


def test_a_scan_that_reads_more_than_is_charged_is_caught(full, monkeypatch):
    """Planted: an engine without the predicate."""
    early = "SELECT COUNT(*) FROM visits"
    plan, january = full.plan(early), MONTH.numbered("2025-01")
    narrow = replace(plan, group=replace(plan.group, child=replace(plan.group.child, periods=((january, january),))))
    monkeypatch.setattr(full, "plan", lambda _: narrow)
    check_clinic(full, [early])
    monkeypatch.setattr(compiled, "_in_periods", lambda rows, _: rows)
    full.engine._compiled.clear()
    with pytest.raises(AssertionError):
        check_clinic(full, [early])


def test_the_price_of_one_period_for_a_whole_person_is_caught(full, monkeypatch):
    """Planted: a lifetime that is charged what one period is."""
    real = whole_person
    monkeypatch.setattr("moved.whole_person", lambda quote: replace(real(quote), epsilon=Fraction(1)))
    with pytest.raises(AssertionError):
        check_clinic(full, ["SELECT COUNT(*) FROM visits"])


def test_the_measured_loss_of_a_person_in_every_month_is_the_claimed_one(full):
    """The same person's rows through all periods, and totals over two months: what an attacker gains is what the lifetime pays."""
    ((person,), *_) = full.engine._connection.execute("SELECT tacit_unit FROM visits").fetchall()
    by_month = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m"
    for text, claimed in ((by_month, 4), ("SELECT COUNT(*) FROM visits WHERE day < DATE '2025-03-01'", 2)):
        question = full.plan(text)
        (quote,) = price(question, request(epsilon=1))
        before = by_group(full, question)
        full.take(person)
        found = moves(before, by_group(full, question))
        full.put_back()
        loss = sum(Fraction(sum(found[part.place])) / part.mechanism.scale for part in quote.sums)
        assert loss == whole_person(quote).epsilon == claimed
        for month in range(*charged(question)[0]):
            with without(full, person, month):
                found = moves(before, by_group(full, question))
            assert sum(Fraction(sum(found[part.place])) / part.mechanism.scale for part in quote.sums) == 1


# --- borders -----------------------------------------------------------------------------------------------------------------


def test_the_period_of_a_row_is_that_of_its_stored_day(tmp_path):
    """Whatever the text says of an offset: the day that questions see, and the period that is charged, are of one moment."""
    late = Clinic(((1, 3),), ((1, "2025-02-01T00:30:00+01:00", 1), (1, "2025-01-31T23:30:00-01:00", 2)), ())
    found = Asked(prepared(tmp_path / "zones", late))
    rows = found.engine._connection.execute("SELECT cost, tacit_period, day FROM visits ORDER BY cost").fetchall()
    found.close()
    assert all(period == MONTH.number(_day(day)) for _, period, day in rows)


def _day(offset: int) -> date:
    return date(2025, 1, 1) + timedelta(offset)


def test_groups_are_of_one_period_if_their_keys_say_so(asked):
    def of(text: str) -> tuple[int, int]:
        return periods_of_group(asked.plan(text).group)

    assert of("SELECT COUNT(*) FROM visits") == (4, 4)
    assert of("SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m") == (4, 1)
    assert of("SELECT day, COUNT(*) FROM visits GROUP BY day") == (4, 1)
    assert of("SELECT EXTRACT(DAY FROM day) AS d, COUNT(*) FROM visits GROUP BY d") == (4, 4)
    assert of("SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id)") == (1, 1)


def test_a_plan_keeps_the_periods_of_every_scan(asked):
    plan = asked.plan(f"SELECT COUNT(*) FROM visits v JOIN labs l ON {PAIR} AND {SAME} WHERE v.day < DATE '2025-03-01'")
    assert any(isinstance(step, UnitJoin) for step in below(plan.group))
    scans = [step for step in below(plan.group) if isinstance(step, Bound)]
    assert {step.periods for step in scans} == {((MONTH.numbered("2025-01"), MONTH.numbered("2025-02")),)}


def test_an_answer_and_its_certificate_name_the_periods(tmp_path):
    catalog = prepared(tmp_path / "clinic", FULL)
    data = tacit.open(catalog.path, own_process=False)
    data.prepare(through="2025-04", new_ledger=True, reason="a test")
    answer = data.session().sql("SELECT COUNT(*) FROM visits WHERE day < DATE '2025-02-01'", epsilon=0.5)
    assert answer.to_dict()["periods"] == "2025-01"
    assert "in each of 2025-01" in str(answer)
    (month,) = data.certificate(1).to_dict()["periods"]["runs"]
    assert month == [24300, 24300]
    assert [each.name for each in data.periods()] == ["2025-01", "2025-02", "2025-03", "2025-04"]
    data.close()
