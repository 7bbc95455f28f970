"""A certificate is made from public values: on a table and its neighbour, with the same released numbers, it is the same text.

With and without a question of another analyst before it, too. What differs by right is the signature, the random version of the
data and the hash of the entry. Planted leaks are noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from certified_people import asked_of_both, opened, without_what_may_differ, written
from tacit.accounting.ledger.entries import Entry
from tacit.release.certificates import answers, making

PEOPLE = 60
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("SELECT ward, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY ward", {"epsilon": 1}),
    (
        "SELECT sex, AVG(cost) AS c, MEDIAN(age) AS m FROM visits v JOIN patients p ON v.person = p.id GROUP BY sex",
        {"epsilon": 1},
    ),
    ("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis", {"epsilon": 2, "delta": 1e-4}),
    ("SELECT ward, age, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, age)", {"epsilon": 1, "delta": 1e-6}),
    (
        "SELECT sex, COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.person = p.id AND v.age > 2 GROUP BY sex",
        {"error": 20},
    ),
    (
        "SELECT site, COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY site",
        {"epsilon": 1, "simultaneous": True},
    ),
    ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 10", {"epsilon": 1, "weights": {"n": 2}}),
    ("SELECT MODE(ward) AS most, QUANTILE_CONT(age, 0.9) AS high FROM visits", {"epsilon": 1, "interval": False}),
]
BEFORE = "SELECT COUNT(*) AS n FROM visits WHERE ward = 'a'"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """The same catalog over a table and over its neighbour; in the ledger of the neighbour another analyst has asked before."""
    folder = tmp_path_factory.mktemp("neighbours")
    full = opened(written(folder / "full", list(range(PEOPLE))))
    other = opened(written(folder / "other", list(range(PEOPLE - 1)), folder / "full"))
    with full, other:
        other.session("bob").sql(BEFORE, epsilon=1)
        yield full, other


@pytest.mark.parametrize(("text", "budget"), ASKED)
def test_neighbours_have_one_certificate(two: tuple[Any, Any], text: str, budget: dict[str, Any]) -> None:
    first, second = asked_of_both(two, text, budget)
    one, other = (without_what_may_differ(answer.certificate.to_dict()) for answer in (first, second))
    assert one == other
    assert first.certificate.to_dict()["entry"] != second.certificate.to_dict()["entry"]


@pytest.mark.parametrize(("text", "budget"), ASKED[:3])
def test_neighbours_have_one_certificate_when_it_is_made_later(two: tuple[Any, Any], text: str, budget: dict[str, Any]) -> None:
    """From the ledger alone, and of an answer that bob had asked for before, on the neighbour."""
    full, other = two
    asked_of_both(two, text, budget)
    other.session("bob").sql(text, **budget)
    mine = full.session("ana").sql(text, **budget).receipt.entry
    theirs = other.session("bob").sql(text, **budget).receipt.entry
    one, two_ = full.session("ana").certificate(mine), other.session("bob").certificate(theirs)
    assert without_what_may_differ(one.to_dict()) == without_what_may_differ(two_.to_dict())


def leaking(name: str, leak: Callable[[Entry, Any], object]) -> Callable[..., dict[str, Any]]:
    """The maker with a field more, or with one changed."""
    honest = making.unsigned

    def unsigned(basis: Any, entry: Entry, *more: Any) -> dict[str, Any]:
        return {**honest(basis, entry, *more), name: leak(entry, basis)}

    return unsigned


LEAKS: dict[str, Callable[[Entry, Any], object]] = {
    "the time of the entry": lambda entry, basis: entry.at,
    "the number of the entry": lambda entry, basis: entry.number,
    "the sums of the data set": lambda entry, basis: str(entry.spent.rho),
    "the accounts of all analysts": lambda entry, basis: entry.accounts,
    "how many questions were paid": lambda entry, basis: entry.questions,
    "the ledger's identity": lambda entry, basis: entry.ledger,
    "the hash of the entry before": lambda entry, basis: entry.previous,
    "the key of the answer, which has the version": lambda entry, basis: entry.key,
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_noticed(two: tuple[Any, Any], leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = asked_of_both(two, *ASKED[0])
    monkeypatch.setattr(answers, "unsigned", leaking("leak", LEAKS[leak]))
    one, other = (without_what_may_differ(answer.certificate.to_dict()) for answer in (first, second))
    assert one != other


def test_a_planted_row_count_and_a_scale_from_the_data_are_noticed(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of the exact answer, which differs between neighbours: read through the engine while the question runs."""
    seen: dict[int, int] = {}
    full, other = two
    text, budget = "SELECT ward, COUNT(*) AS n FROM visits WHERE age < 2 GROUP BY ward", {"epsilon": 1}
    first, second = asked_of_both(two, text, budget)
    for data in two:
        seen[id(data)] = len((data.catalog.folder / "visits.csv").read_text().splitlines())
    honest = answers.certify

    def certify(basis: Any, entry: Any, catalog: Any, *more: Any) -> Any:
        rows = seen[id(full if catalog is full.catalog else other)]
        mechanisms = [{**each, "scale": str(rows)} for each in basis.mechanisms]
        return honest(replace(basis, mechanisms=mechanisms), entry, catalog, *more)

    monkeypatch.setattr(answers, "certify", certify)
    one, two_ = (json.loads(without_what_may_differ(answer.certificate.to_dict())) for answer in (first, second))
    assert one != two_
