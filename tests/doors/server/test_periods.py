"""A budget of each period behind the door: the same replies on neighbouring tables, balances in tenths, engines that agree."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from by_month import CATALOG, KEY, Clinic, declared
from served import seen
from serving import serving
from tacit.accounting.ledger import selling
from tacit.accounting.ledger.by_period import StandingInPeriods
from tacit.accounting.ledger.ledger import Ledger
from tacit.doors.client import connect
from tacit.doors.server import engine as engine_module
from tacit.doors.server.calls import Call
from tacit.doors.server.desk import Desk, desk
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.doors.server.settings import Settings, check_exposure
from tacit.privacy.catalog import having_begun
from tacit.query.engines import opening
from tacit.query.price.stream import measurement_of
from tacit.release.elsewhere.frames import FAILED, NUMBERS
from tacit.release.elsewhere.quotes import fingerprint_of, pricing_of, request_written
from tacit.session import open as open_data
from visiting import Visitor

CLINIC = Clinic(
    tuple((person, person % 10) for person in range(20)),
    tuple((person, f"2025-{month:02}-{1 + person:02}", (person + month) % 10) for person in range(20) for month in range(1, 5)),
    tuple((person, f"2025-{month:02}-{2 + person:02}", person % 3) for person in range(0, 20, 2) for month in (1, 3)),
)
FEBRUARY = "SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2025-02-01' AND DATE '2025-02-28'"
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    FEBRUARY,
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month",
    "SELECT COUNT(DISTINCT patient) AS n FROM visits",
    "SELECT AVG(cost) AS c FROM visits WHERE day >= DATE '2025-04-01'",
    "SELECT COUNT(*) AS n FROM patients",
    "SELECT COUNT(*) AS n FROM visits JOIN labs ON visits.patient = labs.patient",
    "SELECT COUNT(*) AS n FROM visits WHERE day > DATE '2025-06-01'",
    "SELECT COUNT(*) AS n FROM visits JOIN labs ON visits.patient = labs.patient "
    "AND DATE_TRUNC('month', visits.day) = DATE_TRUNC('month', labs.taken)",
]
ANALYSTS = "[analysts.ana]\nepsilon = 0.5\n[analysts.bob]\n"


@dataclass
class Door:
    """A desk, and the tokens of its accounts."""

    desk: Desk
    tokens: dict[str, str]

    def call(self, operation: str, by: str = "ana", **given: Any) -> Any:
        return self.desk.handle(Call(operation, self.tokens[by], given))

    def told(self, operation: str, by: str = "ana", **given: Any) -> Any:
        return json.loads(self.call(operation, by, **given).body)


@contextmanager
def door(folder: Path, clinic: Clinic = CLINIC, budget: str = "", analysts: str = "") -> Iterator[Door]:
    """The clinic behind a desk, its budget one of each month."""
    shutil.rmtree(folder, ignore_errors=True)
    made = declared(folder, clinic, budget=budget)
    (folder / "tacit.toml").write_text(CATALOG.format(budget=budget, visits="", line="") + analysts, "utf-8")
    made.kept.mkdir(exist_ok=True)
    (made.kept / "rank.key").write_text(KEY)
    with open_data(folder / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True, through="2025-04")
        data.begin_scratch("a test")
        place = desk(data)
        roles = {"ana": "analyst", "bob": "analyst", "cara": "curator", "otto": "auditor"}
        tokens = {name: place.office.accounts.add(name, role, declared=data.catalog.analysts).token for name, role in roles.items()}
        yield Door(place, tokens)
        place.office.records.close()


def transcript(place: Door) -> list[Any]:
    """What an analyst sees of each question, and of the budget after it."""
    found: list[Any] = [seen(place.call("catalog"))]
    for sql in QUESTIONS:
        found += [(sql, seen(place.call("explain", sql=sql, epsilon="0.05"))), seen(place.call("ask", sql=sql, epsilon="0.05"))]
        found.append(seen(place.call("budget")))
    return [*found, seen(place.call("history"))]


def test_one_person_in_one_month_changes_nothing_but_released_digits(tmp_path):
    with door(tmp_path / "one") as one:
        first = transcript(one)
    with door(tmp_path / "two", CLINIC.without(4, 2)) as two:
        assert transcript(two) == first
    answered = [each for each in first if isinstance(each, tuple) and each[0] == 200]
    assert len(answered) > len(QUESTIONS)


# --- balances ----------------------------------------------------------------------------------------------------------------


def test_a_reply_names_the_periods_and_what_they_have_left(tmp_path):
    with door(tmp_path) as place:
        told = place.told("ask", sql=FEBRUARY, epsilon="0.25")
        assert (told["periods"], told["left"]["epsilon"]) == ("2025-02", "0.7")  # 0.75, in tenths
        assert place.told("ask", sql=QUESTIONS[0], epsilon="0.05")["periods"] == "2025-01 to 2025-04"
        explained = place.told("explain", sql="SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2025-02-01'", epsilon="0.1")
        assert explained["charged"] == [{"periods": "2025-01", "lifetime": "epsilon 0.1", "left": "0.9"}]
        budget = place.told("budget")
        assert [(each["periods"], each["questions"], each["left"]["epsilon"]) for each in budget["periods"]] == [
            ("2025-01", 1, "0.9"), ("2025-02", 2, "0.7"), ("2025-03 to 2025-04", 1, "0.9"),
        ]  # fmt: skip
        entries = place.told("history")["entries"]
        assert [(each["periods"], each["price_in_each"]["epsilon"]) for each in entries] == [
            ("2025-01 to 2025-04", "0.05"), ("2025-02", "0.25"),
        ]  # fmt: skip
        assert place.told("answer", entry=entries[1]["entry"])["periods"] == "2025-02"


def test_a_join_on_the_same_month_by_an_expression_is_explained(tmp_path):
    """Planted: the shape of the question, from which it is explained, had no condition but equal columns, and was refused."""
    with door(tmp_path) as place:
        assert place.told("explain", sql=QUESTIONS[-1], epsilon="0.05")["charged"][0]["periods"] == "2025-01 to 2025-04"


def test_others_show_in_tenths_alone_and_never_their_periods_questions(tmp_path):
    """Two worlds that differ in what bob asked, by less than a tenth of each period: ana sees the same bytes."""
    replies = []
    for number, asked in enumerate(
        ([("0.31", FEBRUARY)], [("0.33", FEBRUARY)], [("0.31", FEBRUARY), ("0.02", FEBRUARY + " AND cost > 3")])
    ):
        with door(tmp_path / str(number)) as place:
            for epsilon, sql in asked:
                assert place.call("ask", "bob", sql=sql, epsilon=epsilon).status == 200
            replies.append((place.told("budget"), place.told("explain", sql=FEBRUARY + " AND cost > 1", epsilon="0.1")["charged"]))
    assert replies[0] == replies[1] == replies[2]
    assert [(each["questions"], each["left"]["epsilon"]) for each in replies[0][0]["periods"]] == [
        (0, "1"), (0, "0.6"), (0, "1"),
    ]  # fmt: skip


def test_exact_balances_of_others_are_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(StandingInPeriods, "rounded", lambda self, up: self)
    lefts = []
    for number, epsilon in enumerate(("0.31", "0.33")):
        with door(tmp_path / str(number)) as place:
            place.call("ask", "bob", sql=FEBRUARY, epsilon=epsilon)
            standing = place.desk.office.seen(place.desk.office.data.ledger.standing("ana"))
            lefts.append(standing.left.epsilon)
    assert lefts[0] != lefts[1]


def test_refusals_by_what_all_have_spent_say_nothing_more(tmp_path):
    with door(tmp_path, budget="") as place:
        assert place.call("ask", "bob", sql=FEBRUARY, epsilon="0.7").status == 200
        refused = place.told("ask", sql=QUESTIONS[0], epsilon="0.5")["error"]
        assert refused["message"] == "the budget of the data set does not admit this question"
        assert "2025" not in json.dumps(refused)
        for month in ("01", "03", "04"):
            for number in range(2):
                sql = f"SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2025-{month}-01' AND DATE '2025-{month}-28'"
                assert place.call("ask", "bob", sql=f"{sql} AND cost > {number}", epsilon="0.4").status == 200


def test_a_refusal_by_the_lifetime_says_nothing_more(tmp_path):
    with door(tmp_path) as place:
        text = (tmp_path / "tacit.toml").read_text("utf-8")
        (tmp_path / "tacit.toml").write_text(text.replace("lifetime = { epsilon = 12", "lifetime = { epsilon = 1"), "utf-8")
        assert place.call("ask", "bob", sql=FEBRUARY, epsilon="0.71").status == 200
        refused = place.told("ask", sql=QUESTIONS[4], epsilon="0.5")["error"]
        assert (refused["code"], refused["message"]) == (
            "budget_exceeded", "the budget of a person's lifetime does not admit this question",
        )  # fmt: skip


def test_the_caps_of_an_analyst_count_in_each_period(tmp_path):
    with door(tmp_path, analysts=ANALYSTS) as place:
        assert place.call("ask", sql=FEBRUARY, epsilon="0.4").status == 200
        refused = place.told("ask", sql=QUESTIONS[0], epsilon="0.2")["error"]
        assert refused["message"].startswith("ana's own budget does not admit this question in 2025-02")
        assert "2025-01, 2025-03 to 2025-04, which have enough" in refused["remedy"]
        assert place.call("ask", sql=QUESTIONS[4], epsilon="0.4").status == 200
        assert place.call("ask", "bob", sql=QUESTIONS[0], epsilon="0.2").status == 200
        place.call("set_caps", "cara", name="bob", epsilon="0.3")
        assert place.told("ask", "bob", sql=QUESTIONS[2], epsilon="0.2")["error"]["message"].startswith("bob's own budget")


def test_questions_at_most_counts_in_each_period(tmp_path):
    with door(tmp_path, budget="questions_at_most = 1") as place:
        assert place.call("ask", sql=FEBRUARY, epsilon="0.1").status == 200
        assert place.told("ask", sql=QUESTIONS[0], epsilon="0.1")["error"]["code"] == "budget_exceeded"
        assert place.call("ask", sql=QUESTIONS[4], epsilon="0.1").status == 200


# --- streams -----------------------------------------------------------------------------------------------------------------

TOTALS = (
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY month) AS total "
    "FROM visits WHERE day <= :last GROUP BY month"
)
STREAM = {"sql": TOTALS, "horizon": 24, "epsilon": "0.2", "delta": "1e-8"}


def spends(place: Door) -> list[str]:
    ledger = place.desk.office.data.ledger
    return [entry.in_periods.named for entry in ledger.entries() if entry.kind == "spend" and entry.in_periods is not None]


def streamed(place: Door) -> list[Any]:
    """What an analyst sees of a stream: its price, each period, a repeat, refusals, and the balance after each."""
    found: list[Any] = [seen(place.call("explain_stream", **STREAM, through="2025-02"))]
    asked = [{"through": month} for month in ("2025-01", "2025-03", "2025-03", "2025-04", "2025-05")]
    for more in [*asked, {"through": "2025-02", "sql": FEBRUARY}, {"through": "2025-04", "epsilon": "5"}]:
        found += [seen(place.call("stream", **{**STREAM, **more})), seen(place.call("budget"))]
    return [*found, spends(place)]


def test_streams_of_neighbours_differ_in_released_digits_alone(tmp_path):
    with door(tmp_path / "one") as one:
        first = streamed(one)
    with door(tmp_path / "two", CLINIC.without(4, 2)) as two:
        assert streamed(two) == first
    assert first[-1] == ["2025-01", "2025-02", "2025-03", "2025-04"], "each period once, and nothing for what is refused"


def test_a_stream_shows_balances_as_a_question_does(tmp_path):
    with door(tmp_path) as place:
        told = place.told("stream", **STREAM, through="2025-02")
        assert (told["periods"], len(told["rows"])) == ("2025-01 to 2025-02", 2)
        assert place.told("stream", "bob", **STREAM, through="2025-02")["rows"] == told["rows"]
        question = place.told("ask", sql=FEBRUARY, epsilon="0.05")
        assert len(told["left"]["epsilon"]) <= 3 >= len(question["left"]["epsilon"]), "in tenths"
        refused = place.told("answer", entry=told["entry"])["error"]
        assert (refused["code"], "one measurement of a stream" in refused["message"]) == ("invalid_input", True)
        assert place.told("explain_stream", **STREAM, through="2025-02")["horizon"] == 24


def test_a_key_is_one_reply_and_a_lost_number_is_paid_once(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    with door(tmp_path) as place:

        def ask(key: str, through: str) -> Any:
            return place.desk.handle(Call("stream", place.tokens["ana"], {**STREAM, "through": through}, key))

        first = ask("a key", "2025-02")
        assert (first.status, ask("a key", "2025-02").body) == (200, first.body)
        monkeypatch.setattr(Ledger, "answered", lambda *_: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            ask("another", "2025-03")
        monkeypatch.undo()
        monkeypatch.setattr(selling, "is_leased", lambda *_: False)
        assert json.loads(ask("another", "2025-03").body)["error"]["code"] == "timed_out"
        assert spends(place) == ["2025-01", "2025-02", "2025-03"]
        assert ask("a third", "2025-03").status == 200
        assert spends(place)[3:] == ["2025-01 to 2025-03"]


def test_a_narrow_token_pays_for_each_measurement(tmp_path):
    with door(tmp_path) as place:
        made = place.told("renew_token", replace=False, most="0.5", operations=["ask"])
        place.tokens["narrow"] = made["token"]
        assert place.call("stream", "narrow", **STREAM, through="2025-02").status == 200
        refused = place.told("stream", "narrow", **STREAM, through="2025-03")["error"]
        assert refused["code"] == "budget_exceeded"
        assert spends(place) == ["2025-01", "2025-02"]
        assert place.call("explain_stream", "narrow", **STREAM, through="2025-02").status == 403


def test_the_engine_draws_the_measurement_that_was_paid_for(tmp_path, otherwise_priced):
    with door(tmp_path) as place:
        data, answering = place.desk.office.data, _answering(place)
        wanted = engine_module.Request(Fraction(1, 5), Fraction(1, 10**8))
        text = TOTALS.replace(":last", "DATE '2025-02-28'")
        paid, _ = measurement_of(engine_module.derived(text, wanted, data.as_prepared, data.public)[0], 24)
        asked = {"ask": "run", "text": text, "request": request_written(wanted), "entry": 7, "seconds": 60}
        asked |= {"fingerprint": fingerprint_of(paid, data.version)}
        told = [answering.run({**asked, "entry": number, "horizon": horizon})[0] for number, horizon in enumerate((24, 25, None))]
        assert told == [NUMBERS, FAILED, FAILED], "another horizon has other noise, and none is another question"
        answering.catalog = replace(
            answering.catalog, per=replace(answering.catalog.per, lifetime=(Fraction(1, 10**4), Fraction(0)))
        )
        assert answering.run({**asked, "entry": 8, "horizon": 24})[0] == FAILED


# --- engines -----------------------------------------------------------------------------------------------------------------


def _answering(place: Door) -> Any:
    """The engine of a server, over the same files; in this process."""
    catalog = replace(place.desk.office.data.catalog, per=replace(place.desk.office.data.catalog.per, begun=None, versions=()))
    return engine_module._open(having_begun(catalog, catalog.per), opening(catalog, None), "")


def _disagreements(place: Door, answering: Any) -> list[str]:
    """The questions that the clerk admits and the engine would not run."""
    data, wrong = place.desk.office.data, []
    for sql in QUESTIONS:
        asked = engine_module.Request(Fraction(1, 20))
        try:
            paid = engine_module.derived(sql, asked, data.as_prepared, data.public)[0]
        except engine_module.Refused:
            continue
        derived = engine_module.derived(sql, asked, answering.catalog, answering.public)
        prints = [fingerprint_of(quote, data.version) for quote in derived]
        if fingerprint_of(paid, data.version) not in prints or not answering._is_affordable(derived[0]):
            wrong.append(sql)
    return wrong + (["pricing"] if pricing_of(data.as_prepared) != pricing_of(answering.catalog) else [])


def test_the_engine_runs_what_the_clerk_admits(tmp_path, monkeypatch):
    with door(tmp_path) as place:
        assert _disagreements(place, _answering(place)) == []
        monkeypatch.setattr(engine_module, "as_recorded", lambda catalog, info: catalog)  # planted: all periods of the bounds
        assert "pricing" in _disagreements(place, _answering(place))


def test_the_engine_runs_nothing_that_no_lifetime_affords(tmp_path):
    with door(tmp_path) as place:
        answering = _answering(place)
        wanted = engine_module.Request(Fraction(1))
        quote = engine_module.derived(QUESTIONS[0], wanted, answering.catalog, answering.public)[0]
        assert answering._is_affordable(quote)
        answering.catalog = replace(answering.catalog, per=replace(answering.catalog.per, lifetime=(Fraction(2), Fraction(0))))
        assert not answering._is_affordable(quote)


def test_a_catalog_with_periods_is_served(tmp_path):
    with door(tmp_path) as place:
        check_exposure(Settings(port=0), place.desk.office.data.catalog)


@pytest.mark.skipif(not KNOWN, reason="the sandbox needs Linux")
def test_a_real_server_answers_with_periods(tmp_path):
    with door(tmp_path) as place:
        tokens = place.tokens
    with serving(tmp_path, tokens) as server:
        status, told = server.ask(FEBRUARY, epsilon="0.25")
        assert (status, told["periods"], told["left"]["epsilon"]) == (200, "2025-02", "0.7")
        status, told = server.ask(QUESTIONS[-1], epsilon="0.05")
        assert (status, told["periods"]) == (200, "2025-01 to 2025-04")
        status, _, body = server.request("POST", "/v1/streams", "ana", {**STREAM, "through": "2025-03"}, "a-key")
        assert status == 200, body
        assert json.loads(body)["periods"] == "2025-01 to 2025-03"
        with connect(f"http://127.0.0.1:{server.port}", tokens["ana"]) as remote:
            budget = {name: STREAM[name] for name in ("horizon", "epsilon", "delta")}
            again = remote.stream(TOTALS, through="2025-03", **budget)
            assert (again.to_dict()["rows"], again.receipt.again) == (json.loads(body)["rows"], True)
            assert "price for a person" in str(remote.explain_stream(TOTALS, through="2025-03", **budget))
        assert server.ask(FEBRUARY + " AND cost > 2", epsilon="0.8")[1]["error"]["code"] == "budget_exceeded"


# --- pages -------------------------------------------------------------------------------------------------------------------


def test_the_budget_page_shows_each_period(tmp_path):
    with door(tmp_path) as place:
        page = Visitor(place.desk).log_in(place.tokens["ana"])
        page.spend(FEBRUARY, "0.25")
        text = page.get("/budget").text
        assert "2025-03 to 2025-04" in text
        assert "Your questions in each: 1" in text
        shown = page.post(
            "/price", sql="SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2025-02-01'", kind="epsilon", epsilon="0.9"
        )
        assert "0.1 of 1" in shown.text, "the price is compared with what its own period has left"


def test_the_owner_sees_each_period(tmp_path):
    with door(tmp_path) as place:
        assert place.call("ask", sql=FEBRUARY, epsilon="0.25").status == 200
        told = place.told("overview", "cara")
        assert [(each["periods"], each["left"]) for each in told["periods"]] == [
            ("2025-01", "1"), ("2025-02", "0.75"), ("2025-03 to 2025-04", "1"),
        ]  # fmt: skip
        assert told["lifetime"] == {"cap": "12", "left": "11.75"}
        page = Visitor(place.desk).log_in(place.tokens["cara"])
        assert "2025-03 to 2025-04" in page.get("/owner").text
