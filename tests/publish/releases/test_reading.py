"""releases.toml: what is declared, and every mistake with its key, its line and the remedy."""

from __future__ import annotations

import pytest

from monthly import RELEASES
from tacit.errors import InvalidCatalog
from tacit.publish.releases.reading import parse_releases


def test_a_declaration_is_read() -> None:
    declared = parse_releases(RELEASES)
    visits, total = declared.releases
    assert (visits.name, visits.period, dict(visits.budget)) == ("visits", "month", {"epsilon": "0.5"})
    assert (total.formats, dict(total.budget)) == (("csv",), {"error": "20"})
    assert (declared.through, declared.publisher) == ("2024-03", "Hospital")


def test_margins_are_counts_of_all_combinations() -> None:
    head = 'title = "t"\n[releases.m]\ntitle = "m"\nepsilon = 1\nperiod = "month"\n'
    text = head + 'margins = { table = "v", columns = ["a", "b\\"c"], day = "day" }'
    (made,) = parse_releases(text).releases
    assert made.sql == 'SELECT "a", "b""c", COUNT(*) AS n FROM "v" WHERE "day" BETWEEN :first AND :last GROUP BY CUBE ("a", "b""c")'


def test_the_definition_is_what_must_not_change() -> None:
    (visits, _), (spaced, _) = (
        parse_releases(text).releases for text in (RELEASES, RELEASES.replace("SELECT ward", "SELECT   ward"))
    )
    assert visits.fingerprint == spaced.fingerprint
    for old, new in (("0.5", "0.6"), ("GROUP BY ward", "GROUP BY ward LIMIT 1"), ('"month"\n\n', '"year"\n\n')):
        (changed, _) = parse_releases(RELEASES.replace(old, new, 1)).releases
        assert changed.fingerprint != visits.fingerprint
    (renamed, _) = parse_releases(RELEASES.replace("Visits by ward", "Wards")).releases
    assert renamed.fingerprint == visits.fingerprint


SQL = next(line for line in RELEASES.splitlines() if line.startswith("sql = "))
WRONG = {
    "needs exactly one of sql, stream, margins and synthetic": ('sql = "SELECT ward', 'replaces = "SELECT ward'),
    "needs exactly one of epsilon and error": ("epsilon = 0.5", "confidence = 0.9"),
    "must name the days of its month": (":first AND :last GROUP", "1 AND 2 GROUP"),
    "names a period, and the release has none": ('epsilon = 0.5\nperiod = "month"', "epsilon = 0.5"),
    "is not a valid release name": ("[releases.visits]", "[releases.Visits]"),
    "is not a period of this release": ("epsilon = 0.5", 'epsilon = 0.5\nfrom = "2024-Q1"'),
    "unknown release 'older'": ("epsilon = 0.5", 'epsilon = 0.5\nreplaces = "older"'),
    "contains an invisible character": ("Stays of", "Stays\\u202e of"),
    "say how many periods the stream will ever have": (SQL, 'stream = "SELECT 1 WHERE :last"'),
    "is for a stream": ("epsilon = 0.5", "epsilon = 0.5\nhorizon = 12"),
    "give both for a stream": (SQL, 'horizon = 12\nstream = "SELECT 1 WHERE :last"'),
    "must name the last day that it reads, and no other": (SQL, 'horizon = 12\ndelta = 1e-9\nstream = "SELECT :first, :last"'),
    "is not a key that tacit knows; did you mean epsilon?": ("epsilon = 0.5", "epsilon = 0.5\nepsilonn = 1"),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_mistake_is_named(message: str) -> None:
    old, new = WRONG[message]
    assert old in RELEASES
    with pytest.raises(InvalidCatalog) as caught:
        parse_releases(RELEASES.replace(old, new, 1))
    assert message in str(caught.value), str(caught.value)


@pytest.mark.parametrize("text", ['title = "t"', 'title = "t"\nreleases = {}', "title = ", '[releases.a]\ntitle = "x"'])
def test_a_file_without_releases_is_refused(text: str) -> None:
    with pytest.raises(InvalidCatalog):
        parse_releases(text)
