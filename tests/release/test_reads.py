"""Ways to publish where the budget is one of each month: what is read is charged, and a person pays for every month.

Exact counts of neighbouring tables are compared with what was paid. Planted: a lifetime priced once, a month that is not charged, a
predicate that is left out, and one with other months.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from by_month import Clinic, declared
from tacit.accounting.ledger.by_period import Charge
from tacit.errors import BudgetExceeded, InvalidInput, NotAllowed, TacitError
from tacit.privacy.catalog import Catalog
from tacit.publish.synthetic.rows.cells import chosen_columns
from tacit.publish.synthetic.rows.contingency import synthesize_contingency
from tacit.publish.synthetic.rows.marginals import count_marginal
from tacit.publish.synthetic.rows.release import synthesize_independent
from tacit.publish.trained.release import train_classifier
from tacit.release import reads as module
from tacit.release.curators import for_the_owner
from tacit.release.reads import ByPeriod, Reads, reads_of
from tacit.session import DataSet

VISITS = tuple(
    (person, f"2025-{month:02}-{1 + person + again:02}", person) for person in range(8) for month in range(1, 5) for again in (0, 9)
)
CLINIC = Clinic(tuple((person, person) for person in range(8)), VISITS, ())
MONTHS = ("2025-01", "2025-02", "2025-03", "2025-04")
FIRST = "SELECT COUNT(*) AS n FROM labs WHERE taken < DATE '2025-02-01'"
MORE = 'urgent = { values = [true, false], unknown = "drop", nulls = "drop" }'


@contextmanager
def clinic(folder: Path, rows: Clinic = CLINIC) -> Iterator[DataSet]:
    declared(folder, rows)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True, through="2025-04", reason="a test")
        data.begin_scratch("a test")
        yield data


def counts(data: DataSet, periods: str | None) -> Any:
    """The exact marginal of the costs of visits, as a way to publish counts it."""
    chosen = chosen_columns(data.as_prepared, "visits", ["cost"])
    reads = reads_of(data.as_prepared, chosen.table, data.version, periods)
    return np.asarray(for_the_owner(count_marginal(chosen.table, chosen.axes, reads.engine(data.engine)))).astype(int)


def paid(data: DataSet) -> list[tuple[str, Any, Any]]:
    """The months of every spend, its epsilon in each, and for a person in all of them."""
    entries = (entry for entry in data.ledger.entries() if entry.kind == "spend")
    return [(entry.in_periods.named, entry.in_periods.price.epsilon, entry.price.epsilon) for entry in entries if entry.in_periods]


def synthesized(data: DataSet, periods: str | None) -> None:
    """Rows from one histogram of the costs: Laplace noise for two rows of a person in each month."""
    synthesize_independent(data, "visits", epsilon=Fraction(1, 8), columns=["cost"], periods=periods)


# --- what is read, and what is paid --------------------------------------------------------------------------------------------


EVERYBODY = (*MONTHS, "a person")


def faults(folder: Path, periods: str | None, looked_at: tuple[str, ...] = EVERYBODY) -> list[str]:
    """What neighbouring tables show to be paid too little: for every month of a person, and for the person."""
    wrong = []
    with clinic(folder / "full") as data:
        synthesized(data, periods)
        ((_, each, whole),) = paid(data)
        charged = next(entry.in_periods.runs for entry in data.ledger.entries() if entry.in_periods is not None)
        calendar, full = data.as_prepared.per.calendar, counts(data, periods)
    worlds = [(month, CLINIC.without(3, number)) for number, month in enumerate(MONTHS, 1)]
    worlds.append(("a person", Clinic(CLINIC.patients, tuple(row for row in VISITS if row[0] != 3), ())))
    for name, rows in [world for world in worlds if world[0] in looked_at]:
        with clinic(folder / name.replace(" ", "-"), rows) as data:
            moved = int(np.abs(full - counts(data, periods)).sum())
        lost = moved * each / 2  # the noise has the scale 2 / epsilon
        if name in MONTHS:
            held = each if any(low <= calendar.numbered(name) <= high for low, high in charged) else 0
            wrong += [name] if lost > held else []
        else:
            wrong += [name] if lost > whole else []
    return wrong


def test_every_month_that_is_read_pays_and_a_person_pays_for_all(tmp_path):
    assert faults(tmp_path / "all", None) == []
    assert faults(tmp_path / "two", "2025-02..2025-03", ("2025-01", "a person")) == []
    with clinic(tmp_path / "paid") as data:
        synthesized(data, None)
        synthesized(data, "2025-02..2025-03")
        synthesized(data, "2025-04")
        eighth = Fraction(1, 8)
        assert paid(data) == [
            ("2025-01 to 2025-04", eighth, 4 * eighth), ("2025-02 to 2025-03", eighth, 2 * eighth), ("2025-04", eighth, eighth),
        ]  # fmt: skip


def test_a_lifetime_that_is_priced_once_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "count", lambda runs: 1)
    assert faults(tmp_path, None, ("2025-02", "a person")) == ["a person"]


def test_a_month_that_is_not_charged_is_caught(tmp_path, monkeypatch):
    usual = Reads.charge

    def short(self: Reads, events: Any) -> Charge | None:
        made = usual(self, events)
        return made and replace(made, runs=((made.runs[0][0] + 1, made.runs[0][1]),))

    monkeypatch.setattr(Reads, "charge", short)
    assert faults(tmp_path, None, MONTHS[:2]) == ["2025-01"]


def test_other_months_than_those_that_pay_are_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(Reads, "engine", lambda self, engine: ByPeriod(engine, ((24300, 24303),)))
    assert faults(tmp_path, "2025-02", ("2025-02", "2025-03", "a person")) == ["2025-03", "a person"]


def test_without_a_predicate_nothing_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(Reads, "engine", lambda self, engine: engine)
    with clinic(tmp_path) as data, pytest.raises(TacitError):
        synthesized(data, None)


# --- each way to publish -------------------------------------------------------------------------------------------------------


def every_way(data: DataSet) -> list[Any]:
    """What each way to publish is charged, and its refusals."""
    synthesized(data, "2025-01")
    synthesize_contingency(data, "visits", ["cost"], epsilon=Fraction(1, 16), rows=20, periods="2025-02..2025-03")
    data.propose_bounds("visits.cost", Fraction(1, 16), periods="2025-04")
    data.session().margins("labs", ["value:2"], ways=1, epsilon="0.0625", where="taken >= DATE '2025-03-01'")
    data.session().ask([FIRST, "SELECT COUNT(*) AS m FROM labs"], epsilon="0.0625")
    refused = []
    for periods in ("2025-05", "2025-03..2025-01", "March"):
        with pytest.raises((NotAllowed, InvalidInput)) as caught:
            synthesized(data, periods)
        refused.append(str(caught.value))
    with pytest.raises(BudgetExceeded) as short:
        synthesize_independent(data, "visits", epsilon=Fraction(15, 16), columns=["cost"], periods="2025-01")
    return [paid(data), refused, str(short.value)]


def test_neighbours_pay_the_same_and_are_refused_the_same(tmp_path):
    with clinic(tmp_path / "one") as data:
        first = every_way(data)
        assert data.ledger.verify().whole
    with clinic(tmp_path / "two", CLINIC.without(3, 2)) as data:
        assert every_way(data) == first
    assert [each[0] for each in first[0]] == [
        "2025-01", "2025-02 to 2025-03", "2025-04", "2025-03 to 2025-04", "2025-01 to 2025-04",
    ]  # fmt: skip
    assert [float(each[2] / each[1]) for each in first[0][:4]] == [1, 2, 1, 2]


def test_the_same_again_is_free_and_other_months_are_another_release(tmp_path):
    with clinic(tmp_path) as data:
        for periods in ("2025-01", "2025-01", "2025-02"):
            synthesized(data, periods)
        assert [each[0] for each in paid(data)] == ["2025-01", "2025-02"]


def test_a_classifier_reads_its_months(tmp_path):
    place = declared(tmp_path, CLINIC)
    text = (tmp_path / "tacit.toml").read_text().replace("value = { bounds = [-3, 3] }", f"value = {{ bounds = [-3, 3] }}\n{MORE}")
    (tmp_path / "tacit.toml").write_text(text)
    rows = [
        f"{person},2025-{month:02}-03,{person % 3},{'true' if person % 2 else 'false'}" for person in range(8) for month in (1, 2)
    ]
    (tmp_path / "labs.csv").write_text("\n".join(["patient,taken,value,urgent", *rows]) + "\n")
    with tacit.open(place.path, own_process=False) as data:
        data.prepare(yes=True, through="2025-04", reason="a test")
        data.begin_scratch("a test")
        train_classifier(data, "labs", "urgent", ["value"], epsilon=Fraction(1, 4), periods="2025-01..2025-02")
        assert paid(data) == [("2025-01 to 2025-02", Fraction(1, 4), Fraction(1, 2))]


def test_a_table_without_periods_pays_from_the_lifetime_alone(tmp_path):
    with clinic(tmp_path) as data:
        synthesize_independent(data, "patients", epsilon=Fraction(1, 8), columns=["age"])
        (entry,) = [entry for entry in data.ledger.entries() if entry.kind == "spend"]
        assert (entry.in_periods.runs, entry.price.epsilon) == ((), Fraction(1, 8))
        with pytest.raises(InvalidInput, match="has no period"):
            synthesize_independent(data, "patients", epsilon=Fraction(1, 8), columns=["age"], periods="2025-01")
        bare = _without_lifetime(data.as_prepared)
        with pytest.raises(NotAllowed, match="has no period"):
            reads_of(bare, bare.tables["patients"], "a version")


def _without_lifetime(catalog: Catalog) -> Catalog:
    assert catalog.per is not None
    return replace(catalog, per=replace(catalog.per, lifetime=None))


def test_a_key_names_the_months_and_the_versions_of_their_rows(tmp_path):
    with clinic(tmp_path) as data:
        catalog = data.as_prepared
        assert catalog.per is not None
        table, first = catalog.tables["visits"], catalog.per.begun[0]
        older = replace(catalog, per=replace(catalog.per, versions=((first, first + 1, "old"), (first + 2, first + 3, "new"))))
        newer = replace(catalog, per=replace(catalog.per, versions=((first, first + 1, "old"), (first + 2, first + 3, "newest"))))
        keys = [
            [reads_of(each, table, "v", periods).key for periods in ("2025-01", "2025-01..2025-02", "2025-03")]
            for each in (older, newer)
        ]
        assert keys[0][:2] == keys[1][:2]
        assert keys[0][2] != keys[1][2]
        assert len({*keys[0]}) == 3
