"""Released answers as one page for readers who were not there: tables, charts, prices, the promise, and notes on the method.

The page is one self-contained HTML file: it makes no request, runs no script, and can be printed. Every text is escaped. It is made
of released answers, their questions and certificates, and the budget alone, so it costs nothing. A certificate is in the page as
people read it, and behind a link as the file that is checked, byte for byte.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files

from tacit.privacy.catalog import Budget
from tacit.privacy.periods import Per
from tacit.privacy.rounding import decimal_text
from tacit.release.answer import Answer, Column, cell_text, heading
from tacit.release.axes import is_date
from tacit.release.certificates.certificate import Certificate
from tacit.untrusted import for_html, prose_for_html

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MOST_ROWS = 500  # of a table on the page
MOST_DRAWN = 60  # rows of a chart on the page
PROMISE = (
    "The numbers on this page were made noisy before they left the data. {whether}, every outcome of all answers ever released "
    "from this data set together has the same probability, up to a factor of e to the power {epsilon}{delta}. That limits what "
    "anybody can learn from them about any one person{where} (differential privacy with epsilon {epsilon}{and_delta})."
)
IN_PERIODS = (
    "Whether or not the rows of any one person in any one {per} are in the data",
    "A person who is in several of these periods is protected in each of them, and less over all of them together.",
    "Over all of them together, the same holds for all rows of any one person, with epsilon {epsilon}{and_delta}.",
)
WHETHER = {
    "add-remove": "Whether or not any one person is in the data",
    "change-one": "Whatever the data of any one person are",
}
INTERVALS = (
    "Behind each number is its interval. In about {percent} of 100 cases, such an interval contains the number that the exact data "
    "would give under the limits stated below the table. Where intervals overlap widely, a difference may be noise alone."
)
METHOD = (
    "Each number is an exact aggregate with random noise from a discrete distribution, whose scale follows from the question and "
    "from declared limits, never from the data. The ledger of the data set records the price of each answer before any data is "
    "read. The entry number below each table is its place in that ledger, which an auditor can verify."
)


@dataclass(frozen=True, slots=True)
class Part:
    """One answer on the page: its heading, the question, the entry of the ledger that paid for it, and its certificate, if any."""

    title: str
    question: str
    answer: Answer
    entry: int
    certificate: Certificate | None = None


def page_of(
    title: str, words: str, parts: Sequence[Part], budget: Budget, change: str = "add-remove", per: Per | None = None
) -> str:
    """The page as text.

    >>> "&lt;b&gt;" in page_of("<b>", "", [], Budget(1, 0)) and "<b>" not in page_of("<b>", "", [], Budget(1, 0))
    True
    """
    confidence = {round(100 * float(part.answer.confidence)) for part in parts} or {95}
    opening = "".join(f"<p>{prose_for_html(each)}</p>" for each in words.split("\n\n") if each.strip())
    promised = promise_of(budget, change, confidence, per)
    sections = "".join(map(_section, parts))
    method = f'<section class="card"><h2>How the numbers were made</h2><p>{for_html(METHOD)}</p></section>'
    body = f"<header><h1>{for_html(title)}</h1>{opening}</header><main>{promised}{sections}{method}</main>"
    return whole_page(title, body)


def whole_page(title: str, body: str, language: str = "en", head: str = "", style: str = "") -> str:
    """A page with its policy and its style: it makes no request and runs no script. `head` and `style` are further ones."""
    styles = files("tacit.release").joinpath("published.css").read_text("utf-8") + style
    start = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{for_html(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f'<meta name="color-scheme" content="light dark"><title>{for_html(title)}</title>{head}<style>{styles}</style>'
    )
    return f'<!doctype html>\n<html lang="{for_html(language)}" dir="ltr">\n<head>{start}</head>\n<body>{body}</body>\n</html>\n'


def promise_of(budget: Budget, change: str, confidence: Collection[int], per: Per | None = None) -> str:
    """The promise of a budget, and the meaning of intervals, as a section; `per` are its periods, if it has any."""
    whether, many, life = IN_PERIODS
    where, more = "", ""
    if per is not None:
        whether, where = whether.format(per=per.calendar.word), f" in any one {per.calendar.word}"
        more = " ".join([many, *([life.format(**_amounts(*per.lifetime))] if per.lifetime else [])])
    promise = PROMISE.format(whether=whether if per else WHETHER[change], where=where, **_amounts(budget.epsilon, budget.delta))
    intervals = INTERVALS.format(percent=" or ".join(map(str, sorted(confidence))))
    paragraphs = "".join(f"<p>{for_html(each)}</p>" for each in (promise, more, intervals) if each)
    return f'<section class="promise"><h2>What is promised</h2>{paragraphs}</section>'


def _amounts(epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    small = decimal_text(delta) if delta else ""
    words = {"delta": f", plus {small}" if small else "", "and_delta": f" and delta {small}" if small else ""}
    return {"epsilon": decimal_text(epsilon), **words}


def _section(part: Part) -> str:
    answer = part.answer
    title = part.title or f"Entry {part.entry}"
    drawn = any(column.is_number for column in answer.columns) and len(answer) <= MOST_DRAWN
    picture = f'<div class="chart">{answer.chart(title=title).svg()}</div>' if drawn else ""
    notes = "".join(f"<li>{for_html(note)}</li>" for note in (*answer.limits, *answer.notes))
    price = f"{answer.caption()}; entry {part.entry} of the ledger"
    return (
        f'<section class="card"><h2>{for_html(title)}</h2>{picture}{table_html(answer)}<p class="fine">{for_html(price)}.</p>'
        f"<details open><summary>Notes</summary><ul>{notes}</ul><pre>{prose_for_html(part.question)}</pre></details>"
        f"{_certificate(part)}</section>"
    )


def _certificate(part: Part) -> str:
    if part.certificate is None:
        return ""
    name, file = f"entry-{part.entry}.certificate.json", b64encode(f"{part.certificate.to_json()}\n".encode("ascii")).decode()
    link = f'<a download="{name}" href="data:application/json;base64,{file}">{name}</a>'
    check = f"tacit certificate check {name} --key KEYS"
    words = f"Save {link}, and check it without the data: <code>{check}</code>, where KEYS has the owner's public keys."
    return f"<details><summary>Certificate</summary><p>{words}</p><pre>{prose_for_html(str(part.certificate))}</pre></details>"


def table_html(answer: Answer) -> str:
    """The table of an answer, with its numbers and intervals; of a long one, the first rows."""
    shown = range(min(len(answer), MOST_ROWS))
    heads = "".join(f'<th scope="col" class="{_kind(column)}">{for_html(heading(column))}</th>' for column in answer.columns)
    rows = "".join(
        "<tr>"
        + "".join(f'<td class="{_kind(column)}">{for_html(cell_text(column, at))}</td>' for column in answer.columns)
        + "</tr>"
        for at in shown
    )
    more = f'<p class="fine">{len(shown):,} of {len(answer):,} rows are shown.</p>' if len(answer) > MOST_ROWS else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="table">{table}</div>{more}'


def _kind(column: Column) -> str:
    if column.is_number:
        return "number"
    return "key date" if any(is_date(value) for value in column.values[:1]) else "key"
