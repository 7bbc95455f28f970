"""The rank of a row among its unit's rows: its place in the order of a keyed hash of its canonical text.

The order depends on the key, the unit and what is prepared of the row: not on the order of rows, files or threads, and not on
other units. Rows with one canonical text are interchangeable. The hash is MD5 (128 random bits of key in front; the first 64
bits are compared), which every engine has; nothing rests on collisions being hard to find (store.md).
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

from tacit.errors import StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.query.prepare.packing import Packing, measured

KEY_FILE = "rank.key"
KEY_BYTES = 16


def ranking_key(folder: Path) -> str:
    """The key that ranks are made with, as text: drawn once, and then re-used for ever, so that limits keep the same rows."""
    file = folder / KEY_FILE
    if not file.exists():
        _create(file, bits.random_bytes(KEY_BYTES).hex())
    key = file.read_text("ascii", errors="replace").strip()
    if len(key) != 2 * KEY_BYTES or set(key) - set("0123456789abcdef"):
        raise StoreUnusable(
            f"the ranking key is damaged ({file})", remedy="put back a copy, or remove it to have limits keep other rows"
        )
    return base64.b64encode(bytes.fromhex(key)).decode().rstrip("=")


def _create(file: Path, content: str) -> None:
    """The file as a whole or not at all."""
    new = file.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(content + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(new, file)


def ranked(rows: str, packing: Packing, unit_type: str, key: str | None, most: int) -> str:
    """SQL for the packed rows with a unit that a limit of `most` rows per unit keeps, each with its rank.

    `$key` is the ranking key. Rows that repeat the `key` of their table within a unit are reduced to the first of them.
    """
    values = ", ".join(["tacit_unit", *packing.names])
    unit = measured("tacit_unit") if unit_type == "VARCHAR" else "tacit_unit"
    canonical = ", ',', ".join([f"$key, {unit}", *packing.canonical()])
    place = f"CAST(md5_number(concat({canonical})) >> 64 AS UBIGINT) AS tacit_place"
    placed = f"SELECT {values}, {place}{f', {key}' if key else ''} FROM ({rows}) WHERE tacit_unit IS NOT NULL"
    if key:
        first = f"row_number() OVER (PARTITION BY tacit_unit, {key} ORDER BY tacit_place) = 1"
        placed = f"SELECT * FROM ({placed}) QUALIFY {key} IS NULL OR {first}"
    rank = "row_number() OVER (PARTITION BY tacit_unit ORDER BY tacit_place) - 1 AS tacit_rank"
    return f"SELECT * FROM (SELECT {values}, {rank} FROM ({placed})) WHERE tacit_rank < {most}"
