"""SELECT from an answer, on a session: each question is released and paid for once, and all of a statement are, or none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hospital import hospital_session
from tacit.accounting.ledger.ledger import Ledger, decide_sales
from tacit.accounting.ledger.selling import Granted, Recalled, Sale
from tacit.errors import BudgetExceeded, Refused, TacitError, TimedOut
from tacit.query.language.sql import parse
from tacit.query.offers import Offer
from tacit.query.price.price import request
from tacit.release import derived
from tacit.release.answer import UNKNOWN, Answer, Column, record, recorded
from tacit.session import Session

DATASET = "SELECT ward, kind, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward, kind"
TOTAL = "SELECT (SELECT COUNT(*) FROM visits) / (SELECT COUNT(*) FROM patients) AS per"


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Session]:
    with hospital_session(tmp_path) as session:
        yield session


def spends(session: Session) -> int:
    return session.data.ledger.head.questions


def asked(session: Session, sql: str, epsilon: str = "1", **more: object) -> Answer:
    return session.sql(sql.replace("DATASET", f"({DATASET})"), epsilon=epsilon, **more)


CHARTS = [
    f"SELECT {shown} FROM DATASET AS virtual_table {rest}"
    for shown, rest in [
        ("*", "LIMIT 1000"), ("ward, kind, n", ""), ("ward, SUM(n) AS n", "GROUP BY ward"), ("kind, SUM(n) AS n", "GROUP BY kind"),
        ("ward, AVG(c) AS c", "GROUP BY ward ORDER BY c DESC LIMIT 3"), ("SUM(n) AS n", ""), ("MAX(n) AS most", ""),
        ("ward, kind, n / SUM(n) OVER () AS share", ""), ("ward, n", "WHERE kind = 'planned'"), ("ward, n", "WHERE n > 3"),
        ("COUNT(*) AS groups", ""), ("DISTINCT ward", ""), ("ward, kind, RANK() OVER (ORDER BY n DESC) AS place", ""),
        ("UPPER(ward) AS w, SUM(n) AS n", "GROUP BY UPPER(ward)"), ("MIN(c) AS least", ""), ("ward, n * 2 AS twice", ""),
        ("w.floor, SUM(t.n) AS n", "GROUP BY w.floor"), ("ward, n", "ORDER BY n DESC LIMIT 1"),
        ("FLOOR(n / 5) AS bin", "GROUP BY bin"),
        ("ward, MAX(n) - MIN(n) AS spread", "GROUP BY ward HAVING MAX(n) > 2"),
    ]
]  # fmt: skip


def test_twenty_charts_on_one_virtual_dataset_are_paid_for_once(ana: Session) -> None:
    assert len(CHARTS) == 20
    for number, sql in enumerate(CHARTS):
        sql = sql.replace("DATASET AS virtual_table", "DATASET AS t JOIN wards w ON t.ward = w.ward") if "w.floor" in sql else sql
        answer = asked(ana, sql)
        assert answer.receipt.again == (number > 0)
    assert spends(ana) == 1
    assert asked(ana, DATASET).receipt.again, "and so is the question by itself"
    assert [entry["question"] for entry in ana.history() if entry["kind"] == "spend"] == [DATASET]


def test_a_question_that_was_asked_is_selected_from_for_nothing(ana: Session) -> None:
    first = asked(ana, DATASET)
    again = asked(ana, "SELECT * FROM DATASET t")
    assert (again.receipt.again, spends(ana)) == (True, 1)
    assert [replace(one, name="") for one in again.columns] == [replace(one, name="") for one in first.columns]


def test_whether_a_statement_is_paid_for_is_told_of_all_its_questions(ana: Session) -> None:
    chart, whole = f"SELECT ward, SUM(n) AS n FROM ({DATASET}) t GROUP BY ward", "SELECT COUNT(*) FROM visits"
    assert not ana.is_paid(chart, epsilon="1")
    asked(ana, DATASET)
    assert ana.is_paid(chart, epsilon="1")
    assert not ana.is_paid(chart, epsilon="0.5")
    ana.sql(whole, epsilon="0.5")
    assert not ana.is_paid(TOTAL, epsilon="1"), "one of its two questions is not"
    ana.sql(TOTAL, epsilon="1")
    assert ana.is_paid(TOTAL, epsilon="1")
    for free in (f"{chart} LIMIT 0", f"{whole} LIMIT 0", f"EXPLAIN {whole}", "SELECT 1"):
        assert not ana.is_paid(free, epsilon="0.5")


def test_several_questions_share_epsilon_and_each_is_kept(ana: Session) -> None:
    answer = ana.sql(TOTAL, epsilon="1", delta=0)
    assert (answer.receipt.epsilon, spends(ana)) == (1, 2)
    assert ana.sql("SELECT COUNT(*) FROM patients", epsilon="0.5").receipt.again
    assert not ana.sql("SELECT COUNT(*) FROM patients", epsilon="1").receipt.again
    assert ana.sql(TOTAL, epsilon="1").receipt.again


def test_the_same_question_twice_is_one_release(ana: Session) -> None:
    twice = "SELECT a.n, b.m FROM (SELECT COUNT(*) AS n FROM visits) a, (SELECT COUNT(*) AS m FROM public.visits AS v) b"
    answer = ana.sql(twice, epsilon="1")
    assert (spends(ana), answer["n"]) == (1, answer["m"])


def test_all_questions_are_admitted_or_none(ana: Session) -> None:
    """The first would fit, the second does not: neither is paid for."""
    remaining = ana.data.ledger.left("ana").epsilon
    before = (spends(ana), ana.data.ledger.head.number)
    with pytest.raises(BudgetExceeded):
        ana.sql(TOTAL, epsilon=str(remaining * Fraction(3, 2)))
    assert (spends(ana), ana.data.ledger.head.number) == before
    ana.sql("SELECT COUNT(*) FROM visits", epsilon=str(remaining * Fraction(3, 4)))  # each half alone still fits


def test_sales_that_are_admitted_one_by_one_are_caught(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a transaction for each question of a statement."""
    monkeypatch.setattr(Ledger, "reserve_all", lambda self, sales, patience=9: [_one(self, sale) for sale in sales])
    with pytest.raises(AssertionError):
        test_all_questions_are_admitted_or_none(ana)


