"""Budget and history are the same dictionaries through every door, exact on a catalog, and say nothing of other analysts."""

import json
from fractions import Fraction

import pytest

from hospital import hospital_session
from served import served
from tacit.accounting.ledger import statement
from tacit.accounting.ledger.statement import history_page, whole_history
from tacit.errors import InvalidInput

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"


def test_a_session_and_a_server_say_the_same(tmp_path):
    with served(tmp_path) as found:
        ana = found.data.session("ana")
        ana.sql(COUNT.format(1), epsilon=0.25)
        assert json.loads(found.call("budget").body) == ana.budget()
        assert json.loads(found.call("history").body)["entries"] == ana.history()
        assert ana.budget()["data_set"]["shown"] == found.data.catalog.show_left


def test_on_a_catalog_the_balance_is_exact(tmp_path):
    with hospital_session(tmp_path) as ana:
        ana.sql(COUNT.format(1), epsilon="0.37")
        whole, *_ = ana.data.accounts("ana")
        told = ana.budget()
        assert told["analyst"]["spent"]["epsilon"] == "0.37"
        assert Fraction(told["data_set"]["left"]["epsilon"]) == whole.left.epsilon
        assert told["data_set"]["shown"] == "exact"


def test_a_history_has_all_pages_and_no_entry_of_another(tmp_path, monkeypatch):
    monkeypatch.setattr(statement, "READ_AT_ONCE", 3)
    with hospital_session(tmp_path) as ana:
        for at in range(4):
            ana.sql(COUNT.format(at), epsilon="0.01")
            ana.data.session("ben").sql(COUNT.format(at), epsilon="0.01")  # a recall for ben
        ledger = ana.data.ledger
        asked = [each["question"] for each in ana.history()]
        assert asked == [COUNT.format(at) for at in (3, 2, 1, 0)]
        assert ana.history(2) == ana.history()[:2] == whole_history(ledger, "ana", 2)
        assert {each["kind"] for each in ana.data.session("ben").history()} == {"spend"}
        assert len(history_page(ledger, "ana", 20)["entries"]) < 4
        for wrong in (0, -1, "many", None, True):
            with pytest.raises(InvalidInput):
                ana.history(wrong)


def test_both_doors_have_the_same_methods():
    from tacit.doors.client import Remote
    from tacit.session import Session

    for name in ("sql", "explain", "tables", "table", "budget", "history"):
        assert callable(getattr(Session, name))
        assert callable(getattr(Remote, name))
