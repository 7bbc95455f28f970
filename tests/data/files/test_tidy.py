"""Texts that skip the cleaning, and numbers that are read outside the engine, become what cleaning would make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from stored import number
from tacit.data.engine import Workshop
from tacit.data.files import tidy
from tacit.data.files.raw import Raw, filled, named
from tacit.data.files.sources import Rows
from tacit.data.prepare.staging import cleaned
from tacit.privacy.catalog import Column

GRIDS = [
    number("x", 0, 11),
    number("x", "-0.5", "9.5", "0.5"),
    number("x", -(10**13), 10**13, "0.01"),
    number("x", 0, 1, "0.000001"),
]
NUMBERS = ["".join(each) for length in range(1, 5) for each in product("0159.-", repeat=length)]
ODD_NUMBERS = ["", " 5", "5 ", "+5", "1e1", "1E1", "0x1F", "1_0", "nan", "inf", "-inf", "٣", "5\0", "1,5", "0.0000005", "9.4999999"]
LARGE_NUMBERS = [
    f"{sign}{digit * count}{rest}" for sign in ("", "-") for digit in "19" for count in range(9, 40) for rest in ("", ".5")
]
TEXTS = ["".join(each) for length in range(4) for each in product("a 0.\té\0", repeat=length)]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("spill"), "1GB")
    yield made
    made.engine.close()


def asked(workshop: Workshop, texts: Sequence[str], query: str, quickly: bool, as_number: bool = False) -> list[Any]:
    """What the engine makes of texts, each of them in a batch of its own, so that none has a say in how another is read."""
    schema = pa.schema([("c0", pa.large_string())])
    batches = [pa.record_batch([pa.array([text], pa.large_string())], schema=schema) for text in texts]
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    workshop.engine.register("batches", tidy.tidied(reader, {"c0": "number" if as_number else "text"}) if quickly else reader)
    workshop.run("SET preserve_insertion_order = true")
    return workshop.rows(query)


def numbers_of(workshop: Workshop, column: Column, texts: Sequence[str], quickly: bool) -> list[Any]:
    raw = Raw("c0", "VARCHAR", number="nc0" if quickly else None)
    return asked(workshop, texts, cleaned(workshop, {"x": column}, Rows("batches", {"x": raw}), {}), quickly, as_number=True)


@pytest.mark.parametrize("column", GRIDS)
def test_a_plain_number_is_what_its_text_would_be(workshop: Workshop, column: Column) -> None:
    texts = [*NUMBERS, *ODD_NUMBERS, *LARGE_NUMBERS]
    by_text = numbers_of(workshop, column, texts, quickly=False)
    plain = numbers_of(workshop, column, texts, quickly=True)
    assert [each for each in zip(texts, plain, by_text, strict=True) if each[1] != each[2]] == []


def test_most_numbers_are_plain() -> None:
    assert tidy.plain_numbers(pa.array(["12", "-7", "", "0012"], pa.large_string())).to_pylist() == [
        12_000_000,
        -7_000_000,
        None,
        12_000_000,
    ]
    assert tidy.plain_numbers(pa.array(["x", "1.25", "-.5"], pa.large_string())[1:]).to_pylist() == [1_250_000, -500_000]
    assert tidy.plain_numbers(pa.array(["1.25", "1.2500000000001"], pa.large_string())) is None


def test_a_number_that_overflows_is_seen(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "LARGEST", 10**18)
    found = [numbers_of(workshop, GRIDS[2], ["9" * 14], quickly) for quickly in (True, False)]
    assert found[0] != found[1]


def texts_of(workshop: Workshop, texts: Sequence[str], quickly: bool) -> list[Any]:
    raw = Raw("c0", "VARCHAR", tidy="tc0" if quickly else None)
    return asked(workshop, texts, f"SELECT {filled(raw)}, {named(raw)} FROM batches", quickly)


def test_a_tidy_text_is_what_cleaning_would_make_of_it(workshop: Workshop) -> None:
    assert texts_of(workshop, TEXTS, quickly=True) == texts_of(workshop, TEXTS, quickly=False)
    assert tidy.are_tidy(pa.array(["", "intensive care", "a.b"], pa.large_string()))


@pytest.mark.parametrize(("planted", "value"), [("BLANK", 0), ("PRINTABLE", bytes(range(256)))])
def test_a_text_that_is_not_tidy_is_seen(workshop: Workshop, monkeypatch: pytest.MonkeyPatch, planted: str, value: object) -> None:
    monkeypatch.setattr(tidy, planted, value)
    assert texts_of(workshop, TEXTS, quickly=True) != texts_of(workshop, TEXTS, quickly=False)
