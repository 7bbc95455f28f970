"""Two tables: one unit moves every input within its price, every child has a parent, and nothing else than noise is learnt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from cohort import listening, moved
from stored import catalog as catalog_of
from stored import category, number, table
from tacit.accounting.composition import cost_under
from tacit.doors.cli.demo import hospital
from tacit.errors import InvalidInput, NoBudget, NotAllowed, TacitError
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.unseal import opened
from tacit.privacy.catalog import Column, Owner
from tacit.publish.synthetic.rows import family as families
from tacit.publish.synthetic.rows import population
from tacit.publish.synthetic.rows.family import (
    Family,
    Linked,
    child_columns,
    children_of,
    family_designs,
    family_of,
    measure_family,
    parent_columns,
    parents_of,
    synthesize_family,
)
from tacit.publish.synthetic.rows.marginals import count_marginal
from tacit.query.price.price import request
from tacit.release.certificates import keys
from tacit_certificate.check import Certificate as Checking
from tacit_certificate.document import read_keys
from worlds import World, ranked, without, world_in_memory

MOST = 2


def declared(folder: Path, change: str = "add-remove") -> Any:
    patients = table(
        "patients",
        folder / "patients.csv",
        Column("id", "key"),
        category("sex", "f", "m"),
        number("age", 0, 3, nulls="drop"),
        unit=Owner("id"),
        max_rows=1,
    )
    visits = table(
        "visits",
        folder / "visits.csv",
        Column("patient", "key"),
        category("ward", "a", "b", "c"),
        number("age", 0, 2, nulls="drop"),
        unit=Owner("patient", ("patients", "id")),
        max_rows=MOST,
    )
    return catalog_of(folder, patients, visits, change=change)


def stored() -> dict[str, list[dict[str, Any]]]:
    """Patients 0 to 5 with 0, 1, 2, 3, 1 and 2 visits; patient 6 has visits and no row; one sex and one ward are NULL."""
    patients = ranked([[{"sex": None if at == 4 else at % 2, "age": at % 4}] for at in range(6)])
    visits = ranked(
        [
            [{"ward": None if (at + row) % 4 == 3 else (at + row) % 4, "age": row % 3} for row in range(many)]
            for at, many in enumerate((0, 1, 2, 3, 1, 2, 2))
        ]
    )
    return {"patients": patients, "visits": visits}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(declared(tmp_path_factory.mktemp("family")), stored()) as world:
        yield world


@pytest.fixture
def same_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coins of the rows, which are independent of the data, fall alike in every run: what is left to move is the data."""
    monkeypatch.setattr(population.bits, "random_words", lambda count: np.zeros(count, dtype=np.uint64) + np.uint64(1 << 63))
    monkeypatch.setattr(population, "distinct_integers", lambda below, size: np.arange(size))


def family_in(place: World) -> Family:
    return family_of(place.catalog, "patients", "visits")


def largest_excess(place: World, family: Family, designs: Any) -> int:
    """By how much the worst unit, gone from both tables, moves an input beyond the sensitivity of its mechanism."""
    with listening() as heard:
        measure_family(family, designs, place.engine, None)
    worst = -(10**9)
    rows = stored()
    for unit in range(7):
        for name in rows:
            place.with_rows(name, without(rows[name], unit))
        try:
            with listening(heard) as again:
                measure_family(family, designs, place.engine, None)
        finally:
            for name in rows:
                place.with_rows(name, rows[name])
        assert len(again) == len(heard)
        for one, other in zip(heard, again, strict=True):
            if isinstance(one.mechanism, Farthest):
                assert all((a == b).all() for a, b in zip(one.mechanism.guesses, other.mechanism.guesses, strict=True))
            worst = max(worst, moved(one, other) - int(one.mechanism.sensitivity))
    return worst


@pytest.mark.parametrize("budget", [{"epsilon": 2}, {"epsilon": 2, "delta": "1e-5"}], ids=["pure", "with delta"])
@pytest.mark.usefixtures("same_coins")
def test_no_unit_moves_an_input_by_more_than_it_is_priced_for(place: World, budget: dict[str, Any]) -> None:
    family = family_in(place)
    for designs in family_designs(family, request(**budget), place.catalog.change):
        assert largest_excess(place, family, designs) == 0, "the bounds are attained"


@pytest.mark.usefixtures("same_coins")
def test_planted_sensitivities_are_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    family = family_in(place)
    (designs,) = family_designs(family, request(epsilon=2), place.catalog.change)
    one = designs[1]
    for_one = replace(one, single=replace(one.single, max_rows=1), rounds=replace(one.rounds, max_rows=1))
    assert largest_excess(place, family, (designs[0], for_one)) == 1, "noise for one child"
    unlimited = families._limited
    monkeypatch.setattr(families, "_limited", lambda declared, source: replace(unlimited(declared, source), max_rows=9))
    assert largest_excess(place, family, designs) == 1, "a unit's third visit"


