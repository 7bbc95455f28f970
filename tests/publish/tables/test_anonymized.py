"""The published table: what leaves, in which order, and what it says of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.errors import InvalidInput, LawViolated
from tacit.publish.tables.anonymized import NOT_PROTECTED, anonymize
from tacit.publish.tables.conditions import KAnonymity
from tacit.publish.tables.report import frontier_of, report_page
from tacit.publish.tables.requirements import METHODS, Requirements
from tacit.publish.tables.table import Table

AGES = ("intervals", ([10, 20], 0))


def people(seed: int = 0, rows: int = 90) -> Table:
    random = np.random.default_rng(seed)
    ages, weights = random.integers(20, 60, rows), random.integers(50, 90, rows)
    ill = [("flu", "gout", "asthma")[each] for each in random.integers(0, 3, rows)]
    return Table.of({"age": ages, "weight": weights, "ill": ill, "note": [f"n{each}" for each in range(rows)]})


ASKED = Requirements(("age", "weight"), ("ill",), k=4, made={"age": AGES, "weight": AGES})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_publishes_groups_of_k(method):
    made = anonymize(people(), replace(ASKED, method=method))
    assert made.sizes().min() >= 4
    assert made.table.names == ("age", "weight", "ill")
    assert made.table.rows == made.rows == 90
    assert made.differentially_private is False
    assert str(made).endswith("(not differentially private)")
    told = made.to_dict()
    assert (told["method"], told["smallest_group"], told["differentially_private"]) == (method, made.sizes().min(), False)
    assert sorted(made.table["ill"].texts()) == sorted(people()["ill"].texts())


@pytest.mark.parametrize("method", ["lattice", "local", "mondrian", "mdav"])
def test_the_order_of_rows_tells_nothing(method):
    """The same rows in another order are the same table."""
    table, shuffled = people(), np.random.default_rng(5).permutation(90)
    other = Table(tuple(replace(column, codes=column.codes[shuffled]) for column in table.columns))
    asked = replace(ASKED, method=method, k=3)
    texts = [[column.texts().tolist() for column in anonymize(each, asked).table.columns] for each in (table, other)]
    if method == "mdav":  # ties between equally far rows are broken by their order: only the order of output is compared
        assert [sorted(column) for column in texts[0][2:]] == [sorted(column) for column in texts[1][2:]]
    else:
        assert texts[0] == texts[1]


def test_suppressed_rows_are_starred_or_left_out():
    asked = replace(ASKED, suppress=Fraction(1, 5), utility="ncp", k=8)
    starred = anonymize(people(), asked)
    assert 0 < starred.suppressed <= 18
    ages = starred.table["age"].texts()
    assert starred.table.rows == 90
    stars = (ages == "*") & (starred.table["weight"].texts() == "*")
    assert stars.sum() == starred.suppressed
    dropped = anonymize(people(), replace(asked, suppressed="drop"))
    assert dropped.table.rows == 90 - dropped.suppressed
    assert dropped.suppressed == starred.suppressed


def test_kept_columns_leave_and_others_do_not():
    made = anonymize(people(), replace(ASKED, keep=("note",)))
    assert made.table.names == ("age", "weight", "ill", "note")
    assert sorted(made.table["note"].texts()) == sorted(people()["note"].texts())


@pytest.mark.parametrize("method", ["lattice", "local", "mondrian", "mondrian-relaxed"])
@pytest.mark.parametrize(
    "models",
    [
        {"l": "entropy:2"},
        {"l": "recursive:2:2", "alpha": "0.7"},
        {"t": "ordered:0.3", "delta": "2"},
        {"t": "hierarchical:0.3"},
        {"l": "frequency:2", "alpha": "0.9", "protected": {"ill": ("gout",)}},
    ],
)
def test_every_method_meets_every_model_by_the_judgement_of_the_checkers(method, models, tmp_path):
    """`anonymize` raises where a checker fails."""
    (tmp_path / "ill.csv").write_text("flu;lung;*\nasthma;lung;*\ngout;joint;*\n", "utf-8")
    asked = replace(ASKED, method=method, k=3, suppress=Fraction(1, 10), files={"ill": tmp_path / "ill.csv"}, **models)
    assert anonymize(people(), asked).suppressed <= 9


def test_an_anonymizer_that_is_wrong_publishes_nothing(monkeypatch):
    """Planted: a condition that lets every group pass."""
    monkeypatch.setattr(KAnonymity, "holds", lambda self, sizes, counts, totals: sizes >= 1)
    for method in METHODS[:3]:
        with pytest.raises(LawViolated, match="k-anonymity, k = 4: fails"):
            anonymize(people(), replace(ASKED, method=method))


def test_several_sensitive_columns_are_strict_or_separate():
    table = people(rows=200)
    wide = Table((*table.columns, replace(table["ill"], name="also", codes=table["ill"].codes[::-1].copy())))
    asked = replace(ASKED, sensitive=("ill", "also"), l="2", k=2, method="mondrian")
    strict, separate = (anonymize(wide, replace(asked, strict=each)) for each in (True, False))
    assert len(strict.sizes()) < len(separate.sizes())


@pytest.mark.parametrize("method", METHODS)
def test_names_match_without_case(method):
    made = {"AGE": AGES, "Weight": AGES}
    asked = replace(
        ASKED, quasi=("Age", "WEIGHT"), sensitive=("Ill",), made=made, method=method, l=None if method == "mdav" else "2"
    )
    assert anonymize(people(), asked).table.names == ("age", "weight", "ill")
    with pytest.raises(InvalidInput, match="age has two roles"):
        anonymize(people(), replace(asked, keep=("aGE",)))


def test_mdav_with_another_model_is_refused():
    with pytest.raises(InvalidInput, match="mdav ensures k-anonymity alone"):
        anonymize(people(), replace(ASKED, method="mdav", l="2"))


def test_csv_and_parquet_with_their_receipt(tmp_path):
    source = pa.table(
        {"age": pa.array([31, 34, 42, 47], pa.int8()), "pay": pa.array([1.5, 2.5, None, 4.0]), "sex": ["F", "M", "F", "M"]}
    )
    parquet.write_table(source, tmp_path / "in.parquet")
    asked = Requirements(("age",), ("pay",), ("sex",), made={"age": AGES})
    made = anonymize(asked.read(tmp_path / "in.parquet"), asked)
    receipt = json.loads(made.save(tmp_path / "out.parquet").read_text("utf-8"))
    assert receipt["differentially_private"] is False
    assert receipt["does_not_protect"] == list(NOT_PROTECTED)
    read = parquet.read_table(tmp_path / "out.parquet")
    assert read.schema.field("pay").type == pa.float64()
    assert read.column("age").to_pylist() == ["30-39", "30-39", "40-49", "40-49"]
    assert sorted(each or 0 for each in read.column("pay").to_pylist()) == [0, 1.5, 2.5, 4.0]
    made.save(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text("utf-8").splitlines()[:2] == ["age,pay,sex", "30-39,1.5,F"]


def test_the_receipt_has_nothing_that_is_not_published(tmp_path):
    """Two tables that differ in what is suppressed and lost have the same receipt."""
    receipts = {anonymize(people(seed), ASKED).save(tmp_path / f"{seed}.csv").read_text("utf-8") for seed in range(3)}
    assert len(receipts) == 1


def test_the_report_is_the_owners_and_loads_nothing(tmp_path):
    made = anonymize(people(), replace(ASKED, suppress=Fraction(1, 10)))
    page = report_page(made, people())
    assert page.splitlines()[0].startswith("<!-- For the data owner only")
    assert "default-src &#x27;none&#x27;" in page
    for words in ("Group sizes", "Utility against privacy", "The lattice of generalizations", *NOT_PROTECTED):
        assert words in page
    assert page.count("<svg") == 3
    assert "<script" not in page


def test_hostile_names_stay_texts_in_the_report():
    name = "<script>alert(1)</script>"
    table = Table.of({name: [31, 34, 42, 47], "ill": ["<b>", "x", "x", "y"]})
    page = report_page(anonymize(table, Requirements((name,), ("ill",), made={name: AGES})), table)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_frontier_rises_with_k():
    points = frontier_of(people(), ASKED)
    assert [k for k, _ in points] == [2, 3, 4, 5, 10, 20, 50]
    losses = [loss for _, loss in points]
    assert losses == sorted(losses)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"quasi": ()}, "no quasi-identifiers"),
        ({"method": "magic"}, "unknown method 'magic'; expected one of: lattice"),
        ({"suppressed": "hide"}, "expected star or drop"),
        ({"keep": ("ill",)}, "ill has two roles"),
        ({"suppress": Fraction(3, 2)}, "from 0 to 1"),
    ],
)
def test_requirements_that_mean_nothing_are_refused(words, problem):
    with pytest.raises(InvalidInput, match=problem):
        replace(ASKED, **words)
