r"""Text that tacit did not write, made harmless in each output format: a value alters nothing outside its cell.

A key of the data, a name in a query, the name of a file or of an analyst may contain anything: markup, a formula, terminal escape
sequences, bidirectional marks, a million letters. None of them is trusted, whoever declared it.

    visible        what all formats for people share: no controls, no bidirectional marks, nothing without width, no stacked accents
    for_terminal   one line of text for people, cut if it is long            lines_for_terminal   the same with its line breaks
    for_html       the inside of an element or of a quoted attribute         prose_for_html       the same for sentences
    for_json       any value as JSON, exactly; everything that a terminal obeys is escaped
    for_script     the same inside <script>
    for_chart      a chart specification that is safe for vl-convert and for pages         for_title      a title in one
    for_csv        a cell that no spreadsheet reads as a formula             csv_text             a whole table of them
    without_password, without_passwords    a URL, and a text with URLs in it, without the passwords

JSON and Parquet keep a value exactly. Every other format is for people, and shows a forbidden character as an escape such as \x1b.
Letters of right-to-left scripts are unchanged: a terminal that reorders a line may show them elsewhere in it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any
from unicodedata import category, east_asian_width

LONGEST_CELL = 100  # characters of a value in a table
LONGEST_IN_CSV = 32_000  # a spreadsheet cell has at most 32,767, and many CSV readers give up soon after
TAG = re.compile("<(?=[a-zA-Z/!?])")
INHERITED = frozenset(  # the property names that every JavaScript object has
    ("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor", "hasOwnProperty",
     "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")
)  # fmt: skip
LONGEST_LABEL = 300  # of any text in a chart: measuring a text takes quadratic time
NOTE = 30  # the note about the cut is at most this long, so a cut text is not cut again
MOST_MARKS = 4  # accents on one letter; writing systems need three, and a stack of them covers the lines above
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159")  # invisible letters and marks
VARIANTS = re.compile("[\u180b-\u180f\ufe00-\ufe0d\U000e0100-\U000e01ef]")  # of letters; the emoji one is allowed
JOINERS = "\u200c\u200d"  # they join or separate letters in Persian and Indic words, and combine several emoji into one
JOINED = re.compile("[\u0600-\u0dff\u1000-\u109f\u1780-\u18af\u2190-\u2bff\ufb50-\ufdff\ufe0f\ufe70-\ufefc\U0001f000-\U0001faff]")

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of Unicode's UAX #9
UNDECODED = re.compile("[\udc80-\udcff]")  # a byte that the encoding of the terminal or the file system could not read
UNSEEN = re.compile(f"[{_CONTROLS}{_DIRECTIONS}]")  # what a reader does not see where it stands


# --- for people --------------------------------------------------------------------------------------------------------------


def visible(text: str) -> str:
    r"""The text on one line, with an escape in place of every character that is invisible or out of place; blanks are allowed.

    >>> print(visible("a\x1b[31mb\u202ec\n"), visible("naïve 東京 ❤️"))
    a\x1b[31mb\u202ec\n naïve 東京 ❤️
    """
    return text if text.isascii() and text.isprintable() else "".join(_signs(text))


def _signs(text: str) -> Iterable[str]:
    marks = MOST_MARKS  # a leading mark would combine with what is before the text
    for at, sign in enumerate(text):
        if category(sign) in ("Mn", "Me"):
            marks += 1
            seen = marks <= MOST_MARKS and not VARIANTS.match(sign)
        else:
            marks, seen = 0, sign.isprintable() or category(sign) == "Zs" or (sign in JOINERS and _joins(text, at))
        yield sign if seen and sign not in BLANK else ascii(sign)[1:-1]


def _joins(text: str, at: int) -> bool:
    around = text[at - 1 : at], text[at + 1 : at + 2]
    return all(JOINED.match(sign) for sign in around)


def for_terminal(text: str, longest: int | None = None) -> str:
    r"""One line of visible text; a text much longer than `longest` is cut, and its length is added.

    >>> for_terminal("x" * 1000, longest=10)
    'xxxxxxxxxx… (1,000 characters)'
    """
    if longest is None:
        return visible(text)
    whole = len(text) <= longest + NOTE
    shown = visible(text if whole else text[:longest])
    if whole and len(shown) <= longest + NOTE:
        return shown
    return f"{shown[:longest]}…" + ("" if whole else f" ({len(text):,} characters)")


def lines_for_terminal(text: str) -> str:
    """The text with its own line breaks, and each line visible."""
    return text if text.isascii() and text.isprintable() else "\n".join(map(visible, text.split("\n")))


def width(text: str) -> int:
    """How many columns of a terminal a visible text takes.

    >>> width("né"), width("ne\u0301"), width("東京")
    (2, 2, 4)
    """
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(sign) in "WF" else category(sign) not in ("Mn", "Me", "Cf") for sign in text)


def in_columns(text: str, most: int) -> str:
    """A visible text in at most that many columns, with an ellipsis if it is cut.

    >>> in_columns("northern", 6), in_columns("東京都庁", 6), in_columns("south", 6)
    ('north…', '東京…', 'south')
    """
    if width(text) <= most:
        return text
    ends = accumulate(map(width, text))
    return text[: sum(end < most for end in ends)].rstrip(JOINERS) + "…"


# --- for pages and charts ----------------------------------------------------------------------------------------------------


def for_html(text: str, longest: int | None = None) -> str:
    """Text for the inside of an element, or of a quoted attribute.

    >>> for_html("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(for_terminal(text, longest), quote=True)


def prose_for_html(text: str) -> str:
    r"""The same for sentences in any language, which keep their line breaks and the marks that their script needs.

    >>> prose_for_html("one\n\u200f<two>\u202e")
    'one\n\u200f&lt;two&gt;\\u202e'
    """
    return escape(NOT_PROSE.sub(lambda match: ascii(match[0])[1:-1], text), quote=True)


NOT_PROSE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff]")


def for_json(value: object, indent: int | None = None, plain: bool = False, other: Callable[[Any], object] | None = None) -> str:
    r"""The value as exact JSON: a reader gets back every character. A value that is not a JSON number, such as NaN, is null.

    Whatever a terminal might obey is written as \u.... With `plain`, so is every character beyond ASCII. `other` gives what stands
    for a value that JSON does not have.

    >>> print(for_json({"key": "é\u202e\x9b", "n": float("nan")}))
    {"key": "é\u202e\u009b", "n": null}
    """
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=plain, allow_nan=False, default=other)
    except ValueError:
        text = json.dumps(_finite(value), indent=indent, ensure_ascii=plain, allow_nan=False, default=other)
    return NOT_ASCII.sub(_in_json, text)


