"""The rank of a row among its unit's rows: its place in the order of a keyed hash, in SQL, of its canonical form.

The order depends on the ranking key, the row's own key (its unit, or what leads to it) and the prepared row. It does not depend on
the order of rows, files or threads, nor on other units. Rows with the same canonical form are interchangeable. The canonical form
is a list of whole numbers: the row's own key, the packed codes and, where a row has texts, 56 bits of their keyed MD5 (store.md).

The hash works in 64-bit integers: two universal hashes by the secret key, and three Feistel rounds that mix them. A row is a list
of whole numbers, cut into parts of 28 bits. Each half of the state is the sum of the parts, times secret numbers, modulo the prime
2^31 - 1. The rounds permute the states. No step overflows, and every engine has every step. store.md says what this guarantees, and
why no more is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.data.dialect import DUCKDB, Dialect
from tacit.data.engine import ByHolder
from tacit.data.prepare.packing import Keys, Packing
from tacit.data.store import PERIOD
from tacit.errors import StoreUnusable
from tacit.files import replace_file
from tacit.mechanisms.noise import bits

PRIME = 2**31 - 1
PART = 28  # bits: a part times a number below PRIME is below 2^59
MOST_PRODUCTS = 15  # of parts in one sum, which stays below 2^63
ROUNDS = 3
SHIFT = 16  # a round takes the middle bits of a product


def parts(sql: str, bits: int, words: Dialect) -> list[str]:
    """SQL for the parts of a non-negative integer of `bits` bits, the lowest first.

    >>> from tacit.data.dialect import DUCKDB
    >>> parts("x", 40, DUCKDB)
    ['(x & 268435455)', '((x >> 28) & 268435455)']
    """
    shifts = range(0, bits, PART)
    return [f"({words.shifted_right(sql, str(shift)) if shift else sql} & {2**PART - 1})" for shift in shifts]


def secrets(key: str, count: int) -> dict[str, int]:
    """The secret numbers, by the names under which the SQL of `place_rows` expects them, for rows of `count` parts."""
    names = [*_multipliers(0, count), *_multipliers(1, count), *map(_of_round, range(ROUNDS))]
    return {name: int.from_bytes(hashlib.sha256(f"{key} {name}".encode()).digest()) % PRIME for name in names}


def place_rows(rows: str, carried: Sequence[str], given: Sequence[str], words: Dialect) -> str:
    """SQL for the rows with the columns to carry, and `tacit_place`: the hash of the `given` parts, an integer below 2^62."""
    kept, names = ", ".join(carried), [f"tacit_part_{place}" for place in range(len(given))]
    taken = ", ".join(f"{part} AS {name}" for part, name in zip(given, names, strict=True))
    halves = ", ".join(f"{_sum(names, lane, words)} AS tacit_half_{lane}" for lane in (0, 1))
    query = f"SELECT {kept}, {halves} FROM (SELECT {kept}, {taken} FROM ({rows}))"
    for number in range(ROUNDS):
        one, other = (f"tacit_half_{half}" for half in ((0, 1) if number % 2 == 0 else (1, 0)))
        product = f"({one} * ({one} + {_secret(_of_round(number), words)}))"
        mixed = words.xored(other, f"({words.shifted_right(product, str(SHIFT))} & {PRIME})")
        query = f"SELECT {kept}, {one}, {mixed} AS {other} FROM ({query})"
    return f"SELECT {kept}, {words.shifted_left('tacit_half_0', '31')} + tacit_half_1 AS tacit_place FROM ({query})"


def _sum(names: Sequence[str], lane: int, words: Dialect) -> str:
    """SQL for one half of the state before the rounds."""
    first, *multipliers = (_secret(each, words) for each in _multipliers(lane, len(names)))
    products = [f"{secret} * {name}" for secret, name in zip(multipliers, names, strict=True)]
    total = first
    for start in range(0, len(products), MOST_PRODUCTS):
        total = f"(({' + '.join([total, *products[start : start + MOST_PRODUCTS]])}) % {PRIME})"
    return total


def _multipliers(lane: int, count: int) -> list[str]:
    """The names of what a sum begins with, and of what each part is multiplied by."""
    return [f"tacit_lane_{lane}_{place}" for place in range(count + 1)]


def _of_round(number: int) -> str:
    return f"tacit_round_{number}"


def _secret(name: str, words: Dialect) -> str:
    return f"CAST(${name} AS {words.types.whole})"


# --- the rank of a row among its unit's rows ---------------------------------------------------------------------------------


KEY_FILE = "rank.key"
KEY_BYTES = 16
OWN_BITS, TEXT_BITS = 56, 56  # of the own key and of the hash of texts
SIGNLESS = 2**63 - 1
CROWD = 4  # number of holders of one key from which its rows are reduced before they are copied


def ranking_key(folder: Path) -> str:
    """The key for ranks, as text: drawn once and then reused forever, so that limits keep the same rows."""
    file = folder / KEY_FILE
    if not file.exists():
        replace_file(file, f"{bits.random_bytes(KEY_BYTES).hex()}\n")
    key = file.read_text("ascii", errors="replace").strip()
    if len(key) != 2 * KEY_BYTES or set(key) - set("0123456789abcdef"):
        raise StoreUnusable(
            f"the ranking key is corrupt ({file})", remedy="restore it from a backup, or remove it: limits then keep other rows"
        )
    return key


@dataclass(frozen=True, slots=True)
class LookUp:
    """Pairs (`tacit_link`, `tacit_holder`) by the name of their table, and the largest number of holders of one link.

    If they are `dated`, each has a `tacit_period`, and one of them for each; `known` has those of periods that have not begun too.
    """

    pairs: str
    most: int
    dated: bool = False
    known: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How the rows of one table are ranked: `own_key` is SQL for their own key, a unit has at most `most` rows.

    `key` is the column declared with `key = true`, if any: of the rows of a unit that repeat it, the first is kept. `coded` are
    further key columns that stay with the rows. `texts` are those key columns that are numbers and stand for texts. If the rows
    `have_places`, another engine has hashed them. With a `period`, SQL over a packed row, limits and keys count within it: then no
    row of another period has a say in which rows are kept.
    """

    packing: Packing
    own_key: str
    keys: Keys
    key: str | None
    most: int
    coded: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    have_places: bool = False
    period: str = ""
    led: bool = False  # whether the period is that of a pair, by which the rows are led to their units

    def ranked(self, staged: str, condition: str, look_ups: Sequence[LookUp]) -> ByHolder:
        """The query for the rows that the limit keeps, one for each owner (`tacit_holder`), each with its rank.

        Where a row can have several owners, `tacit_row` says which rows are copies of one. If a key has a crowd of holders, its
        rows are first reduced to as many as one unit can keep. That does not change the result (store.md), and bounds the number
        of copies.
        """
        columns = [*(["tacit_row"] if look_ups else []), *self._carried_columns()]
        rows, several = self._rows_with_places(staged, condition, columns), False
        here = replace(self, period="") if self.led else self  # rows have no period before it is looked up
        for look_up in look_ups:
            rows = here._join_owners(here._first(rows) if look_up.most > CROWD else rows, look_up, once=several)
            several, here = several or look_up.most > 1, self if look_up.dated else here
        columns = [*columns, *([PERIOD] if self.led else [])]
        kept, last = ", ".join([*columns, "tacit_holder", "tacit_rank"]), replace(self, packing=replace(self.packing, words=DUCKDB))
        return ByHolder(rows, lambda relation: f"SELECT {kept} FROM ({last._first(f'FROM {relation}')})")

    def alone(self, staged: str, condition: str) -> str:
        """SQL for the same, if every row is the only one of its unit: then its rank is 0, and it needs no place in an order."""
        rank = self.packing.words.constant("0", self.packing.words.types.whole)
        columns = [*self._carried_columns(), f"{self.own_key} AS tacit_holder", f"{rank} AS tacit_rank"]
        return f"SELECT {', '.join(columns)} FROM {staged} WHERE {condition} AND {self.own_key} IS NOT NULL"

    def secrets(self, key: str) -> Mapping[str, int | str]:
        """The parameters of the statements of `ranked` and `places`, derived from the ranking key."""
        if self.have_places:
            return {}
        of_texts = {"key": key} if self._own_is_text or self.packing.texts else {}
        return {**of_texts, **secrets(key, len(self._parts()))}

    def _rows_with_places(self, staged: str, condition: str, columns: Sequence[str]) -> str:
        """The rows with an own key, each with its place in the order."""
        numbered = f"{self.packing.words.row} AS tacit_row, *" if "tacit_row" in columns else "*"
        rows = f"SELECT {numbered}, {self.own_key} AS tacit_holder FROM {staged} WHERE {condition} AND {self.own_key} IS NOT NULL"
        if self.have_places:
            return f"SELECT {', '.join([*columns, 'tacit_holder', 'tacit_place'])} FROM ({rows})"
        return self.places(rows, [*columns, "tacit_holder"])

    def places(self, rows: str, columns: Sequence[str]) -> str:
        """SQL for rows whose own key is `tacit_holder`: the given columns, and `tacit_place`. Every engine's hash is this one."""
        return place_rows(rows, columns, self._parts(), self.packing.words)

    def _parts(self) -> list[str]:
        """SQL for the canonical form of a row, from its columns and `tacit_holder`."""
        words = self.packing.words
        form = parts(f"({self._own_number()} & {SIGNLESS})", OWN_BITS, words)
        for number, width in self.packing.widths.items():
            form += parts(number, width, words)
        if texts := self.packing.canonical_texts():
            joined = ", ',', ".join(texts)
            form += parts(words.hashed(f"concat($key, {joined})"), TEXT_BITS, words)
        return form

    def _own_number(self) -> str:
        """The own key if it is, or its text is, an integer of 64 bits; else 56 bits of the keyed MD5 of its text."""
        words, types = self.packing.words, self.packing.words.types
        if not self._own_is_text:
            return "tacit_holder"
        text = "tacit_holder" if self.keys.type == types.text else self._as_text("tacit_holder")
        number = words.cast_or_null(text, types.whole)
        hashed = words.hashed(f"concat($key, {text})")
        return f"CASE WHEN {self._as_text(number)} = {text} THEN {number} ELSE {hashed} END"

    @property
    def _own_is_text(self) -> bool:
        return self.keys.type != self.packing.words.types.whole

    def _first(self, rows: str) -> str:
        """The first rows of every holder, each with its rank; rows with equal values are ordered by their keys."""
        keys = [self._as_text(key) if key in self.texts else key for key in self._keys()]
        order = ", ".join(["tacit_place", *(f"{key} NULLS LAST" for key in keys)])
        within = f"tacit_holder, {self.period}" if self.period else "tacit_holder"
        if self.key:
            first = f"row_number() OVER (PARTITION BY {within}, {self.key} ORDER BY {order}) = 1"
            rows = self.packing.words.where(rows, f"{self.key} IS NULL OR {first}")
        place = f"row_number() OVER (PARTITION BY {within} ORDER BY {order}) - 1"
        rank = f"CAST({place} AS {self.packing.words.types.whole}) AS tacit_rank"
        return f"SELECT * FROM (SELECT *, {rank} FROM ({rows})) WHERE tacit_rank < {self.most}"

    def _join_owners(self, rows: str, look_up: LookUp, once: bool) -> str:
        """SQL for the rows joined to their owners, one row for each period of theirs; deduplicated with `once`."""
        dated = (PERIOD,) if self.led and self.period else ()
        carried = ", ".join(f"held.{column}" for column in ("tacit_row", *self._carried_columns(), "tacit_place", *dated))
        carried += f", pairs.{PERIOD}" if self.led and look_up.dated else ""
        joined = f"({rows}) AS held JOIN {look_up.pairs} AS pairs ON held.tacit_holder = pairs.tacit_link"
        return f"SELECT {'DISTINCT ' if once else ''}{carried}, pairs.tacit_holder FROM {joined}"

    def _as_text(self, key: str) -> str:
        return f"CAST({key} AS {self.packing.words.types.text})"

    def _carried_columns(self) -> list[str]:
        return [*self.packing.names, *self._keys()]

    def _keys(self) -> list[str]:
        return list(dict.fromkeys([*([self.key] if self.key else []), *self.coded]))
