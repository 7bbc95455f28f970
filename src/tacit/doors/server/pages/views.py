"""Plain facts as pages show them: numbers with their intervals and bars, gauges, the line of a price, the diagram of a catalog.

Everything here is a function of replies of the clerk: released numbers, prices, balances and declarations.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import accumulate
from math import floor, isfinite, log10
from typing import Any

from tacit.untrusted import for_json

MOST_ROWS = 1_000  # of a table on a page; downloads have all
MOST_DRAWN = 2_000  # rows of a chart
MOST_TEXT = 200  # characters of a key in a cell
PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
RESERVED = frozenset(
    """all and as asc between by case cast desc distinct else end from group having in is join left limit not null on or order
    select then true false union using when where with""".split()  # noqa: SIM905
)
BESIDE, BELOW = 250, 22  # of the diagram, in its own units
WIDE, HEAD, ROW, MOST_SHOWN = 190, 34, 20, 12


def amount(text: str | Fraction | None, digits: int = 4) -> str:
    """A budget as people read it: rounded down, without zeros at the end.

    >>> amount("1.9"), amount("0.33333333"), amount("1/3"), amount("0"), amount("0.00000005")
    ('1.9', '0.3333', '0.3333', '0', '5e-08')
    """
    value = Fraction(text or 0)
    if 0 < value < Fraction(1, 10**digits):
        return f"{float(value):.3g}"
    scaled = floor(value * 10**digits)
    whole, rest = divmod(scaled, 10**digits)
    return f"{whole:,}.{rest:0{digits}d}".rstrip("0").rstrip(".")


def number(value: Any, half: float | None = None) -> str:
    """A released number with the digits that its interval leaves room for.

    >>> number(1457.2935, 35.4), number(12345, 380), number(0.123456, 0.004), number(None), number("2024-01-01")
    ('1,457.3', '12,345', '0.12346', '–', '2024-01-01')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or not isfinite(value):
        return f"{value:,}"
    digits = 6 if half is None else max(0, min(12, 2 - floor(log10(half)))) if half > 0 else 6
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:,.0f}"


def sql_name(name: str) -> str:
    """A name as SQL writes it.

    >>> sql_name("ward"), sql_name('a "b'), sql_name("order")
    ('ward', '"a ""b"', '"order"')
    """
    return name if PLAIN_NAME.fullmatch(name) and name not in RESERVED else '"' + name.replace('"', '""') + '"'


def moment(text: str) -> str:
    """A time of an entry, to the minute, in UTC."""
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M")


# --- answers -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in the table; of a number, its interval in words, and in percent of the column's range for the bar."""

    text: str
    is_number: bool = False
    interval: str = ""
    is_unknown: bool = False
    bar: tuple[float, float] | None = None  # where it begins, and its width
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """An answer as a table."""

    headings: list[tuple[str, bool]]
    rows: list[list[Cell]]
    total: int

    @property
    def is_drawn(self) -> bool:
        """Whether the clerk draws a chart of it."""
        return 0 < self.total <= MOST_DRAWN and any(is_number for _, is_number in self.headings)


def table_of(answer: Mapping[str, Any]) -> Table:
    """The table of an answer, with a bar behind each number on the scale of its column."""
    columns, rows = answer["columns"], answer["rows"]
    scales = {column["name"]: _scale([row[column["name"]] for row in rows]) for column in columns}
    shown = [[_cell(row[column["name"]], scales[column["name"]]) for column in columns] for row in rows[:MOST_ROWS]]
    numbers = [any(isinstance(row[column["name"]], dict) for row in rows) for column in columns]
    return Table([(column["name"], is_number) for column, is_number in zip(columns, numbers, strict=True)], shown, len(rows))


def _ends(cell: Any) -> tuple[float, float, float] | None:
    """The value and both ends, if they are finite numbers."""
    if not isinstance(cell, dict):
        return None
    parts = cell.get("value"), cell.get("low"), cell.get("high")
    value, low, high = (
        part if isinstance(part, int | float) and not isinstance(part, bool) and isfinite(part) else None for part in parts
    )
    if value is None:
        return None
    return float(value), float(value if low is None else low), float(value if high is None else high)


