"""No unit moves a question over several private tables by more than its price: every unit is taken away in turn.

On stores made from raw rows with shared, repeated, dangling and missing keys. Both ways are walked: rows of a unit taken out of the
store, and the store made anew from the sources without them. Each rule of stability.md for joins is shown to be needed by a planted
bug that the same check catches.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from drift import most_rows
from join_questions import questions
from joined import HOSPITALS, Asked, Hospital, Stores, asked_of, hospital, units, without
from tacit.data import prepare
from tacit.errors import NeverTrue, Refused, TooMuchWork
from tacit.mechanisms.laplace import Laplace
from tacit.query import passes, trees
from tacit.query.engines import compile as compiled
from tacit.query.engines import rows as compiled_rows
from tacit.query.intervals import aggregates
from tacit.query.plan import Bound, Moment, Semi, UnitJoin
from tacit.query.price import stability
from tacit.query.price.price import Quote, price, request
from tacit.query.question import Question, domain, private

LENGTHS = pytest.mark.parametrize("examples", [8, pytest.param(150, marks=pytest.mark.slow)])
WIDELY = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # a store is slow to shrink
Groups = Mapping[Any, Any]


def quoted(asked: Asked, text: str) -> tuple[Quote, ...]:
    return price(asked.plan(text), request(epsilon=1, delta=Fraction(1, 10**6)))


def by_group(question: Question, asked: Asked) -> list[Groups]:
    """For every moment the exact answer of each group."""
    found = asked.exact(question)
    keys = found.pop() if private(question) else list(product(*(domain(key) for key in question.group.keys)))
    return [dict(zip(keys, moment, strict=True)) for moment in found]


def moved(one: Any, other: Any) -> int:
    """How far one group's answer moved; for a list, how many rows came or went."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        before, after = (
            Counter(dict(zip(*map(list, side), strict=True)) if isinstance(side, tuple) else {}) for side in (one, other)
        )
        return sum(((before - after) + (after - before)).values())
    return abs(int(one) - int(other))


def check(quotes: Sequence[Quote], full: Sequence[Groups], less: Sequence[Groups], text: str) -> None:
    """What moved is at most what each mechanism was told."""
    moves = [[moved(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}] for one, other in zip(full, less, strict=True)]
    for quote in quotes:
        for part in quote.sums:
            found = moves[part.place]
            if isinstance(part.mechanism, Laplace):
                assert sum(found) <= part.mechanism.sensitivity, (text, part, found)
            else:
                assert sum(move**2 for move in found) <= part.mechanism.sensitivity**2, (text, part, found)
        for rank in quote.ranks:
            assert sum(moves[rank.place]) <= most_rows(rank), (text, rank, moves[rank.place])


def check_store(asked: Asked, texts: Sequence[str]) -> int:
    """Every unit is taken out of the store in turn. How many questions were answered."""
    answered = []
    for text in texts:
        try:
            quotes = quoted(asked, text)
        except Refused as refusal:
            if isinstance(refusal, NeverTrue | TooMuchWork) or "does not depend on the data" in str(refusal):
                continue
            raise
        answered.append((text, quotes, by_group(quotes[0].question, asked)))
    for code in asked.codes():
        asked.take(code)
        try:
            for text, quotes, full in answered:
                check(quotes, full, by_group(quotes[0].question, asked), text)
        finally:
            asked.put_back()
    return len(answered)


def check_sources(folder: Path, data: Hospital, texts: Sequence[str]) -> None:
    """Every unit is taken out of the raw rows in turn, and the store is made anew."""
    whole = asked_of(folder / "whole", data)
    found = [(text, quotes := quoted(whole, text), by_group(quotes[0].question, whole)) for text in texts]
    for unit in units(data):
        fewer = asked_of(folder / "less", without(data, unit))
        for text, quotes, full in found:
            check(quotes, full, by_group(quotes[0].question, fewer), text)
        fewer.close()
    whole.close()


