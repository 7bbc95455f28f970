"""Which randomizer each question gets, and why; how the page learns of it; how its reports are written in JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from tacit.errors import InvalidValue
from tacit.privacy.rounding import as_text
from tacit.publish.local.estimates.choose import Candidate
from tacit.publish.local.estimates.choose import Choice as Compared
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.numeric import FoldedLaplace, OneBit, Piecewise, by_variance
from tacit.publish.local.randomizers.randomizer import Randomizer
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.unary import Unary, pack, unpack
from tacit.publish.local.survey.declaration import Choice, Number, Question, SetOf, Survey, YesNo, fingerprint

ASKED = "set by the declaration"
METHODS = {
    OneBit: "one-bit",
    Piecewise: "piecewise",
    FoldedLaplace: "laplace",
    KAry: "k-ary",
    Binary: "k-ary",
    Unary: "unary",
    Sets: "set",
}


@dataclass(frozen=True, slots=True)
class Randomized:
    """A question, its part of epsilon, what randomizes its answers, and why that."""

    question: Question
    epsilon: Fraction
    randomizer: Randomizer
    why: str


def randomized(survey: Survey) -> tuple[Randomized, ...]:
    """Every question with its randomizer: a part of epsilon for each question ("split"), or all of it for the one that a
    person is asked ("sample").
    """
    parts = len(survey.questions) if survey.share == "split" else 1
    return tuple(_randomize(question, survey.epsilon / parts) for question in survey.questions)


def _randomize(question: Question, epsilon: Fraction) -> Randomized:
    return Randomized(question, epsilon, *randomizer_of(question, epsilon))


@singledispatch
def randomizer_of(question: Question, epsilon: Fraction) -> tuple[Randomizer, str]:
    """The randomizer of the answers to a question, and the reason for it."""
    raise TypeError(f"{type(question).__name__} is not a question type")


@randomizer_of.register
def _(question: YesNo, epsilon: Fraction) -> tuple[Randomizer, str]:
    return Binary(epsilon), "yes or no: no other randomizer has a smaller error"


@randomizer_of.register
def _(question: Choice, epsilon: Fraction) -> tuple[Randomizer, str]:
    names = [name for name in ("k-ary", "unary, optimized", "unary, symmetric") if name.startswith(question.method)]
    candidates = sorted((Candidate.of(name, len(question.options), epsilon) for name in names), key=lambda each: each.worst)
    return candidates[0].oracle, ASKED if question.method else Compared(tuple(candidates), "worst").reason


@randomizer_of.register
def _(question: SetOf, epsilon: Fraction) -> tuple[Randomizer, str]:
    made = Sets(len(question.options), question.at_most, epsilon)
    inner = "k-ary" if isinstance(made.inner, KAry) else "unary"
    return made, f"one of {question.at_most} places is drawn and randomized ({inner}, which has the smaller error here)"


@randomizer_of.register
def _(question: Number, epsilon: Fraction) -> tuple[Randomizer, str]:
    ranked: dict[str, Any] = {
        METHODS[type(each)]: each for each in by_variance(question.lower, question.upper, epsilon, question.points)
    }
    if question.method:
        return ranked[question.method], ASKED
    best, *others = ranked
    factors = [math.sqrt(ranked[other].worst_variance / ranked[best].worst_variance) for other in others]
    worse = " and ".join(f"{factor:.2f} times as large with {other}" for factor, other in zip(factors, others, strict=True))
    return ranked[best], f"at epsilon {as_text(epsilon)} the largest error would be {worse}"


# --- how the page is told ---


@singledispatch
def recipe(randomizer: Randomizer) -> dict[str, Any]:
    """The data with which the page's script randomizes in the same way, with exact probabilities.

    >>> recipe(Binary.with_flip("1/4"))
    {'method': 'k-ary', 'size': 2, 'hit': '3/4', 'false_hit': '1/4'}
    """
    raise TypeError(f"the page has no {type(randomizer).__name__}")


@recipe.register
def _(randomizer: Binary) -> dict[str, Any]:
    return recipe(randomizer.pair)


@recipe.register
def _(randomizer: KAry) -> dict[str, Any]:
    return {"method": "k-ary", "size": randomizer.size, "hit": str(randomizer.hit), "false_hit": str(randomizer.false_hit)}


@recipe.register
def _(randomizer: Unary) -> dict[str, Any]:
    return {"method": "unary", "size": randomizer.size, "hit": str(randomizer.hit), "false_hit": str(randomizer.false_hit)}


@recipe.register
def _(randomizer: Sets) -> dict[str, Any]:
    return {"method": "set", "size": randomizer.size, "most": randomizer.most, "inner": recipe(randomizer.inner)}


@recipe.register
def _(randomizer: OneBit) -> dict[str, Any]:
    return {"method": "one-bit", "points": randomizer.points, "ratio": str(randomizer.ratio)}


@recipe.register
def _(randomizer: Piecewise) -> dict[str, Any]:
    return {"method": "piecewise", "outputs": randomizer.outputs, "window": randomizer.window, "near": str(randomizer.near)}


@recipe.register
def _(randomizer: FoldedLaplace) -> dict[str, Any]:
    return {"method": "laplace", "points": randomizer.points, "decay": str(randomizer.decay)}


def form_of(survey: Survey) -> str:
    """The fingerprint of what is asked and how it is randomized; a report of another form is not taken."""
    return fingerprint(survey.to_json(), [recipe(each.randomizer) for each in randomized(survey)])


def stream_of(survey: Survey, form: str) -> str:
    """The name under which permanent answers are derived. It holds the form's fingerprint: the same coins for two channels could
    tell more than both epsilons together.
    """
    return f"{survey.id} {form}"


# --- how reports are written ---


@singledispatch
def to_json(randomizer: Randomizer, report: Any) -> Any:
    """A report as JSON has it: a whole number, or a text of zeros and ones.

    >>> to_json(Unary(5, 1), pack([1, 0, 0, 1, 1])), to_json(KAry(5, 1), 3)
    ('10011', 3)
    """
    return int(report)


@to_json.register
def _(randomizer: Unary, report: Any) -> Any:
    return "".join(map(str, unpack(np.asarray(report, dtype=np.uint8), randomizer.size)))


@to_json.register
def _(randomizer: Sets, report: Any) -> Any:
    return to_json(randomizer.inner, report)


@singledispatch
def from_json(randomizer: Randomizer, written: Any) -> Any:
    """The report that was written, or `InvalidValue` if the randomizer makes no such report.

    >>> from_json(KAry(5, 1), 3), from_json(Unary(5, 1), "10011")
    (3, array([152], dtype=uint8))
    """
    raise TypeError(f"{type(randomizer).__name__} has no reports in JSON")


@from_json.register(KAry | Binary)
def _(randomizer: KAry | Binary, written: Any) -> Any:
    return whole_below(written, randomizer.size)


@from_json.register
def _(randomizer: OneBit, written: Any) -> Any:
    return whole_below(written, 2)


@from_json.register
def _(randomizer: Piecewise, written: Any) -> Any:
    return whole_below(written, randomizer.outputs)


@from_json.register
def _(randomizer: FoldedLaplace, written: Any) -> Any:
    return whole_below(written, randomizer.points)


@from_json.register
def _(randomizer: Unary, written: Any) -> Any:
    if not isinstance(written, str) or len(written) != randomizer.size or written.strip("01"):
        raise InvalidValue(f"it is not a text of {randomizer.size} zeros and ones")
    return pack([character == "1" for character in written])


@from_json.register
def _(randomizer: Sets, written: Any) -> Any:
    return from_json(randomizer.inner, written)


def whole_below(written: Any, bound: int) -> int:
    """A whole number from 0 on, below `bound`."""
    if isinstance(written, bool) or not isinstance(written, int) or not 0 <= written < bound:
        raise InvalidValue(f"it is not a whole number from 0 to {bound - 1}")
    return written
