"""The chart of a survey's results, which is published and so speaks the survey's language: chart.toml has its words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.rounding import as_text
from tacit.publish.local.estimates.results import Terms, with_distinct_labels
from tacit.publish.local.survey.declaration import Number, Question, Survey
from tacit.publish.local.survey.results import Compared, Estimate, Result
from tacit.publish.local.survey.texts import filled
from tacit.untrusted import for_chart, for_title

Texts = Mapping[str, str]


@cache
def _all() -> Mapping[str, Texts]:
    return tomllib.loads(files("tacit.publish.local.survey").joinpath("chart.toml").read_text("utf-8"))


def chart_texts(language: str) -> Texts:
    """The words of the chart in a language or a variant of it; the English ones, where tacit does not know the language.

    >>> chart_texts("de-AT")["share"], chart_texts("fr")["share"]
    ('Anteil', 'share')
    """
    texts = _all()
    return texts.get(language.split("-")[0], texts["en"])


def chart(found: Sequence[Result], differences: Sequence[Compared], survey: Survey, path: Path | None = None) -> Any:
    """An Altair chart of all questions, one below the other, and below them the differences of two groups.

    Shares have one scale, from 0 to 1 (their differences from -1 to 1), and each number that of its own bounds.
    """
    from tacit.chart import charting, save

    alt = charting()
    texts = chart_texts(survey.language)
    panels = [_of_result(each, each.estimate, texts) for each in found if each.estimate is not None]
    panels += [_of_difference(each, texts) for each in differences]
    if not panels:
        raise InvalidInput("no reports to draw; collect some with `tacit survey collect`")
    whole = alt.vconcat(*(_draw(each) for each in panels), spacing=28).resolve_scale(x="independent")
    title = alt.TitleParams(for_title(survey.title), subtitle=for_chart(texts["marks"]), anchor="start", fontSize=16, offset=14)
    number = {"decimal": texts["decimal"], "thousands": texts["thousands"], "grouping": [3], "currency": ["", ""], "percent": " %"}
    whole = whole.properties(title=title).configure(locale={"number": number})
    return save(whole.configure_view(stroke=None), path)


@dataclass(frozen=True, slots=True)
class Panel:
    """One question, or one difference: its rows of `name`, `value`, `low` and `high`, and how they are drawn."""

    title: str
    said: str
    rows: list[dict[str, Any]]
    axis: str
    domain: tuple[float, float]
    format: str


def _of_result(result: Result, estimate: Estimate, texts: Texts) -> Panel:
    question = result.asked.question
    of = result.group or texts["everybody"]
    said = f"{of}: {_reports(estimate.people, texts)}; {_terms(estimate.terms, texts)}"
    rows = [_row(question, row, row["estimate"]) for row in result.to_rows()]
    if isinstance(question, Number):
        return Panel(question.ask, said, rows, question.unit or texts["mean"], _bounds(question), ",.12~g")
    return Panel(question.ask, said, rows, texts["share"], (0, 1), "~%")


def _of_difference(compared: Compared, texts: Texts) -> Panel:
    question, difference = compared.asked.question, compared.difference
    one, other = compared.groups
    people = filled(
        texts["reports_of_both"], **dict(zip(("one", "other"), (_count(n, texts) for n in difference.people), strict=True))
    )
    said = f"{filled(texts['less'], one=one, other=other)}: {people}; {_terms(difference.terms, texts)}"
    rows = [_row(question, row, row["difference"]) for row in difference.to_rows()]
    if isinstance(question, Number):
        low, high = _bounds(question)
        axis = f"{texts['difference']}, {question.unit}" if question.unit else texts["difference"]
        return Panel(question.ask, said, rows, axis, (low - high, high - low), ",.12~g")
    points = [{key: part if key == "name" else 100 * part for key, part in row.items()} for row in rows]
    return Panel(question.ask, said, points, texts["difference_of_shares"], (-100, 100), ",.12~g")


def _row(question: Question, row: Mapping[str, Any], value: float) -> dict[str, Any]:
    name = "" if isinstance(question, Number) else row["category"]
    return {"name": name, "value": value, "low": row["low"], "high": row["high"]}


def _bounds(question: Number) -> tuple[float, float]:
    return float(question.lower), float(question.upper)


def _count(number: int, texts: Texts) -> str:
    return f"{number:,}".replace(",", texts["thousands"])


def _reports(number: int, texts: Texts) -> str:
    return texts["one_report"] if number == 1 else filled(texts["reports"], count=_count(number, texts))


def _terms(terms: Terms, texts: Texts) -> str:
    """The terms of the intervals in words, as `Terms` has them in English."""
    return filled(
        texts["terms"],
        confidence=as_text(100 * terms.confidence).replace(".", texts["decimal"]),
        together=texts["all" if terms.simultaneous else "each"],
        bound=texts[terms.bound.replace(" ", "_")],
        whom=texts["population" if terms.sampled else "respondents"],
    )


def _draw(panel: Panel) -> Any:
    """Intervals as lines and estimates as dots, one row for each name; a dashed line where nothing differs."""
    from tacit.chart import COLOURS, charting

    alt = charting()
    rows = with_distinct_labels(panel.rows, "name")
    scale = alt.Scale(domain=panel.domain, nice=False, clamp=True)  # an estimate that cannot be is drawn at the border
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=0, labelPadding=10, ticks=False, domain=False))
    )
    axis = alt.Axis(format=panel.format, tickCount=6, gridOpacity=0.4)
    lines = base.mark_rule(strokeWidth=3, color=COLOURS[1]).encode(
        x=alt.X("low:Q", title=for_title(panel.axis), scale=scale, axis=axis), x2="high:Q"
    )
    dots = base.mark_circle(size=70, color=COLOURS[2], opacity=1).encode(x=alt.X("value:Q", scale=scale))
    layers = [lines, dots]
    if panel.domain[0] < 0 < panel.domain[1]:
        nothing = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=COLOURS[5], strokeDash=[4, 3])
        layers.insert(0, nothing.encode(x=alt.X("zero:Q", scale=scale)))
    title = alt.TitleParams(for_title(panel.title), anchor="start", frame="group", subtitle=for_chart(panel.said))
    return alt.layer(*layers).properties(title=title, width=460, height=max(40, 24 * len(panel.rows)))
