"""All applicable attacks against one data set of tacit.

All applicable attacks against one data set: a copy, with a scratch ledger for each attack. For the data owner only.

Each attack spends the whole of `epsilon`, once for each seed. The report (`session_report.py`) has figures and no released value;
it compares with the truth all the same, and is not for publication.

A changed unit: spend for one unit, have another one declared, and spend on as if the earlier spending still meant the same.

Under `unit = "row"` a question of epsilon 7 promises 7 for a row, and 70 for a person with ten rows. If a ledger that had counted
rows went on when persons are declared, it would admit the rest of its budget and claim a total that is far from true. It must
refuse until its entries are restated; then the remaining budget is that for persons.

The fate of a query as its answer: a refusal or a time-out that depends on one person discloses that person.

Two ways to bring that about. Joins that multiply rows if one person has the secret, and only then: `CASE WHEN badge = 4 AND ...`
as the side of twenty joins that each match several rows. And a pattern of many `_`, which an engine tries at every place
of a text, so that one long text of one person takes as long as all others together. At an epsilon that counts for nothing,
answers are noise; the fate of each question is one exact bit.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Event, ExponentialChoice
from tacit.accounting.ledger.ledger import Ledger, open_ledger
from tacit.accounting.ledger.units import policy_of
from tacit.data.dialect import name, text
from tacit.errors import BudgetExceeded, InvalidInput, Refused, UnitsChanged
from tacit.evidence.attacks.answerers import Bits
from tacit.evidence.attacks.hostile_key import broken_out, hostile_names, released_keys
from tacit.evidence.attacks.isolation import averaging, differencing, predicted_share, tracker
from tacit.evidence.attacks.questioner import Questioner, Target, known_people
from tacit.evidence.attacks.reconstruction import Subsets, least_absolute, reconstruct
from tacit.evidence.attacks.reconstruction import predicted_share as predicted_bits
from tacit.evidence.attacks.samplers import spearman
from tacit.evidence.attacks.scratch import copied_data
from tacit.evidence.attacks.session_report import Correlation, Never, Part, SessionReport, Tries, pool
from tacit.evidence.attacks.tracing import QUANTILE
from tacit.privacy.catalog import Catalog, Owner, Table
from tacit.privacy.rounding import Number, exact
from tacit.session import DataSet, Session

ROWS = 10  # of one new unit among the old ones
PARTS = 8  # shares of the budget


@dataclass(frozen=True, slots=True)
class ChangedUnit:
    """The spending admitted after the units had changed: before they were restated, and after; in shares of the budget.

    `true` is the loss of one new unit that the ledger would have allowed, as a share of the budget.
    """

    before: float
    after: float
    true: float

    @property
    def failed(self) -> bool:
        """Whether nothing was admitted that should have been refused."""
        return self.before == 0 and self.after == 0


def changed_unit(catalog: Catalog, table: str, epsilon: Number = 1) -> ChangedUnit:
    """Spend all but an eighth of `epsilon` on a copy, change the unit of a table, and try to spend the rest.

    One unit as declared then touches ten of those before, so that nothing may be left after the entries are restated either.
    """
    whole = exact(epsilon)
    with copied_data(catalog, whole) as data:
        event: Event = ExponentialChoice(whole / PARTS, data.catalog.neighbours)
        spent = _spend(data.ledger, event, PARTS - 1)
        tables = {**data.catalog.tables, table: _with_another_unit(data.catalog.tables[table])}
        others = policy_of(replace(data.catalog, tables=tables))
        changed = open_ledger(data.catalog.ledger_address(os.environ), others)
        before = _spend(changed, event, PARTS)
        changed.accept_units(ROWS, "attack", "ten old units in one")
        after = _spend(changed, event, PARTS)
    return ChangedUnit(float(before / whole), float(after / whole), float((ROWS * spent + before + after) / whole))


def _spend(ledger: Ledger, event: Event, times: int) -> Fraction:
    """The part of several spends that was admitted; an attacker goes on after each refusal."""
    spent = ledger.spent().epsilon or Fraction(0)
    for _ in range(times):
        try:
            ledger.spend(event, "attack", "a share of the budget", "a copy")
        except (UnitsChanged, BudgetExceeded):
            continue
    return (ledger.spent().epsilon or Fraction(0)) - spent


def _with_another_unit(table: Table) -> Table:
    """The same table with persons in the place of rows, or rows in the place of persons."""
    return replace(table, unit=Owner("person") if table.unit is None else None)


# --- the fate of a query as its answer ---------------------------------------------------------------------------------------


FATES_OF = 8
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
    """The share of questions whose fate is not that of most others: the disclosure without a number of an answer."""
    fates = [fate(session, question, epsilon) for question in questions]
    return 1 - Counter(fates).most_common(1)[0][1] / len(fates)


def joining_questions(data: DataSet, target: Target) -> list[str]:
    """For each of a few people a question of many rows if they have the secret; none where no public table repeats a value."""
    public = _widest_join(data)
    if public is None:
        return []
    table, column, value = public
    return [_joining_question(target, person, table, column, value) for person in target.values[:FATES_OF]]


def _joining_question(target: Target, person: int, table: str, column: str, value: str) -> str:
    matched = f"CASE WHEN {name(target.column)} = {person} AND ({target.secret}) THEN {value} END"
    joins = " ".join(f"JOIN {name(table)} w{at} ON w{at}.{name(column)} = {matched}" for at in range(JOINS))
    return f"SELECT COUNT(*) FROM {name(target.table)} {joins}"  # noqa: S608  # asked of a session, which reads it as a question


def _widest_join(data: DataSet) -> tuple[str, str, str] | None:
    """The public table, its column and one of the column's values by which a join makes most rows of one."""
    columns = [
        (data.public.fan_out(table.name, column.name), table.name, column.name, text(str(column.values[0])))
        for table in data.catalog.tables.values()
        if table.public
        for column in data.public.columns(table.name).values()
        if column.values and isinstance(column.values[0], str)
    ]
    repeating = [each for each in columns if each[0] > 1]
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
        for person in target.values[:FATES_OF]
    ]


