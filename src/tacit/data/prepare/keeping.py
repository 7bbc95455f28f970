"""The files beside the rows of questions, in a store with periods: for its owner alone, so that rows can be added later.

    units-*      the code of every unit by its key, how many codes there are, how many rows each period has, which files came
    waiting-*    the rows of periods that are not closed, clean and with their keys, as they were before limits

Questions never open these files. A row that comes late can displace another of its unit within its period, so the rows of a
period are ranked again, all of them. Once a period is closed, its rows with their keys are not needed, and are not kept.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tacit.data.dialect import name, text
from tacit.data.engine import Workshop
from tacit.data.files.sources import source_files
from tacit.data.ownership import carried_keys, key_name, staged_name
from tacit.data.prepare.by_period import PERIOD, period_sql, stored_condition
from tacit.data.prepare.packing import KeyForm, Keys, packing_of, text_name
from tacit.data.prepare.staging import fate_name, stored_columns
from tacit.data.store import LARGE, UNITS, WAITING, Held, StoredFile, write_files
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog, Table
from tacit.privacy.periods import Per, Runs

WHOLE, TEXT = "tacit_whole", "tacit_text"  # tables of codes, by keys that are whole numbers in their shortest form, and by others
MOST_ALIKE = 8  # files of one weight: as many are joined into one


def named_anew(kind: str) -> str:
    """A name for a file of a store, which no file ever had: 64 random bits, so that it says nothing."""
    return f"{kind}-{bits.random_bytes(8).hex()}.duckdb"


def dated(catalog: Catalog) -> list[Table]:
    """The private tables whose rows have periods of their own."""
    return [table for table in catalog.tables.values() if table.period is not None and not table.public]


def open_runs(per: Per | None) -> Runs:
    """The periods that have begun and are not closed."""
    if per is None or per.begun is None:
        return ()
    first = per.begun[0] if per.closed is None else max(per.begun[0], per.closed + 1)
    return ((first, per.begun[1]),) if first <= per.begun[1] else ()


def keep_for_adding(bench: Workshop, catalog: Catalog, finished: tuple[Keys, int], folder: Path, key: str) -> None:
    """Write both files of a store that was just made, and name them in it."""
    keys, codes = finished
    if not bench.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'tacit_units'"):  # no table has named units
        bench.keep("tacit_units", f"SELECT CAST(NULL AS {keys.type}) AS tacit_holder, 0 AS tacit_unit LIMIT 0")
    units, waiting = named_anew(UNITS), named_anew(WAITING)
    with written(bench, folder / units):
        write_codes(bench, "tacit_units", keys.type, codes, ())
        write_sizes(bench, catalog, {})
        write_arrivals(bench, _first_marks(catalog, key))
    with written(bench, folder / waiting):
        held = write_waiting(bench, catalog, {table.name: open_runs(table.per) for table in dated(catalog)})
    write_files(bench.engine, "store", [StoredFile(units, UNITS, 0), StoredFile(waiting, WAITING, 0, held)])


def mark_of(key: str, table: str, file: Path) -> str:
    """A keyed mark of a file's name and content, for the files that only the owner can read."""
    mark = hmac.new(key.encode(), f"{table}\n{file.name}\n".encode(), "sha256")
    with file.open("rb") as content:
        while block := content.read(LARGE):
            mark.update(block)
    return mark.hexdigest()


def _first_marks(catalog: Catalog, key: str) -> list[str]:
    """The marks of the files that a store was made from, so that none of them is added to it again."""
    tables = [table for table in dated(catalog) if table.source.kind in ("csv", "parquet") and not table.source.remote]
    return sorted({mark_of(key, table.name, file) for table in tables for file in source_files(catalog, table.source)})


@contextmanager
def written(bench: Workshop, place: Path) -> Iterator[None]:
    """A new database, attached as `kept` while it is written."""
    bench.run(f"ATTACH {text(str(place))} AS kept")
    yield
    bench.run("CHECKPOINT kept")
    bench.run("DETACH kept")


def write_codes(bench: Workshop, units: str, key_type: str, codes: int, before: Iterable[str]) -> None:
    """Put the codes of a table of units, whose keys are of a type, into `kept`, beside those of the databases `before`."""
    number, as_text = number_of("tacit_holder", bench, key_type)
    code = f"CAST(tacit_unit AS {bench.words.types.whole}) AS tacit_unit"
    whole = f"SELECT {number} AS tacit_key, {code} FROM {units} WHERE {number} IS NOT NULL"
    other = f"SELECT {as_text} AS tacit_key, {code} FROM {units} WHERE {number} IS NULL"
    for table, select in ((WHOLE, whole), (TEXT, other)):
        every = [select, *(f"SELECT tacit_key, tacit_unit FROM {each}.{table}" for each in before)]
        bench.run(f"CREATE TABLE kept.{table} AS {' UNION ALL '.join(every)}")
    bench.run(f"CREATE TABLE kept.tacit_codes AS SELECT CAST({codes} AS BIGINT) AS codes")


def number_of(key: str, bench: Workshop, key_type: str = "") -> tuple[str, str]:
    """SQL for a key as a whole number, NULL if its text is not one in the shortest form, and for its text."""
    types = bench.words.types
    as_text = f"CAST({key} AS {types.text})"
    if key_type == types.whole:
        return key, as_text
    number = f"TRY_CAST({as_text} AS {types.whole})"
    return f"CASE WHEN CAST({number} AS {types.text}) = {as_text} THEN {number} END", as_text


