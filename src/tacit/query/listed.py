"""A list of questions at one price: one plan whose parts are those of all questions, and which parts are whose.

The plan is priced, paid for and run as a question with several parts is: as one event. Then each question has an answer of its own.
The text and the catalog alone decide whether each can be a question of a list; one that cannot refuses the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any

from tacit.errors import InvalidInput, NotAllowed, Refused, TooMuchWork
from tacit.privacy.catalog import Catalog
from tacit.query.free import Facts, free_columns, may_select_from_answers
from tacit.query.intervals.bands import Noisy
from tacit.query.language.margins import MOST_SETS
from tacit.query.language.nodes import Given
from tacit.query.language.sql import Written, check_text, excerpt, in_question, pointing, read
from tacit.query.language.syntax import Select, Statement
from tacit.query.language.writer import written
from tacit.query.offers import Asker, Assumed, Seen, price_explained, requests_of
from tacit.query.passes import rewrite
from tacit.query.price.explain import explained
from tacit.query.price.explanation import Expected, Explanation
from tacit.query.price.price import price
from tacit.query.price.quote import LEAST_EPSILON, Quote, Request, request_of
from tacit.query.question import Beside, Question
from tacit.query.trees import fields_of

ONE_BY_ONE = "ask it by itself"
BETWEEN = "\n;\n"  # on a line of its own: a question may end with a comment


def read_list(questions: object, text: str, given: Given) -> Written:
    """The statement of a list; raises where one of several texts is not one question."""
    asked = read(text, given, several=True)
    if not isinstance(asked.statement, Select):
        raise NotAllowed("a list is of questions with a price", remedy="ask SELECT ... FROM a declared table")
    texts = 1 if isinstance(questions, str) or not isinstance(questions, Sequence) else len(questions)
    if 1 < texts != len(questions_of(asked.statement)):
        raise NotAllowed("each text of a list must be one question", remedy="give one text for each question, or one text for all")
    return asked


def checked(asked: Statement, catalog: Catalog, public: Callable[[], Facts]) -> Select:
    """The questions of a list; raises if one of them is free, has a budget of its own, or selects from answers."""
    assert isinstance(asked, Select)  # noqa: S101  # the caller has read a list
    for number, each in enumerate(questions_of(asked), 1):
        with in_question(number):
            if each.options:
                raise NotAllowed("a budget is written in it, and a list has one budget", remedy="give the budget beside the list")
            if each.limit == 0:
                raise NotAllowed("LIMIT 0 asks for no row", remedy="leave it out of the list")
            if free_columns(each, catalog, public) is not None:
                raise NotAllowed("it is free: it reads public tables or the catalog alone", remedy=ONE_BY_ONE)
            if may_select_from_answers(each) and _selects_from_answers(each, catalog, public()):
                raise NotAllowed("a SELECT from answers is not supported in a list", remedy=ONE_BY_ONE)
    return asked


def _selects_from_answers(select: Select, catalog: Catalog, public: Any) -> bool:
    from tacit.query.answers.levels import derivation_of

    return derivation_of(select, catalog, public) is not None


def questions_of(select: Select) -> tuple[Select, ...]:
    """The questions of a list, one by one."""
    return replace(select, also=()), *select.also


def joined(questions: Sequence[Question]) -> Question:
    """The plan of a list: all parts of the first question, then those of the others; sub-queries of all stand beside all."""
    ends = list(accumulate((len(each.beside) for each in questions), initial=0))
    beside = tuple(part for each in questions for part in each.beside)
    shown = [
        replace(_moved(part, first) if first else part, beside=beside, below=(), questions=len(questions))
        for each, first in zip(questions, ends, strict=False)
        for part in each.shown
    ]
    if len(shown) + len(beside) > MOST_SETS:
        raise TooMuchWork(
            f"the list has {len(shown) + len(beside)} parts: the limit is {MOST_SETS}", remedy="ask a shorter list, or several"
        )
    first, *others = shown
    return replace(first, below=tuple(others), listed=tuple(len(each.shown) for each in questions))


def _moved(node: Any, by: int) -> Any:
    """A part whose sub-queries stand `by` places further on."""
    if isinstance(node, Beside):
        return Beside(node.index + by)
    if isinstance(node, tuple):
        return tuple(_moved(each, by) for each in node)
    names = ("outputs", "having", "order", "qualify") if isinstance(node, Question) else fields_of(node) or ()
    moved = {name: _moved(getattr(node, name), by) for name in names}
    return replace(node, **moved) if moved else node


def members(quote: Quote) -> list[Quote]:
    """The quote of a list as one for each question, to make its answer of: its price is that of the whole list."""
    shown = (quote, *quote.below)
    return [_member(shown[start], shown[start + 1 : end]) for start, end in quote.question.spans]


def _member(first: Quote, below: tuple[Quote, ...]) -> Quote:
    question = replace(first.question, below=tuple(part.question for part in below), listed=())
    return replace(first, question=question, below=below)


def members_of(noisy: Noisy, question: Question) -> list[Noisy]:
    """The released numbers of a list, one for each question."""
    shown = (noisy, *noisy.below)
    return [replace(shown[start], below=shown[start + 1 : end]) for start, end in question.spans]


# --- from the texts of a list to its statement -------------------------------------------------------------------------------


def checked_list(
    questions: str | Sequence[str], text: str, parameters: Given, catalog: Catalog, public: Callable[[], Facts]
) -> tuple[Select, str]:
    """A list of questions that was read and checked, and its text."""
    asked = read_list(questions, text, parameters)
    select = checked(asked.statement, catalog, public)
    return select, check_text(written(select) if asked.filled else text)


@contextmanager
def text_of_list(questions: object) -> Iterator[str]:
    """One text of a list that is a text already, or several; inside, a refusal says in which question, and where in it."""
    if isinstance(questions, str):
        with pointing(questions):
            yield questions
        return
    if not isinstance(questions, Sequence) or isinstance(questions, bytes) or not questions:
        raise InvalidInput("a list of questions must be SQL, or a list of texts; give for example ['SELECT COUNT(*) FROM visits']")
    texts = [_checked_text(number, each) for number, each in enumerate(questions, 1)]
    try:
        yield BETWEEN.join(texts)
    except Refused as refusal:
        told = _in_its_question(refusal, texts)
    else:
        return
    raise told


def _checked_text(number: int, text: object) -> str:
    with in_question(number):
        return check_text(text)  # type: ignore[arg-type]  # it refuses what is not a text


def _in_its_question(refusal: Refused, texts: Sequence[str]) -> Refused:
    """The same refusal with a place in the text of the question that it is about."""
    if refusal.at is None:
        return refusal
    line, column = refusal.at
    number, text = 1, texts[0]
    for number, text in enumerate(texts, 1):  # noqa: B007  # the one at which it stops
        lines = text.count("\n") + 1
        if line <= lines:
            break
        line -= lines + BETWEEN.count("\n") - 1
    said = refusal.message if refusal.message.startswith("question ") else f"question {number}: {refusal.message}"
    told = type(refusal)(said, remedy=refusal.remedy, at=(max(1, line), column))
    told.add_note(excerpt(text, max(1, line), column))
    return told


def request_of_list(budget: Mapping[str, Any]) -> Request:
    """The budget of a list, which all of its questions share."""
    _refuse_weights(budget)
    return request_of((), budget)


def _refuse_weights(budget: Mapping[str, Any]) -> None:
    if budget.get("weights"):
        raise NotAllowed("weights are those of the columns of one question", remedy="leave out weights")


# --- explained ---------------------------------------------------------------------------------------------------------------


def explained_texts(
    questions: object, given: Given, budget: Mapping[str, Any], asker: Asker, seen: Callable[[], Seen]
) -> Explanation:
    """`explained_list` of questions as they are written."""
    with text_of_list(questions) as text:
        return explained_list(read_list(questions, text, given).statement, budget, asker, seen)


def explained_list(asked: Statement, budget: Mapping[str, Any], asker: Asker, seen: Callable[[], Seen]) -> Explanation:
    """The price of a list and the errors of all its answers, for epsilon 1 by default; spends nothing."""
    select, assumed = checked(asked, asker.catalog, asker.public), Assumed.of(budget)
    plain = {name: value for name, value in budget.items() if name not in Assumed.__slots__}
    _refuse_weights(plain)
    requests = requests_of(select, plain, assumed)
    whole = price_explained(select, requests, asker, seen, assumed)
    return replace(whole, errors=tuple(map(_beside, whole.errors, _one_by_one(select, requests[0], asker, whole.errors))))


def _one_by_one(select: Select, asked: Request, asker: Asker, errors: Sequence[Expected]) -> list[str | None]:
    """The half widths that all numbers would have if every question was asked by itself for an equal part of the price."""
    questions, found = questions_of(select), list[str | None]()
    if asked.epsilon is None or asked.epsilon / len(questions) < LEAST_EPSILON or len(questions) < 2:
        return [None] * len(errors)
    part = replace(asked, epsilon=asked.epsilon / len(questions), delta=asked.delta / len(questions))
    with suppress(Refused):  # of a question that can only be asked with others
        for each in questions:
            plan = rewrite(each, asker.catalog, asker.public())
            best = price(plan, part, asker.catalog.change, False, asker.catalog.cores)[0]
            found += [error.half_width for error in explained(best).errors]
    return found if len(found) == len(errors) else [None] * len(errors)


def _beside(error: Expected, alone: str | None) -> Expected:
    return error if alone is None else replace(error, error=f"{error.error} (asked one by one: ± {float(alone):.6g})")
