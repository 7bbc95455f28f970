"""The files of a site for programs: CSV on the Web for the columns, DCAT for the catalog of data sets, Atom for what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.publish.local.survey.declaration import fingerprint
from tacit.publish.releases.declaration import Release, Releases
from tacit.publish.releases.kept import Done
from tacit.release.answer import Answer
from tacit.untrusted import for_html, for_json

MOST_NEW = 50  # entries of the feed
TYPES = {"csv": "text/csv", "json": "application/json", "parquet": "application/vnd.apache.parquet"}
CONTEXT = {"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/", "foaf": "http://xmlns.com/foaf/0.1/"}


@dataclass(frozen=True, slots=True)
class Published:
    """A release as it is published: what was released of it, the newest last, and all periods together where that is one table."""

    release: Release
    done: tuple[Done, ...]
    series: Answer | None = None


def csvw(title: str, file: str, answer: Answer) -> str:
    """The metadata of a CSV file: its columns, their types, and which are keys."""
    flat = answer.flat()
    keys = [column.name for column in answer.columns if column.is_key]
    columns = [
        {"name": f"column{at}", "titles": name, "datatype": _datatype(values)} for at, (name, values) in enumerate(flat.items(), 1)
    ]
    names = {column["titles"]: column["name"] for column in columns}
    schema = {"columns": columns, **({"primaryKey": [names[key] for key in keys]} if keys and _complete(flat, keys) else {})}
    return (
        for_json({"@context": "http://www.w3.org/ns/csvw", "url": file, "dc:title": title, "tableSchema": schema}, indent=2) + "\n"
    )


def _complete(flat: dict[str, list[Any]], keys: Sequence[str]) -> bool:
    return all(value is not None for key in keys for value in flat[key])


def _datatype(values: Sequence[Any]) -> str:
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, bool) for value in there):
        return "boolean"
    if there and all(isinstance(value, int) for value in there):
        return "integer"
    return "number" if there and not any(isinstance(value, str) for value in there) else "string"


def dcat(declared: Releases, published: Sequence[Published]) -> str:
    """The catalog of all releases as JSON-LD."""
    publisher = {"dct:publisher": {"@type": "foaf:Agent", "foaf:name": declared.publisher}} if declared.publisher else {}
    catalog = {"@context": CONTEXT, "@id": declared.url or "./", "@type": "dcat:Catalog", "dct:title": declared.title}
    sets = [_data_set(declared, each, publisher) for each in published]
    return for_json({**catalog, **_described(declared.about), **publisher, "dcat:dataset": sets}, indent=2) + "\n"


def _data_set(declared: Releases, one: Published, publisher: dict[str, Any]) -> dict[str, Any]:
    release = one.release
    base = f"{declared.url}{release.name}/"
    license_ = {"dct:license": {"@id": declared.license}} if declared.license else {}
    days = [each for each in one.done if each.first]
    covered = (
        {"dct:temporal": {"@type": "dct:PeriodOfTime", "dcat:startDate": days[0].first, "dcat:endDate": days[-1].last}}
        if days
        else {}
    )
    newest = f"{one.done[-1].period}/" if release.period and one.done else ""  # each period has rows of its own
    file = f"{newest}rows" if release.synthetic else "data"
    shown = ("csv", "parquet") if release.synthetic else release.formats
    distributions = [
        {
            "@type": "dcat:Distribution",
            "dcat:downloadURL": {"@id": f"{base}{file}.{each}"},
            "dcat:mediaType": TYPES[each],
            **license_,
        }
        for each in shown
    ]
    issued = {"dct:modified": one.done[-1].at} if one.done and one.done[-1].at else {}
    return {
        "@type": "dcat:Dataset", "@id": base, "dct:title": release.title, **_described(release.notes), **issued, **covered,
        **publisher, "dcat:landingPage": {"@id": base}, "dcat:distribution": distributions if one.done else [],
    }  # fmt: skip


def _described(text: str) -> dict[str, str]:
    return {"dct:description": text} if text else {}


def feed(declared: Releases, published: Sequence[Published]) -> str:
    """The Atom feed of what was released, the newest first."""
    news = [(done, each.release) for each in published for done in each.done]
    news.sort(key=lambda pair: (pair[0].at, pair[0].entry), reverse=True)
    updated = news[0][0].at if news else "1970-01-01"
    author = for_html(declared.publisher or declared.title)
    entries = "".join(_entry(declared, release, done) for done, release in news[:MOST_NEW])
    links = (
        f'<link href="{for_html(declared.url)}"/><link rel="self" href="{for_html(declared.url)}feed.xml"/>' if declared.url else ""
    )
    head = f"<title>{for_html(declared.title)}</title>{links}<id>{_id(declared.url, declared.title)}</id>"
    about = f"<updated>{for_html(updated)}T00:00:00Z</updated><author><name>{author}</name></author>"
    language = for_html(declared.language)
    start = f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{language}">'
    return f"{start}{head}{about}{entries}</feed>\n"


def _entry(declared: Releases, release: Release, done: Done) -> str:
    title = f"{release.title}, {done.period}" if release.period else release.title
    where = for_html(f"{declared.url}{page_of(release, done)}")
    when = done.at or "1970-01-01"
    return (
        f'<entry><title>{for_html(title)}</title><link href="{where}"/><id>{_id(declared.url, release.name, done.period)}</id>'
        f"<updated>{for_html(when)}T00:00:00Z</updated></entry>"
    )


def page_of(release: Release, done: Done) -> str:
    """The address of the page of a period, from the front page on."""
    return f"{release.name}/{done.period}/" if release.period else f"{release.name}/"


def _id(*parts: str) -> str:
    """A name that stays, whatever moves."""
    digits = fingerprint(*parts)
    return f"urn:uuid:{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"