def _scale(cells: Iterable[Any]) -> tuple[float, float] | None:
    known = [ends for cell in cells if (ends := _ends(cell)) is not None]
    low, high = min([0.0, *(low for _, low, _ in known)]), max([0.0, *(high for _, _, high in known)])
    return (low, high) if high > low else None


def _cell(cell: Any, scale: tuple[float, float] | None) -> Cell:
    if not isinstance(cell, dict):
        text = {None: "–", True: "true", False: "false"}.get(cell) if cell is None or isinstance(cell, bool) else None
        return Cell((text if text is not None else number(cell))[:MOST_TEXT])
    half, low, high = cell.get("half_width"), cell.get("low"), cell.get("high")
    width = float(half) if isinstance(half, int | float) else None
    interval = _interval(cell, width)
    ends = _ends(cell)
    if ends is None or scale is None:
        return Cell(number(cell.get("value"), width), True, interval, bool(cell.get("unknown")))

    def at(place: float) -> float:
        return round(100 * (place - scale[0]) / (scale[1] - scale[0]), 2)

    begin, end = sorted((at(0.0), at(ends[0])))
    whisker = None if low is None or high is None else (at(ends[1]), round(at(ends[2]) - at(ends[1]), 2))
    return Cell(number(cell["value"], width), True, interval, bool(cell.get("unknown")), (begin, round(end - begin, 2)), whisker)


def _interval(cell: Mapping[str, Any], half: float | None) -> str:
    """The interval as words: ± where it lies evenly around the number, else its two ends."""
    low, high, value = cell.get("low"), cell.get("high"), cell.get("value")
    if low is None and high is None:
        return ""
    if half is not None and all(isinstance(each, int | float) for each in (low, high, value)):
        even = abs((value - low) - (high - value)) <= 1e-6 * max(1.0, abs(half))  # type: ignore[operator]
        if even:
            return f"± {number(half, half)}"
    return f"{number(low, half)} … {number(high, half)}"


# --- prices ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Price:
    """The line under the editor, the words of the button, and whether the question can be asked."""

    line: str
    button: str
    fits: bool = True
    is_free: bool = False
    curve: list[tuple[str, str]] = field(default_factory=list)  # epsilon, and half width, of the first number
    path: str = ""


def price_of(seen: Mapping[str, Any], words: Mapping[str, Any]) -> Price:
    """The price of a question: what it spends, how exact it is, and what it leaves."""
    explanation, own = seen["explanation"], seen["budget"]["analyst"]
    lefts = [each["left"] for each in explanation.get("charged", ()) if each["left"]] or [own["left"]["epsilon"]]
    epsilon, left = Fraction(explanation["price"]["epsilon"]), min(map(Fraction, lefts))
    cap = (own["cap"] or seen["budget"]["data_set"]["cap"])["epsilon"]
    errors = [
        f"{each['column']} ± {number(_as_number(each['half_width']))}" for each in explanation["errors"] if each["half_width"]
    ]
    later = [each for each in explanation["errors"] if not each["half_width"]]
    known = [*errors[:3], *([words["more_numbers"].format(count=len(errors) - 3)] if len(errors) > 3 else [])]
    known += [words["with_answer"]] if later else []
    curve, path = _curve(explanation)
    if not epsilon:
        return Price(" · ".join([words["free_line"]]), words["free"], is_free=True)
    if seen["paid"]:
        line = " · ".join([words["paid_line"].format(epsilon=amount(epsilon)), *known])
        return Price(line, words["show_again"], is_free=True, curve=curve, path=path)
    spends = [f"ε {amount(epsilon)}", *known]
    per_query = own["epsilon_per_query"]
    if epsilon > left:
        return Price(
            " · ".join([*spends, words["too_much"].format(left=amount(left))]),
            words["spend"].format(epsilon=amount(epsilon)),
            False,
        )
    if per_query is not None and epsilon > Fraction(per_query):
        line = " · ".join([*spends, words["too_much_each"].format(most=amount(per_query))])
        return Price(line, words["spend"].format(epsilon=amount(epsilon)), False, curve=curve, path=path)
    after = left - epsilon
    leaves = words["leaves"].format(left=amount(after), cap=amount(cap), more=f"{floor(after / epsilon):,}")
    rung = [] if explanation["rung_ms"] is None else [words["rung"].format(seconds=number(explanation["rung_ms"] / 1000))]
    return Price(" · ".join([*spends, leaves, *rung]), words["spend"].format(epsilon=amount(epsilon)), curve=curve, path=path)


