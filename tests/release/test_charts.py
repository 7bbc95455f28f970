"""Charts: the right form for the keys, every number with its error bar, and files that open without a network."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import InvalidInput
from tacit.release.answer import Answer, Column, Receipt

MONTHS = tuple(f"2020-{month:02d}-01" for month in range(1, 13))


def answered(*columns: Column) -> Answer:
    return Answer(columns, Fraction(95, 100), Receipt(Fraction(1, 2), Fraction(0)))


def counts(size: int, name: str = "n") -> Column:
    values = tuple(100 + 7 * at % 40 for at in range(size))
    return Column(name, "count", values, tuple(value - 9 for value in values), tuple(value + 9 for value in values))


def marks(chart: Any) -> list[str]:
    found = []
    for layer in chart.altair().to_dict()["layer"]:
        found += [inner["mark"]["type"] for inner in layer.get("layer", [layer])]
    return found


BARS = answered(Column("ward", "key", ("a", "b", None)), counts(3))
LINE = answered(Column("month", "key", MONTHS), counts(12))
TWO = answered(Column("month", "key", tuple(m for m in MONTHS for _ in "ab")), Column("ward", "key", ("a", "b") * 12), counts(24))


def test_categories_are_bars_and_dates_a_line() -> None:
    assert marks(BARS.chart()) == ["bar", "rule", "tick", "tick"]
    assert marks(LINE.chart()) == ["area", "line"]
    few, many = (answered(Column("age", "key", tuple(range(size))), counts(size)).chart() for size in (20, 90))
    assert (marks(few)[0], marks(many)[0]) == ("bar", "area")


def test_every_row_is_drawn_with_its_ends() -> None:
    drawn = BARS.chart().altair().to_dict()
    rows = drawn.get("data", drawn["layer"][0].get("data"))["values"]
    assert [(row["first"], row["value"], row["low"], row["high"]) for row in rows] == [
        ("a", 100, 91, 109),
        ("b", 107, 98, 116),
        ("NULL", 114, 105, 123),
    ]


def test_other_keys_are_colours_and_do_not_cross() -> None:
    text = str(TWO.chart().altair().to_dict())
    assert "'field': 'others'" in text
    three = answered(*(Column(name, "key", ("x", "y")) for name in ("a", "b", "c")), counts(2))
    assert "x · x" in str(three.chart().altair().to_dict())
    assert "'title': 'b, c'" in str(three.chart().altair().to_dict())


def test_dates_as_numbers_have_an_axis_of_dates() -> None:
    last = Column("last", "quantile", ("2020-05-05", "2020-06-01"), ("2020-05-01",) * 2, ("2020-06-30",) * 2)
    drawn = answered(Column("ward", "key", ("a", "b")), last).chart()
    assert marks(drawn)[0] == "point"
    assert "'type': 'temporal'" in str(drawn.altair().to_dict())


def test_null_has_no_place_on_a_line_and_that_is_said() -> None:
    drawn = answered(Column("month", "key", (*MONTHS, None)), counts(13)).chart().altair().to_dict()
    assert "the groups of NULL are left out" in str(drawn)
    assert "NULL are" not in str(LINE.chart().altair().to_dict())


@pytest.mark.parametrize("answer", [BARS, LINE, TWO, answered(counts(1)), answered(Column("w", "key", ()), counts(0))])
def test_every_answer_is_drawn(answer: Answer, tmp_path: Path) -> None:
    answer.chart(tmp_path / "chart.png")
    head = (tmp_path / "chart.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width > 400
    assert height > 300


DRAWN = """
import sys
import tacit.doors.server.clerk
from tacit.evidence.attacks.hostile_key import answer_with
picture = answer_with(["a", "b"]).chart()
assert "<svg" in picture.svg()
print(sorted({"altair", "vl_convert"} & set(sys.modules)))
picture.altair()
print(sorted({"altair", "vl_convert"} & set(sys.modules)))
"""


def test_the_clerk_draws_without_a_javascript_engine() -> None:
    done = subprocess.run([sys.executable, "-c", DRAWN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['altair']"], "the second line shows that the first could fail"


def test_a_group_without_a_number_is_said_to_be_left_out() -> None:
    missing = answered(Column("ward", "key", ("a", "b")), Column("m", "avg", (1.5, None), (1.0, None), (2.0, None)))
    assert "groups without a number are left out" in missing.chart().svg()
    assert "left out" not in BARS.chart().svg()


def test_files_open_without_a_network(tmp_path: Path) -> None:
    LINE.chart(tmp_path / "chart.svg")
    LINE.chart(tmp_path / "chart.html")
    assert "<svg" in (tmp_path / "chart.svg").read_text()
    page = (tmp_path / "chart.html").read_text()
    assert "<script src=" not in page
    assert 'src="http' not in page


def test_a_number_is_chosen_by_its_name() -> None:
    both = answered(Column("ward", "key", ("a", "b")), counts(2), counts(2, "m"))
    assert "'text': 'm'" in str(both.chart(column="m").altair().to_dict())
    with pytest.raises(InvalidInput, match="no number x"):
        both.chart(column="x")
    with pytest.raises(InvalidInput, match="no number"):
        answered(Column("ward", "key", ("a",))).chart()
    with pytest.raises(InvalidInput, match="svg"):
        both.chart("chart.gif")


# --- the picture for publication ---------------------------------------------------------------------------------------------


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


NEGATIVE = Column("n", "count", (3, 50), (-6, 41), (12, 59))


def test_a_count_is_drawn_from_zero_and_the_answer_keeps_its_interval() -> None:
    answer = answered(Column("ward", "key", ("a", "b")), NEGATIVE)
    picture = answer.chart().svg()
    assert "a: 3 (0 to 12)" in picture
    assert "intervals are cut at what is possible" in picture.lower()
    assert not any(words.startswith("-") for words in texts(picture))
    assert answer.column("n").low == (-6, 41)
    sums = answered(Column("ward", "key", ("a", "b")), replace(NEGATIVE, kind="sum"))
    assert "a: 3 (-6 to 12)" in sums.chart().svg()
    assert "cut at" not in sums.chart().svg()
    shares = answered(Column("ward", "key", ("a",)), Column("m", "avg", (0.9,), (0.7,), (1.2,), (0, 1)))
    assert "a: 0.9 (0.7 to 1)" in shares.chart().svg()


def test_the_title_comes_from_the_question_and_the_footer_has_no_balance() -> None:
    limits = ("at most 12 rows per unit", "cost limited to 0..5000")
    receipt = Receipt(Fraction(1), Fraction(0), Fraction(77, 10), Fraction(0))
    asked = "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits WHERE age >= 65 GROUP BY ward"
    columns = (Column("ward", "key", ("a", "b")), counts(2), counts(2, "mean_cost"))
    answer = Answer(columns, Fraction(95, 100), receipt, limits=limits, asked=asked)
    shown = texts(answer.chart().svg())
    assert shown[:2] == ["Count and mean cost by ward", "visits where age &gt;= 65"]
    assert shown[-2:] == ["95 % intervals, epsilon 1, at most 12 rows per unit", "Cost limited to 0..5000"]
    assert "7.7" not in answer.chart().svg()
    assert texts(answer.chart(title="Visits of the old").svg())[0] == "Visits of the old"
    assert texts(answer.chart(column="n").svg())[0] == "Count by ward"


def test_null_is_last_and_bins_keep_their_place() -> None:
    wards = answered(Column("ward", "key", (None, "b", "a")), counts(3))
    labels = [words for words in texts(wards.chart().svg()) if words in ("a", "b", "NULL")]
    assert labels == ["b", "a", "NULL"]
    bins = answered(Column("decade", "key", (None, 50, 10, 20)), counts(4)).chart().svg()
    drawn = texts(bins)
    assert [words for words in drawn if words in ("10", "20", "30", "40", "50", "NULL")][-6:] == [
        "10",
        "20",
        "30",
        "40",
        "50",
        "NULL",
    ]
    uneven = texts(answered(Column("size", "key", (1, 10, 1000)), counts(3)).chart().svg())
    assert "2" not in uneven


def test_a_page_of_a_chart_has_no_script_and_needs_no_extra(tmp_path: Path) -> None:
    BARS.chart(tmp_path / "chart.html", title="<b>")
    page = (tmp_path / "chart.html").read_text()
    assert "<script" not in page
    assert "<title>&lt;b&gt;</title>" in page
    assert "default-src 'none'" in unescape(page)


def test_labels_are_straight() -> None:
    assert "rotate" not in "".join(answer.chart().svg() for answer in (BARS, LINE, TWO))


def test_bars_of_which_nothing_is_known_are_pale() -> None:
    """An average of an empty group has all that is possible as its interval: the length of its bar says nothing."""
    ages = Column("age", "avg", (43.0, 61.0), (40.0, -8.0), (46.0, 130.0), bounds=(0, 99))
    for keys in (("north", "south"), (1, 2)):
        drawn = answered(Column("place", "key", keys), ages).chart().svg()
        bars = re.findall(r'<path [^>]*opacity="([\d.]+)"[^>]*><title>([^<]+)', drawn)
        assert [(float(opacity), "unknown" in said) for opacity, said in bars] == [(0.9, False), (0.4, True)]
        assert "a pale bar may be anything" in unescape(drawn)
    known = answered(Column("place", "key", ("north", "south")), replace(ages, low=(40.0, 1.0))).chart().svg()
    assert "unknown" not in known
