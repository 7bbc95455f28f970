"""Estimates as they are shown: rows, CSV, text and charts."""

import csv
import io

import pytest

from tacit.errors import InvalidInput
from tacit.publish.local.estimates.estimate import Tally, Total, estimate
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.numeric import OneBit
from tacit.publish.local.randomizers.sets import Sets


@pytest.fixture
def shares():
    tally = Tally(1000, [500, 300, 200])
    return estimate(KAry(3, 2), tally, simultaneous=True).named(["bread", "rice", "nothing, thanks"])


def test_rows_and_csv_hold_the_same(shares, tmp_path):
    text = shares.to_csv(tmp_path / "shares.csv")
    assert (tmp_path / "shares.csv").read_text("utf-8") == text
    read = list(csv.DictReader(io.StringIO(text)))
    assert [row["category"] for row in read] == ["bread", "rice", "nothing, thanks"]
    for row, kept in zip(read, shares.to_rows(), strict=True):
        assert float(row["share"]) == kept["share"]
        assert kept["low"] <= kept["share"] <= kept["high"]


def test_it_prints(shares):
    assert str(shares).splitlines()[0].split() == ["category", "share", "low", "high", "consistent"]
    assert str(shares).endswith("1000 people; 95 % all together, bernstein, of those who answered")


def test_consistent_shares_sum_to_one_and_those_of_sets_do_not(shares):
    assert shares.consistent.sum() == pytest.approx(1)
    held = estimate(Sets(3, 2, 1), Tally(1000, [900, 900, 100]))
    assert not held.exclusive
    assert held.consistent.max() <= 1
    assert held.consistent.sum() > 1
    with pytest.raises(InvalidInput, match="simultaneous"):
        held.narrowed()


def test_narrowed_intervals_are_no_longer(shares):
    narrow = shares.narrowed()
    assert (narrow.high - narrow.low <= shares.high - shares.low + 1e-12).all()


def test_names_are_one_each(shares):
    with pytest.raises(InvalidInput, match="3 categories"):
        shares.named(["one"])


def test_a_mean_is_shown(tmp_path):
    mean = estimate(OneBit(0, 10, 1), Total(1000, 4000.0))
    assert str(mean).startswith("mean 4, from ")
    assert mean.to_csv(tmp_path / "m.csv").startswith("mean,low,high,people\n4.0,")
    mean.chart(tmp_path / "m.svg")
    assert (tmp_path / "m.svg").stat().st_size > 1000


def test_charts_are_drawn(shares, tmp_path):
    shares.chart(tmp_path / "shares.svg", title="What people eat")
    drawn = (tmp_path / "shares.svg").read_text()
    assert "What people eat" in drawn
    assert "nothing, thanks" in drawn


def test_a_name_is_no_formula_in_a_spreadsheet():
    found = estimate(Binary(1), Tally(100, [40, 60])).named(["=1+1", "yes"])
    assert "\n'=1+1," in found.to_csv()
    assert "\nyes," in found.to_csv()
