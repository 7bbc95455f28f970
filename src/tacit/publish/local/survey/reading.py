"""survey.toml: from text to a `Survey`, or everything that is wrong with it, each with its key, its line and the remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.data.catalog import read_toml
from tacit.data.declaration import BROKEN, Reading, Wrong, key_lines, nearest, shaped
from tacit.errors import InvalidCatalog, SurveyUnusable
from tacit.privacy.rounding import exact
from tacit.publish.local.survey.declaration import Choice, Group, Number, Question, SetOf, Survey, YesNo
from tacit.publish.local.survey.texts import LANGUAGES, PROMISES, page_texts

Declared = Mapping[str, Any]

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MOST_QUESTIONS = 50
MOST_OPTIONS = 100
MOST_POINTS = 10_001
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


@cache
def schema() -> Declared:
    """The JSON Schema of survey.toml, which editors can check with."""
    loaded: Declared = json.loads(files("tacit.publish.local.survey").joinpath("survey.schema.json").read_text("utf-8"))
    return loaded


def read_survey(path: str | Path) -> Survey:
    """The survey that a file declares."""
    file = Path(path)
    try:
        return parse_survey(file.read_text("utf-8-sig"), file.name)
    except FileNotFoundError:
        raise SurveyUnusable(f"survey declaration not found: {path}; draft one: tacit survey init") from None
    except OSError as error:
        raise SurveyUnusable(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SurveyUnusable(f"{path} is not UTF-8 text; save it as UTF-8") from None


def parse_survey(text: str, name: str = "survey.toml") -> Survey:
    r"""The survey that a text declares; raises `SurveyUnusable` with all problems, and nothing else.

    >>> text = 'id="bikes"\ntitle="Bicycles"\ncloses=2030-01-31\nepsilon=1\n[questions.cycles]\nask="Do you?"\nkind="yes/no"'
    >>> parse_survey(text).questions
    (YesNo(id='cycles', ask='Do you?', hint='', kind='yes/no'),)
    """
    try:
        return _read(text, name)
    except InvalidCatalog as unusable:
        raise SurveyUnusable(unusable.message, unusable.problems) from None
    except RecursionError:
        raise SurveyUnusable(f"{name} is nested too deeply for a survey") from None


def _read(text: str, name: str) -> Survey:
    reading = Reading(key_lines(text))
    document = read_toml(text, name)
    _check_seen(document, (), reading)
    declared = shaped(document, reading.report, schema())
    questions = _questions({} if declared["questions"] is BROKEN else declared["questions"], reading)
    parts: Any = {
        "closes": reading.attempt(("closes",), lambda: _day(declared["closes"])),
        "group": reading.attempt(("group",), lambda: _group(declared.get("group"))),
        "texts": reading.attempt(("texts",), lambda: _texts(declared)),
    }
    if reading.problems:
        raise reading.unusable(name)
    parts |= {key: declared[key] for key in ("id", "title", "share", "language", "about", "send_to") if key in declared}
    return Survey(epsilon=exact(declared["epsilon"]), questions=questions, **parts)


def _check_seen(value: Any, path: tuple[str, ...], reading: Reading) -> None:
    """Refuses texts that look like others: control characters, letters without width, and marks that turn the direction."""
    texts = value if isinstance(value, list) else [value]
    if any(isinstance(text, str) and UNSEEN.search(text) for text in texts):
        reading.report(path, "contains an invisible character", "remove control characters and direction marks")
    for key, each in value.items() if isinstance(value, Mapping) else ():
        _check_seen(each, (*path, key), reading)


def _questions(declared: Declared, reading: Reading) -> tuple[Question, ...]:
    if len(declared) > MOST_QUESTIONS:
        reading.report(("questions",), f"has {len(declared)} questions", f"ask at most {MOST_QUESTIONS}")
    questions = [reading.attempt(("questions", id), partial(_question, id, one)) for id, one in declared.items()]
    return tuple(question for question in questions if question is not BROKEN and question is not None)


def _question(id: str, declared: Any) -> Question | None:
    """The question, or None where its shape was reported already."""
    if declared is BROKEN or BROKEN in declared.values():
        return None
    if not NAME.fullmatch(id) or id == "group":
        raise Wrong(
            "",
            "is not a valid question name",
            "a name must consist of lower-case letters, digits, - and _, begin with a letter, and differ from group",
        )
    needed, allowed, read = KINDS[declared["kind"]]
    for key in sorted(needed - declared.keys()):
        raise Wrong(key, "is missing", f"a question of kind {declared['kind']!r} needs it")
    for key in sorted(declared.keys() - needed - allowed - {"ask", "kind", "hint"}):
        raise Wrong(key, f"is not supported for kind {declared['kind']!r}", "remove it")
    return read(id, declared)


def _yes_no(id: str, declared: Declared) -> YesNo:
    return YesNo(id, declared["ask"], declared.get("hint", ""))


def _choice(id: str, declared: Declared) -> Choice:
    method = _method(declared, ("k-ary", "unary"))
    return Choice(id, declared["ask"], _distinct("options", declared["options"]), method, declared.get("hint", ""))


def _number(id: str, declared: Declared) -> Number:
    lower, upper = map(exact, declared["bounds"])
    if lower >= upper:
        raise Wrong("bounds", "must have the smaller number first", "write them as [minimum, maximum]")
    if "step" not in declared and (lower.denominator, upper.denominator) != (1, 1):
        raise Wrong("step", "is missing", "bounds that are not whole numbers require a step, for example step = 0.5")
    step = exact(declared.get("step", 1))
    if (upper - lower) % step:
        raise Wrong("step", "does not divide the distance between the bounds", "choose a step that divides it")
    if (upper - lower) / step >= MOST_POINTS:
        raise Wrong("step", f"gives more than {MOST_POINTS:,} answers", "choose a larger step; the noise hides small steps anyway")
    method = _method(declared, ("one-bit", "piecewise", "laplace"))
    return Number(id, declared["ask"], lower, upper, step, declared.get("unit", ""), method, declared.get("hint", ""))


def _set(id: str, declared: Declared) -> SetOf:
    options = _distinct("options", declared["options"])
    if declared["at_most"] > len(options):
        raise Wrong("at_most", f"is {declared['at_most']}, but there are only {len(options)} options", "choose a smaller number")
    return SetOf(id, declared["ask"], options, declared["at_most"], declared.get("hint", ""))


KINDS: Mapping[str, tuple[set[str], set[str], Callable[[str, Declared], Question]]] = {
    "yes/no": (set(), set(), _yes_no),
    "choice": ({"options"}, {"method"}, _choice),
    "number": ({"bounds"}, {"step", "unit", "method"}, _number),
    "set": ({"options", "at_most"}, set(), _set),
}


def _method(declared: Declared, methods: tuple[str, ...]) -> str:
    method: str = declared.get("method", "")
    if method and method not in methods:
        raise Wrong("method", f"is {method!r}", f"for kind {declared['kind']!r} it must be one of {', '.join(methods)}, or omitted")
    return method


def _distinct(key: str, values: list[str]) -> tuple[str, ...]:
    if not all(value.strip() for value in values):
        raise Wrong(key, "contains an empty text", "give each entry a text")
    if len({value.strip() for value in values}) < len(values):
        raise Wrong(key, "contains a duplicate", "list each entry once")
    if len(values) > MOST_OPTIONS:
        raise Wrong(key, f"has {len(values)} members", f"the page supports at most {MOST_OPTIONS}")
    return tuple(values)


def _group(declared: Any) -> Group | None:
    if declared is None or declared is BROKEN or BROKEN in declared.values():
        return None
    return Group(declared["ask"], _distinct("values", declared["values"]))


def _day(text: Any) -> date | None:
    if text is BROKEN:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise Wrong("", f"is {text!r}, which is not a valid date", "write it as YYYY-MM-DD, for example 2027-06-30") from None
    if not 2000 <= day.year <= 9000:
        raise Wrong("", f"is {text!r}", "choose a realistic year")
    return day


def _texts(declared: Declared) -> dict[str, str]:
    """The texts in other words; another language than those that tacit knows needs all of them."""
    given, language = declared.get("texts", {}), declared.get("language", "en")
    if given is BROKEN or language is BROKEN:
        return {}
    texts = page_texts("en")
    for key in sorted(given.keys() - texts.keys()):
        raise Wrong(key, "is not a text of the page", nearest(key, texts))
    _check_whole(given, language, texts)
    for key, text in given.items():
        wanted = set(re.findall(r"\{\w+\}", texts[key]))
        if set(re.findall(r"\{\w+\}", text)) != wanted:
            raise Wrong(key, "has other placeholders than the original", f"keep {', '.join(sorted(wanted)) or 'it without braces'}")
    return dict(given)


def _check_whole(given: Declared, language: str, texts: Declared) -> None:
    """In a language that tacit has, people read in tacit's words what is protected and what is not; another needs all texts."""
    if language.split("-")[0] in LANGUAGES:
        for key in sorted(PROMISES & given.keys()):
            raise Wrong(
                key,
                "states what is protected and what is not, and cannot be changed",
                "remove it, and add your own words to `about`",
            )
        return
    missing = sorted(texts.keys() - given.keys())
    if missing:
        what = (
            f"for language {language!r} must have all {len(texts)} texts of the page, and lack {len(missing)}, such as {missing[0]}"
        )
        raise Wrong("", what, f"add them, or use a built-in language: {', '.join(LANGUAGES)}")


__all__ = ["parse_survey", "read_survey", "schema"]
