"""What becomes of a question tells nobody apart; it does where the limits are taken away, as they once were not there."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from tacit.data.catalog import read_catalog
from tacit.data.prepare import prepare
from tacit.data.store import store_file
from tacit.evidence.attacks import against_session
from tacit.evidence.attacks.against_session import fate, joining_questions, pattern_questions, told_apart
from tacit.evidence.attacks.questioner import Target
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits, Opening
from tacit.query.price import price as pricing
from tacit.query.price import work
from tacit.release.elsewhere.own import OwnProcess
from tacit.session import DataSet

CATALOG = """
[budget]
epsilon = 100

[tables.people]
source = "people.csv"
unit = "row"
rows_at_most = 1000
columns.person = { bounds = [1, 4] }
columns.ill = { values = ["yes", "no"] }
columns.note = { keys = "private", longest = 20 }

[tables.wards]
source = "wards.csv"
public = true
"""
ILL = {1: "yes", 2: "no", 3: "no", 4: "yes"}
TARGET = Target("people", "person", "ill = 'yes'", (1, 2, 3, 4))
SHARE = Fraction(1, 1000)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataSet]:
    (tmp_path / "tacit.toml").write_text(CATALOG)
    people = [f"{person},{ill},{'a' * (5 + 100 * (person == 4))}" for person, ill in ILL.items()]
    (tmp_path / "people.csv").write_text("\n".join(["person,ill,note", *people, ""]))
    (tmp_path / "wards.csv").write_text("ward,site\n" + "".join(f"{at},{'north' if at < 4 else 'south'}\n" for at in range(6)))
    prepare(read_catalog(tmp_path / "tacit.toml"))
    with DataSet(read_catalog(tmp_path / "tacit.toml")) as made:
        made.begin_scratch("a test")
        yield made


def test_twenty_joins_are_refused_for_everybody_before_anything_is_paid(data: DataSet) -> None:
    questions = joining_questions(data, TARGET)
    assert len(questions) == 4
    assert questions[0].count("JOIN") == 20
    assert "ON w0.\"site\" = CASE WHEN \"person\" = 1 AND (ill = 'yes') THEN 'north' END" in questions[0]
    assert told_apart(data.session(), questions, SHARE) == 0.0
    assert fate(data.session(), questions[0], SHARE) == ("too_much_work", "the question has 20 joins: the limit is 8")
    assert data.ledger.head.number == 0


def test_a_long_cell_changes_nothing(data: DataSet) -> None:
    questions = pattern_questions(data, TARGET)
    assert questions[3].count("_") == against_session.PLACES
    assert told_apart(data.session(), questions, SHARE) == 0.0
    assert fate(data.session(), questions[3], SHARE) == ("answered", "")


def test_there_is_nothing_to_ask_without_public_tables_or_private_text(data: DataSet, tmp_path: Path) -> None:
    bare = read_catalog(tmp_path / "tacit.toml")
    people = bare.tables["people"]
    columns = {name: column for name, column in people.columns.items() if column.kind != "text"}
    (tmp_path / "wards.csv").write_text("ward,site\na,b\n")
    prepare(bare)
    with DataSet(bare) as again:
        assert joining_questions(again, TARGET) == []
    object.__setattr__(people, "columns", columns)
    assert pattern_questions(DataSet(bare), TARGET) == []


def test_without_limits_the_time_out_is_the_secret(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was once: fan-outs multiply without end, ON may decide by anything, and no work is refused."""
    monkeypatch.setattr("tacit.query.binding.relations.MOST_JOINS", 99)
    monkeypatch.setattr("tacit.query.binding.conditions._private_side", lambda term, public, at: term)
    monkeypatch.setattr(work, "check_joined_rows", lambda relation: None)
    monkeypatch.setattr(pricing, "afford", lambda *_: None)
    data.engine = DuckDBEngine(store_file(data.catalog))  # type: ignore[misc]
    session, questions = data.session(), joining_questions(data, TARGET)
    for seconds in (1, 5, 25):  # what takes a moment takes longer on a busy machine; the rest would take years
        data.engine.limits = Limits(seconds=seconds)  # type: ignore[attr-defined]
        found = {person: fate(session, question, SHARE)[0] for person, question in zip(ILL, questions, strict=True)}
        shown = {person: "yes" if became == "timed_out" else "no" for person, became in found.items()}
        if shown == ILL and told_apart(session, questions, SHARE) == 0.5:
            return
        data.resume("too little time for anybody")
    pytest.fail(f"the secrets are {ILL}, and what was seen is {shown}")


@pytest.mark.slow
def test_without_a_longest_text_the_time_out_says_who_has_a_long_one(data: DataSet) -> None:
    """The store as it was once, with a text of any length; in a process of its own, since inside a cell nothing else ends it."""
    with duckdb.connect(str(store_file(data.catalog))) as store:
        store.execute("UPDATE people SET note = repeat('a', 50000000) WHERE person = 3")
    data.runner = OwnProcess(Opening(store_file(data.catalog), version=data.version, limits=Limits(seconds=5)))  # type: ignore[misc]
    session, questions = data.session(), pattern_questions(data, TARGET)
    assert [fate(session, question, SHARE)[0] for question in questions] == ["answered"] * 3 + ["timed_out"]
