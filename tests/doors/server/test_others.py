"""What analysts learn of each other: nothing of what others have spent below a tenth of the budget, and not who asked the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from served import COUNT, Served, served
from tacit.accounting.events import LaplaceNoise
from tacit.accounting.ledger.caps import Admission, Sums
from tacit.doors.server.calls import Reply
from tacit.doors.server.office import Office
from tacit.doors.server.turns import Places
from tacit.privacy.loss import Neighbours

SEVERAL = "SELECT " + ", ".join(f"COUNT(*) FILTER (WHERE cost > {at}) AS n{at}" for at in range(6)) + " FROM visits"
UNIT = Neighbours("add-remove", "unit")
NO_CAP = ("[analysts.ana]                # policy, inside the guarantee\nepsilon = 2\n", "[analysts.ana]\n")
ABOVE = ("2.1", "7.3", "7.6", "7.9", "8", "9")  # epsilons that ana's own cap refuses


def spent(place: Served, epsilon: Fraction) -> None:
    """Bob spends an epsilon."""
    event = LaplaceNoise(Fraction(1), 1 / epsilon, UNIT)
    place.data.ledger.spend(event, "bob", "something", place.data.version)


@contextmanager
def two(folder: Path, spends: tuple[Fraction, Fraction], capped: bool = True) -> Iterator[list[Served]]:
    """The same hospital twice; of another analyst's spending, only the amount differs."""
    with ExitStack() as stack:
        places = [stack.enter_context(served(folder / str(number))) for number in range(2)]
        for place, epsilon in zip(places, spends, strict=True):
            file = place.folder / "tacit.toml"
            if not capped:
                file.write_text(file.read_text("utf-8").replace(*NO_CAP), "utf-8")
            place.desk.places = Places(rate=1e9, burst=1e9, places=99)
            spent(place, epsilon)
        yield places


def replies(place: Served, refused: tuple[str, ...] = ABOVE) -> list[Reply]:
    """What ana is told of a list of requests; none of them is paid for but the last question."""
    epsilons, deltas = ("0.1", "7.9", "9"), (None, "2.4e-8", "9.9e-8")
    asked = [{"epsilon": epsilon} | ({} if delta is None else {"delta": delta}) for epsilon in epsilons for delta in deltas]
    told = [place.call("explain", sql=sql, **each) for sql in (COUNT, SEVERAL) for each in asked]
    told += [place.call("ask", sql=COUNT, epsilon=epsilon) for epsilon in refused]
    told += [place.call("ask", sql=SEVERAL, epsilon="90", delta=delta) for delta in ("3e-8", "4e-7")]
    told += [place.call(operation) for operation in ("budget", "history", "catalog")]
    told += [place.call("answer", entry=entry) for entry in range(4)]
    last = place.call("ask", sql="SELECT ward FROM wards"), place.call("ask", sql=COUNT, epsilon="0.01")
    return [*told, last[0], Reply(last[1].status, last[1].body.partition(b'"entry"')[2]), place.call("budget")]


def amounts(place: Served) -> object:
    return place.office.seen(place.data.ledger.standing("ana")).sums.whole


@pytest.fixture
def same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the entries stands still, so that histories can be compared."""
    monkeypatch.setattr("tacit.accounting.ledger.pages.now", lambda: "2026-01-01T00:00:00.000+00:00")


def pairs(number: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Amounts in the same tenth of every sum; the first two are far apart in it."""
    draw = Random(7)  # which amounts are tried, and no secret
    yield Fraction(1, 100), Fraction(38, 100)
    for _ in range(number - 1):
        first, second = (Fraction(draw.randrange(1, 380), 1000) for _ in range(2))
        yield first, second


@pytest.mark.parametrize("spends", list(pairs(2)))
@pytest.mark.parametrize("capped", [True, False])
def test_others_spending_within_a_tenth_changes_no_reply(tmp_path, same_moment, spends, capped):
    with two(tmp_path, spends, capped) as (one, other):
        assert one.data.ledger.spent().epsilon != other.data.ledger.spent().epsilon
        assert amounts(one) == amounts(other)
        refused = ABOVE if capped else ("8", "9")  # without a cap of her own, ana would pay for what fits
        known = replies(one, refused)
        assert known == replies(other, refused)
        assert len({reply.body for reply in known}) > 10, "the replies say something"


def whole_first(self: Admission, sums: Sums, analyst: object, parts: object) -> Sums:
    """Planted: the cap over everybody is asked first, and its refusal told to those whom their own cap refuses anyway."""
    from functools import reduce
    from operator import add

    price = reduce(add, parts)
    whole = self.whole.require(sums.whole, price)
    return Sums(whole, self.after_own(sums, analyst, parts).own)


@pytest.mark.parametrize(
    ("where", "planted", "capped"),
    [
        ((Office, "seen"), lambda self, standing: standing, False),
        ((Admission, "after"), whole_first, True),
    ],
    ids=["the exact offer", "the other cap first"],
)
def test_a_door_that_tells_more_is_caught(tmp_path, same_moment, monkeypatch, where, planted, capped):
    monkeypatch.setattr(*where, planted)
    with two(tmp_path, (Fraction(1, 100), Fraction(38, 100)), capped) as (one, other):
        refused = ABOVE if capped else ()
        assert replies(one, refused) != replies(other, refused)


# --- who asked the same ------------------------------------------------------------------------------------------------------


def numbers(place: Served, stored: bool) -> tuple[list[object], list[object]]:
    """The entries that bob is shown around a question, which ana has asked before or not; and what its reply says."""
    if stored:
        place.call("ask", sql=COUNT, epsilon="0.01")
    else:
        place.call("ask", sql="SELECT COUNT(*) AS n FROM visits WHERE cost > 1", epsilon="0.01")
    told = [
        place.call("ask", by="bob", sql=sql, epsilon="0.01") for sql in (COUNT, "SELECT COUNT(*) AS k FROM visits WHERE cost < 1")
    ]
    shown = [place.call(operation, by="bob").body for operation in ("history", "budget")]
    return shown, [reply.body.partition(b'"entry"')[2] for reply in told]


def test_a_question_that_somebody_had_asked_takes_the_same_entries(tmp_path, same_moment):
    with served(tmp_path / "new") as new, served(tmp_path / "stored") as stored:
        assert numbers(new, stored=False) == numbers(stored, stored=True)
        kinds = [entry.kind for entry in stored.data.ledger.entries() if entry.kind != "units"]
        assert kinds == ["begin", "spend", "answer", "recall", "answer", "spend", "answer"]
        assert stored.data.ledger.verify().whole


def test_a_recall_of_one_entry_is_caught(tmp_path, same_moment, monkeypatch):
    """Planted: as it was."""
    from tacit.accounting.ledger.pages import Page

    append = Page.append

    def once(self: Page, entry: object, *changed: object) -> object:
        recalled = entry.kind == "answer" and self.books.last.kind == "recall"  # type: ignore[attr-defined]
        return entry if recalled else append(self, entry, *changed)  # type: ignore[arg-type]

    monkeypatch.setattr(Page, "append", once)
    with served(tmp_path / "new") as new, served(tmp_path / "stored") as stored:
        assert numbers(new, stored=False) != numbers(stored, stored=True)
        assert stored.data.ledger.verify().whole, "ledgers of before are whole as they are"
