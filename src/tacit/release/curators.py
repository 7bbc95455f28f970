"""What compares with the truth is the curator's: how such a page begins, and where it may lie.

A report on synthetic data shows how far it is from the real data, and so shows the real data: whoever has the synthetic rows and
the distances can undo the noise. Its first line says so, and it never lies beside the public output, where it would be
published with it by mistake: a report that is asked for there goes into `.tacit/reports/`, which its owner alone can open.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from tacit.errors import InvalidInput
from tacit.files import check, check_links, not_written, write
from tacit.mechanisms.unseal import opened
from tacit.privacy.sealed import Sealed
from tacit.release.report import page as report_page

NOTICE = "For the curator alone: this page compares with the real data, so it is as private as that, and carries no guarantee."
PAGES = (".html", ".htm")


Value = TypeVar("Value")


def for_the_owner(value: Sealed[Value]) -> Value:
    """A private value, opened for the data owner, who holds the data: the one door beside the mechanisms, and no release.

    What is made of it is as private as the rows: it goes into a report that begins as such a page does, or to the owner's own
    screen, and never into an answer, a receipt or a file beside one. A test lists who opens by it.
    """
    plain: Value = opened(value)
    return plain


def curators_place(report: Path, out: Path) -> Path:
    """Where a report is written that was asked for at `report`, while the public output goes to `out`.

    >>> print(curators_place(Path("private/report.html"), Path("public/rows.parquet")))
    private/report.html
    >>> print(curators_place(Path("report.html"), Path("rows.parquet")))
    .tacit/reports/report.html

    A link to a file is followed, as writing does; where both places lead beside the output, both are refused. So is a name that
    is not that of a page: a report at the place of the flows, or of a catalog, would be written over them.
    """
    if report.suffix.lower() not in PAGES:
        raise InvalidInput(f"the report is a page of HTML; give it a name that ends in .html, and not as {report.name} does")
    public = out.absolute().parent.resolve()
    for place in (report, report.parent / ".tacit" / "reports" / report.name):
        check_links(place)
        if public not in (place.absolute().parent.resolve(), place.resolve().parent):
            return place
    raise InvalidInput(f"{report} and .tacit/reports there lead beside the public output; give the report a folder of its own")


def curators_page(title: str, body: str) -> str:
    """A page of HTML, complete in itself, whose first line says whose it is; `body` is HTML already."""
    return report_page(title, NOTICE, body)


def check_report(place: Path) -> Path:
    """The place, if a page can be written there, in a folder that, if it is made here, only its owner can open.

    Asked before anything is spent.
    """
    check(place, private=True)
    try:
        if place.parent.name == "reports" and place.parent.parent.name == ".tacit":
            place.parent.parent.chmod(0o700)
    except OSError as error:
        raise not_written(place, error) from None
    return place


PAID = "the synthetic data is written, and paid for; its report is not"


def write_for_curator(page: str, place: Path, after: str = PAID) -> Path:
    """Write a page that only its owner can read; `after` says in an error what has happened before."""
    return write(check_report(place), page, private=True, after=after)
