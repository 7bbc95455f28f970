"""Permanent answers: the byte format against a second implementation, vectors for other programs, exact coins."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import CHANCE
from tacit.errors import InvalidInput
from tacit.evidence.verify.contract import disagreement
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.longitudinal import DerivedCoins, FreshCoins, label, permanent
from tacit.publish.local.randomizers.numeric import FoldedLaplace, Piecewise
from tacit.publish.local.randomizers.randomizer import Coins, Ratio
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.unary import Unary

SECRET = bytes(range(32))


def stream(secret, survey, question, value, count):
    """The first bytes of the stream, written from the description: HMAC of RFC 2104 from the hash alone."""
    message = b""
    for text in ("tacit permanent 1", survey, question, value):
        message += len(text.encode()).to_bytes(4, "big") + text.encode()
    key = (hashlib.sha256(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
    inner, outer = bytes(b ^ 0x36 for b in key), bytes(b ^ 0x5C for b in key)
    out = b""
    for block in range(-(-count // 32)):
        first = hashlib.sha256(inner + message + block.to_bytes(4, "big")).digest()
        out += hashlib.sha256(outer + first).digest()
    return out[:count]


@given(st.binary(min_size=16, max_size=100), st.text(max_size=5), st.text(max_size=5), st.text(max_size=5))
def test_the_stream_is_the_one_described(secret, survey, question, value):
    coins = DerivedCoins(secret, label(survey, question, value))
    assert bytes(coins.below(256) for _ in range(70)) == stream(secret, survey, question, value, 70)


def test_coins_read_eight_bytes_and_compare_as_described():
    words = stream(SECRET, "s", "q", "3", 160)
    coins = DerivedCoins(SECRET, label("s", "q", "3"))
    for at in range(20):
        word = int.from_bytes(words[8 * at : 8 * at + 8], "big")
        assert coins.coin(Fraction(2, 7)) == (word < math.floor(Fraction(2, 7) * 2**64))


def test_a_tie_goes_on_with_the_next_word():
    words = stream(SECRET, "s", "q", "3", 24)
    first, second, third = (int.from_bytes(words[at : at + 8], "big") for at in (0, 8, 16))
    for more, expected in ((second + 1, True), (second, False)):
        coins = DerivedCoins(SECRET, label("s", "q", "3"))
        assert coins.coin(Fraction(first, 2**64) + Fraction(more, 2**128)) is expected
        assert coins.below(2**64) == third
    coins = DerivedCoins(SECRET, label("s", "q", "3"))
    assert coins.coin(Fraction(first, 2**64)) is False
    assert coins.below(2**64) == second


def test_numbers_are_masked_and_drawn_again():
    words = stream(SECRET, "s", "q", "3", 200)
    expected = [byte & 127 for byte in words if byte & 127 < 100][:60]
    coins = DerivedCoins(SECRET, label("s", "q", "3"))
    assert [coins.below(100) for _ in range(60)] == expected
    coins = DerivedCoins(SECRET, label("s", "q", "3"))
    assert coins.below(1) == 0
    assert coins.below(2**16) == int.from_bytes(words[:2], "big")


VECTORS = [
    (KAry(5, 1), 3, 4),
    (Unary(10, 1), 7, [193, 0]),
    (Piecewise(0, 10, 1), 4, 14),
    (FoldedLaplace(0, 100, 4), 40, 60),
    (Sets(6, 3, 1, by="k-ary"), {5, 1}, 6),
]


@pytest.mark.parametrize(("randomizer", "value", "report"), VECTORS, ids=[type(each).__name__ for each, _, _ in VECTORS])
def test_vectors_for_other_programs(randomizer, value, report):
    """A change of these breaks every permanent answer ever given: it needs a new version in the label."""
    found = permanent(randomizer, value, SECRET, "canteen", "meal")
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == report


def test_the_same_value_always_gets_the_same_answer_and_labels_are_apart():
    response = KAry(1000, "0.1")
    once = [permanent(response, value, SECRET, "s", "q") for value in range(50)]
    assert once == [permanent(response, value, SECRET, "s", "q") for value in range(50)]
    assert once != [permanent(response, value, SECRET, "s", "other") for value in range(50)]
    assert once != [permanent(response, value, bytes(32), "s", "q") for value in range(50)]
    assert label("ab", "c", "1") != label("a", "bc", "1")


def test_over_secrets_a_permanent_answer_has_the_law_of_the_randomizer():
    """4,000 secrets."""
    response = KAry(4, 1)
    drawn = [permanent(response, 2, secret.to_bytes(16, "big"), "s", "q") for secret in range(4000)]
    assert disagreement(drawn, response.law(2), CHANCE) is None
    assert disagreement(drawn, response.law(1), CHANCE) is not None


def test_a_label_without_the_value_would_tell_the_truth():
    """The planted bug: one stream for all values. Who sees two permanent answers then sees one coin, kept or not, used twice."""
    secrets = [number.to_bytes(16, "big") for number in range(200)]
    planted = [{KAry(2, 1).derive(value, DerivedCoins(secret, b"no value")) for value in (0, 1)} for secret in secrets]
    assert all(len(answers) == 2 for answers in planted)  # the two answers always differ: they are not independent
    sound = [{permanent(KAry(2, 1), value, secret, "s", "q") for value in (0, 1)} for secret in secrets]
    assert any(len(answers) == 1 for answers in sound)  # all 200 differ with probability below 1e-40


def test_a_secret_is_long_and_never_shown():
    with pytest.raises(InvalidInput, match="random bytes"):
        DerivedCoins(b"short", b"")
    assert "0102" not in repr(DerivedCoins(SECRET, b""))
    assert "x01" not in repr(DerivedCoins(SECRET, b""))


def test_fresh_coins_are_coins():
    assert isinstance(FreshCoins(), Coins)
    assert isinstance(DerivedCoins(SECRET, b""), Coins)
    assert FreshCoins().coin(Fraction(1)) is True
    assert FreshCoins().below(1) == 0


@pytest.mark.parametrize("coins", [FreshCoins(), DerivedCoins(SECRET, b"")], ids=["fresh", "derived"])
def test_a_coin_may_be_of_a_ratio_that_is_not_in_lowest_terms(coins):
    assert coins.coin(Ratio(7**999, 7**999)) is True
    assert coins.coin(Ratio(0, 7**999)) is False
    one, other = (DerivedCoins(SECRET, label("s", "q", "3")) for _ in range(2))
    assert [one.coin(Fraction(2, 7)) for _ in range(50)] == [other.coin(Ratio(2 * 6**99, 7 * 6**99)) for _ in range(50)]


@pytest.mark.parametrize("call", [lambda c: c.coin(Fraction(3, 2)), lambda c: c.below(0)])
def test_what_is_no_chance_is_refused(call):
    with pytest.raises(InvalidInput):
        call(DerivedCoins(SECRET, b""))
