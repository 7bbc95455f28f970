"""The common part of attack results: plain values for JSON, charts of points and bars, and the limits of chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

FALSE_ALARM = 1e-6
COLOURS = ("#e07a3f", "#1f4e9c", "#5b8c5a", "#8e6bb0", "#7a7a7a", "#b7c9e2")
Row = Mapping[str, Any]


def plain(value: Any) -> Any:
    """The value as JSON has it: numbers of NumPy, fractions and decimals become numbers of Python; infinity becomes a word.

    >>> plain({"share": np.float64(0.5), "odds": Fraction(1, 4), "loss": float("inf"), "bits": np.array([True])})
    {'share': 0.5, 'odds': 0.25, 'loss': 'infinite', 'bits': [True]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float | Fraction | Decimal):
        number = float(value)
        return "infinite" if number in (float("inf"), float("-inf")) else number
    return value


def json_figures(**figures: Any) -> dict[str, Any]:
    """Named figures as JSON has them.

    >>> json_figures(recovered=np.float64(0.75))
    {'recovered': 0.75}
    """
    return {name: plain(value) for name, value in figures.items()}


def lucky_share(count: int, chance: float, false_alarm: float = FALSE_ALARM) -> float:
    """The share of `count` independent guesses, each right with `chance`, that is passed with at most `false_alarm`.

    A guesser who gets more than this does better than `chance`, or once in a million is lucky.

    >>> lucky_share(64, 0.5), lucky_share(10_000, 0.5)
    (0.78125, 0.5238)
    """
    from scipy.special import bdtrc

    right = np.arange(count + 1)
    return float(right[bdtrc(right, count, chance) <= false_alarm][0] / count)


@dataclass(frozen=True, slots=True)
class Axes:
    """The names of a chart's axes, and whether they are logarithmic; shares go from 0 to 1."""

    x: str
    y: str
    logarithmic_x: bool = False
    logarithmic_y: bool = False
    share: bool = False


def lines(rows: Sequence[Row], axes: Axes, title: str, path: str | Path | None = None) -> Any:
    """An Altair chart of rows x, y, `series`, in lines; a row with `seen` true is a point that was measured, without a line."""
    from tacit.chart import charting, save

    alt = charting()
    names = list(dict.fromkeys(row["series"] for row in rows))
    colour = alt.Color("series:N", title=None, sort=names, scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])))
    encoding = {
        "x": alt.X("x:Q", title=axes.x, scale=_scale(alt, axes.logarithmic_x), axis=alt.Axis(grid=False)),
        "y": alt.Y("y:Q", title=axes.y, scale=_scale(alt, axes.logarithmic_y, axes.share)),
        "color": colour,
    }
    shown = plain(list(rows))
    drawn = alt.Chart(alt.InlineData(values=[row for row in shown if not row.get("seen")])).mark_line(strokeWidth=2)
    dots = alt.Chart(alt.InlineData(values=[row for row in shown if row.get("seen")])).mark_point(filled=True, size=45)
    chart = alt.layer(drawn.encode(**encoding), dots.encode(**encoding))
    return save(_with_frame(alt, chart, title), path)


def bars(rows: Sequence[Row], axes: Axes, title: str, path: str | Path | None = None, rule: float | None = None) -> Any:
    """An Altair chart of rows x, y and `series`, as bars side by side; `rule` is a dashed line across."""
    from tacit.chart import charting, save

    alt = charting()
    names = list(dict.fromkeys(row["series"] for row in rows))
    chart: Any = (
        alt.Chart(alt.InlineData(values=plain(list(rows))))
        .mark_bar()
        .encode(
            x=alt.X("x:N", title=axes.x or None, sort=None).axis(labelAngle=0, labelLimit=160),
            xOffset=alt.XOffset("series:N", sort=names),
            y=alt.Y("y:Q", title=axes.y, scale=_scale(alt, False, axes.share)),
            color=alt.Color("series:N", title=None, sort=names, scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)]))),
        )
    )
    if rule is not None:
        chart += alt.Chart(alt.InlineData(values=[{"at": rule}])).mark_rule(strokeDash=[4, 3]).encode(y="at:Q")
    return save(_with_frame(alt, chart, title), path)


def _scale(alt: Any, logarithmic: bool, share: bool = False) -> Any:
    if share:
        return alt.Scale(domain=[0, 1])
    return alt.Scale(type="log" if logarithmic else "linear", nice=not logarithmic)


def _with_frame(alt: Any, chart: Any, title: str) -> Any:
    return chart.properties(title=alt.TitleParams(title, anchor="start"), width=520, height=260).configure_view(stroke=None)
