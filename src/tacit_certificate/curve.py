"""The delta of Gaussian noise that is calibrated as a whole, by three bounds: mechanisms/gaussian_curve.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tacit_certificate.document import Node, rational
from tacit_certificate.numbers import DIRECT, FAR, PI_DOWN, Ends, exp, largest_rho_down, log, normal_tail, sqrt, summed_tail
from tacit_certificate.price import brief, leaves, ratio


def calibrated(event: Node, entries: Iterator[int]) -> Iterator[tuple[str, str]]:
    """What each calibrated event claims, and how that is shown, if it is; a unit moves `entries` numbers of each noise."""
    if event["kind"] == "batch":
        for part in event["events"]:
            yield from calibrated(part, entries)
        return
    moved = [next(entries) for _ in leaves(event)]
    if event["kind"] == "calibrated-gaussian":
        epsilon, delta = (brief(rational(event[name])) for name in ("epsilon", "delta"))
        yield f"all Gaussian noise is (epsilon {epsilon}, delta {delta})", _how(event, moved)


def _how(event: Node, entries: Sequence[int]) -> str:
    """How the delta of a calibrated event is shown; empty if no bound of this program reaches it."""
    epsilon, delta = rational(event["epsilon"]), rational(event["delta"])
    scales = [rational(part["scale"]) for part in event["events"]]
    squares = [rational(part["sensitivity"]) ** 2 for part in event["events"]]
    rho = sum((ratio(part) ** 2 / 2 for part in event["events"]), start=Fraction(0))
    if rho <= largest_rho_down(epsilon, delta):
        return "by the tight conversion of its rho"
    if [*entries] == [1] and whole_shift_delta_up(math.isqrt(squares[0].__floor__()), scales[0], epsilon) <= delta:
        return "by the sums of its law, at the largest whole shift"
    if all(scales) and rounded_delta_up(squares, scales, sum(entries), epsilon) <= delta:
        return "by a normal law of a little less variance, rounded at random"
    return ""


def normal_delta_up(distance: Fraction, epsilon: Fraction) -> Fraction:
    """At or above the delta at epsilon of normal vectors `distance` deviations apart (Balle and Wang 2018, Theorem 8).

    >>> round(float(normal_delta_up(Fraction(1, 2), Fraction(1))), 8)
    0.00682959
    """
    if distance <= 0:
        return Fraction(0)
    start = epsilon / distance - distance / 2
    start, further = _floor(start), _floor(start + distance) + Fraction(1, 2**120)
    return max(Fraction(0), normal_tail(start)[1] - exp(epsilon)[0] * normal_tail(further)[0])


def _floor(x: Fraction) -> Fraction:
    return Fraction(math.floor(x * 2**120), 2**120)


def rounded_delta_up(squares: list[Fraction], scales: list[Fraction], entries: int, epsilon: Fraction) -> Fraction:
    """At or above the delta of discrete Gaussian vectors: a normal law of a little less variance, rounded at random.

    Of each vector the squared l2 sensitivity and scale; `entries` is how many numbers move at most. gaussian_curve.md, section 3.
    """
    best = Fraction(1)
    for eighths in (4, 5, 6, 7, 8, 10, 12, 16):
        spread = Fraction(eighths, 8)
        if min(scales) ** 2 <= 2 * spread**2:
            continue
        q = exp(-2 * PI_DOWN**2 * spread**2)[1]
        theta = 2 * q + 3 * q**4
        slack = entries * (2 * log(1 + theta)[1] - log(1 - theta)[0])
        distance = sqrt(sum((u / (s * s - spread**2) for u, s in zip(squares, scales, strict=True)), start=Fraction(0)))[1]
        bound = exp(entries * log(1 + theta)[1])[1] * normal_delta_up(_floor(distance) + Fraction(1, 2**120), epsilon - slack)
        best = min(best, bound)
    return best


def whole_shift_delta_up(shift: int, scale: Fraction, epsilon: Fraction) -> Fraction:
    """At or above the delta of one number of Gaussian noise that moves by whole steps, at most `shift`: the largest is the worst.

    P[X >= a] - e^epsilon P[X >= a + shift], a the least integer from epsilon scale^2 / shift - shift / 2 on.
    """
    if shift == 0:
        return Fraction(0)
    start = math.ceil(epsilon * scale * scale / shift - Fraction(shift, 2))
    if scale > DIRECT:
        return rounded_delta_up([Fraction(shift * shift)], [scale], 1, epsilon)
    nearer = min(start, math.ceil(2 * FAR * scale))
    second = _one_tail(scale, start + shift)[0] if nearer == start and shift <= FAR * scale else Fraction(0)
    return max(Fraction(0), _one_tail(scale, nearer)[1] - exp(min(epsilon, Fraction(1000)))[0] * second)


def _one_tail(scale: Fraction, start: int) -> Ends:
    """Around P[X >= start]."""
    if start <= 0:
        low, high = _one_tail(scale, 1 - start)
        return 1 - high, 1 - low
    low, high = summed_tail(scale, start - 1)
    return low / 2, high / 2
