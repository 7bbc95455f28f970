"""What compares with the truth is marked as the curator's, and kept away from what is published."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tacit.errors import InvalidInput
from tacit.privacy.catalog import Budget, Catalog
from tacit.release.curators import NOTICE, check_report, curators_page, curators_place, write_for_curator
from tacit.release.outputs import check_apart, check_output


def test_the_first_line_of_a_page_says_whose_it_is() -> None:
    page = curators_page("A <title>", "<p>body</p>")
    assert NOTICE in page.splitlines()[0]
    assert page.count(NOTICE) == 2, "in the text that is read too"
    assert "A &lt;title&gt;" in page
    assert "http" not in page.replace("http-equiv", ""), "no request leaves it"


def test_a_report_never_lies_beside_the_output(tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    for asked in (tmp_path / "report.html", tmp_path / "sub" / ".." / "report.html"):
        assert curators_place(asked, out).resolve().parent == tmp_path / ".tacit" / "reports"
    elsewhere = tmp_path / "mine" / "report.html"
    assert curators_place(elsewhere, out) == elsewhere
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    assert curators_place(tmp_path / "link" / "report.html", out).parent.name == "reports", "a link leads to the same folder"
    (tmp_path / "mine").mkdir()
    elsewhere.symlink_to(tmp_path / "report.html")
    assert curators_place(elsewhere, out).resolve().parent == tmp_path / "mine" / ".tacit" / "reports", "a file that is a link too"


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_links_that_lead_back_beside_the_output_are_refused(linked: str, tmp_path: Path) -> None:
    reports = tmp_path / ".tacit" / "reports"
    if linked == "folder":
        reports.parent.mkdir()
        reports.symlink_to(tmp_path, target_is_directory=True)
    else:
        reports.mkdir(parents=True)
        (reports / "report.html").symlink_to(tmp_path / "shown.html")
    with pytest.raises(InvalidInput, match="folder of its own"):
        curators_place(tmp_path / "report.html", tmp_path / "rows.parquet")


def test_links_in_a_circle_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    """Python itself stops at them with an error that no command expects."""
    for one, other in (("a.html", "b.html"), ("b.html", "a.html"), ("a.csv", "b.csv"), ("b.csv", "a.csv")):
        (tmp_path / one).symlink_to(tmp_path / other)
    with pytest.raises(InvalidInput, match=r"a\.html cannot be written"):
        curators_place(tmp_path / "a.html", tmp_path / "sub" / "rows.parquet")
    for out in (tmp_path / "a.csv", tmp_path / "a.html" / "rows.csv"):
        with pytest.raises(InvalidInput, match="cannot be written"):
            check_output(out)
        with pytest.raises(InvalidInput, match="cannot be written"):
            check_apart(Catalog(Budget(Fraction(1), Fraction(0)), {}), out)


@pytest.mark.parametrize("name", ["flows.csv", "tacit.toml", "report"])
def test_a_report_takes_the_place_of_nothing_that_is_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ends in \.html"):
        curators_place(tmp_path / "mine" / name, tmp_path / "rows.parquet")


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    place = write_for_curator("page", curators_place(tmp_path / "report.html", tmp_path / "rows.parquet"))
    assert place.read_text() == "page"
    assert [path.stat().st_mode & 0o777 for path in (place, place.parent, place.parent.parent)] == [0o600, 0o700, 0o700]
    assert write_for_curator("again", place).read_text() == "again"


def test_a_place_for_a_page_is_checked_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for place, words in (
        (tmp_path / "file" / "report.html", "a part of its path is not a folder"),
        (tmp_path / "folder", "is a folder"),
    ):
        with pytest.raises(InvalidInput, match=words):
            check_report(place)
    assert check_report(tmp_path / "file").read_text() == "x"
    assert not check_report(tmp_path / "mine" / "report.html").exists()
    assert list((tmp_path / "mine").iterdir()) == []
