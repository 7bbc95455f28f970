"""The exact channel: its ratios, and what is no channel."""

from fractions import Fraction

import pytest

from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import exp_down, exp_up
from tacit.publish.local.randomizers.randomizer import Channel

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
COIN = Channel((0, 1), ("heads", "tails"), ((3 * QUARTER, QUARTER), (QUARTER, 3 * QUARTER)))


def test_the_worst_ratio_is_over_all_pairs_and_outputs():
    three = Channel((0, 1, 2), (0, 1), ((HALF, HALF), (QUARTER, 3 * QUARTER), (Fraction(1, 8), Fraction(7, 8))))
    assert three.worst_ratio == 4
    assert float(three.epsilon) == pytest.approx(1.3862943611198906)
    assert not three.within("1.38")
    assert three.within("1.39")


def test_an_epsilon_is_read_by_its_shortest_decimal_form():
    """The float 0.1 is 5e-18 above a tenth: as the binary fraction that it is, it would let a ratio above e^0.1 pass."""
    above, below = (Fraction(1, 1 + ratio) for ratio in (exp_up(Fraction(1, 10)), exp_down(Fraction(1, 10))))
    assert not Channel((0, 1), (0, 1), ((above, 1 - above), (1 - above, above))).within(0.1)
    assert Channel((0, 1), (0, 1), ((below, 1 - below), (1 - below, below))).within(0.1)


def test_an_output_of_one_input_alone_is_infinite():
    planted = Channel((0, 1), (0, 1), ((Fraction(1), Fraction(0)), (HALF, HALF)))
    assert planted.worst_ratio is None
    assert not planted.within(100)
    with pytest.raises(InvalidInput, match="infinite"):
        planted.epsilon  # noqa: B018


def test_an_output_that_never_comes_does_not_count():
    assert Channel((0, 1), (0, 1), ((Fraction(1), Fraction(0)),) * 2).worst_ratio == 1
    assert Channel((0, 1), (0, 1), ((Fraction(1), Fraction(0)),) * 2).epsilon == 0


def test_a_row_is_a_law():
    assert COIN.law(1).probabilities == {"heads": Fraction(1, 4), "tails": Fraction(3, 4)}
    assert str(COIN) == "2 answers by 2 reports, epsilon 1.09861"
    with pytest.raises(InvalidValue, match="not one of them"):
        COIN.law(2)


@pytest.mark.parametrize(
    "rows", [((HALF, HALF),), ((HALF,), (HALF,)), ((HALF, HALF), (HALF, QUARTER)), ((HALF, HALF), (3 * HALF, -HALF))]
)
def test_what_is_no_channel_is_refused(rows):
    with pytest.raises(InvalidInput):
        Channel((0, 1), (0, 1), rows)
