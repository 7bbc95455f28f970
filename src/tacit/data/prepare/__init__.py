"""`prepare`: turns the declared sources into a store in which every value is clean and every row has its unit and its rank.

store.md defines a store, and proves that neighbouring data gives neighbouring stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacit.data.declaration import key_text
from tacit.data.dialect import DIALECTS, name
from tacit.data.engine import EngineError, Maker, OutOfMemory, Progress, Unreachable, Workshop
from tacit.data.files.raw import Raw
from tacit.data.files.sources import Rows, place_given
from tacit.data.ownership import (
    Link,
    Reference,
    carried_keys,
    code_name,
    coded_keys,
    key_name,
    key_sql,
    links,
    own_key,
    owners,
    staged_name,
)
from tacit.data.prepare.by_period import PERIOD, known_period_sql, period_sql, stored_condition
from tacit.data.prepare.packing import Keys, packing_of
from tacit.data.prepare.public_columns import found_columns
from tacit.data.prepare.ranking import LookUp, Ranking, ranking_key
from tacit.data.prepare.staging import (
    alike_keys,
    check_columns,
    cleaned_rows,
    examples_in,
    kept_condition,
    read,
    stage_all,
    stored_columns,
    tables_in_parquet,
    tally,
    with_examples,
)
from tacit.data.prepare.verdict import NotAccepted, Prepared, Sharing, TableReport, alarms, units_in_common
from tacit.data.store import StoreInfo, kept_version, ledger_mark, new_info, new_store_folder, store_file, write_info
from tacit.errors import InvalidCatalog, StoreUnusable
from tacit.privacy.catalog import Catalog, Column, Table

if TYPE_CHECKING:
    from tacit.data.files.sources import Given

MEMORY = "60%"
FACTORS = (2, 4)  # times max_rows: the report states how many rows these would keep


@dataclass(frozen=True, slots=True)
class LedgerMark:
    """The ledger that a store belongs to, and its last entry at that time."""

    ledger: str | None = None
    head: str | None = None


def prepare(
    catalog: Catalog,
    progress: Progress | None = None,
    *,
    memory: str = MEMORY,
    mark: LedgerMark | None = None,
    accept: bool = True,
    keep_version: bool = False,
    given: Given | None = None,
) -> Prepared:
    """Build the store of a catalog from its sources, and replace the old one when the new one is complete.

    No row of a source makes it fail, if the catalog declares what a row is (store.md, on CSV files). `progress` receives a text and
    a fraction. `memory` bounds the process: the engine gets a share of it, and spills to disk. `mark` names the ledger of the
    catalog; without it, the old store's mark stays. Without `accept`, an alarm leaves the old store in place. The version is new,
    unless `keep_version` declares that nothing has changed. `given` has the rows of tables whose source is memory.
    """
    version = kept_version(catalog) if keep_version else None
    with new_store_folder(catalog) as folder, in_our_words(memory):
        bench = Workshop(folder / "spill", memory, progress, _steps(catalog), words=DIALECTS["duckdb"])
        with closing(bench.engine), MAKING[catalog.store_engine](bench, catalog, folder) as making:
            read_from = making.near(place_given(catalog, given or {}, folder))
            private, shared, finished = _prepare_private(
                making.maker, read_from, tables_in_parquet(catalog), ranking_key(catalog.kept)
            )
            public = {each.name: _prepare_public(bench, read_from, each) for each in read_from.tables.values() if each.public}
            mark = mark or old_mark(catalog)
            public_columns = {table: columns for table, (columns, _) in public.items()}
            info = new_info(catalog, mark.ledger, mark.head, public_columns, version)
            reports = {**private, **{table: report for table, (_, report) in public.items()}}
            judged = tuple(with_alarms(reports[key]) for key in catalog.tables)
            prepared = Prepared(store_file(catalog), info.version, judged, shared, making.notes)
            if prepared.alarms and not accept:
                raise NotAccepted(prepared)
            making.describe(info)
            if catalog.per is not None:
                from tacit.data.prepare.keeping import keep_for_adding

                keep_for_adding(bench, read_from, finished, folder, ranking_key(catalog.kept))
    making.replaced()
    if progress is not None:
        progress("prepared", 1.0)
    return prepared


def with_alarms(report: TableReport) -> TableReport:
    return replace(report, alarms=alarms(report.read, report.kept, report.columns))


@contextmanager
def in_our_words(memory: str) -> Iterator[None]:
    """Replaces the engine's error message, which may quote cells."""
    try:
        yield
    except OutOfMemory:
        raise StoreUnusable(
            f"out of memory while preparing (limit: {memory})", remedy="raise it, for example --memory 4GB"
        ) from None
    except Unreachable:
        raise StoreUnusable("cannot write the store", remedy="free disk space next to it") from None
    except EngineError as error:
        raise StoreUnusable(f"the engine failed ({type(error).__name__})", remedy="check the sources and try again") from None


