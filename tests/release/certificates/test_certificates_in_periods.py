"""Certificates where the budget is one of each period: the same bytes on neighbours, and versions that tell of no late row."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit
from certified_months import ASKED, CATALOG, written
from certified_people import asked_of_both, without_what_may_differ
from tacit.data.prepare import adding
from tacit.errors import InvalidInput
from tacit.release.certificates import answers
from tacit.release.certificates.exports import export
from tacit.release.certificates.keys import public_keys
from tacit_certificate.check import Certificate
from tacit_certificate.document import read_keys
from tacit_certificate.ledger import check


def opened(folder: Path, people: list[int], like: Path | None = None, through: str = "2025-04", closed: str = "") -> Any:
    catalog = written(folder, people)
    if like is not None:
        (folder / ".tacit").mkdir(mode=0o700)
        shutil.copy(like / ".tacit" / "rank.key", folder / ".tacit" / "rank.key")
    if closed:
        catalog.write_text(CATALOG.replace('per = "month"', f'per = "month"\nclosed = "{closed}"'))
    data = tacit.open(catalog, own_process=False)
    data.prepare(new_ledger=True, reason="a test of neighbours", yes=True, through=through)
    return data


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """A table, and one without a person, where another analyst has asked before."""
    folder = tmp_path_factory.mktemp("neighbours")
    full = opened(folder / "full", list(range(20)))
    other = opened(folder / "other", list(range(19)), folder / "full")
    with full, other:
        other.session("bob").sql("SELECT COUNT(*) AS n FROM labs WHERE taken < '2025-03-01'", epsilon=1)
        yield full, other


@pytest.mark.parametrize("name", ["by month", "over all", "one month", "running", "looked up", "plain"])
def test_neighbours_have_one_certificate(two: tuple[Any, Any], name: str) -> None:
    first, second = asked_of_both(two, *ASKED[name])
    one, other = (without_what_may_differ(answer.certificate.to_dict()) for answer in (first, second))
    assert one == other
    later = two[0].session("ana").certificate(first.receipt.entry).to_dict()
    assert without_what_may_differ(later) == one


def test_a_planted_leak_of_what_was_spent_in_a_period_is_noticed(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The public form with the sums of the periods before it, in which another analyst has a part."""
    first, second = asked_of_both(two, *ASKED["people"])
    honest = answers.certify

    def certify(basis: Any, entry: Any, catalog: Any, signer: Any, before: Any = None) -> Any:
        data = two[0] if catalog is two[0].catalog else two[1]
        return honest(basis, entry, catalog, signer, answers.sums_before(data.ledger, entry))

    monkeypatch.setattr(answers, "certify", certify)
    one, other = (answer.certificate.to_dict() for answer in (first, second))
    assert one["ledger"]["periods"] != other["ledger"]["periods"]
    assert without_what_may_differ(one) != without_what_may_differ(other)


# --- data that keeps arriving --------------------------------------------------------------------------------------------------

JANUARY = ("SELECT COUNT(*) AS n FROM visits WHERE day < '2025-02-01'", {"epsilon": 1})
MARCH = ("SELECT COUNT(*) AS n FROM visits WHERE day >= '2025-03-01' AND day < '2025-04-01'", {"epsilon": 1})


def versions(folder: Path, late: bool) -> list[bool]:
    """Whether the certificates of a closed and of an open month have another version after rows came, perhaps a late one."""
    with opened(folder, list(range(20)), through="2025-03", closed="2025-02") as data:
        before = [data.session("ana").sql(text, **budget).certificate.to_dict() for text, budget in (JANUARY, MARCH)]
        more = folder / "more.csv"
        more.write_text("\n".join(["patient,day,cost", "3,2025-04-02,1", *(["4,2025-03-30,1"] if late else [])]) + "\n")
        data.prepare(add=[f"visits={more}"], through="2025-04", yes=True)
        session = data.session("ana")
        after = [session.sql(text, **budget).certificate.to_dict() for text, budget in (JANUARY, MARCH)]
        for document in (*before, *after):
            keys = read_keys(json.dumps(public_keys(data.catalog.kept)).encode())
            assert not Certificate(document).check(keys).wrong
        return [one["data_version"] != other["data_version"] for one, other in zip(before, after, strict=True)]


def test_versions_in_certificates_tell_of_no_late_row(tmp_path: Path) -> None:
    assert versions(tmp_path / "with", late=True) == versions(tmp_path / "without", late=False) == [False, True]


def test_a_planted_version_that_moves_only_where_a_row_came_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = adding.renewed

    def moved(before: Any, closed: int | None, begun: Any, version: str) -> Any:
        came = "2025-03-30" in (tmp_path / ("with" if (tmp_path / "with").exists() else "without") / "more.csv").read_text()
        return honest(before, closed if came else 24302, begun, version)

    monkeypatch.setattr(adding, "renewed", moved)
    without = versions(tmp_path / "without", late=False)
    assert versions(tmp_path / "with", late=True) != without


def test_a_certificate_can_be_made_after_more_periods_have_begun(tmp_path: Path) -> None:
    """The question names no period, so that it would read more of them today; those that it was charged to are in its entry."""
    with opened(tmp_path / "grows", list(range(20)), through="2025-02") as data:
        asked = data.session("ana").sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        at_once = asked.certificate.to_dict()
        (tmp_path / "more.csv").write_text("patient,day,cost\n3,2025-03-02,1\n")
        data.prepare(add=[f"visits={tmp_path / 'more.csv'}"], through="2025-03", yes=True)
        later = data.session("ana").certificate(asked.receipt.entry).to_dict()
        assert later == at_once
        assert later["periods"]["runs"] == [[24300, 24301]]


def test_a_stream_is_listed_as_missing_in_an_export(tmp_path: Path) -> None:
    text = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits WHERE day >= '2025-01-01' AND day <= :last GROUP BY m"
    with opened(tmp_path / "stream", list(range(20))) as data:
        answer = data.session("ana").stream(text, through="2025-02", horizon=12, epsilon=1, delta=1e-6)
        with pytest.raises(InvalidInput, match="no certificate"):
            _ = answer.certificate
        lines = export(data, tmp_path / "ledger.jsonl").read_bytes().splitlines(keepends=True)
        report = check(lines, [], read_keys(json.dumps(public_keys(data.catalog.kept)).encode()))
        assert not report.wrong
        assert [text for text in report.stated if "costs a person in all of its periods" in text]
