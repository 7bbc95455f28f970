"""`tacit survey`: surveys with local differential privacy, from the form to the estimates."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import console, figure, keep_what_is_read, print_json, say
from tacit.doors.cli.survey.collect import collect
from tacit.doors.cli.survey.estimate import estimate
from tacit.doors.cli.survey.simulate import simulate
from tacit.errors import InvalidInput
from tacit.files import write

if TYPE_CHECKING:
    from tacit.publish.local.estimates.estimate import Request
    from tacit.publish.local.survey.declaration import Survey
    from tacit.publish.local.survey.randomized import Randomized

survey = typer.Typer(
    no_args_is_help=True, help="Run a survey with local differential privacy: each respondent's browser randomizes the answers."
)

SurveyArgument = Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey declaration, such as survey.toml.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


DRAFT = """\
# A survey with local differential privacy: each browser randomizes the answers before they leave it. Change the words, the
# options and the bounds; take away the questions that you do not need. Then:
#
#   tacit survey plan {name} --n 2000       the half-width of each estimate
#   tacit survey form {name}                one page to hand out; it works offline

id = "{id}"  # part of every report: letters, digits and hyphens; choose another one for another survey
title = {title}
about = "Who asks, and what for. No one, not even we, can be sure from a report what you answered."
language = "en"
closes = {closes}
epsilon = 4  # the privacy loss of one respondent: 1 is strict, 8 is loose
share = "split"  # each respondent answers every question with a part of epsilon; "sample" draws one question for each

[questions.member]
ask = "Are you a member?"
kind = "yes/no"

[questions.way]
ask = "Which of these describes you best?"
kind = "choice"
options = ["One", "Two", "Three"]

[questions.hours]
ask = "How many hours a week?"
kind = "number"
bounds = [0, 40]  # from common knowledge; answers beyond them count as the nearest one
step = 1
unit = "hours"
"""
DAYS_OPEN, LONGEST_ID = 30, 40


def init(
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="Output path of the survey.")] = Path("survey.toml"),
    title: Annotated[str, typer.Option("--title", help="Title that respondents read.")] = "Our survey",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Draft a survey to change: one question of each common kind, open for 30 days.

    Example: tacit survey init --title "How we get to work" --out commuting.toml
    """
    from tacit.data.declaration import whole_text
    from tacit.publish.local.survey.reading import parse_survey

    if out.exists() and not force:
        raise InvalidInput(f"{out} already exists; overwrite it with --force, or choose another file with --out")
    name = re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:LONGEST_ID].strip("-") or "survey"
    closes = datetime.now(UTC).date() + timedelta(days=DAYS_OPEN)
    text = DRAFT.format(name=out.name, id=name, title=whole_text(title), closes=closes)
    asked = parse_survey(text)
    write(out, text.encode("utf-8"), force=force)
    if as_json:
        print_json({"survey": str(out), "id": asked.id, "questions": [each.id for each in asked.questions]})
        return
    say(f"{out}: {len(asked.questions)} questions to change, open until {closes}\nnext: tacit survey plan {out.name} --n 2000")


def form(
    declaration: SurveyArgument,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("form.html"),
    as_json: JsonOption = False,
) -> None:
    """Write the survey as one HTML page that works offline and randomizes answers in the respondent's browser.

    Example: tacit survey form survey.toml --out form.html
    """
    from tacit.publish.local.survey.form import build_form
    from tacit.publish.local.survey.randomized import form_of, randomized
    from tacit.publish.local.survey.reading import read_survey

    keep_what_is_read(out, declaration)
    asked = read_survey(declaration)
    page = build_form(asked).encode("utf-8")
    write(out, page)
    digest = hashlib.sha256(page).hexdigest()
    if as_json:
        facts = {"form": str(out), "bytes": len(page), "sha256": digest, "survey": asked.id, "fingerprint": form_of(asked)}
        print_json(facts | {"questions": [_as_json(each) for each in randomized(asked)]})
        return
    questions = "1 question" if len(asked.questions) == 1 else f"{len(asked.questions)} questions"
    say(f"{out}: {questions}, {len(page) / 1000:.0f} kB, self-contained\nSHA-256 {digest}")
    if asked.closed_at(datetime.now(UTC)):
        say(f"The survey closed on {asked.closes}: the page accepts no answers. Set `closes` to a later day.")
    say(_promise(asked))
    _show_questions(asked, ("question", "epsilon", "randomized by", "why"), [(*_row(each), each.why) for each in randomized(asked)])


