"""kill -9 in a loop over dozens of processes: every answer that was seen has a durable entry, and nothing is overspent."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from crash import EACH
from ledgers import IDENTITY, opened, policy, pure, spend
from services import fresh_database
from tacit.accounting.ledger.rollback import check_head
from tacit.errors import BudgetExceeded

SCRIPT = Path(__file__).parents[2] / "support" / "crash.py"
ROUND = 3600  # seconds for 400 kills, and a quarter of what the slow test may take: a busy machine needs minutes


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return fresh_database(request.getfixturevalue("postgres_url"))


def killed_in_a_loop(address: str, folder: Path, order: str, *limits: float) -> dict:
    """What was seen, with a budget of `limits[0]` epsilon, until so many processes were killed or so many seconds are over."""
    run = [sys.executable, SCRIPT, address, folder, order, *map(str, limits)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answers_without_entry(ledger, seen: list[int]) -> int:
    """How many more answers were seen than were paid for; an entry that is seen twice is paid for once."""
    return len(seen) - len({entry.number for entry in ledger.entries(first=1)} & set(seen))


def require_all_is_well(address: str, folder: Path, cap: int, report: dict) -> None:
    ledger = opened(address, policy(cap), IDENTITY)
    assert report["errors"] == []
    assert report["seen"]
    assert answers_without_entry(ledger, report["seen"]) == 0
    assert ledger.verify().problems == ()
    assert ledger.spent().epsilon == ledger.head.number * Fraction(EACH) <= cap
    check_head(folder, ledger)


def test_what_was_seen_is_in_the_ledger(address, tmp_path):
    report = killed_in_a_loop(address, tmp_path / "store", "spend-first", 40, 60, 240)
    assert report["kills"] >= 12
    require_all_is_well(address, tmp_path / "store", 40, report)
    ledger = opened(address, policy(40), IDENTITY)
    for _ in range(320 - ledger.head.number):
        spend(ledger, pure(EACH))
    with pytest.raises(BudgetExceeded):
        spend(ledger, pure(EACH))


def test_answering_before_the_debit_is_caught(tmp_path):
    """The planted bug: whoever is killed between the two has shown an answer that nobody paid for."""
    address = str(tmp_path / "ledger.sqlite")
    report = killed_in_a_loop(address, tmp_path / "store", "answer-first", 40, 30, 240)
    assert answers_without_entry(opened(address, policy(40), IDENTITY), report["seen"]) > 0


@pytest.mark.slow
@pytest.mark.timeout(4 * ROUND)
def test_what_was_seen_is_in_the_ledger_after_a_thousand_kills(address, tmp_path):
    """Until the budget has ended and a thousand processes were killed, some of them while others were refused."""
    kills, refused = 0, False
    while kills < 1000 or not refused:
        report = killed_in_a_loop(address, tmp_path / "store", "spend-first", 600, 400, ROUND)
        if not refused:
            require_all_is_well(address, tmp_path / "store", 600, report)
        kills, refused = kills + report["kills"], report["refused"]
    assert opened(address, policy(600), IDENTITY).head.number == 4800
