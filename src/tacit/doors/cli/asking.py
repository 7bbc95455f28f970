"""The questions of `tacit init` on a terminal: one line each, with a default, help, and a way back.

A dialogue is a function that asks one question after the other. Going back drops the last answer and runs the function again with
the answers that are left, so that every question follows from the answers before it and from nothing else. Ctrl-C writes nothing;
Ctrl-D ends the questions and keeps the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from tacit.data.catalog.columns import read_column
from tacit.data.catalog.draft import Answers, unusable
from tacit.data.catalog.suggest import DATE, KEY, LIST, NUMBER, PRESENT, TEXT, TRUTH, Declaration, Suggestion, suggest_unit
from tacit.data.declaration import PLACEHOLDER, Wrong, folded, value_text
from tacit.data.files.kinds import Field, Found
from tacit.privacy.rounding import counted

WELCOME = "Enter takes what is in [ ]. ? is help, < goes back, Ctrl-C stops and writes nothing, Ctrl-D keeps a draft."
SKIP_ALL, TAKE_ALL = "skip all", "take all"
SKIP = ("skip", "-", "s")
LADDER = "10^5, 10^6, 10^7 ..."
LONGEST_SHOWN = 48
LONGEST_ABOUT = 60
WRITTEN = ("step", "decimal", "thousands", "format", "missing", "nulls")  # by the values, the source or a code book

OF_A_COLUMN = """\
  number          a number; its bounds are asked next. Or type them: 0..120, or 0..5000 by 0.01
  date            a day: 2020-01-01..2024-12-31
  list            one of a public list. Or type it: F, M; with labels: 1=male, 2=female
  yes/no          true or false
  text            text whose values are not public, such as diagnoses or towns
  key             identifies one row
  present         only whether a value is there
  skip            leave the column out: nobody can ask about it
  take all        take every suggestion that is left in this table, and leave out columns without one
  skip all        leave out all columns that are left in this table
Bounds and lists must be public knowledge: from a form, a code book or the law, never from looking at rows."""
OF_A_UNIT = """\
  row             each row is one person
  a column        its value names the person: patient_id. Where that is looked up in another table: patient_id -> patients.id
  public          anybody may know every row of this table
  skip            leave the whole table out, for example a view of others
