"""Released periods as files beside the catalog: each period of each release, written whole or not at all.

They hold released numbers and what was paid for them. The ledger has the same answers: a file that is lost is written again from
it, for nothing. `.tacit/releases/NAME/release.json` has the definition under which a release began.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput, StoreUnusable
from tacit.files import make_private_folder, write
from tacit.publish.releases.declaration import Release
from tacit.publish.releases.due import Due
from tacit.release.answer import Answer, Receipt, record, recorded, with_names
from tacit.untrusted import for_json

FORMAT = 1
DEFINITION = "release.json"
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Done:
    """A released period: its answer or the name of its file of synthetic rows, the entries that paid, and its certificates."""

    release: str
    period: str
    first: str
    last: str
    question: str
    at: str
    entries: tuple[int, ...]
    answer: Answer | None = None
    rows: str = ""
    told: dict[str, Any] | None = None
    certificates: tuple[str, ...] = ()

    @property
    def entry(self) -> int:
        """The first entry that paid."""
        return self.entries[0] if self.entries else 0


class Kept:
    """The folder of what was released."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "releases"

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other run is at work; no other one begins inside. The lock ends with its process, however that ends."""
        make_private_folder(self.folder.parent)
        make_private_folder(self.folder)
        descriptor = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    def of(self, release: Release) -> Path:
        """The folder of a release."""
        return self.folder / release.name

    def check(self, release: Release) -> None:
        """Refuses a release that has released periods under another definition: that is a new release."""
        file = self.of(release) / DEFINITION
        if not file.exists() or not self.done(release):
            return
        before, now = _read(file)["definition"], json.loads(for_json(release.definition))
        if changed := [name for name in now if now[name] != before.get(name)]:
            what = ", ".join(changed)
            raise InvalidInput(
                f"release {release.name} was declared with another {what} before: a release never changes in silence; "
                f'restore it, or declare a new release under another name, with replaces = "{release.name}"'
            )

    def begin(self, release: Release) -> None:
        """Note the definition before anything is paid for; `check` has found it to be the one of all that was released."""
        file, text = self.of(release) / DEFINITION, self._definition(release)
        if not file.exists() or file.read_text("utf-8") != text:
            make_private_folder(self.of(release))
            write(file, text)

    def _definition(self, release: Release) -> str:
        return for_json({"format": FORMAT, "release": release.name, "definition": release.definition}, indent=2) + "\n"

    def done(self, release: Release) -> list[Done]:
        """All released periods, the oldest first."""
        if not self.of(release).is_dir():
            return []
        files = [file for file in self.of(release).glob("*.json") if file.name != DEFINITION and ".rows." not in file.name]
        read = [_done(_read(file)) for file in files]
        return sorted(read, key=lambda each: (each.first, each.period))

    def has(self, release: Release, due: Due) -> bool:
        """Whether a period is released."""
        return (self.of(release) / f"{due.name}.json").exists()

    def keep(self, release: Release, done: Done) -> None:
        """Write a released period; the last step, after the ledger has its answer."""
        answer = None if done.answer is None else json.loads(record(done.answer))
        labels = [] if done.answer is None else [[list(each) for each in column.labels] for column in done.answer.columns]
        fields = {**asdict(replace(done, answer=None)), "answer": answer, "labels": labels, "format": FORMAT}
        write(self.of(release) / f"{done.period}.json", for_json(fields, indent=1) + "\n")


def _done(fields: dict[str, Any]) -> Done:
    answer = fields["answer"]
    made = None if answer is None else recorded(json.dumps(answer))
    known = {name: fields[name] for name in Done.__slots__ if name not in ("answer", "entries", "certificates")}
    done = Done(**known, entries=tuple(fields["entries"]), certificates=tuple(fields["certificates"]))
    if made is None:
        return done
    labels = [tuple((value, label) for value, label in each) for each in fields["labels"]]
    return replace(done, answer=_paid(with_names(made, [column.name for column in made.columns], labels), done))


def _paid(answer: Answer, done: Done) -> Answer:
    entries = done.entries if len(done.entries) > 1 else ()
    receipt = Receipt(answer.receipt.epsilon, answer.receipt.delta, entry=done.entry or None, entries=entries)
    return replace(answer, receipt=receipt, asked=done.question)


def _read(file: Path) -> dict[str, Any]:
    try:
        fields = json.loads(file.read_text("utf-8"))
        if isinstance(fields, dict) and fields.get("format") == FORMAT:
            return fields
    except (OSError, ValueError):
        pass
    raise StoreUnusable(
        f"{file} was changed or damaged, or is of a newer version",
        remedy="remove it: `tacit release run` writes it again from the ledger",
    )
