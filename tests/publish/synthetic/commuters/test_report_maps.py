"""The pictures of the curator's report: what is written on them fits on them, in wide letters too."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np

from tacit.chart import svg
from tacit.publish.synthetic.commuters.report import WIDTH, average_commutes

WIDEST = 7  # pixels of an average letter of 11 pixels in a wide font such as Verdana


def test_every_line_over_the_dots_fits_over_them() -> None:
    """A page shows the letters in the reader's own font: a line as wide as the picture in ours is cut off in another."""
    real = np.array([3.0, 12.0, 40.0])
    chart = average_commutes(SimpleNamespace(mean_truth=real, mean_synthetic=1.1 * real, jobs=np.array([10.0, 300.0, 5.0])))
    title = chart.to_dict()["title"]
    lines = [title["text"], *title["subtitle"]]
    assert max(map(len, lines)) * WIDEST <= WIDTH
    drawn = re.sub("<[^>]+>", " ", svg(chart))
    assert all(line in drawn for line in lines)