@LENGTHS
def test_no_unit_moves_a_join_further_than_its_sensitivity(tmp_path: Path, examples: int) -> None:
    tried, answered = 0, 0

    @settings(WIDELY, max_examples=examples)
    @given(HOSPITALS, st.lists(questions(), min_size=6, max_size=8, unique=True))
    def inner(data: Hospital, texts: list[str]) -> None:
        nonlocal tried, answered
        asked = asked_of(tmp_path / "store", data)
        try:
            answered += check_store(asked, texts)
            tried += len(texts)
        finally:
            asked.close()

    inner()
    assert answered > tried // 2, "most generated questions are answered"


# --- fixed worst cases, and the bugs that they catch -----------------------------------------------------------------------------

LIMITS = {"visits": 3, "labs": 3, "cards": 2}
CLAIMED = replace(  # visit 0 is claimed by two people, and stands twice among the visits of one
    hospital(
        patients=[(0, "F", 1), (1, "M", 2), (2, "F", 0)],
        visits=[(0, 0, "a", 5), (0, 0, "b", 5), (2, 0, "c", 5), (0, 1, "a", 0), (None, 2, "a", 5), (4, 2, "b", 0)],
        labs=[(0, 1, "s"), (0, 2, "s"), (0, 3, "t"), (4, 1, "s")],
        cards=[(0, 1), (0, 2), (1, 3)],
    ),
    limits=LIMITS,
)
UNTRUSTED = replace(CLAIMED, keyed=False)
SPREAD = replace(hospital(visits=[(at, 0, ward, 0) for at, ward in enumerate("abc")], patients=[(0, "F", 0)]), limits=LIMITS)
MANY = replace(  # four people with a lab each, and one whose visit has no key
    hospital(
        visits=[(at, at, "a", 0) for at in range(4)] + [(None, 9, "a", 5)],
        labs=[(at, 2, "s") for at in range(4)],
        patients=[(at, "F", 0) for at in range(4)],
    ),
    limits={"visits": 1, "labs": 1, "cards": 1},
)
CARDS = "SELECT COUNT(*) FROM visits v JOIN cards c USING (patient_id)"
LABS = "SELECT COUNT(*) FROM labs l JOIN visits v ON l.visit_id = v.id"
KEPT = "SELECT COUNT(*) FROM visits v LEFT JOIN labs l ON l.visit_id = v.id"
PRESENT = "SELECT COUNT(l.x) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id LEFT JOIN labs l ON l.visit_id = v.id"
SAME_WARD = (
    "SELECT COUNT(*) FROM visits v WHERE EXISTS "
    "(SELECT 1 FROM visits z WHERE z.patient_id = v.patient_id AND z.ward = v.ward AND z.cost > 4)"
)
NOT_IN = "SELECT COUNT(*) FROM labs WHERE visit_id NOT IN (SELECT id FROM visits WHERE cost > 4)"
TOTAL = "SELECT SUM(t.total), AVG(t.total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t"
BY_WARD = "SELECT AVG(t.total) FROM (SELECT patient_id, ward, SUM(cost) AS total FROM visits GROUP BY patient_id, ward) t"
OF_KEYS = "SELECT COUNT(v.patient_id), COUNT(v.id), COUNT(p.id) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id"
EVERY = [CARDS, LABS, KEPT, PRESENT, OF_KEYS, SAME_WARD, NOT_IN, TOTAL, BY_WARD]


@pytest.mark.parametrize("data", [CLAIMED, UNTRUSTED, SPREAD, MANY], ids=["claimed", "untrusted", "spread", "many"])
def test_the_worst_cases_hold_when_the_store_is_made_anew(tmp_path: Path, data: Hospital) -> None:
    check_sources(tmp_path, data, EVERY)


@contextmanager
def registered(dispatch: Any, node: type, planted: Callable[[Any], Any]) -> Iterator[None]:
    """Another function for one kind of node, made of the honest one."""
    honest = dispatch.dispatch(node)
    dispatch.register(node, planted(honest))
    try:
        yield
    finally:
        dispatch.register(node, honest)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    """For all tests but those that plant a bug in preparation."""
    return Stores(tmp_path_factory.mktemp("stores"))


