"""Plain numbers onto their grid outside the engine, as grids.py does it in SQL: exactly, in integers of 64 bits.

The reader of texts finds numbers that are plain in all rows of a block. It places them itself, which takes a tenth of the time of
the engine. Both ways give every number the same point and the same fate (store.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.dialect import DUCKDB
from tacit.data.files.raw import Raw
from tacit.data.files.tidy import DIGITS, OnGrid, Places, Scaled
from tacit.data.prepare.grids import ABOVE, BELOW, CLEAN, MISSING, ROUNDED, SMALL, Cleaning, decimals, from_text, grid, measures
from tacit.privacy.catalog import Column


def is_plain(column: Column) -> bool:
    """Whether numbers of a column are written with a decimal point, and its grid fits integers at the scale of plain numbers."""
    notation = column.notation
    written = (notation.decimal, notation.thousands, notation.missing) == (".", "", ())
    if not written or column.kind != "number" or max(decimals(column, number) for number in measures(column)) > DIGITS:
        return False
    points = grid(column, DUCKDB, DIGITS)
    return 2 * max(abs(points.low), abs(points.high), points.step) < SMALL


def on_grid(column: Column) -> OnGrid:
    """What gives the numbers of a column their points and fates."""
    points = grid(column, DUCKDB, DIGITS)
    scaled = (points.low, points.high, points.step)
    whole = tuple(each // 10**DIGITS for each in scaled) if all(each % 10**DIGITS == 0 for each in scaled) else None

    def placed(given: Scaled) -> tuple[Places, NDArray[np.uint8]]:
        if given.digits == 0 and whole is not None:
            return _placed(given, *whole)
        return _placed(_at_scale(given), *scaled)

    return placed


def _at_scale(given: Scaled) -> Scaled:
    return given if given.digits else Scaled(given.numbers * 10**DIGITS, DIGITS, given.missing)


def _placed(given: Scaled, low: int, high: int, step: int) -> tuple[Places, NDArray[np.uint8]]:
    """floor((x - low) / step + 1/2) of x held between the bounds, with the fate of x; all integers are at one scale."""
    held = np.clip(given.numbers, low, high)
    offsets = held - low
    points = (offsets + step // 2) // step if step > 1 else offsets
    fates = np.full(len(held), CLEAN, np.uint8)
    if step > 1:
        fates[points * step != offsets] = ROUNDED
    outside = held != given.numbers
    if outside.any():
        fates[outside] = np.where(given.numbers[outside] < low, BELOW, ABOVE)
    if given.missing is not None:
        fates[given.missing] = MISSING
    return points, fates


def from_plain(column: Column, raw: Raw) -> Cleaning:
    """Numbers that the reader of texts has placed already, and the others by their text."""
    as_text, point, fate = from_text(column, raw), raw.part("n"), raw.part("f")
    layers = ({**as_text.layers[0], point: raw.number or "NULL", fate: raw.fate or "NULL"}, *as_text.layers[1:])
    either = "CASE WHEN {fate} IS NOT NULL THEN {ours} ELSE {theirs} END"
    return Cleaning(
        layers,
        either.format(fate=fate, ours=fate, theirs=as_text.fate),
        either.format(fate=fate, ours=point, theirs=as_text.code),
    )
