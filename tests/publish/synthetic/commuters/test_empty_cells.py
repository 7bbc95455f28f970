"""Chances of empty cells: from the public map alone, never 0, and 1 for elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput, NotAllowed
from tacit.publish.synthetic.commuters.empty_cells import All, ByDistance, Chances, read_keeping
from tacit.publish.synthetic.commuters.geography import Domain

DOMAIN = Domain(
    np.array(["a", "b", "c", "d", "e", "elsewhere"], dtype=object),
    np.array([0.0, 5.0, 5.1, 19.0, 400.0, np.nan]),
    np.arange(6),
)


def by_cell(found: Chances) -> list[str]:
    return [str(found.classes[number]) for number in found.of_cell]


@pytest.mark.parametrize(
    ("written", "chances"),
    [
        ("all", ["1", "1", "1", "1", "1", "1"]),
        ("uniform:0.1", ["1/10", "1/10", "1/10", "1/10", "1/10", "1"]),
        ("distance:0.1", ["1", "1", "1/2", "1/4", "1/10", "1"]),
        ("distance:0.3:10", ["1", "1", "1", "1/2", "3/10", "1"]),
        ("distance:1", ["1", "1", "1", "1", "1", "1"]),
        ("uniform:1", ["1", "1", "1", "1", "1", "1"]),
    ],
)
def test_chances_follow_the_rule(written, chances):
    assert by_cell(read_keeping(written).chances(DOMAIN)) == chances


def test_a_file_names_cells(tmp_path):
    place = tmp_path / "chances.csv"
    place.write_text("origin,keep\nb,0.0378\ne,0.5\nelsewhere,0.1\nz,0.2\n")
    found = read_keeping(f"file:{place}").chances(DOMAIN)
    assert by_cell(found) == ["1", "189/5000", "1", "1", "1/2", "1"]
    assert found.least == Fraction("0.0378")
    found = read_keeping(f"file:{place}")
    assert str(found) == "file:chances.csv", "a receipt has no folders of its curator"
    found.require_known([DOMAIN.names])
    place.write_text("origin,keep\nB,0.5\n")
    with pytest.raises(InvalidInput, match="no origin of"):
        read_keeping(f"file:{place}").require_known([DOMAIN.names])
    place.write_text("origin,keep\nb,0.5\nb,0.1\n")
    with pytest.raises(InvalidInput, match="duplicate origin"):
        read_keeping(f"file:{place}")
    place.write_text("origin,keep\nb,0\n")
    with pytest.raises(NotAllowed, match="occupied cells only"):
        read_keeping(f"file:{place}")


def test_the_order_goes_class_by_class():
    found = read_keeping("distance:0.1").chances(DOMAIN)
    assert found.sizes == (3, 1, 1, 1)
    assert found.order.tolist() == [0, 1, 5, 2, 3, 4]
    assert All().chances(DOMAIN).order.tolist() == list(range(6))


@pytest.mark.parametrize("written", ["uniform:0", "distance:0", "uniform:0.0", "distance:0:20"])
def test_noise_on_occupied_cells_only_is_refused_with_the_reason(written):
    with pytest.raises(NotAllowed, match="noise on occupied cells only"):
        read_keeping(written)


@pytest.mark.parametrize(
    "written", ["", "some", "uniform", "all:1", "uniform:2", "uniform:-1", "uniform:x", "distance:0.1:-5", "distance:0.1:0"]
)
def test_other_words_are_refused(written):
    with pytest.raises(InvalidInput):
        read_keeping(written)


def test_the_chance_never_falls_below_the_least():
    far = Domain(np.array(["x", "elsewhere"], dtype=object), np.array([1e9, np.nan]), np.arange(2))
    assert ByDistance(Fraction("0.0378")).chances(far).least == Fraction("0.0378")
