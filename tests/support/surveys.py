"""Surveys that the tests of this folder ask."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tacit.publish.local.survey.declaration import Survey
from tacit.publish.local.survey.reading import parse_survey

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.toml"

# Every randomizer that the page has: two of choices, three of numbers, two inside sets.
EVERY_METHOD = """
id = "every-method"
title = "Every method"
closes = 2090-01-31
epsilon = 8

[questions.yes]
ask = "Yes or no?"
kind = "yes/no"

[questions.few]
ask = "One of four?"
kind = "choice"
options = ["north", "east", "south", "west"]
method = "k-ary"

[questions.many]
ask = "One of nine?"
kind = "choice"
options = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
method = "unary"

[questions.bit]
ask = "A number told in a bit?"
kind = "number"
bounds = [0, 10]
method = "one-bit"

[questions.near]
ask = "A number told by a point near it?"
kind = "number"
bounds = [-1, 2]
step = 0.25
method = "piecewise"

[questions.noisy]
ask = "A number with noise?"
kind = "number"
bounds = [0, 30]
step = 5
unit = "minutes"
method = "laplace"

[questions.some]
ask = "Up to two of four?"
kind = "set"
options = ["w", "x", "y", "z"]
at_most = 2

[questions.wide]
ask = "One of thirty?"
kind = "set"
options = [OPTIONS]
at_most = 1
""".replace("OPTIONS", ", ".join(f'"item {number}"' for number in range(30)))


TWO = parse_survey('id = "two"\ntitle = "T"\ncloses = 2090-01-01\nepsilon = 1\n[questions.yes]\nask = "Yes?"\nkind = "yes/no"')
ANSWERS = {"yes": 1, "few": 2, "many": 8, "bit": 3.0, "near": -0.5, "noisy": 15.0, "some": [3, 1], "wide": []}


def every_method(**changes: str) -> Survey:
    """The survey of all methods, with keys of its first lines changed (in TOML)."""
    text = EVERY_METHOD
    for key, value in changes.items():
        line = f"{key} = {value}"
        text, found = re.subn(rf"^{key} = .*$", line, text, count=1, flags=re.MULTILINE)
        text = text if found else f"{line}\n{text}"
    return parse_survey(text)


def answers_to(survey: Survey) -> st.SearchStrategy[dict[str, Any]]:
    """True answers: codes, sets of codes, and numbers on the grid."""
    return st.fixed_dictionaries({question.id: _answer(question) for question in survey.questions})


def _answer(question: Any) -> st.SearchStrategy[Any]:
    match question.kind:
        case "yes/no":
            return st.integers(0, 1)
        case "choice":
            return st.integers(0, len(question.options) - 1)
        case "set":
            return st.lists(st.integers(0, len(question.options) - 1), max_size=question.at_most, unique=True)
        case _:
            return st.integers(0, question.points - 1).map(lambda code: float(question.lower + code * question.step))


secrets = st.binary(min_size=32, max_size=32)