def write_sizes(
    bench: Workshop, catalog: Catalog, before: Mapping[tuple[str, int | None], int]
) -> dict[tuple[str, int | None], int]:
    """Put the number of rows of each table and period into `kept`: those `before`, and of what is written now; returns them."""
    bench.run(f"CREATE TABLE kept.tacit_sizes (table_name VARCHAR, {PERIOD} BIGINT, held BIGINT)")
    sizes = dict(before)
    for table in (each for each in catalog.tables.values() if not each.public):
        period = PERIOD if table.per is not None else "NULL"
        found = bench.rows(f"SELECT {period}, count(*) FROM {bench.stored(table.name)} GROUP BY 1")
        sizes |= {(table.name, at): count for at, count in found}
    if sizes:
        values = ", ".join(f"({text(table)}, {'NULL' if at is None else at}, {count})" for (table, at), count in sizes.items())
        bench.run(f"INSERT INTO kept.tacit_sizes VALUES {values}")
    return sizes


def read_sizes(bench: Workshop, database: str) -> dict[tuple[str, int | None], int]:
    """The number of rows of each table and period."""
    found = bench.rows(f"SELECT table_name, {PERIOD}, held FROM {database}.tacit_sizes")
    return {(table, at): count for table, at, count in found}


def write_arrivals(bench: Workshop, marks: Iterable[str]) -> None:
    """Put the marks of all files that were added into `kept`."""
    bench.run("CREATE TABLE kept.tacit_arrivals (mark VARCHAR)")
    if values := ", ".join(f"({text(mark)})" for mark in marks):
        bench.run(f"INSERT INTO kept.tacit_arrivals VALUES {values}")


def read_arrivals(bench: Workshop, database: str) -> frozenset[str]:
    """The marks of all files that were added."""
    return frozenset(mark for (mark,) in bench.rows(f"SELECT mark FROM {database}.tacit_arrivals"))


def write_waiting(bench: Workshop, catalog: Catalog, runs: Mapping[str, Runs]) -> dict[str, Held]:
    """Put the staged rows of some periods of each table into `kept`, with their keys as numbers and texts."""
    held = {}
    for table in (each for each in dated(catalog) if runs.get(each.name)):
        carried = [part for key in carried_keys(catalog)[table.name] for part in _key_columns(bench, table, key)]
        columns = ", ".join([*carried, *_plain_columns(table), f"{period_sql(table)} AS {PERIOD}"])
        within = " OR ".join(f"{period_sql(table)} BETWEEN {low} AND {high}" for low, high in runs[table.name])
        condition = f"CASE WHEN {stored_condition(table)} THEN {within} ELSE FALSE END"
        bench.run(f"CREATE TABLE kept.{name(table.name)} AS SELECT {columns} FROM {staged_name(table)} WHERE {condition}")
        held[table.name] = Held(runs[table.name])
    return held


def _plain_columns(table: Table) -> list[str]:
    """The columns of a staged table beside its keys: the fates of its values, and the packed row."""
    columns = stored_columns(table)
    return [*map(fate_name, columns), *packing_of(columns).names]


def _key_columns(bench: Workshop, table: Table, key: str) -> tuple[str, str]:
    """A staged key as a whole number and as a text, one of them NULL."""
    types, column = bench.words.types, key_name(key)
    ((kind,),) = bench.rows(f"SELECT any_value(typeof({column})) FROM (SELECT {column} FROM {staged_name(table)} LIMIT 1)")
    if kind in (None, types.whole):
        return f"{column} AS {column}", f"CAST(NULL AS {types.text}) AS {text_name(key)}"
    return f"CAST(NULL AS {types.whole}) AS {column}", f"CAST({column} AS {types.text}) AS {text_name(key)}"


def bring_back(bench: Workshop, table: Table, forms: dict[str, KeyForm], database: str, condition: str) -> None:
    """Put waiting rows back beside the staged ones of a table; `forms` become those of the keys of all of them."""
    types, rows = bench.words.types, f"{database}.{name(table.name)} WHERE {condition}"
    selected = []
    for key, form in list(forms.items()):
        column, other = key_name(key), text_name(key)
        if form.numbered:
            selected += [column, other]
            continue
        if form.type != types.text and bench.rows(f"SELECT count({other}) FROM {rows}") != [(0,)]:
            bench.run(f"ALTER TABLE {staged_name(table)} ALTER {column} TYPE {types.text}")
            form = forms[key] = KeyForm(types.text)
        as_text = f"coalesce({other}, CAST({column} AS {types.text}))"
        selected.append(f"{as_text if form.type == types.text else f'CAST({column} AS {form.type})'} AS {column}")
    columns = ", ".join([*selected, *_plain_columns(table)])
    bench.run(f"INSERT INTO {staged_name(table)} BY NAME SELECT {columns} FROM {rows}")


def joined_with(weights: list[int]) -> tuple[int, int]:
    """How many of the last files a new one is joined with, and its weight: eight of one weight become one.

    So there are few files however often rows are added, and each row is copied a few times only. Weights count additions, and
    no rows, so the layout of a store says nothing of them.

    >>> joined_with([0, 8, *[1] * 6]), joined_with([0, 8, *[1] * 7]), joined_with([0, *[8] * 7, *[1] * 7])
    ((0, 1), (7, 8), (14, 64))
    """
    taken, weight = 0, 1
    while weights[len(weights) - taken - (MOST_ALIKE - 1) : len(weights) - taken] == [weight] * (MOST_ALIKE - 1):
        taken, weight = taken + MOST_ALIKE - 1, weight * MOST_ALIKE
    return taken, weight
