"""Texts that skip the cleaning, and numbers that are read outside the engine, become what cleaning would make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from stored import number
from tacit.data.engine import Workshop
from tacit.data.files import raw as tidy
from tacit.data.files.raw import Raw, filled, named
from tacit.data.files.sources import Rows
from tacit.data.prepare import grids
from tacit.data.prepare.grids import is_plain, on_grid
from tacit.data.prepare.staging import cleaned_rows
from tacit.privacy.catalog import Column

GRIDS = [
    number("x", 0, 11),
    number("x", "-0.5", "9.5", "0.5"),
    number("x", -(10**12), 10**12, "0.01"),
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


def asked(workshop: Workshop, texts: Sequence[str], query: str, quickly: bool, form: tidy.Form = "text") -> list[Any]:
    """What the engine makes of texts, each of them in a batch of its own, so that none has a say in how another is read."""
    schema = pa.schema([("c0", pa.large_string())])
    batches = [pa.record_batch([pa.array([text], pa.large_string())], schema=schema) for text in texts]
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    workshop.engine.register("batches", tidy.tidy_batches(reader, {"c0": form}) if quickly else reader)
    workshop.run("SET preserve_insertion_order = true")
    return workshop.rows(query)


def numbers_of(workshop: Workshop, column: Column, texts: Sequence[str], quickly: bool) -> list[Any]:
    raw = Raw("c0", "VARCHAR", number="nc0", fate="fc0") if quickly else Raw("c0", "VARCHAR")
    return asked(workshop, texts, cleaned_rows(workshop, {"x": column}, Rows("batches", {"x": raw}), {}), quickly, on_grid(column))


@pytest.mark.parametrize("column", GRIDS)
def test_a_plain_number_is_what_its_text_would_be(workshop: Workshop, column: Column) -> None:
    texts = [*NUMBERS, *ODD_NUMBERS, *LARGE_NUMBERS]
    by_text = numbers_of(workshop, column, texts, quickly=False)
    plain = numbers_of(workshop, column, texts, quickly=True)
    assert [each for each in zip(texts, plain, by_text, strict=True) if each[1] != each[2]] == []


@pytest.mark.parametrize("column", GRIDS)
def test_plain_numbers_of_one_block_are_what_each_is_alone(workshop: Workshop, column: Column) -> None:
    """Whole numbers, decimals and missing ones together, on both sides of the bounds and of every rounding."""
    texts = [
        "",
        "0",
        "-1",
        "11",
        "12",
        "0.000001",
        "0.0000",
        "9.25",
        "9.749999",
        "0.25",
        "-0.5",
        "-.75",
        "99999.5",
        "1.",
        ".5",
        "-0",
    ]
    together = pa.record_batch([pa.array(texts, pa.large_string())], names=["c0"])
    (batch,) = tidy.tidy_batches(pa.RecordBatchReader.from_batches(together.schema, [together]), {"c0": on_grid(column)})
    assert batch.column("c0").null_count == len(texts)
    workshop.engine.register("batches", pa.RecordBatchReader.from_batches(batch.schema, [batch]))
    raw = Raw("c0", "VARCHAR", number="nc0", fate="fc0")
    found = workshop.rows(cleaned_rows(workshop, {"x": column}, Rows("batches", {"x": raw}), {}))
    assert found == numbers_of(workshop, column, texts, quickly=False)


def test_rows_come_in_few_runs_and_none_is_lost() -> None:
    """Batches of plain numbers, of others, of whole keys and of tidy ones take turns."""
    batches = [
        pa.record_batch([pa.array([key] * 2, pa.large_string()), pa.array([x] * 2, pa.large_string())], names=["c0", "c1"])
        for _ in range(5)
        for key, x in [("1", "2"), ("1", "y"), ("a", "2"), (" a", "2")]
    ]
    runs = tidy.Runs(pa.RecordBatchReader.from_batches(batches[0].schema, batches), {"c0": "key", "c1": on_grid(GRIDS[0])})
    found = []
    while runs:
        found.append(runs.next_run().read_all())
    assert [len(each) for each in found] == [2, 2, 2, 34], "each new form begins a run, until all have occurred"
    assert [each.column_names for each in found[:2]] == [["nc0", "nc1", "fc1"], ["nc0", "c1", "nc1", "fc1"]]
    general = tidy.tidy_batches(
        pa.RecordBatchReader.from_batches(batches[0].schema, batches), {"c0": "key", "c1": on_grid(GRIDS[0])}
    )
    assert pa.concat_tables(found, promote_options="default").select(general.schema.names) == general.read_all()


def test_after_some_runs_one_takes_all_forms() -> None:
    names = [f"c{place}" for place in range(9)]
    batches = [
        pa.record_batch([pa.array(["x" if place < row else "1"], pa.large_string()) for place in range(9)], names=names)
        for row in range(9)
    ]
    runs = tidy.Runs(pa.RecordBatchReader.from_batches(batches[0].schema, batches), dict.fromkeys(names, on_grid(GRIDS[0])))
    found = []
    while runs:
        found.append(runs.next_run().read_all())
    assert [len(each) for each in found] == [1] * tidy.MOST_RUNS + [9 - tidy.MOST_RUNS]
    assert len(found[-1].column_names) == 27


def scaled(*texts: str) -> tuple[list[int], int] | None:
    found = tidy.plain_numbers(pa.array(["x", *texts], pa.large_string())[1:])
    return None if found is None else (found.numbers.tolist(), found.digits)


def test_most_numbers_are_plain() -> None:
    assert scaled("12", "-7", "", "0012") == ([12, -7, 0, 12], 0)
    assert scaled("1.25", "-.5", "", "3") == ([1_250_000, -500_000, 0, 3_000_000], 6)
    assert scaled("1.25", "1.2500000000001") is None
    assert scaled("1.5", "999999999.5") == ([1_500_000, 999_999_999_500_000], 6)
    assert scaled("1.5", "9999999999.5") is None, "a double times 10^6 would not be exact"
    assert scaled() == ([], 0)


def test_a_grid_that_does_not_fit_is_left_to_the_engine() -> None:
    assert [is_plain(column) for column in GRIDS] == [True, True, True, True]
    assert not is_plain(number("x", -(10**13), 10**13, "0.01"))
    assert not is_plain(number("x", 0, 1, "0.0000001"))


PLANTED = {
    "a number too large": (tidy, "MOST_SCALED", 2.0**80, ["9999999999.000001", "9999999999.000003"]),
    "a digit too many": (tidy, "DIGITS", 7, ["0.5000001"]),
    "rounded down": (grids, "ROUNDED", grids.CLEAN, ["0.4"]),
    "the other side": (grids, "BELOW", grids.ABOVE, ["-7"]),
    "nothing missing": (grids, "MISSING", grids.CLEAN, [""]),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_number_in_the_wrong_place_is_seen(workshop: Workshop, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    module, name, value, texts = PLANTED[bug]
    column = number("x", 0, 10**11, "0.000002") if bug == "a number too large" else GRIDS[1]
    assert numbers_of(workshop, column, texts, quickly=True) == (rightly := numbers_of(workshop, column, texts, quickly=False))
    monkeypatch.setattr(module, name, value)
    assert numbers_of(workshop, column, texts, quickly=True) != rightly


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


def test_a_file_without_rows_has_every_form() -> None:
    runs = tidy.Runs(pa.RecordBatchReader.from_batches(pa.schema([("c0", pa.large_string())]), iter([])), {"c0": "key"})
    assert runs.next_run().schema.names == ["c0", tidy.tidy_name("c0"), tidy.number_name("c0")]
    assert not runs
