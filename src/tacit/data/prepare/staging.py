"""The rows of one source, cleaned and with their keys, in a table of the workshop; and the tally of what was cleaned."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import zip_longest

from tacit.data.dialect import DUCKDB, Dialect, name, text
from tacit.data.engine import EngineError, Maker, OutOfMemory, UnknownTable, Unreachable, UnreadableRow, Workshop
from tacit.data.files.kinds import missing_columns
from tacit.data.files.raw import OnGrid, Raw, named, without_missing, written
from tacit.data.files.sources import MENDING, OF_TEXTS, READERS, Rows, Wanted
from tacit.data.ownership import carried_keys, key_name, staged_name
from tacit.data.prepare.cleaning import FATES, clean_column, fates_that_drop, possible, prepared_value
from tacit.data.prepare.grids import Cleaning, is_plain, on_grid
from tacit.data.prepare.packing import KeyForm, Keys, packing_of, settle_keys, text_name
from tacit.data.prepare.verdict import TOLD, ColumnReport, likely_cause
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.privacy.catalog import AS_WRITTEN, BLANKS, MEMORY, SPACES, Catalog, Column, KeyRule, Kind, Notation, Table

MOST_COUNTS = 100  # in one statement
MOST_LOOKED_AT = 100_000  # rows searched for an example
LONGEST_EXAMPLE = 100
TROUBLES: tuple[tuple[type[EngineError], str], ...] = (
    (UnknownTable, "names a table that is not there; correct `table`"),
    (Unreachable, "cannot be read, or the disk of the store is full; check both"),
)
UNREADABLE = (OSError, EOFError, zlib.error)  # for files that are not what their names say; their messages may quote bytes


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows were read, how many of them a value drops, and the fates by column."""

    read: int
    dropped: int
    columns: tuple[ColumnReport, ...]

    @property
    def by_name(self) -> dict[str, ColumnReport]:
        return {column.name: column for column in self.columns}


def stage(workshop: Workshop, catalog: Catalog, table: Table, keys: tuple[str, ...]) -> dict[str, KeyForm]:
    """Read the declared columns and keys of a private table's source into the workshop; returns the forms of the keys."""
    forms: dict[str, KeyForm] = {}

    def select(rows: Rows) -> str:
        query, key_forms = staged_rows(workshop, table, keys, rows)
        forms.update(key_forms)
        return query

    read(workshop, catalog, table, wanted_kinds(table, keys), select)
    return forms


def wanted_kinds(table: Table, keys: Collection[str]) -> dict[str, Kind | OnGrid]:
    """The columns of a private table's source that are read, and as what."""
    return {**_kinds(table), **{key: _kind_of_key(table, key) for key in keys}}


def staged_rows(workshop: Workshop, table: Table, keys: Collection[str], rows: Rows) -> tuple[str, dict[str, KeyForm]]:
    """SQL for the cleaned rows of a private table with their keys, and the forms of these."""
    check_columns(table, rows, wanted_kinds(table, keys))
    raws = {key: without_missing(rows.columns[key], notation_of(table, key)) for key in keys}
    rules = {key: table.rule_of(key) for key in keys}
    carried = {key_name(key): raw.number or _key(raw, rules[key]) for key, raw in raws.items()}
    texts = {text_name(key): _key(raw, rules[key]) for key, raw in raws.items() if raw.number}
    forms = {key: KeyForm(_key_type(raw), raw.number is not None) for key, raw in raws.items()}
    return cleaned_rows(workshop, stored_columns(table), rows, {**carried, **texts}), forms


def _kind_of_key(table: Table, key: str) -> Kind:
    """A key of a source of texts is a text to the reader if more is made of it than a key, or if texts stand for missing ones."""
    as_text = table.source.kind in OF_TEXTS and (
        key in stored_columns(table) or notation_of(table, key).missing or table.rule_of(key) != AS_WRITTEN
    )
    return "text" if as_text else "key"


