"""The fate of a query as its answer: a refusal or a time-out that depends on one person discloses that person.

Two ways to bring that about. Joins that multiply rows if one person has the secret, and only then: `CASE WHEN badge = 4 AND ...`
as the side of twenty joins, each of which matches several rows. And a pattern of many `_`, which an engine tries at every place
of a text, so that one long text of one person takes as long as all others together. At an epsilon that counts for nothing,
answers are noise; the fate of each question is one exact bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from tacit.data.quoting import name, text
from tacit.errors import Refused
from tacit.evidence.attacks.questioner import Target
from tacit.session import DataSet, Session

TARGETS = 8
JOINS = 20
PLACES = 450  # of any character, in a pattern
Fate = tuple[str, str]


def fate(session: Session, question: str, epsilon: Fraction) -> Fate:
    """Answered, or the code and the words of the refusal; never the numbers of an answer."""
    try:
        session.sql(question, epsilon=epsilon)
    except Refused as refusal:
        return refusal.code, refusal.message
    return "answered", ""


def told_apart(session: Session, questions: Iterable[str], epsilon: Fraction) -> float:
    """The share of questions whose fate is not that of most others: what was learnt without a number of an answer."""
    fates = [fate(session, question, epsilon) for question in questions]
    return 1 - Counter(fates).most_common(1)[0][1] / len(fates)


def joining_questions(data: DataSet, target: Target) -> list[str]:
    """For each of a few people a question of many rows if they have the secret; none where no public table repeats a value."""
    public = _multiplying(data)
    if public is None:
        return []
    table, column, value = public
    return [_joined(target, person, table, column, value) for person in target.values[:TARGETS]]


def _joined(target: Target, person: int, table: str, column: str, value: str) -> str:
    matched = f"CASE WHEN {name(target.column)} = {person} AND ({target.secret}) THEN {value} END"
    joins = " ".join(f"JOIN {name(table)} w{at} ON w{at}.{name(column)} = {matched}" for at in range(JOINS))
    return f"SELECT COUNT(*) FROM {name(target.table)} {joins}"  # noqa: S608  # asked of a session, which reads it as a question


def _multiplying(data: DataSet) -> tuple[str, str, str] | None:
    """The public table, its column and one of the column's values by which a join makes most rows of one."""
    found = [
        (data.public.fan_out(table.name, column.name), table.name, column.name, text(str(column.values[0])))
        for table in data.catalog.tables.values()
        if table.public
        for column in data.public.columns(table.name).values()
        if column.values and isinstance(column.values[0], str)
    ]
    repeating = [each for each in found if each[0] > 1]
    return max(repeating)[1:] if repeating else None


def pattern_questions(data: DataSet, target: Target) -> list[str]:
    """For each of a few people a question that takes long if this person has a long text; none where no text is private."""
    columns = data.catalog.tables[target.table.lower()].columns.values()
    texts = [column.name for column in columns if column.kind == "text"]
    if not texts:
        return []
    pattern = text("%" + "_" * PLACES + "b")
    return [
        f"SELECT COUNT(*) FROM {name(target.table)} WHERE {name(target.column)} = {person} AND {name(texts[0])} LIKE {pattern}"  # noqa: S608
        for person in target.values[:TARGETS]
    ]
