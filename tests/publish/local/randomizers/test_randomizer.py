"""Every randomizer: its exact ratios, the contract, and the laws of `randomize` and `derive` over every way the coins can fall."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_path import law_of, law_of_derive, law_of_randomize, row
from tacit.accounting.events import RandomizedAnswer
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.evidence.verify.contract import contract
from tacit.evidence.verify.local_answers import Told, randomizers
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.mechanism import Listed
from tacit.privacy.loss import CHANGE_ONE, Pure
from tacit.privacy.rounding import exp_down, exp_up
from tacit.privacy.sealed import Sealed
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.longitudinal import FreshCoins
from tacit.publish.local.randomizers.numeric import FoldedLaplace, Piecewise
from tacit.publish.local.randomizers.randomizer import (
    Channel,
    FrequencyOracle,
    LocalMechanism,
    Randomizer,
    read_codes,
    read_reports,
    read_size,
)
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.unary import Unary

KINDS = {name: kind for name, kind in randomizers(Fraction(1)).items() if not isinstance(kind, Told)}  # channels alone apart
SHORT = {
    **{name: kind for name, kind in KINDS.items() if "filter" not in name},
    "smaller unary": Unary(3, 1),
}
ORACLES = {name: kind for name, kind in KINDS.items() if hasattr(kind, "supports")}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_keeps_the_protocols_and_its_event(name):
    """By the names of the protocol's members: asking an instance would list its channel, which may be large."""
    kind = KINDS[name]
    protocol = FrequencyOracle if hasattr(kind, "supports") else Randomizer
    members = {member for base in protocol.__mro__ for member in vars(base) if not member.startswith("_")}
    assert {"epsilon", "randomize", "derive", "written", "input_of", "law", "channel"} <= members
    assert all(hasattr(type(kind), member) or member in kind.__dict__ for member in members)
    assert isinstance(kind, LocalMechanism)
    assert isinstance(kind, Listed)
    assert kind.event == RandomizedAnswer(kind.epsilon, CHANGE_ONE)
    assert kind.loss == Pure(kind.epsilon, CHANGE_ONE)


@pytest.mark.parametrize("name", SHORT)
def test_derive_has_exactly_the_law_of_the_channel(name):
    kind = SHORT[name]
    for value in (kind.channel.inputs[0], kind.channel.inputs[-1]):
        assert law_of_derive(kind, value) == row(kind, value)


@pytest.mark.parametrize("name", [name for name, kind in SHORT.items() if not isinstance(kind, FoldedLaplace)])
def test_randomize_has_exactly_the_law_of_the_channel(name, monkeypatch):
    kind = SHORT[name]
    for value in (kind.channel.inputs[0], kind.channel.inputs[-1]):
        assert law_of_randomize(kind, value, monkeypatch) == row(kind, value)


def test_a_swap_of_the_coin_is_seen_by_running_every_way(monkeypatch):
    """The planted bug: a category is kept with probability 1 - hit."""
    sound = KAry(3, 1)
    swapped = law_of(lambda coins: sound.derive(0, Swapped(coins)))
    assert swapped != row(sound, 0)
    assert swapped[0] == 1 - sound.hit


class Swapped:
    """Coins that say the opposite."""

    def __init__(self, coins):
        self.coins = coins

    def coin(self, probability):
        return not self.coins.coin(probability)

    def below(self, bound):
        return self.coins.below(bound)


@settings(max_examples=25)
@given(st.fractions(min_value=Fraction(1, 50), max_value=8).filter(bool))
def test_every_exact_ratio_is_at_most_e_to_the_epsilon_and_hardly_less(epsilon):
    """Over a range of budgets; RAPPOR reports tell less than their epsilon, which is for all reports together."""
    for name, kind in randomizers(epsilon).items():
        worst = kind.channel.worst_ratio
        assert worst is not None, name
        assert worst <= exp_up(kind.epsilon), name
        assert kind.channel.within(epsilon), name
        if "report" not in name:
            assert worst > exp_down(epsilon) * (1 - Fraction(1, 10**9)), name


@pytest.mark.parametrize(
    ("name", "planted"),
    {
        "epsilon rounded up": KAry.with_ratio(3, exp_up(Fraction(1))),
        "a hundredth too much": KAry(3, "1.01"),
        "two bits at the whole epsilon": Unary.with_chances(3, Binary(1).hit, Binary(1).flip),
    }.items(),
)
def test_a_ratio_above_e_to_the_epsilon_is_caught(name, planted):
    assert not planted.channel.within(1)


@pytest.mark.parametrize("name", ORACLES)
def test_hit_and_false_hit_are_those_of_the_channel_for_all_pairs(name):
    """P[report supports w | v], summed over the reports, by `supports` on one report at a time."""
    kind = ORACLES[name]
    supported = [kind.supports(np.array([report])) for report in kind.channel.outputs]
    for value, chances in zip(kind.channel.inputs, kind.channel.rows, strict=True):
        held = value if isinstance(value, tuple) else (value,)
        for other in range(kind.size):
            chance = sum(p for p, supports in zip(chances, supported, strict=True) if supports[other])
            assert chance == (kind.hit if other in held else kind.false_hit)