def _one(ledger: Ledger, sale: Sale) -> Granted | Recalled:
    (decision,) = ledger._write(lambda page: decide_sales(page, [sale], ledger.caps))  # type: ignore[misc]
    return decision


def test_what_does_not_finish_keeps_the_rest(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Session._release

    def fails(self: Session, offer: Offer, granted: Granted, text: str) -> Answer:
        if "patients" in text:
            raise TimedOut("too long")
        return whole(self, offer, granted, text)

    monkeypatch.setattr(Session, "_release", fails)
    with pytest.raises(TimedOut):
        ana.sql(TOTAL, epsilon="1")
    assert spends(ana) == 2
    monkeypatch.undo()
    assert ana.sql("SELECT COUNT(*) FROM visits", epsilon="0.5").receipt.again
    assert not ana.sql(TOTAL, epsilon="1").receipt.again
    assert spends(ana) == 3, "only what has no answer is paid for again"
    assert ana.data.ledger.verify().whole


def test_no_row_is_free_and_has_the_columns_of_any_answer(ana: Session) -> None:
    before = ana.data.ledger.head.number
    for sql in CHARTS[:9]:
        empty = asked(ana, sql.partition(" LIMIT")[0] + " LIMIT 0")
        assert empty.receipt.entry is None
        header = ana.explain(sql.replace("DATASET", f"({DATASET})"), epsilon=1).columns
        assert [(each.name, each.kind) for each in empty.columns] == [(each.name, each.kind) for each in header]
    assert ana.data.ledger.head.number == before
    for sql in CHARTS[:9]:
        header = ana.explain(sql.replace("DATASET", f"({DATASET})"), epsilon=1).columns
        assert [(each.name, each.kind) for each in asked(ana, sql).columns] == [(each.name, each.kind) for each in header]


def test_groups_by_a_noisy_condition_have_the_kind_that_was_told(ana: Session) -> None:
    """A true or false that noise decided is a text, in the explanation and in the answer with no rows as in any other."""
    sql = f"SELECT n > 3 AS large, COUNT(*) AS groups FROM ({DATASET}) t GROUP BY n > 3 ORDER BY large"
    kinds = ["text", "expression"]
    assert [each.kind for each in ana.explain(sql, epsilon=1).columns] == kinds
    assert [[column.kind for column in asked(ana, sql + end).columns] for end in ("", " LIMIT 0")] == [kinds, kinds]


def test_limit_0_inside_is_not_free(ana: Session) -> None:
    assert ana.sql("SELECT * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward LIMIT 0) t", epsilon="0.1").receipt.entry
    assert spends(ana) == 1


def test_an_error_cannot_be_asked_of_what_is_made(ana: Session) -> None:
    with pytest.raises(Refused, match="an error cannot be asked"):
        ana.sql("SELECT n * 2 AS n FROM (SELECT COUNT(*) AS n FROM visits) t", error=5)
    assert spends(ana) == 0


def test_too_much_is_refused_before_anything_is_paid(ana: Session) -> None:
    days = "(SELECT day, kind, COUNT(*) AS n FROM visits GROUP BY day, kind)"
    many = ", ".join(f"(SELECT COUNT(*) AS n FROM visits WHERE cost > {at}) t{at}" for at in range(9))
    for sql, why in [
        (f"SELECT SUM(a.n) FROM {days} a, {days} b WHERE a.n > b.n", "rows over its answers"),
        (f"SELECT t1.n FROM {many}", "more than 8 questions"),
    ]:
        with pytest.raises(Refused, match=why):
            ana.sql(sql, epsilon="0.1", groups=10**6)
    assert spends(ana) == 0


# --- intervals ---------------------------------------------------------------------------------------------------------------


def width(answer: Answer, name: str, at: int = 0) -> float:
    column = answer.column(name)
    assert column.low is not None
    return float(column.values[at] - column.low[at])  # type: ignore[operator]


def test_a_number_of_several_has_the_ends_of_all_of_them_together(ana: Session) -> None:
    """Each of two numbers may miss with half the chance: then both hold together with the whole confidence."""
    half = ana.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5", confidence=Fraction(975, 1000))
    once = ana.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5")
    pair = ana.sql("SELECT a.n + b.n AS s FROM (SELECT COUNT(*) AS n FROM visits) a, "
                   "(SELECT COUNT(*) AS n FROM visits WHERE urgent) b", epsilon="1")  # fmt: skip
    assert width(pair, "s") == 2 * width(half, "n") > 2 * width(once, "n")


def test_ends_that_hold_each_by_itself_are_caught(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the chance of a miss is not divided."""
    monkeypatch.setattr(derived.Deriving, "missed", lambda self, *_: 1 - self.request.confidence)
    with pytest.raises(AssertionError):
        test_a_number_of_several_has_the_ends_of_all_of_them_together(ana)


def test_where_noisy_numbers_choose_rows_all_of_them_hold_together(ana: Session) -> None:
    plain = asked(ana, "SELECT ward, kind, n FROM DATASET t")
    chosen = asked(ana, "SELECT ward, kind, n FROM DATASET t ORDER BY n DESC LIMIT 2")
    by_key = asked(ana, "SELECT ward, kind, n FROM DATASET t ORDER BY ward, kind LIMIT 2")
    together = asked(ana, DATASET, simultaneous=True)
    assert width(by_key, "n") == width(plain, "n") < width(chosen, "n")
    assert len(together) > 2
    assert any("chose the rows" in note for note in chosen.notes)


def test_a_kept_answer_without_its_parts_has_open_ends_where_they_are_needed(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer from before numbers were kept with it: what shows one number has its ends, and what needs more says so."""
    with monkeypatch.context() as patch:
        patch.setattr("tacit.session.parts_text", lambda *_: None)
        first = asked(ana, DATASET)
    assert "parts" not in json.loads(record(first))
    shown = asked(ana, "SELECT n, c, n * 2 AS twice, n + c AS both FROM DATASET t")
    assert (shown.receipt.again, width(shown, "n"), width(shown, "twice")) == (True, width(first, "n"), 2 * width(first, "n"))
    assert shown.column("both").low == (None,) * len(shown)
    assert UNKNOWN in shown.notes
    assert "error unbounded" in str(shown)


def test_parts_of_another_quote_are_not_believed(ana: Session) -> None:
    answer = asked(ana, DATASET)
    assert answer.parts is not None
    offer = ana._offer(parse(DATASET), request("1"), DATASET)
    other = ana._offer(parse(DATASET), request("2"), DATASET)
    version = ana.data.version
    assert derived.parts_read(offer.quotes[0], answer.parts, version) is not None
    assert derived.parts_read(other.quotes[0], answer.parts, version) is None
    assert derived.parts_read(offer.quotes[0], answer.parts, "another version") is None
    assert derived.parts_read(offer.quotes[0], answer.parts[:80] + "AAAA", version) is None


def test_quantiles_keep_their_own_ends_and_no_others(ana: Session) -> None:
    inner = "(SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward)"
    plain = ana.sql(inner.strip("()"), epsilon="1")
    shown = ana.sql(f"SELECT m, m * 2 AS twice, ward FROM {inner} t", epsilon="1")
    assert shown.column("m").low == plain.column("m").low
    assert [each / 2 for each in shown.column("twice").low or ()] == list(plain.column("m").low or ())
    sums = ana.sql(f"SELECT SUM(m) AS s FROM {inner} t", epsilon="1")
    assert sums.column("s").low == (None,), "the ends of four medians were drawn one by one, and do not hold together"


CHOSEN_WARD = "(SELECT ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ORDER BY n DESC LIMIT 1)"
CHOSEN_NUMBER = CHOSEN_WARD.replace("(SELECT ward FROM", "(SELECT n FROM", 1)


def test_a_value_that_noise_chose_holds_with_all_that_it_was_chosen_from(ana: Session) -> None:
    """Else it would be the largest of five numbers, with the interval of one that nobody has chosen."""
    row = ana.sql("SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ORDER BY n DESC LIMIT 1", epsilon="1")
    for sql in (f"SELECT {CHOSEN_NUMBER} AS n", f"SELECT n FROM (SELECT {CHOSEN_NUMBER} AS n) u"):
        value = ana.sql(sql, epsilon="1")
        assert value.receipt.again
        assert (value["n"], value.column("n").low, value.column("n").high) == (row["n"], row.column("n").low, row.column("n").high)
    alone = ana.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon="1").column("n")
    assert _half_width(value.column("n")) > _half_width(alone), "wider than that of one number"


def _half_width(column: Column) -> float:
    assert column.low
    return float(column.values[0]) - float(column.low[0])


def test_an_exact_value_that_noise_chose_is_not_exact(ana: Session) -> None:
    """With the exact numbers it could be another one: it is shown, and nothing is made of a text."""
    shown = ana.sql(
        f"SELECT {CHOSEN_WARD} AS w, ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) q", epsilon="1"
    )
    assert [column.kind for column in shown.columns] == ["text", "key", "count"]
    inner = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) q"
    by_age = "(SELECT age FROM (SELECT age, COUNT(*) AS n FROM patients GROUP BY age) t ORDER BY n DESC LIMIT 1)"
    age = ana.sql(f"SELECT {by_age} AS a, COUNT(*) AS k FROM {inner} WHERE {by_age} > 50", epsilon="1")
    assert [column.kind for column in age.columns] == ["expression", "expression"]
    assert (age.column("a").low, age.column("a").high) == ((None,), (None,))
    assert age.column("k").low == (None,), "of an unknown value nothing is known that is compared with it"
    before = spends(ana)
    for sql in (
        f"SELECT SUM(n) AS s FROM {inner} WHERE ward = {CHOSEN_WARD}", f"SELECT COUNT({CHOSEN_WARD}) AS k FROM {inner}",
        f"SELECT CASE WHEN {CHOSEN_WARD} IS NULL THEN 1 END AS k FROM {inner}", f"SELECT n FROM {inner} ORDER BY {CHOSEN_WARD}",
        f"SELECT MAX((SELECT MODE(ward) FROM visits)) AS k FROM {inner}",
    ):  # fmt: skip
        with pytest.raises(Refused, match="nothing made of it"):
            ana.sql(sql, epsilon="1")
    assert spends(ana) == before


