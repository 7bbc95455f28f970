"""A CSV file prepared from numbers and tidy texts gives the store that it gives where every text is cleaned one by one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from owned import KEY
from stored import catalog, category, number, stored, table, write_csv, write_parquet
from tacit.data.files import csv_rows, raw
from tacit.data.prepare import prepare, staging
from tacit.data.prepare.ranking import Ranking
from tacit.privacy.catalog import Catalog, Column, Owner

WHOLE = ["1", "2", "3", "9", "10", "11", ""]
ODD = [*WHOLE, "01", "1.0", "10.00", "+1", "-1", "x", " 2", "2\t", "123456789012345678901", "é"]
NUMBERS = ["0", "1", "2.5", "7.25", "-3", "99", "1e1", "", "abc", "3.0000000001", "٣"]
WARDS = ["a", "b", "b ", "á", "other", "", "1", "1.0"]
LOOKED_UP = {"visits": "tacit_code id", "labs": "tacit_code visit_id"}


def declared(folder: Path) -> Catalog:
    x, ward = number("x", 0, 10, "0.5"), category("ward", "a", "b", "á", 1)
    values = (x, ward, Column("note", "text", longest=4))
    return catalog(
        folder,
        table("patients", folder / "patients.csv", Column("id", "key"), x),
        table("visits", folder / "visits.csv", Column("id", "key"), *values, unit=_by("patient_id", "patients"), max_rows=2),
        table("labs", folder / "labs.csv", *values, unit=_by("visit_id", "visits"), max_rows=2),
        table("cards", folder / "cards.parquet", x, unit=Owner("who"), max_rows=2),
    )


def _by(column: str, parent: str) -> Owner:
    return Owner(column, (parent, "id"))


def write(folder: Path, seed: int, keys: list[str]) -> None:
    drawn = random.Random(seed)  # chooses test data
    folder.mkdir(exist_ok=True)
    (folder / ".tacit").mkdir(mode=0o700)
    (folder / ".tacit" / "rank.key").write_text(f"{KEY}\n")

    def rows(count: int, *choices: list[str]) -> list[list[str]]:
        return [[drawn.choice(each) for each in choices] for _ in range(count)]

    values = (NUMBERS, WARDS, WARDS)
    write_csv(folder / "patients.csv", ["id", "x"], rows(12, keys, NUMBERS))
    write_csv(
        folder / "visits.csv",
        ["id", "patient_id", "x", "ward", "note"],
        rows(40, keys, keys, ["1"], ["a"], ["n"]) + rows(40, keys, keys, *values),
    )
    write_csv(folder / "labs.csv", ["visit_id", "x", "ward", "note"], rows(40, keys, *values))
    write_parquet(folder / "cards.parquet", {"who": [drawn.randrange(12) for _ in range(20)], "x": [1.5] * 20})


def content(prepared: Catalog) -> list[Any]:
    """What is stored of each unit, in all tables by rank; a code is named by the rows of its unit that have it."""
    units: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    shared: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    rows = {name: stored(prepared, name, "tacit_unit", "tacit_rank", code) for name, code in LOOKED_UP.items()}
    for name, found in rows.items():
        for unit, rank, code in found:
            shared[unit, code].append((name, rank))
    for name, each in prepared.tables.items():
        kept = [column for column in each.columns if each.columns[column].kind != "key"]
        codes = {(unit, rank): sorted(shared[unit, code]) for unit, rank, code in rows.get(name, ()) if code is not None}
        for unit, rank, *values in stored(prepared, name, "tacit_unit", "tacit_rank", *kept):
            units[unit].append((name, rank, *values, codes.get((unit, rank))))
    return sorted((sorted(found, key=repr) for found in units.values()), key=repr)


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text is cleaned by the engine, and every key of a CSV file is a text."""
    monkeypatch.setattr(raw, "plain_numbers", lambda _: None)
    monkeypatch.setattr(raw, "whole_numbers", lambda _: None)
    monkeypatch.setattr(raw, "are_tidy", lambda _: False)


def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, keys: list[str]) -> tuple[list[Any], list[Any]]:
    monkeypatch.setattr(csv_rows, "BLOCK", 64)  # so that rows of one file are read in different ways
    found = []
    for way in ("quickly", "slowly"):
        folder = tmp_path / f"{way}-{seed}"
        write(folder, seed, keys)
        with monkeypatch.context() as changed:
            if way == "slowly":
                slowly(changed)
            prepare(declared(folder))
        found.append(content(declared(folder)))
    return found[0], found[1]


@pytest.mark.parametrize(("seed", "keys"), [(1, WHOLE), (2, WHOLE), (3, ODD), (4, ODD)])
def test_the_store_is_the_same_however_texts_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, keys: list[str]
) -> None:
    quickly, as_ever = both(tmp_path, monkeypatch, seed, keys)
    assert quickly == as_ever
    assert sum(len(unit) for unit in quickly) > 20


def hashed_by_its_text(patched: pytest.MonkeyPatch) -> None:
    """A key that is a text has another place than the number that it is the text of."""
    rightly = Ranking._own_number
    patched.setattr(Ranking, "_own_number", lambda ranking: rightly(ranking).replace("CASE WHEN ", "CASE WHEN FALSE AND "))


def ties_ordered_as_numbers(patched: pytest.MonkeyPatch) -> None:
    rightly = staging.settle_keys
    patched.setattr(staging, "settle_keys", lambda *given: replace(rightly(*given), numbered=None))


@pytest.mark.parametrize("planted", [hashed_by_its_text, ties_ordered_as_numbers])
def test_a_key_that_is_not_taken_for_its_text_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: Callable[[pytest.MonkeyPatch], None]
) -> None:
    planted(monkeypatch)
    assert any(one != other for one, other in (both(tmp_path, monkeypatch, seed, WHOLE) for seed in range(5)))
