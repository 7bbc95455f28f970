"""Pictures of numbers: well-formed, self-contained, with every text inside and no label over another, whatever is drawn."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.chart import width_of
from tacit.release import plots as module
from tacit.release.axes import Scale, lines_of, number, scale_of
from tacit.release.drawing import COLOURS
from tacit.release.plots import Drawing, Mark, Panel, svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "</title><script>alert(1)</script>",
    '" onload="x',
    "&amp;",
    "\u202eabc",
    "\x1b[31m",
    "東京都" * 9,
    "é" * 40,
    "a" * 300,
    "",
    "]]>",
    "\ud800",
]

finite = st.floats(-1e300, 1e300) | st.integers(-(10**6), 10**6).map(float)
texts = st.sampled_from(HOSTILE) | st.text(max_size=40)


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    shape = draw(st.sampled_from(["bars", "columns", "line"]))
    dates_along = shape == "line" and draw(st.booleans())
    at = (days if dates_along else finite) if shape == "line" else texts
    panels = tuple(draw(st.lists(panels_along(at), min_size=1, max_size=3)))
    words = [draw(texts) for _ in range(5)]
    return Drawing(shape, words[0], panels, words[1], (words[2],), (words[3],), words[4], dates_along=dates_along)


days = st.integers(1, date.max.toordinal()).map(float)


@st.composite
def panels_along(draw: st.DrawFn, at: st.SearchStrategy[str | float]) -> Panel:
    dates = draw(st.booleans())
    value = days if dates else finite
    mark = st.builds(Mark, at, value, st.none() | value, st.none() | value, st.sampled_from(["", "F", *HOSTILE[:3]]))
    rules = draw(st.lists(st.tuples(value, texts), max_size=2)) if not dates else []
    shaded = ((draw(finite), draw(finite)),) if draw(st.booleans()) else ()
    return Panel(draw(texts), tuple(draw(st.lists(mark, max_size=6))), dates, tuple(rules), shaded)


def one(shape: str, *marks: Mark, **more: bool) -> Drawing:
    return Drawing(shape, "n", (Panel("n", marks),), "ward", **more)


def shown(picture: str) -> tuple[float, float, list[tuple[str, float, float, float, float]]]:
    """The width and height of a picture, and each text with its left, right, base line and size."""
    root = ElementTree.fromstring(picture)  # noqa: S314  # of our own making
    boxes: list[tuple[str, float, float, float, float]] = []

    def walk(element: ElementTree.Element, dx: float, dy: float) -> None:
        for each in element:
            if each.tag == f"{SVG}g":
                x, y = map(float, re.findall(r"-?[\d.]+", each.get("transform", "")))
                walk(each, dx + x, dy + y)
            elif each.tag == f"{SVG}text":
                size, words = float(each.get("font-size", 0)), each.text or ""
                wide = width_of(words, size, bold=each.get("font-weight") is not None)
                shift = {"start": 0.0, "middle": wide / 2, "end": wide}[each.get("text-anchor", "start")]
                left = dx + float(each.get("x", 0)) - shift
                boxes.append((words, left, left + wide, dy + float(each.get("y", 0)), size))

    walk(root, 0.0, 0.0)
    return float(root.get("width", 0)), float(root.get("height", 0)), boxes


def outside(picture: str) -> list[str]:
    width, height, boxes = shown(picture)
    return [
        words
        for words, left, right, base, size in boxes
        if left < -0.1 or right > width + 0.1 or base < size * 0.7 or base > height
    ]


def covered(picture: str) -> list[tuple[str, str]]:
    """Pairs of texts on one line that overlap."""
    by_line: dict[float, list[tuple[float, float, str]]] = {}
    for words, left, right, base, _ in shown(picture)[2]:
        if words.strip():
            by_line.setdefault(round(base), []).append((left, right, words))
    return [(a[2], b[2]) for line in by_line.values() for a, b in pairwise(sorted(line)) if a[1] > b[0] + 0.1]


@given(drawings())
def test_every_picture_is_whole_and_every_text_is_inside(drawing: Drawing) -> None:
    picture = svg(drawing)
    assert outside(picture) == []
    assert covered(picture) == []
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture).iter()}  # noqa: S314
    assert tags <= {"svg", "title", "style", "rect", "g", "text", "path"}
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")  # no drawn text here has it
    assert "nan" not in re.sub(r"<title>.*?</title>|<text.*?</text>", "", picture)
    assert "inf" not in re.sub(r"<title>.*?</title>|<text.*?</text>", "", picture)


LONG = one("bars", Mark("surgery and orthopaedics, second floor", 10.0, 5.0, 15.0))


def test_a_label_beyond_the_picture_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outside(svg(LONG)) == []
    right = module.width_of
    monkeypatch.setattr(module, "width_of", lambda text, size, bold=False: right(text, size, bold) * 0.5)
    assert outside(svg(LONG)) != []


def test_numbers_that_no_float_holds_are_drawn_at_the_end() -> None:
    assert (number(10**400), number(-(10**400)), number(7)) == (1e300, -1e300, 7.0)
    assert "<svg" in svg(one("bars", Mark("a", number(10**400)), Mark("b", number(-(10**400)))))


@given(st.lists(finite, min_size=1, max_size=9), st.booleans())
def test_a_scale_has_few_round_ticks_and_holds_every_value(values: list[float], zero: bool) -> None:
    scale = scale_of(values, zero, dates=False)
    assert 2 <= len(scale.ticks) <= 9
    assert all(scale.low <= value <= scale.high for value in values)
    assert all(0 <= scale.of(value, 0, 1) <= 1 for value in values)
    assert len({words for _, words in scale.ticks}) == len(scale.ticks)


@given(st.integers(1, date.max.toordinal()), st.integers(0, 40000))
def test_a_scale_of_dates_ends_at_its_first_and_last_day(first: int, days: int) -> None:
    scale = scale_of([first, min(first + days, date.max.toordinal())], zero=True, dates=True)
    assert len(scale.ticks) <= 7
    assert all(scale.low <= at <= scale.high for at, _ in scale.ticks)


def test_dates_have_ticks_that_people_write() -> None:
    def ticks(first: str, last: str) -> list[str]:
        ends = [float(date.fromisoformat(end).toordinal()) for end in (first, last)]
        return [words for _, words in scale_of(ends, zero=False, dates=True).ticks]

    assert ticks("2020-01-01", "2021-06-01") == ["2020-01", "2020-04", "2020-07", "2020-10", "2021-01", "2021-04"]
    assert ticks("2020-03-05", "2020-03-08") == ["2020-03-05", "2020-03-06", "2020-03-07", "2020-03-08"]
    assert ticks("2023-01-01", "2023-03-01") == ["2023-01", "2023-02", "2023-03"], "months are not told in fortnights"
    assert ticks("2023-01-01", "2023-01-01") == ["2023-01-01"]
    assert ticks("1990-05-05", "2021-06-01") == ["1995", "2000", "2005", "2010", "2015", "2020"]


def test_lines_keep_every_letter() -> None:
    text = "intervals of all rows before the choice together"
    assert " ".join(lines_of(text, 12, 100)) == text
    assert "".join(lines_of("a" * 300, 12, 100)) == "a" * 300
    assert all(width_of(line, 12) <= 100 for line in lines_of("a" * 300, 12, 100))


def test_bars_are_as_long_as_their_numbers_and_pale_without_an_interval() -> None:
    picture = svg(one("bars", Mark("a", 10.0, 8.0, 12.0), Mark("b", 20.0), Mark("c", -5.0, -6.0, -4.0)))
    bars = re.findall(r'<path class="s0" d="M[\d.]+ [\d.]+h([\d.]+)v.*?fill-opacity="([\d.]+)"', picture)
    lengths = [float(length) for length, _ in bars]
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=0.03)
    assert lengths[2] == pytest.approx(lengths[0] / 2, abs=0.03)
    assert [opacity for _, opacity in bars] == ["0.9", "0.4", "0.9"]
    assert picture.count('class="whisker"') == 6


def test_a_mark_says_its_number_and_its_ends() -> None:
    picture = svg(one("line", Mark(737425.0, 10.0, 8.0, 12.5), Mark(737426.0, 11.0), dates_along=True))
    assert "<title>2020-01-01: 10 (8 to 12.5)</title>" in picture
    assert "<title>2020-01-02: 11</title>" in picture


def test_colours_follow_the_page() -> None:
    picture = svg(LONG)
    assert "@media (prefers-color-scheme: dark)" in picture
    assert f'fill="{COLOURS[0][0]}"' in picture
    assert all(f".s{at} {{ fill: {dark} }}" in picture for at, (_, dark) in enumerate(COLOURS))


def test_a_scale_is_linear() -> None:
    scale = Scale(0.0, 10.0, ())
    assert [scale.of(value, 100, 200) for value in (0, 5, 10, 11)] == [100, 150, 200, 200]


def test_each_number_has_a_panel_and_levels_have_names() -> None:
    panels = tuple(Panel(name, (Mark("a", 1.0), Mark("b", 2.0)), rules=((1.5, "half"),)) for name in ("n", "mean"))
    picture = svg(Drawing("columns", "two", panels, "ward"))
    assert [picture.count(f">{name}</text>") for name in ("n", "mean", "half", "ward")] == [1, 1, 2, 1]
    assert picture.count('class="rule"') == 2


def test_a_part_of_the_axis_is_set_off() -> None:
    panel = Panel("n", tuple(Mark(str(at), 1.0) for at in range(4)), shaded=((1.5, 99.0), (7.0, 9.0)))
    shades = re.findall(r'class="shade" d="M([\d.]+) [\d.]+h([\d.]+)v', svg(Drawing("columns", "n", (panel,))))
    assert [float(width) for _, width in shades] == [pytest.approx(module.WIDE / 2)]
