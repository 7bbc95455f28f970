"""Sub-questions of paid answers are free: by the plan and the analyst's own entries, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chance import fewest_hits
from hospital import NOW, files
from tacit.accounting.ledger import selling
from tacit.accounting.ledger.entries import entry_from
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import BudgetExceeded
from tacit.mechanisms.residual import Measurement
from tacit.query import excluded
from tacit.query.language.sql import parse
from tacit.query.price.price import request
from tacit.release import implied
from tacit.release.answer import Answer
from tacit.session import Session
from tacit.session import open as open_data

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
TOTAL = "SELECT COUNT(*) AS n FROM visits"
SETS = ["ward", "kind", "urgent"]


@contextmanager
def hospital(folder: Path) -> Iterator[tuple[Session, Session]]:
    """Sessions of ana and bob on one data set."""
    folder.mkdir(exist_ok=True)
    catalog = files(folder)
    text = catalog.read_text("utf-8").replace("epsilon = 2\n", "epsilon = 9\n").replace("epsilon = 8\n", "epsilon = 90\n")
    catalog.write_text(f"{text}\n[analysts.bob]\nepsilon = 9\n", "utf-8")
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        sessions = data.session("ana"), data.session("bob")
        for each in sessions:
            each.clock = lambda: NOW
        yield sessions


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, Answer]]:
    """Ana has asked for the margins of three columns at epsilon 1."""
    with hospital(tmp_path_factory.mktemp("known")) as (ana, _):
        yield ana, ana.margins("visits", SETS, epsilon=1)


def spends(session: Session) -> int:
    return session.data.ledger.head.questions


def test_a_margin_of_what_was_paid_for_is_free_and_agrees(asked: tuple[Session, Answer]) -> None:
    ana, whole = asked
    before = spends(ana)
    part = ana.sql(BY_WARD, epsilon="0.2")
    assert spends(ana) == before
    assert (part.receipt.epsilon, part.receipt.entry, part.receipt.entries) == (0, None, (whole.receipt.entry,))
    assert part.receipt.again
    rows = [row for row in whole.rows() if row["kind"] is None and row["urgent"] is None]
    numbers = {row["ward"]: row["n"]["value"] for row in rows[::-1]}  # the first of each: NULL is also a value of urgent
    assert all(row["n"]["value"] == numbers[row["ward"]] for row in part.rows())
    assert f"known from entry {whole.receipt.entry}" in str(part)
    assert f"known from entry {whole.receipt.entry}" in part.to_dict()["notes"][-1]
    assert part.to_dict()["price"] == {"epsilon": "0", "delta": "0"}
    assert part.certificates == whole.certificates
    assert ana.is_paid(BY_WARD, epsilon="0.2")


def test_free_is_what_is_at_least_as_exact_as_asked(asked: tuple[Session, Answer]) -> None:
    ana, whole = asked
    words = ana.explain(BY_WARD, epsilon="0.2").takes[-1]
    assert words.startswith(f"known from entry {whole.receipt.entry}: n within ± 78")
    assert words.endswith("nothing is spent")
    assert "asks for less error" in ana.explain(BY_WARD, epsilon=1).takes[-1]
    assert not ana.is_paid(BY_WARD, epsilon=1)
    assert ana.sql(BY_WARD, error=79).receipt.epsilon == 0
    assert not ana.is_paid(BY_WARD, error=70)
    before = spends(ana)
    assert ana.sql(BY_WARD, epsilon="0.25", fresh=True).receipt.epsilon == Fraction(1, 4)
    assert spends(ana) == before + 1


OTHERS = [
    "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 10 GROUP BY ward",
    "SELECT COUNT(*) AS n FROM visits WHERE urgent OR cost > 10",
    "SELECT ward, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward",  # a part of it is known
    "SELECT ward, kind, urgent, COUNT(*) AS n FROM visits GROUP BY ward, kind, urgent",  # its residuals were not measured
    "SELECT ward, day, COUNT(*) AS n FROM visits WHERE day < DATE '2020-03-01' GROUP BY GROUPING SETS ((ward), (day))",
    "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex",
]


@pytest.mark.parametrize("text", OTHERS)
def test_other_questions_are_not_known(asked: tuple[Session, Answer], text: str) -> None:
    ana, _ = asked
    assert not ana.is_paid(text, epsilon="0.01")


def test_another_version_is_another_question(tmp_path: Path) -> None:
    with hospital(tmp_path) as (ana, _):
        ana.margins("visits", SETS, epsilon=1)
        assert ana.is_paid(TOTAL, epsilon="0.01")
        ana.data.prepare(yes=True)
        assert not ana.is_paid(TOTAL, epsilon="0.01")
        assert ana.sql(TOTAL, epsilon="0.01").receipt.epsilon == Fraction(1, 100)


def test_several_own_entries_are_weighted_together_and_the_same_question_with_less_is_free(tmp_path: Path) -> None:
    with hospital(tmp_path) as (ana, _):
        first = ana.sql(BY_WARD, epsilon="0.5")
        repeated = ana.sql(BY_WARD, epsilon="0.5", confidence="0.9")
        assert repeated["n"] == first["n"]
        assert repeated.receipt.epsilon == 0
        alone = _width(ana, TOTAL)
        ana.sql("SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind", epsilon="0.5", delta="1e-9")
        both = _width(ana, TOTAL)
        assert both < alone
        assert len(ana.sql(TOTAL, epsilon="0.01").receipt.entries) == 2


def _width(session: Session, text: str) -> float:
    offer = session._offer(parse(text), request(epsilon="0.01"), text)
    found = implied.implied_by_own(session.data, offer, session.analyst)
    assert found is not None
    return max(found.least_exact.values())


# --- what others have asked changes nothing ------------------------------------------------------------------------------------


def told(ana: Session) -> tuple[list[Any], list[float]]:
    """Everything shown to ana except noisy values, and the widths, which differ by up to one: ends are rounded inwards."""
    words, wide = list[Any](), list[float]()
    for text, epsilon in ((TOTAL, "0.01"), (BY_WARD, "0.2"), (BY_WARD, "1"), (OTHERS[0], "0.1")):
        words += [str(ana.explain(text, epsilon=epsilon)), ana.is_paid(text, epsilon=epsilon)]
    for text, epsilon in ((TOTAL, "0.02"), (BY_WARD, "0.2"), (TOTAL, "0.01"), (TOTAL, "8.9")):
        try:
            answer = ana.sql(text, epsilon=epsilon)
        except BudgetExceeded as error:
            words.append(str(error))
            continue
        receipt = replace(answer.receipt, entry=None, entries=(), data_version="")  # entries of others have numbers, too
        widths = [[end - low for low, end in zip(column.low, column.high, strict=True)] for column in answer.columns if column.low]
        words += [receipt, answer.notes, answer.limits, [column.kind for column in answer.columns], len(receipt.entries)]
        words += [len(each) for each in widths]
        wide += [width for each in widths for width in each]
    return words, wide


def both_ways(folder: Path) -> tuple[tuple[list[Any], list[float]], tuple[list[Any], list[float]]]:
    """What ana is shown with and without earlier questions by bob, some of them hers under other names."""
    with ExitStack() as stack:
        sessions = [stack.enter_context(hospital(folder / name)) for name in ("alone", "beside")]
        bob = sessions[1][1]
        bob.margins("visits", SETS, epsilon=3)
        bob.sql(TOTAL.replace("AS n", "AS visitors"), epsilon="0.02")
        bob.sql(BY_WARD, epsilon="1")
        return told(sessions[0][0]), told(sessions[1][0])


def test_what_others_asked_changes_no_word(tmp_path: Path) -> None:
    (alone, widths), (beside, others) = both_ways(tmp_path)
    assert alone == beside
    assert widths == pytest.approx(others, abs=1, rel=0)


def test_a_planted_lookup_over_all_accounts_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(ledger: Ledger, analyst: str, most: int) -> list[Any]:
        return [entry for entry in ledger.entries() if entry.kind in selling.PAID and entry.key][::-1]

    def paid_by(ledger: Ledger, number: int, analyst: str) -> Any:
        def look(page: Any) -> Any:
            entry = entry_from(page.line(number).text)
            kept = page.kept(entry.key)
            return entry, None if kept is None else kept.text

        return ledger._store.look(look)

    monkeypatch.setattr(Ledger, "paid_entries", entries)
    monkeypatch.setattr(Ledger, "paid_by", paid_by)
    (alone, _), (beside, _) = both_ways(tmp_path)
    assert alone != beside


# --- intervals ---------------------------------------------------------------------------------------------------------------


def coverage(asked: tuple[Session, Answer], spoiled: int = 1) -> tuple[int, int]:
    """How often the interval of a total holds over an empty table; `spoiled` multiplies the noise, not its scale."""
    ana, _ = asked
    offer = ana._offer(parse(TOTAL), request(epsilon="0.01", confidence="0.9"), TOTAL)
    held = implied.own_measurements(ana.data, "ana", offer, offer.question.group)
    hits, runs = 0, 300
    for _ in range(runs):
        drawn = [replace(each, numbers=_noise(each) * spoiled) for each in held]
        found = implied._by_least_squares(drawn, offer.quotes[0])
        assert found is not None
        place, width = 0, found.quote.shared[0].mechanism.interval(Fraction(9, 10)).above
        hits += abs(float(found.noisy.centres[place][0])) <= width
    return hits, runs


def _noise(each: implied.Held) -> Any:
    return np.asarray(each.noise.release_units(np.zeros(len(each.numbers), dtype=np.int64)))


def test_the_interval_holds(asked: tuple[Session, Answer]) -> None:
    hits, runs = coverage(asked)
    assert hits >= fewest_hits(runs, 0.9)


def test_planted_noise_of_twice_the_scale_is_caught(asked: tuple[Session, Answer]) -> None:
    hits, runs = coverage(asked, spoiled=2)
    assert hits < fewest_hits(runs, 0.9)


def test_measurements_keep_their_meaning_in_another_order_of_axes(asked: tuple[Session, Answer]) -> None:
    """Residuals in one order of axes, transposed, are the residuals in the other."""
    ana, _ = asked
    offer = ana._offer(parse(BY_WARD), request(epsilon=1), BY_WARD)
    held = [each for each in implied.own_measurements(ana.data, "ana", offer, offer.question.group) if len(each.keys) == 2]
    assert held
    for each in held:
        forward, back = ({key.term: at for at, key in enumerate(keys)} for keys in (each.keys, each.keys[::-1]))
        (one, numbers), (other, turned) = each.along(forward), each.along(back)
        sizes = [len(implied.domain(key)) for key in each.keys]
        first = Measurement.residuals(one, np.asarray(numbers, dtype=float), sizes, (0, 1)) if each.centred else None
        second = Measurement.residuals(other, np.asarray(turned, dtype=float), sizes[::-1], (0, 1)) if each.centred else None
        if first is not None and second is not None:
            assert np.allclose(first, second.T)
        else:
            assert np.array_equal(np.reshape(numbers, sizes), np.reshape(turned, sizes[::-1]).T)


# --- some of the rows, from cells of all of them -------------------------------------------------------------------------------


CELLS = "SELECT ward, kind, urgent, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward, kind, urgent"
BOTH = "COUNT(*) AS n, SUM(cost) AS cost"
SOME = {
    f"SELECT {BOTH} FROM visits WHERE ward = 'north'": lambda row: row["ward"] == "north",
    f"SELECT kind, {BOTH} FROM visits WHERE ward IN ('north', 'east') AND urgent GROUP BY kind": lambda row: (
        row["ward"] in ("north", "east") and row["urgent"] is True
    ),
    f"SELECT urgent, {BOTH} FROM visits WHERE NOT (ward = 'west' AND kind = 'planned') GROUP BY urgent": lambda row: (
        row["ward"] not in (None, "west") or row["kind"] not in (None, "planned")
    ),
    f"SELECT {BOTH} FROM visits WHERE NOT urgent": lambda row: row["urgent"] is False,
    f"SELECT ward, {BOTH} FROM visits WHERE ward <> 'south' GROUP BY ward": lambda row: row["ward"] not in ("south", None),
}


def known_cells(ana: Session) -> list[dict[str, Any]]:
    return list(ana.sql(CELLS, epsilon="4").rows())


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, list[dict[str, Any]]]]:
    with hospital(tmp_path_factory.mktemp("cells")) as (ana, _):
        yield ana, known_cells(ana)


def disagreeing(ana: Session, rows: list[dict[str, Any]]) -> list[str]:
    """The questions about some of the rows that are not the sums of the cells that were paid for."""
    wrong = []
    for text, holds in SOME.items():
        answer = ana.sql(text, epsilon="0.01")
        assert answer.receipt.epsilon == 0, text
        for row in answer.rows():
            keys = row.keys() - {"n", "cost"}
            same = [cell for cell in rows if holds(cell) and all(cell[key] == row[key] for key in keys)]
            for name in ("n", "cost"):
                if abs(row[name]["value"] - sum(cell[name]["value"] for cell in same)) > 1e-6:
                    wrong.append(text)
    return wrong


def test_some_of_the_rows_are_free_from_cells_that_decide_the_condition(cells: tuple[Session, list[dict[str, Any]]]) -> None:
    ana, rows = cells
    before = spends(ana)
    assert disagreeing(ana, rows) == []
    assert spends(ana) == before
    for text in ("WHERE cost > 10", "WHERE ward = 'north' AND cost > 10", "WHERE ward = 'north' OR cost > 10"):
        assert not ana.is_paid(f"SELECT {BOTH} FROM visits {text}", epsilon="0.01"), text


def test_a_planted_condition_that_takes_unknown_for_true_is_caught(
    cells: tuple[Session, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, rows = cells

    def careless(condition: Any, points: Any) -> Any:
        ordered = excluded._inside_first(condition, {})
        at = np.stack([points[name[:2]] for name in excluded._last_values(ordered, {})])
        outcome = excluded.Boxes.over(excluded._last_values(ordered, {}), at, at, {}).last(ordered)
        return outcome.true | outcome.unknown

    monkeypatch.setattr(implied, "decided", careless)
    assert disagreeing(ana, rows)


def test_one_cell_of_shared_measurements_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The margins by pairs of columns are estimates; a condition that leaves one cell has its estimate, one with two has none."""
    monkeypatch.setattr(implied, "_under_condition", lambda *_: None)
    with hospital(tmp_path) as (ana, _):
        whole = ana.margins("visits", SETS, epsilon=1)
        answer = ana.sql("SELECT kind, COUNT(*) AS n FROM visits WHERE ward = 'north' GROUP BY kind", epsilon="0.01")
        assert answer.receipt.epsilon == 0
        several = "SELECT COUNT(*) AS n FROM visits WHERE ward IN ('north', 'east')"
        assert not ana.is_paid(several, epsilon="0.01"), "errors of estimated cells are correlated"
    rows = [row for row in [*whole.rows()][::-1] if row["ward"] == "north" and row["urgent"] is None and row["kind"]]
    numbers, shown = ({row["kind"]: row["n"] for row in each if row["kind"]} for each in (rows, answer.rows()))
    assert shown.keys() == numbers.keys()
    for kind, number in shown.items():
        assert number["value"] == numbers[kind]["value"]
        assert number["high"] - number["low"] <= numbers[kind]["high"] - numbers[kind]["low"] + 1


def test_the_intervals_of_sums_of_cells_hold(cells: tuple[Session, list[dict[str, Any]]]) -> None:
    """By the law of the sum of as many noises as the largest sum has cells: 2 wards of 4, 3 kinds, and NULL of urgent."""
    ana, _ = cells
    text = "SELECT COUNT(*) AS n FROM visits WHERE ward IN ('north', 'east')"
    offer = ana._offer(parse(text), request(epsilon="0.01"), text)
    found = implied.implied_by_own(ana.data, offer, ana.analyst)
    assert found is not None
    (margin,) = found.quote.margins
    urgent = len({row["urgent"] for row in known_cells(ana)})
    assert margin.mechanism.count == 2 * 3 * urgent
    assert found.widths[0][1] == float(margin.mechanism.interval(Fraction(95, 100)).above)
