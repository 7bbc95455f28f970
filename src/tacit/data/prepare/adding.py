"""`prepare --add`: new rows beside the old ones, at the work of what is new and of the periods that it changes.

A store with periods is a set of files that never change. An addition writes new ones: the periods that got rows, whole, and what
must be kept for the next addition (keeping.py). The description of the store, which names its files, is replaced last, as a whole.

Which periods got rows is not told: every period that is not closed gets a new version, whatever came, and no closed one (store.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.data.dialect import DIALECTS, name, text
from tacit.data.engine import Progress, Workshop
from tacit.data.files.kinds import existing, kind_by_pattern
from tacit.data.ownership import carried_keys, links, own_key, staged_name
from tacit.data.prepare import (
    Units,
    check_size,
    holder_of,
    in_our_words,
    keeps_unnamed,
    kept_rows,
    rank_rows,
    ranked_name,
    ranking_of,
    stored_rows,
    with_alarms,
    without_key,
)
from tacit.data.prepare.by_period import PERIOD, period_sql
from tacit.data.prepare.keeping import (
    TEXT,
    WHOLE,
    bring_back,
    dated,
    joined_with,
    mark_of,
    named_anew,
    number_of,
    open_runs,
    read_arrivals,
    read_sizes,
    write_arrivals,
    write_codes,
    write_sizes,
    write_waiting,
    written,
)
from tacit.data.prepare.packing import KeyForm, Keys, settle_keys
from tacit.data.prepare.ranking import ranking_key
from tacit.data.prepare.staging import Tally, kept_condition, stage, stored_columns, tally, with_examples
from tacit.data.prepare.verdict import NotAccepted, Prepared, TableReport
from tacit.data.store import (
    NAMES,
    ROWS,
    UNITS,
    WAITING,
    Held,
    StoredFile,
    StoreInfo,
    new_info,
    new_store_folder,
    open_store,
    store_file,
    store_info,
    stored_files,
    write_files,
    write_info,
)
from tacit.errors import InvalidCatalog, InvalidInput, StoreUnusable
from tacit.files import link_or_copy
from tacit.privacy.catalog import Catalog, Table, having_begun, prepared_under
from tacit.privacy.periods import Per, Runs, both, contains, merged, renewed, runs_of

Given = Mapping[str, Sequence[Path]]
NEW = "tacit_new_units"
NONE = (1, 0)  # a run of no periods
MOST_NAMED = 5  # files in a note
ONLY_WITH_PERIODS = 'add needs per in [budget], for example per = "month"; without periods, prepare everything again'


def given_files(catalog: Catalog, files: Sequence[str | Path]) -> Given:
    """The files to add by table: TABLE=FILE, or FILE alone where one private table has periods."""
    tables = [table.name for table in dated(catalog)]
    if not tables:
        raise InvalidInput(ONLY_WITH_PERIODS, argument="add")
    given: dict[str, list[Path]] = {}
    for each in files:
        table, equals, file = str(each).partition("=")
        if not equals or table.lower() not in catalog.tables:
            if len(tables) != 1:
                raise InvalidInput(f"say which table a file is of: {tables[0]}=FILE, one of {', '.join(tables)}", argument="add")
            table, file = tables[0], str(each)
        given.setdefault(table.lower(), []).append(existing(file).absolute())
    return given


def registered(catalog: Catalog, given: Given) -> Catalog:
    """The catalog of the named tables with the given files as sources, by which the register recognizes them."""
    tables = {}
    for table in (catalog.tables[each] for each in given if each in catalog.tables):
        for place, file in enumerate(given[table.name]):
            source = replace(table.source, location=str(file), declared=file.name)
            label = f"{table.name} {place}"
            tables[label] = replace(table, name=label, source=source)
    return replace(catalog, tables=tables)


def check_addition(catalog: Catalog, info: StoreInfo | None, given: Given) -> tuple[StoreInfo, Per]:
    """Refuse, by declarations and the store's description alone, what cannot be added; returns that description."""
    if catalog.per is None:
        raise InvalidInput(ONLY_WITH_PERIODS, argument="add")
    if info is None:
        raise StoreUnusable("there is nothing to add to: no data has been prepared", remedy="run: tacit prepare")
    if (per := catalog.per).begun is None or prepared_under(catalog, info.fingerprint) is None:
        raise StoreUnusable("the catalog changed after the data was prepared, so nothing can be added", remedy="run: tacit prepare")
    if info.closed is not None and (per.closed is None or per.closed < info.closed):
        closed = per.calendar.name(info.closed)
        raise InvalidCatalog(
            f'{closed} was closed when rows were last prepared, and stays closed; write closed = "{closed}" or later'
        )
    led = {table: link.table.name for table in _private(catalog) for link in links(catalog, catalog.tables[table])}
    for table in (catalog.tables[each] for each in given):
        _check_table(table, {*led, *led.values()}, given[table.name])
    return info, per


