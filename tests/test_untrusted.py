"""One function for each format: whatever a text holds, it is a text there, and nothing beside it changes."""

from __future__ import annotations

import csv
import html
import io
import json
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostile import FRAGMENTS, caught, tame, texts
from tacit import untrusted
from tacit.errors import InvalidCatalog, InvalidInput, Problem, Refused, StoreUnusable, TacitError
from tacit.evidence.attacks.hostile_key import HOSTILE
from tacit.untrusted import (
    LONGEST_CELL,
    LONGEST_LABEL,
    NOTE,
    csv_text,
    distinct,
    for_chart,
    for_csv,
    for_html,
    for_json,
    for_script,
    for_terminal,
    for_title,
    from_csv,
    in_columns,
    lines_for_terminal,
    prose_for_html,
    visible,
    width,
    without_password,
    without_passwords,
)

# --- for people --------------------------------------------------------------------------------------------------------------


def check_visible(shown: str) -> None:
    tame(shown)
    assert "\n" not in shown
    marks = 4
    for sign in shown:
        marks = marks + 1 if unicodedata.category(sign) in ("Mn", "Me") else 0
        assert marks <= 4, "a heap of marks reaches into other lines, and one without a letter into other cells"


@given(texts)
def test_what_is_visible_steers_nothing(text):
    shown = visible(text)
    check_visible(shown)
    assert visible(shown) == shown
    tame(lines_for_terminal(text))
    assert lines_for_terminal(text).count("\n") == text.count("\n")
    assert not (text.isascii() and text.isprintable()) or shown == text


@pytest.mark.parametrize("planted", ["\x1b[31m", "\u202e", "\u200b", "\n", "\x9b", "\ud800", "\u0301", "e" + "\u0301" * 5])
def test_what_is_not_escaped_is_seen(planted):
    caught(check_visible, planted)


def test_writing_systems_and_emoji_stay_legible():
    for text in (
        "naïve",
        "Tiếng Việt",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d⚕️",
        "❤️",
        "שלום",
        "東京\u3000都",
        "12\xa0h",
        "z\u0323\u0307",
    ):
        assert visible(text) == text
    assert visible("pay\u200dpal") == "pay\\u200dpal"


def test_a_long_text_is_cut_and_says_so():
    assert for_terminal("x" * 10**6, LONGEST_CELL) == "x" * LONGEST_CELL + "… (1,000,000 characters)"
    assert for_terminal("x" * (LONGEST_CELL + NOTE), LONGEST_CELL) == "x" * (LONGEST_CELL + NOTE)
    for text in ("x" * 10**6, "\U000e0041" * 10**5, "\x1b" * 120):
        shown = for_terminal(text, LONGEST_CELL)
        assert len(shown) <= LONGEST_CELL + NOTE
        assert for_terminal(shown, LONGEST_CELL) == shown


@given(texts, st.integers(2, 12))
def test_a_text_in_columns_fits_and_stays_visible(text, most):
    shown = in_columns(visible(text), most)
    assert width(shown) <= most
    check_visible(shown)
    assert shown == visible(text) or shown.endswith("…")


def test_width_is_that_of_a_terminal():
    assert [width(text) for text in ("", "abc", "東京", "e\u0301", "…")] == [0, 3, 4, 1, 1]


# --- for pages ---------------------------------------------------------------------------------------------------------------


