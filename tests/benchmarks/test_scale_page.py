"""The page that carries costs to 10^11 rows: each limit that it names is the one that the code has."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import tacit.data.spark.executors as executors
from tacit.data.catalog import read_catalog
from tacit.data.prepare import FACTORS
from tacit.data.store import FILE_ROWS
from tacit.errors import InvalidCatalog, TooMuchWork
from tacit.privacy.catalog import MOST_CORES, PARTS_PER_CORE, Catalog
from tacit.query.binding.conditions import MOST_CODES
from tacit.query.engines.compile import LIMB
from tacit.query.engines.engine import Limits, StoredFacts
from tacit.query.engines.exact import INT64_ROWS
from tacit.query.intervals.aggregates import MOST_QUANTILES
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.planning import LAUNCH, SLOWER
from tacit.query.price.work import MOST_BYTES, MOST_STEPS, VALUE_BYTES, afford
from tacit.query.question import MOST_CELLS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "ten-to-the-eleven.md").read_text(encoding="utf-8")
PEOPLE = "SELECT COUNT(DISTINCT user_id) AS n FROM visits"
REFUSED = {  # the words of the page, and the question that is refused above the number that follows
    "the count above": "count",
    "the sum and mean above": "sum and mean",
    "the count by day above": "count by day",
    "the median above": "median",
    "`COUNT(DISTINCT user_id)` above": "people",
}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    if not (ROOT / "benchmarks").exists():
        pytest.skip("a source distribution leaves the benchmarks out")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import queries
    from benchmarks.scaling import measuring

    return SimpleNamespace(sql={**queries.SQL, "people": PEOPLE}, catalog=measuring.catalog)


def affords(known: Catalog, question: str, rows: int, cores: int | None = None) -> bool:
    tables = {"visits": replace(known.tables["visits"], rows_at_most=rows)}
    try:
        afford(rewrite(parse(question), replace(known, tables=tables), StoredFacts({}, None)), cores)
    except TooMuchWork:
        return False
    return True


@pytest.mark.parametrize("words", REFUSED)
def test_a_question_is_refused_above_the_rows_that_the_page_says(words: str, bench: SimpleNamespace, tmp_path: Path) -> None:
    found = re.search(rf"{re.escape(words)} ([\d,]*\d)", PAGE)
    assert found is not None
    rows, known = int(found[1].replace(",", "")), read_catalog(bench.catalog(tmp_path, Path("x.parquet"), 1, None))
    question = bench.sql[REFUSED[words]]
    assert affords(known, question, rows)
    assert not affords(known, question, rows + 1)
    assert not affords(known, question, 10**11)


def test_declared_cores_admit_the_rows_that_the_page_says(bench: SimpleNamespace, tmp_path: Path) -> None:
    known, said = read_catalog(bench.catalog(tmp_path, Path("x.parquet"), 1, None)), re.sub(r"\s+", " ", PAGE)
    found = re.search(r"with 64 cores, the median above ([\d,]+) rows and the count by day above ([\d,]+\d)", said)
    assert found is not None
    for question, number in zip(("median", "count by day"), found.groups(), strict=True):
        rows = int(number.replace(",", ""))
        assert affords(known, bench.sql[question], rows, 64)
        assert not affords(known, bench.sql[question], rows + 1, 64)
        assert not affords(known, bench.sql[question], rows, 63)
    for question in ("count", "sum and mean"):
        assert affords(known, bench.sql[question], INT64_ROWS, 64)
    needed = re.search(
        r"need (\d+) cores \(the count\), (\d+) \(the sum and mean\), (\d+) \(the count by day\) and (\d+) \(the", said
    )
    assert needed is not None
    for question, number in zip(("count", "sum and mean", "count by day", "median"), map(int, needed.groups()), strict=True):
        assert affords(known, bench.sql[question], INT64_ROWS, number)
        assert not affords(known, bench.sql[question], INT64_ROWS, number - 1)
    people = bench.sql["people"]
    assert affords(known, people, 159_999_991, MOST_CORES)
    assert not affords(known, people, 159_999_992, MOST_CORES)


def test_the_catalog_refuses_more_rows_than_sums_are_exact_for(bench: SimpleNamespace, tmp_path: Path) -> None:
    place = bench.catalog(tmp_path, Path("x.parquet"), INT64_ROWS, None)
    assert read_catalog(place).tables["visits"].rows_at_most == INT64_ROWS == 2**33
    bench.catalog(tmp_path, Path("x.parquet"), INT64_ROWS + 1, None)
    with pytest.raises(InvalidCatalog, match="at most 8589934592"):
        read_catalog(place)
    assert f"{INT64_ROWS:,} = 2^33" in PAGE
    assert (2 ** (LIMB + 1) - 1) * INT64_ROWS < 2**62


def test_the_other_limits_of_the_page_are_those_of_the_code() -> None:
    said = re.sub(r"\s+", " ", PAGE)
    assert f"worst work of a question | {MOST_STEPS // 10**9} seconds of one core" in said
    assert f"memory in the worst case | {MOST_BYTES // 10**9} GB" in said
    assert f"cells of an answer | {MOST_CELLS:,}" in said
    assert f"groups with a quantile | {MOST_QUANTILES:,}" in said
    assert f"A question has {Limits().seconds:.0f} seconds" in said
    assert f"at most {MOST_CORES:,} cores" in said
    assert f"50 seconds, with {float(SLOWER)} / 64 of what cores share" in said
    assert f"at most {FILE_ROWS:,} rows, and the work limit counts {LAUNCH // 10**6} milliseconds" in said
    assert f"{-(-(10**11) // FILE_ROWS):,} names" in said
    assert f"admits {MOST_BYTES // VALUE_BYTES // 10**6} million values" in said
    assert f"the {executors.MEMORY.replace('GB', ' GB')} of a task" in said
    assert (PARTS_PER_CORE, FACTORS[-1], MOST_CODES) == (2, 4, 2**53 - 1)
    schema = json.loads((ROOT / "src/tacit/data/catalog/tacit.schema.json").read_text())
    assert '"maximum": 8589934592' in json.dumps(schema)