def read(workshop: Workshop, catalog: Catalog, table: Table, wanted: Wanted, select: Callable[[Rows], str]) -> None:
    """Put the rows that `select` makes of a source into the staged table; a file that the engine's own reader rejects is mended."""
    readers = [each[table.source.kind] for each in (READERS, MENDING) if table.source.kind in each]
    for reader in readers:
        run: Rows | None = None
        try:
            with reader(workshop, catalog, table.source, wanted) as rows:
                workshop.keep(staged_name(table), select(rows), step=f"reading {table.name}")
                while (run := (rows if run is None else run).further()) is not None:
                    workshop.run(f"INSERT INTO {staged_name(table)} {select(run)}", f"reading {table.name}")
            return
        except OutOfMemory:
            raise
        except UNREADABLE:
            raise InvalidCatalog(f"the source of {table.name} cannot be read as {table.source.kind}; check its files") from None
        except EngineError as error:
            if reader is readers[-1] or not isinstance(error, UnreadableRow):
                raise unusable(table, error) from None


def _kinds(table: Table, as_written: bool = False) -> dict[str, Kind | OnGrid]:
    """The kinds of the columns; a source of texts places plain numbers on their grid, unless they are to be shown as written."""
    kinds: dict[str, Kind | OnGrid] = {key: column.kind for key, column in table.columns.items()}
    if table.source.kind == "postgres":  # a moment in words has its offset
        return kinds | {key: "text" for key, column in table.columns.items() if column.zone is not None}
    if table.source.kind not in OF_TEXTS:
        return kinds
    numbers = [column for column in table.columns.values() if column.kind == "number"]
    return {**kinds, **{column.name: on_grid(column) if is_plain(column) and not as_written else "text" for column in numbers}}


def notation_of(table: Table, key: str) -> Notation:
    """How a column of a table is written, declared or not."""
    return table.columns[key].notation if key in table.columns else table.notation


def stored_columns(table: Table) -> dict[str, Column]:
    """The declared columns that the store contains: all except keys, which the units' codes represent."""
    return {key: column for key, column in table.columns.items() if column.kind != "key"}


def cleaned_rows(workshop: Workshop, columns: Mapping[str, Column], rows: Rows, carried: Mapping[str, str]) -> str:
    """SQL for packed rows of the columns and their fates, with the `carried` columns unchanged."""
    plans = _plans(workshop, columns, rows)
    query = _with_fates(workshop.words, plans, rows, carried)
    fates = [fate_name(key) for key in plans]
    prepared = {key: prepared_value(columns[key], fate_name(key), plan.code, workshop.words) for key, plan in plans.items()}
    values = packing_of(columns, workshop.words).pack(prepared)
    return f"SELECT {', '.join([*carried, *fates, _aliases(values)] if plans else [*carried] or ['*'])} FROM ({query})"


def _plans(workshop: Workshop, columns: Mapping[str, Column], rows: Rows) -> dict[str, Cleaning]:
    return {
        key: clean_column(column, replace(rows.columns[key], alias=f"tacit {key}"), workshop) for key, column in columns.items()
    }


def _with_fates(
    words: Dialect, plans: Mapping[str, Cleaning], rows: Rows, carried: Mapping[str, str], most: int | None = None
) -> str:
    """SQL for the rows, or the first of them, with the fates of all columns and the parts these are computed from."""
    first = {**carried, **_merge_layers(plan.layers[:1] for plan in plans.values())}
    limit = "" if most is None else f" LIMIT {most}"
    query = f"SELECT {_aliases(first) or '0 AS tacit_row'} FROM {rows.relation}{limit}"
    for layer in list(zip_longest(*(plan.layers for plan in plans.values()), fillvalue={}))[1:]:
        query = f"SELECT *, {_aliases(_merge_layers([layer]))} FROM ({query})"
    fates = {fate_name(key): f"CAST({plan.fate} AS {words.types.small})" for key, plan in plans.items()}
    return f"SELECT *, {_aliases(fates)} FROM ({query})" if fates else query


def with_examples(workshop: Workshop, catalog: Catalog, table: Table, counts: Tally) -> Tally:
    """The tally of a private table with an example of an unreadable value, if the first rows contain one."""
    odd = {key: column for key, column in stored_columns(table).items() if _odd(counts, key)}
    readers = [each[table.source.kind] for each in (READERS, MENDING) if table.source.kind in each] if odd else []
    for reader in readers:
        with suppress(*UnreadableRow), reader(workshop, catalog, table.source, _kinds(table, as_written=True)) as rows:
            return examples_in(workshop, odd, rows, counts)
    return counts


