"""The cost of a SELECT from answers, and its errors as far as they are known in advance: from its questions, spending nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.query.answers.plan import Derivation, Field
from tacit.query.language.syntax import Select
from tacit.query.price.explanation import AtBudget, Expected, Explanation
from tacit.query.price.quote import Request

NOT_KNOWN = "not known in advance; it is reported with the answer"
OPEN = "not known: released numbers decide what it is made of"
TEXT = "text made from noisy numbers, or a chosen value; it has no interval"


def explained_derivation(
    derivation: Derivation, requests: Sequence[Request], explain: Callable[[Select, Request], Explanation]
) -> Explanation:
    """The explanation of all questions of a statement, each within its share of the first request; the prices at all of them."""
    explanations = [_at(derivation, asked, explain) for asked in requests]
    if len(requests) == 1:
        return explanations[0]
    return replace(explanations[0], budgets=tuple(AtBudget(each.epsilon, each.delta, each.errors) for each in explanations))


def _at(derivation: Derivation, asked: Request, explain: Callable[[Select, Request], Explanation]) -> Explanation:
    number = len(derivation.questions)
    parts = [explain(select, asked) for select in derivation.questions]
    words = [f"question {at}" for at in range(1, number + 1)]
    head = "made of 1 answer, which is released and paid for" if number == 1 else (
        f"made of {number} answers, each released with 1/{number} of the budget; all of them are admitted, or none")  # fmt: skip
    tree = [head]
    for word, part in zip(words, parts, strict=True):
        tree += [f"  {word}", *(f"    {line}" for line in part.tree), *([f"    groups: {part.groups}"] if number > 1 else [])]
    noise = tuple(
        replace(each, what=f"{each.what} ({word})") if number > 1 else each
        for word, part in zip(words, parts, strict=True)
        for each in part.noise
    )
    return Explanation(
        tree=tuple(tree),
        groups=parts[0].groups if number == 1 else f"those of {number} questions; one unit can be in all of them",
        noise=noise,
        errors=tuple(_expected(each, derivation, parts, asked) for each in derivation.level.fields if not each.exact),
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=sum((part.delta for part in parts), Fraction(0)),
        confidence=asked.confidence,
        left=parts[0].left,
        takes=tuple(dict.fromkeys(line for part in parts for line in part.takes)),
        columns=derivation.header,
        charged=tuple(each for part in parts for each in part.charged),
        rung=sum(part.rung or 0 for part in parts),
    )


def _expected(each: Field, derivation: Derivation, parts: Sequence[Explanation], asked: Request) -> Expected:
    """The error of a column: that of the question, where it shows one of its columns and noisy numbers choose no rows."""
    if each.alone:
        return Expected(each.name, TEXT)
    if each.unknown:
        return Expected(each.name, OPEN)
    if each.shows is not None and not derivation.level.chosen and not asked.simultaneous:
        question, output = each.shows
        name = derivation.plans[question].outputs[output].name
        found = next((error for error in parts[question].errors if error.column == name), None)
        if found is not None:
            return replace(found, column=each.name)
    return Expected(each.name, NOT_KNOWN)
