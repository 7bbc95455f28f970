"""Every sampler of noise is driven, and each planted bug in the code that runs is seen where its listed law stays right."""

from __future__ import annotations

import re

import pytest

from sources import SOURCE
from tacit.evidence.verify import samplers
from tacit.evidence.verify.driving import distance

DOORS = re.compile(r"bits\.random_(?:words|bytes)\(")


def test_a_new_module_that_draws_is_noticed():
    """A sampler that is added must be added here, and to the rows; which of these are driven is in docs/guides."""
    noise = SOURCE / "mechanisms" / "noise"
    drawing = {path.stem for path in noise.glob("*.py") if DOORS.search(path.read_text("utf-8"))}
    assert drawing == {"bits", "choice", "envelope", "coins", "lazy", "sampler", "enclosure", "uniform", "table", "urn"}


@pytest.mark.parametrize("name", ["a median", "both ends"])
def test_a_list_that_ends_early_does_not_change_the_law(name):
    assert distance(*samplers.ROWS[samplers.BEYOND]()[name]()) < samplers.UNDECIDED


def test_the_cells_of_a_candidate_are_all_there():
    found = samplers.every_cell()
    assert found.holds
    assert found.measured == 1


def test_what_is_not_listed_comes_once_in_2_to_the_64(monkeypatch):
    """A constant of one: the list then ends where the clock tells who is beyond it."""
    assert samplers.rarely_beyond().holds
    samplers.choice.reach.cache_clear()
    monkeypatch.setattr(samplers.choice, "RARE", 1)
    try:
        assert not samplers.rarely_beyond().holds
    finally:
        samplers.choice.reach.cache_clear()