def examples_in(workshop: Workshop, columns: Mapping[str, Column], rows: Rows, counts: Tally) -> Tally:
    """The same, from rows that already exist."""
    odd = {key: column for key, column in columns.items() if _odd(counts, key)}
    asked = [(key, fate) for key in odd for fate in _odd(counts, key)]
    if not asked:
        return counts
    seen = {name(f"tacit_seen {key}"): f"left({written(rows.columns[key])}, {LONGEST_EXAMPLE})" for key in odd}
    values = [
        f"any_value(CASE WHEN {fate_name(key)} = {FATES.index(fate)} THEN {name(f'tacit_seen {key}')} END)" for key, fate in asked
    ]
    looked_at = _with_fates(workshop.words, _plans(workshop, odd, rows), rows, seen, MOST_LOOKED_AT)
    (row,) = workshop.rows(f"SELECT {', '.join(values)} FROM ({looked_at})")
    shown: dict[str, dict[str, str]] = {key: {} for key in odd}
    for (key, fate), value in zip(asked, row, strict=True):
        if value is not None:
            shown[key][fate] = value
    return replace(counts, columns=tuple(_report_with_examples(each, odd, shown, rows) for each in counts.columns))


def _odd(counts: Tally, key: str) -> list[str]:
    """The fates of a column that an example explains."""
    return [fate for fate in TOLD if counts.by_name[key].fates.get(fate)]


def _report_with_examples(
    report: ColumnReport, odd: Mapping[str, Column], shown: Mapping[str, Mapping[str, str]], rows: Rows
) -> ColumnReport:
    if report.name not in odd:
        return report
    values = shown[report.name]
    as_text = rows.columns[report.name].nature in ("text", "bytes")
    causes = {fate: likely_cause(odd[report.name], fate, value) for fate, value in values.items() if as_text or fate != "rounded"}
    return replace(report, as_text=as_text, examples=values, causes=causes)


def kept_condition(columns: Mapping[str, Column]) -> str:
    """SQL that is true for staged rows that no value drops."""
    dropped = {key: fates_that_drop(column) for key, column in columns.items()}
    tests = [f"{fate_name(key)} NOT IN {(*fates, 255)}" for key, fates in dropped.items() if fates]
    return " AND ".join(tests) or "TRUE"


def tally(workshop: Maker, relation: str, columns: Mapping[str, Column]) -> Tally:
    """The counts of a table's staged rows, of dropped ones, and of the fates in columns with a value that is not clean."""
    whole = ["count(*)", f"count(*) FILTER (WHERE NOT ({kept_condition(columns)}))"]
    rows, dropped, *largest = _each(workshop, relation, [*whole, *(f"max({fate_name(key)})" for key in columns)])
    odd = {key for key, top in zip(columns, largest, strict=True) if top}
    asked = [(key, fate) for key in columns if key in odd for fate in possible(columns[key])]
    counts = _each(workshop, relation, [f"count(*) FILTER (WHERE {fate_name(key)} = {fate})" for key, fate in asked])
    by_column = {key: {FATES[fate]: 0 for fate in possible(column)} for key, column in columns.items()}
    for (key, fate), count in zip(asked, counts, strict=True):
        by_column[key][FATES[fate]] = count
    return Tally(rows, dropped, tuple(ColumnReport(key, fates) for key, fates in by_column.items()))


def _each(workshop: Maker, relation: str, wanted: list[str]) -> list[int]:
    """Aggregates of all rows, with few of them in a statement, since planning time grows with their square."""
    some = (wanted[start : start + MOST_COUNTS] for start in range(0, len(wanted), MOST_COUNTS))
    return [value for each in some for value in workshop.rows(f"SELECT {', '.join(each)} FROM {relation}")[0]]


def fate_name(column: str) -> str:
    """The column of a staged table for the fates of another column."""
    return name(f"tacit_fate {column}")


def _key(raw: Raw, rule: KeyRule) -> str:
    kind = _key_type(raw)
    return f"nullif({one_spelling(named(raw), rule)}, '')" if kind == raw.words.types.text else f"CAST({raw.sql} AS {kind})"


def one_spelling(sql: str, rule: KeyRule) -> str:
    """SQL of the embedded engine for the one spelling of a key that its rule leaves."""
    sql = f"trim({sql}, {text(BLANKS + SPACES)})" if rule.trim else sql
    sql = DUCKDB.composed(f"lower({sql})") if rule.case else sql
    return DUCKDB.replaced(sql, "^0+([0-9]+)$", 1) if rule.zeros else sql


