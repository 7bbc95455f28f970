"""Decisions of a curator on dear questions of analysts: entries of the chain, each good for one statement.

    a question above the limit of its analyst    raises `NeedsApproval`, and spends nothing, unless a decision admits it
    the curator approves, reduces or refuses     an entry `decision`; the caps are asked when it is approved
    the analyst asks again                       the entry of the spend names the decision, which is used up by that

A decision names the analyst, a digest of the question whatever its budget, the most that it may cost, and until when it holds.
An answer that was paid for before costs nothing and needs none. A question needs one even if another analyst has its answer. The
questions that need one are policy, like the caps of analysts: the promise to people in the data does not rest on it (ledger.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from tacit.accounting.ledger.by_period import most_questions
from tacit.accounting.ledger.caps import Admission, Stated, at_least, at_most, require_to_go_on
from tacit.accounting.ledger.entries import APPROVAL, APPROVED, NEW_ACCOUNT, Entry, entry_from, hash_of
from tacit.accounting.ledger.pages import Page, entry_after, now
from tacit.accounting.ledger.selling import Sale, admit, approval_of
from tacit.errors import NeedsApproval
from tacit.privacy.rounding import decimal_text, exact_from

KIND = "decision"
APPROVE, REDUCE, REFUSE = WORDS = ("approved", "reduced", "refused")
FIELDS = ("decision", "for", "subject", "epsilon", "delta", "until", "reason")


@dataclass(frozen=True, slots=True)
class Decision:
    """The word of a curator on a question of an analyst; `stated` has the most that it may cost, or what was refused."""

    by: str
    analyst: str
    question: str
    word: str
    stated: Stated
    reason: str = ""


def approval_key(subject: str) -> str:
    """The key under which the last entry about a subject is noted: a decision, or the spend that used it up.

    >>> approval_key("ab")
    'approval ab'
    """
    return f"{APPROVAL}{subject}"


def require(page: Page, sale: Sale, caps: Admission) -> None:
    """Raises `NeedsApproval` for a dear question that no decision admits, unless the analyst has its answer."""
    analyst = caps.analyst(sale.analyst)
    if not page.has_paid(sale.key, analyst.name):
        approval_of(page, sale, caps, analyst)


def approval(page: Page, stated: Stated, analyst: str, above: Fraction) -> dict[str, Any]:
    """The field of the entry that pays, with the decision that admits the question; raises `NeedsApproval` without one."""
    entry = last_about(page, stated.subject, analyst)
    if entry is not None and APPROVED in entry.more and entry.number > page.began:
        return {APPROVED: entry.more[APPROVED]}  # another question of the same statement, admitted with it or not at all
    holds = entry is not None and entry.kind == KIND and entry.details["until"] > now()
    if entry is not None and holds and entry.details["decision"] != REFUSE and _within(stated, entry):
        return {APPROVED: entry.number}
    less = f"ask with epsilon={at_most(above)} or less" if above else "ask a question that costs nothing"
    named = ("epsilon",) if above else ()
    error = NeedsApproval(
        f"this question asks for epsilon {at_least(stated.epsilon)}: above {at_most(above)} a curator decides",
        remedy=f"ask it on the server of the data set, where it waits for a curator, or {less}",
        argument=named,
    )
    if entry is not None and holds and entry.details["decision"] == REFUSE and not _is_cheaper(stated, entry):
        why = f": {entry.details['reason']}" if entry.details["reason"] else ""
        error = NeedsApproval(f"a curator has refused this question{why}", remedy=f"ask another one, or {less}", argument=named)
    elif entry is not None and holds and entry.details["decision"] == REDUCE:
        most = _most_of(entry)
        also = f" and delta={at_most(most[1])}" if stated.delta else ""
        said = f"a curator admits this question with at most epsilon {at_most(most[0])}, delta {at_most(most[1])}"
        less = f"ask it once with epsilon={at_most(most[0])}{also} or less"
        error = NeedsApproval(said, remedy=less, argument=("epsilon", "delta") if stated.delta else "epsilon")
    else:
        error.stated = stated
    raise error


def decide(page: Page, caps: Admission, decision: Decision, sales: Sequence[Sale]) -> Entry:
    """The entry of a decision. It approves if the caps admit the questions now, each alone; they are asked again at the spend.

    Nothing depends on stored answers, which other analysts may have paid for.
    """
    if decision.word == APPROVE:
        analyst = caps.analyst(decision.analyst)
        account = page.books.accounts.get(analyst.name, NEW_ACCOUNT)
        for sale in sales:
            most = caps.policy.questions_at_most if sale.charge is None else most_questions(caps.policy, sale.charge)
            require_to_go_on(page.books.last, account, most)
            admit(page, replace(sale, stated=None, bearer=None), caps, analyst)
    until = datetime.now(UTC) + timedelta(days=caps.policy.wait_days)
    stated = decision.stated
    whose, amounts = caps.analyst(decision.analyst).name, (decimal_text(stated.epsilon), decimal_text(stated.delta))
    told = (
        decision.word, whose, stated.subject, *amounts,
        until.isoformat(timespec="milliseconds"), decision.reason,
    )  # fmt: skip
    said = {"analyst": decision.by, "question": decision.question, "details": dict(zip(FIELDS, told, strict=True))}
    entry = page.append(entry_after(page.books, caps.policy.budget, KIND, {}, **said))
    page.note_asker(approval_key(stated.subject), entry.details["for"], entry.number)
    return entry


def note_use(page: Page, entry: Entry) -> None:
    """Notes that a spend has used its decision up."""
    decision = _entry(page, entry.more[APPROVED])
    if decision is not None:
        page.note_asker(approval_key(decision.details["subject"]), entry.analyst, entry.number)


def last_about(page: Page, subject: str, analyst: str) -> Entry | None:
    """The last decision on a subject of an analyst, or the spend that used it up; None before the first."""
    entry = _entry(page, page.paying_entry(approval_key(subject), analyst))
    if entry is None or entry.kind != KIND:
        return entry if entry is not None and APPROVED in entry.more and entry.analyst == analyst else None
    whose = entry.details.get("for"), entry.details.get("subject")
    return entry if whose == (analyst, subject) and {*entry.details} == {*FIELDS} else None


def _entry(page: Page, number: int | None) -> Entry | None:
    line = None if number is None else page.line(number)
    return None if line is None or hash_of(line.text) != line.hash else entry_from(line.text)


def _most_of(entry: Entry) -> tuple[Fraction, Fraction]:
    return exact_from(entry.details["epsilon"]), exact_from(entry.details["delta"])


def _within(stated: Stated, entry: Entry) -> bool:
    epsilon, delta = _most_of(entry)
    return stated.epsilon <= epsilon and stated.delta <= delta


def _is_cheaper(stated: Stated, entry: Entry) -> bool:
    epsilon, delta = _most_of(entry)
    return stated.epsilon < epsilon or stated.delta < delta
