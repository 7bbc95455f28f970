"""The rank of a row among its unit's rows: its place in the order of a keyed hash of its canonical text.

The order depends on the ranking key, the row's own key (its unit, or what leads to it) and the prepared row. It does not depend on
the order of rows, files or threads, nor on other units. Rows with the same canonical text are interchangeable. The hash is MD5,
which every engine has, with 128 random key bits in front; the first 64 bits are compared. Nothing requires collisions to be hard to
find (store.md).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.data.prepare.bit_packing import Packing
from tacit.data.prepare.keys import Keys
from tacit.errors import StoreUnusable
from tacit.files import replace_file
from tacit.mechanisms.noise import bits

KEY_FILE = "rank.key"
KEY_BYTES = 16
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
    return base64.b64encode(bytes.fromhex(key)).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class LookUp:
    """Pairs (`tacit_link`, `tacit_holder`) by the name of their table, and the largest number of holders of one link."""

    pairs: str
    most: int


def place_of(packing: Packing, own_key: str, keys: Keys) -> str:
    """SQL for the place of a staged row in the order of its unit's rows: its hash, under the ranking key `$key`.

    Every engine takes the hash from here. Where another makes the store, the embedded engine computes it while it cleans.
    """
    words = packing.words
    own = f"CAST({own_key} AS {words.types.text})" if keys.as_text else own_key
    is_text = keys.as_text or keys.type == words.types.text
    named = f"{words.bytes_of(own)}, ':', {own}" if is_text else own
    canonical = ", ',', ".join([f"$key, {named}", *packing.canonical()])
    return words.hashed(f"concat({canonical})")


@dataclass(frozen=True, slots=True)
class Ranking:
    """How the rows of one table are ranked: `own_key` is SQL for their own key, a unit has at most `most` rows.

    `key` is the column declared with `key = true`, if any: of the rows of a unit that repeat it, the first is kept. `coded` are
    further key columns that stay with the rows. `texts` are those key columns that are numbers and stand for texts. `placed` says
    that the staged rows already have their places.
    """

    packing: Packing
    own_key: str
    keys: Keys
    key: str | None
    most: int
    coded: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    placed: bool = False

    def ranked(self, staged: str, condition: str, look_ups: Sequence[LookUp]) -> str:
        """SQL for the rows that the limit keeps, one for each owner (`tacit_holder`), each with its rank.

        Where a row can have several owners, `tacit_row` says which rows are copies of one. If a key has a crowd of holders, its
        rows are first reduced to as many as one unit can keep. That does not change the result (store.md), and bounds the number
        of copies.
        """
        columns = [*(["tacit_row"] if look_ups else []), *self._kept()]
        rows, several = self._placed(staged, condition, columns), False
        for look_up in look_ups:
            rows = self._led(self._first(rows) if look_up.most > CROWD else rows, look_up.pairs, once=several)
            several = several or look_up.most > 1
        return f"SELECT {', '.join([*columns, 'tacit_holder', 'tacit_rank'])} FROM ({self._first(rows)})"

    def alone(self, staged: str, condition: str) -> str:
        """The same, if every row is the only one of its unit: then its rank is 0, and it needs no place in an order."""
        rank = self.packing.words.constant("0", self.packing.words.types.whole)
        columns = [*self._kept(), f"{self.own_key} AS tacit_holder", f"{rank} AS tacit_rank"]
        return f"SELECT {', '.join(columns)} FROM {staged} WHERE {condition} AND {self.own_key} IS NOT NULL"

    def _placed(self, staged: str, condition: str, columns: Sequence[str]) -> str:
        """The rows with an own key; `$key` is the ranking key."""
        words = self.packing.words
        place = "tacit_place" if self.placed else f"{place_of(self.packing, self.own_key, self.keys)} AS tacit_place"
        numbered = f"{words.row} AS tacit_row, *" if "tacit_row" in columns else "*"
        rows = f"SELECT {numbered} FROM {staged} WHERE {condition} AND {self.own_key} IS NOT NULL"
        return f"SELECT {', '.join([*columns, f'{self.own_key} AS tacit_holder', place])} FROM ({rows})"

    def _first(self, rows: str) -> str:
        """The first rows of every holder, each with its rank; rows with equal values are ordered by their keys."""
        keys = [self._as_text(key) if key in self.texts else key for key in self._keys()]
        order = ", ".join(["tacit_place", *(f"{key} NULLS LAST" for key in keys)])
        if self.key:
            first = f"row_number() OVER (PARTITION BY tacit_holder, {self.key} ORDER BY {order}) = 1"
            rows = self.packing.words.where(rows, f"{self.key} IS NULL OR {first}")
        place = f"row_number() OVER (PARTITION BY tacit_holder ORDER BY {order}) - 1"
        rank = f"CAST({place} AS {self.packing.words.types.whole}) AS tacit_rank"
        return f"SELECT * FROM (SELECT *, {rank} FROM ({rows})) WHERE tacit_rank < {self.most}"

    def _led(self, rows: str, pairs: str, once: bool) -> str:
        """The rows with what their holders lead to; `once` if a row can reach one in several ways."""
        carried = ", ".join(f"held.{column}" for column in ("tacit_row", *self._kept(), "tacit_place"))
        joined = f"({rows}) AS held JOIN {pairs} AS pairs ON held.tacit_holder = pairs.tacit_link"
        return f"SELECT {'DISTINCT ' if once else ''}{carried}, pairs.tacit_holder FROM {joined}"

    def _as_text(self, key: str) -> str:
        return f"CAST({key} AS {self.packing.words.types.text})"

    def _kept(self) -> list[str]:
        return [*self.packing.names, *self._keys()]

    def _keys(self) -> list[str]:
        return list(dict.fromkeys([*([self.key] if self.key else []), *self.coded]))