The answer decides what is protected: all rows of one unit together."""
OF_MAX_ROWS = """\
The most rows of one unit that any answer uses; further rows of that unit are left out. Fewer rows mean less noise.
A choice, not a count: do not look it up in the data."""
OF_ROWS_AT_MOST = f"""\
The most rows that the table can ever have: {LADDER}. tacit computes the worst case of a question from it.
Take it from public knowledge (the number of inhabitants, the size of a register) and round up. The number of rows in the file
is private: do not use it."""
OF_BOUNDS = (
    "Two numbers, for example 0..120, or 0..5000 by 0.01 with a step. From public knowledge: the form, a code book, the law.\n"
    "If you know none: present (then `tacit bounds` can propose some privately), or skip to leave the column out."
)
OF_DAYS = (
    "Two days, for example 2020-01-01..2024-12-31. From public knowledge: when the register began, until when it may run.\n"
    "If you know none: present, or skip to leave the column out."
)
OF_VALUES = (
    "All values with commas between them: north, south; or with labels: 1=male, 2=female. From a form or a code book.\n"
    "If you know none: text (groups appear only with enough people), present, or skip to leave the column out."
)
OF_MISSING = """\
  keep            a missing value stays missing (NULL)
  drop            rows without a value are left out of every answer
  a value         takes the place of a missing one: 0"""
OF_UNKNOWN = """\
  null            a value that is not in the list counts as missing
  other           it counts as "other" (for lists of texts)
  drop            its row is left out"""
OF_EPSILON = """\
The total privacy loss over everything ever released, by all analysts together. 1 is strict, 8 is loose.
It is a decision of the data owner, so there is no default."""
OF_DELTA = (
    "The chance that epsilon fails, needed for private text and Gaussian noise. Far below one in the number of people; 0 for none."
)


@dataclass(frozen=True, slots=True)
class Question:
    """One line to ask: its words, how an answer is read, its help, and the default as it is shown; None if there is no default."""

    words: str
    read: Callable[[str], Any]
    help: str
    default: str | None = None

    @property
    def prompt(self) -> str:
        """The line that the terminal shows."""
        return f"{self.words}{'' if self.default is None else f' [{self.default}]'}: "


class Back(Exception):
    """The last answer was dropped: the dialogue runs again."""


class Asker:
    """Asks on a terminal, and remembers the answers so that a dialogue can run again."""

    def __init__(self, read_line: Callable[[str], str], show: Callable[[str], None]) -> None:
        self.read_line, self.show = read_line, show
        self.given: list[str] = []
        self.at = 0

    def run(self, dialogue: Callable[[Asker], None]) -> None:
        """Run a dialogue to its end; going back runs it again with one answer fewer."""
        while True:
            self.at = 0
            try:
                dialogue(self)
            except Back:
                continue
            return

    def tell(self, text: str) -> None:
        """Show a text before the next question, unless the question was answered before."""
        if self.at == len(self.given):
            self.show(text)

    def ask(self, question: Question) -> Any:
        """The answer as the question reads it: one that was given before, or a new one."""
        if self.at < len(self.given):
            self.at += 1
            return question.read(self.given[self.at - 1])
        while True:
            text = self.read_line(question.prompt).strip()
            if text == "<":
                self._go_back()
            elif text == "?":
                self.show(question.help)
            elif not text and question.default is None:
                self.show("please type an answer; ? is help")
            elif (answer := self._attempt(question, text)) is not None:
                self.given.append(text)
                self.at += 1
                return answer[0]

    def _go_back(self) -> None:
        if not self.given:
            self.show("this is the first question")
            return
        self.given.pop()
        raise Back

    def _attempt(self, question: Question, text: str) -> tuple[Any] | None:
        try:
            return (question.read(text),)
        except Wrong as wrong:
            self.show(f"  {wrong}" if wrong.key else f"  {wrong.what}; {wrong.remedy}")
            return None


# --- how answers are written -------------------------------------------------------------------------------------------------


RANGE = re.compile(r"(\S+?)\s*(?:\.\.|\bto\b)\s*(\S+?)(?:\s+(?:by|step)\s+(\S+))?")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
POWER = re.compile(r"([0-9]+)\s*(?:\^|\*\*)\s*([0-9]+)", re.ASCII)
MOST_POWER = 18
KINDS: Mapping[str, Declaration] = {
    **dict.fromkeys(("number", "n"), NUMBER),
    **dict.fromkeys(("date", "d"), DATE),
    **dict.fromkeys(("list", "l"), LIST),
    **dict.fromkeys(("text", "t"), TEXT),
    **dict.fromkeys(("key", "k"), KEY),
    **dict.fromkeys(("present", "p"), PRESENT),
    **dict.fromkeys(("yes/no", "y"), TRUTH),
}


def read_size(text: str) -> int:
    """A number of rows as people write it.

    >>> read_size("10^6"), read_size("1e6"), read_size("2,000,000"), read_size("3 million")
    (1000000, 1000000, 2000000, 3000000)
    """
    plain = re.sub(
        r"(?<=[0-9])[,_' ](?=[0-9]{3})", "", text.lower().replace("million", "e6").replace("billion", "e9").replace(" e", "e")
    )
    power = POWER.fullmatch(plain)
    try:
        size = Decimal(int(power[1]) ** int(power[2])) if power and int(power[2]) <= MOST_POWER else Decimal(plain)
    except (InvalidOperation, ValueError):
        size = Decimal(0)
    if not size.is_finite() or not 1 <= size < 10**MOST_POWER or size != int(size):
        raise Wrong("", f"{value_text(text)} is not a whole number of at least 1", f"type for example one of {LADDER}")
    return int(size)


def read_range(text: str) -> Declaration:
    """Bounds as they are typed, of numbers or of days.

    >>> read_range("0..5000 by 0.01"), read_range("2020-01-01 to 2024-12-31")["type"]
    ({'bounds': [0, 5000], 'step': Decimal('0.01')}, 'date')
    """
    match = RANGE.fullmatch(text)
    if match is None:
        raise Wrong("", f"{value_text(text)} is not a range", "type for example 0..120, or 0..5000 by 0.01")
    low, high, step = match.groups()
    if DAY.fullmatch(low) and DAY.fullmatch(high):
        return {"type": "date", "bounds": [low, high]}
    bounds: dict[str, object] = {"bounds": [_number(low), _number(high)]}
    digits = max((-int(number.as_tuple().exponent) for number in bounds["bounds"] if isinstance(number, Decimal)), default=0)  # type: ignore[attr-defined]
    if step:
        return bounds | {"step": _number(step)}
    return bounds | ({"step": Decimal(1).scaleb(-digits)} if digits else {})


def _number(text: str) -> int | Decimal:
    plain = re.sub(r"(?<=[0-9])[,_'](?=[0-9]{3})", "", text)
    if WHOLE.fullmatch(plain):
        return int(plain)
    try:
        number = Decimal(plain)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise Wrong("", f"{value_text(text)} is not a number", "type for example 0..120, or 0..5000 by 0.01")
    return number


def read_values(text: str) -> Declaration:
    """A list as it is typed, with labels behind = signs.

    >>> read_values("F, M"), read_values("1=male, 2=female")
    ({'values': ['F', 'M']}, {'values': [1, 2], 'labels': {'1': 'male', '2': 'female'}})
    """
    parts = [part.strip() for part in re.split(r"[|;]" if re.search(r"[|;]", text) else ",", text) if part.strip()]
    pairs = [tuple(each.strip() for each in part.partition("=")[::2]) for part in parts]
    codes, labels = [code for code, _ in pairs], {code: label for code, label in pairs if label}
    if not codes or not all(codes):
        raise Wrong("", "the list has no values", "type them with commas between them: F, M")
    whole = all(WHOLE.fullmatch(code) for code in codes)
    return {"values": [int(code) for code in codes] if whole else codes} | ({"labels": labels} if labels else {})


def shown(declaration: Declaration | None) -> str:
    """A declaration as it could be typed, shortened.

    >>> shown({"bounds": [0, 5000], "step": Decimal("0.01"), "nulls": "drop"}), shown({"values": ["F", "M"], "unknown": "other"})
    ('0..5000 by 0.01, missing: drop', 'F, M, unknown: other')
    >>> shown({"bounds": "?"}), shown(None), shown({})
    ('number', 'skip', 'present')
    """
    if declaration is None:
        return "skip"
    tail = [f"missing: {declaration['nulls']}"] if "nulls" in declaration else []
    tail += [f"missing if {', '.join(map(str, declaration['missing']))}"] if "missing" in declaration else []  # type: ignore[call-overload]
    tail += [f"unknown: {declaration['unknown']}"] if "unknown" in declaration else []
    return ", ".join([_main(declaration), *tail])


def _main(declaration: Declaration) -> str:
    bounds, values = declaration.get("bounds"), declaration.get("values")
    step = f" by {declaration['step']}" if declaration.get("step", 1) not in (1, PLACEHOLDER) else ""
    if bounds == PLACEHOLDER or values == PLACEHOLDER:
        return "list" if values else "date" if declaration.get("type") == "date" else f"number{step}"
    if isinstance(bounds, Sequence):
        return f"{bounds[0]}..{bounds[1]}{step}"
    if isinstance(values, Sequence):
        text = "yes/no" if values == [False, True] else ", ".join(map(str, values))
        return text if len(text) <= LONGEST_SHOWN else f"{values[0]}, {values[1]}, ... {values[-1]}: {len(values)} values"
    return "key" if "key" in declaration else "text" if "keys" in declaration else "present"


# --- the dialogue ------------------------------------------------------------------------------------------------------------


Suggest = Callable[[Found, Field, object], Suggestion]


class Dialogue:
    """Asks about all tables, then about the budget; the answers so far are in `answers` and `budget` at any moment."""

    def __init__(self, tables: Sequence[Found], suggest: Suggest, notes: Mapping[str, Mapping[str, object]]) -> None:
        self.tables, self.suggest, self.notes = tables, suggest, notes
        self.answers: list[Answers] = []
        self.budget: dict[str, object] = {}

    def __call__(self, asker: Asker) -> None:
        """Ask everything, from the first question on."""
        self.answers, self.budget = [], {}
        for table in self.tables:
            asker.tell(f"\n{table.name}: {counted(len(table.fields), 'column')}")
            self._ask_table(asker, table)
        asker.tell("")
        self.budget = {"epsilon": asker.ask(Question("budget: epsilon over everything ever released", _epsilon, OF_EPSILON))}
        if sizes := [each.keys.get("rows_at_most") for each in self.answers if not each.left_out and "public" not in each.keys]:
            default = _delta_for(sizes)
            read = lambda text: _delta(text or default)  # noqa: E731
            if delta := asker.ask(Question("budget: delta", read, OF_DELTA, default)):
                self.budget["delta"] = delta

    def _ask_table(self, asker: Asker, table: Found) -> None:
        unit = _ask_unit(asker, table, self.tables)
        if unit in ("public", "skip"):
            self.answers.append(Answers({"public": True}) if unit == "public" else Answers(left_out=True))
            return
        keys: dict[str, object] = {**self.notes.get(table.name, {}), "unit": unit}
        if isinstance(unit, Mapping):
            keys["max_rows"] = asker.ask(Question("at most how many rows of one unit", _default_to("8"), OF_MAX_ROWS, "8"))
        words = f"the most rows the table can ever have ({LADDER})"
        keys["rows_at_most"] = asker.ask(Question(words, _default_to("10^6"), OF_ROWS_AT_MOST, "10^6"))
        self.answers.append(Answers(keys))
        for columns in _ask_columns(asker, table, lambda field: self.suggest(table, field, unit)):
            self.answers[-1] = replace(self.answers[-1], columns=columns)


def _default_to(default: str) -> Callable[[str], int]:
    return lambda text: read_size(text or default)


def _ask_unit(asker: Asker, table: Found, tables: Sequence[Found]) -> Any:
    likely = suggest_unit(table, tables)
    default = likely if likely is None or isinstance(likely, str) else " -> ".join(likely.values())  # type: ignore[attr-defined]
    names = {folded(field.name) for field in table.fields}

    def read(text: str) -> object:
        column, _, references = (part.strip() for part in (text or default or "").partition("->"))
        if column.lower() in ("row", "public", "skip") and not references:
            return column.lower()
        if folded(column) not in names:
            raise Wrong(
                "", f"{value_text(column)} is not a column of {table.name}", "type row, public, skip or the name of a column"
            )
        if not references and isinstance(likely, Mapping) and likely["column"] == folded(column):
            return likely
        return {"column": folded(column)} | ({"references": references} if references else {})

    return asker.ask(Question("whose is a row: row, a column, public or skip", read, OF_A_UNIT, default))


def _ask_columns(asker: Asker, table: Found, suggest: Callable[[Field], Suggestion]) -> Iterator[dict[str, Declaration | None]]:
    """The declarations so far, after each column."""
    columns: dict[str, Declaration | None] = {}
    habits = {"missing": "keep", "unknown": "null"}
    rest = ""
    for place, field in enumerate(table.fields):
        if unusable(field.name, [folded(other.name) for other in table.fields[:place]]):
            continue
        suggestion = suggest(field)
        if not rest:
            answer = asker.ask(_about(place, table, field, suggestion))
            rest = answer if answer in (SKIP_ALL, TAKE_ALL) else ""
        if rest:
            columns[field.name] = suggestion.declaration if rest == TAKE_ALL and not suggestion.is_open else None
        elif (isinstance(answer, Mapping) and answer is not suggestion.declaration) or _is_open(answer):
            columns[field.name] = _complete(asker, field, answer, habits)
        else:
            columns[field.name] = answer
        yield columns


def _is_open(answer: Any) -> bool:
    return isinstance(answer, Mapping) and PLACEHOLDER in answer.values()


def _about(place: int, table: Found, field: Field, suggestion: Suggestion) -> Question:
    """The question about one column: an empty answer takes the suggestion."""
    about = f", {suggestion.about[:LONGEST_ABOUT]}" if suggestion.about else ""
    number = f"{place + 1:>{len(str(len(table.fields)))}}/{len(table.fields)}"

    def read(text: str) -> object:
        word = text.lower()
        if not text:
            return suggestion.declaration
        if word in SKIP:
            return None
        if word in (SKIP_ALL, TAKE_ALL):
            return word
        return _in_form(suggestion.declaration, KINDS[word] if word in KINDS else _spelled(field.name, text))

    why = f"{suggestion.why[:1].upper()}{suggestion.why[1:]}: {shown(suggestion.declaration)}\n" if suggestion.why else ""
    return Question(f"{number} {field.name}{about}", read, why + OF_A_COLUMN, shown(suggestion.declaration))


def _in_form(suggested: Declaration | None, typed: Declaration) -> Declaration:
    """A typed declaration with how the values are written, if the suggestion is of the same kind and says it.

    >>> _in_form({"bounds": "?", "step": Decimal("0.01"), "thousands": "."}, {"bounds": [0, 5000]})
    {'bounds': [0, 5000], 'step': Decimal('0.01'), 'thousands': '.'}
    """
    if not suggested or "bounds" not in suggested or "bounds" not in typed or suggested.get("type") != typed.get("type"):
        return typed
    return {**typed, **{key: value for key, value in suggested.items() if key in WRITTEN and key not in typed}}


def _spelled(name: str, text: str) -> Declaration:
    """Bounds or a list, typed at once."""
    if ".." in text or RANGE.fullmatch(text):
        return _checked(name, read_range(text))
    if re.search(r"[,|;=]", text):
        return _checked(name, read_values(text))
    raise Wrong("", f"{value_text(text)} is not a kind of column", "type number, date, list, yes/no, text, key, present or skip")


def _checked(name: str, declaration: Declaration) -> Declaration:
    """The declaration, if the catalog would accept it."""
    read_column(name, declaration)
    return declaration


def _complete(asker: Asker, field: Field, answer: Declaration, habits: dict[str, str]) -> Declaration | None:
    """A declaration with its open places asked for, then what happens to missing and unknown values; None to leave it out."""
    declared = dict(answer)
    if PLACEHOLDER in (declared.get("bounds"), declared.get("values")):
        of_values = Question("  values", lambda text: _checked(field.name, read_values(text)), OF_VALUES)
        asked = _bounds_question(field.name, declared) if "bounds" in declared else of_values
        given = asker.ask(replace(asked, read=_or_without(asked.read)))
        if given is None or not given.keys() & {"bounds", "values"}:
            return given  # type: ignore[no-any-return]
        declared |= given
    if "values" in declared and "unknown" not in declared and declared["values"] != [False, True]:
        habits["unknown"] = asker.ask(_choice(field.name, declared, "unknown", habits["unknown"]))
        declared |= {"unknown": habits["unknown"]} if habits["unknown"] != "null" else {}
    if declared.keys() & {"bounds", "values", "keys"} and "nulls" not in declared:
        habits["missing"] = asker.ask(_choice(field.name, declared, "missing", habits["missing"]))
        declared |= {"nulls": _plain_value(habits["missing"])} if habits["missing"] != "keep" else {}
        habits["missing"] = habits["missing"] if habits["missing"] in ("keep", "drop") else "keep"
    return declared


def _or_without(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads bounds or a list, or a word for a column that is declared without them."""
    without = {**dict.fromkeys(SKIP), **{word: KINDS[word] for word in ("present", "p", "text", "t")}}
    return lambda text: without[text.lower()] if text.lower() in without else read(text)