def _steps(catalog: Catalog) -> int:
    keyed = [table for table in catalog.tables.values() if not table.public and own_key(table)]
    return 2 * len(catalog.tables) + len(keyed) + bool(keyed)


def old_mark(catalog: Catalog) -> LedgerMark:
    with suppress(StoreUnusable):  # preparation replaces a damaged store
        return LedgerMark(*ledger_mark(catalog))
    return LedgerMark()


def _prepare_private(
    workshop: Maker, catalog: Catalog, reach: frozenset[str], key: str
) -> tuple[dict[str, TableReport], tuple[Sharing, ...], tuple[Keys, int]]:
    """Stage all private tables, rank those with named units, number the units, and write. Units are shared by all tables.

    Returns the form of the keys, and how many codes of units there are, too.
    """
    tables = [table for table in catalog.tables.values() if not table.public]
    held = stage_all(workshop, catalog, reach, key)
    key_type = held.type
    ways = _look_ups(workshop, {table.name: links(catalog, table) for table in tables}, key_type)
    keyed = [table for table in tables if own_key(table)]
    spaces, holders = coded_keys(catalog), dict[str, int | None]()
    for table in keyed:
        ranking = ranking_of(workshop, table, held, ways[table.name], tuple(map(key_name, spaces[table.name])))
        holders[table.name] = rank_rows(workshop, table, ranking, ways[table.name], key)
    codes = _codes(workshop, catalog, ways, key_type)
    units = _number_units(workshop, catalog, holders)
    reports = {}
    for table in tables:
        kept_codes = {column: codes[space] for column, space in spaces[table.name].items()}
        workshop.write(table.name, stored_rows(workshop, table, units, kept_codes, key_type), f"writing {table.name}")
        reports[table.name] = report = _report(workshop, catalog, table, ways[table.name], key_type)
        check_size(table, report.copies)
        units = units.and_further(report.unnamed if keeps_unnamed(table) else 0)
    shared = units_in_common(workshop, catalog, {table.name: ranked_name(table) for table in keyed})
    return reports, shared, (held, units.most)


def _look_ups(workshop: Maker, ways: Mapping[str, tuple[Link, ...]], key_type: str) -> dict[str, list[LookUp]]:
    """The look-ups of every table, with their pairs in tables of the engine: read from all rows, before any limit."""
    look_ups: dict[tuple[str, str], LookUp] = {}
    for link in (link for way in ways.values() for link in way if (link.table.name, link.column) not in look_ups):
        pairs = f"tacit_pairs_{len(look_ups)}"
        workshop.keep(pairs, link.pairs(key_type, known_period_sql(link.table) if link.table.period else ""))
        known, pairs = pairs, begun_pairs(workshop, link.table, pairs)
        holders = f"SELECT count(*) AS holders FROM {pairs} GROUP BY tacit_link"
        ((most,),) = workshop.rows(f"SELECT coalesce(max(holders), 0) FROM ({holders})")
        look_ups[link.table.name, link.column] = LookUp(pairs, int(most), link.table.period is not None, known)
    return {table: [look_ups[link.table.name, link.column] for link in way] for table, way in ways.items()}