def _as_number(text: str) -> int | float:
    value = Fraction(text)
    return int(value) if value.denominator == 1 else float(value)


def _curve(explanation: Mapping[str, Any]) -> tuple[list[tuple[str, str]], str]:
    """The error of the first number at each budget, and the same as a path in a box of 100 by 40."""
    points = []
    for each in explanation["budgets"]:
        half = next((error["half_width"] for error in each["errors"] if error["half_width"]), None)
        if half is not None:
            points.append((Fraction(each["price"]["epsilon"]), Fraction(half)))
    points = sorted(set(points))
    if len(points) < 3 or not points[-1][0]:
        return [], ""
    most = max(half for _, half in points) or 1
    low, high = log10(points[0][0]), log10(points[-1][0])
    places = [(100 * (log10(epsilon) - low) / ((high - low) or 1), 38 - 34 * float(half / most)) for epsilon, half in points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return [(amount(epsilon), number(_as_number(str(half)))) for epsilon, half in points], path


# --- refusals ----------------------------------------------------------------------------------------------------------------

MEANT = re.compile(r"did you mean ([^,?]{1,200})\?")
LESS = re.compile(r"ask with epsilon=([0-9.e-]{1,30}) or less")
WORD = re.compile(r'"(?:[^"]|"")*"|\w+|\S')


@dataclass(frozen=True, slots=True)
class Refusal:
    """A question that is not answered: why, what to do, where it is, and the same question mended, if that is known."""

    message: str
    remedy: str = ""
    before: str = ""
    word: str = ""
    after: str = ""
    mended: str = ""
    use: str = ""
    epsilon: str = ""
    place: tuple[int, int] | None = None  # in the text: the first character of the word, and the one after it


def refusal_of(error: Mapping[str, Any], sql: str) -> Refusal:
    """A refusal with the word that it is about, and the remedy as something to press."""
    message, remedy, epsilon = error["message"], error.get("remedy", ""), ""
    if (less := LESS.search(remedy)) is not None:
        epsilon = less[1].rstrip(".")
    lines, line, column = sql.split("\n"), error.get("line"), error.get("column")
    if not isinstance(line, int) or not isinstance(column, int) or not 1 <= line <= len(lines):
        return Refusal(message, remedy, epsilon=epsilon)
    text = lines[line - 1]
    at = WORD.search(text, max(0, column - 1))
    if at is None:
        return Refusal(message, remedy, epsilon=epsilon)
    start = sum(len(each) + 1 for each in lines[: line - 1]) + at.start()
    end = start + len(at[0])
    meant = MEANT.fullmatch(remedy)
    mended = "" if meant is None else sql[:start] + sql_name(meant[1].strip().strip('"')) + sql[end:]
    use = "" if meant is None else meant[1].strip()
    return Refusal(message, remedy, text[: at.start()], at[0], text[at.end() :], mended, use, epsilon, (start, end))


# --- the catalog -------------------------------------------------------------------------------------------------------------


def examples(tables: Sequence[Mapping[str, Any]], epsilon: str) -> list[tuple[str, str]]:
    """Questions made from the declarations: the SQL, and the epsilon; the first is the one that Ask opens with."""
    found: list[tuple[str, str]] = []
    for table in (each for each in tables if not each["public"]):
        name, columns = sql_name(table["name"]), table["columns"]
        groups = [each["name"] for each in columns if each["kind"] == "category" and 2 <= len(each["values"] or ()) <= 12]
        numbers = [each["name"] for each in columns if each["kind"] == "number" and each["bounds"]]
        if groups:
            found.append((f"SELECT {sql_name(groups[0])}, COUNT(*) AS n\nFROM {name}\nGROUP BY {sql_name(groups[0])}", epsilon))
        else:
            found.append((f"SELECT COUNT(*) AS n\nFROM {name}", epsilon))
        if numbers:
            found.append((f"SELECT AVG({sql_name(numbers[0])}) AS mean\nFROM {name}", epsilon))
    found.sort(key=lambda each: "GROUP BY" not in each[0])
    public = [f"SELECT *\nFROM {sql_name(each['name'])}" for each in tables if each["public"] and each["columns"]]
    return [*found[:5], *((sql, epsilon) for sql in public[:1])]


NUMBERS, SIGNS = ("AVG", "SUM"), ("=", "<>", "<", "<=", ">", ">=")
DECIMAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


def built(tables: Sequence[Mapping[str, Any]], given: Mapping[str, str]) -> str | None:
    """The SQL of a question that was put together from declared names; None if one of them is not declared.

    A value is a literal: a number if it looks like one and the column has bounds, else a text between quotes.
    """
    table = next((each for each in tables if each["name"] == given.get("table")), None)
    columns = {} if table is None else {each["name"]: each for each in table["columns"]}
    group, where, is_ = given.get("group", ""), given.get("where", ""), given.get("is", "=")
    what, _, number_of = given.get("number", "").partition(" ")
    names = [name for name in (group, where, number_of) if name]
    if table is None or any(name not in columns for name in names) or is_ not in SIGNS or (what and what not in NUMBERS):
        return None
    counted = f"{what}({sql_name(number_of)}) AS {'mean' if what == 'AVG' else 'total'}" if what else "COUNT(*) AS n"
    lines = [f"SELECT {sql_name(group)}, {counted}" if group else f"SELECT {counted}", f"FROM {sql_name(table['name'])}"]
    if where:
        lines.append(f"WHERE {sql_name(where)} {is_} {_literal(given.get('value', ''), columns[where])}")
    return "\n".join([*lines, *([f"GROUP BY {sql_name(group)}"] if group else [])])


def _literal(value: str, column: Mapping[str, Any]) -> str:
    if column["kind"] == "number" and DECIMAL.fullmatch(value):
        return value
    if value.lower() in ("true", "false") and True in (column["values"] or ()):
        return value.upper()
    quoted = value.replace("'", "''")
    return f"'{quoted}'" if column["kind"] != "date" else f"DATE '{quoted}'"


def facts_of(column: Mapping[str, Any]) -> str:
    """The declaration of a column, in a few words."""
    if column["bounds"]:
        return " … ".join(str(end) for end in column["bounds"])
    if column["values"]:
        known = [str(value).lower() if isinstance(value, bool) else str(value) for value in column["values"]]
        return ", ".join(known[:6]) + (f", … ({len(known)})" if len(known) > 6 else "")
    return ""


@dataclass(frozen=True, slots=True)
class Box:
    """A table in the diagram."""

    name: str
    x: int
    y: int
    height: int
    is_public: bool
    columns: list[tuple[str, str]]
    more: int


@dataclass(frozen=True, slots=True)
class Diagram:
    """Tables and the references between them."""

    boxes: list[Box]
    arrows: list[str]
    width: int
    height: int


def diagram_of(tables: Sequence[Mapping[str, Any]]) -> Diagram:
    """Each table right of the one that it refers to."""
    parents = {each["name"]: (each.get("unit") or {}).get("references") for each in tables}

    def depth(name: str, seen: frozenset[str] = frozenset()) -> int:
        parent = parents.get(name)
        return 0 if not parent or name in seen or parent[0] not in parents else 1 + depth(parent[0], seen | {name})

    heights: dict[int, int] = {}
    boxes: dict[str, Box] = {}
    for table in sorted(tables, key=lambda each: (depth(each["name"]), each["public"])):
        at, columns = depth(table["name"]), [(column["name"], column["kind"]) for column in table["columns"]]
        tall = HEAD + ROW * min(len(columns), MOST_SHOWN) + (ROW if len(columns) > MOST_SHOWN else 0) + 8
        y = heights.get(at, 0)
        boxes[table["name"]] = Box(
            table["name"], at * BESIDE, y, tall, table["public"], columns[:MOST_SHOWN], max(0, len(columns) - MOST_SHOWN)
        )
        heights[at] = y + tall + BELOW
    arrows = []
    for name, parent in parents.items():
        if parent and parent[0] in boxes and parent[0] != name:
            one, other = boxes[name], boxes[parent[0]]
            y1, y2 = one.y + HEAD // 2, other.y + HEAD // 2
            arrows.append(f"M{one.x} {y1}C{one.x - 30} {y1} {other.x + WIDE + 30} {y2} {other.x + WIDE + 4} {y2}")
    width = max((box.x + WIDE for box in boxes.values()), default=WIDE)
    return Diagram(list(boxes.values()), arrows, width, max(heights.values(), default=HEAD))


# --- budgets -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gauge:
    """How much of a cap is spent, in words and in percent."""

    name: str
    spent: str
    left: str
    cap: str
    percent: float

    @property
    def is_near(self) -> bool:
        """Whether less than a tenth is left."""
        return self.percent > 90


def gauge_of(name: str, cap: str, left: str) -> Gauge:
    """The gauge of a cap, from what is left of it."""
    whole, rest = Fraction(cap), min(Fraction(left), Fraction(cap))
    percent = round(float(100 * (whole - rest) / whole), 1) if whole else 100.0
    return Gauge(name, amount(whole - rest), amount(rest), amount(whole), percent)


def over_time(entries: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, str, str]]:
    """The spends of a page of history, oldest first: place in time and sum, both in percent, with the moment and the sum."""
    spends = [each for each in reversed(entries) if each["kind"] == "spend" and each["price"]["epsilon"] is not None]
    times = [datetime.fromisoformat(each["at"]).timestamp() for each in spends]
    sums = list(accumulate(Fraction(each["price"]["epsilon"]) for each in spends))
    if not sums or not sums[-1]:
        return []
    first, wide = times[0], times[-1] - times[0]
    places = [round(6 + 88 * (time - first) / wide, 2) if wide else 50.0 for time in times]  # the line begins at 0
    points = zip(spends, places, sums, strict=True)
    return [(place, round(float(100 * total / sums[-1]), 2), moment(each["at"]), amount(total)) for each, place, total in points]


