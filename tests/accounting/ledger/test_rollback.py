"""A store knows its ledger: a missing, foreign, older or forked one stops answers until it is adopted; that makes no budget."""

import shutil
from fractions import Fraction
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import IDENTITY, OTHER_IDENTITY, UNIT, opened, policy, pure, spend
from tacit.accounting.events import GaussianNoise
from tacit.accounting.filter import NOTHING_SPENT
from tacit.accounting.ledger.entries import Head
from tacit.accounting.ledger.rollback import FILE, adopt, check_head, remember_head, remembered_heads, take_over_heads, thin_out
from tacit.accounting.ledger.units import Policy
from tacit.errors import StoreUnusable

POLICY = policy(2, "1e-6")
REASON = "restored from the backup of Monday"


class Place:
    """A folder with a ledger and a store, whose ledger can be replaced as a curator or a thief would."""

    def __init__(self, folder) -> None:
        self.folder, self.store, self.ledger_folder = folder, folder / "store", folder / "ledger"

    def open(self, identity: str = IDENTITY, declared: Policy = POLICY):
        return opened(str(self.ledger_folder / "ledger.sqlite"), declared, identity)

    def ask(self, *epsilons: str) -> None:
        """Questions as the session asks them."""
        ledger = self.open()
        for epsilon in epsilons:
            check_head(self.store, ledger)
            remember_head(self.store, spend(ledger, pure(epsilon)).head)

    def keep_copy(self) -> None:
        shutil.copytree(self.ledger_folder, self.folder / "copy")

    def bring_back_copy(self) -> None:
        self.lose()
        (self.folder / "copy").rename(self.ledger_folder)

    def lose(self) -> None:
        shutil.rmtree(self.ledger_folder)


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


def test_a_store_without_a_memory_takes_the_ledger_that_it_names(place):
    ledger = place.open()
    check_head(place.store, ledger)
    check_head(place.store, ledger, named=IDENTITY)
    with pytest.raises(StoreUnusable, match=r"belongs to ledger cdcdcdcd, but"):
        check_head(place.store, ledger, named=OTHER_IDENTITY)


def test_the_right_ledger_goes_on(place):
    place.ask("1/8", "1/8")
    assert remembered_heads(place.store)[0] == place.open().head
    check_head(place.store, place.open(), named=OTHER_IDENTITY)  # the memory is newer than what was prepared
    place.ask("1/8")
    assert remembered_heads(place.store)[0].number == 3


def test_a_missing_ledger_stops_answers(place):
    place.ask("1/8")
    place.lose()
    with pytest.raises(StoreUnusable, match="belongs to ledger abababab, but"):
        check_head(place.store, place.open(OTHER_IDENTITY))
    with pytest.raises(StoreUnusable, match="belongs to ledger abababab, not"):
        remember_head(place.store, place.open().head)


def test_an_older_ledger_stops_answers(place):
    place.ask("1/8")
    place.keep_copy()
    place.ask("1/8")
    place.bring_back_copy()
    with pytest.raises(StoreUnusable, match="is older than the one"):
        place.ask("1/8")


def test_a_ledger_cut_off_at_its_end_and_made_to_fit_is_found(place):
    """Which the chain alone cannot show: the shorter ledger is whole in itself."""
    place.ask("1/8")
    place.keep_copy()
    place.ask("1/8", "1/8")
    place.bring_back_copy()
    ledger = place.open()
    assert ledger.verify().whole
    with pytest.raises(StoreUnusable, match="older"):
        check_head(place.store, ledger)


def test_another_history_stops_answers(place):
    place.ask("1/8")
    place.keep_copy()
    place.ask("1/8")
    place.bring_back_copy()
    spend(place.open(), pure("1/9"))
    spend(place.open(), pure("1/9"))
    with pytest.raises(StoreUnusable, match="has another history than"):
        place.ask("1/8")


def test_adopting_an_older_ledger_carries_over_what_it_lost(place):
    place.ask("1/8")
    place.keep_copy()
    place.ask("1/4", "1/4")
    before = place.open().spent()
    place.bring_back_copy()
    entry = adopt(place.store, place.open(), "curator", REASON)
    assert (entry.kind, entry.analyst, entry.price.epsilon) == ("adopt", "curator", Fraction(1, 2))
    assert entry.question.startswith(f"{REASON} (in the place of entry 3 of ledger abababab, ")
    assert place.open().spent() == before
    place.ask("1/8")
    assert place.open().verify().whole


@pytest.mark.parametrize("begin_with", [[], ["1/16"]])
def test_adopting_a_new_or_foreign_ledger_carries_over_everything(place, begin_with):
    place.ask("1/4", "1/4")
    place.lose()
    ledger = place.open(OTHER_IDENTITY)
    for epsilon in begin_with:
        spend(ledger, pure(epsilon))
    adopt(place.store, ledger, "curator", REASON)
    assert ledger.spent().epsilon == Fraction(1, 2) + sum(map(Fraction, begin_with))
    assert (remembered_heads(place.store)[0], ledger.verify().whole) == (ledger.head, True)


