"""The pages of a site: the front page, one for each release, and one for each of its periods. Self-contained, without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from tacit.privacy.catalog import Budget
from tacit.privacy.periods import Per
from tacit.privacy.rounding import counted, decimal_text
from tacit.publish.releases.declaration import Release, Releases
from tacit.publish.releases.kept import Done
from tacit.publish.releases.metadata import Published, page_of
from tacit.release.answer import Answer, cell_text, heading
from tacit.release.axes import is_date
from tacit.release.charts import picture_under
from tacit.release.published import METHOD, promise_of, table_html, whole_page
from tacit.untrusted import for_html, prose_for_html

MOST_DRAWN = 60  # rows of a chart of one period
MOST_OPEN = 24  # rows of a table that a stream shows at once
STREAM = (
    "Every {word} is measured together with all before it, so that totals over many of them have little noise. Numbers "
    "that were released stay as they are; a later release adds to them."
)
CHART = 'class="chart scroll" tabindex="0" role="group" aria-label="chart"'
WAITING = "Nothing is released yet."
EVERY = {"day": "every day", "week": "every week", "month": "every month", "quarter": "every quarter", "year": "every year"}
AGAIN = (
    "A release is asked for once in each period, when the data owner has closed it. A number that was published is never replaced; "
    "a release whose question changes is a new release under another name."
)


@dataclass(frozen=True, slots=True)
class Site:
    """The parts that all pages share."""

    declared: Releases
    published: tuple[Published, ...]
    budget: Budget
    change: str
    per: Per | None = None

    @property
    def promise(self) -> str:
        """The promise as a section."""
        answers = [done.answer for each in self.published for done in each.done if done.answer is not None]
        confidence = {round(100 * float(answer.confidence)) for answer in answers} or {95}
        return promise_of(self.budget, self.change, confidence, self.per)


def front_page(site: Site) -> str:
    """The front page: the promise, a card for each release, and what is for programs."""
    declared = site.declared
    cards = "".join(map(_card, site.published))
    files_ = (
        '<section class="card"><h2>For programs</h2><ul class="downloads">'
        '<li><a href="feed.xml">Atom feed</a></li><li><a href="catalog.jsonld">DCAT catalog</a></li></ul>'
        "<p>Each release has its numbers as files, with CSV on the Web metadata beside them.</p></section>"
    )
    method = f'<section class="card"><h2>How the numbers were made</h2><p>{for_html(METHOD)}</p><p>{for_html(AGAIN)}</p></section>'
    about = f'<p class="lead">{prose_for_html(declared.about)}</p>' if declared.about else ""
    main = f'<h2>Releases</h2><ul class="cards">{cards}</ul>{site.promise}{method}{files_}'
    return _page(site, declared.title, (), f"<h1>{for_html(declared.title)}</h1>{about}", main)


def _card(one: Published) -> str:
    release, latest = one.release, one.done[-1] if one.done else None
    words = release.notes.split("\n\n")[0] if release.notes else ""
    newest = WAITING if latest is None else f"Newest: {latest.period}" if release.period else f"Released {latest.at}"
    figure, name = _figure(one)
    newest = f"{name}, {newest[:1].lower()}{newest[1:]}" if name else newest
    kind = EVERY.get(release.period) or ("synthetic rows" if release.synthetic else "once")
    text = f"<p>{for_html(words, 220)}</p>" if words else ""
    return (
        f'<li><span class="tag">{for_html(kind)}</span><h3><a href="{release.name}/">{for_html(release.title)}</a></h3>{text}'
        f'{figure}<p class="fine">{for_html(newest)}</p></li>'
    )


def _figure(one: Published) -> tuple[str, str]:
    """The newest number for a card, and its name; of a stream the last total. Nothing where an answer has several rows."""
    answer = one.done[-1].answer if one.done else None
    numbers = [] if answer is None else [column for column in answer.columns if column.is_number]
    if answer is None or not numbers or not len(answer) or (len(answer) > 1 and not _is_one_series(one)):
        return "", ""
    column = numbers[-1] if one.release.horizon is not None else numbers[0]
    value, _, interval = cell_text(column, len(answer) - 1).partition(" ")
    return f'<p class="figure">{for_html(value)} <small>{for_html(interval)}</small></p>', heading(column)


def _is_one_series(one: Published) -> bool:
    """Whether a stream has one number for each period."""
    answer = one.done[-1].answer
    return one.release.horizon is not None and answer is not None and sum(column.is_key for column in answer.columns) == 1


def release_page(site: Site, one: Published) -> str:
    """The page of a release: the newest numbers, all periods over time, downloads, price and question."""
    release = one.release
    head = f"<h1>{for_html(release.title)}</h1>{_notes(release)}{_link_before(release, site)}"
    if not one.done:
        return _page(site, release.title, ((release.title, ""),), head, f'<section class="card"><p>{WAITING}</p></section>', "../")
    if release.horizon is not None:
        parts = [_so_far(release, one.done[-1], f"{one.done[-1].period}/"), _all_periods(one)]
    else:
        parts = [_over_time(one), _newest(one), _all_periods(one)] if release.period else [_newest(one)]
    main = f"{''.join(parts)}{_facts(site, one)}{site.promise}"
    return _page(site, release.title, ((release.title, ""),), head, main, "../")


def period_page(site: Site, release: Release, done: Done) -> str:
    """The page of one period."""
    title = f"{release.title}, {done.period}"
    days = f'<p class="lead">{for_html(done.first)} to {for_html(done.last)}</p>' if done.first != done.last else ""
    trail = ((release.title, "../"), (done.period, ""))
    shown = _numbers(release, done, done.period) if release.horizon is None else _so_far(release, done, "")
    main = f"{shown}{site.promise}"
    return _page(site, title, trail, f"<h1>{for_html(title)}</h1>{days}", main, "../../")


# --- sections ------------------------------------------------------------------------------------------------------------------


def _over_time(one: Published) -> str:
    if one.series is None or len(one.done) < 2:
        return ""
    title = f"{one.release.title}, {one.done[0].period} to {one.done[-1].period}"
    days = _days(one.done[0].first, one.done[-1].last)
    picture = f"<div {CHART}>{picture_under(one.series, title, days).svg()}</div>" if drawn_over_time(one.series) else ""
    words = "<p>All periods in one table:</p>" if picture else "<p>All periods in one table, too many groups for one picture:</p>"
    links = _downloads("data", one.release.formats, one.release.title)
    return f'<section class="card"><h2>Over time</h2>{picture}{words}{links}</section>'


def _days(first: str, last: str) -> str:
    """The days that a picture covers, below its title."""
    return "" if not first else first if first == last else f"{first} to {last}"


def _so_far(release: Release, done: Done, folder: str) -> str:
    """A stream up to one of its periods: the picture, the table, the price of a period, downloads."""
    answer = done.answer
    assert answer is not None  # noqa: S101  # a stream has answers
    first = next((str(value) for column in answer.columns if column.is_key for value in column.values if is_date(value)), "")
    title = f"{release.title}, up to {done.period}"
    drawn = f"<div {CHART}>{picture_under(answer, title, _days(first, done.last)).svg()}</div>" if drawn_over_time(answer) else ""
    notes = "".join(f"<li>{for_html(note)}</li>" for note in (*answer.limits, *answer.notes))
    table = table_html(answer)
    if len(answer) > MOST_OPEN:
        table = f"<details><summary>Table of {len(answer):,} rows</summary>{table}</details>"
    price = f"{answer.caption()}; the newest number is entry {done.entry} of the ledger"
    return (
        f'<section class="card"><h2>Up to {for_html(done.period)}</h2><p>{for_html(STREAM.format(word=release.period))}</p>'
        f"{drawn}{table}"
        f'<p class="fine">{for_html(price)}.</p>{_downloads(f"{folder}data", release.formats, title)}'
        f"<details><summary>Notes and question</summary><ul>{notes}</ul><pre>{prose_for_html(done.question)}</pre></details>"
        f"{_certificates(done, folder)}</section>"
    )


def drawn_over_time(series: Answer) -> bool:
    """Whether a picture over time shows something: a number, and few enough groups to be told apart."""
    keys = [column for column in series.columns if column.is_key]
    groups = {tuple(column.values[at] for column in keys[1:]) for at in range(len(series))}
    return any(column.is_number for column in series.columns) and len(groups) <= 8  # the colours of a picture


def _newest(one: Published) -> str:
    release, latest = one.release, one.done[-1]
    return _numbers(release, latest, f"Newest: {latest.period}" if release.period else "Released")


def _numbers(release: Release, done: Done, title: str) -> str:
    """The table, the picture, the price, downloads and certificates of one period; links are those of the page of a release."""
    if done.answer is None:
        return _rows_section(done, title, f"{done.period}/" if release.period and title != done.period else "")
    answer = done.answer
    picture = f"{release.title}, {done.period}" if release.period else release.title
    shown = any(column.is_number for column in answer.columns) and len(answer) <= MOST_DRAWN and len(answer) > 1
    drawn = f"<div {CHART}>{picture_under(answer, picture, _days(done.first, done.last)).svg()}</div>" if shown else ""
    notes = "".join(f"<li>{for_html(note)}</li>" for note in (*answer.limits, *answer.notes))
    entries = " and ".join(map(str, done.entries))
    price = f"{answer.caption()}; entry {entries} of the ledger" if entries else answer.caption()
    folder = f"{done.period}/" if release.period and title != done.period else ""
    links = _downloads(f"{folder}data", release.formats, picture)
    return (
        f'<section class="card"><h2>{for_html(title)}</h2>{drawn}{table_html(answer)}<p class="fine">{for_html(price)}.</p>{links}'
        f"<details><summary>Notes and question</summary><ul>{notes}</ul><pre>{prose_for_html(done.question)}</pre></details>"
        f"{_certificates(done, folder)}</section>"
    )


def _rows_section(done: Done, title: str, folder: str) -> str:
    told = done.told or {}
    headed = "Synthetic rows" if title == "Released" else f"Synthetic rows, {done.period}"
    price = told.get("price", {})
    facts = {"Rows": f"{told.get('rows', 0):,}", "Columns": ", ".join(told.get("columns", ())), "Epsilon": price.get("epsilon", "")}
    listed = "".join(f"<dt>{for_html(name)}</dt><dd>{for_html(str(value))}</dd>" for name, value in facts.items())
    links = _downloads(f"{folder}rows", ("csv", "parquet"), "synthetic rows")
    words = (
        "No row is that of a person: rows are drawn from noisy counts. Columns and pairs of columns resemble those of the real "
        "table; what holds of three columns together may be lost."
    )
    opening = f'<section class="card"><h2>{for_html(headed)}</h2><p>{words}</p><dl>{listed}</dl>'
    return f"{opening}{links}{_certificates(done, folder)}</section>"


def _all_periods(one: Published) -> str:
    items = "".join(f'<li><a href="{done.period}/">{for_html(done.period)}</a></li>' for done in reversed(one.done))
    return f'<section class="card"><h2>All periods</h2><ul class="periods">{items}</ul></section>'


def _facts(site: Site, one: Published) -> str:
    release, per = one.release, site.per
    budget = dict(release.budget)
    amounts = ", ".join(f"{name} {value}" for name, value in budget.items())
    spent = [done.answer.receipt.epsilon for done in one.done if done.answer is not None]
    facts = {"Asked for": EVERY.get(release.period, "once"), "Price": f"{amounts}, each" if release.period else amounts}
    if per is not None and release.period:
        facts["Paid by"] = (
            f"the budget of each {per.calendar.word}, and a person's lifetime"
            if per.lifetime
            else f"the budget of each {per.calendar.word}"
        )
        if release.horizon is not None:
            facts["Horizon"] = f"{counted(release.horizon, per.calendar.word)}, of which {len(one.done)} are released"
    elif len(spent) > 1:
        facts["Paid so far"] = f"epsilon {decimal_text(sum(spent[1:], start=spent[0]))} in {len(spent)} periods"
    listed = "".join(f"<dt>{for_html(name)}</dt><dd>{for_html(value)}</dd>" for name, value in facts.items())
    return (
        f'<section class="card"><h2>How it is made</h2><dl>{listed}</dl><p>{for_html(METHOD)}</p><p>{for_html(AGAIN)}</p></section>'
    )


def _downloads(stem: str, formats: Sequence[str], what: str) -> str:
    items = [
        f'<li><a download href="{stem}.{each}" aria-label="{for_html(what)} as {each.upper()}">{each.upper()}</a></li>'
        for each in formats
    ]
    if "csv" in formats and not stem.endswith("rows"):
        items.append(f'<li><a href="{stem}.csv-metadata.json" aria-label="{for_html(what)}: CSV metadata">CSV metadata</a></li>')
    return f'<ul class="downloads">{"".join(items)}</ul>'


def _certificates(done: Done, folder: str) -> str:
    names = [f"entry-{entry}.certificate.json" for entry in done.entries[: len(done.certificates)]]
    if not names:
        return ""
    items = "".join(f'<li><a download href="{folder}{name}">{name}</a></li>' for name in names)
    check = f"tacit certificate check {names[0]} --key KEYS"
    return (
        "<details><summary>Certificate</summary><p>Why the price is right, to check without the data: "
        f'<code>{check}</code>, where KEYS has the owner\'s public keys.</p><ul class="downloads">{items}</ul></details>'
    )


def _notes(release: Release) -> str:
    return "".join(f'<p class="lead">{prose_for_html(each)}</p>' for each in release.notes.split("\n\n") if each.strip())


def _link_before(release: Release, site: Site) -> str:
    before = site.declared.release(release.replaces) if release.replaces else None
    return f'<p>Continues <a href="../{before.name}/">{for_html(before.title)}</a>.</p>' if before else ""


def _page(site: Site, title: str, trail: Sequence[tuple[str, str]], head: str, main: str, up: str = "") -> str:
    declared = site.declared
    crumbs = [(declared.title, up), *trail]
    listed = "".join(
        f'<li><a href="{href}">{for_html(name)}</a></li>' if href else f'<li aria-current="page">{for_html(name)}</li>'
        for name, href in crumbs
    )
    nav = f'<nav aria-label="Breadcrumb"><ol>{listed}</ol></nav>' if trail else ""
    by = f"Published by {for_html(declared.publisher)}. " if declared.publisher else ""
    under = f'License: <a href="{for_html(declared.license)}">{for_html(declared.license)}</a>.' if declared.license else ""
    foot = f"<footer><p>{by}{under} Made with tacit.</p></footer>"
    link = f'<link rel="alternate" type="application/atom+xml" title="{for_html(declared.title)}" href="{up}feed.xml">'
    style = files("tacit.publish.releases").joinpath("site.css").read_text("utf-8")
    whole = title if not trail else f"{title} · {declared.title}"
    body = f'<a class="skip" href="#main">Skip to the numbers</a><header>{nav}{head}</header><main id="main">{main}</main>{foot}'
    return whole_page(whole, body, declared.language, link, style)


__all__ = ["Site", "drawn_over_time", "front_page", "page_of", "period_page", "release_page"]
