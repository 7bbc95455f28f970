"""Laws of code that runs: by decisions, by bits, and what must not happen while draws are scripted."""

from __future__ import annotations

import threading
from decimal import Decimal
from fractions import Fraction

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.verify.driving import UNDECIDED, distance, driven, driven_by_bits, driven_by_strings, replace_functions
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise import bits, choice, coins
from tacit.privacy.law import Law

COUNT = Laplace(1, 1, step=1, on_grid=True)


def test_decisions_give_the_law_that_is_listed():
    found = driven(lambda: COUNT.release(5))
    assert found.missing < UNDECIDED
    assert distance(found, COUNT.law(5)) < UNDECIDED


def test_what_is_too_rare_to_be_followed_is_missing():
    found = driven(lambda: COUNT.release(5), rare=Decimal("0.01"))
    assert Decimal("0.01") < found.missing == found.unplaced
    assert distance(found, COUNT.law(5)) >= found.missing / 2


@pytest.mark.parametrize("below", [2, 3, 5, 12])
def test_bits_give_uniform_integers(below):
    found = driven_by_bits(lambda: choice.uniform_integer(below))
    even = Law(dict.fromkeys(range(below), 1 / Decimal(below)), Decimal("1e-27"))
    assert distance(found, even) < UNDECIDED


def test_planted_a_coin_that_is_compared_with_too_much_is_seen():
    """One part in a thousand: far less than what draws show."""
    found = driven_by_bits(lambda: bool(choice.bernoulli(Fraction(1001, 3000), 1)[0]))
    third = Law({True: 1 / Decimal(3), False: 2 / Decimal(3)}, Decimal("1e-27"))
    assert distance(found, third) > 100 * UNDECIDED


def test_strings_of_a_small_source_give_packed_coins():
    """All strings of 30 bits; a coin that forgets what is left after ten digits is off by 2^-10 / 3."""
    third = Law({1: 1 / Decimal(3), 0: 2 / Decimal(3)}, Decimal("1e-27"))
    found = driven_by_strings(lambda: int(coins.packed_coins(Fraction(1, 3), 1)[0]) & 1)
    assert found.missing < UNDECIDED
    assert distance(found, third) < UNDECIDED
    short = driven_by_strings(lambda: int(coins.packed_coins(Fraction(341, 1024), 1)[0]) & 1)
    assert distance(short, third) > 100 * UNDECIDED


def test_strings_that_do_not_suffice_are_missing():
    found = driven_by_strings(lambda: int(coins.packed_coins(Fraction(1, 3), 1)[0]) & 1, most=10)
    assert found.missing == Decimal("0.5") ** 10


def test_a_draw_beside_the_samplers_is_an_error():
    with pytest.raises(InvalidInput, match="beside the samplers"):
        driven(lambda: int(bits.random_words(1)[0]))


def test_other_threads_draw_real_bits_while_a_law_is_driven():
    seen = []

    def run():
        other = threading.Thread(target=lambda: seen.append(bits.random_bytes(16)))
        other.start()
        other.join()
        return choice.uniform_integer(2)

    assert driven(run).missing == 0
    assert len(set(seen)) == 2


def test_everything_is_as_it_was_afterwards():
    before = bits.random_words, choice.choose, choice.uniform_integer
    with pytest.raises(ZeroDivisionError), replace_functions({choice.choose: lambda *_: 0}):
        raise ZeroDivisionError
    driven(lambda: choice.uniform_integer(3))
    assert (bits.random_words, choice.choose, choice.uniform_integer) == before


def test_nothing_that_was_scripted_is_kept_for_a_later_release():
    """Blocks of noise that are drawn ahead never see a scripted value: the stand-in is in front of them."""
    driven(lambda: COUNT.release(0))
    assert len({COUNT.release(0) for _ in range(200)}) > 2