def begun_pairs(workshop: Maker, table: Table, pairs: str) -> str:
    """The pairs of a look-up in a table, of periods that have begun alone, by the name of their table."""
    begun = None if table.per is None else table.per.begun
    if table.period is None:
        return pairs
    within = "FALSE" if begun is None else f"{PERIOD} BETWEEN {begun[0]} AND {begun[1]}"
    workshop.keep(f"{pairs}_begun", f"SELECT * FROM {pairs} WHERE {within}")
    return f"{pairs}_begun"


def _codes(workshop: Maker, catalog: Catalog, ways: Mapping[str, list[LookUp]], key_type: str) -> dict[Reference, str]:
    """A table of codes for each key in which others look up their unit: one code for every pair of a value and a unit.

    If the key leads to its units in one step, its pairs are known. Otherwise they are those of the ranked rows, which are few
    even if a key has a crowd of holders.
    """
    held: dict[Reference, list[tuple[Table, str]]] = {}
    for table, columns in coded_keys(catalog).items():
        for column, space in columns.items():
            held.setdefault(space, []).append((catalog.tables[table], column))
    code_tables: dict[Reference, str] = {}
    for space, holders in held.items():
        led, *further = next(ways[table.name] for table, column in holders if column == own_key(table))
        rows = (f"SELECT {key_sql(column, key_type)}, tacit_holder FROM {ranked_name(table)}" for table, column in holders)
        pairs = " UNION ".join(rows) if further else f"SELECT DISTINCT tacit_link, tacit_holder FROM {led.pairs}"
        codes = name(f"tacit_codes {'.'.join(space)}")
        named = f"SELECT * FROM ({pairs}) AS pairs (tacit_value, tacit_holder)"
        workshop.keep_numbered(codes, named, "tacit_code")
        code_tables[space] = codes
    return code_tables


def ranking_of(workshop: Maker, table: Table, keys: Keys, look_ups: list[LookUp], coded: tuple[str, ...]) -> Ranking:
    """Of the rows up to the largest limit that the data owner's report considers; fewer are stored."""
    columns, most = stored_columns(table), table.max_rows * (FACTORS[-1] if table.unit else 1)
    names_rows = table.key is not None and (table.key != own_key(table) or bool(look_ups))  # otherwise the key names the unit
    repeated = key_name(table.key or "") if names_rows and most > 1 else None  # a first row cannot repeat a key
    own, texts = key_sql(own_key(table), keys.type), frozenset(map(key_name, keys.texts_of(table)))
    placed_before = workshop is not workshop.bench
    period = period_sql(table) if table.per else ""
    led = table.period_of is not None
    return Ranking(packing_of(columns, workshop.words), own, keys, repeated, most, coded, texts, placed_before, period, led)


def rank_rows(workshop: Maker, table: Table, ranking: Ranking, look_ups: list[LookUp], key: str) -> int | None:
    """Put the ranked rows into a table of the engine; returns how many units they have, if the engine has numbered these."""
    staged, condition, words = staged_name(table), kept_rows(table), f"ranking {table.name}"
    if workshop is workshop.bench and _alone(workshop, table, ranking, condition):
        workshop.keep(ranked_name(table), ranking.alone(staged, condition), step=words)
        return None
    rows = ranking.ranked(staged, condition, look_ups)
    return workshop.keep_by_holder(ranked_name(table), rows, ranking.secrets(key), words)


def _alone(workshop: Maker, table: Table, ranking: Ranking, condition: str) -> bool:
    """Whether rows are people, each with a key of its own, which need no order. A cluster would have to move them to see it."""
    own = f"SELECT {ranking.own_key} AS own FROM {staged_name(table)} WHERE {condition}"
    return table.unit is None and workshop.rows(f"SELECT count(own) = count(DISTINCT own) FROM ({own})") == [(True,)]