@pytest.mark.parametrize(
    "limit",
    [
        "max_groups_contributed = 1", "max_rows_contributed = 1", "privacy_unit_column = patient_id",
        "min_privacy_units_per_group = 50", "group_selection_strategy = PUBLIC_GROUPS",
    ],
)  # fmt: skip
def test_a_limit_of_contributions_is_never_ignored(ana: Session, limit: str) -> None:
    inner = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t"
    with pytest.raises(Refused, match="cannot be limited here"):
        ana.sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({limit}) ward, n FROM {inner}", epsilon="1")
    with pytest.raises(Refused, match="cannot be limited here"):
        ana.explain(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({limit}) ward, n FROM {inner}", epsilon="1")
    assert spends(ana) == 0
    assert ana.sql(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) ward, n FROM {inner}").receipt.epsilon == Fraction(
        1, 2
    )


def test_private_keys_are_those_that_were_shown_here_none(ana: Session) -> None:
    inner = "(SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis)"
    answer = ana.sql(f"SELECT diagnosis, n, n / SUM(n) OVER () AS share FROM {inner} t", epsilon="2", delta="1e-8")
    plain = ana.sql(inner.strip("()"), epsilon="2", delta="1e-8")
    assert (plain.receipt.again, answer["n"], answer["diagnosis"]) == (True, plain["n"], plain["diagnosis"])
    assert answer.columns[2].values == ()


