"""From the store to estimates: every question, for all respondents or for each public group, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.local.estimates.compare import Difference, compare
from tacit.publish.local.estimates.estimate import Request, estimate
from tacit.publish.local.estimates.results import Frequencies, Mean, to_csv_text
from tacit.publish.local.survey.declaration import Number, Question, Survey, YesNo
from tacit.publish.local.survey.randomized import Randomized, from_json, randomized
from tacit.publish.local.survey.reports import Store
from tacit.publish.local.survey.texts import page_texts

Estimate = Frequencies | Mean
VALUES = ("category", "estimate", "low", "high", "consistent")


@dataclass(frozen=True, slots=True)
class Result:
    """The estimate of one question, of all respondents (`group` empty) or of one group; None without reports."""

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
        return [common | {name: row[name] for name in VALUES} for row in rows]


@dataclass(frozen=True, slots=True)
class Compared:
    """One question in two groups: the first less the second."""

    asked: Randomized
    groups: tuple[str, str]
    difference: Difference

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each number, with the keys of `Result.to_rows` and three more."""
        question, (one, other), people = self.asked.question, self.groups, self.difference.people
        common = {"question": question.id, "kind": question.kind, "group": one, "people": people[0]}
        common |= {"less": other, "less_people": people[1]}
        rows = [{**row, "estimate": row["difference"], "consistent": None} for row in self.difference.to_rows()]
        if isinstance(question, Number):
            rows = [{**row, "category": ""} for row in rows]
        return [common | {name: row[name] for name in (*VALUES, "differs")} for row in rows]


def labels(question: Question, survey: Survey) -> tuple[str, ...]:
    """The names of the categories of a question, in the survey's language."""
    texts = page_texts(survey.language, survey.texts)
    if isinstance(question, Number):
        return ()
    return (texts["no"], texts["yes"]) if isinstance(question, YesNo) else question.options


def results(store: Store, request: Request = Request(), by_group: bool = False) -> list[Result]:  # noqa: B008  # frozen
    """The estimates of all questions, of all respondents or of each declared group."""
    survey = store.form.survey
    names = _groups(survey) if by_group else {None: ""}
    return [_result(store, each, request, *group) for each in randomized(survey) for group in names.items()]


def _result(store: Store, each: Randomized, request: Request, code: int | None, group: str) -> Result:
    reports = reports_on(store, each, code)
    return Result(each, estimated(store.form.survey, each, reports, request) if len(reports) else None, group)


def estimated(survey: Survey, each: Randomized, reports: Any, request: Request) -> Estimate:
    """The estimate from reports on one question, with names for the categories."""
    asked = (request.confidence, request.bound, request.simultaneous, request.sampled, request.on_grid)
    outcome = estimate(each.randomizer, reports, *asked)
    if isinstance(outcome, Mean):
        return outcome
    return outcome.named(labels(each.question, survey))


def reports_on(store: Store, each: Randomized, group: int | None = None) -> Any:
    """The reports on one question, as its randomizer makes them."""
    return np.array([from_json(each.randomizer, written) for written in store.answers(each.question.id, group)])


def comparisons(store: Store, first: str, second: str, request: Request = Request()) -> list[Compared]:  # noqa: B008  # frozen
    """Every question in two declared groups, where both have reports on it."""
    survey = store.form.survey
    codes = {name: code for code, name in _groups(survey).items()}
    for name in (first, second):
        if name not in codes:
            raise InvalidInput(f"unknown group {name!r}; the declared groups are {', '.join(codes)}")
    if first == second:
        raise InvalidInput("the two groups must differ; name two different ones")
    compared = []
    for each in randomized(survey):
        one, other = (reports_on(store, each, codes[name]) for name in (first, second))
        if len(one) and len(other):
            difference = compare(each.randomizer, one, other, request)
            names = labels(each.question, survey) or ("mean",)
            compared.append(Compared(each, (first, second), difference.named(names)))
    return compared


def _groups(survey: Survey) -> Mapping[int | None, str]:
    if survey.group is None:
        raise InvalidInput("the survey declares no [group], so there is nothing to compare; add a [group] to the next survey")
    return dict(enumerate(survey.group.values))


COLUMNS = ("question", "kind", "group", "people", *VALUES)
COMPARED = ("less", "less_people", "differs")  # in the rows of differences: the other group, its people, and what is found


def to_csv(found: Sequence[Result], differences: Sequence[Compared] = (), path: Path | None = None) -> str:
    """All estimates as CSV text, also written to `path` if there is one; the same columns for every kind of question.

    Differences follow in rows of their own, with three columns more that say what was taken from the group.
    """
    rows = [row for each in found for row in each.to_rows()] + [row for each in differences for row in each.to_rows()]
    return to_csv_text(COLUMNS + (COMPARED if differences else ()), rows, path)
