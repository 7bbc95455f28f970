"""A catalog described: what is declared in words and exact numbers, the state of its store, and what a curator should look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.data.declaration import folded, key_text, nearest, value_text
from tacit.data.files.kinds import Field
from tacit.data.ownership import own_key
from tacit.errors import InvalidCatalog, InvalidInput, NoLedger, Refused, StoreUnusable
from tacit.privacy.catalog import ASSUMED_ROWS, Analyst, Budget, Catalog, Column, Kind, Source, Table, day_of, prepared_under
from tacit.privacy.rounding import as_text, decimal_text
from tacit.untrusted import without_password

MAY_ASK: Mapping[Kind, str] = {
    "number": "every aggregate; filters; groups",
    "category": "COUNT; filters; groups, empty ones too",
    "date": "COUNT, MEDIAN, MIN, MAX; filters; groups",
    "text": "COUNT; filters; groups with enough people",
    "key": "COUNT(DISTINCT); joins",
    "presence": "COUNT, IS NULL; bounds or values would allow more",
}
LEAST_FOR_KEYS = Fraction(1, 10)  # of delta: below this share, `check` warns that private keys have little to spend


def described(catalog: Catalog) -> dict[str, Any]:
    """The catalog as what JSON can hold."""
    problems, ledger = [*_missing_files(catalog), *_never_met(catalog)], _ledger(catalog)
    notes = (_about_periods, _about_analysts, _about_units, _about_sizes, _about_sources)
    return {
        "catalog": str(catalog.path),
        "sound": not problems,
        "problems": problems,
        "budget": _budget(catalog.budget),
        "neighbours": catalog.change,
        "promise": _promise(catalog),
        "changes": catalog.changes,
        **({} if catalog.per is None else {"per": catalog.per.calendar.word}),
        "analysts": {name: _analyst(analyst) for name, analyst in catalog.analysts.items()},
        "tables": [_table(catalog, table) for table in catalog.tables.values()],
        "notes": [*(note for about in notes for note in about(catalog)), *_about_split(catalog, ledger.get("split"))],
        "store": _store(catalog),
        "ledger": ledger,
    }


def _promise(catalog: Catalog) -> str:
    if catalog.per is None:
        return f"{catalog.neighbours}, with all its rows in all private tables"
    return f"{catalog.neighbours}, with its rows of one {catalog.per.calendar.word} in all private tables with periods"


def _about_periods(catalog: Catalog) -> Iterator[str]:
    """The promise of a budget for each period to a person who is in several."""
    per = catalog.per
    if per is None:
        return
    word, epsilon = per.calendar.word, decimal_text(catalog.budget.epsilon)
    several = " and a delta that soon says nothing" if catalog.budget.delta else ""
    yield f"the budget is one of each {word}: a person with rows in m of them is protected at m times epsilon {epsilon}{several}"
    if per.lifetime is None:
        example = decimal_text(12 * catalog.budget.epsilon)
        yield f"nothing bounds what all periods of a person reveal; advised: lifetime = {{ epsilon = {example} }} in [budget]"
    else:
        lifetime = f"epsilon {decimal_text(per.lifetime[0])}, delta {decimal_text(per.lifetime[1])}"
        yield f"a person, with all rows of all periods and tables, is protected at {lifetime} too: both promises hold at once"
    for table in catalog.tables.values():
        if table.period_of is not None:
            led = key_text([table.period_of.name])
            yield f"{key_text([table.name])} has no period of its own: a row has that of the row of {led} that it leads to"
        elif not table.public and table.period is None:
            how = "only the budget of a lifetime covers it" if per.lifetime else "it cannot be asked without a budget of a lifetime"
            yield f"{key_text([table.name])} has no period: {how}"


def _budget(budget: Budget) -> dict[str, str]:
    return {"epsilon": decimal_text(budget.epsilon), "delta": decimal_text(budget.delta)}


def _analyst(analyst: Analyst) -> dict[str, str]:
    own = {} if analyst.budget is None else _budget(analyst.budget)
    per_query = {"epsilon_per_query": analyst.epsilon_per_query, "delta_per_query": analyst.delta_per_query}
    return own | {key: decimal_text(cap) for key, cap in per_query.items() if cap is not None}


def _table(catalog: Catalog, table: Table) -> dict[str, Any]:
    source, limits = without_password(table.source.declared), {}
    if not table.public:
        limits = {"max_rows": table.max_rows, "max_rows_per_group": table.rows_per_group, "min_people": table.min_people}
        limits |= {"rows_at_most": table.most_rows, "max_joined_rows": table.most_joined_rows}
        limits |= {} if table.min_rows is None else {"min_rows": table.min_rows}
    return {
        "name": table.name,
        "source": source if table.source.table is None else f"{table.source.table} in {source}",
        "public": table.public,
        "unit": None if table.public else _unit(table),
        "owner": None if table.public else _owner(catalog, table),
        **limits,
        **({"never": list(table.never)} if table.never else {}),
        "columns": [_column(column) for column in table.columns.values()],
    }


def _unit(table: Table) -> str:
    if table.unit is None:
        return "row"
    return key_text([table.unit.column]) + (f", by {key_text(table.unit.references)}" if table.unit.references else "")


def _owner(catalog: Catalog, table: Table) -> str | None:
    """Through which tables a row leads to its unit, and which column the unit is; None where no other table has a say."""
    way, column, here = [table.name], "", table
    while here.unit is not None and here.unit.references is not None:
        parent, column = here.unit.references
        if parent in way:
            return None
        way, here = [*way, parent], catalog.tables[parent]
    column = here.unit.column if here.unit else column
    return f"{' -> '.join(map(_key, way))}: the unit is {key_text([here.name, column])}" if way[1:] else None


def _key(name: str) -> str:
    return key_text([name])


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "declared": _range_text(column),
        "points": column.points if column.kind in ("number", "date", "category") else None,
        "nullable": column.nullable,
        "may_ask": MAY_ASK[column.kind],
        "line": column.line,
    }


def _range_text(column: Column) -> str:
    if column.kind == "category":
        return value_text(column.domain)
    if column.bounds is None or column.step is None:
        return f"private values of at most {column.longest} bytes" if column.kind == "text" else ""
    ends = (day_of(int(end)).isoformat() if column.kind == "date" else decimal_text(end) for end in column.bounds)
    step = "" if column.step == Fraction(1) else f" by {decimal_text(column.step)}"
    return " to ".join(ends) + step + (f", {len(column.bins)} bins" if column.bins else "")


def _about_analysts(catalog: Catalog) -> Iterator[str]:
    for analyst in catalog.analysts.values():
        if analyst.budget and analyst.budget.epsilon > catalog.budget.epsilon:
            yield f"analyst {analyst.name} has a larger epsilon than the data set, whose own stands first"
    urls = [catalog.ledger_url or "", *(table.source.declared for table in catalog.tables.values())]
    if any(without_password(url) != url for url in urls):
        yield "a password stands in the catalog; write $NAME in its place, and set the variable NAME in the environment"


def _about_split(catalog: Catalog, kept: str | None) -> Iterator[str]:
    """Remarks on the split of delta and on private keys; `kept` is the ledger's own split, once it has begun."""
    share = catalog.split if kept is None else Fraction(kept)
    if catalog.declared_split is not None and share != catalog.declared_split:
        yield (
            f"the ledger keeps split = {kept}, with which it was begun; split = {decimal_text(catalog.declared_split)} in [budget] "
            "has no effect"
        )
    if catalog.private_keys and catalog.budget.delta and 1 - share < LEAST_FOR_KEYS:
        left = as_text((1 - share) * catalog.budget.delta)
        remedy = (
            "declare split = 0.5 before `tacit ledger begin`"
            if kept is None
            else "ask them with a smaller delta, or raise delta of [budget]"
        )
        yield (
            f"split = {decimal_text(share)} leaves delta {left} for all questions with private keys "
            f"({', '.join(catalog.private_keys)}); {remedy}"
        )