NOT_ASCII = re.compile("[^\n\x20-\x7e]")  # line breaks occur only between values: inside a text they are already escaped


def _in_json(match: re.Match[str]) -> str:
    seen = match[0].isprintable() and match[0] not in BLANK and not VARIANTS.match(match[0])
    return match[0] if seen else json.dumps(match[0])[1:-1]


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def for_script(value: object) -> str:
    r"""The value as JSON for the inside of <script>: no character of it ends the element, or begins a comment.

    >>> print(for_script("</script>"))
    "\u003c/script\u003e"
    """
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", for_json(value))


def for_chart(specification: Any) -> Any:
    r"""The specification of a chart, with each text in it visible and of bounded length, and each number finite or null.

    XML does not allow control characters: vl-convert ends the process if it meets one. A sign that could begin an HTML element is
    replaced by another, since notebooks put a specification into a page unchanged. Vega keeps groups by name in objects that
    inherit some names: a key `constructor` would leave the whole chart empty, so a blank is added to it. Two texts may become
    equal, and then their marks overlap; `distinct` prevents this for callers that draw.

    >>> for_chart({"title": "a\x00b", "data": {"values": [{"n": 1.5}]}})
    {'title': 'a∖x00b', 'data': {'values': [{'n': 1.5}]}}
    >>> for_chart(["<5 years", "</script>"])
    ['<5 years', '‹/script>']
    """
    return _in_chart(specification, _label)


