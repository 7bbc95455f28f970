"""From the store to estimates: every question, for everybody or for each public group, with intervals."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.local.compare import Difference, compare
from tacit.publish.local.estimate import Request, estimate
from tacit.publish.local.results import Frequencies, Mean
from tacit.publish.local.survey.declaration import Number, Question, Survey, YesNo
from tacit.publish.local.survey.randomized import Randomized, from_json, randomized
from tacit.publish.local.survey.store import Store
from tacit.publish.local.survey.texts import page_texts

Estimate = Frequencies | Mean


@dataclass(frozen=True, slots=True)
class Result:
    """The estimate of one question, of everybody (`group` empty) or of one group; None where nobody reported on it."""

    asked: Randomized
    estimate: Estimate | None
    group: str = ""

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each number, with the same keys for all kinds of questions."""
        question, estimate = self.asked.question, self.estimate
        if estimate is None:
            return []
        common = {"question": question.id, "kind": question.kind, "group": self.group, "people": estimate.people}
        if isinstance(estimate, Mean):
            rows = [{"category": "", "estimate": estimate.value, "low": estimate.low, "high": estimate.high, "consistent": None}]
        else:
            rows = [{**row, "estimate": row["share"]} for row in estimate.to_rows()]
        columns = ("category", "estimate", "low", "high", "consistent")
        return [common | {name: row[name] for name in columns} for row in rows]


@dataclass(frozen=True, slots=True)
class Compared:
    """One question in two groups: the first less the second."""

    asked: Randomized
    groups: tuple[str, str]
    difference: Difference


def labels(question: Question, survey: Survey) -> tuple[str, ...]:
    """The names of the categories of a question, in the survey's language."""
    texts = page_texts(survey.language, survey.texts)
    if isinstance(question, Number):
        return ()
    return (texts["no"], texts["yes"]) if isinstance(question, YesNo) else question.options


def results(store: Store, request: Request, by_group: bool = False) -> list[Result]:
    """The estimates of all questions, of everybody or of each declared group."""
    survey = store.form.survey
    names = _groups(survey) if by_group else {None: ""}
    return [_result(store, each, request, *group) for each in randomized(survey) for group in names.items()]


def _result(store: Store, each: Randomized, request: Request, code: int | None, group: str) -> Result:
    reports = reports_on(store, each, code)
    return Result(each, estimated(store.form.survey, each, reports, request) if len(reports) else None, group)


def estimated(survey: Survey, each: Randomized, reports: Any, request: Request) -> Estimate:
    """The estimate from reports on one question, with names for the categories."""
    found = estimate(each.randomizer, reports, request.confidence, request.bound, request.simultaneous, request.sampled)
    if isinstance(found, Mean):
        return found
    return found.named(labels(each.question, survey))


def reports_on(store: Store, each: Randomized, group: int | None = None) -> Any:
    """The reports on one question, as its randomizer makes them."""
    return np.array([from_json(each.randomizer, written) for written in store.answers(each.question.id, group)])


def comparisons(store: Store, first: str, second: str, request: Request) -> list[Compared]:
    """Every question in two declared groups, where both have reports on it."""
    survey = store.form.survey
    codes = {name: code for code, name in _groups(survey).items()}
    for name in (first, second):
        if name not in codes:
            raise InvalidInput(f"the survey declares no group {name!r}; its groups are {', '.join(codes)}")
    if first == second:
        raise InvalidInput("a group does not differ from itself; name two")
    found = []
    for each in randomized(survey):
        one, other = (reports_on(store, each, codes[name]) for name in (first, second))
        if len(one) and len(other):
            difference = compare(each.randomizer, one, other, request)
            names = labels(each.question, survey) or ("mean",)
            found.append(Compared(each, (first, second), difference.named(names)))
    return found


def _groups(survey: Survey) -> Mapping[int | None, str]:
    if survey.group is None:
        raise InvalidInput("the survey declares no [group], and nothing else tells people apart; compare in the next survey")
    return dict(enumerate(survey.group.values))


def to_csv(found: Sequence[Result], path: Path | None = None) -> str:
    """All estimates as CSV text, also written to `path` if there is one; the same columns for every kind of question."""
    text = io.StringIO()
    columns = ("question", "kind", "group", "people", "category", "estimate", "low", "high", "consistent")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_plain(row) for result in found for row in result.to_rows())
    if path is not None:
        path.write_text(text.getvalue(), encoding="utf-8")
    return text.getvalue()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r\n" and value else value
        for name, value in row.items()
    }


def chart(found: Sequence[Result], survey: Survey, path: Path | None = None) -> Any:
    """An Altair chart of all questions, one below the other: shares with their intervals; means on their own scales."""
    import altair as alt

    from tacit.mechanisms.picture import save

    parts = [_part(each) for each in found if each.estimate is not None]
    if not parts:
        raise InvalidInput("there are no reports to draw; collect some first")
    whole = alt.vconcat(*parts, spacing=28).resolve_scale(x="independent")
    return save(
        whole.properties(title=alt.TitleParams(survey.title, anchor="start", fontSize=16, offset=14)).configure_view(stroke=None),
        path,
    )


def _part(result: Result) -> Any:
    import altair as alt

    from tacit.mechanisms.picture import COLOURS

    question, rows = result.asked.question, result.to_rows()
    number = isinstance(question, Number)
    domain = [float(question.lower), float(question.upper)] if isinstance(question, Number) else [0, 1]
    scale = alt.Scale(domain=domain, nice=False, clamp=True)  # an estimate that cannot be is drawn at the border
    unit = (question.unit or "mean") if isinstance(question, Number) else "share"
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("category:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))
    )
    across = alt.X(
        "low:Q", title=unit, scale=scale, axis=alt.Axis(format=",.12~g" if number else "%", tickCount=6, gridOpacity=0.4)
    )
    lines = base.mark_rule(strokeWidth=3, color=COLOURS[1]).encode(x=across, x2="high:Q")
    dots = base.mark_circle(size=70, color=COLOURS[2], opacity=1).encode(x=alt.X("estimate:Q", scale=scale))
    said = f"{result.group or 'everybody'}: {rows[0]['people']:,} reports; {result.estimate.terms if result.estimate else ''}"
    title = alt.TitleParams(question.ask, anchor="start", frame="group", subtitle=said)
    return alt.layer(lines, dots).properties(title=title, width=460, height=max(40, 24 * len(rows)))