def test_the_joined_counts_are_those_of_the_rows(place: World) -> None:
    family, rows = family_in(place), stored()
    visits = [row for row in rows["visits"] if row["tacit_rank"] < MOST]
    sex = {row["tacit_unit"]: 2 if row["sex"] is None else row["sex"] for row in rows["patients"]}
    many = Counter(row["tacit_unit"] for row in visits)
    parents: Any = Linked(place.engine, parents_of(family), parent_columns(family))
    of_parent = [family.of_parent[0], family.number]
    found = opened(count_marginal(family.parent.table, of_parent, parents)).reshape(3, MOST + 1)
    expected = Counter((sex[unit], many[unit]) for unit in sex)
    assert found.tolist() == [[expected[one, other] for other in range(MOST + 1)] for one in range(3)]
    children: Any = Linked(place.engine, children_of(family), child_columns(family))
    names = [axis.name for axis in family.of_child]
    assert names == ["ward", "age", "patients__sex", "patients__age"], "both tables have an age"
    found = opened(count_marginal(family.child.table, [family.of_child[0], family.of_child[2]], children)).reshape(4, 3)
    counted = Counter(
        (3 if row["ward"] is None else row["ward"], sex[row["tacit_unit"]]) for row in visits if row["tacit_unit"] in sex
    )
    assert found.tolist() == [[counted[ward, one] for one in range(3)] for ward in range(4)]


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_the_parts_cost_what_was_asked_for_and_no_more(tmp_path: Path, change: str) -> None:
    catalog = declared(tmp_path, change)
    family = family_of(catalog, "patients", "visits")
    for designs in family_designs(family, request(epsilon=1), catalog.change):
        price = cost_under(families._together(designs), catalog.neighbours)
        assert price.epsilon is not None
        assert Fraction(99, 100) < price.epsilon <= 1


# --- from the files on -------------------------------------------------------------------------------------------------------

CATALOG = """
[budget]
epsilon = 40
delta = 1e-4

[tables.patients]
source = "patients.csv"
unit = { column = "id" }
max_rows = 1

[tables.patients.columns]
id = { key = true }
sex = { values = ["f", "m"], unknown = "drop" }
old = { values = [true, false], nulls = false, unknown = "drop" }

[tables.visits]
source = "visits.csv"
unit = { column = "patient", references = "patients.id" }
max_rows = 3

[tables.visits.columns]
patient = { key = true }
ward = { values = ["a", "b", "c"], unknown = "drop" }
cost = { bounds = [0, 100], bins = 4, nulls = "drop" }

[tables.others]
source = "visits.csv"
unit = { column = "patient" }
max_rows = 3

[tables.others.columns]
patient = { key = true }
ward = { values = ["a", "b", "c"], unknown = "drop" }
"""


def written(folder: Path, people: int) -> tacit.session.DataSet:
    """The old have three visits and the young at most one; women are in ward a, men in b."""
    folder.mkdir(exist_ok=True)
    patients, visits = ["id,sex,old"], ["patient,ward,cost"]
    for at in range(people):
        sex, old = "fm"[at % 2], at % 3 == 0
        patients.append(f"p{at},{sex},{'true' if old else 'false'}")
        visits += [f"p{at},{'ab'[at % 2]},{(13 * at + 30 * visit) % 100}" for visit in range(3 if old else at % 2)]
    (folder / "patients.csv").write_text("\n".join([*patients, ""]))
    (folder / "visits.csv").write_text("\n".join([*visits, ""]))
    (folder / "tacit.toml").write_text(CATALOG)
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True)
    return data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tacit.session.DataSet]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("family")
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        with written(folder / "data", 900) as opened_data:
            yield opened_data


def test_every_child_has_its_parent(data: tacit.session.DataSet) -> None:
    made = synthesize_family(data, "patients", "visits", epsilon=20, rows=900)
    patients, visits = (made.to_arrow(name).to_pandas() for name in ("patients", "visits"))
    assert patients["id"].tolist() == list(range(1, 901))
    assert set(visits["patient"]) <= set(patients["id"])
    many = visits["patient"].value_counts()
    assert many.max() <= 3
    assert list(visits.columns) == ["patient", "ward", "cost"]
    number_of = patients["id"].map(many).fillna(0)
    assert number_of[patients["old"]].mean() > 2.7, "children per parent follow the parent's columns"
    assert number_of[~patients["old"]].mean() < 0.8
    joined = visits.merge(patients, left_on="patient", right_on="id")
    assert len(joined) == len(visits)
    assert (joined["ward"][joined["sex"] == "f"] == "a").mean() > 0.9, "rows follow the parent's columns"
    assert (joined["ward"][joined["sex"] == "m"] == "b").mean() > 0.9


