"""Figures of one part of the benchmark on one number of rows, kept as JSON under benchmarks/out, so that parts run one by one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.tables import OUT

KEPT = OUT / "scale"
Costs = dict[str, float]  # seconds by question, and to "prepare"


@dataclass(frozen=True)
class Figures:
    """Seconds of wall time and of processor time; `why` says why a question has none, `by` what prepared the store.

    `megabytes` is the most that preparation held, and `stored` the bytes of the store in Parquet.
    """

    part: str
    rows: int
    wall: Costs
    plain: Costs = field(default_factory=dict)
    processor: Costs = field(default_factory=dict)
    plain_processor: Costs = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    by: str = ""
    turns: int = 1
    megabytes: float | None = None
    stored: int | None = None
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))


def keep(found: Figures, folder: Path = KEPT) -> None:
    """Writes the figures, in place of those that the same part had on as many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{found.part}-{found.rows}.json").write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")


def kept(folder: Path = KEPT) -> list[Figures]:
    """All figures, those on few rows first."""
    found = [Figures(**json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]
    return sorted(found, key=lambda each: (each.rows, each.part))