def _label(text: str) -> str:
    shown = TAG.sub("\u2039", for_terminal(text, LONGEST_LABEL))
    return f"{shown} " if shown in INHERITED else shown


def for_title(title: Any) -> Any:
    r"""The same for the title of a chart or of one of its axes, which must not contain a backslash.

    Vega-Lite turns titles into an expression, to describe each mark to screen readers. There it escapes quotes but not backslashes:
    with a backslash before a quote, a title would end its text and continue as an expression.

    >>> print(for_title('a\\" + b'))
    a∖" + b
    """
    return _in_chart(for_chart(title), lambda text: text.replace("\\", "\u2216"))


def _in_chart(part: Any, shown: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return shown(part)
    if isinstance(part, Mapping):
        return {shown(str(name)): for_title(each) if name == "title" else _in_chart(each, shown) for name, each in part.items()}
    if isinstance(part, list | tuple):
        return [_in_chart(each, shown) for each in part]
    return _finite(part)


def distinct(labels: Mapping[Any, str]) -> dict[Any, str]:
    r"""The labels of different values, made different if they look the same.

    >>> distinct({"\x1b": "\\x1b", "\\x1b": "\\x1b", "b": "b"})
    {'\x1b': '\\x1b', '\\x1b': '\\x1b (2)', 'b': 'b'}
    """
    taken: dict[str, int] = {}
    distinct_labels = {}
    for value, label in labels.items():
        other = label
        while other in taken:
            taken[label] += 1
            other = f"{label} ({taken[label]})"
        taken[other] = 1
        distinct_labels[value] = other
    return distinct_labels


# --- for spreadsheets --------------------------------------------------------------------------------------------------------

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # begin a formula; some spreadsheets accept the full-width ones too
FORMULA = re.compile(f"(?:^|;)['\\s]*[{SIGNS}]|^'*ID;")  # also after a semicolon, the list separator in much of Europe; ID; is SYLK
ESCAPED = re.compile(f"^'(?=['\\s]*[{SIGNS}]|'*ID;)|(?<=;)'(?=['\\s]*[{SIGNS}])")
HARMLESS = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)?(?:[eE][-+]?\d+)?%?")  # a number, or a lone sign


def for_csv(value: Any) -> Any:
    """A cell: a text that a spreadsheet would read as a formula gets a leading apostrophe, and no text keeps control characters.

    Numbers, and texts that are numbers, are unchanged; `from_csv` removes the apostrophe. A text that is longer than any
    spreadsheet cell is cut.

    >>> for_csv("=1+1"), for_csv("-2.5"), for_csv(-2.5), for_csv("rock'n'roll")
    ("'=1+1", '-2.5', -2.5, "rock'n'roll")
    """
    if not isinstance(value, str):
        return value
    shown = for_terminal(value, LONGEST_IN_CSV)
    return shown if HARMLESS.fullmatch(shown) else FORMULA.sub(_quote, shown)


def _quote(match: re.Match[str]) -> str:
    after = match[0].removeprefix(";")
    return f"{match[0][: len(match[0]) - len(after)]}'{after}"


def from_csv(cell: str) -> str:
    """The text that `for_csv` was given, if it had no invisible characters and was not cut.

    >>> from_csv("'=1+1"), from_csv("''=1"), from_csv("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return ESCAPED.sub("", cell)


def csv_text(columns: Mapping[str, Iterable[Any]]) -> str:
    r"""A table as CSV, each row on a line of its own whatever its cells contain.

    >>> csv_text({"key": ["=a", "b,\n"], "n": [-1, None]})
    'key,n\n\'=a,-1\n"b,\\n",\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([for_csv(name) for name in columns])
    writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    return text.getvalue()


def _cells(values: Iterable[Any]) -> Iterable[Any]:
    """The cells of a column; a text that occurs a million times is processed once."""
    texts: dict[Any, Any] = {}
    for value in values:
        if not isinstance(value, str):
            yield value
            continue
        if value not in texts:
            texts[value] = for_csv(value)
        yield texts[value]


