"""SELECT from an answer on neighbouring tables: with the same released numbers, everything that leaves is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hospital import files, session_at
from tacit.errors import TacitError
from tacit.release import derived
from tacit.session import Session
from tacit.session import open as open_data

COUNTED = "(SELECT ward, kind, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward, kind)"
PRIVATE = "(SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis)"
ALL, OF = "(SELECT COUNT(*) FROM visits)", "(SELECT COUNT(*) FROM patients)"
STATEMENTS = [
    f"SELECT ward, n / SUM(n) OVER () AS share, RANK() OVER (ORDER BY c) AS place FROM {COUNTED} t WHERE n > 3 ORDER BY n",
    f"SELECT w.floor, SUM(n) AS n, MAX(c) AS c FROM {COUNTED} t JOIN wards w ON w.ward = t.ward GROUP BY w.floor",
    f"SELECT n, COUNT(*) AS k FROM {COUNTED} t GROUP BY n HAVING COUNT(*) > 0",
    f"SELECT {ALL} / {OF} AS each, CASE WHEN {ALL} > 100 THEN 'many' ELSE 'few' END AS size",
    f"SELECT diagnosis, n, n / {ALL} AS share FROM {PRIVATE} t",
    f"WITH q AS {COUNTED} SELECT a.ward, a.n - b.n AS d FROM q a JOIN q b ON a.ward = b.ward AND a.kind = b.kind LIMIT 3",
    f"SELECT * FROM {COUNTED} t LIMIT 0",
    f"SELECT t.n FROM {COUNTED} t JOIN visits v ON v.ward = t.ward",
    f"SELECT a.n FROM {COUNTED} a, {COUNTED} b, {COUNTED} c, {COUNTED} d, {COUNTED} e",
    f"SELECT SUM(n) AS n FROM {COUNTED} t WHERE ward = 'nowhere'",
    f"SELECT n * 2 AS n FROM {COUNTED} t -- 0.7",
    "SELECT * FROM visits LIMIT 0",
]
Keep = Callable[[str, Callable[[], Any]], Any]


@contextmanager
def hospital_of(folder: Path, visits: int) -> Iterator[Session]:
    """The hospital with its first visits alone."""
    folder.mkdir()
    catalog = files(folder)
    rows = pq.read_table(folder / "visits.parquet")
    pq.write_table(rows.slice(0, visits), folder / "visits.parquet")
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        yield session_at(data)


def everything_that_leaves(session: Session, released: Keep, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What an analyst sees of all statements. `released` stands between a question and its released numbers."""
    runner = type(session.data.runner)
    genuine = runner.noisy
    with monkeypatch.context() as patch:
        patch.setattr(runner, "noisy", lambda self, quote, paid=None: released(paid.text, lambda: genuine(self, quote, paid)))
        seen: list[Any] = []
        for sql in STATEMENTS:
            epsilon = sql.partition("-- ")[2] or "0.2"
            for ask in (session.explain, session.is_paid, session.sql, session.sql, session.is_paid):
                try:
                    reply = ask(sql, epsilon=epsilon, delta="1e-9")
                except TacitError as refused:
                    seen.append((type(refused), str(refused)))
                    continue
                version, plain = session.data.version, reply if isinstance(reply, bool) else reply.to_dict()
                seen.append(str((plain, str(reply))).replace(version, "VERSION"))
        return [*seen, session.budget()["analyst"], [entry["question"] for entry in session.history()]]


def compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Replies over all visits beside those over none, where the released numbers of the first are put in place of its own."""
    kept: dict[str, Any] = {}

    def keeps(text: str, run: Callable[[], Any]) -> Any:
        return kept.setdefault(text, run())

    def recalls(text: str, run: Callable[[], Any]) -> Any:
        run()
        return kept[text]

    with hospital_of(folder / "full", 120) as full:
        first = everything_that_leaves(full, keeps, monkeypatch)
    with hospital_of(folder / "none", 0) as none:
        return list(zip(first, everything_that_leaves(none, recalls, monkeypatch), strict=True))


def test_nothing_but_released_numbers_tells_the_tables_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = compared(tmp_path, monkeypatch)
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
    assert sum(isinstance(one, tuple) for one, _ in pairs) < len(pairs) / 2, "most statements have an answer"


def test_a_planted_look_at_the_rows_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a limit on work that knows how many visits there are."""
    genuine = Session._derived

    def looks(self: Session, *asked: Any) -> Any:
        rows = pq.read_metadata(self.data.catalog.folder / "visits.parquet").num_rows
        answer = genuine(self, *asked)
        return derived.replace(answer, notes=(*answer.notes, derived.UNKNOWN)) if rows else answer

    monkeypatch.setattr(Session, "_derived", looks)
    assert any(one != other for one, other in compared(tmp_path, monkeypatch))
