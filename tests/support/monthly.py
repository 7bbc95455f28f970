"""A small hospital whose visits are released month by month: the catalog, its rows, and the declaration of its releases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import tacit
from tacit.publish.releases.declaration import Releases
from tacit.publish.releases.kept import Kept
from tacit.publish.releases.reading import parse_releases
from tacit.publish.releases.run import Ran, complete_of, run, steps_of
from tacit.session import DataSet

CATALOG = """
[budget]
epsilon = 100
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 3
rows_at_most = 10000

[tables.visits.columns]
person = { key = true }
ward = { values = ["north", "south"], unknown = "drop", nulls = "drop" }
day = { type = "date", bounds = ["2024-01-01", "2024-12-31"], outside = "drop", nulls = "drop" }
"""
RELEASES = """
title = "Hospital & <wards>"
about = "Visits, month by month."
url = "https://statistics.example.org/"
publisher = "Hospital"
through = "2024-03"

[releases.visits]
title = "Visits by ward"
notes = "Stays of one day <b>count</b>."
sql = "SELECT ward, COUNT(*) AS visits FROM visits WHERE day BETWEEN :first AND :last GROUP BY ward"
epsilon = 0.5
period = "month"

[releases.total]
title = "All visits"
sql = "SELECT COUNT(*) AS visits FROM visits WHERE day BETWEEN :first AND :last"
error = 20
period = "month"
formats = ["csv"]
"""


def rows_of(people: int) -> list[str]:
    """Three visits of each person, in months and wards that follow from their number."""
    return [
        f"{one},{('north', 'south')[one % 2]},2024-{1 + (one + 2 * at) % 6:02}-{1 + one % 28:02}"
        for one in range(people)
        for at in range(3)
    ]


def hospital(folder: Path, rows: list[str] | None = None, releases: str = RELEASES) -> DataSet:
    """The hospital, prepared, with a ledger; its questions run in this process."""
    folder.mkdir(exist_ok=True)
    (folder / "tacit.toml").write_text(CATALOG, "utf-8")
    (folder / "releases.toml").write_text(releases, "utf-8")
    given = rows_of(40) if rows is None else rows
    (folder / "visits.csv").write_text("\n".join(["person,ward,day", *given]) + "\n", "utf-8")
    data = tacit.open(folder / "tacit.toml", own_process=False)
    data.prepare()
    data.begin_ledger("a test")
    return data


def released(data: DataSet, text: str = RELEASES, **changes: str) -> list[Ran]:
    """What one run releases now; `changes` are replaced in the text of the declaration first."""
    declared = declared_in(text, changes)
    kept = Kept(data.catalog.kept)
    with kept.alone() as alone:
        assert alone
        return list(run(data, declared, steps_of(declared, complete_of(data, declared), kept), kept))


def declared_in(text: str, changes: Mapping[str, str]) -> Releases:
    """A declaration with other values of `through`, say."""
    for name, value in changes.items():
        text = text.replace(f'{name} = "2024-03"', f'{name} = "{value}"')
    return parse_releases(text)


def spends(data: DataSet) -> dict[str, int]:
    """How often each period of each release was paid for, by the requests in the ledger."""
    found: dict[str, int] = {}
    for entry in data.ledger.entries():
        if entry.kind == "spend":
            name = " ".join(entry.details["request"].split(" ")[1:3])
            found[name] = found.get(name, 0) + 1
    return found