@pytest.mark.parametrize("name", ORACLES)
def test_supports_are_additive_and_count_a_single_report(name):
    kind = ORACLES[name]
    values = [kind.channel.inputs[at % len(kind.channel.inputs)] for at in range(40)]
    reports = kind.randomize(values)
    assert len(reports) == 40
    assert (kind.supports(reports) == kind.supports(reports[:17]) + kind.supports(reports[17:])).all()
    assert (kind.supports(reports) == sum(kind.supports(reports[at : at + 1]) for at in range(40))).all()
    assert kind.supports(reports[:0]).tolist() == [0] * kind.size


@pytest.mark.parametrize("name", KINDS)
def test_the_contract_holds(name):
    """Draws: 400 a side, false alarms 1e-9 a check."""
    kind = KINDS[name]
    inputs = kind.channel.inputs
    contract(kind, [(inputs[0], inputs[-1]), (inputs[0], inputs[1])], Effort(samples=400)).require()


class SwappedWhenDrawn(LocalMechanism):
    """The planted bug: lists the right law, and draws with p and 1 - p exchanged."""

    epsilon = Fraction(1)

    def randomize(self, values):
        return values ^ 1 ^ Swapped(FreshCoins()).coin(Binary(1).hit)

    @property
    def channel(self):
        return Binary(1).channel


def test_a_swap_in_the_draws_alone_breaks_the_contract():
    """With 2,000 draws a share of 0.269 for 0.731 is missed with a probability far below 1e-100."""
    report = contract(SwappedWhenDrawn(), [(0, 1)], Effort(samples=2000))
    assert "draws" in [breach.law for breach in report.broken]


def test_release_opens_what_is_sealed():
    assert KAry(3, 1).release(Sealed(2)) in (0, 1, 2)


@pytest.mark.parametrize("kind", [KAry(3, 1), Unary(3, 1), LocalHashing(3, 1), HadamardResponse(3, 1), Binary(1)], ids=repr)
@pytest.mark.parametrize("bad", [3, -1, [0, 5], 0.5, [0.0, 1.0], "1", None, [[0, 1], [1, 0]], np.ma.array([1], mask=[True])])
def test_what_is_no_code_is_refused_without_being_quoted(kind, bad):
    with pytest.raises(InvalidValue) as refused:
        kind.randomize(bad)
    assert "5" not in str(refused.value).replace("2^63", "")
    assert "None" not in str(refused.value)


@pytest.mark.parametrize("kind", [KAry(3, 1), Unary(3, 1), LocalHashing(3, 1), HadamardResponse(3, 1), Binary(1)], ids=repr)
def test_nobody_gives_no_reports(kind):
    assert len(kind.randomize([])) == 0
    assert kind.supports(kind.randomize([])).tolist() == [0] * kind.size


@pytest.mark.parametrize("bad", [[7], [-1], [0.5], ["a"], [[0]]])
def test_reports_that_nobody_makes_are_refused(bad):
    with pytest.raises(InvalidValue):
        read_reports(bad, 4)


@pytest.mark.parametrize("bad", [1, 0, -3, 2.0, True, "4", 2**41])
def test_a_size_is_a_whole_number_of_at_least_two(bad):
    with pytest.raises(InvalidInput, match="number of categories"):
        read_size(bad)


def test_codes_of_every_integer_type_are_read():
    for dtype in (np.int8, np.uint8, np.int32, np.uint64, np.bool_):
        codes, alone = read_codes(np.array([0, 1], dtype=dtype), 2)
        assert codes.dtype == np.int64
        assert codes.tolist() == [0, 1]
        assert not alone
    assert read_codes(np.int64(1), 2)[1]
    assert read_codes(True, 2)[1]


def test_a_mechanism_of_many_categories_is_told_without_listing_its_channel():
    large = Unary(1000, 1)
    assert isinstance(large, Listed)
    assert "channel" not in vars(large)


@pytest.mark.parametrize("epsilon", ["1e-60", "101", "1e6"])
@pytest.mark.parametrize(
    "kind",
    [
        Binary,
        partial(KAry, 3),
        partial(Unary, 3),
        partial(LocalHashing, 3),
        partial(HadamardResponse, 3),
        partial(Rappor, 3),
        partial(BloomRappor, 3, hashes=2),
        partial(Sets, 3, 2),
        partial(Piecewise, 0, 1),
        partial(FoldedLaplace, 0, 1),
    ],
)
def test_budgets_beyond_all_use_are_refused(epsilon, kind):
    with pytest.raises(InvalidBudget):
        kind(epsilon)


@pytest.mark.parametrize("kind", [KAry(2**40, 1), HadamardResponse(2**40, 1), LocalHashing(2**40, 1)], ids=repr)
def test_more_categories_than_memory_holds_are_not_tallied(kind):
    with pytest.raises(InvalidInput, match="too many to tally"):
        kind.supports(kind.randomize([1, 2**39]))


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not hasattr(kind, "most") and not hasattr(kind, "parts")])
def test_a_permanent_answer_is_of_one_value(name):
    """A list around it would be written in another way, and get a second permanent answer."""
    for bad in ([1], [0, 1], np.array([1])):
        with pytest.raises(InvalidValue, match="one"):
            KINDS[name].derive(bad, FreshCoins())
        with pytest.raises(InvalidValue):
            KINDS[name].written(bad)


def test_a_channel_that_is_too_large_is_refused():
    with pytest.raises(InvalidInput, match="too large to list"):
        Unary(30, 1).channel  # noqa: B018
    assert isinstance(Unary(10, 1).channel, Channel)
