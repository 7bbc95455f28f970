"""A data dictionary read for `tacit init --codebook`: kinds, bounds, values and labels that are declared there.

Dictionaries come as CSV, JSON (by name, Frictionless table schema, data package, JSON Schema), DDI XML and SQL DDL. Only declared
ranges and lists are taken. Minima, maxima and frequencies that were observed in rows are private numbers: they are left out, and so
are a minimum and a maximum that stand beside a mean or another statistic. The codebook lists everything that was not understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tacit.data.catalog.columns import read_column
from tacit.data.catalog.suggest import DATE, KEY, NUMBER, TEXT, TRUTH, Declaration, Suggestion
from tacit.data.declaration import PLACEHOLDER, Wrong, folded
from tacit.data.files.csv_rows import fields_of, header_names
from tacit.data.files.kinds import existing
from tacit.errors import InvalidInput

LARGEST = 1 << 26  # bytes: a dictionary is read whole
ENDINGS = ".csv, .tsv, .json, .xml or .sql"
MISSING = re.compile(
    r"n/?a\b|not applicable|not available|missing|refus|don'?t know|no answer|unknown|keine angabe|entfällt", re.IGNORECASE
)
WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
OBSERVED = ("mean", "median", "std", "stddev", "sd", "stdev", "freq", "frequency", "frequencies", "count", "n", "avg", "average")


@dataclass(frozen=True, slots=True)
class Entry:
    """One column of a dictionary in its own words, before it becomes a declaration.

    `codes` are pairs of a value and its label. `kind` is the declared type in lower case. `about` describes the column.
    """

    name: str
    table: str = ""
    kind: str = ""
    about: str = ""
    low: object = None
    high: object = None
    codes: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    step: object = None
    format: str = ""
    required: bool = False
    key: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Codebook:
    """The suggestions of a dictionary by table and column, references between tables, and what was not understood."""

    columns: Mapping[tuple[str, str], Suggestion] = field(default_factory=dict)
    references: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    not_understood: tuple[str, ...] = ()

    def suggestion(self, table: str, column: str) -> Suggestion | None:
        """The suggestion for a column; entries without a table are for any table."""
        name = folded(column)
        return self.columns.get((folded(table), name)) or self.columns.get(("", name))


def read_codebook(path: Path) -> Codebook:
    """The dictionary in a file, by its extension."""
    file = existing(path)
    if file.stat().st_size > LARGEST:
        raise InvalidInput(f"{file.name} is too large for a code book: at most {LARGEST:,} bytes; check the path")
    ending = file.suffix.lower()
    if ending not in READERS:
        raise InvalidInput(f"unsupported code book: {file.name}; expected {ENDINGS}")
    try:
        text = file.read_bytes() if ending in (".xml", ".ddi") else file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{file.name} is not UTF-8 text; save it as UTF-8") from None
    entries, notes, references = READERS[ending](text)
    return codebook_of(entries, notes, references)


def codebook_of(entries: Iterable[Entry], notes: Sequence[str] = (), references: Any = None) -> Codebook:
    """The declarations of entries that a catalog accepts; all others are listed."""
    columns: dict[tuple[str, str], Suggestion] = {}
    rejected = list(notes)
    for entry in entries:
        declared, problem = declaration_of(entry)
        if problem:
            rejected.append(f"{entry.name}: {problem}")
        if declared is not None:
            columns[folded(entry.table), folded(entry.name)] = Suggestion(declared, "code book", " ".join(entry.about.split()))
    return Codebook(columns, references or {}, tuple(rejected))


# --- one entry as a declaration ----------------------------------------------------------------------------------------------


def declaration_of(entry: Entry) -> tuple[Declaration | None, str]:
    """The declaration of an entry, if any, and what was not understood of it.

    >>> declaration_of(Entry("NOC", low=1, high=19, codes=(("N", "N/A (vacant)"), ("0", "No children"))))
    ({'bounds': [0, 19], 'missing': ['N']}, '')
    >>> declaration_of(Entry("SEX", codes=(("1", "Male"), ("2", "Female"))))
    ({'values': [1, 2], 'labels': {'1': 'Male', '2': 'Female'}}, '')
    """
    if entry.problem and entry.low is None and not entry.codes:
        return _by_kind(entry), entry.problem
    low, high = number_of(entry.low), number_of(entry.high)
    if low is not None and high is not None and low >= high:
        return _by_kind(entry), "its minimum is not below its maximum"
    missing = [*entry.missing, *(code for code, label in entry.codes if MISSING.match(label.strip()))]
    codes = [(code, label) for code, label in entry.codes if code not in missing]
    declared = _grid(entry, codes) if entry.low is not None and entry.high is not None else _values(codes)
    if entry.key:
        declared = dict(KEY)
    if declared is None:
        open_place = _by_kind(entry)
        return open_place, "" if open_place is not None and PLACEHOLDER not in open_place.values() else "no range and no list"
    if missing and not entry.key:
        declared["missing"] = list(dict.fromkeys(missing))
    if entry.required and not missing and not entry.key:
        declared["nulls"] = "drop"
    try:
        read_column(entry.name, declared)
    except Wrong as wrong:
        return _by_kind(entry), str(wrong)
    return declared, entry.problem


def _grid(entry: Entry, codes: Sequence[tuple[str, str]]) -> dict[str, object] | None:
    """Bounds, widened by the codes that are numbers: 501 = above 5 x poverty line."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(entry.low)):
        notation = {"format": entry.format} if entry.format else {}
        return {"type": "date", "bounds": [str(entry.low), str(entry.high)], **notation}
    ends = [number_of(each) for each in (entry.low, entry.high, *(code for code, _ in codes))]
    if None in ends[:2]:
        return None
    numbers = [number for number in ends if number is not None]
    digits = max(-int(Decimal(number).as_tuple().exponent) for number in numbers)
    step = number_of(entry.step) or (Decimal(1).scaleb(-digits) if digits > 0 else None)
    return {"bounds": [min(numbers), max(numbers)]} | ({"step": step} if step is not None and step != 1 else {})