def _private(catalog: Catalog) -> list[str]:
    return [table.name for table in catalog.tables.values() if not table.public]


def _check_table(table: Table, led: Collection[str], files: Sequence[Path]) -> None:
    """Refuse a table to which nothing can be added, and files that are not of its kind."""
    remedy = "prepare everything again: tacit prepare"
    if table.public:
        raise InvalidInput(f"{table.name} is public, and rows are added to private tables alone; {remedy}", argument="add")
    if table.name in led:
        raise InvalidInput(
            f"{table.name} is a table in which units are looked up, or one that looks them up; {remedy}", argument="add"
        )
    if table.source.kind not in ("csv", "parquet"):
        raise InvalidInput(
            f"{table.name} is not read from files, and only CSV and Parquet files are added; {remedy}", argument="add"
        )
    for file in files:
        if kind_by_pattern(file.name) != table.source.kind:
            raise InvalidInput(f"{file.name} cannot be added to {table.name}: expected a {table.source.kind} file", argument="add")


@dataclass(frozen=True, slots=True)
class Before:
    """The files of the store before an addition, and the databases under which those with codes of units are attached."""

    files: tuple[StoredFile, ...]
    units: tuple[str, ...]

    def of(self, kind: str) -> list[StoredFile]:
        """Its files of a kind, the oldest first."""
        return [each for each in self.files if each.kind == kind]


@dataclass(frozen=True, slots=True)
class Came:
    """The counts of a table's new rows, and the periods that got some."""

    counts: Tally
    unnamed: int
    later: int
    closed: int
    touched: Runs


def add(catalog: Catalog, given: Given, progress: Progress | None = None, *, memory: str = "60%", accept: bool = True) -> Prepared:
    """Prepare new files beside the store of a catalog with periods, and replace its description when all is complete.

    Rows of periods that have not begun or are closed are left out, and counted. A named table without periods is replaced.
    """
    check_addition(catalog, store_info(catalog), given)
    with new_store_folder(catalog) as folder, in_our_words(memory):
        info, per = check_addition(catalog, store_info(catalog), given)
        told = new_info(catalog, info.ledger, info.head, info.public)
        told = replace(told, versions=renewed(info.versions, per.closed, told.begun or NONE, told.version), added=info.added + 1)
        bench = Workshop(folder / "spill", memory, progress, 3 * len(given), words=DIALECTS["duckdb"])
        with closing(bench.engine):
            before = _attached(bench, catalog, info)
            opened, key = having_begun(catalog, replace(per, begun=(*open_runs(per), NONE)[0])), ranking_key(catalog.kept)
            arrived = Arrived.of(catalog, given, read_arrivals(bench, before.units[-1]), key)
            files, reports = _added(bench, _sources(opened, arrived, folder), before, folder, arrived)
            prepared = Prepared(store_file(catalog), told.version, tuple(map(with_alarms, reports)), notes=arrived.notes)
            if prepared.alarms and not accept:
                raise NotAccepted(prepared)
            with bench.store(folder / store_file(catalog).name):
                write_info(bench.engine, "store", told)
                write_files(bench.engine, "store", files)
    if progress is not None:
        progress("prepared", 1.0)
    return prepared


