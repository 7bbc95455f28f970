"""How far a question moves when the rows of a person in a period are taken away, or of a whole person, against what it pays for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from by_month import without
from joined import Asked
from tacit.mechanisms.laplace import Laplace
from tacit.query.periods import charged
from tacit.query.price.lifetime import whole_person
from tacit.query.price.price import price, request
from tacit.query.question import domain, private


def by_group(asked: Asked, question) -> list[dict[Any, Any]]:
    found = asked.exact(question)
    keys = found.pop() if private(question) else list(product(*(domain(key) for key in question.group.keys)))
    return [dict(zip(keys, moment, strict=True)) for moment in found]


def distance(one: Any, other: Any) -> int:
    if isinstance(one, tuple) or isinstance(other, tuple):
        sides = [dict(zip(*map(list, side), strict=True)) if isinstance(side, tuple) else {} for side in (one, other)]
        return sum(abs(int(sides[0].get(at, 0)) - int(sides[1].get(at, 0))) for at in {*sides[0], *sides[1]})
    return abs(int(one) - int(other))


def moves(full: Sequence[dict[Any, Any]], less: Sequence[dict[Any, Any]]) -> list[list[int]]:
    return [
        [distance(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}] for one, other in zip(full, less, strict=True)
    ]


def check(quotes, found: list[list[int]], times: Fraction, text: str) -> None:
    """What moved is at most what each mechanism was told; for a whole person, at the price of a lifetime."""
    for quote in quotes:
        for part in quote.sums:
            length = sum(found[part.place]) if isinstance(part.mechanism, Laplace) else sum(x**2 for x in found[part.place])
            most = part.mechanism.sensitivity if isinstance(part.mechanism, Laplace) else part.mechanism.sensitivity**2
            assert length <= most * times, (text, part, found)
        for rank in quote.ranks:
            assert sum(found[rank.place]) <= rank.mechanism.max_rows * times, (text, rank, found)


def check_clinic(asked: Asked, texts: Sequence[str], tables: Sequence[str] = ("visits", "labs")) -> int:
    """Every (person, month) with rows in these tables is taken away in turn; and every person, for the price of a lifetime."""
    checked = 0
    run = asked.engine._connection.execute
    pairs = run(" UNION ".join(f"SELECT tacit_unit, tacit_period FROM {name}" for name in tables)).fetchall()
    for text in texts:
        question = asked.plan(text)
        quotes = price(question, request(epsilon=1))
        full = by_group(asked, question)
        for person, month in pairs:
            with without(asked, person, month, tables):
                found = moves(full, by_group(asked, question))
            check(quotes, found, Fraction(1), text)
            reads = any(low <= month <= high for low, high in charged(question))
            assert reads or not any(map(any, found)), (text, month, found)
            checked += any(map(any, found))
        lifetime = whole_person(quotes[0])
        for person in asked.codes():
            asked.take(person)
            found = moves(full, by_group(asked, question))
            asked.put_back()
            loss = sum(Fraction(sum(found[part.place])) / part.mechanism.scale for part in quotes[0].sums)
            assert lifetime.epsilon is not None
            assert loss <= lifetime.epsilon, (text, person, loss, lifetime)
    return checked