class Parsed(HTMLParser):
    """The elements of a page, their attributes, and the texts in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.tags.append("comment")

    def handle_decl(self, decl):
        self.tags.append("declaration")

    unknown_decl = handle_pi = handle_decl


def check_html(escaped: str, shown: str) -> None:
    page = Parsed(f"<p title=\"{escaped}\" class='{escaped}'>{escaped}</p><b>after</b>")
    assert page.tags == ["p", "/p", "b", "/b"]
    assert page.attributes == [("title", shown), ("class", shown)]
    assert "".join(page.texts) == shown + "after"


@given(texts)
@example("\"><img src=x onerror=alert(1)>'")
def test_html_holds_a_text_in_its_element_and_in_its_attribute(text):
    check_html(for_html(text), visible(text))
    escaped = prose_for_html(text)
    page = Parsed(f'<p title="{escaped}">{escaped}</p><b>after</b>')
    assert page.tags == ["p", "/p", "b", "/b"]
    assert html.unescape(escaped).encode() is not None
    assert not untrusted.NOT_PROSE.search(escaped)


@pytest.mark.parametrize("escape", [str, lambda text: html.escape(text, quote=False), lambda text: text.replace("<", "&lt;")])
def test_a_weaker_escape_of_html_is_caught(escape):
    caught(lambda: [check_html(escape(visible(text)), visible(text)) for text in HOSTILE])


def check_script(written: str, value: object) -> None:
    page = Parsed(f'<script type="application/json" id="data">{written}</script><b>after</b>')
    assert page.tags == ["script", "/script", "b", "/b"]
    assert json.loads(page.texts[0]) == value
    assert "<" not in written, "browsers look for comments inside of scripts too"
    tame(written)


@given(texts)
@example("<!--<script>")
@example("\u2028</script >")
def test_a_script_holds_json_exactly(text):
    for value in (text, {"key": [text, None, 1.5]}, {text: text}):
        check_script(for_script(value), value)


@pytest.mark.parametrize(
    "write",
    [json.dumps, lambda value: json.dumps(value, ensure_ascii=False), lambda value: json.dumps(value).replace("</", "<\\/")],
)
def test_a_weaker_escape_of_scripts_is_caught(write):
    caught(lambda: [check_script(write(text), text) for text in (*HOSTILE, "<!--<script>")])


def check_json(written: str, value: object) -> None:
    assert json.loads(written) == value
    tame(written)
    written.encode("utf-8")


@given(texts)
def test_json_holds_every_value_exactly(text):
    for value in ({text: [text]}, [text, {"é": text}]):
        check_json(for_json(value), value)
        check_json(for_json(value, indent=2), value)
        assert for_json(value, plain=True).isascii()


def test_weaker_json_is_caught_and_what_is_no_number_is_null():
    caught(lambda: [check_json(json.dumps(text, ensure_ascii=False), text) for text in HOSTILE])
    assert json.loads(for_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": "NaN"})) == {
        "a": None,
        "b": [None, 1.5],
        "c": "NaN",
    }


# --- for charts --------------------------------------------------------------------------------------------------------------


def check_chart(shown: str) -> None:
    """XML has it, a page has it in a script, and it is short."""
    drawn = f"<svg><text label={quoteattr(shown)}>{html.escape(shown)}</text></svg>"
    root = ElementTree.fromstring(drawn)  # noqa: S314
    assert (root[0].text or "") == shown
    assert Parsed(f"<script>var a = {json.dumps(shown)};</script>").tags == ["script", "/script"]
    assert len(shown) <= LONGEST_LABEL + NOTE
    tame(shown)


@given(texts)
@example("x" * 10**5)
@example("<!--<script>")
def test_every_text_of_a_chart_can_be_drawn(text):
    specification = for_chart({"title": {"text": text}, "data": {"values": [{"key": text, "n": 1}]}, "sort": [text]})
    key, title = specification["data"]["values"][0]["key"], specification["title"]["text"]
    for shown in (key, title):
        check_chart(shown)
    assert specification["sort"] == [key], "what is ordered by a text finds it"
    assert "\\" not in title
    assert for_chart(specification) == specification
    assert for_title(text) == title


def test_what_cannot_be_drawn_is_caught():
    for text in ("\x00", "\ufffe", "</script>", "x" * 10**4):
        caught(check_chart, text)
    assert for_chart([float("nan"), 2, "<5", None]) == [None, 2, "<5", None]


@given(st.lists(texts, unique=True, max_size=8))
@example(["\x1b", "\\x1b", "\\x1b (2)"])
def test_labels_of_different_values_are_different(values):
    labels = distinct({value: for_chart(value) for value in values})
    assert len(set(labels.values())) == len(values)


# --- for spreadsheets --------------------------------------------------------------------------------------------------------

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet might compute a cell: it begins as a formula, and is not just a number or a sign."""
    try:
        float(cell.strip("%"))
    except ValueError:
        return cell.lstrip().startswith(FORMULA) and cell not in ("-", "+")
    return False


def check_csv(text: str, rows: list[list[str]]) -> None:
    """As commas part it, and as semicolons do elsewhere; each row on its line."""
    assert [list(row) for row in csv.reader(io.StringIO(text), strict=True)] == rows
    assert text.count("\n") == len(rows)
    assert not any(is_formula(cell) for row in rows for cell in row)
    assert not any(is_formula(cell) for row in rows for cell in row[0].split(";"))
    tame(text)


@given(st.lists(texts, min_size=1, max_size=4))
@example(["=1+1"])
@example(["'=1"])
@example(["a;=1;'@x"])
@example(["x;'ID;"])
@example(["ID;P"])
@example([" =1"])
def test_csv_is_a_table_of_texts(cells):
    rows = [[for_csv(cell), "-5"] for cell in cells]
    check_csv(csv_text({"key": cells, "n": [-5] * len(cells)}), [["key", "n"], *rows])
    assert [from_csv(for_csv(cell)) for cell in cells] == [visible(cell) for cell in cells]
    check_csv(csv_text({cells[0]: ["a"]}), [[for_csv(cells[0])], ["a"]])