@pytest.mark.parametrize("sql", CHARTS[:6])
def test_doubles_of_a_kept_answer_are_the_same(ana: Session, sql: str) -> None:
    first, again = asked(ana, sql), asked(ana, sql)
    assert first.columns == again.columns
    assert first.notes == again.notes


def test_parts_survive_the_ledger(ana: Session) -> None:
    answer = asked(ana, DATASET)
    assert recorded(record(answer)).parts == answer.parts


def test_every_refusal_has_a_remedy_and_costs_nothing(ana: Session) -> None:
    for sql in [
        "SELECT nothing FROM DATASET t", "SELECT ward, MEDIAN(n) FROM DATASET t GROUP BY ward",
        "SELECT ward, SUM(n) FROM DATASET t",
        "SELECT n FROM DATASET t WHERE ward = 'nort'", "SELECT n FROM DATASET t WHERE EXISTS (SELECT 1 FROM visits)",
        "SELECT n + ward FROM DATASET t", "SELECT n FROM DATASET t ORDER BY 7", "SELECT x.n FROM DATASET t",
        "SELECT n FROM DATASET t JOIN DATASET t ON t.ward = t.ward", "SELECT n FROM DATASET t GROUP BY ROLLUP (n)",
        "SELECT n, (SELECT ward FROM wards) FROM DATASET t", "SELECT LOWER(n) FROM DATASET t", "SELECT SUM(SUM(n)) FROM DATASET t",
    ]:  # fmt: skip
        with pytest.raises(TacitError) as refused:
            asked(ana, sql)
        assert isinstance(refused.value, Refused), (sql, refused.value)
        assert refused.value.remedy or refused.value.code in ("unknown_name", "wrong_type"), (sql, refused.value)
    assert spends(ana) == 0
