"""Ledgers and stores that earlier versions wrote are opened for ever: tests/kept/README.md says how they came to be."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.accounting.ledger.entries import state_text
from tacit.accounting.ledger.ledger import Ledger, open_ledger
from tacit.accounting.ledger.units import policy_of
from tacit.data.catalog import read_catalog
from tacit.errors import StoreUnusable, UnitsChanged
from tacit.privacy.catalog import Catalog

KEPT = Path(__file__).parents[2] / "kept"
SETS = sorted(str(found.parent.relative_to(KEPT)) for found in KEPT.glob("*/*/expected.json"))


@pytest.fixture(params=SETS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a kept data set, with its `.tacit` under its own name."""
    folder = tmp_path / "kept"
    shutil.copytree(KEPT / request.param, folder)
    (folder / "dot-tacit").rename(folder / ".tacit")
    return folder


def expected(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "expected.json").read_text()))


def opened(folder: Path) -> tuple[Catalog, Ledger]:
    catalog = read_catalog(folder / "tacit.toml")
    return catalog, open_ledger(catalog.ledger_address({}), policy_of(catalog))


def as_expected(known: dict[str, Any], ledger: Ledger) -> bool:
    """Whether a ledger is whole and says what the version that wrote it read from it."""
    analysts = {name: json.loads(state_text(ledger.spent(name))) for name in known["spent_by_analyst"]}
    chain, entries = ledger.verify(), list(ledger.entries())[: known["entries"]]
    prices = [
        {"epsilon": None if price.epsilon is None else str(price.epsilon), "rho": str(price.rho), "delta": str(price.delta)}
        for price in (entry.price for entry in entries)
    ]
    found = {
        "ledger": ledger.identity,
        "entries": len(entries),
        "head": entries[-1].hash,
        "neighbours": entries[-1].price.neighbours.change,
        "spent": json.loads(state_text(ledger.spent())),
        "spent_by_analyst": analysts,
        "kinds": [entry.kind for entry in entries],
        "prices": prices,
    }
    return chain.whole and all(known[name] == value for name, value in found.items())


def test_data_sets_are_kept() -> None:
    assert SETS == ["format-1/changed", "format-1/people"]


def test_a_kept_ledger_is_whole_and_its_sums_are_the_same(kept: Path) -> None:
    _, ledger = opened(kept)
    assert as_expected(expected(kept), ledger)
    assert ledger.split == Fraction(1, 2), "as it was begun, whatever the catalog's default is now"
    assert [entry.kind for entry in ledger.entries(first=expected(kept)["entries"])] == ["format"]
    again = opened(kept)[1]
    assert again.verify().entries == expected(kept)["entries"] + 1, "converted once"


def test_a_program_of_the_old_format_finds_no_ledger_to_spend_from(kept: Path) -> None:
    """It looks for its own row, and would begin a new ledger over entry 0, which is taken."""
    opened(kept)
    with closing(sqlite3.connect(kept / ".tacit" / "ledger.sqlite")) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert "tacit_ledger" not in tables
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO tacit_entries (number, hash, text) VALUES (0, '', '')")


def test_an_old_store_is_refused_with_its_remedy(kept: Path) -> None:
    with pytest.raises(StoreUnusable, match="tacit prepare"):
        tacit.open(kept / "tacit.toml").session("ana").sql("SELECT COUNT(*) FROM people", epsilon=0.1)


def test_a_kept_ledger_goes_on_for_the_units_that_its_store_declared(kept: Path) -> None:
    """The store of the entries is there, and the catalog is that store's: preparing says whose the entries are."""
    known = expected(kept)
    with tacit.open(kept / "tacit.toml") as data:
        data.prepare()
        if "adopt" in known["kinds"]:  # sums of another ledger, whose units nobody knows
            with pytest.raises(UnitsChanged, match="older entries are unknown"):
                data.session("ana").sql("SELECT COUNT(*) FROM people WHERE age > 30", epsilon=0.1)
            data.accept_units(1, "people in both")
        data.session("ana").sql("SELECT COUNT(*) FROM people WHERE age > 30", epsilon=0.1)
        chain, kinds = data.ledger.verify(), [entry.kind for entry in data.ledger.entries(first=known["entries"])]
    assert (chain.problems, [kind for kind in kinds if kind != "order"]) == ((), ["format", "units", "spend", "answer"])


def test_without_its_store_nobody_knows_the_units_until_the_data_owner_says(kept: Path) -> None:
    shutil.rmtree(kept / ".tacit" / "store")
    with tacit.open(kept / "tacit.toml") as data:
        data.prepare()
        with pytest.raises(UnitsChanged, match="older entries are unknown"):
            data.session("ana").sql("SELECT COUNT(*) FROM people WHERE age > 30", epsilon=0.1)
        data.accept_units(1, "people were units from the beginning")
        data.session("ana").sql("SELECT COUNT(*) FROM people WHERE age > 30", epsilon=0.1)
        assert data.ledger.verify().whole


def change(statement: str) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        with sqlite3.connect(folder / ".tacit" / "ledger.sqlite") as connection:
            connection.execute(statement)
        connection.close()

    return changed


@pytest.mark.parametrize(
    "plant",
    [
        change("""UPDATE tacit_entries SET text = replace(text, '"epsilon":"2"', '"epsilon":"1"') WHERE number >= 2"""),
        change("DELETE FROM tacit_entries WHERE number = 2"),
        change("""UPDATE tacit_ledger SET spent = '{"delta":"0","epsilon":"0","rho":"0"}'"""),
    ],
    ids=["a price", "an entry", "the sums"],
)
def test_a_kept_ledger_that_was_changed_is_not_converted(kept: Path, plant: Callable[[Path], None]) -> None:
    plant(kept)
    with pytest.raises(StoreUnusable, match="the ledger is damaged"):
        opened(kept)


def test_a_kept_ledger_in_postgresql_is_converted_as_well(kept: Path, postgres_url: str) -> None:
    """The same rows in the tables of the old format, as the old version made them there."""
    import psycopg

    from services import fresh_database

    url = fresh_database(postgres_url)
    with closing(sqlite3.connect(kept / ".tacit" / "ledger.sqlite")) as old, psycopg.connect(url) as new:
        for table in ("tacit_ledger", "tacit_spent", "tacit_entries", "tacit_answers"):
            (made,) = old.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()
            new.execute(made)
            for row in old.execute(f"SELECT * FROM {table}"):
                new.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)
    ledger = open_ledger(url, policy_of(read_catalog(kept / "tacit.toml")))
    assert as_expected(expected(kept), ledger)
    assert open_ledger(url, ledger.policy).verify().entries == expected(kept)["entries"] + 1