def plan(
    declaration: SurveyArgument,
    n: Annotated[int, typer.Option("--n", min=1, help="Expected number of respondents.")] = 1000,
    error: Annotated[
        float | None, typer.Option(help="Target half-width of every share, as a fraction; prints the number of respondents needed.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    as_json: JsonOption = False,
) -> None:
    """Estimate the half-width of every question in advance, for a given number of respondents.

    Example: tacit survey plan survey.toml --n 2000 --error 0.05
    """
    from tacit.publish.local.estimates.estimate import Request
    from tacit.publish.local.survey.randomized import randomized
    from tacit.publish.local.survey.reading import read_survey

    if error is not None and not 0 < error < 1:
        raise InvalidInput(f"--error must be above 0 and below 1, not {error:g}; give for example --error 0.05 for 5 %")
    asked = read_survey(declaration)
    request = Request(confidence, sampled=asked.share == "sample")
    shared_by = 1 if asked.share == "split" else len(asked.questions)  # questions that share the respondents
    people = max(1, n // shared_by)
    planned = [(each, *_plan(each, people, error, request)) for each in randomized(asked)]
    planned = [(each, half, bound, needed and needed * shared_by) for each, half, bound, needed in planned]
    if as_json:
        told = [
            _as_json(each) | {"half_width": half, "bound": bound, "people_needed": needed} for each, half, bound, needed in planned
        ]
        print_json({"survey": asked.id, "people": n, "people_per_question": people, "confidence": confidence, "questions": told})
        return
    each_asked = f", about {people:,} on each question" if asked.share == "sample" else ""
    say(f"{asked.title}: {n:,} people{each_asked}, {100 * confidence:g} % intervals\n{_promise(asked)}")
    rows = [(*_row(each), _within(each, half), bound, f"{needed:,}" if needed else "") for each, half, bound, needed in planned]
    average = ", on average" if shared_by > 1 else ""  # how many are asked a question is drawn by chance
    heads = ("question", "epsilon", "randomized by", "half-width", "bound", f"people for ± {error:g}{average}" if error else "")
    _show_questions(asked, heads, rows)


def _plan(each: Randomized, people: int, error: float | None, request: Request) -> tuple[float, str, int | None]:
    from tacit.publish.local.estimates.estimate import is_oracle
    from tacit.publish.local.estimates.planning import plan as planned
    from tacit.publish.local.estimates.planning import reach

    half_width, bounds = reach(each.randomizer, request)
    bound = min((name for name in bounds if name != "normal"), key=lambda name: half_width(name, people))
    wanted = error if is_oracle(each.randomizer) else None
    return half_width(bound, people), bound, None if wanted is None else planned(each.randomizer, wanted, request).people


def _within(each: Randomized, half: float) -> str:
    unit = getattr(each.question, "unit", "")
    return f"± {figure(half)} {unit}".strip() if each.question.kind == "number" else f"± {100 * half:.2f} %"


def _promise(asked: Survey) -> str:
    from tacit.privacy.rounding import as_text

    parts = {"split": "shared by all questions", "sample": "for the one question that each respondent gets"}
    public = " The group is sent as it is, without protection." if asked.group else ""
    budget = f"epsilon {as_text(asked.epsilon)} {parts[asked.share]}"
    return f"Local differential privacy, {budget}; respondents need not trust the collector.{public}"


def _row(each: Randomized) -> tuple[str, str, str]:
    from tacit.privacy.rounding import as_text

    return each.question.id, as_text(each.epsilon), _method(each)


def _method(each: Randomized) -> str:
    from tacit.publish.local.survey.randomized import recipe

    if each.question.kind == "yes/no":
        return "binary"
    made = recipe(each.randomizer)
    return f"set, {made['inner']['method']}" if "inner" in made else str(made["method"])


def _as_json(each: Randomized) -> dict[str, Any]:
    from tacit.privacy.rounding import decimal_text

    id, _, method = _row(each)
    return {"id": id, "kind": each.question.kind, "epsilon": decimal_text(each.epsilon), "method": method, "why": each.why}


def _show_questions(asked: Survey, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table

    table = Table(*heads, box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


COMMANDS: Mapping[str, Callable[..., None]] = {
    "init": init,
    "form": form,
    "plan": plan,
    "collect": collect,
    "estimate": estimate,
    "simulate": simulate,
}
