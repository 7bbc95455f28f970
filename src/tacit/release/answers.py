"""The answers to a list of questions: a table for each, one price and one entry for all; and their text in the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.errors import InvalidInput
from tacit.query.language.writer import written
from tacit.query.listed import members, members_of, questions_of
from tacit.query.offers import asked_by_place
from tacit.release.answer import Answer, Labels, Receipt, record_for_all, recorded, with_names
from tacit.release.once import Form
from tacit.release.tabulate import answer, labels_of
from tacit.untrusted import for_json, for_terminal

if TYPE_CHECKING:
    from tacit.query.intervals.bands import Noisy
    from tacit.query.language.syntax import Select
    from tacit.query.price.quote import Quote
    from tacit.query.question import Question
    from tacit.release.certificates.certificate import Certificate

AGREE = "questions of the list share measurements: their numbers agree, and their errors are not independent"
WITH_OTHERS = "asked in a list of {number} questions: the price is that of all of them"


@dataclass(frozen=True, slots=True, repr=False)
class Answers(Sequence[Answer]):
    """One answer for each question of a list, in its order. The receipt is that of the whole list, in every answer too.

    `requested` and `certified` are as those of an answer.
    """

    answers: tuple[Answer, ...]
    receipt: Receipt
    certified: Callable[[int], Certificate] | None = field(default=None, repr=False, compare=False)
    requested: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, at: Any) -> Any:
        return self.answers[at]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    @property
    def confidence(self) -> Fraction:
        """The confidence of all intervals."""
        return self.answers[0].confidence

    @property
    def simultaneous(self) -> bool:
        """Whether all intervals of all answers hold together."""
        return self.answers[0].simultaneous

    @property
    def certificate(self) -> Certificate:
        """Why the price of the list is right, signed: for whoever checks it without the data."""
        if self.certified is None or self.receipt.entry is None:
            raise InvalidInput("these answers have no certificate: nothing was spent for them, or they are a copy")
        return self.certified(self.receipt.entry)

    def with_receipt(self, receipt: Receipt, certified: Callable[[int], Certificate] | None = None) -> Answers:
        """The same answers for the analyst who asks, each with the receipt of the list."""
        answers = tuple(replace(each, receipt=receipt) for each in self.answers)
        return replace(self, answers=answers, receipt=receipt, certified=certified, requested=None)

    def tidy(self) -> Answers:
        """The same answers, each tidied by itself; it costs nothing."""
        return replace(self, answers=tuple(each.tidy() for each in self.answers))

    def labelled(self) -> Answers:
        """The same answers with declared labels in place of values, as people read them."""
        return replace(self, answers=tuple(each.labelled() for each in self.answers))

    def to_dict(self) -> dict[str, Any]:
        """The answers as plain values: what they have in common stands once."""
        own = ("columns", "rows", "notes", "tidied")
        plain = (replace(each, receipt=replace(each.receipt, again=False)).to_dict() for each in self.answers)
        listed = [{name: told for name, told in each.items() if name in own} for each in plain]
        whole = replace(self.answers[0], columns=(), notes=(), limits=(), receipt=self.receipt, tidied=False).to_dict()
        return {"answers": listed, **{name: told for name, told in whole.items() if name not in ("columns", "rows")}}

    def to_json(self) -> str:
        """The answers as JSON, with every value exact."""
        return for_json(self.to_dict())

    def __str__(self) -> str:
        """Every table under its question, then what was spent for all."""
        tables = [
            f"{number}. {for_terminal(' '.join(each.asked.split()))}\n{_table_of(each)}"
            for number, each in enumerate(self.answers, 1)
        ]
        whole = replace(self.answers[0], receipt=self.receipt).footer()
        notes = dict.fromkeys(note for each in self.answers for note in (*each.limits, *each.notes))
        return "\n\n".join([*tables, "\n".join([f"{len(self.answers)} questions. {whole}", *map(for_terminal, notes)])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(each._repr_html_() for each in self.answers)


def _table_of(answer: Answer) -> str:
    """The rows of an answer as they are printed, without what stands below them."""
    return str(answer).rpartition("\n\n")[0] if answer.columns else ""


# --- as the ledger keeps them ------------------------------------------------------------------------------------------------


def record_answers(made: Answers, one: Callable[[Answer], str] = record_for_all) -> str:
    """The answers as one text; in the ledger, without the names that the first analyst gave their columns."""
    kept = {
        "amounts": [str(made.receipt.epsilon), str(made.receipt.delta)],
        "confidence": str(made.confidence),
        "simultaneous": made.simultaneous,
        **({} if made.requested is None else {"asked": made.requested}),
    }
    listed = ", ".join(one(replace(each, requested=None)) for each in made.answers)
    return f'{{"answers": [{listed}], {for_json(kept)[1:]}'


def is_list(text: str) -> bool:
    """Whether a kept text is that of a list."""
    return text.startswith('{"answers": [')


def recorded_answers(text: str) -> Answers:
    """The answers that `record_answers` wrote."""
    kept = json.loads(text)
    answers = tuple(recorded(json.dumps(each)) for each in kept["answers"])
    epsilon, delta = map(Fraction, kept["amounts"])
    return Answers(answers, Receipt(epsilon, delta))


KEPT_LIST = Form(record_answers, recorded_answers)


# --- made, and named ---------------------------------------------------------------------------------------------------------


def answers_of(released: tuple[Quote, Noisy, Receipt, Sequence[str]]) -> Answers:
    """The answers to a list from its released numbers."""
    quote, noisy, receipt, notes = released
    pairs = list(zip(members(quote), members_of(noisy, quote.question), strict=True))
    told = [*notes, *([WITH_OTHERS.format(number=len(pairs))] if len(pairs) > 1 else []), *([AGREE] if quote.workloads else [])]
    made = tuple(answer(one, numbers, receipt, told) for one, numbers in pairs)
    return Answers(made, receipt, requested=asked_by_place(quote))


def names_of(question: Question, select: Select) -> list[tuple[list[str], list[Labels], str]]:
    """The names and labels of the columns of each question of a list, and its text."""
    shown = question.shown
    firsts = [replace(shown[start], below=shown[start + 1 : end]) for start, end in question.spans]
    return [
        ([output.name for output in each.outputs], labels_of(each), written(asked))
        for each, asked in zip(firsts, questions_of(select), strict=True)
    ]


def named_answers(made: Answers, named: Sequence[tuple[Sequence[str], Sequence[Labels], str]]) -> Answers:
    """The same answers with the names of another list of the same plan."""
    pairs = zip(made.answers, named, strict=True)
    return replace(
        made, answers=tuple(replace(with_names(each, names, labels), asked=text) for each, (names, labels, text) in pairs)
    )
