"""Charts of noise: what is drawn, and that saved files need nothing from outside."""

import re
import sys
from pathlib import Path

import pytest

import tacit
from tacit.chart import FEW_POINTS, PACKAGES, check_format, noise_picture, save
from tacit.errors import InvalidInput
from tacit.evidence.attacks.samplers import floating_point
from tacit.mechanisms.laplace import Laplace
from tacit.release.curators import curators_place

CURVES = {"epsilon 1": ([-1, 0, 1], [0.2, 0.6, 0.2]), "epsilon 2": ([-1, 0, 1], [0.1, 0.8, 0.1])}


def rows(chart):
    return [row for values in chart.to_dict()["datasets"].values() for row in values]


def test_curves_and_band_are_drawn():
    drawn = rows(noise_picture(CURVES, (-1.5, 1.5), "Noise"))
    assert {"error": 0.0, "density": 0.8, "curve": "epsilon 2"} in drawn
    assert {"low": -1.5, "high": 1.5} in drawn
    assert len(drawn) == 7
    assert len(rows(noise_picture(CURVES, None, "Noise"))) == 6


def test_few_outcomes_are_drawn_as_points():
    many = {"epsilon 1": (list(range(FEW_POINTS + 1)), [0.1] * (FEW_POINTS + 1))}
    assert "point" in noise_picture(CURVES, None, "Noise").to_dict()["mark"]
    assert noise_picture(many, None, "Noise").to_dict()["mark"].get("point") is False


def test_saved_html_asks_nobody_for_anything(tmp_path):
    path = tmp_path / "noise.html"
    chart = noise_picture(CURVES, None, "Noise")
    assert save(chart, path) is chart
    assert save(chart, None) is chart
    text = path.read_text()
    assert "<script src=" not in text
    assert "<link" not in text


@pytest.mark.parametrize("name", ["noise", "noise.txt", "noise.pdf"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(InvalidInput, match=r"expected \.svg, \.png, \.html"):
        save(noise_picture(CURVES, None, "Noise"), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_without_the_extra_every_chart_names_the_line_to_install(monkeypatch, tmp_path):
    chart = noise_picture(CURVES, None, "Noise")
    for package in PACKAGES:
        monkeypatch.setitem(sys.modules, package, None)
    calls = (
        lambda: noise_picture(CURVES, None, "Noise"),
        lambda: save(chart, tmp_path / "noise.svg"),
        lambda: check_format("noise.png"),
        lambda: check_format("noise.html"),
        lambda: Laplace(sensitivity=1, epsilon=1).chart(),
        lambda: floating_point(draws=100).chart(),
        lambda: curators_place(tmp_path / "report.html", tmp_path / "public" / "rows.parquet"),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=r"pip install 'tacit\[charts\]'"):
            call()
    assert check_format("noise.svg") == ".svg", "answers are drawn without it"


def test_no_module_imports_a_charting_library_but_through_one_door():
    """So that each says what is missing; `charting` and `converting` are the doors."""
    for path in sorted(Path(tacit.__file__).parent.rglob("*.py")):
        names = re.findall(r"^\s*(?:import|from) (altair|vl_convert)\b", path.read_text("utf-8"), re.MULTILINE)
        assert sorted(names) == (["altair", "vl_convert"] if path.name == "chart.py" and path.parent.name == "tacit" else []), path