ALIKE: Mapping[str, KeyRule] = {
    "blanks": KeyRule(trim=True),
    "case": KeyRule(case="lower"),
    "zeros before a number": KeyRule(zeros=True),
}


def alike_keys(workshop: Workshop, table: Table, key: str) -> dict[str, int]:
    """How many keys of a staged table differ from another in blanks, case or leading zeros only; for the data owner alone."""
    keys = f"SELECT DISTINCT CAST({key_name(key)} AS {workshop.words.types.text}) AS k FROM {staged_name(table)}"
    counts = ", ".join(f"count(k) - count(DISTINCT {one_spelling('k', rule)})" for rule in ALIKE.values())
    (row,) = workshop.rows(f"SELECT {counts} FROM ({keys})")
    return {word: int(count) for word, count in zip(ALIKE, row, strict=True) if count}


def _key_type(raw: Raw) -> str:
    if raw.nature == "nested":
        raise InvalidCatalog(f"a column of the type {raw.type} cannot be a key; convert it in the source")
    types = raw.words.types
    if raw.type == types.wide:  # some of 128 bits have more digits than a cluster's widest numbers
        return types.text
    return {"integer": types.whole, "wide": types.wide}.get(raw.nature, types.text)


def _merge_layers(layers: Iterable[Iterable[Mapping[str, str]]]) -> dict[str, str]:
    return {key: sql for layer in layers for parts in layer for key, sql in parts.items()}


def _aliases(parts: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {alias}" for alias, sql in parts.items())


def check_columns(table: Table, rows: Rows, wanted: Collection[str]) -> None:
    """Refuse a source that lacks one of the wanted columns."""
    absent = [key for key in wanted if key not in rows.columns]
    if absent:
        told = missing_columns(absent, f"the source of {table.name}", rows.columns, as_text=not rows.typed)
        raise InvalidCatalog(f"{told}; correct tacit.toml")


def check_sources(catalog: Catalog) -> None:
    """Refuse private tables whose sources the embedded engine cannot read, or that lack a column: by headers and schemas alone."""
    from tacit.data.files.columns import header_of

    for table, keys in private_tables(catalog):
        if table.source.kind == MEMORY or table.source.remote:
            where = 'source = "memory"' if table.source.kind == MEMORY else f"{table.source.declared}, which a cluster reads"
            raise InvalidInput(f"the rows of {table.name} cannot be read here: they are in {where}; declare a file of them")
        wanted = wanted_kinds(table, keys)
        try:
            names = header_of(catalog, table.source, wanted)
        except UNREADABLE:
            raise InvalidCatalog(f"the source of {table.name} cannot be read as {table.source.kind}; check its files") from None
        check_columns(table, Rows("", {key: Raw(name(key), "") for key in names}, table.source.kind not in OF_TEXTS), wanted)


def unusable(table: Table, error: EngineError) -> InvalidCatalog:
    """The error in tacit's own words: the engine's message quotes cells."""
    words = next((words for kind, words in TROUBLES if isinstance(error, kind)), f"cannot be read as {table.source.kind}")
    return InvalidCatalog(f"the source of {table.name} {words}")


# --- all private tables -------------------------------------------------------------------------------------------------------


@singledispatch
def stage_all(maker: Maker, catalog: Catalog, reach: frozenset[str], key: str) -> Keys:
    """Stage every private table; returns the type in which keys are compared. `key` is the ranking key.

    `reach` names the tables whose files every worker of a cluster reads under the same path.
    """
    raise TypeError(maker)


@stage_all.register
def _(maker: Workshop, catalog: Catalog, reach: frozenset[str], key: str) -> Keys:
    staged = {table.name: stage(maker, catalog, table, keys) for table, keys in private_tables(catalog)}
    return settle_keys(maker, catalog.tables, staged)


def tables_in_parquet(catalog: Catalog) -> frozenset[str]:
    """The tables in Parquet files, which every worker of a cluster must read under the same path."""
    return frozenset(table.name for table in catalog.tables.values() if table.source.kind == "parquet")


def private_tables(catalog: Catalog) -> Iterator[tuple[Table, tuple[str, ...]]]:
    keys = carried_keys(catalog)
    return ((table, keys[table.name]) for table in catalog.tables.values() if not table.public)