def test_a_cell_that_no_reader_would_take_is_cut():
    rows = list(csv.reader(io.StringIO(csv_text({"key": ["x" * 10**6, "=" * 40_000], "n": [1, 2]})), strict=True))
    assert [len(row) for row in rows] == [2, 2, 2]
    assert rows[1][0].endswith("… (1,000,000 characters)")
    assert max(len(cell) for row in rows for cell in row) < 32_767


def test_numbers_stay_numbers():
    for cell in ("-1", "+2", "-1.5e-3", "5%", "-", "+", "", "1", "-.5"):
        assert for_csv(cell) == cell
    assert [for_csv(value) for value in (-1, -1.5, None, True)] == [-1, -1.5, None, True]


@pytest.mark.parametrize("write", [str, visible, lambda text: f"'{text}" if text.startswith("=") else text])
def test_a_weaker_escape_of_csv_is_caught(write, monkeypatch):
    monkeypatch.setattr(untrusted, "for_csv", lambda value: write(value) if isinstance(value, str) else value)
    cells = [*HOSTILE, "@SUM(1)", "a;=1"]
    caught(lambda: check_csv(csv_text({"key": cells}), [["key"], *([untrusted.for_csv(cell)] for cell in cells)]))


# --- passwords, and messages -------------------------------------------------------------------------------------------------

SECRET = "sekret"  # noqa: S105
URLS = [
    "postgresql://ana:sekret@db/x",
    "postgresql+psycopg://ana:sekret@db:5432/x?sslmode=require",
    "postgresql://ana:se@kret/sekret@db/x",
    "postgresql://ana:a:sekret@db/x",
    "postgresql://:sekret@db/x",
    "mysql://ana:sekret@[::1]/x",
    "postgresql://db/x?user=ana&password=sekret",
    "postgresql://db/x?PASSWORD=sekret&user=ana",
    "host=db password=sekret dbname=x",
    "host=db password='sekret' dbname=x",
    "sqlite://ana:sekret@host/x",
    "sqlite:/ana:sekret@host/x",  # as a path that was made of it
]


@pytest.mark.parametrize("url", URLS)
def test_no_url_keeps_its_password(url):
    assert SECRET not in without_password(url)
    for text in (f"cannot reach {url}", f'url is "{url}", which does not fit; write "sqlite:///FILE"', f"({url})", f"{url}\n{url}"):
        assert SECRET not in without_passwords(text)
        assert len(without_passwords(text)) > len(text) // 3
    for error in (
        InvalidInput(f"{url} cannot be read"),
        Refused(url, remedy=url),
        StoreUnusable(url, remedy=url),
        InvalidCatalog(url, (Problem("ledger.url", f"is {url}", url),)),
    ):
        assert SECRET not in f"{error} {getattr(error, 'message', '')} {getattr(error, 'remedy', '')}"


def test_a_part_of_a_url_keeps_no_password():
    """The name of the last part of a path can be a URL's host with what stands before it."""
    for text in ("ana:sekret@host does not exist", "unsupported file type: ana:sekret@host; expected", "/srv/ana:sekret@host/x"):
        assert SECRET not in without_passwords(text)
        assert "...@host" in without_passwords(text)


def test_what_is_no_password_stays():
    for text in (
        "postgresql://ana:$SECRET@db/x",
        "postgresql://ana:${SECRET}@db/x",
        "postgresql://ana@db/x",
        "sqlite:////data/a@b.sqlite",
        "http://127.0.0.1:8765/",
        "declare it, for example: password = { bounds = [0, 5] }",
        "write to ana@example.org: soon",
        "give epsilon=1",
    ):
        assert without_passwords(text) == text == without_password(text)


@given(texts)
def test_no_message_steers_a_terminal(text):
    for error in (TacitError(text), InvalidInput(f"no {text}"), Refused(text, remedy=text, at=(1, 2)), StoreUnusable(text)):
        check_visible(str(error))
    check_visible(Refused(text).message)
    told = InvalidCatalog(text, (Problem(text, text, text),) * 2)
    tame(str(told))
    assert str(told).count("\n") == 2, "a line for each problem"


def test_a_message_that_is_not_escaped_is_caught(monkeypatch):
    monkeypatch.setattr("tacit.errors.for_terminal", str)
    caught(check_visible, str(InvalidInput("no \x1b[2J")))
    caught(check_visible, str(Refused("a\nb")))


def test_the_fragments_try_every_kind_of_character():
    kinds = {unicodedata.category(sign) for text in FRAGMENTS for sign in text}
    assert {"Cc", "Cf", "Cs", "Cn", "Mn", "Me", "Zl", "Zs", "Lo", "So", "Sm"} <= kinds
