"""Labels of published files: each form that an anonymizer writes covers the values it was made of, and no label is guessed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.labels import Columns, Families, Receipt, Register, boxes, read_bag, receipt_of
from tacit.publish.tables.anonymized import anonymize
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Table

NUMBERS = st.lists(st.sampled_from(["-12", "-3", "0", "4", "17", "31", "34", "42", "99", "31.5"]), min_size=4, max_size=12)
DAYS = st.lists(st.dates().map(str), min_size=4, max_size=8)
CODES = st.lists(st.text("012", min_size=1, max_size=4), min_size=4, max_size=8)


@pytest.mark.parametrize(
    ("values", "made"),
    [
        (NUMBERS, ("intervals", ([5, 10, 20], 0))),
        (NUMBERS, ("intervals", ([5], 3))),
        (DAYS, ("dates", ["month", "quarter", "year", "decade"])),
        (CODES, ("prefixes", [3, 2, 1])),
        (NUMBERS, ("flat", None)),
    ],
)
@given(data=st.data(), method=st.sampled_from(["lattice", "mondrian"]), known=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_a_value_is_below_the_label_it_was_published_under(values, made, data, method, known, tmp_path_factory):
    """With all values in the register, and with the first few people alone: labels of the others cover none of them."""
    rows = data.draw(values)
    folder = tmp_path_factory.mktemp("made")
    kind, given = made
    written = {"intervals": f"intervals = {given and given[0]}, start = {given and given[1]}", "flat": "flat = true"}
    (folder / "a.toml").write_text(f'k = 2\n[columns]\nq = {{ role = "quasi", {written.get(kind, f"{kind} = {given}")} }}\n')
    asked = Requirements(("q",), k=2, made={"q": made}, method=method)
    found = anonymize(Table.of({"q": rows}), asked)
    labels = list(found.recoded.forms[0].column.texts().tolist())
    receipt = Receipt(("q",), (), (), method, ("q",), False, frozenset())
    columns = Columns(("q",), "ill", config=folder / "a.toml")
    covers = Register(columns, receipt, {"q": frozenset(rows)}).covers({"q": set(labels)})["q"]
    assert all(value in covers[label] for value, label in zip(rows, labels, strict=True))
    some = frozenset(rows[: known + 1])
    fewer = Register(columns, receipt, {"q": some}).covers({"q": set(labels)})["q"]
    assert all(value in fewer[label] for value, label in zip(rows, labels, strict=True) if value in some)


def test_a_label_that_no_hierarchy_explains_is_refused():
    known = Families.of(Hierarchy.of("age", [("31", "3*", "*"), ("42", "4*", "*")]))
    assert known.below("3*") == ["31"]
    receipt = Receipt(("age",), ("ill",), (), "lattice", ("age",), False, frozenset())
    values = {"age": frozenset({"31"})}
    with pytest.raises(InvalidInput, match="missing hierarchy of age"):
        Register(Columns(("age",), "ill"), receipt, values).covers({"age": ["3*"]})
    with pytest.raises(InvalidInput, match="in the register"):
        Register(Columns(("age",), "ill"), None, values).covers({"age": ["3*"]})
    plain = Register(Columns(("age",), "ill"), None, values).covers({"age": ["31", "32", "*"]})
    assert plain["age"] == {"31": {"31"}, "32": set(), "*": {"31"}}


def test_a_value_that_is_also_a_coarser_form_is_below_it():
    """The leaf Other of the form Other was lost when leaves were the labels above which nothing stands."""
    known = Families.of(Hierarchy.of("town", [("Other", "Other", "*"), ("Ulm", "Other", "*"), ("Berlin", "Berlin", "*")]))
    assert known.below("Other") == ["Other", "Ulm"]
    assert known.below("*") == ["Other", "Ulm", "Berlin"]


def test_boxes_of_numbers_and_lists():
    values = frozenset({"30", "34", "35", "x", "a, b", "c"})
    assert boxes(["[30, 34]"], values)["[30, 34]"] == {"30", "34"}
    assert boxes(["{a, b, c}"], values)["{a, b, c}"] == {"a, b", "c"}
    assert boxes(["30", "[x, y]"], values) == {}


def test_the_receipt_gives_back_texts_that_csv_changed(tmp_path):
    """A form that begins like a formula has an apostrophe in the file; without the receipt it would fit nothing."""
    rows = [("-x", "-*"), ("-y", "-*"), ("z", "z"), ("+", "z")]
    (tmp_path / "q.csv").write_text("".join(f"{leaf};{form}\n" for leaf, form in rows))
    asked = Requirements(("q",), ("ill",), k=2, hierarchies=tmp_path)
    anonymize(Table.of({"q": ["-x", "-y", "z", "+"], "ill": ["=a", "b", "c", "d"]}), asked).save(tmp_path / "out" / "p.csv")
    receipt = receipt_of(tmp_path / "out" / "p.csv")
    assert receipt is not None
    assert receipt.changed == {"q", "ill"}
    beside = tmp_path / "out" / "p.csv.receipt.json"
    beside.write_text(json.dumps({key: told for key, told in json.loads(beside.read_text()).items() if key != "hierarchies"}))
    assert receipt_of(tmp_path / "out" / "p.csv") == receipt  # as an earlier version wrote it
    table = read_bag(tmp_path / "out" / "p.csv", ["q"], "ill", receipt.changed)
    assert {row for row, _ in table} == {(("-*",), "=a"), (("-*",), "b"), (("z",), "c"), (("z",), "d")}