class Units(NamedTuple):
    """How many units have codes; and the code of a ranked row's unit: its `tacit_number`, or what `tacit_units` says."""

    most: int
    numbered: bool

    def and_further(self, units: int) -> Units:
        return self._replace(most=self.most + units)

    def rows(self, table: Table) -> str:
        """SQL for the ranked rows with `tacit_unit`."""
        ranked = ranked_name(table)
        if self.numbered:
            return f"(SELECT *, tacit_number AS tacit_unit FROM {ranked}) AS held"
        return f"{ranked} AS held JOIN tacit_units AS units ON held.tacit_holder = units.tacit_holder"


def _number_units(workshop: Maker, catalog: Catalog, holders: Mapping[str, int | None]) -> Units:
    """Give every unit of any table a code. The codes are dense, and their order means nothing.

    `holders` are the numbers of units by table. The units of one table alone may have their codes from being ranked. A unit has
    one first row in a table, or one in each period: then the same unit comes several times.
    """
    first = {table: holder_of(catalog.tables[table]) for table in holders}
    if len(holders) == 1 and (count := next(iter(holders.values()))) is not None:
        workshop.bench.done += 1
        return Units(count, True)
    units = " UNION ".join(f"SELECT {each} FROM {_ranked_relation(table)} WHERE tacit_rank = 0" for table, each in first.items())
    return Units(workshop.keep_numbered("tacit_units", units, "tacit_unit", step="numbering units") if holders else 0, False)


def stored_rows(workshop: Maker, table: Table, units: Units, codes: Mapping[str, str], key_type: str) -> str:
    """The rows of named units by their codes, with the codes of their keys.

    Rows that are units of their own get the codes after those of the other units, and no key codes, because nothing refers to them.
    """
    columns, words = stored_columns(table), workshop.words
    values = "".join(f", {sql} AS {name(column)}" for column, sql in packing_of(columns, words).unpack().items())
    values += f", {period_sql(table)} AS {PERIOD}" if table.per else ""
    coded = "".join(f", codes_{place}.tacit_code AS {name(code_name(column))}" for place, column in enumerate(codes))
    looked_up = "".join(
        f" LEFT JOIN {table_of} AS codes_{place} ON CAST(held.{key_name(column)} AS {key_type}) = codes_{place}.tacit_value"
        f" AND held.tacit_holder = codes_{place}.tacit_holder"
        for place, (column, table_of) in enumerate(codes.items())
    )
    named = f"SELECT tacit_unit, tacit_rank{values}{coded} FROM {units.rows(table)}{looked_up} WHERE tacit_rank < {table.max_rows}"
    none = "".join(f", CAST(NULL AS {words.types.whole}) AS {name(code_name(column))}" for column in codes)
    parts = [named] if own_key(table) is not None else []
    if keeps_unnamed(table):
        rows = f"SELECT * FROM {staged_name(table)} WHERE {kept_rows(table)} AND {without_key(table)}"
        alone = f"SELECT tacit_unit, CAST(0 AS {words.types.whole}) AS tacit_rank{values}{none}"
        parts.append(f"{alone} FROM ({workshop.numbered(rows, 'tacit_unit', units.most)})")
    return " UNION ALL ".join(parts)


def keeps_unnamed(table: Table) -> bool:
    return own_key(table) is None or table.no_unit == "own"


def without_key(table: Table) -> str:
    """SQL that is true for staged rows whose own key is missing."""
    own = own_key(table)
    return "TRUE" if own is None else f"{key_name(own)} IS NULL"


def _report(workshop: Maker, catalog: Catalog, table: Table, way: list[LookUp], key_type: str) -> TableReport:
    columns = stored_columns(table)
    counts = with_examples(workshop.bench, catalog, table, tally(workshop, staged_name(table), columns))
    unnamed, shared, most = _owner_counts(workshop, table, way, key_type)
    ((copies,),) = workshop.rows(f"SELECT count(*) FROM {workshop.stored(table.name)}")
    used = f"SELECT count(DISTINCT tacit_row) FROM {ranked_name(table)} WHERE tacit_rank < {table.max_rows}"
    rows = workshop.rows(used)[0][0] if shared or table.period_of else copies
    without_unit = 0 if keeps_unnamed(table) else unnamed
    later = _not_begun(workshop, table, way, key_type)
    limit = counts.read - counts.dropped - without_unit - rows - later
    dropped = {"value": counts.dropped, "no unit": without_unit, "limit": limit, **({"not begun": later} if table.per else {})}
    sharing = {"copies": copies, "shared": shared, "most_owners": most, "alike": _alike(workshop, catalog, table, key_type)}
    larger = _would_keep(workshop, table, unnamed if keeps_unnamed(table) else 0) if table.unit and dropped["limit"] else {}
    return TableReport(table.name, False, counts.read, rows, dropped, counts.columns, unnamed=unnamed, would_keep=larger, **sharing)