def _about_units(catalog: Catalog) -> Iterator[str]:
    """Tables whose people no key names, beside other private tables: a person who is in both cannot be recognized."""
    private = [table for table in catalog.tables.values() if not table.public]
    nameless = [_key(table.name) for table in private if own_key(table) is None]
    if nameless and private[1:]:
        rest = ", ".join(_key(table.name) for table in private if own_key(table) is not None) or "the others"
        yield (
            f"the rows of {', '.join(nameless)} have no key, so a person in several private tables is several units, and each is "
            f'protected by itself; if they have people in common with {rest}, declare the key: unit = {{ column = "person" }}'
        )


def _never_met(catalog: Catalog) -> Iterator[str]:
    """The problems of declared conditions, which are read as questions are: one of each table."""
    from tacit.publish.synthetic.rows.never import conditions_of

    for table in catalog.tables.values():
        try:
            conditions_of(table)
        except Refused as refusal:
            yield f"{refusal.message}; {refusal.remedy}" if refusal.remedy else refusal.message


def _missing_files(catalog: Catalog) -> Iterator[str]:
    """Sources without a file, which preparation refuses."""
    from tacit.data.files.sources import source_files

    for table in catalog.tables.values():
        if table.source.kind not in ("postgres", "memory") and not table.source.remote:
            try:
                source_files(catalog, table.source)
            except InvalidCatalog as error:
                yield f"the source of {_key(table.name)}: {error}"


