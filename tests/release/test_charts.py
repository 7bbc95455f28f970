"""Charts: the right form for the keys, every number with its error bar, and files that open without a network."""

from __future__ import annotations

import struct
import subprocess
import sys
from fractions import Fraction
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