@dataclass(frozen=True, slots=True)
class Arrived:
    """The files of an addition that are new, by table, and the ranking key; `seen` are the marks of all files that were ever added.

    A file that has the name and the content of one that was added to the same table is left out, so that an addition can be
    repeated whose end the owner did not see. Versions do not follow from that: they are renewed in any case.
    """

    files: Given
    key: str
    seen: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, catalog: Catalog, given: Given, seen: Collection[str], key: str) -> Arrived:
        """The files that are new."""
        marks = {(table, file): mark_of(key, table, file) for table, files in given.items() for file in files}
        before = {place for place, mark in marks.items() if catalog.tables[place[0]].per is not None and mark in seen}
        files = {table: [file for file in each if (table, file) not in before] for table, each in given.items()}
        names = ", ".join(sorted({file.name for _, file in before})[:MOST_NAMED])
        notes = (f"skipped, since they were added before: {names}{', ...' if len(before) > MOST_NAMED else ''}",) if before else ()
        new = {table: each for table, each in files.items() if each}
        return cls(new, key, tuple(sorted({*seen, *marks.values()})), notes)


def _sources(catalog: Catalog, arrived: Arrived, folder: Path) -> Catalog:
    """The catalog of the named tables alone, in which no unit is looked up; their sources are the files, gathered in a folder."""
    tables, given = dict[str, Table](), arrived.files
    for table in (catalog.tables[each] for each in given):
        place = folder / f"given-{len(tables)}"
        place.mkdir()
        for number, file in enumerate(given[table.name]):
            (place / f"{number:06}-{file.name}").symlink_to(file)
        source = replace(table.source, location=str(place), declared=given[table.name][0].name)
        unit = None if table.unit is None else replace(table.unit, references=None)
        tables[table.name] = replace(table, source=source, unit=unit)
    return replace(catalog, tables=tables)


def _attached(bench: Workshop, catalog: Catalog, info: StoreInfo) -> Before:
    """The files of the store, the first of them to be linked to if it is one file so far; those with codes are attached."""
    with closing(open_store(store_file(catalog))) as engine:
        files = stored_files(engine)
    units = [each for each in files if each.kind == UNITS]
    if not units:
        raise StoreUnusable("this store cannot be added to: an earlier version made it", remedy="run: tacit prepare")
    for place, each in enumerate(units):
        bench.run(f"ATTACH {text(str(catalog.store_folder / each.file))} AS units_{place} (READ_ONLY)")
    if not info.added:
        runs = () if info.begun is None else (info.begun,)
        first = {table.name: Held(runs if table.per is not None else None) for table in catalog.tables.values()}
        files = (StoredFile(named_anew(ROWS), ROWS, 0, first), *files)
    return Before(files, tuple(f"units_{place}" for place in range(len(units))))


def _added(
    bench: Workshop, catalog: Catalog, before: Before, folder: Path, arrived: Arrived
) -> tuple[list[StoredFile], list[TableReport]]:
    """Stage the new rows, bring the waiting ones of their periods back, rank them together, and write the files of an addition."""
    tables, forms, came = list(catalog.tables.values()), dict[str, dict[str, KeyForm]](), dict[str, Came]()
    for table in tables:
        forms[table.name] = stage(bench, catalog, table, carried_keys(catalog)[table.name])
        came[table.name] = _came(bench, catalog, table)
    touched = {table: each.touched for table, each in came.items()}
    waiting = _bring_back(bench, catalog, before, forms, touched, folder.parent)
    keys = settle_keys(bench, catalog.tables, forms)
    for table in (each for each in tables if own_key(each)):
        rank_rows(bench, table, ranking_of(bench, table, keys, [], ()), [], arrived.key)
    units = _number(bench, [table for table in tables if own_key(table)], keys, before)
    sizes = read_sizes(bench, before.units[-1])
    part, new_units, new_waiting = named_anew(ROWS), named_anew(UNITS), named_anew(WAITING)
    with bench.store(folder / part):
        reports = []
        for table in tables:
            bench.write(table.name, stored_rows(bench, table, units, {}, keys.type), f"writing {table.name}")
            units = units.and_further(_unnamed(bench, table) if keeps_unnamed(table) else 0)
            reports.append(_report(bench, catalog, table, came[table.name], _rows_before(table, sizes, touched[table.name])))
        rows = _rows_files(bench, catalog, before, StoredFile(part, ROWS, 1, _own(catalog, touched)), folder)
        with written(bench, folder / new_units):
            taken, weight = joined_with([each.weight for each in before.of(UNITS)])
            write_codes(bench, NEW, keys.type, units.most, before.units[len(before.units) - taken :])
            others = {place: size for place, size in sizes.items() if not _is_new(place, catalog, touched)}
            sizes = write_sizes(bench, catalog, others)
            write_arrivals(bench, arrived.seen)
        for table in tables:
            check_size(table, sum(size for (of, _), size in sizes.items() if of == table.name))
    with written(bench, folder / new_waiting):
        held = write_waiting(bench, catalog, touched)
    codes = before.of(UNITS)
    files = [*rows, *codes[: len(codes) - taken], StoredFile(new_units, UNITS, weight), *waiting]
    return [*files, *([StoredFile(new_waiting, WAITING, 1, held)] if held else [])], reports


