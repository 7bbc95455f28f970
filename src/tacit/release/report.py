"""The one template of HTML reports: a page that is complete in itself, and loads nothing.

Its parts are made by the functions below, which escape every text that they are given. A policy in the page lets no request leave
it, whatever should stand in a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tacit.chart import svg
from tacit.untrusted import for_html

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
.notice { background: #b00020; color: #fff; padding: .75rem 1rem; font-weight: 600; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; }
td { text-align: right; } td:first-child, th { text-align: left; } figure { margin: 1.5rem 0; overflow-x: auto; }
"""


def page(title: str, notice: str, body: str) -> str:
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
