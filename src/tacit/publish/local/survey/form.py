"""The form: one HTML page that needs nothing else, in which each person's browser randomizes their answers.

Script and style are named by their hashes in the page's own policy, which forbids everything else: no other script can run, and
no request can be made but, where the survey says so, to the one address that takes reports.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from tacit.privacy.rounding import as_text, exp_down, exp_up
from tacit.publish.local.survey.declaration import Choice, Number, Question, SetOf, Survey, YesNo
from tacit.publish.local.survey.randomized import Randomized, form_of, randomized, recipe, stream_of
from tacit.publish.local.survey.texts import filled, page_texts
from tacit.untrusted import for_html, for_script, prose_for_html

SCRIPTS = ("randomize.js", "show.js", "hand_in.js", "form.js")
TO_THE_LEFT = {"ar", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "syr", "ug", "ur", "yi", "Arab", "Hebr", "Syrc", "Thaa"}
WEAK = 3  # 1 / (1 + e^3) = 4.7 %
SHORT = 16  # characters: options of at most so many stand side by side


def build_form(survey: Survey) -> str:
    """The page of a survey, as the text of one HTML file."""
    texts = page_texts(survey.language, survey.texts)
    style, script = _part("form.css"), "\n".join(map(_part, SCRIPTS))
    blanks = {key: prose_for_html(text) for key, text in (texts | _spoken_text(survey, texts)).items()}
    return Template(_part("form.html")).substitute(
        {
            **blanks,
            "language": prose_for_html(survey.language),
            "direction": direction(survey.language),
            "title": prose_for_html(survey.title),
            "version": prose_for_html(version("tacit")),
            "policy": prose_for_html(policy(style, script, survey.send_to)),
            "except_group": f"<p>{blanks['except_group']}</p>" if survey.group else "",
            "weak": f'<p class="notice">{blanks["weak"]}</p>' if is_weak(survey) else "",
            "about": f'<p class="about">{prose_for_html(survey.about)}</p>' if survey.about else "",
            "sample": f'<p class="fine">{blanks["sample"]}</p>' if survey.share == "sample" and len(survey.questions) > 1 else "",
            "cards": "\n".join(_cards(survey, texts)),
            "send_button": f'<button type="button" id="send" class="main">{blanks["send"]}</button>' if survey.send_to else "",
            "save_class": "" if survey.send_to else ' class="main"',
            "deliver": blanks["send_to"] if survey.send_to else blanks["deliver"],
            "style": style,
            "script": script,
            "data": for_script(page_data(survey, texts)),
        }
    )


def is_weak(survey: Survey) -> bool:
    """Whether some answer is sent so nearly as it is that people should hear of it first: epsilon above `WEAK` for one answer.

    There a yes is sent as a no less than once in twenty times, and to say that no reader can be sure would be too much.
    """
    return any(each.epsilon > WEAK for each in randomized(survey))


def policy(style: str, script: str, send_to: str) -> str:
    """The page's Content-Security-Policy: this style, this script, this address, and nothing else.

    >>> policy("", "", "https://a.example/in?x=1").split("; ")[3]
    'connect-src https://a.example/in'
    >>> policy("", "", "https://a.example/in;script-src *").split("; ")[3]
    'connect-src https://a.example/in%3Bscript-src%20%2A'
    """
    scheme, host, path, _, _ = urlsplit(send_to)
    host, path = quote(host, safe=":[]"), quote(path, safe="/%:@!$&()+=~")  # a semicolon would begin another rule
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            f"connect-src {urlunsplit((scheme, host, path, '', ''))}" if send_to else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def direction(language: str) -> str:
    """How texts of a language run; its script decides, where it is named.

    >>> direction("en"), direction("he"), direction("az-Arab"), direction("ks-Latn")
    ('ltr', 'rtl', 'rtl', 'ltr')
    """
    first, *others = language.split("-")
    script = next((part.title() for part in others if len(part) == 4), "")
    return "rtl" if script in TO_THE_LEFT or (not script and first in TO_THE_LEFT) else "ltr"


def page_data(survey: Survey, texts: dict[str, str]) -> dict[str, Any]:
    """The data of the script: the questions with their exact channels, and its texts."""
    form = form_of(survey)
    group = {"ask": survey.group.ask, "options": survey.group.values} if survey.group else None
    return {
        "id": survey.id,
        "form": form,
        "stream": stream_of(survey, form),
        "language": survey.language,
        "share": survey.share,
        "send_to": survey.send_to,
        "open_until": int(survey.open_until.timestamp() * 1000),
        "closes": survey.closes.isoformat(),
        "epsilon": float(survey.epsilon),
        "ratio": _ratio(survey),
        "group": group,
        "questions": [_question_data(each, texts) for each in randomized(survey)],
        "texts": texts,
    }


def _question_data(each: Randomized, texts: dict[str, str]) -> dict[str, Any]:
    question = each.question
    data: dict[str, Any] = {"id": question.id, "kind": question.kind, "ask": question.ask, "how": recipe(each.randomizer)}
    data["deny"] = int(1000 * exp_down(-each.epsilon)) / 10  # percent, the tenth below
    if isinstance(question, Number):
        limits = {"lower": question.lower, "upper": question.upper, "step": question.step}
        ends = each.randomizer.levels[0], each.randomizer.levels[-1]  # type: ignore[attr-defined]
        data |= {"unit": question.unit, "ends": [float(end) for end in ends]}
        return data | {name: float(value) for name, value in limits.items()}
    options = (texts["no"], texts["yes"]) if isinstance(question, YesNo) else question.options
    return data | {"options": options} | ({"at_most": question.at_most} if isinstance(question, SetOf) else {})


def _spoken_text(survey: Survey, texts: dict[str, str]) -> dict[str, str]:
    """The texts that have something of this survey filled in."""
    day, host = survey.closes.isoformat(), urlsplit(survey.send_to).netloc
    strength = {"ratio": f"{_ratio(survey):g}", "epsilon": as_text(survey.epsilon)}
    return {
        "closes": filled(texts["closes"], date=day),
        "strength": filled(texts["strength"], **strength),
        "sample": filled(texts["sample"], count=len(survey.questions)),
        "send_to": filled(texts["send_to"], host=host),
    }


def _ratio(survey: Survey) -> float:
    """e^epsilon, the tenth above."""
    return math.ceil(10 * exp_up(survey.epsilon)) / 10


def _cards(survey: Survey, texts: dict[str, str]) -> list[str]:
    cards = []
    if survey.group:
        badge = f'<p class="badge">{prose_for_html(texts["public"])}</p>'
        cards.append(_card("group", survey.group.ask, badge + _options("group", "radio", survey.group.values)))
    return cards + [_card(each.id, each.ask, _hint(each, texts) + _fields(each, texts)) for each in survey.questions]


def _card(id: str, ask: str, inside: str) -> str:
    id = for_html(id)
    error = f'<p class="error" id="{id}-error" hidden></p>'
    legend = f'<legend id="{id}-ask">{prose_for_html(ask)}</legend>'
    return f'<fieldset class="card" data-question="{id}">{legend}<div>{inside}</div>{error}</fieldset>'


def _hint(question: Question, texts: dict[str, str]) -> str:
    hint = question.hint or (filled(texts["up_to"], count=question.at_most) if isinstance(question, SetOf) else "")
    return f'<p class="hint">{prose_for_html(hint)}</p>' if hint else ""


def _fields(question: Question, texts: dict[str, str]) -> str:
    if isinstance(question, Number):
        return _number(question, texts)
    if isinstance(question, YesNo):
        return _options(question.id, "radio", (texts["no"], texts["yes"]), reverse=True)
    return _options(question.id, "radio" if isinstance(question, Choice) else "checkbox", question.options)


def _options(id: str, type: str, options: tuple[str, ...], reverse: bool = False) -> str:
    id = for_html(id)
    # A bare name such as "reset" would stand in the place of the form's own property of that name.
    labels = [
        f'<label class="option"><input type="{type}" name="question-{id}" value="{code}" autocomplete="off"'
        f' aria-describedby="{id}-error"><span>{prose_for_html(option)}</span></label>'
        for code, option in enumerate(options)
    ]
    short = " short" if max(map(len, options)) <= SHORT and len(options) <= 4 else ""
    return f'<div class="options{short}">{"".join(reversed(labels) if reverse else labels)}</div>'


def _number(question: Number, texts: dict[str, str]) -> str:
    id = for_html(question.id)
    lower, upper, step = (as_text(value) for value in (question.lower, question.upper, question.step))
    limits = filled(texts["between_unit" if question.unit else "between"], lower=lower, upper=upper, unit=question.unit)
    limits += f", {filled(texts['steps'], step=step)}" if question.step != 1 else ""
    return (
        f'<div class="number"><input type="number" inputmode="decimal" min="{lower}" max="{upper}" step="{step}" autocomplete="off"'
        f' aria-labelledby="{id}-ask" aria-describedby="{id}-limits {id}-error">'
        f'<span id="{id}-limits">{prose_for_html(limits)}</span></div>'
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _part(name: str) -> str:
    return files("tacit.publish.local.survey").joinpath("page", name).read_text("utf-8")
