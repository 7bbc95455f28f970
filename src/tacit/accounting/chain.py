"""The chain of a ledger, read from the beginning and computed again: hashes, numbers, sums and caps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.accounting.caps import filter_for
from tacit.accounting.entries import NOTHING_BEFORE, Entry, Head, entry_from, hash_of
from tacit.accounting.filter import NOTHING_SPENT, State
from tacit.errors import TacitError
from tacit.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from tacit.accounting.store import Line


@dataclass(frozen=True, slots=True)
class Chain:
    """What reading the whole ledger showed: how many entries it has, its head, and what is wrong."""

    entries: int
    head: Head
    problems: tuple[str, ...]

    @property
    def whole(self) -> bool:
        return not self.problems

    @property
    def problem(self) -> str | None:
        """The first thing that is wrong; one change may show in several places."""
        return self.problems[0] if self.problems else None


class Reader:
    """Reads lines in order and says what is wrong with each."""

    def __init__(self) -> None:
        self.number, self.hash, self.ledger = -1, NOTHING_BEFORE, ""
        self.spent, self.analysts = NOTHING_SPENT, dict[str, State]()
        self.relation: Neighbours | None = None

    def read(self, line: Line) -> list[str]:
        """The problems of the next line; its own words are believed from here on, so that one change is one problem."""
        name = f"entry {line.number}"
        found = [f"{name}: its text was changed"] if hash_of(line.text) != line.hash else []
        if line.number != self.number + 1:
            found.append(f"{name}: entries {self.number + 1} to {line.number - 1} are missing")
        try:
            entry = entry_from(line.text)
            found += [f"{name}: {problem}" for problem in self._wrong(entry, line.number)]
            self.spent, self.ledger, self.relation = entry.spent, entry.ledger, self.relation or entry.price.neighbours
            if entry.analyst_spent is not None:
                self.analysts[entry.analyst] = entry.analyst_spent
        except (TacitError, ValueError, TypeError, LookupError, AttributeError):
            found.append(f"{name}: it cannot be read")
        self.number, self.hash = line.number, line.hash
        return found

    def _wrong(self, entry: Entry, number: int) -> Iterable[str]:
        if entry.number != number or (number and entry.ledger != self.ledger):
            yield "it was moved here from elsewhere"
        if entry.previous != self.hash:
            yield "what comes before it was changed"
        if self.relation not in (None, entry.price.neighbours):
            yield f"it counts for '{entry.price.neighbours}', and the ledger for '{self.relation}'"
        whole = filter_for(entry.cap, entry.price.neighbours)
        if whole.after(self.spent, entry.price) != entry.spent:
            yield "the sums after it are wrong"
        if entry.analyst_spent is not None:
            before = self.analysts.get(entry.analyst, NOTHING_SPENT)
            if whole.after(before, entry.price) != entry.analyst_spent:
                yield f"the sums of {entry.analyst} after it are wrong"
        if entry.kind == "spend" and not whole.holds(entry.spent):
            yield "it was admitted beyond the cap"


def checked(lines: Iterable[Line], head: Head, analysts: dict[str, State]) -> Chain:
    """The chain up to a head that was read before the lines, with the sums that were read with it."""
    reader, problems = Reader(), list[str]()
    for line in lines:
        problems += reader.read(line)
    if reader.number != head.number:
        problems.append(f"entries {reader.number + 1} to {head.number} are missing at the end")
    if (reader.ledger, reader.hash) != (head.ledger, head.hash):
        problems.append("the ledger's row names another last entry")
    if reader.spent != head.spent:
        problems.append("the sums of the data set are not those of the entries")
    names = reader.analysts.keys() | analysts.keys()
    wrong = sorted(name for name in names if reader.analysts.get(name) != analysts.get(name))
    problems += [f"the sums of {name} are not those of the entries" for name in wrong]
    return Chain(reader.number + 1, head, tuple(problems))
