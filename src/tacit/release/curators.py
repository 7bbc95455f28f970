"""Pages that compare with the true data are for the data owner alone: how such a page begins, and where it may be written.

A report on synthetic data shows how far it is from the real data, and so reveals the real data: anyone who has the synthetic rows
and the distances can undo the noise. Its first line says so. It is never written next to the public output, where it could be
published by mistake: such a report goes into `.tacit/reports/`, which only its owner can open.

A page is complete in itself, and loads nothing. Its parts are made by functions that escape every text that they are given, and a
policy in the page lets no request leave it, whatever should stand in a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tacit.chart import require_charts, svg
from tacit.errors import InvalidInput
from tacit.files import check, check_links, not_written, write
from tacit.mechanisms.unseal import opened
from tacit.privacy.sealed import Sealed
from tacit.untrusted import for_html

NOTICE = (
    "For the data owner only: this page compares with the real data, so it is as private as the data itself, without any guarantee."
)
PAGES = (".html", ".htm")


Value = TypeVar("Value")


def for_the_owner(value: Sealed[Value]) -> Value:
    """A private value, opened for the data owner, who holds the data: the only way other than a mechanism, and not a release.

    Anything made from it is as private as the rows. It goes into a report that is marked as private, or to the owner's own screen,
    and never into an answer, a receipt or a file next to one. A test lists the callers.
    """
    plain: Value = opened(value)
    return plain


def curators_place(report: Path, out: Path) -> Path:
    """Where a report requested at `report` is written, while the public output goes to `out`.

    >>> print(curators_place(Path("private/report.html"), Path("public/rows.parquet")))
    private/report.html
    >>> print(curators_place(Path("report.html"), Path("rows.parquet")))
    .tacit/reports/report.html

    A link to a file is followed, as in writing. If both places are next to the output, both are refused. So is a name that does not
    end like a page: otherwise the report could overwrite the flows, or a catalog.
    """
    if report.suffix.lower() not in PAGES:
        raise InvalidInput(f"the report is a page of HTML; give it a name that ends in .html, and not as {report.name} does")
    require_charts()
    public = out.absolute().parent.resolve()
    for place in (report, report.parent / ".tacit" / "reports" / report.name):
        check_links(place)
        if public not in (place.absolute().parent.resolve(), place.resolve().parent):
            return place
    raise InvalidInput(f"{report} and .tacit/reports there lead beside the public output; give the report a folder of its own")


def curators_page(title: str, body: str) -> str:
    """A self-contained HTML page whose first line states who may read it; `body` is already HTML."""
    return _page(title, NOTICE, body)


def check_report(place: Path) -> Path:
    """The path, if a page can be written there; a folder created here can be opened by its owner alone.

    Call it before anything is spent.
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


# --- the one template of HTML reports ------------------------------------------------------------------------------------------

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
.notice { background: #b00020; color: #fff; padding: .75rem 1rem; font-weight: 600; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; }
td { text-align: right; } td:first-child, th { text-align: left; } figure { margin: 1.5rem 0; overflow-x: auto; }
"""


def _page(title: str, notice: str, body: str) -> str:
    """A whole page, whose first line is the notice; `body` is HTML already, of the parts below."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{for_html(POLICY)}">'
    head = f'<meta charset="utf-8">{policy}<title>{for_html(title)}</title><style>{STYLE}</style>'
    banner = f'<p class="notice">{for_html(notice)}</p>'
    whole = f'<html lang="en"><head>{head}</head><body>\n{banner}\n<h1>{for_html(title)}</h1>\n{body}\n</body></html>'
    return f"<!-- {for_html(notice)} -->\n<!doctype html>\n{whole}\n"


def heading(text: str) -> str:
    """The title of a section."""
    return f"<h2>{for_html(text)}</h2>"


def paragraph(text: str) -> str:
    """A sentence or several."""
    return f"<p>{for_html(text)}</p>"


def listed(texts: Iterable[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{for_html(text)}</li>" for text in texts) + "</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{for_html(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{for_html(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def figure(chart: Any) -> str:
    """A chart as a picture inside of the page."""
    return f"<figure>{svg(chart)}</figure>"
