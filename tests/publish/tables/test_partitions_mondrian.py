"""Mondrian, local recoding and microaggregation: every box, group and mean against the rows that lie in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from anonymity import groups_of, random_table
from tacit.errors import InvalidInput
from tacit.publish.tables import search as recoding
from tacit.publish.tables.conditions import Closeness, DistinctDiversity, KAnonymity
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.lattice import Lattice
from tacit.publish.tables.measures import Losses
from tacit.publish.tables.partitions import mdav, mondrian
from tacit.publish.tables.search import local, search
from tacit.publish.tables.table import Table


def published(recoded):
    """The rows of each group, by what is published."""
    texts = [form.column.texts() for form in recoded.forms]
    found = defaultdict(list)
    for row in np.flatnonzero(~recoded.suppressed):
        found[tuple(text[row] for text in texts)].append(int(row))
    return found


def inside(value: str, form: str, hierarchy: Hierarchy | None) -> bool:
    """Whether a published form stands for a value."""
    if form.startswith("["):
        low, high = form[1:-1].split(", ")
        return float(low) <= float(value) <= float(high)
    if form.startswith("{"):
        return value in form[1:-1].split(", ")
    if form == value or hierarchy is None:
        return form in (value, "*")
    place = hierarchy.places[value]
    return any(forms[codes[place]] == form for forms, codes in zip(hierarchy.forms, hierarchy.levels, strict=True))


def close(rows, table, t):
    texts = table["s"].texts()
    whole, here = Counter(texts.tolist()), Counter(texts[rows].tolist())
    return sum(abs(Fraction(here[v], len(rows)) - Fraction(whole[v], table.rows)) for v in whole) / 2 <= t


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("t", [None, Fraction(1, 4)])
def test_every_box_holds_its_rows_and_complies(relaxed, seed, t):
    table, hierarchies = random_table(seed, rows=120)
    names = tuple(hierarchies)
    words = Table.of({**{name: table[name].texts() for name in names}, "w": ["xyz"[each % 3] for each in range(120)]})
    table = Table((*table.columns, words["w"]))
    lattice = Lattice(table, (*names, "w"), {"c": hierarchies["c"]}, ("s",))
    conditions = [KAnonymity(4), *([] if t is None else [Closeness("s", t)])]
    recoded = mondrian(lattice, conditions, relaxed)
    assert not recoded.suppressed.any()
    for forms, rows in published(recoded).items():
        assert len(rows) >= 4
        assert t is None or close(rows, table, t)
        for form, name in zip(forms, (*names, "w"), strict=True):
            assert all(inside(table[name].texts()[row], form, lattice.hierarchies.get(name)) for row in rows)


def test_ranges_are_as_narrow_as_their_rows_in_every_column():
    """Also in columns that were never cut."""
    table = Table.of({"a": [0, 1, 10, 11], "b": [5, 5, 7, 9], "s": "wxyz"})
    recoded = mondrian(Lattice(table, ("a", "b"), {}), [KAnonymity(2)])
    assert set(published(recoded)) == {("[0, 1]", "5"), ("[10, 11]", "[7, 9]")}
    assert recoded.losses(2, [1, 1])["ncp"] == pytest.approx((1 / 11 + (0 + 0.5) / 2) / 2)


def test_strict_parts_are_small_and_equal_rows_stay_together():
    table, hierarchies = random_table(3, rows=400)
    k, quasi = 3, tuple(hierarchies)
    recoded = mondrian(Lattice(table, quasi, hierarchies), [KAnonymity(k)])
    copies = max(Counter(zip(*(table[name].texts().tolist() for name in quasi), strict=True)).values())
    assert recoded.sizes().max() <= 2 * len(quasi) * (k - 1) + copies
    assert recoded.work["parts"] >= len(recoded.sizes())


def test_relaxed_halves_differ_by_one_row():
    table = Table.of({"a": [1] * 9 + [2] * 2, "s": "x" * 11})
    strict = mondrian(Lattice(table, ("a",), {}), [KAnonymity(3)])
    assert strict.sizes().tolist() == [11]
    relaxed = mondrian(Lattice(table, ("a",), {}), [KAnonymity(3)], relaxed=True)
    assert sorted(relaxed.sizes().tolist()) == [5, 6]
    assert set(published(relaxed)) == {("1",), ("[1, 2]",)}


def test_a_table_that_does_not_comply_as_a_whole_is_refused():
    table, hierarchies = random_table(0)
    with pytest.raises(InvalidInput, match="the whole table does not meet"):
        mondrian(Lattice(table, tuple(hierarchies), hierarchies, ("s",)), [DistinctDiversity("s", 9)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("t", [None, Fraction(1, 3)])
def test_local_recoding_loses_less_and_complies(seed, t):
    table, hierarchies = random_table(seed, rows=80)
    lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
    conditions = [KAnonymity(3), *([] if t is None else [Closeness("s", t)])]
    losses = Losses(lattice, 3)
    recoded = local(lattice, conditions, losses, "ncp", 0)
    assert not recoded.suppressed.any()
    assert sum(each["rows"] for each in recoded.work["passes"]) == table.rows
    for forms, rows in published(recoded).items():
        assert len(rows) >= 3
        assert t is None or close(rows, table, t)
        for form, name in zip(forms, hierarchies, strict=True):
            assert all(inside(table[name].texts()[row], form, hierarchies[name]) for row in rows)
    assert recoded.losses(3, [1, 1, 1])["ncp"] <= search(lattice, conditions, losses, "ncp").loss + 1e-12


def test_shares_are_compared_with_the_whole_table_in_every_pass(monkeypatch):
    """Planted: a pass that compares with its own rows publishes groups that are not close to the table."""
    broken = 0
    monkeypatch.setattr(Lattice, "totals", lambda self, name: self.table[name].counts())
    for seed in range(12):
        table, hierarchies = random_table(seed, rows=80)
        lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
        recoded = local(lattice, [KAnonymity(3), Closeness("s", Fraction(1, 4))], Losses(lattice, 3), "ncp", 0)
        broken += sum(not close(rows, table, Fraction(1, 4)) for rows in published(recoded).values())
    assert broken > 0


def test_local_recoding_that_leaves_too_many_rows_is_refused(monkeypatch):
    table, hierarchies = random_table(0)
    lattice = Lattice(table, tuple(hierarchies), hierarchies, ("s",))
    monkeypatch.setattr(recoding, "LEFT", ())
    with pytest.raises(InvalidInput, match="local recoding leaves 40 rows"):
        local(lattice, [DistinctDiversity("s", 4)], Losses(lattice), "ncp", 0)


def test_microaggregation_against_its_rows():
    random = np.random.default_rng(1)
    table = Table.of({"x": random.integers(0, 100, 101), "y": random.normal(0, 1, 101).round(3)})
    recoded = mdav(table, ("x", "y"), 4)
    sizes = recoded.sizes()
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    assert sizes.sum() == 101
    for forms, rows in published(recoded).items():
        for form, name in zip(forms, ("x", "y"), strict=True):
            mean = np.mean([float(table[name].texts()[row]) for row in rows])
            assert float(form) == pytest.approx(mean, rel=1e-5, abs=1e-9)
    assert 0 < recoded.losses(4, [1, 1])["ncp"] < 0.5


@pytest.mark.parametrize(("rows", "expected"), [(6, [6]), (8, [4, 4]), (9, [4, 5]), (12, [4, 4, 4])])
def test_the_last_groups_of_microaggregation(rows, expected):
    recoded = mdav(Table.of({"x": [each * each for each in range(rows)]}), ("x",), 4)
    assert sorted(recoded.sizes().tolist()) == expected


def test_microaggregation_needs_numbers_and_few_rows(monkeypatch):
    with pytest.raises(InvalidInput, match="mdav needs numbers"):
        mdav(Table.of({"sex": ["F", "M"]}), ("sex",), 2)
    monkeypatch.setattr("tacit.publish.tables.partitions.MOST_ROWS", 1)
    with pytest.raises(InvalidInput, match="use the method mondrian"):
        mdav(Table.of({"x": [1, 2]}), ("x",), 2)


def test_groups_of_the_lattice_are_those_that_are_published():
    table, hierarchies = random_table(2)
    from tacit.publish.tables.recoded import full_domain

    lattice = Lattice(table, tuple(hierarchies), hierarchies)
    rolled = lattice.roll_up((1, 0, 1))
    recoded = full_domain(lattice, (1, 0, 1), rolled.sizes >= 3)
    expected = {forms: rows for forms, rows in groups_of(table, hierarchies, (1, 0, 1)).items() if len(rows) >= 3}
    assert published(recoded) == expected
    losses = Losses(lattice, 3)
    for measure in ("discernibility", "average", "ncp"):
        assert recoded.losses(3, [1, 1, 1])[measure] == pytest.approx(losses.loss(measure, rolled, rolled.sizes >= 3))