def _came(bench: Workshop, catalog: Catalog, table: Table) -> Came:
    """The counts of the staged rows of a table; no others are staged yet."""
    staged, kept = staged_name(table), kept_condition(stored_columns(table))
    counts = with_examples(bench, catalog, table, tally(bench, staged, stored_columns(table)))
    unnamed = _unnamed(bench, table)
    if table.per is None or table.per.begun is None:
        return Came(counts, unnamed, 0, 0, ())
    period, (first, last) = period_sql(table), table.per.begun
    found = bench.rows(f"SELECT {period} AS {PERIOD}, count(*) FROM {staged} WHERE {kept} GROUP BY {PERIOD}")
    closed = -1 if table.per.closed is None else table.per.closed
    outside = {at: count for at, count in found if not first <= at <= last}
    late = sum(count for at, count in outside.items() if at <= closed)
    return Came(counts, unnamed, sum(outside.values()) - late, late, runs_of(at for at, _ in found if first <= at <= last))


def _unnamed(bench: Workshop, table: Table) -> int:
    """How many staged rows that are stored have no key."""
    return int(bench.rows(f"SELECT count(*) FROM {staged_name(table)} WHERE {kept_rows(table)} AND {without_key(table)}")[0][0])


def _bring_back(
    bench: Workshop,
    catalog: Catalog,
    before: Before,
    forms: Mapping[str, dict[str, KeyForm]],
    touched: Mapping[str, Runs],
    folder: Path,
) -> list[StoredFile]:
    """Put the waiting rows of the periods that got rows beside these; returns the files that others still wait in."""
    left = []
    for place, each in enumerate(before.of(WAITING)):
        needed = {table: both(held.runs or (), touched.get(table, ())) for table, held in each.holds.items()}
        if any(needed.values()):
            bench.run(f"ATTACH {text(str(folder / each.file))} AS waiting_{place} (READ_ONLY)")
        for table, runs in ((table, runs) for table, runs in needed.items() if runs):
            bring_back(bench, catalog.tables[table], forms[table], f"waiting_{place}", Held(runs, cut=True).condition)
        known = {table: held.within(_open(catalog), touched.get(table, ())) for table, held in each.holds.items()}
        if holds := {table: held for table, held in known.items() if held is not None}:
            left.append(replace(each, holds=holds))
    return left


def _open(catalog: Catalog) -> Runs:
    """The periods that are open, in a catalog in which these alone have begun."""
    begun = None if catalog.per is None else catalog.per.begun
    return () if begun is None or begun == NONE else (begun,)


def _number(bench: Workshop, tables: Sequence[Table], keys: Keys, before: Before) -> Units:
    """Give every unit of the ranked rows its code: the one that it has, or a new one."""
    ((codes,),) = bench.rows(f"SELECT codes FROM {before.units[-1]}.tacit_codes")
    if not tables:
        bench.keep(NEW, f"SELECT CAST(NULL AS {keys.type}) AS tacit_holder, 0 AS tacit_unit LIMIT 0")
        return Units(codes, numbered=False)
    types = bench.words.types
    holders = " UNION ".join(f"SELECT {holder_of(table)} FROM {ranked_name(table)} WHERE tacit_rank = 0" for table in tables)
    whole, other = (" UNION ALL ".join(f"SELECT * FROM {each}.{codes_of}" for each in before.units) for codes_of in (WHOLE, TEXT))
    if keys.type == types.whole:
        known = f"SELECT held.*, known.tacit_unit FROM ({holders}) AS held LEFT JOIN ({whole}) AS known ON tacit_holder = tacit_key"
    else:
        number, as_text = number_of("tacit_holder", bench)
        known = (
            f"SELECT held.*, coalesce(whole.tacit_unit, other.tacit_unit) AS tacit_unit FROM ({holders}) AS held "
            f"LEFT JOIN ({whole}) AS whole ON {number} = whole.tacit_key "
            f"LEFT JOIN ({other}) AS other ON CASE WHEN {number} IS NULL THEN {as_text} END = other.tacit_key"
        )
    bench.keep("tacit_known", known, step="numbering units")
    unknown = "SELECT tacit_holder FROM tacit_known WHERE tacit_unit IS NULL"
    bench.keep(NEW, bench.numbered(unknown, "tacit_unit", codes))
    bench.keep("tacit_units", f"SELECT * FROM tacit_known WHERE tacit_unit IS NOT NULL UNION ALL SELECT * FROM {NEW}")
    return Units(codes + int(bench.rows(f"SELECT count(*) FROM {NEW}")[0][0]), numbered=False)