def _about_sizes(catalog: Catalog) -> Iterator[str]:
    from tacit.data.catalog.sizes import LADDER, undeclared

    unknown = undeclared(catalog)
    if unknown:
        ladder = ", ".join(f"{step:,}" for step in LADDER[:4])
        yield (
            f"without rows_at_most, at most {ASSUMED_ROWS:,} rows are assumed of {', '.join(map(_key, unknown))}: `tacit prepare` "
            "stops above that, a server answers on loopback only, and a question with much work on that number of rows is refused, "
            "such as a median for each private key; declare the most rows that the table can ever have from public knowledge "
            f"({ladder}, ...), for example: tacit prepare --declare {_key(unknown[0])}=1000000"
        )


def _about_sources(catalog: Catalog) -> Iterator[str]:
    """Remarks on the sources, from their names and headers."""
    for table in catalog.tables.values():
        path = Path(table.source.location)
        if table.source.kind in ("postgres", "memory") or not path.is_file():
            continue
        try:
            there = [folded(field.name) for field in _fields(path, table.source)]
        except InvalidInput as error:
            yield f"the source of {key_text([table.name])}: {error}"
            continue
        wanted = [*table.columns, *([table.unit.column] if table.unit else [])]
        for name in dict.fromkeys(name for name in wanted if name not in there):
            yield f"{key_text([name])} is not a column of {without_password(table.source.declared)}; {nearest(name, there)}"


def _fields(path: Path, source: Source) -> tuple[Field, ...]:
    from tacit.data.files.columns import fields_of

    return fields_of(path, source.table, source.encoding, source.separator)


def _store(catalog: Catalog) -> dict[str, Any]:
    from tacit.data.files.sources import changed_since
    from tacit.data.store import require_small_files, store_info

    try:
        info = store_info(catalog)
        require_small_files(catalog)
    except StoreUnusable as error:  # of an older format, or damaged
        return {"state": "stale", "problem": str(error)}
    if info is None:
        return {"state": "missing"}
    state = "ready" if prepared_under(catalog, info.fingerprint) is not None else "stale"
    newer = [_key(name) for name in changed_since(catalog, info.prepared_at)]
    return {"state": state, "prepared_at": info.prepared_at, "version": info.version} | ({"newer_sources": newer} if newer else {})


def _ledger(catalog: Catalog) -> dict[str, Any]:
    """Whether a ledger was begun, whether it counts for the units that are declared, and what was spent for them."""
    from tacit.session import DataSet

    data = DataSet(catalog)
    try:
        changed = data.ledger.changed_units()
        spent = data.accounts()[0].spent
    except NoLedger:
        return {"state": "missing"}
    except StoreUnusable as error:
        return {"state": "unusable", "problem": str(error)}
    total = {"epsilon": None if spent.epsilon is None else decimal_text(spent.epsilon), "rho": decimal_text(spent.rho)}
    state = {"state": "other units", "changed": changed} if changed else {"state": "ready"}
    return state | {"spent": total | {"delta": decimal_text(spent.delta)}, "split": decimal_text(data.ledger.split)}