def caught(asked: Asked, text: str, limits: Mapping[str, int] | None = None) -> bool:
    """Whether the check fails; with `limits`, of a catalog that allows less than is stored."""
    tables = {name: replace(each, max_rows=(limits or {}).get(name, each.max_rows)) for name, each in asked.catalog.tables.items()}
    asked.catalog = replace(asked.catalog, tables=tables)
    try:
        assert check_store(asked, [text]) == 1
    except AssertionError as failure:
        if text[:60] not in str(failure):
            raise  # not of the check, but of what it is made of
        return True
    finally:
        asked.close()
    return False


@pytest.mark.parametrize("text", [CARDS, "SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id"])
def test_a_join_counted_as_its_left_side_is_caught(stores: Stores, text: str) -> None:
    assert not caught(stores.asked(CLAIMED), text)
    with registered(stability.rows_of, UnitJoin, lambda _: lambda relation: stability.rows_of(relation.child)):
        assert caught(stores.asked(CLAIMED), text)


@pytest.mark.parametrize("text", [CARDS, SAME_WARD, TOTAL])
def test_a_row_limit_above_the_join_is_caught(stores: Stores, text: str) -> None:
    """A store may hold more rows than a catalog allows: the limit lies below all else."""
    fewer = {"visits": 1, "cards": 1}
    assert not caught(stores.asked(CLAIMED), text, fewer)
    with registered(compiled.relation, Bound, lambda honest: lambda node, reading: honest(replace(node, max_rows=99), reading)):
        assert caught(stores.asked(CLAIMED), text, fewer)


def on_the_key_alone(node: UnitJoin, reading: Any) -> Any:
    rows, other = compiled.relation(node.child, reading), compiled.relation(node.other, reading)
    here = compiled_rows.stored_name(node.here, "here")
    other = other.mutate(**({here: compiled_rows.whole(0)} if here in reading.needed else {})).drop(compiled.UNIT)
    on = [compiled_rows.value(left, rows) == compiled_rows.value(right, other) for left, right in node.pairs]
    return rows.join(other, on or True, how=node.kind)