def _is_new(place: tuple[str, int | None], catalog: Catalog, touched: Mapping[str, Runs]) -> bool:
    """Whether the rows of a table, or of one of its periods, are written anew."""
    table, at = place
    return table in catalog.tables and (at is None or contains(touched[table], at))


def _rows_before(table: Table, sizes: Mapping[tuple[str, int | None], int], touched: Runs) -> int:
    """How many rows the periods that got rows had before."""
    return sum(size for (of, at), size in sizes.items() if of == table.name and at is not None and contains(touched, at))


def _report(bench: Workshop, catalog: Catalog, table: Table, came: Came, before: int) -> TableReport:
    """The counts of what came: how many of the rows were kept, and why others were not."""
    ((now,),) = bench.rows(f"SELECT count(*) FROM {bench.stored(table.name)}")
    kept, counts = now - before, came.counts
    without_unit = 0 if keeps_unnamed(table) else came.unnamed
    limit = counts.read - counts.dropped - without_unit - came.later - came.closed - kept
    dropped = {"value": counts.dropped, "no unit": without_unit, "limit": limit}
    dropped |= {"not begun": came.later, "closed": came.closed} if table.per else {}
    return TableReport(table.name, False, counts.read, kept, dropped, counts.columns, unnamed=came.unnamed, copies=kept)


def _own(catalog: Catalog, touched: Mapping[str, Runs]) -> dict[str, Held]:
    """The rows of the named tables in a part: those of the periods that got some, or all."""
    dated_ones = {table.name for table in dated(catalog)}
    held = {table: Held(touched[table] if table in dated_ones else None) for table in catalog.tables}
    return {table: each for table, each in held.items() if each.runs is None or each.runs}


def _rows_files(bench: Workshop, catalog: Catalog, before: Before, part: StoredFile, folder: Path) -> list[StoredFile]:
    """The files that questions read after an addition; some of the last ones are joined with the new part, as `store`."""
    left = []
    for each in before.of(ROWS):
        known = {
            table: held.without(part.holds[table].runs or ()) if table in part.holds else held for table, held in each.holds.items()
        }
        if counting := {table: held for table, held in known.items() if held is not None}:
            left.append(replace(each, holds=counting))
    taken, weight = joined_with([each.weight for each in left])
    kept, joined = left[: len(left) - taken], left[len(left) - taken :]
    holds: dict[str, Held] = dict(part.holds)
    for place, each in enumerate(joined):
        bench.run(f"ATTACH {text(str(folder.parent / each.file))} AS joined_{place} (READ_ONLY)")
        for table, held in each.holds.items():
            rows = f"SELECT * FROM joined_{place}.{name(table)} WHERE {held.condition}"
            there = table in catalog.tables or table in holds
            bench.run(f"INSERT INTO {bench.stored(table)} {rows}" if there else f"CREATE TABLE {bench.stored(table)} AS {rows}")
            own = holds[table].runs if table in holds else ()
            holds[table] = Held(None if held.runs is None else merged((*(own or ()), *held.runs)))
    first = next((each for each in left if not each.weight), None)
    if first is not None and not (folder.parent / first.file).exists():
        link_or_copy(folder.parent / NAMES["duckdb"], folder / first.file)  # the store of before is the first part
    return [*kept, *([replace(part, weight=weight, holds=holds)] if holds else [])]