def kept_rows(table: Table) -> str:
    """SQL that is true for staged rows that are stored, except for limits."""
    return stored_condition(table) if table.per else kept_condition(stored_columns(table))


def _not_begun(workshop: Maker, table: Table, way: list[LookUp], key_type: str) -> int:
    """How many rows that no value drops are of periods that have not begun."""
    if table.per is None:
        return 0
    if table.period_of is not None:
        with_unit = [_owner_counts(workshop, table, led, key_type)[0] for led in (way, [replace(each, known="") for each in way])]
        return with_unit[1] - with_unit[0]
    kept = kept_condition(stored_columns(table))
    return int(workshop.rows(f"SELECT count(*) FROM {staged_name(table)} WHERE {kept} AND NOT ({kept_rows(table)})")[0][0])


def _alike(workshop: Maker, catalog: Catalog, table: Table, key_type: str) -> dict[str, dict[str, int]]:
    """Keys that may be other spellings of one; whole numbers have one spelling. A cluster would have to move them to see it."""
    if workshop is not workshop.bench or key_type != workshop.words.types.text:
        return {}
    counts = {key: alike_keys(workshop.bench, table, key) for key in carried_keys(catalog)[table.name]}
    return {key: each for key, each in counts.items() if each}


def _would_keep(workshop: Maker, table: Table, unnamed: int) -> dict[int, int]:
    """How many copies would be stored with a larger max_rows."""
    limits = [factor * table.max_rows for factor in FACTORS]
    (counts,) = workshop.rows(
        f"SELECT {', '.join(f'count(*) FILTER (WHERE tacit_rank < {limit})' for limit in limits)} FROM {ranked_name(table)}"
    )
    return {limit: count + unnamed for limit, count in zip(limits, counts, strict=True)}


def _owner_counts(workshop: Maker, table: Table, way: list[LookUp], key_type: str) -> tuple[int, int, int]:
    """Of the rows that no value drops: how many have no unit, how many have several, and the most that one row can have."""
    rows = f"{staged_name(table)} WHERE {kept_rows(table)}"
    if not way:
        return int(workshop.rows(f"SELECT count(*) FROM {rows} AND {without_key(table)}")[0][0]), 0, 1
    own = f"SELECT {key_sql(own_key(table), key_type)} AS tacit_own FROM {rows}"
    several = "tacit_least <> tacit_largest"
    tests = (("count(*)", "tacit_least IS NULL"), ("count(*)", several), ("max(tacit_ways)", several))
    counts = [f"{what} FILTER (WHERE {test})" for what, test in tests]
    units = owners(workshop.words, *(each.known or each.pairs for each in way))
    (row,) = workshop.rows(f"SELECT {', '.join(counts)} FROM ({own}) LEFT JOIN ({units}) ON tacit_own = tacit_link")
    unnamed, shared, most = (int(count or 0) for count in row)
    return unnamed, shared, max(most, 1)


def check_size(table: Table, stored: int) -> None:
    """Refuse a table above its declared size: the bound on the work of a query depends on it. The old store stays."""
    if stored > table.most_rows:
        said = "is assumed where rows_at_most is missing" if table.rows_at_most is None else "is declared as rows_at_most"
        section = key_text(("tables", table.name))
        line = "rows_at_most = 10000000, 100000000 or 1000000000"  # a ladder: never what was counted
        raise StoreUnusable(
            f"{table.name} has more rows than {table.most_rows:,}, which {said}; the old store stays",
            remedy=f"raise rows_at_most in [{section}], or lower max_rows"
            if table.rows_at_most is not None
            else f"declare the most rows that it can ever have, from public knowledge, in [{section}]: {line}",
        )


