"""Questions read no ranks where the store says that no row is beyond the limit, and keep the same rows where it does not say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital import hospital_session
from tacit.data.store import limits_of, store_file, store_info
from tacit.query.engines.compile import RANK
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.session import Session
from worlds import opened

JOINED = "SELECT COUNT(*) AS n, SUM(v.cost) AS c FROM visits v JOIN patients p ON v.patient_id = p.id"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with hospital_session(tmp_path) as made:
        yield made


def asked(session: Session, text: str) -> tuple[list[Any], str]:
    """The exact answer on the store as it is, and the SQL that was run."""
    engine = DuckDBEngine(store_file(session.data.catalog))
    found = opened(engine.run(rewrite(parse(text), session.data.catalog, session.data.public).group))
    written = " ".join(engine._compiled.values())
    engine.close()
    return found, written


def say(session: Session, limits: object) -> None:
    """Another word of the store about its limits."""
    with duckdb.connect(str(store_file(session.data.catalog))) as store:
        ((details,),) = store.execute("SELECT details FROM tacit_store").fetchall()
        known = {**json.loads(details), "limits": limits}
        if limits is None:
            del known["limits"]
        store.execute("UPDATE tacit_store SET details = ?", [json.dumps(known)])


def test_a_store_says_how_many_rows_of_a_unit_it_holds(session: Session) -> None:
    catalog = session.data.catalog
    held = {name: table.max_rows for name, table in catalog.tables.items() if not table.public}
    found = store_info(catalog)
    assert found is not None
    assert found.limits == held
    assert set(held) == {"visits", "patients"}


@pytest.mark.parametrize("text", ["SELECT ward, SUM(cost) AS c FROM visits GROUP BY ward", JOINED])
def test_ranks_are_read_unless_the_store_says_enough(session: Session, text: str) -> None:
    """A store of before, a store with a higher limit, and words that are none: all are read by their ranks."""
    honest, written = asked(session, text)
    assert RANK not in written
    more = {name: table.max_rows + 1 for name, table in session.data.catalog.tables.items()}
    for said in (None, more, {}, {"visits": "2", "patients": None}, [], 7):
        say(session, said)
        found, written = asked(session, text)
        assert f'"{RANK}" < ' in written
        assert repr(found) == repr(honest)


def test_a_limit_in_each_group_is_by_ranks(session: Session) -> None:
    declared = session.data.catalog.tables["visits"]
    object.__setattr__(declared, "max_rows_per_group", 1)
    _, written = asked(session, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    assert RANK in written
    assert f'"{RANK}" < ' not in written


def test_words_that_are_no_limits_are_ignored() -> None:
    assert limits_of({"limits": {"a": 3, "b": None, "c": "4", "d": 1.5}}) == {"a": 3}
    assert limits_of({"limits": [1]}) == limits_of({"limits": None}) == {}
