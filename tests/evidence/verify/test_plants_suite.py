"""The suite of `tacit verify`: everything sound is within its claim, and every planted bug breaks the law that it should.

With few draws; `make verify` runs the command itself with all of them.
"""

from __future__ import annotations

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.verify import plants
from tacit.evidence.verify.case import ENOUGH
from tacit.evidence.verify.plants import PLANTED, cases
from tacit.evidence.verify.subjects import sound
from tacit.evidence.verify.trial import Effort

SOUND = sound()
FEW = Effort(samples=400)  # the exact part is the same at every effort; false alarms: 1e-9 a sampled check
BREAKS = {
    "noise": "loss",
    "row": "loss",
    "cells": "loss",
    "replaced": "loss",
    "together": "loss",
    "width": "coverage",
    "digits": "loss",
    "ordered": "coverage",
    "sensitivity": "loss",
    "sign": "loss",
    "value": "loss",
    "swap": "coverage",
    "smooth": "smoothness",
    "grid": "grid",
    "filter": "filter",
    "order": "filter",
    "keep": "loss",
    "bits": "loss",
    "hash": "purity",
    "window": "loss",
    "blank": "loss",
    "fakes": "loss",
    "occupied": "purity",
    "counted": "loss",
    "tails": "loss",
    "prior": "loss",
    "tree": "loss",
    "share": "loss",
    "rounds": "loss",
    "score": "loss",
    "one-level": "loss",
    "level-twice": "loss",
    "child": "loss",
    "unlimited": "loss",
    "levels": "loss",
    "unit": "loss",
    "hashes": "loss",
    "two": "loss",
    "positives": "loss",
    "threshold": "loss",
    "bounds": "loss",
    "spread": "loss",
    "halves": "loss",
    "halved": "loss",
    "moved": "loss",
    "mode": "loss",
    "changed": "loss",
    "anew": "loss",
    "margins": "coverage",
    "person": "loss",
    "local": "smoothness",
    "theta": "loss",
    **dict.fromkeys(("rows", "step", "column"), "loss"),
    "star": "loss",
    **dict.fromkeys(("integers", "exponent", "scale", "power", "added", "best", "factor", "inner", "beyond"), "sampler"),
    **dict.fromkeys(("alpha", "told", "copies"), "sampler"),
    "places": "cells",
    "rare": "clock",
}


@pytest.mark.parametrize("case", SOUND, ids=lambda case: case.name)
def test_every_mechanism_is_within_its_claim(case):
    """And reaches nearly all of it, or says why no neighbours do."""
    row = case.run(FEW)
    assert row.broken == ()
    assert (row.share >= ENOUGH) == (not case.unreached), row
    assert row.unreached == case.unreached
    assert row.share <= 1 + 1e-9


@pytest.mark.parametrize("plant", PLANTED)
def test_every_planted_bug_breaks_its_law(plant):
    """Without draws to speak of, so for certain: each plant is found by an exact law or by exhaustion."""
    _, planted = PLANTED[plant]
    row = planted.run(Effort(samples=16))
    assert BREAKS[plant] in row.laws
    assert planted.name in str(row.broken[0])


@pytest.mark.parametrize("plant", PLANTED)
def test_a_plant_takes_the_place_of_one_sound_case(plant, monkeypatch):
    monkeypatch.setattr(plants, "sound", lambda: SOUND)
    spoiled, planted = PLANTED[plant]
    names, usual = [case.name for case in cases(plant)], [case.name for case in cases()]
    assert [name for name in names if name not in usual] == [planted.name]
    assert [name for name in usual if name not in names] == [spoiled]


def test_without_a_plant_all_cases_are_sound():
    assert [case.name for case in cases()] == [case.name for case in SOUND]


def test_an_unknown_plant_is_refused_with_the_list():
    with pytest.raises(InvalidInput, match="noise, sensitivity, sign"):
        cases("weeds")