def _values(codes: Sequence[tuple[str, str]]) -> dict[str, object] | None:
    if not codes:
        return None
    whole = all(WHOLE.fullmatch(code) for code, _ in codes)
    labels = {code: " ".join(label.split()) for code, label in codes if label and label != code}
    values = list(dict.fromkeys(int(code) if whole else code for code, _ in codes))
    return {"values": values} | ({"labels": labels} if labels else {})


KINDS: tuple[tuple[str, Declaration], ...] = (
    (r"bool(ean)?|logical", TRUTH),
    (r"date|datetime|timestamp.*|day", DATE),
    (r"u?int.*|integer|.*int|serial|bigserial|number|numeric.*|decimal.*|float.*|double.*|real|num|money|year", NUMBER),
    (r"str(ing)?|text|(var)?char.*|character.*|any|uuid|citext", TEXT),
)


def _by_kind(entry: Entry) -> Declaration | None:
    """The declaration that a type alone gives, with its places open."""
    kind = entry.kind.strip().lower()
    declared = next((declared for pattern, declared in KINDS if re.fullmatch(pattern, kind)), None)
    step = number_of(entry.step)
    return {**declared, "step": step} if declared is NUMBER and step not in (None, 1) else declared


def number_of(value: object) -> int | Decimal | None:
    """A number as a dictionary writes it; None if it is not one.

    >>> number_of("1,000"), number_of(16.3), number_of("x"), number_of(True)
    (1000, Decimal('16.3'), None, None)
    """
    if value is None or isinstance(value, bool):
        return None
    text = re.sub(r"(?<=[0-9]),(?=[0-9]{3}\b)", "", str(value).strip())
    if WHOLE.fullmatch(text):
        return int(text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return (int(number) if number == int(number) else number) if number.is_finite() and abs(number) < 10**18 else None


# --- JSON: by name, Frictionless, JSON Schema --------------------------------------------------------------------------------


Read = tuple[list[Entry], list[str], dict[tuple[str, str], tuple[str, str]]]


def read_json(text: str) -> Read:
    """The entries of a dictionary in JSON."""
    try:
        document = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise InvalidInput("the code book is not valid JSON; check that it is complete") from None
    if isinstance(document, list):
        return [_from_members(str(_first(each, NAMES) or ""), each) for each in document if isinstance(each, Mapping)], [], {}
    if not isinstance(document, Mapping):
        raise InvalidInput("the code book has no columns; expected an object or a list of columns")
    if isinstance(document.get("resources"), list):
        return _data_package(document["resources"])
    if isinstance(document.get("fields"), list):
        return _table_schema(document, "")
    if isinstance(document.get("properties"), Mapping):
        document = document["properties"]
    named = {name: members for name, members in document.items() if isinstance(members, Mapping)}
    notes = [f"{name}: not a description of a column" for name in document if name not in named]
    return [_from_members(name, members) for name, members in named.items()], notes, {}


NAMES = ("name", "variable", "var", "column", "field", "variable_name", "column_name", "field_name", "varname")
ABOUT = ("label", "title", "description", "variable_label", "question", "meaning", "bezeichnung", "beschreibung")
KIND = ("type", "datatype", "data_type", "kind", "format_type", "typ")
LOW = ("minimum", "min", "low", "lower", "valid_min", "lower_bound", "from", "min_value", "von")
HIGH = ("maximum", "max", "high", "upper", "valid_max", "upper_bound", "to", "max_value", "bis")
CODES = (
    "values",
    "enum",
    "codes",
    "categories",
    "value_labels",
    "levels",
    "allowed_values",
    "permitted_values",
    "valid_values",
    "werte",
)
CODE = ("code", "value", "wert", "schluessel")
CODE_LABEL = ("code_label", "value_label", "meaning", "label", "bedeutung", "beschriftung")
MISSING_CODES = ("missing", "missing_values", "missingvalues", "missing_codes", "na_values")
RANGES = ("range", "valid_range", "bounds", "wertebereich")
RANGE = re.compile(r"\[?\s*(-?[0-9][0-9.,]*)\s*(?:\.\.\.?|-|to|bis|–|,|;)\s*(-?[0-9][0-9.,]*)\s*\]?")


def _first(members: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The first of the keys that has a value; keys match without case, blanks and hyphens."""
    plain = {re.sub(r"[\s-]+", "_", str(key).strip().lower()): value for key, value in members.items()}
    return next((plain[key] for key in keys if plain.get(key) not in (None, "")), None)


def _from_members(name: str, members: Mapping[str, Any]) -> Entry:
    """An entry from an object: a JSON value, or the cells of a row by their header."""
    constraints = members.get("constraints") if isinstance(members.get("constraints"), Mapping) else {}
    merged: dict[str, Any] = {**members, **(constraints or {})}
    codes = _first(merged, CODES)
    low, high = _first(merged, LOW), _first(merged, HIGH)
    if isinstance(codes, Mapping):
        inner_low, inner_high = _first(codes, LOW), _first(codes, HIGH)
        low, high = (inner_low, inner_high) if low is None and inner_low is not None else (low, high)
        codes = {code: label for code, label in codes.items() if str(code).lower() not in (*LOW, *HIGH)}
    span = _first(merged, RANGES)
    if low is None and span is not None:
        low, high = _span(span)
    observed = sorted(key for key in map(str, merged) if key.strip().lower() in OBSERVED)
    problem = ""
    if observed and low is not None:
        low = high = None
        problem = f"its minimum and maximum stand beside {', '.join(observed)}, so they may be observed; declare bounds yourself"
    return Entry(
        name=name,
        kind=str(_first(merged, KIND) or ""),
        about=str(_first(merged, ABOUT) or ""),
        low=low,
        high=high,
        codes=codes_of(codes),
        missing=tuple(code for code, _ in codes_of(_first(merged, MISSING_CODES))),
        step=_first(merged, ("step", "multipleof", "precision")),
        format=_date_format(members),
        required=merged.get("required") is True,
        problem=problem,
    )


def _date_format(members: Mapping[str, Any]) -> str:
    written = members.get("format")
    return written if isinstance(written, str) and "%" in written else ""


def _span(written: Any) -> tuple[object, object]:
    if isinstance(written, list) and len(written) == 2:
        return written[0], written[1]
    match = RANGE.fullmatch(str(written).strip())
    return (match[1], match[2]) if match else (None, None)


def codes_of(written: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of a code and its label, from an object, a list or a text such as `1=male; 2=female`.

    >>> codes_of("1 = male; 2 = female"), codes_of(["F", "M"])
    ((('1', 'male'), ('2', 'female')), (('F', ''), ('M', '')))
    """
    if isinstance(written, Mapping):
        return tuple((str(code), label if isinstance(label, str) else "") for code, label in written.items())
    if isinstance(written, list):
        pairs = (_pair(each) for each in written)
        return tuple(pair for pair in pairs if pair is not None)
    if not isinstance(written, str) or not written.strip():
        return ()
    parts = [part.strip() for part in re.split(r"[;|\n]", written) if part.strip()]
    parts = [part.strip() for part in written.split(",")] if len(parts) == 1 else parts
    split = (re.match(r"([^=:]*?)\s*[=:]\s*(.*)", part) for part in parts)
    return tuple((match[1], match[2]) if match else (part, "") for match, part in zip(split, parts, strict=True) if part)


def _pair(each: Any) -> tuple[str, str] | None:
    if isinstance(each, Mapping):
        code = _first(each, ("value", "code", "name"))
        return None if code is None else (str(code), str(_first(each, ("label", "title", "description")) or ""))
    return (str(each).lower() if isinstance(each, bool) else str(each), "") if each is not None else None


def _data_package(resources: Sequence[Any]) -> Read:
    entries: list[Entry] = []
    notes: list[str] = []
    references: dict[tuple[str, str], tuple[str, str]] = {}
    for resource in resources:
        schema = resource.get("schema") if isinstance(resource, Mapping) else None
        if not isinstance(schema, Mapping):
            notes.append(
                f"{resource.get('name', 'a resource') if isinstance(resource, Mapping) else 'a resource'}: no table schema"
            )
            continue
        more, other_notes, others = _table_schema(schema, str(resource.get("name", "")))
        entries, notes, references = [*entries, *more], [*notes, *other_notes], {**references, **others}
    return entries, notes, references


def _table_schema(schema: Mapping[str, Any], table: str) -> Read:
    """A Frictionless table schema: fields with types and constraints, missing values, keys and references."""
    from dataclasses import replace

    missing = tuple(str(code) for code in schema.get("missingValues", ()) if isinstance(code, str) and code.strip())
    primary = schema.get("primaryKey")
    keys = [primary] if isinstance(primary, str) else primary if isinstance(primary, list) and len(primary) == 1 else []
    fields = [each for each in schema["fields"] if isinstance(each, Mapping) and each.get("name")]
    entries = [_from_members(str(each["name"]), each) for each in fields]
    entries = [replace(one, table=table, missing=one.missing or missing, key=one.name in keys) for one in entries]
    return entries, [], dict(_foreign_keys(schema.get("foreignKeys", ()), table))


def _foreign_keys(declared: Any, table: str) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for each in declared if isinstance(declared, list) else ():
        reference = each.get("reference", {}) if isinstance(each, Mapping) else {}
        ours, theirs = ([one] if isinstance(one, str) else one for one in (each.get("fields"), reference.get("fields")))
        if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs) == 1:
            yield (folded(table), folded(ours[0])), (folded(str(reference.get("resource") or table)), folded(theirs[0]))


# --- CSV: a row for each column, or a row for each code ----------------------------------------------------------------------


def read_csv_text(text: str) -> Read:
    """The entries of a dictionary in CSV: rows that name no column add a code to the column above them."""
    header, *lines = _rows(text)
    names, delimiter, _ = header_names(header)
    if _first(dict.fromkeys(names, "x"), NAMES) is None:
        raise InvalidInput(f"the code book has no column of names; its header must have one of: {', '.join(NAMES[:5])}")
    blocks: dict[str, dict[str, Any]] = {}
    current = ""
    for line in lines:
        cells = dict(zip(names, (cell.strip() for cell in fields_of(line, delimiter)[0]), strict=False))
        current = str(_first(cells, NAMES) or current)
        if not current:
            continue
        block = blocks.setdefault(current, {})
        if (code := _first(cells, CODE)) is not None and _first(cells, CODES) is None:
            label = next((cells[name] for name in names if _plain(name) in CODE_LABEL and cells.get(name)), "")
            block.setdefault("codes", {})[code] = label
        block.update({name: cell for name, cell in cells.items() if cell and name not in block and _plain(name) not in CODE})
    ignored = [name for name in names if _plain(name).startswith(("observed", "obs_")) or _plain(name) in OBSERVED]
    notes = [f"column {name} of the code book: observed numbers are not taken" for name in ignored]
    return [_from_members(name, members) for name, members in blocks.items()], notes, {}


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _rows(text: str) -> list[str]:
    """Lines, joined where a quotation goes on."""
    rows: list[str] = []
    for line in text.splitlines():
        if rows and rows[-1].count('"') % 2:
            rows[-1] += f"\n{line}"
        elif line.strip():
            rows.append(line)
    if not rows:
        raise InvalidInput("the code book is empty; its first line names its columns")
    return rows


def _read_xml(text: bytes) -> Read:
    from tacit.data.catalog.codebook_markup import read_ddi

    return read_ddi(text)


def _read_sql(text: str) -> Read:
    from tacit.data.catalog.codebook_markup import read_ddl

    return read_ddl(text)


READERS: Mapping[str, Callable[[Any], Read]] = {
    ".json": read_json,
    **dict.fromkeys((".csv", ".tsv"), read_csv_text),
    **dict.fromkeys((".xml", ".ddi"), _read_xml),
    ".sql": _read_sql,
}
