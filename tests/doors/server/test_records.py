"""Accounts and tokens: a token is shown once, ends at once, and a name belongs to one account for ever."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from sqlalchemy import event

from tacit.doors.server import records as records_module
from tacit.doors.server.narrow import Wanted, make
from tacit.doors.server.records import DAY, Account, Accounts, Ended, NameTaken, Records, account_name
from tacit.errors import InvalidInput


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(tmp_path: Path, clock: Clock) -> Accounts:
    return Accounts(Records(tmp_path / "server.sqlite"), clock)


def test_a_token_is_its_account_and_is_stored_as_a_hash_in_a_file_of_its_owner(accounts, tmp_path):
    issued = accounts.add("Ana", "analyst")
    assert accounts.who(issued.token) == Account("ana", "analyst", 1)
    assert len(issued.token) == len("tacit_") + 43
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert issued.token.encode() not in file.read_bytes()
        assert issued.token.removeprefix("tacit_").encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "text", ["", "tacit_", "x" * 49, "tacit_" + "a" * 43, "tacit_" + "é" * 43, "Bearer x", "tacit_\0", "a" * 9999]
)
def test_no_other_text_is_an_account(accounts, text):
    accounts.add("ana", "analyst")
    assert accounts.who(text) is None


def test_a_token_ends_when_it_expires_is_revoked_or_replaced(accounts, clock):
    first = accounts.add("ana", "analyst", days=1)
    second = accounts.issue("ana", days=2)
    clock.now += DAY + 1
    assert (accounts.who(first.token), bool(accounts.who(second.token))) == (None, True)
    third = accounts.rotate("ana")
    assert (accounts.who(second.token), bool(accounts.who(third.token))) == (None, True)
    fourth = accounts.renew(accounts.who(third.token))
    assert (accounts.who(third.token), bool(accounts.who(fourth.token))) == (None, True)
    assert accounts.revoke("ANA") == 1, "rotation had revoked the others"
    assert accounts.who(fourth.token) is None


def test_a_revocation_holds_at_once_for_everybody_who_has_the_file_open(accounts, tmp_path, clock):
    other = Accounts(Records(tmp_path / "server.sqlite"), clock)
    issued = accounts.add("ana", "analyst")
    assert other.who(issued.token) is not None
    accounts.revoke("ana")
    assert other.who(issued.token) is None


def test_a_clock_that_goes_back_brings_no_token_back(accounts, tmp_path, clock):
    issued = accounts.add("ana", "analyst", days=1)
    clock.now += 2 * DAY
    assert accounts.who(issued.token) is None
    clock.now -= 2 * DAY
    assert accounts.who(issued.token) is None
    assert Accounts(Records(tmp_path / "server.sqlite"), clock).who(issued.token) is None, "nor does a new start"


def test_a_name_has_one_form_and_is_never_somebody_elses(accounts):
    accounts.add(" Zoe\u0308  Lu", "analyst")
    accounts.revoke("zo\u00eb lu")
    for name in ("ZO\u00cb LU", "zoe\u0308 lu"):
        with pytest.raises(NameTaken, match="was used before"):
            accounts.add(name, "curator")
    assert [each["role"] for each in accounts.summary()] == ["analyst"]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\u202eb", "\u200b", "x" * 65, "\x1b[2J"])
def test_names_that_cannot_be_seen_are_refused(name):
    with pytest.raises(InvalidInput, match="name"):
        account_name(name)


def test_roles_days_and_declared_analysts_are_checked(accounts):
    with pytest.raises(InvalidInput, match="unknown role"):
        accounts.add("ana", "root")
    for days in (0, 367, True, 1.5):
        with pytest.raises(InvalidInput, match="days must be"):
            accounts.add("ana", "analyst", days=days)
    with pytest.raises(InvalidInput, match="is not one of them"):
        accounts.add("eve", "analyst", declared=["ana"])
    accounts.add("eve", "auditor", declared=["ana"])
    with pytest.raises(InvalidInput, match="unknown account"):
        accounts.issue("nobody")
    assert [each["name"] for each in accounts.summary()] == ["eve"], "a refused account leaves nothing"


def test_a_token_that_was_revoked_is_not_renewed(accounts):
    """Between the check of a token and its renewal the curator may revoke it; and two renewals at once are one."""
    issued = accounts.add("ana", "analyst")
    presented = accounts.who(issued.token)
    assert accounts.revoke("ana") == 1
    with pytest.raises(Ended):
        accounts.renew(presented)
    assert not any(token["live"] for account in accounts.summary() for token in account["tokens"])


def work(accounts: Accounts, token: str) -> list[str]:
    """What is done to check a token: digests that are computed, and statements that are run."""
    done: list[str] = []
    engine, digest = accounts.records._engine, records_module.digest_of_token
    note = lambda _connection, _cursor, statement, *_: done.append(statement)  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "digest_of_token", lambda text: (done.append(f"{len(text)} characters"), digest(text))[1])
        event.listen(engine, "before_cursor_execute", note)
        try:
            accounts.who(token)
        finally:
            event.remove(engine, "before_cursor_execute", note)
    return done


def test_every_text_takes_the_same_work(accounts, clock):
    """So that the time of a reply does not say why a credential is not valid, nor that it was valid once."""
    live, expired = accounts.add("ana", "analyst", days=30), accounts.issue("ana", days=1)
    revoked = accounts.issue("ana")
    presented = accounts.who(live.token)
    narrow, old, gone = (make(accounts, presented, Wanted(hours=hours)) for hours in (500, 1, 500))
    accounts.revoke("ana", 3)
    accounts.revoke("ana", narrow=3)
    clock.now += 2 * DAY
    accounts.who(live.token)  # the clock is remembered once
    texts = [live.token, expired.token, revoked.token, f"tacit_{'A' * 43}", "", "x", "tacit_x", "\0" * 9000, live.token + " "]
    texts += [old.token, gone.token, narrow.token]
    found = {tuple(work(accounts, text)) for text in texts}
    assert len(found) == 1
    assert len(found.pop()) == 3, "one digest, two statements"
    assert [accounts.who(text) is None for text in texts] == [False, *[True] * 10, False]


def test_a_check_that_looks_up_only_what_looks_like_a_token_is_caught(accounts, monkeypatch):
    """Planted: what is malformed is refused at once."""
    token, whole = accounts.add("ana", "analyst").token, Accounts.who
    quick = lambda self, text: whole(self, text) if records_module.TOKEN.fullmatch(text) else None  # noqa: E731
    monkeypatch.setattr(Accounts, "who", quick)
    assert work(accounts, "x") != work(accounts, token)