# --- all applicable attacks against one data set -----------------------------------------------------------------------------


Progress = Callable[[Iterable[Any], int, str], Iterable[Any]]
FINDINGS = 14  # at most: of a data set without public tables or without private text there are fewer
FEWEST = 24  # people that an attack needs at all
ENOUGH_PEOPLE, ENOUGH_MEMBERS = 64, 8  # below, luck reaches so far that a failed attack says nothing
PLENTY = 10**6  # an epsilon under which noise vanishes: the truth, for the judge
TARGETS, GROUPS, REPEATS = 32, 8, 16


@dataclass(frozen=True, slots=True, eq=False)
class Battle:
    """The common part of all attacks: the data, the people to attack, the truth, and the budget of each."""

    catalog: Catalog
    target: Target
    bits: Bits
    epsilon: Number
    seed: int

    @property
    def enough(self) -> bool:
        """Whether there are enough people for a failed attack to say something."""
        return len(self.bits) >= ENOUGH_PEOPLE


def attack_session(
    catalog: Catalog, target: Target, epsilon: Number = 1, *, seed: int = 0, seeds: int = 3, progress: Progress | None = None
) -> SessionReport:
    """Every attack in turn, each on a fresh copy with `epsilon` to spend, and all of that again with the following seeds.

    A seed determines the questions; noise is the session's own. The findings of all seeds are pooled.
    """
    if seeds < 1:
        raise InvalidInput(f"seeds must be a whole number of at least 1, not {seeds}", argument="seeds")
    with copied_data(catalog, 4 * PLENTY) as data:
        target_people, bits = known_people(data.session(), target, PLENTY)
    if len(bits) < FEWEST:
        raise InvalidInput(
            f"too few people have a {target.column}: found {len(bits)}, but an attack requires at least {FEWEST} "
            f"({ENOUGH_PEOPLE} for a verdict); choose another column with --by"
        )
    battles = [Battle(catalog, target_people, bits, epsilon, seed + place) for place in range(seeds)]
    parts = (part for battle in battles for attack in ATTACKS for part in attack(battle))
    findings = pool(progress(parts, FINDINGS * seeds, "attacking") if progress else parts)
    return SessionReport(len(bits), int(bits.sum()), float(exact(epsilon)), seeds, findings)


def _ask(battle: Battle, questions: int, attack: Callable[[Questioner], Any]) -> tuple[Questioner, Any]:
    """Attack a fresh copy with `questions` equal shares of the budget."""
    with copied_data(battle.catalog, battle.epsilon) as data:
        asked = Questioner(data.session(), battle.target, exact(battle.epsilon) / questions)
        return asked, attack(asked)


def _deviation(battle: Battle, questions: int) -> float:
    return sqrt(2) * questions / float(exact(battle.epsilon))


def _counts_over_subsets(battle: Battle) -> Iterator[Part]:
    """Random subset counts, and five things to make of them."""
    people = len(battle.bits)
    subsets = Subsets(people, 2 * people, battle.seed)
    everyone = np.arange(people)

    def ask_all(asked: Questioner) -> float:
        for subset in subsets:
            asked.query(subset)
        return float(asked.query(everyone) is not None)

    asked, one_more = _ask(battle, len(subsets), ask_all)
    answers, deviation = np.array(asked.answers[: len(subsets)]), _deviation(battle, len(subsets))
    rows = np.vstack(list(subsets.blocks()))
    share = predicted_bits(people, len(subsets), deviation) or 0.5
    for method, solver in (("least squares", reconstruct), ("linear programming", least_absolute)):
        right = round((solver(subsets, answers, truth=battle.bits).recovered or 0.0) * people)
        yield Tries(f"reconstruction by {method}", "share of bits right", right, people, share, share, battle.enough)
    yield _trace(battle, rows, answers)
    yield Never("floating point", "share of outputs off the public grid", float((answers % 1 != 0).mean()), 0.0)
    noise = np.abs(answers - rows @ battle.bits.astype(np.int64))
    told_by_time = spearman(asked.seconds[: len(subsets)], noise)
    yield Correlation("timing", "rank correlation of time and noise", told_by_time, len(answers), battle.enough)
    yield Never("one extra query", "answers beyond the budget", one_more, 0.0)