def _prepare_public(workshop: Workshop, catalog: Catalog, table: Table) -> tuple[dict[str, Column], TableReport]:
    """Copy a public table, with its declared columns and those found in the data."""
    columns, left_out, rows = _public_columns(workshop, catalog, table)
    workshop.keep(ranked_name(table), cleaned_rows(workshop, columns, rows, {}))
    values = ", ".join(f"{sql} AS {name(column)}" for column, sql in packing_of(columns, workshop.words).unpack().items())
    workshop.write(
        table.name, f"SELECT {values} FROM {ranked_name(table)} WHERE {kept_condition(columns)}", f"writing {table.name}"
    )
    counts = examples_in(workshop, columns, rows, tally(workshop, ranked_name(table), columns))
    dropped = {"value": counts.dropped, "no unit": 0, "limit": 0}
    stored = counts.read - counts.dropped
    return columns, TableReport(table.name, True, counts.read, stored, dropped, counts.columns, left_out, copies=stored)


def _public_columns(workshop: Workshop, catalog: Catalog, table: Table) -> tuple[dict[str, Column], dict[str, str], Rows]:
    """The columns of a public table as they will be stored, those that are left out, and the rows as read."""
    seen: list[Rows] = []

    def select(rows: Rows) -> str:
        seen.append(rows)
        check_columns(table, rows, table.columns)
        return f"SELECT {', '.join(f'{raw.sql} AS {name(key)}' for key, raw in rows.columns.items())} FROM {rows.relation}"

    read(workshop, catalog, table, None, select)
    raws = {key: Raw(name(key), raw.type, words=raw.words) for key, raw in seen[-1].columns.items()}
    undeclared = {key: raw for key, raw in raws.items() if key not in table.columns}
    shown = found_columns(workshop, staged_name(table), undeclared, seen[-1].typed, table.notation)
    readings = {key: table.columns.get(key) or shown[key] for key in raws}
    columns = {key: column for key, column in readings.items() if isinstance(column, Column)}
    if not columns:
        raise InvalidCatalog(f"the public table {table.name} has no column that can be read; declare one")
    left_out = {key: reason for key, reason in readings.items() if isinstance(reason, str)}
    return columns, left_out, Rows(staged_name(table), raws, seen[-1].typed)


def holder_of(table: Table) -> str:
    """SQL for the holders of first rows of a table, each once."""
    return "DISTINCT tacit_holder" if table.per is not None else "tacit_holder"


def ranked_name(table: Table) -> str:
    return _ranked_relation(table.name)


def _ranked_relation(table: str) -> str:
    return name(f"tacit_ranked {table}")


# --- the engine that makes a store --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Making:
    """The engine that makes a store, and what it does besides.

    `describe` writes the description of the finished store, `near` gives the catalog with sources that this machine reads, and
    `replaced` removes what the new store has replaced. `notes` are for the data owner.
    """

    maker: Maker
    describe: Callable[[StoreInfo], None]
    near: Callable[[Catalog], Catalog]
    replaced: Callable[[], object] = lambda: None
    notes: tuple[str, ...] = ()


@contextmanager
def made_here(bench: Workshop, catalog: Catalog, folder: Path) -> Iterator[Making]:
    """By the embedded engine, in one file."""
    with bench.store(folder / store_file(catalog).name):
        yield Making(bench, lambda info: write_info(bench.engine, "store", info), lambda given: given)


def _made_on_spark(bench: Workshop, catalog: Catalog, folder: Path) -> AbstractContextManager[Making]:
    """By a cluster, with its module, which the embedded engine never loads."""
    from tacit.data.spark.making import made_on_spark

    return made_on_spark(bench, catalog, folder)


MAKING: Mapping[str, Callable[[Workshop, Catalog, Path], AbstractContextManager[Making]]] = {
    "duckdb": made_here,
    "spark": _made_on_spark,
}
