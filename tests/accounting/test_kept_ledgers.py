"""Ledgers and stores that earlier versions wrote are opened for ever: tests/kept/README.md says how they came to be."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.accounting.chain import Chain
from tacit.accounting.entries import state_text
from tacit.accounting.heads import check_head, remembered_heads
from tacit.accounting.ledger import Ledger, open_ledger
from tacit.privacy.catalog import Catalog
from tacit.privacy.catalog_file import read_catalog
from tacit.query.store import store_info
from tacit.release.record import recorded

KEPT = Path(__file__).parents[1] / "kept"
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
    return catalog, open_ledger(catalog.ledger_address({}), catalog, identity="f" * 32)


def as_expected(known: dict[str, Any], chain: Chain, ledger: Ledger) -> bool:
    """Whether a ledger is whole and says what the version that wrote it read from it."""
    analysts = {name: json.loads(state_text(ledger.spent(name))) for name in known["spent_by_analyst"]}
    entries = list(ledger.entries())
    prices = [
        {"epsilon": None if price.epsilon is None else str(price.epsilon), "rho": str(price.rho), "delta": str(price.delta)}
        for price in (entry.price for entry in entries)
    ]
    found = {
        "ledger": ledger.identity,
        "entries": chain.entries,
        "head": chain.head.hash,
        "neighbours": chain.head.neighbours.change,
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
    assert as_expected(expected(kept), ledger.verify(), ledger)


def test_the_answers_that_it_stored_are_still_told(kept: Path) -> None:
    _, ledger = opened(kept)
    known = expected(kept)
    told = [ledger.recall(answer["key"]) for answer in known["answers"]]
    assert None not in told
    assert told[0] == known["first_answer"]
    assert recorded(known["first_answer"]).receipt.entry == known["answers"][0]["entry"]


def test_the_kept_store_names_the_ledger_and_its_last_entry(kept: Path) -> None:
    catalog, ledger = opened(kept)
    info, known = store_info(catalog.store_file), expected(kept)
    assert info is not None
    assert info.version == known["data_version"]
    check_head(catalog.store_file.parent, ledger, info.ledger)
    assert remembered_heads(catalog.store_file.parent)[0].hash == known["head"]


def test_a_kept_ledger_goes_on(kept: Path) -> None:
    """One more question is paid for after the kept entries, and the chain goes on over both."""
    known = expected(kept)
    with tacit.open(kept / "tacit.toml") as data:
        data.session("ana").sql("SELECT COUNT(*) FROM people WHERE age > 30", epsilon=0.1)
        chain = data.ledger.verify()
    assert (chain.problems, chain.entries) == ((), known["entries"] + 1)


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
def test_a_kept_ledger_that_was_changed_is_seen(kept: Path, plant: Callable[[Path], None]) -> None:
    plant(kept)
    _, ledger = opened(kept)
    assert not as_expected(expected(kept), ledger.verify(), ledger)
