"""From released numbers to the columns of an answer, with their ends: from public parameters and released values only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.query.groups import key_value
from tacit.query.plan import Call
from tacit.query.price.aggregates import finished, moments_of
from tacit.query.price.error_bars import Band, Floats, certain
from tacit.query.price.price import Quote, missed_by
from tacit.query.results import Arithmetic, Beside, Fixed, KeyValue, Number, Out, Result, Rounded
from tacit.release.noisy import Noisy, half_width


def band_of(out: Out, quote: Quote, noisy: Noisy) -> Band:
    """An output of the question for every group; all of its released parts miss together with at most 1 - confidence."""
    return _band(out, quote, noisy, missed_in(out, quote, noisy))


def missed_in(out: Out, quote: Quote, noisy: Noisy) -> Fraction:
    """The chance with which each released number of an output may miss."""
    return missed_by(out, quote.question, quote.request, max(1, len(noisy.groups)))


def _band(out: Out, quote: Quote, noisy: Noisy, missed: Fraction) -> Band:
    match out:
        case Result():
            return _result(quote.question.calls[out.index], quote, noisy, missed)
        case Arithmetic():
            left, right = (_band(side, quote, noisy, missed) for side in (out.left, out.right))
            return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[out.operator](right)
        case Rounded():
            child = _band(out.child, quote, noisy, missed)
            unit = 10.0**out.decimals
            return child.mapped(lambda numbers: np.floor(numbers * unit + 0.5) / unit)
        case Beside():
            return _same_for_all(out.index, quote, noisy, missed)
        case Number():
            return certain(float(out.value), _zeros(noisy))
        case KeyValue():
            return _key(out.index, quote, noisy)
        case Fixed(None):
            nothing = np.full(len(noisy.groups), np.nan)
            return Band(nothing, nothing, nothing)
        case _:
            raise TypeError(f"{type(out).__name__} is not read by the binder yet")


def _same_for_all(index: int, quote: Quote, noisy: Noisy, missed: Fraction) -> Band:
    """The one number of a question beside this one, in every group."""
    other = quote.beside[index]
    one = _band(other.question.outputs[0].value, other, noisy.beside[index], missed)
    return Band(*(np.full(len(noisy.groups), numbers[0]) for numbers in (one.value, one.low, one.high)))


def _zeros(noisy: Noisy) -> Band:
    zeros = np.zeros(len(noisy.groups))
    return Band(zeros, zeros, zeros)


def _key(index: int, quote: Quote, noisy: Noisy) -> Band:
    """A key as a number, for arithmetic with it."""
    term = quote.question.group.keys[index].term
    numbers = np.array([np.nan if group[index] is None else float(key_value(term, group[index])) for group in noisy.groups])
    return Band(numbers, numbers, numbers)


def _result(call: Call, quote: Quote, noisy: Noisy, missed: Fraction) -> Band:
    if call.name == "quantile":
        return finished(call, quote.question.calls, (Band(*noisy.ranks[call]),))
    moments = quote.question.group.moments
    places = [moments.index(moment) for moment in moments_of(call, quote.question.calls)]
    return finished(call, quote.question.calls, tuple(_bands(places, quote, noisy, missed)))


def _bands(places: Sequence[int], quote: Quote, noisy: Noisy, missed: Fraction) -> list[Band]:
    bands = []
    for place in places:
        if place in noisy.sums:
            part, released = noisy.sums[place]
            values, width = _floats(released), half_width(part, missed)
            bands.append(Band(values, values - width.below, values + width.above))
        else:
            bands.append(_counted_units(quote, noisy, missed))
    return bands


def _counted_units(quote: Quote, noisy: Noisy, missed: Fraction) -> Band:
    """The numbers of units that came with private keys; their ends hold given that the group is shown."""
    assert quote.keys is not None  # noqa: S101  # only then are units not among the sums
    assert noisy.units is not None  # noqa: S101
    return Band(_floats(noisy.units), *map(_floats, quote.keys.ends(noisy.units, 1 - missed)))


def _floats(numbers: Any) -> Floats:
    return np.asarray(numbers, dtype=np.float64)
