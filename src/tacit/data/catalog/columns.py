"""One declared column: the keys of tacit.toml, and how a source writes its values, read into a `Column`; and whose its rows are."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from tacit.data.declaration import BROKEN, LawViolated, Wrong, key_text, nearest, value_text
from tacit.privacy.catalog import (
    AS_WRITTEN,
    LARGEST,
    PLAIN,
    Column,
    KeyRule,
    Kind,
    Notation,
    Owner,
    Value,
    canonical,
    day_number,
)
from tacit.privacy.rounding import decimal_text, exact

Declared = Mapping[str, Any]

PARTS = {"duckdb": "table", "postgres": "table", "xlsx": "sheet"}  # what names the rows in a source of several tables
KIND_WORDS = {
    "csv": "a CSV file",
    "parquet": "a Parquet file",
    "duckdb": "a database",
    "postgres": "a database",
    "xlsx": "a workbook",
}
KEYS = ("decimal", "thousands", "format", "missing")
LETTERS = "YymdbBjHIMSpf%"  # strftime codes that identify a day, and codes for times, which are skipped
YEARS, DAYS = ({"Y"}, {"y"}), ({"m", "d"}, {"b", "d"}, {"B", "d"}, {"j"})
DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
# Encodings in which no row can change how the next one is read: without lasting states (ISO 2022, UTF-7), and without a lead
# byte that swallows a line end. EUC-KR has an eight-byte character that does; its superset does not.
INSTEAD = {"euc_kr": "cp949"}
ROW_BY_ROW = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154|hp-roman8|tis-620|mac-\w+"
    r"|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|shift_jisx0213|shift_jis_2004|euc_jp|euc_jisx0213|euc_jis_2004|johab"
)


def read_notation(declared: Declared, inherited: Notation = PLAIN) -> Notation:
    """The notation declared here, with inherited values for everything else; raises `Wrong`.

    >>> table = read_notation({"decimal": ",", "missing": ["N", -9]})
    >>> read_notation({"thousands": "."}, table)
    Notation(decimal=',', thousands='.', format=None, missing=('N', '-9'))

    If the thousands separator is a point, the decimal sign is a comma unless another is declared.
    """
    given = {key: declared[key] for key in KEYS if key in declared}
    if "missing" in given:
        given["missing"] = tuple(str(canonical(str(code))) for code in given["missing"])
        if "" in given["missing"]:
            raise Wrong("missing", "has a blank text, which is missing in any case", "take it away")
    if "format" in given:
        _check_format(given["format"])
    if given.get("thousands") == "." and inherited.decimal == ".":
        given = {"decimal": ",", **given}  # the point cannot be both; a source that uses it for thousands has a decimal comma
    notation = replace(inherited, **given)
    if notation.decimal == notation.thousands:
        key = "thousands" if "thousands" in given else "decimal"
        raise Wrong(key, f"is {value_text(given[key])}, as the other sign is", "declare two different signs, decimal and thousands")
    return notation


def _check_format(written: str) -> None:
    directives = DIRECTIVE.findall(written)
    wrong = [letter for letter in directives if not letter or letter not in LETTERS]
    if wrong:
        raise Wrong("format", f"has %{wrong[0]}; expected one of {' '.join(f'%{each}' for each in LETTERS)}", EXAMPLE)
    letters = set(directives)
    if "\0" in written or not any(each <= letters for each in YEARS) or not any(each <= letters for each in DAYS):
        raise Wrong("format", f"is {value_text(written)}, which does not tell year, month and day", EXAMPLE)


EXAMPLE = 'write for example format = "%d.%m.%Y"'


def read_encoding(declared: str) -> str:
    """The canonical name of an encoding's codec, or `Wrong`.

    >>> read_encoding("Windows-1252"), read_encoding("latin1")
    ('cp1252', 'iso8859-1')
    """
    try:
        name = codecs.lookup(declared).name
        name = INSTEAD.get(name, name)
    except (LookupError, ValueError):
        raise Wrong("encoding", f"is {value_text(declared)}, which is not a known encoding", ENCODINGS) from None
    if ROW_BY_ROW.fullmatch(name) is None:
        raise Wrong("encoding", f"is {value_text(declared)}, in which one row can change how others are read", ENCODINGS)
    return name


ENCODINGS = 'write for example encoding = "windows-1252", "iso-8859-15" or "utf-16"'


# --- one declared column -----------------------------------------------------------------------------------------------------


KINDS: Mapping[str, Kind] = {"key": "key", "keys": "text", "values": "category"}
ROLES = (*KINDS, "bounds")
APPLIES: Mapping[Kind, frozenset[str]] = {
    "number": frozenset({"type", "bounds", "step", "outside", "nulls", "bins", "decimal", "thousands", "missing"}),
    "date": frozenset({"type", "bounds", "outside", "nulls", "bins", "format", "missing"}),
    "category": frozenset({"type", "values", "unknown", "nulls", "missing", "labels"}),
    "text": frozenset({"type", "keys", "nulls", "longest", "missing"}),
    "key": frozenset({"key", "missing"}),
    "presence": frozenset({"type", "nulls", "missing"}),
}
NEEDS = {
    **dict.fromkeys(("outside", "step", "bins", "decimal", "thousands"), "bounds"),
    "unknown": "values",
    "labels": "values",
    "longest": 'keys = "private"',
    "format": 'type = "date"',
}
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
LARGEST_INTEGER = 2**63 - 1
MOST_DIGITS = 18  # on each side of the decimal point: such numbers are exact in 128-bit integers, on every engine


def read_column(name: str, declared: Declared, line: int | None = None, notation: Notation = PLAIN) -> Column:
    """The declared column, or `Wrong`; `notation` is how the table's source writes values unless the column overrides it.

    In `nulls`, "keep" and "drop" say what happens to a NULL; any other value replaces it. If `nulls` is not declared, a NULL is
    kept, or treated like an `unknown` value.

    >>> read_column("cost", {"bounds": [0, 5000], "step": Decimal("0.01")}).points
    500001
    """
    given = {key: value for key, value in declared.items() if (key, value) != ("key", False)}
    kind = _kind(given)
    _check_keys(kind, given)
    written = read_notation(given, notation)
    column = Column(name, kind, line=line, notation=written, **{key: given[key] for key in ("outside", "unknown") if key in given})
    if kind in ("number", "date"):
        bounds, step = _grid(kind, given)
        column = replace(column, bounds=bounds, step=step)
        column = replace(column, bins=_bins(column, given["bins"])) if "bins" in given else column
    if kind == "category":
        column = replace(column, values=_values(given))
        column = replace(column, labels=_labels(column, given.get("labels", {})))
        _check_missing(column)
    if kind == "key":
        column = replace(column, rule=read_rule(given["key"] if isinstance(given["key"], Mapping) else {}))
    if kind == "text":
        column = replace(column, longest=given.get("longest", column.longest))
    if column.unknown == "other":
        _check_other(column.values)
    nulls = given.get("nulls", {"drop": "drop", "other": "other"}.get(column.unknown, "keep"))  # NULL is an unknown value too
    return replace(column, nulls=nulls if nulls in ("keep", "drop") else _nulls(column, nulls))


RULES = ("trim", "case", "zeros")


def read_rule(declared: Declared) -> KeyRule:
    """The declared rule by which spellings of a key are one.

    >>> read_rule({"trim": True, "case": "lower"})
    KeyRule(trim=True, case='lower', zeros=False)
    """
    return KeyRule(**{key: declared[key] for key in RULES if key in declared})


def rule_text(rule: KeyRule) -> str:
    """The rule as a catalog writes it."""
    words = {"trim": rule.trim, "case": rule.case, "zeros": rule.zeros}
    return ", ".join(f"{key} = {value_text(value)}" for key, value in words.items() if value) or "no rules"


def _kind(given: Declared) -> Kind:
    roles = [role for role in ROLES if role in given]
    if len(roles) > 1:
        raise Wrong(roles[1], f"conflicts with {roles[0]}", f"a column has one of {', '.join(ROLES)}: keep one")
    if roles == ["bounds"]:
        return "date" if given.get("type") == "date" or all(isinstance(one, str) for one in given["bounds"]) else "number"
    return KINDS[roles[0]] if roles else "text" if given.get("type") == "text" else "presence"


def _check_keys(kind: Kind, given: Declared) -> None:
    for key in given:
        if key not in APPLIES[kind]:
            needed = NEEDS.get(key)
            raise Wrong(key, "has no effect here", f"declare {needed} too, or take it away" if needed else "take it away")
    if given.get("type", kind) != kind and kind in ("number", "date"):
        raise Wrong("type", f"is {value_text(given['type'])}, but the bounds are of a {kind}", f'write type = "{kind}"')


def _grid(kind: Kind, given: Declared) -> tuple[tuple[Fraction, Fraction], Fraction]:
    bounds = given["bounds"]
    if kind == "number" and any(isinstance(bound, str) for bound in bounds):
        raise Wrong("bounds", f"is {value_text(bounds)}, not two numbers", "write for example bounds = [0, 100]")
    low, high = (_day("bounds", bound) if kind == "date" else exact(bound) for bound in bounds)
    if low >= high:
        raise Wrong("bounds", f"is {value_text(bounds)}", "the lower bound stands first, and is below the upper")
    return (low, high), _step(given, low, high)


def _step(given: Declared, low: Fraction, high: Fraction) -> Fraction:
    if "step" not in given and any(isinstance(bound, Decimal) for bound in given["bounds"]):
        raise Wrong("step", "is missing, and the bounds are not whole numbers", "add for example step = 0.01")
    step = exact(given.get("step", 1))
    steps = (high - low) / step
    if steps.denominator != 1:
        fitting = decimal_text(low + max(1, round(steps)) * step)
        what = f"is {decimal_text(step)}, which does not divide the {decimal_text(high - low)} between the bounds"
        raise Wrong("step", what, f"the nearest upper bound that fits is {fitting}")
    if steps + 1 > LARGEST:
        raise Wrong("bounds", "has more than 2^53 values between its ends", "take narrower bounds or a larger step")
    if not all((number * 10**MOST_DIGITS).denominator == 1 and abs(number) < 10**MOST_DIGITS for number in (low, high, step)):
        raise Wrong("bounds", f"and step need more than {MOST_DIGITS} digits before or after the point", "write shorter ones")
    return step


def _bins(column: Column, declared: Any) -> tuple[Fraction, ...]:
    """The lower edges of the bins: a number of bins divides the values evenly, a list gives each edge after the first."""
    low, high = column.bounds or (Fraction(0), Fraction(0))
    step = column.step or Fraction(1)
    if not isinstance(declared, list):
        if declared > column.points:
            raise Wrong("bins", f"is {declared}, and the column has {column.points} values", "take fewer bins")
        return even_bins(column, declared)
    begins = (low, *(_border(column, border) for border in declared))
    if any(one >= other for one, other in pairwise(begins)) or begins[-1] > high:
        within = "each further bin begins above the one before it, the first above the lower bound, the last within the bounds"
        raise Wrong("bins", f"is {value_text(declared)}", within)
    if any(((border - low) / step).denominator != 1 for border in begins):
        raise Wrong("bins", f"is {value_text(declared)}, where a bin begins between two steps", "let bins begin at values")
    return begins


def even_bins(column: Column, number: int) -> tuple[Fraction, ...]:
    """The lower edges of `number` bins of nearly equal width over the declared range: a function of the declaration alone."""
    low, step = (column.bounds or (Fraction(0),))[0], column.step or Fraction(1)
    return tuple(low + step * (place * column.points // number) for place in range(number))


def _border(column: Column, border: Any) -> Fraction:
    if column.kind == "date":
        return _day("bins", border)
    if isinstance(border, str):
        raise Wrong("bins", f"has {value_text(border)}, which is not a number", "write for example bins = [18, 30, 65]")
    return exact(border)


def _day(key: str, text: object) -> Fraction:
    if isinstance(text, str) and DAY.fullmatch(text):
        with suppress(ValueError):  # a date that does not exist
            return Fraction(day_number(date.fromisoformat(text)))
    raise Wrong(key, f"has {value_text(text)}, which is not a date", 'write for example "2020-01-31"')


def _values(given: Declared) -> tuple[Value, ...]:
    values = tuple(canonical(value) for value in given["values"])
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        raise Wrong("values", "mixes texts, whole numbers and truths", "write all of them in one way")
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise Wrong("values", f"has {value_text(twice[0])} twice (blanks around a text do not count)", "take one away")
    if any(abs(value) > LARGEST_INTEGER for value in values if isinstance(value, int)):
        raise Wrong("values", "has a number beyond 64 bits", "write such numbers as texts")
    if given.get("type") not in (None, {str: "text", int: "number"}.get(kinds.pop())):
        raise Wrong("type", f"is {value_text(given['type'])}, but the values are not", "take it away: the values say it")
    return values


def _labels(column: Column, declared: Mapping[str, str]) -> tuple[tuple[Value, str], ...]:
    """The labels by value, in the order of the values; a key of TOML is a text, whatever the value is."""
    by_text = {_as_key(value): value for value in column.domain}
    unknown = [key for key in declared if str(canonical(key)) not in by_text]
    if unknown:
        raise Wrong("labels", f"has {value_text(unknown[0])}, which is not one of the values", "correct it, or add the value")
    given = {by_text[str(canonical(key))]: label for key, label in declared.items()}
    twice = [label for label, count in Counter(given.values()).items() if count > 1]
    if twice:
        raise Wrong("labels", f"has {value_text(twice[0])} for two values", "give each value a label of its own")
    return tuple((value, given[value]) for value in column.domain if value in given)


def _as_key(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_missing(column: Column) -> None:
    both = [value for value in column.values if str(value) in column.notation.missing]
    if both:
        raise Wrong("values", f"has {value_text(both[0])}, which is declared as missing too", "take it out of one of them")


def _check_other(values: tuple[Value, ...]) -> None:
    if not isinstance(values[0], str):
        raise Wrong("unknown", 'is "other", a text, and the values are not texts', 'write unknown = "null" or "drop"')
    if "other" in values:
        raise Wrong("unknown", 'is "other", which is one of the values', 'rename that value, or write "null" or "drop"')


def _nulls(column: Column, declared: Any) -> Fraction | Value:
    """The value that replaces NULL."""
    if column.kind == "number" and not isinstance(declared, str | bool):
        return _on_grid(column, exact(declared), declared)
    if column.kind == "date":
        return _on_grid(column, _day("nulls", declared), declared)
    if column.kind == "text" and isinstance(declared, str):
        return _short_enough(column, str(canonical(declared)))
    for value in column.domain:
        if type(value) is type(declared) and value == canonical(declared):
            return value
    wanted = ", or one of the values" if column.kind == "category" else ", or a number" if column.kind == "number" else ""
    raise Wrong("nulls", f"is {value_text(declared)}, which the column cannot have", f'write "keep", "drop"{wanted}')


def _short_enough(column: Column, text: str) -> str:
    if len(text.encode()) > column.longest:
        raise Wrong("nulls", f"is {value_text(text)}, which has more than {column.longest} bytes", "shorten it, or raise longest")
    return text


def _on_grid(column: Column, value: Fraction, declared: object) -> Fraction:
    if column.bounds is None or column.step is None:
        raise AssertionError("a grid has bounds and a step")
    low, high = column.bounds
    if not low <= value <= high:
        raise Wrong("nulls", f"is {value_text(declared)}, which is outside the bounds", "take a value inside them")
    if ((value - low) / column.step).denominator != 1:
        nearest = decimal_text(low + round((value - low) / column.step) * column.step)
        raise Wrong("nulls", f"is {value_text(declared)}, which is between two steps", f"the nearest value is {nearest}")
    return value


# --- the declared tables: their owners ---------------------------------------------------------------------------------------


Attempt = Callable[[str, Callable[[], Owner | None]], Owner | LawViolated | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """The declarations of one table about its rows; `column` is None if every row is a unit, and for public tables.

    `own` says whether rows without a unit are units of their own. `rule` and `key_rule` say how spellings of the unit and
    of the key are compared. `sound` is False if another problem with the table was found: then references to it are not checked.
    """

    columns: frozenset[str] = frozenset()
    key: str | None = None
    column: str | None = None
    references: str | None = None
    public: bool = False
    own: bool = False
    sound: bool = True
    rule: KeyRule = AS_WRITTEN
    key_rule: KeyRule = AS_WRITTEN

    def rule_of(self, column: str) -> KeyRule:
        """How spellings of a column that identifies rows or units are compared."""
        return self.rule if column == self.column else self.key_rule


def owners(claims: Mapping[str, Claim], attempt: Attempt) -> dict[str, Owner | None]:
    """The owner of the rows of every table; `attempt` runs the check of a table and keeps what it raises.

    A reference names a column that identifies rows (`key = true`) and means their units, or a column that is itself the owner of
    its table. Circular references are refused, so following them ends.

    >>> patients, visits = Claim(frozenset({"id"}), key="id"), Claim(column="patient_id", references="patients.id")
    >>> owners({"patients": patients, "visits": visits}, lambda table, check: check())["visits"]
    Owner(column='patient_id', references=('patients', 'id'))
    """
    tried = {table: attempt(table, partial(_owner, claim, claims)) for table, claim in claims.items()}
    by_table = {table: None if owner is BROKEN else owner for table, owner in tried.items()}
    for table in by_table:
        attempt(table, partial(_check_circle, table, by_table))
        attempt(table, partial(_check_own, table, claims, by_table))
    return by_table


def _owner(claim: Claim, claims: Mapping[str, Claim]) -> Owner | None:
    if claim.column is None:
        return None
    if claim.column == claim.key and claim.rule != claim.key_rule:
        raise Wrong("unit", f"has other rules than the key {key_text([claim.column])}", f"write {rule_text(claim.key_rule)}")
    if claim.references is None:
        return Owner(claim.column, rule=claim.rule)
    target, column = _target(claim.references, claims)
    led_to = claims[target]
    if led_to.public:
        raise Wrong("unit", f"references {key_text([target])}, which is public", "leave references out: the value is the unit")
    if led_to.sound and column not in (led_to.key, led_to.column):
        where = key_text(("tables", target, "columns", column))
        raise Wrong("unit", f"references {key_text((target, column))}, which is not a key", f"declare {where} with key = true")
    if led_to.sound and led_to.rule_of(column) != claim.rule:
        what = f"references {key_text((target, column))}, whose spellings are compared by other rules"
        raise Wrong("unit", what, f"write the same on both sides: {rule_text(led_to.rule_of(column))} here, or change it there")
    return Owner(claim.column, (target, column), claim.rule)


def _target(references: str, claims: Mapping[str, Claim]) -> tuple[str, str]:
    """The referenced table and column; both names may contain dots."""
    places = [place for place, character in enumerate(references) if character == "."]
    pairs = [(references[:place], references[place + 1 :]) for place in places]
    if not pairs:
        raise Wrong("unit", "references a table without its column", f'write for example references = "{references}.id"')
    declared = [(table, column) for table, column in pairs if table in claims]
    if not declared:
        raise Wrong("unit", f"references {key_text(pairs[0][:1])}, which is not declared", nearest(pairs[0][0], claims))
    for table, column in declared:
        if column in claims[table].columns or column == claims[table].column:
            return table, column
    table, column = declared[0]
    what = f"references {key_text([column])}, which {key_text([table])} does not declare"
    raise Wrong("unit", what, f"add {key_text([column])} = {{ key = true }} to [{key_text(('tables', table, 'columns'))}]")


def _check_circle(table: str, by_table: Mapping[str, Owner | None]) -> None:
    seen: set[str] = set()
    owner = by_table[table]
    while owner is not None and owner.references is not None and owner.references[0] not in seen:
        seen.add(owner.references[0])
        owner = by_table[owner.references[0]]
    if table in seen:
        circle = ", ".join(key_text([name]) for name in sorted(seen))
        raise Wrong("unit", f"leads in a circle through {circle}", "let one of them say whose its rows are")


def _check_own(table: str, claims: Mapping[str, Claim], by_table: Mapping[str, Owner | None]) -> None:
    """Refuse `own` where units are looked up in another table: one new row there could claim any number of such rows."""
    if claims[table].own and (parent := _looked_up_in(table, by_table)):
        what = f'is "own", but the unit is looked up in {key_text([parent])}, where one new row could claim many such rows'
        raise Wrong("no_unit", what, 'write no_unit = "drop"')


def _looked_up_in(table: str, by_table: Mapping[str, Owner | None]) -> str | None:
    """The table in which the unit is looked up; None if the value itself is the unit."""
    owner, seen = by_table[table], {table}
    while owner is not None and owner.references is not None and owner.references[0] not in seen:
        parent, column = owner.references
        seen.add(parent)
        owner = by_table[parent]
        if owner is not None and owner.column != column:
            return parent
    return None