@pytest.mark.parametrize("lost", [1, 3])
def test_adopting_another_history_counts_both(place, lost):
    """One entry of the other history: as many as were lost, or fewer; the entry that both share is counted once."""
    place.ask("1/8")
    place.keep_copy()
    place.ask(*["1/8"] * lost)
    place.bring_back_copy()
    spend(place.open(), pure("1/9"))
    adopt(place.store, place.open(), "curator", REASON)
    assert place.open().spent().epsilon == Fraction(1 + lost, 8) + Fraction(1, 9)


@settings(max_examples=50)
@given(st.integers(1, 300), st.integers(0, 300))
def test_the_memory_is_short_and_knows_a_point_not_far_before_any(last, back):
    """Few are kept; whatever the point to go back to, one at or before it is kept that is at most four times as far."""
    kept = []
    for number in range(last + 1):
        kept = thin_out([Head(IDENTITY, number, str(number), UNIT, NOTHING_SPENT), *kept])
    assert len(kept) <= 2 * last.bit_length() + 1
    point = max(0, last - back)
    assert last - max(head.number for head in kept if head.number <= point) <= max(1, 4 * (last - point))


def test_a_spend_without_epsilon_is_carried_over(place):
    ledger = place.open()
    remember_head(place.store, spend(ledger, GaussianNoise(Fraction(1), Fraction(30), Fraction(0), UNIT)).head)
    place.lose()
    adopt(place.store, place.open(OTHER_IDENTITY), "curator", REASON)
    assert place.open().spent() == ledger.spent()
    assert place.open().spent().epsilon is None


def test_what_was_counted_for_another_relation_is_not_carried_over(place):
    place.ask("1/8")
    place.lose()
    with pytest.raises(StoreUnusable, match="cannot be carried over to"):
        adopt(place.store, place.open(OTHER_IDENTITY, policy(2, change="change-one")), "curator", REASON)


def test_there_is_nothing_to_adopt_where_all_is_well(place):
    place.ask("1/8")
    assert adopt(place.store, place.open(), "curator", REASON) is None
    assert place.open().head.number == 1


@pytest.mark.parametrize("content", ["", "no JSON", "[]", "{}", '{"ledger": "x"}'])
def test_a_memory_that_cannot_be_read_stops_answers(place, content):
    place.ask("1/8")
    (place.store / FILE).write_text(content)
    with pytest.raises(StoreUnusable, match="cannot be read, so the"):
        place.ask("1/8")
    assert "nothing known" in adopt(place.store, place.open(), "curator", REASON).question
    place.ask("1/8")


def test_the_memory_only_moves_forward(place):
    """Many at once, in any order: the latest stays. The file is the owner's alone."""
    ledger = place.open()
    heads = [spend(ledger, pure("1/100")).head for _ in range(24)]
    threads = [Thread(target=remember_head, args=(place.store, head)) for head in [*heads[::2], *heads[::-2], heads[0]]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert remembered_heads(place.store)[0] == heads[-1]
    assert (place.store / FILE).stat().st_mode & 0o777 == 0o600
    assert place.store.stat().st_mode & 0o777 == 0o700


def test_adopting_twice_at_once_makes_no_budget(place):
    place.ask("1/4", "1/4")
    place.lose()
    ledger = place.open(OTHER_IDENTITY)
    threads = [Thread(target=adopt, args=(place.store, ledger, "curator", REASON)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.kind for entry in ledger.entries()] == ["begin", "adopt"]
    assert ledger.spent().epsilon == Fraction(1, 2)


# --- the folder of earlier versions --------------------------------------------------------------------------------------------


def test_what_an_earlier_version_remembered_is_moved(place):
    place.ask("1/8", "1/8")
    known, heads = remembered_heads(place.store), place.folder / "heads"
    assert take_over_heads(place.store, heads) == take_over_heads(place.store, heads) == heads
    assert remembered_heads(heads) == known
    assert not (place.store / FILE).exists()
    check_head(heads, place.open())


@pytest.mark.parametrize("later", ["before", "after"])
def test_after_a_crash_in_between_the_later_memory_counts(place, later):
    ledger, heads = place.open(), place.folder / "heads"
    first, second = (spend(ledger, pure("1/8")).head for _ in range(2))
    remember_head(place.store, second if later == "before" else first)
    remember_head(heads, first if later == "before" else second)
    assert remembered_heads(take_over_heads(place.store, heads))[0] == second
    assert not (place.store / FILE).exists()


def test_memories_of_two_ledgers_stop_answers(place):
    remember_head(place.store, place.open().head)
    heads = place.folder / "heads"
    (place.folder / "other").mkdir()
    remember_head(heads, Place(place.folder / "other").open(OTHER_IDENTITY).head)
    with pytest.raises(StoreUnusable, match="two ledgers are remembered"):
        take_over_heads(place.store, heads)
    assert remembered_heads(place.store), "nothing is lost"


def test_a_memory_that_cannot_be_read_stops_answers_after_the_move_too(place):
    place.ask("1/8")
    (place.store / FILE).write_text("[")
    with pytest.raises(StoreUnusable, match="cannot be read"):
        check_head(take_over_heads(place.store, place.folder / "heads"), place.open())
