"""`tacit release site`: the static site, from what was released and what is declared. It opens neither the data nor the ledger.

Every file is written whole or not at all, and one that is as it should be is left alone. So nothing on the site depends on anything
but released numbers, declarations, and the days on which they were paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InvalidInput
from tacit.files import write
from tacit.publish.releases.declaration import Release, Releases
from tacit.publish.releases.kept import Done, Kept
from tacit.publish.releases.metadata import Published, csvw, dcat, feed
from tacit.publish.releases.pages import Site, front_page, period_page, release_page
from tacit.release.answer import Answer, Column
from tacit.release.axes import is_date
from tacit.release.outputs import check_apart
from tacit.untrusted import csv_text, for_json

if TYPE_CHECKING:
    from tacit.privacy.catalog import Catalog

Content = str | bytes


def write_site(catalog: Catalog, declared: Releases, kept: Kept, out: Path) -> tuple[int, int]:
    """Writes the site; how many files it has, and how many of them were written now."""
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"{out} is a file; name a folder for the site")
    if (
        out.resolve() in (catalog.kept.resolve(), *catalog.kept.resolve().parents)
        or catalog.kept.resolve() in out.resolve().parents
    ):
        raise InvalidInput(f"{out} holds the data set's own files; name another folder for the site")
    for release in declared.releases:
        kept.check(release)
    published = tuple(_published(release, kept.done(release)) for release in declared.releases)
    site = Site(declared, published, catalog.budget, catalog.change, catalog.per)
    contents = dict(_files(site, kept))
    for name in contents:
        check_apart(catalog, out / name)
    changed = [name for name, content in contents.items() if not _is_there(out / name, content)]
    for name in changed:
        write(out / name, contents[name])
    return len(contents), len(changed)


def _is_there(file: Path, content: Content) -> bool:
    wanted = content.encode() if isinstance(content, str) else content
    return file.is_file() and file.read_bytes() == wanted


def _published(release: Release, done: list[Done]) -> Published:
    answers = [(each, each.answer) for each in done if each.answer is not None]
    if release.horizon is not None:  # the newest answer has every period, with the numbers that were released before
        return Published(release, tuple(done), answers[-1][1] if answers else None)
    return Published(release, tuple(done), _series(release, answers) if release.period and answers else None)


def _series(release: Release, answers: Sequence[tuple[Done, Answer]]) -> Answer | None:
    """All periods in one table, with their first days as the first key; None where columns differ."""
    first = answers[0][1]
    shapes = {tuple((column.name, column.kind, column.has_interval) for column in answer.columns) for _, answer in answers}
    if len(shapes) != 1:
        return None
    columns = tuple(_joined([answer.columns[at] for _, answer in answers]) for at in range(len(first.columns)))
    if not any(column.is_key and any(is_date(value) for value in column.values) for column in columns):
        taken = {column.name for column in columns}
        name = release.period if release.period not in taken else f"{release.period}_"
        columns = (Column(name, "key", tuple(done.first for done, answer in answers for _ in range(len(answer)))), *columns)
    notes = tuple(dict.fromkeys(note for _, answer in answers for note in answer.notes))
    receipt = replace(first.receipt, entry=None, entries=(), epsilon=first.receipt.epsilon)
    return replace(first, columns=columns, notes=notes, totals=None, receipt=receipt, parts=None, asked="")


def _joined(columns: Sequence[Column]) -> Column:
    low, high = (
        None if columns[0].low is None else tuple(chain.from_iterable(getattr(each, name) or () for each in columns))
        for name in ("low", "high")
    )
    return replace(columns[0], values=tuple(chain.from_iterable(each.values for each in columns)), low=low, high=high)


# --- files -----------------------------------------------------------------------------------------------------------------------


def _files(site: Site, kept: Kept) -> Iterator[tuple[str, Content]]:
    declared, published = site.declared, site.published
    yield "index.html", front_page(site)
    yield "feed.xml", feed(declared, published)
    yield "catalog.jsonld", dcat(declared, published)
    for one in published:
        release = one.release
        yield f"{release.name}/index.html", release_page(site, one)
        if one.series is not None:
            yield from _downloads(f"{release.name}/data", release.title, release.formats, one.series)
        for done in one.done:
            folder = f"{release.name}/{done.period}" if release.period else release.name
            if release.period:
                yield f"{folder}/index.html", period_page(site, release, done)
            if done.answer is not None:
                title = f"{release.title}, {done.period}" if release.period else release.title
                yield from _downloads(f"{folder}/data", title, release.formats, done.answer)
            else:
                yield from _rows(folder, kept.of(release) / done.rows)
            for entry, certificate in zip(done.entries, done.certificates, strict=False):
                yield f"{folder}/entry-{entry}.certificate.json", f"{certificate}\n"


def _downloads(stem: str, title: str, formats: Sequence[str], answer: Answer) -> Iterator[tuple[str, Content]]:
    if "csv" in formats:
        yield f"{stem}.csv", csv_text(answer.flat())
        yield f"{stem}.csv-metadata.json", csvw(title, "data.csv", answer)
    if "json" in formats:
        told = {name: value for name, value in answer.to_dict().items() if name not in ("left", "data_version")}
        yield f"{stem}.json", for_json({"title": title, **told}, indent=1) + "\n"
    if "parquet" in formats:
        yield f"{stem}.parquet", _parquet(answer.to_arrow())


def _parquet(table: Any) -> bytes:
    import pyarrow.parquet as pq

    written = BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def _rows(folder: str, file: Path) -> Iterator[tuple[str, Content]]:
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    yield f"{folder}/rows.csv", csv_text({name: table.column(name).to_pylist() for name in table.column_names})
    yield f"{folder}/rows.parquet", file.read_bytes()