def stairs(points: Sequence[tuple[float, float, str, str]]) -> str:
    """The steps of the sums as a path in a box of 100 by 100."""
    path, before = "M0 100", 100.0
    for x, y, _, _ in points:
        path += f"L{x} {before}L{x} {100 - y}"
        before = 100 - y
    return path + f"L100 {before}" if points else ""


# --- elsewhere ---------------------------------------------------------------------------------------------------------------


PYTHON = """import os
import tacit

with tacit.connect("{url}", token=os.environ["TACIT_TOKEN"]) as me:
    print(me.sql({sql!r}, {given}))"""
CURL = """curl {url}/v1/questions -H @token.txt \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: NEW' \\
  -d {body}"""


def copies(sql: str, budget: Mapping[str, str], url: str) -> list[tuple[str, str]]:
    """The question for other programs, by name; a token stands in none of them."""
    given = ", ".join(f"{name}={value}" for name, value in budget.items())
    body = shlex.quote(for_json({"sql": sql, **budget}, plain=True))
    return [("Python", PYTHON.format(url=url, sql=sql, given=given)), ("SQL", sql), ("curl", CURL.format(url=url, body=body))]


def plan_of(event: Any) -> str:
    """The plan of an entry in a line."""
    return json.dumps(event, sort_keys=True, ensure_ascii=True) if event else ""