@pytest.mark.parametrize("text", [LABS, KEPT])
def test_a_join_on_the_key_alone_is_caught(tmp_path: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Two people claim visit 0: each has a copy of its labs, and would be joined with the visits of both."""
    assert not caught(stores.asked(CLAIMED), text)
    honest = prepare._codes

    def of_keys_alone(workshop: Any, *given: Any) -> Any:
        """One code for a key, whoever claims it."""
        found = honest(workshop, *given)
        for codes in found.values():
            same = "min(tacit_code) OVER (PARTITION BY tacit_value) AS tacit_code"
            workshop.run(f"CREATE OR REPLACE TEMP TABLE {codes} AS SELECT tacit_value, tacit_holder, {same} FROM {codes}")
        return found

    monkeypatch.setattr(prepare, "_codes", of_keys_alone)
    assert caught(asked_of(tmp_path, CLAIMED), text)


CODES_BY_NAME = [  # columns that a question calls as the store calls its codes
    'SELECT COUNT(*) FROM (SELECT patient_id, cost AS "tacit_code id" FROM visits) AS a '
    'JOIN (SELECT patient_id, cost AS "tacit_code id" FROM visits) AS b '
    'ON a.patient_id = b.patient_id AND a."tacit_code id" = b."tacit_code id"',
    'SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS "tacit_code id" FROM visits GROUP BY patient_id) AS a '
    'JOIN (SELECT patient_id, COUNT(*) AS "tacit_code id" FROM visits GROUP BY patient_id) AS b '
    'ON a.patient_id = b.patient_id AND a."tacit_code id" = b."tacit_code id"',
]


@pytest.mark.parametrize("text", CODES_BY_NAME)
def test_no_name_makes_a_column_a_code(stores: Stores, text: str) -> None:
    """A join on codes leaves out the unit, which they imply; a column that a question only calls so implies nothing."""
    asked = stores.asked(CLAIMED)
    joins = [step for step in trees.below(asked.plan(text).group) if isinstance(step, UnitJoin)]
    assert [compiled.implies_unit(step.pairs) for step in joins] == [False]
    joins = [step for step in trees.below(asked.plan(LABS).group) if isinstance(step, UnitJoin)]
    assert [compiled.implies_unit(step.pairs) for step in joins] == [True]
    asked.close()
    assert not caught(stores.asked(CLAIMED), text)


def test_a_left_join_that_finds_rows_of_others_is_caught(stores: Stores) -> None:
    """Whether a patient without visits is counted would be up to the visits of others."""
    text = "SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id WHERE v.cost IS NULL"
    data = replace(hospital(patients=[(at, "F", 0) for at in range(9)], visits=[(0, 20, "a", 5)]), limits=LIMITS)
    assert not caught(stores.asked(data), text)
    with registered(compiled.relation, UnitJoin, lambda _: on_the_key_alone):
        assert caught(stores.asked(data), text)


def trust_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant: rows of a unit are told apart by every code that a table has, declared as a key or not."""
    honest = stability._member

    def planted(relation: Any) -> stability.Member:
        found = honest(relation)
        codes = frozenset((source, "tacit_code id") for source in found.sources)
        return replace(found, unique=(codes,)) if isinstance(relation, Bound) else found

    monkeypatch.setattr(stability, "_member", planted)


def test_a_key_that_is_trusted_and_not_enforced_is_caught(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the catalog declares no key, a person may have several visits with one: a row may have several matches."""
    assert not caught(stores.asked(UNTRUSTED), LABS)
    trust_every_key(monkeypatch)
    assert caught(stores.asked(UNTRUSTED), LABS)
    assert not caught(stores.asked(CLAIMED), LABS), "where it is declared, preparation enforces it"


def test_not_in_with_a_null_is_caught(stores: Stores) -> None:
    """One visit without a key would make everybody's labs go, and come back without it."""

    def planted(node: Semi, reading: Any) -> Any:
        rows, other = compiled.relation(node.child, reading), compiled.relation(node.other, reading).view()
        ((left, right),) = node.pairs
        return rows.filter(compiled_rows.value(left, rows).notin(other.select(found=compiled_rows.value(right, other))["found"]))

    assert not caught(stores.asked(MANY), NOT_IN)
    with registered(compiled.relation, Semi, lambda _: planted):
        assert caught(stores.asked(MANY), NOT_IN)


def test_a_look_at_rows_of_others_is_caught(stores: Stores) -> None:
    """What an EXISTS under OR, or an IN over a ward, would be: only the values are compared, and not the unit."""

    def planted(node: Semi, reading: Any) -> Any:
        rows, other = compiled.relation(node.child, reading), compiled.relation(node.other, reading).view()
        return rows.semi_join(
            other, [compiled_rows.value(left, rows) == compiled_rows.value(right, other) for left, right in node.pairs]
        )

    data = replace(hospital(visits=[(at, at, "a", 0) for at in range(5)] + [(9, 9, "a", 5)]), limits=LIMITS)
    assert not caught(stores.asked(data), SAME_WARD)
    with registered(compiled.relation, Semi, lambda _: planted):
        assert caught(stores.asked(data), SAME_WARD)


def test_a_range_per_person_without_the_row_limit_is_caught(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not caught(stores.asked(CLAIMED), TOTAL)
    monkeypatch.setattr(passes, "rows_of", lambda rows: 1)
    assert caught(stores.asked(CLAIMED), TOTAL)


def test_the_centred_sum_at_the_price_of_the_plain_one_is_caught(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """All totals of a unit add up to little; their distances from the middle of the range do not."""
    assert not caught(stores.asked(SPREAD), BY_WARD)
    honest = aggregates.AGGREGATES["avg_plain"]
    centred = replace(honest, moments=lambda term: (aggregates._rows(term), Moment("centred", aggregates._row(term))))
    monkeypatch.setitem(aggregates.AGGREGATES, "avg_plain", centred)
    moments = aggregates.moments_of
    cheap = lambda call, beside: tuple(  # noqa: E731
        replace(each, together=call.together) if each.kind == "centred" else each for each in moments(call, beside)
    )
    for module in ("passes", "price.needs"):
        monkeypatch.setattr(sys.modules[f"tacit.query.{module}"], "moments_of", cheap)
    assert caught(stores.asked(SPREAD), BY_WARD)
