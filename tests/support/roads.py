"""Five roads through tacit, and the files of src/tacit in which a function is called on each: for test_way.py.

python roads.py FOLDER    walks all of them on data that it makes in the folder, and prints their files as JSON
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from urllib.request import Request, urlopen

from typer.testing import CliRunner

from hospital import files
from served import InProcess, desk, listening
from sources import MODULES, SOURCE
from tacit.doors.server.pages.console import with_console
from tacit.doors.server.settings import Settings

COUNT = "SELECT COUNT(*) AS n FROM visits"
MEAN = "SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward"
CATALOG = """[budget]
epsilon = 8
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 3

[tables.visits.columns]
person = { key = true }
cost = { bounds = [0, 100] }
ward = { values = ["a", "b"], unknown = "drop" }
"""


def files_of(road: Callable[[], object]) -> list[str]:
    """The files below src/tacit in which a function is called on a road; bodies of modules and classes are not calls."""
    codes: set[CodeType] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        road()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # threads that go on are still watched, into a set that is no longer read
    places = {Path(code.co_filename) for code in codes.copy() if code.co_name != "<module>" and "__qualname__" not in code.co_names}
    return sorted(str(place.relative_to(SOURCE)) for place in places if place.is_relative_to(SOURCE))


def questions(folder: Path) -> dict[str, list[str]]:
    """A count and a grouped mean, each from the opened catalog to the answer."""
    import tacit

    catalog = files(folder)
    with tacit.open(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")

    def ask(text: str) -> None:
        with tacit.open(catalog, own_process=False) as data:
            str(data.session("ana").sql(text, epsilon=0.1))

    return {"count": files_of(lambda: ask(COUNT)), "grouped mean": files_of(lambda: ask(MEAN))}


def preparation(folder: Path) -> list[str]:
    """`tacit prepare` of a CSV file, with a ledger that is begun."""
    from tacit.doors.cli import app

    (folder / "tacit.toml").write_text(CATALOG, "utf-8")
    rows = "\n".join(f"{at % 40},{at % 101},{'ab'[at % 2]}" for at in range(120))
    (folder / "visits.csv").write_text(f"person,cost,ward\n{rows}\n", "utf-8")
    words = ["prepare", "--catalog", str(folder / "tacit.toml"), "--new-ledger"]

    def prepare() -> None:
        done = CliRunner().invoke(app, words)
        if done.exit_code:
            raise SystemExit(done.output)

    return files_of(prepare)


def request(folder: Path) -> list[str]:
    """A grouped mean over HTTP, through the front and the desk, on the hospital that is in the folder."""
    import tacit

    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        place = desk(data)
        token = place.office.accounts.add("ana", "analyst", declared=data.catalog.analysts).token

        made = with_console(InProcess(place), Settings())  # as the process makes it when it starts

        def ask() -> None:
            with listening(place, made=made) as url:
                post(f"{url}/v1/questions", token, {"sql": MEAN, "epsilon": "0.2"})

        found = files_of(ask)
        place.office.records.close()
    return found


def post(url: str, token: str, body: dict[str, str]) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as reply:  # noqa: S310  # of the server in this process
        reply.read()


def graph(folder: Path) -> list[str]:
    """A graph from its file to the published one."""
    from tacit import graphs

    edges = folder / "edges.tsv"
    edges.write_text("".join(f"{at}\t{(at * 7 + 1) % 30}\n" for at in range(30)), "utf-8")
    return files_of(lambda: graphs.k_degree(graphs.read(edges), 2).save(folder / "public.tsv"))


def roads(folder: Path) -> dict[str, list[str]]:
    """The files of each road, by its name."""
    for name in ("hospital", "prepare", "graph"):
        (folder / name).mkdir()
    found = questions(folder / "hospital")
    return {
        **found,
        "prepare": preparation(folder / "prepare"),
        "request": request(folder / "hospital"),
        "graph": graph(folder / "graph"),
    }


def load() -> None:
    """Imports every module, so that a road is what runs and not what is loaded first."""
    for name in MODULES:
        if not name.endswith("__main__"):
            importlib.import_module(name)


if __name__ == "__main__":
    os.environ["XDG_STATE_HOME"] = sys.argv[1]  # the register of ledgers is this folder's
    load()
    print(json.dumps(roads(Path(sys.argv[1]))))