def _trace(battle: Battle, rows: NDArray[np.uint8], answers: NDArray[np.float64]) -> Tries:
    """Who is among those counted: scores of people with the secret, against the spread of the others' scores."""
    bits = battle.bits
    scores = (rows - 0.5).T @ (answers - answers.mean())
    others = scores[~bits] if (~bits).sum() > 1 else scores
    recognized = int((scores[bits] > others.mean() + QUANTILE * others.std(ddof=1)).sum())
    members = int(bits.sum())
    enough = battle.enough and min(members, len(bits) - members) >= ENOUGH_MEMBERS
    chance = 0.03  # 1%, with the spread estimated from few others
    return Tries("tracing", "members recognized at 1% false positives", recognized, members, chance, 0.01, enough)


def _attack_by_differencing(battle: Battle) -> Iterator[Part]:
    targets = min(TARGETS, len(battle.bits))
    yield from _isolate(battle, differencing, "differencing", targets, rounds=2, questions=4 * targets)


def _tracker(battle: Battle) -> Iterator[Part]:
    targets = min(TARGETS, len(battle.bits))
    yield from _isolate(battle, tracker, "tracker", targets, rounds=1, questions=4 * targets)


def _attack_by_averaging(battle: Battle) -> Iterator[Part]:
    yield from _isolate(battle, averaging, "averaging", GROUPS, rounds=GROUPS, questions=2 * GROUPS * GROUPS)


def _isolate(battle: Battle, attack: Any, name: str, targets: int, rounds: int, questions: int) -> Iterator[Part]:
    def run(asked: Questioner) -> Any:
        return attack(asked, battle.bits, rounds=rounds, targets=targets, seed=battle.seed)

    _, result = _ask(battle, questions, run)
    expected = predicted_share(name, _deviation(battle, questions), rounds)
    tried = len(result.truth)
    yield Tries(name, "share of targets found", round(result.recovered * tried), tried, expected, expected, battle.enough)


def _verbatim(battle: Battle) -> Iterator[Part]:
    """The same question again and again: it is remembered, so that nothing new comes, and nothing more is spent."""

    def run(asked: Questioner) -> int:
        for _ in range(REPEATS):
            asked.query(np.arange(len(battle.bits)))
        return len(set(asked.answers))

    _, different = _ask(battle, 1, run)
    yield Never("asking again", "different answers to one question", float(different), 1.0)


def _changed_unit(battle: Battle) -> Iterator[Part]:
    """Another unit is declared after spending: nothing more may be admitted until it is restated, and here nothing after that."""
    attack = changed_unit(battle.catalog, battle.target.table.lower(), battle.epsilon)
    yield Never("changed unit", "share of the budget admitted for a changed unit", attack.before + attack.after, 0.0)


def _hostile_key(battle: Battle) -> Iterator[Part]:
    """Values and names that try to be more than text: keys of simulated people, and names in queries about them."""
    with copied_data(battle.catalog, battle.epsilon) as data:
        named = list(hostile_names(data.session(), battle.target.table, battle.epsilon))
    escaped = broken_out([released_keys(), *named])
    yield Never("hostile key", "formats that a value escaped from", float(len(escaped)), 0.0)


def _time_out(battle: Battle) -> Iterator[Part]:
    """Twenty joins that multiply rows if one person has the secret: whether the question ends in time is then the secret."""
    yield from _fates(battle, joining_questions, "time-out")


def _long_cell(battle: Battle) -> Iterator[Part]:
    """A pattern that takes long on one long text: whether the question ends in time says who has one."""
    yield from _fates(battle, pattern_questions, "long cell")


def _fates(battle: Battle, asking: Callable[[DataSet, Target], list[str]], attack: str) -> Iterator[Part]:
    with copied_data(battle.catalog, battle.epsilon) as data:
        questions = asking(data, battle.target)
        if questions:
            share = exact(battle.epsilon) / len(questions)
            identified = told_apart(data.session(), questions, share)
            yield Never(attack, "people identified by whether a query fails", identified, 0.0)


ATTACKS = (
    _counts_over_subsets,
    _attack_by_differencing,
    _tracker,
    _attack_by_averaging,
    _verbatim,
    _time_out,
    _long_cell,
    _changed_unit,
    _hostile_key,
)
