"""Finds other ledgers over the sources of a catalog, so that the same people do not silently get a second budget.

The register belongs to one operating-system user (register.md): it does not see other users and other machines. If it cannot be
kept, `word` says why, and nothing is refused for that reason.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.accounting.ledger.register import FILE, Register, Registered, ledger_place, open_register, state_folder
from tacit.errors import RegisterUnavailable, StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog

if TYPE_CHECKING:
    from tacit.data.files.sources import Given

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Registration:
    """The sources of a catalog as the register marks them; without a register, the reason."""

    catalog: Catalog
    place: str
    register: Register | None
    marks: frozenset[str] = frozenset()
    word: str = ""

    def require_alone(self, ledger: str | None, reason: str) -> None:
        """Refuse sources that another ledger already covers, unless the data owner gives a reason now or gave one before."""
        others = [] if reason or self.register is None else self._others(self.register, ledger or "")
        if others:
            raise _covered(
                others[0],
                "use that catalog, or declare its ledger in [ledger] url and data_set; for a second budget over the same "
                "people, give a reason: --reason WHY",
            )

    def _others(self, register: Register, ledger: str) -> list[Registered]:
        """Other ledgers over these sources that this one has not shared a source with before; and copies of this ledger."""
        known = register.sharing(self.marks)
        own = {mark for one in known if one.ledger == ledger for mark in one.marks}
        return [
            *(one for one in known if one.ledger != ledger and own.isdisjoint(one.marks)),
            *(register.copies(ledger, self.place) if ledger else ()),
        ]

    def record(self, ledger: str) -> None:
        """Record that a ledger covers these sources."""
        if self.register is not None:
            told = str(self.catalog.path.absolute()) if self.catalog.path else ""
            self.register.record(Registered(ledger, self.place, self.catalog.name, told, tuple(sorted(self.marks))))


def require_no_copy(ledger: str, address: str, environment: Mapping[str, str]) -> None:
    """Refuse the copy of a ledger's file if the original still exists: each of the two would admit the remaining budget.

    tacit cannot know whether the original of a ledger on a server still exists: `require_alone` asks the data owner for a reason.
    """
    folder, place = state_folder(environment), ledger_place(address, environment)
    if folder is None or not (folder / FILE).exists() or not os.path.isabs(place):
        return
    try:
        known = open_register(environment, lambda: bits.random_bytes(KEY_BYTES)).copies(ledger, place)
    except RegisterUnavailable:
        return
    for one in known:
        if os.path.isabs(one.place) and not _same_file(one.place, place):
            raise _covered(one, f"use that catalog; if this is where the data set lies from now on, move {one.place} away")


def _same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file, even through two mounts of one folder; False if one of them cannot be read."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _covered(other: Registered, remedy: str) -> StoreUnusable:
    return StoreUnusable(f"these sources are already behind the ledger of '{other.name}' ({other.catalog})", remedy=remedy)


def registration(catalog: Catalog, environment: Mapping[str, str], given: Given | None = None) -> Registration:
    """The registration of a catalog's sources, which are read in samples. `given` has the tables given in Python."""
    from tacit.data.files.source_marks import source_marks  # with all that reads files, which no query does

    place = ledger_place(catalog.ledger_address(environment), environment)
    try:
        register = open_register(environment, lambda: bits.random_bytes(KEY_BYTES))
    except RegisterUnavailable as error:
        return Registration(catalog, place, None, word=str(error))
    return Registration(catalog, place, register, source_marks(catalog, register.key, environment, given))
