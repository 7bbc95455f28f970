"""The hospital behind a door, in this process: a desk with accounts of every role, and the front in front of it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from hospital import files
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.desk import Desk, desk
from tacit.session import open as open_data

ROLES = {"ana": "analyst", "bob": "analyst", "cara": "curator", "otto": "auditor"}
BOB = "\n[analysts.bob]\nepsilon = 1\n"


class Served:
    """A desk, its tokens by name, and the folder of its catalog."""

    def __init__(self, place: Desk, folder: Path) -> None:
        self.desk, self.folder, self.office, self.data = place, folder, place.office, place.office.data
        self.tokens = {
            name: self.office.accounts.add(name, role, declared=self.data.catalog.analysts).token for name, role in ROLES.items()
        }

    def call(self, operation: str, by: str = "ana", key: str = "", **arguments: object) -> Reply:
        return self.desk.handle(Call(operation, self.tokens.get(by, by), arguments, key))


@cache
def _prepared() -> tempfile.TemporaryDirectory[str]:
    """The hospital, prepared once for all tests of a process."""
    folder = tempfile.TemporaryDirectory()
    catalog = files(Path(folder.name))
    catalog.write_text(catalog.read_text("utf-8") + BOB, "utf-8")
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    return folder


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """The prepared hospital with two analysts, a curator and an auditor: a copy of its own in an empty folder."""
    shutil.copytree(_prepared().name, folder, dirs_exist_ok=True)
    with open_data(folder / "tacit.toml", own_process=False) as data:
        place = desk(data)
        yield Served(place, folder)
        place.office.records.close()


class InProcess:
    """The clerk without its process: what the front holds, in a thread."""

    def __init__(self, place: Desk) -> None:
        self.desk = place

    async def ask(self, call: Call) -> Reply:
        return await asyncio.to_thread(self.desk.handle, call)