def _bounds_question(name: str, declared: Declaration) -> Question:
    is_date = declared.get("type") == "date"
    rest = {key: value for key, value in declared.items() if value != PLACEHOLDER}

    def read(text: str) -> Declaration:
        given = read_range(text)
        if is_date != ("type" in given):
            raise Wrong("", f"{value_text(text)} does not fit", "type " + ("2020-01-01..2024-12-31" if is_date else "0..120"))
        return _checked(name, {**rest, **given})

    example = "2020-01-01..2024-12-31" if is_date else f"0..5000 by {rest['step']}" if "step" in rest else "0..120"
    return Question(f"  bounds, such as {example}", read, OF_DAYS if is_date else OF_BOUNDS)


def _choice(name: str, declared: Declaration, what: str, habit: str) -> Question:
    """The treatment of missing or of unknown values; the last answer in this table is the default."""
    key = {"missing": "nulls", "unknown": "unknown"}[what]
    if habit == "other" and not isinstance(next(iter(declared["values"])), str):  # type: ignore[call-overload]
        habit = "null"

    def read(text: str) -> str:
        answer = text or habit
        if what == "unknown" and answer not in ("null", "other", "drop"):
            raise Wrong("", f"{value_text(answer)} is not a way to treat unknown values", "type null, other or drop")
        _checked(name, {**declared, key: _plain_value(answer)})
        return answer

    words = {"missing": "  missing values: keep, drop, or a value", "unknown": "  unknown values: null, other or drop"}[what]
    return Question(words, read, {"missing": OF_MISSING, "unknown": OF_UNKNOWN}[what], habit)


def _plain_value(text: str) -> object:
    """A number if it is one, else the text itself."""
    if WHOLE.fullmatch(text):
        return int(text)
    return Decimal(text) if re.fullmatch(r"-?[0-9]+\.[0-9]+", text, re.ASCII) else text


def _epsilon(text: str) -> object:
    value = _plain_value(text)
    if not isinstance(value, int | Decimal) or not 0 < value <= 1000:
        raise Wrong("", f"{value_text(text)} is not a budget", "type a positive number, such as 1 (strict) to 8 (loose)")
    return value


def _delta(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(1)
    if not value.is_finite() or not 0 <= value <= Decimal("0.01"):
        raise Wrong("", f"{value_text(text)} is not a delta", "type a number from 0 to 0.01, such as 1e-7")
    return value


def _delta_for(sizes: Sequence[object]) -> str:
    """A tenth of one in the declared number of rows, as a power of ten: far below one in the number of people.

    >>> _delta_for([10**5, 10**6])
    '1e-7'
    """
    most = max((size for size in sizes if isinstance(size, int)), default=10**6)
    return f"1e-{len(str(most - 1)) + 1}"
