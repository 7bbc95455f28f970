"""Released numbers on their way back from an engine: bytes that contain only numbers and keys, behind the fingerprint of the quote.

The receiver knows the quote, so for public groups only the numbers are sent. Nothing unpacked is executed: the answering process
stays isolated from the asking one, which takes the shape of its own quote and nothing else.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any

import numpy as np

from tacit.errors import InvalidValue
from tacit.query.engines.engine import out_of_limits
from tacit.query.engines.exact import Exact
from tacit.query.intervals.bands import Integers, Noisy
from tacit.query.plan import Group
from tacit.query.price.quote import Quote
from tacit.query.question import domain, size, without_names
from tacit.release.elsewhere.frames import FAILED, FINGERPRINT, NUMBERS, Line, Malformed
from tacit.release.elsewhere.quotes import fingerprint_of
from tacit.release.noisy import ran, released, together

KEYS = (str, int, float, type(None))  # the types of a group's key
WHOLE, REAL, WIDE = "i8", "f8", "wide"  # 64-bit integers, doubles, and integers of any size as JSON
NARROW = ("i2", "i4")  # the same where all numbers fit: only as text, since the length of a message must not depend on numbers


@dataclass(frozen=True, slots=True)
class Sent:
    """A paid question as it is sent: the message, the fingerprint that its reply begins with, and the kind of that reply.

    `reason` makes words for the data owner's log of the byte of a failure, if the door has a list of reasons.
    """

    kind: bytes
    content: bytes
    fingerprint: str
    reply: bytes = NUMBERS
    reason: Callable[[bytes], str] = lambda _: ""


def released_by(line: Line, sent: Sent, quote: Quote, seconds: float) -> Noisy:
    """The numbers that an engine released for a paid question: `TimedOut` if it failed, `OSError` and `InvalidValue` for a lie."""
    kind, content = line.exchange(sent.kind, sent.content, sent.reply + FAILED, seconds)
    if kind == FAILED:
        raise out_of_limits(sent.reason(content))
    if content[:FINGERPRINT] != sent.fingerprint.encode():
        raise Malformed("numbers of another quote")
    return unpacked(quote, content[FINGERPRINT:])


def numbers_of(quote: Quote, run: Callable[[Group], Exact], fingerprint: str) -> bytes:
    """The reply of an engine to a paid question: run, noised, and behind its fingerprint."""
    return fingerprint.encode() + packed(quote, released(quote, ran(quote, run)))


def packed(quote: Quote, noisy: Noisy, narrow: bool = False) -> bytes:
    """The released numbers as bytes: a line of JSON with the lengths of the parts of the question, then the parts themselves.

    With `narrow`, integers have as few bytes as all of an array fit into.
    """
    parts = [_packed_part(*part, narrow) for part in zip(quote.parts, noisy.parts, strict=True)]
    return b"".join([json.dumps([len(data) for data in parts]).encode(), b"\n", *parts])


def _packed_part(quote: Quote, noisy: Noisy, narrow: bool) -> bytes:
    """One part: a line of JSON with the keys of private groups and the arrays, then the arrays themselves."""
    keys = [list(group) for group in noisy.groups] if quote.keys else None
    parts = [_array_written(array, NARROW if narrow else ()) for array in _arrays(quote, noisy)]
    head = json.dumps([keys, [[kind, len(data)] for kind, data in parts]])
    return b"".join([head.encode(), b"\n", *(data for _, data in parts)])


def _arrays(quote: Quote, noisy: Noisy) -> list[Integers]:
    """Every array of numbers, in the order of the quote."""
    sums = [*(numbers for each in noisy.measured for numbers in each), *(noisy.sums[part.place][1] for part in quote.sums)]
    ranks = [ends for part in quote.drawn for ends in noisy.ranks[part.call]]
    return [*sums, *ranks, *([] if noisy.units is None else [noisy.units])]


def _array_written(array: Integers, narrow: tuple[str, ...]) -> tuple[str, bytes]:
    if array.dtype == object:
        return WIDE, json.dumps([int(number) for number in array]).encode()
    kind = REAL if array.dtype.kind == "f" else next((each for each in narrow if _fits(array, np.iinfo(each))), WHOLE)
    return kind, np.ascontiguousarray(array, dtype=kind).tobytes()


def _fits(array: Integers, kind: Any) -> bool:
    return not len(array) or (kind.min <= array.min() and array.max() <= kind.max)


def unpacked(quote: Quote, data: bytes) -> Noisy:
    """The numbers that `packed` wrote for the same quote; `InvalidValue` for anything else."""
    line, _, rest = data.partition(b"\n")
    try:
        lengths = json.loads(line)
        if not all(type(each) is int and each >= 0 for each in lengths) or sum(lengths) != len(rest):
            raise ValueError("parts of another question")
        ends = list(accumulate(lengths, initial=0))
        pieces = [rest[start:end] for start, end in pairwise(ends)]
        parts = [_unpacked_part(*part) for part in zip(quote.parts, pieces, strict=True)]
        return together(quote, parts)
    except (ValueError, TypeError, RecursionError):
        raise InvalidValue("what came back is not an answer to the question") from None


def _unpacked_part(quote: Quote, data: bytes) -> Noisy:
    """The numbers of one part."""
    line, _, numbers = data.partition(b"\n")
    keys, parts = json.loads(line)
    groups = _groups(quote, keys)
    cells = len(groups) if quote.keys else prod(size(key) for key in quote.question.group.keys)
    shared = [each.noise.dimension for workload in quote.workloads for each in workload.strategy.measurements]
    expected = [WHOLE] * (len(shared) + len(quote.sums)) + [REAL] * (3 * len(quote.drawn)) + [WHOLE] * bool(quote.keys)
    lengths = [*shared, *[cells] * (len(expected) - len(shared))]
    arrays = iter([_read(*part, length) for part, length in zip(_split(numbers, parts, expected), lengths, strict=True)])
    measured = tuple(tuple(next(arrays) for _ in workload.strategy.measurements) for workload in quote.workloads)
    sums = {part.place: (part, next(arrays)) for part in quote.sums}
    ranks = {part.call: (next(arrays), next(arrays), next(arrays)) for part in quote.drawn}
    return Noisy(groups, sums, ranks, next(arrays) if quote.keys else None, measured)


def _groups(quote: Quote, keys: Any) -> tuple[tuple[Any, ...], ...]:
    if quote.keys is None:
        if keys is not None:
            raise ValueError("keys that are public do not travel")
        return tuple(product(*(domain(key) for key in quote.question.group.keys)))
    groups = tuple(tuple(key) for key in keys)
    expected = len(quote.question.group.keys)
    if not all(len(group) == expected and all(isinstance(value, KEYS) for value in group) for group in groups):
        raise ValueError("keys of another question")
    return groups


def _split(numbers: bytes, parts: Any, expected: list[str]) -> Iterator[tuple[str, bytes]]:
    """The bytes of every part, of the kinds that the quote expects; integers may be wide."""
    start = 0
    for wanted, (kind, length) in zip(expected, parts, strict=True):
        if kind not in ({WHOLE, WIDE, *NARROW} if wanted == WHOLE else {REAL}) or not isinstance(length, int) or length < 0:
            raise ValueError("numbers of another kind")
        yield kind, numbers[start : start + length]
        start += length
    if start != len(numbers):
        raise ValueError("numbers of another question")


def _read(kind: str, data: bytes, cells: int) -> Integers:
    if kind == WIDE:
        numbers = json.loads(data)
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise ValueError("not whole numbers")
        array = np.array([*numbers, None], dtype=object)[:-1]  # never a matrix, nor 64-bit
    else:
        array = np.frombuffer(data, dtype=kind).astype(REAL if kind == REAL else WHOLE)  # a copy
    if len(array) != cells:
        raise ValueError("numbers of another question")
    return array


# --- as text, kept with an answer, so that more can be made of its numbers later ---------------------------------------------


MOST_KEPT = 50_000  # released numbers
LENGTH = 64  # characters of a fingerprint


def parts_text(quote: Quote, noisy: Noisy, version: str) -> str | None:
    """The released numbers of an answer as text, behind the fingerprint of their quote; None if they are too many."""
    size = sum(len(part.groups) * (len(part.sums) + 3 * len(part.ranks)) for part in noisy.parts)
    if size > MOST_KEPT:
        return None
    return fingerprint_of(_for_all(quote), version) + b64encode(packed(quote, noisy, narrow=True)).decode()


def _for_all(quote: Quote) -> Quote:
    """The same for all who ask a question, whatever they call its columns and however many groups they allow."""
    asked = replace(quote.request, groups=None, weights=())  # weights have names; the noise has what follows from them
    sources = tuple(replace(group, keys=tuple(replace(key, name="") for key in group.keys)) for group in quote.sources)
    beside, below = (tuple(map(_for_all, parts)) for parts in (quote.beside, quote.below))
    return replace(quote, question=without_names(quote.question), request=asked, sources=sources, beside=beside, below=below)


def parts_read(quote: Quote, text: str | None, version: str) -> Noisy | None:
    """The numbers that `parts_text` wrote for the same quote; None without such a text."""
    if text is None or text[:LENGTH] not in (fingerprint_of(each, version) for each in (_for_all(quote), quote)):
        return None  # an earlier version named the quote itself
    try:
        return unpacked(quote, b64decode(text[LENGTH:]))
    except (InvalidValue, ValueError):
        return None