# --- tables of a notebook ----------------------------------------------------------------------------------------------------

CELL = "padding: 0.2em 0.8em; vertical-align: top; text-align: "
FIGURES = "font-variant-numeric: tabular-nums; white-space: nowrap; "
LINE = "border-bottom: 1px solid rgba(128, 128, 128, 0.4)"
SOFT = "opacity: 0.7"


def table_for_html(header: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]], below: Iterable[str] = ()) -> str:
    """A table for a notebook, in the colors of its page, light or dark; and lines below it. Every text is escaped.

    A column of numbers (`True` in the header) is aligned to the right, and whatever follows a number, such as its interval, to
    the left beside it, so that both are read down the column.
    """
    heads = "".join(_html_heading(name, number) for name, number in header)
    cells = ("".join(_html_cell(cell, number) for cell, (_, number) in zip(row, header, strict=True)) for row in rows)
    body = "".join(f"<tr>{each}</tr>" for each in cells)
    lines = "".join(f'<div style="{SOFT}; margin: 0.4em 0.8em">{for_html(line)}</div>' for line in below)
    style = "border-collapse: collapse; border: none; margin: 0.4em 0"
    return f'<div><table style="{style}"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{lines}</div>'


def _html_heading(name: str, number: bool) -> str:
    span, side = ("2", "center") if number else ("1", "left")
    return f'<th colspan="{span}" style="{CELL}{side}; {LINE}">{for_html(name)}</th>'


def _html_cell(cell: str, number: bool) -> str:
    if not number:
        return f'<td style="{CELL}left">{for_html(cell)}</td>'
    value, _, interval = cell.partition(" ")
    right = f'<td style="{FIGURES}{CELL}right; padding-right: 0.2em">{for_html(value)}</td>'
    return f'{right}<td style="{FIGURES}{CELL}left; padding-left: 0.2em; {SOFT}">{for_html(interval)}</td>'


# --- passwords ---------------------------------------------------------------------------------------------------------------

VARIABLE = re.compile(r"\$\w+|\$\{\w+\}")  # the name of a password, not a password
SETTING = re.compile(r"(?i)((?:password|passwd|pwd)=)(?!\$\w|\$\{)(?:'[^']*'|\"[^\"]*\"|[^\s&;,'\"]+)")
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/[^\s\"'<>]+")  # also as a path that was made of it, which has one slash fewer
SCHEME = re.compile(r"(.*?:/+)(.*)", re.DOTALL)
NAMED = re.compile(r"(?<![^\s/(,;])[^\s/:@\"'<>()]+:(?!\$\w|\$\{)[^\s/@\"'<>]+@(?=[\w\[])")


def without_password(url: str) -> str:
    """A URL that can be shown: user and password are left out, unless the password is the name of a variable.

    >>> without_password("postgresql://ana:se@cr/et@db/x?password=y"), without_password("postgresql://ana:$SECRET@db/x")
    ('postgresql://...@db/x?password=...', 'postgresql://ana:$SECRET@db/x')
    """
    parts = SCHEME.fullmatch(url)
    who, at, where = (parts[2] if parts else "").rpartition("@")
    password = who.partition(":")[2]
    if parts and at and password and not VARIABLE.fullmatch(password):
        url = f"{parts[1]}...@{where}"
    return SETTING.sub(r"\1...", url)


def without_passwords(text: str) -> str:
    """A text in which no URL, no part of one with a host, and no connection setting has a password.

    >>> without_passwords("cannot reach postgresql://ana:secret@db/x; see host=db password=secret; ana:secret@db does not exist")
    'cannot reach postgresql://...@db/x; see host=db password=...; ...@db does not exist'
    """
    if ":/" in text:
        text = URL.sub(lambda match: without_password(match[0]), text)
    if "@" in text:
        text = NAMED.sub("...@", text)
    return SETTING.sub(r"\1...", text) if "=" in text else text
