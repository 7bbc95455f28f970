"""Words of an engine: preparation takes all of them from its dialect, and a store in other words is the same store."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stored import by_unit, catalog, category, days, number, stored, table, write_csv
from tacit.data import prepare as preparing
from tacit.data.dialect import DIALECTS, DUCKDB, Dialect, Types
from tacit.data.engine import ByHolder, Workshop
from tacit.data.prepare import prepare
from tacit.data.store import NAMES
from tacit.privacy.catalog import Column, Notation, Owner

TYPES = "BIGINT|HUGEINT|UTINYINT|UBIGINT|VARCHAR|DOUBLE|DATE"
FUNCTIONS = "regexp_|md5|xor|strlen|nfc_|isnan|isfinite|enum_code|strptime|decode|rowid"
OTHERS = "TRY_CAST|QUALIFY|::|//|<<|>>"
COLUMNS = {"people": ("sex", "cost", "born", "note"), "visits": ("hours", "day", "ward"), "labs": ("level",)}
RESPELLED = ("matches", "matches_whole", "replaced", "extracted", "bytes_of", "decoded", "composed", "is_nan", "is_finite")


def respelled(word: str) -> Any:
    """A word in capitals: the same to DuckDB, for which names match without case, and not to a search for its own spelling."""
    spelled = getattr(DUCKDB, word)
    return lambda *given: re.sub(rf"\b({FUNCTIONS})", lambda found: found[0].upper(), spelled(*given))


def kept(rows: str, condition: str) -> str:
    """Without QUALIFY."""
    return f"SELECT * EXCLUDE (tacit_holds) FROM (SELECT *, {condition} AS tacit_holds FROM ({rows})) WHERE tacit_holds"


OTHER = replace(
    DUCKDB,
    **{word: respelled(word) for word in RESPELLED},
    types=Types("INT8", "INT128", "UINT8", "FLOAT8", "STRING", "date", DUCKDB.types.natures, DUCKDB.types.beginnings),
    constant=lambda written, kind: f"CAST('{written}' AS {kind})",
    cast_or_null=lambda sql, kind: f"try_cast({sql} AS {kind})",
    day=lambda written: f"CAST('{written}' AS date)",
    quotient=lambda above, below: f"divide({above}, {below})",
    shifted_left=lambda sql, bits: f"({sql} * CAST(power(2, {bits}) AS INT8))",
    shifted_right=lambda sql, bits: f"divide({sql}, CAST(power(2, {bits}) AS INT8))",
    day_or_null=lambda sql, written_as: f"CAST(TRY_STRPTIME({sql}, '{written_as}') AS date)",
    xored=lambda one, other: f"({one} + {other} - 2 * ({one} & {other}))",
    hashed=lambda sql: f"CAST(MD5_NUMBER({sql}) % CAST('{2**56}' AS UINT128) AS INT8)",
    row="ROWID",
    code_in=lambda sql, listed: f"ENUM_CODE(try_cast({sql} AS {listed}))",
    where=kept,
)


@pytest.fixture
def declared(tmp_path: Path) -> Any:
    people = [
        (at, ["F", "M", "x", ""][at % 4], [f"{at}.5", "1e3", "-7", "x", "NaN"][at % 5], f"0{at % 9 + 1}.02.2020", f"note {at}é")
        for at in range(60)
    ]
    visits = [(at, at % 70, at % 11 / 2, date(2020, 1, 1 + at % 28).isoformat(), f"w{at % 3}") for at in range(300)]
    wards = [("w0", 3, "2020-01-05", "1.25"), ("w1", 4, "2021-01-05", "2.5"), ("w2", 5, "2021-02-05", "")]
    given = [
        table(
            "people",
            write_csv(tmp_path / "people.csv", ["id", "sex", "cost", "born", "note"], people),
            Column("id", "key"),
            category("sex", "F", "M"),
            number("cost", 0, 50, "0.25"),
            days("born", "2020-01-01", "2021-01-01", notation=Notation(format="%d.%m.%Y")),
            Column("note", "text"),
        ),
        table(
            "visits",
            write_csv(tmp_path / "visits.csv", ["id", "person", "hours", "day", "ward"], visits),
            Column("id", "key"),
            number("hours", 0, 4, "0.5"),
            days("day", "2020-01-03", "2020-01-20"),
            Column("ward", "text"),
            unit=Owner("person", ("people", "id")),
            max_rows=2,
        ),
        table(
            "labs",
            write_csv(tmp_path / "labs.csv", ["visit", "level"], [(at % 90, at % 5) for at in range(200)]),
            number("level", 0, 4),
            unit=Owner("visit", ("visits", "id")),
            max_rows=2,
        ),
        table("wards", write_csv(tmp_path / "wards.csv", ["ward", "beds", "since", "share"], wards), public=True),
    ]
    return catalog(tmp_path, *given)


def prepared_in(words: Dialect, given: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """What the store has, and every statement of preparation."""
    said: list[str] = []
    for name in ("step", "run", "rows"):
        real = getattr(Workshop, name)

        def spied(self: Workshop, *asked: Any, real: Any = real, at: int = name == "step", **more: Any) -> Any:
            said.append(asked[at])
            return real(self, *asked, **more)

        monkeypatch.setattr(Workshop, name, spied)
    keep_by_holder = Workshop.keep_by_holder

    def by_holder(self: Workshop, table: str, query: ByHolder, *more: Any) -> int | None:
        before = len(said)
        numbered = keep_by_holder(self, table, query, *more)
        said[before:] = [query.rows]  # the rest is the embedded engine's in every dialect
        return numbered

    monkeypatch.setattr(Workshop, "keep_by_holder", by_holder)
    monkeypatch.setattr(preparing, "DIALECTS", {"duckdb": words})
    prepare(given)
    monkeypatch.undo()
    private = {name: by_unit(given, name, *columns) for name, columns in COLUMNS.items()}
    return {**private, "wards": stored(given, "wards")}, said


def own_words(statements: list[str]) -> set[str]:
    """DuckDB's spellings; what stands between quotes is a name or a pattern."""
    bare = [re.sub(r"'[^']*'|\"[^\"]*\"", "", statement) for statement in statements]
    return {found for statement in bare for found in re.findall(f"{TYPES}|{FUNCTIONS}|{OTHERS}", statement)}


def test_a_store_prepared_in_other_words_is_the_same_store(declared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So every word that differs comes from the dialect of the workshop; the ranks too, since the hash is the same."""
    plain, in_duckdb = prepared_in(DUCKDB, declared, monkeypatch)
    other, in_other = prepared_in(OTHER, declared, monkeypatch)
    assert own_words(in_duckdb) >= {
        "BIGINT",
        "VARCHAR",
        "TRY_CAST",
        "::",
        "regexp_",
        "md5",
        "xor",
        "strlen",
        "//",
        "<<",
        ">>",
        "rowid",
    }
    assert own_words(in_other) == set()
    assert all(plain.values())
    assert other == plain


def test_a_word_of_another_hash_is_seen(declared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: other bits of the hash than the first, so that limits keep other rows."""
    plain, _ = prepared_in(DUCKDB, declared, monkeypatch)
    wrong = replace(DUCKDB, hashed=lambda sql: f"CAST((md5_number({sql}) >> 8) & CAST('{2**56 - 1}' AS UHUGEINT) AS BIGINT)")
    other, _ = prepared_in(wrong, declared, monkeypatch)
    assert plain["visits"] != other["visits"]
    assert plain["wards"] == other["wards"]


def test_every_engine_has_its_words() -> None:
    assert set(DIALECTS) == set(NAMES)