def test_it_is_paid_once(data: tacit.session.DataSet) -> None:
    first = synthesize_family(data, "patients", "visits", epsilon=3, delta="1e-6", rows=20)
    again = synthesize_family(data, "patients", "visits", epsilon=3, delta="1e-6", rows=0)
    assert again.receipt.entry == first.receipt.entry
    assert (again.receipt.left_epsilon, again.receipt.left_delta) == (first.receipt.left_epsilon, first.receipt.left_delta)
    assert (first.receipt.again, again.receipt.again, again.rows) == (False, True, {"patients": 0, "visits": 0})
    assert [each.counts.tolist() for each in again.children.rounds] == [each.counts.tolist() for each in first.children.rounds]
    assert again.notes[-1] == "measured before: nothing was spent"
    assert first.to_dict()["price"] == {"epsilon": "3", "delta": "0.000001"}


def test_copies_are_made_from_counts_with_fresh_noise_and_cost_nothing(data: tacit.session.DataSet) -> None:
    made = synthesize_family(data, "patients", "visits", epsilon=2, rows=5)
    entries, left = len(list(data.ledger.entries())), made.receipt.left_epsilon
    first, *others = made.copies(3, rows=600)
    assert [each.copy for each in (first, *others)] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert (len(list(data.ledger.entries())), first.receipt.left_epsilon) == (entries, left)
    for each in (first, *others):
        patients, visits = (each.to_arrow(name).to_pandas() for name in ("patients", "visits"))
        assert len(patients) == 600
        assert set(visits["patient"]) <= set(patients["id"])
        assert visits["patient"].value_counts().max() <= 3
    shares = [each.to_arrow("patients").to_pandas()["old"].mean() for each in others]
    assert len(set(shares)) > 1, "the counts behind copies differ, and rows follow them"
    assert "copy" in others[0].to_dict()
    assert any(note.startswith("copy 1 of 3") for note in others[0].notes)
    with pytest.raises(InvalidInput, match="invalid number of copies"):
        made.copies(1)


def test_the_certificate_is_checked(data: tacit.session.DataSet) -> None:
    made = synthesize_family(data, "patients", "visits", epsilon=2, rows=5)
    document = made.certificate.to_dict()
    trusted = read_keys(json.dumps(keys.public_keys(data.catalog.kept)).encode())
    report = Checking(document).check(trusted)
    assert not report.wrong
    assert sum("marginal of patients, 1 rows of one unit" in line for line in report.checked) == 3
    assert sum("marginal of visits, 3 rows of one unit" in line for line in report.checked) == 4
    assert any("joined on the unit" in line for line in report.stated)
    planted = json.loads(made.certificate.to_json())
    planted["facts"]["tables"]["visits"]["max_rows"] = 9
    assert Checking(planted).contents().wrong


REQUESTS: list[dict[str, Any]] = [
    {"epsilon": 1, "rows": 30},
    {"epsilon": "0.5", "delta": "1e-6", "rows": 10},
    {"epsilon": 1, "parent": "visits", "child": "patients"},
    {"epsilon": 1, "child": "others"},
    {"epsilon": 1, "child": "nothing"},
    {"rows": 3},
    {"epsilon": 1, "rows": -1},
    {"epsilon": 50},
]


def seen(data: tacit.session.DataSet, wanted: dict[str, Any]) -> Any:
    try:
        made = synthesize_family(data, **{"parent": "patients", "child": "visits", **wanted})
    except TacitError as refusal:
        return type(refusal).__name__, str(refusal)
    told = {name: value for name, value in made.to_dict().items() if name not in ("data_version", "tables", "margins")}
    return told, made.rows["patients"], str(made.to_arrow("patients").schema), str(made.to_arrow("visits").schema)


def test_the_same_request_on_an_empty_table_looks_the_same(tmp_path: Path) -> None:
    with written(tmp_path / "full", 60) as full, written(tmp_path / "empty", 0) as empty:
        pairs = [(seen(full, wanted), seen(empty, wanted)) for wanted in REQUESTS]
    assert [one for one, _ in pairs] == [other for _, other in pairs]
    refused = [one[0] for one, _ in pairs if isinstance(one[0], str)]
    assert refused == ["NotAllowed", "NotAllowed", "UnknownName", "NoBudget", "InvalidInput", "BudgetExceeded"]


def test_parents_without_a_key_are_told_to_declare_it(tmp_path: Path) -> None:
    with tacit.session.open(hospital.build(tmp_path)) as data, pytest.raises(NotAllowed) as raised:
        family_of(data.catalog, "patients", "visits", 20)
    assert 'declare unit = { column = "id" } and max_rows = 1 in patients' in raised.value.remedy


def test_what_does_not_belong_together_is_refused(data: tacit.session.DataSet) -> None:
    with pytest.raises(NotAllowed, match="does not refer to the unit"):
        synthesize_family(data, "patients", "others", epsilon=1)
    with pytest.raises(NotAllowed, match="does not refer to the unit"):
        synthesize_family(data, "visits", "patients", epsilon=1)
    with pytest.raises(NoBudget):
        synthesize_family(data, "patients", "visits")
    made = synthesize_family(data, "patients", "visits", epsilon=2, rows=5)
    with pytest.raises(InvalidInput, match="unknown table"):
        made.to_arrow("wards")
