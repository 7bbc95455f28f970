"""The closed list of codes: one status each, one table in the reference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from pages import ROOT
from served import served
from tacit.doors.server.problems import STATUS, TEXTS, problem, words_for
from tacit.errors import BudgetExceeded, InvalidBudget, InvalidSensitivity, InvalidValue, Refused, StoreUnusable, Unforeseen


def kinds(kind: type[Refused] = Refused) -> Iterator[type[Refused]]:
    yield kind
    for other in kind.__subclasses__():
        yield from kinds(other)


def test_the_reference_has_every_code_with_its_status():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d{3}) \| (.+) \|$", page, re.MULTILINE)
    assert {code: int(status) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)} == STATUS


def test_every_refusal_has_a_status():
    assert {kind.code for kind in kinds()} <= set(STATUS)
    for code in TEXTS:
        known = json.loads(problem(code).body)["error"]
        assert set(known) == {"code", "message", "remedy"}


def test_what_is_the_data_owners_is_told_to_nobody():
    assert words_for(StoreUnusable("/place")) is None
    assert words_for(Unforeseen()) is None
    assert words_for(InvalidBudget("epsilon must be positive")).status == 422
    exact = words_for(
        BudgetExceeded("the budget of the data set does not admit this question: it costs epsilon 1, and epsilon 0.123 remains")
    )
    assert b"0.123" not in exact.body, "what the data set has left is shown in tenths, in refusals too"
    own = words_for(BudgetExceeded("ana's own budget does not admit this question: it costs epsilon 1, and epsilon 0.123 remains"))
    assert b"0.123" in own.body


def test_what_a_mechanism_says_of_a_value_is_told_to_nobody(tmp_path, monkeypatch):
    """An error about a value to be released may follow from the data, wherever it is raised; planted: one that is passed on."""
    assert words_for(InvalidValue("the release is too large for a float")) is None
    assert words_for(InvalidSensitivity("not finite")) is None

    def fails(*_: object, **__: object) -> None:
        raise InvalidValue("a cell of a marked row")

    with served(tmp_path) as found:
        for where in ("tacit.query.offers.rewrite", "tacit.session.offered", "tacit.session.Session._release"):
            with monkeypatch.context() as patch:
                patch.setattr(where, fails)
                reply = found.call("ask", sql="SELECT COUNT(*) FROM visits WHERE cost < 5", epsilon="0.1")
            assert b"marked" not in reply.body
        with pytest.MonkeyPatch.context() as planted:
            planted.setattr("tacit.doors.server.desk.words_for", lambda error: problem("invalid_input", str(error)))
            planted.setattr("tacit.session.Session.explain", fails)
            assert b"marked" in found.call("explain", sql="SELECT COUNT(*) FROM visits", epsilon="0.1").body


def test_parameters_that_make_a_text_too_long_are_refused_before_the_ledger(tmp_path):
    """An engine reads the text with its parameters filled in, under the same limit; planted: the text of the request alone."""
    names = [f"p{at}" for at in range(60)]
    sql = f"SELECT COUNT(*) FROM visits WHERE diagnosis IN ({', '.join(f':{name}' for name in names)})"
    with served(tmp_path) as found:
        before = found.desk.office.data.ledger.head.number
        reply = found.call("ask", sql=sql, params={name: name * 700 for name in names}, epsilon="0.1")
        assert b"not_allowed" in reply.body
        assert found.desk.office.data.ledger.head.number == before
        short = found.call("ask", sql=sql, params=dict.fromkeys(names, "flu"), epsilon="0.1")
        assert short.status == 200
        with pytest.MonkeyPatch.context() as planted:
            planted.setattr("tacit.session.check_text", lambda text: text)
            found.call("ask", sql=sql, params={name: name * 701 for name in names}, epsilon="0.1")
        assert found.desk.office.data.ledger.head.number > before + 2
