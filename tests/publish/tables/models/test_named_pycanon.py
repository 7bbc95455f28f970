"""The figures of pycanon 1.3.6 on Adult, where it defines a model as the papers do; and the differences that the docs explain.

The golden file is made in pycanon's own environment by `python -m benchmarks anonymize_check`. Of each pair, the first is for
each sensitive column alone, the second has the other ones as quasi-identifiers.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from adult import SOURCE
from tacit.data.files.columns import read_columns
from tacit.data.files.kinds import level_rows
from tacit.publish.tables.models.closeness import Closeness, DeltaDisclosure
from tacit.publish.tables.models.counts import counts_of
from tacit.publish.tables.models.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity
from tacit.publish.tables.models.rows import Rows, rows_of

GOLDEN = json.loads((Path(__file__).parent / "pycanon.json").read_text("utf-8"))
needs_adult = pytest.mark.skipif(not SOURCE.exists(), reason="the Adult data is not here")
NAMES = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "income"]
MORE = ["hours-per-week", "relationship"]


@pytest.fixture(scope="module")
def people():
    there = dict(zip((*NAMES, *MORE), (each.to_pylist() for each in read_columns(SOURCE, [*NAMES, *MORE])), strict=True))
    kept = [at for at, row in enumerate(zip(*(there[name] for name in NAMES), strict=True)) if "?" not in row]
    return {name: [values[at] for at in kept] for name, values in there.items()}


def generalized(people, case) -> Rows:
    columns = {name: people[name] for name in (*case["levels"], *case["sensitive"])}
    for name, level in case["levels"].items():
        forms = {row[0]: row[level] for row in level_rows(SOURCE.parent / "hierarchies" / f"{name}.csv")}
        columns[name] = [forms[value] for value in people[name]]
    return rows_of(columns, list(case["levels"]), case["sensitive"])


def worst(model, rows, strict, pick=max):
    return pick(verdict.figure.worst for verdict in model.check(rows, strict))


@needs_adult
@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_the_same_figures_on_adult(name, people):
    case = GOLDEN["cases"][name]
    rows, known = generalized(people, case), case["figures"]
    distance = "ordered" if case["sensitive"] == ["hours-per-week"] else "equal"
    assert len(rows) == known["rows"] == 30162
    assert worst(KAnonymity(1), rows, strict=False) == known["k"]
    for place, strict in enumerate((False, True)):
        share, k = known["alpha, k"][place]
        assert float(worst(AlphaK(1, 1), rows, strict)) == pytest.approx(share, abs=1e-14)
        assert AlphaK(worst(AlphaK(1, 1), rows, strict), int(k)).check(rows, strict)[0].passes
        assert worst(DistinctDiversity(1), rows, strict, min) == known["distinct l"][place]
        assert math.floor(worst(EntropyDiversity(1), rows, strict, min)) == known["entropy l"][place]
        assert float(worst(Closeness(1, distance), rows, strict)) == pytest.approx(known["t"][place], abs=1e-13)
        delta = worst(DeltaDisclosure(1), rows, strict)
        if delta == math.inf:  # pycanon leaves out values that a group lacks
            assert math.isfinite(known["delta"][place])
        else:
            assert float(delta) == pytest.approx(known["delta"][place], abs=1e-12)


@needs_adult
def test_one_case_of_adult_has_every_value_in_every_group(people):
    """Else the comparison of delta above would compare nothing."""
    rows = generalized(people, GOLDEN["cases"]["income by sex, race and marital status"])
    assert math.isfinite(worst(DeltaDisclosure(1), rows, strict=True))


@pytest.mark.parametrize(("name", "right", "theirs"), [("5, 5", 2, 1), ("4, 1, 1, 1, 1", 4, 3), ("5, 5, 5", 3, 2)])
def test_pycanon_rounds_an_entropy_below_its_tie(name, right, theirs):
    known = GOLDEN["ties"][name]
    assert known["figures"]["entropy l"] == [theirs, theirs]
    assert EntropyDiversity(1).on(counts_of([known["counts"]])).figure.worst == right


def test_pycanon_takes_the_rarest_value_for_the_most_frequent_in_recursive_diversity():
    """Counts 8, 2, 2: it says (1,3), and 8 < 1 * 2 is false; c must be above 4."""
    known = GOLDEN["ties"]["8, 2, 2"]
    c, number = known["figures"]["recursive c, l"][0]
    table = counts_of([known["counts"]])
    assert (c, number) == (1, 3)
    assert not RecursiveDiversity(1, 3).on(table).passes
    assert RecursiveDiversity(1, 3).on(table).figure.worst == Fraction(4)
