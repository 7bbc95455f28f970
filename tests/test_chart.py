"""Charts of noise: what is drawn, and that saved files need nothing from outside."""

import pytest

from tacit.chart import FEW_POINTS, noise_picture, save
from tacit.errors import InvalidInput

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
