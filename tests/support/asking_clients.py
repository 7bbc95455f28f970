"""Clients of a running server that ask new questions until they are stopped, and what must hold of what they were told."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from serving import Server
from tacit.accounting.ledger.entries import Entry
from tacit.accounting.ledger.selling import Granted
from tacit.session import open as open_data

EPSILON = Fraction(1, 200)
numbers = count()


@dataclass(frozen=True, slots=True)
class Told:
    """A question that was answered: its entry and its price, as the reply has them."""

    question: str
    key: str
    entry: int
    price: Fraction


def new_question() -> str:
    """A question that was never asked."""
    return f"SELECT COUNT(*) AS n FROM visits WHERE cost > {next(numbers)}"


def entries(server: Server) -> dict[int, Entry]:
    """Every entry by its number, from the ledger itself."""
    with open_data(server.folder / "tacit.toml", own_process=False) as data:
        assert data.ledger.verify().whole
        return {entry.number: entry for entry in data.ledger.entries()}


def waiting(server: Server) -> set[int]:
    """The entries that are paid for, and have no answer and no failure yet."""
    found = entries(server).values()
    return {entry.number for entry in found if entry.kind == "spend"} - {entry.about for entry in found if entry.about is not None}


def look_at_kills(server: Server) -> None:
    """The data owner has looked: what was lost with processes that a test killed is let go, and questions go on."""
    with open_data(server.folder / "tacit.toml", own_process=False) as data:
        for number in waiting(server):
            data.ledger.stopped(Granted(next(data.ledger.entries(first=number)), 0))
    assert server.request("POST", "/v1/resume", "cara", {"reason": "a kill that was meant"})[0] == 200


class Clients:
    """Some clients that ask new questions until they are stopped, each request under a key of its own."""

    def __init__(self, server: Server, number: int = 3) -> None:
        self.server, self.stop, self.answered = server, threading.Event(), list[Told]()
        self.lost = list[tuple[str, str, int]]()
        self.threads = [threading.Thread(target=self._ask) for _ in range(number)]

    def _ask(self) -> None:
        while not self.stop.is_set():
            question, key = new_question(), f"k{next(numbers)}"
            status, told = self.server.ask(question, epsilon="0.005", key=key)
            if status == 200:
                self.answered.append(Told(question, key, told["entry"], Fraction(told["price"]["epsilon"])))
            else:
                self.lost.append((question, key, status))
                time.sleep(0.05)

    def ask_lost_again(self) -> None:
        """The same requests under the same keys: each has its answer, or is said to be lost."""
        for question, key, status in self.lost:
            while (reply := self.server.ask(question, epsilon="0.005", key=key))[0] == 429:  # the clients used up their rate
                time.sleep(0.1)
            again, told = reply
            assert again in (200, 504), (status, told)  # the answer, or that its time was up; nothing is paid for again
            if again == 200:
                self.answered.append(Told(question, key, told["entry"], Fraction(told["price"]["epsilon"])))

    def __enter__(self) -> Clients:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


def faults(answered: Sequence[Told], found: Mapping[int, Entry], cap: Fraction = Fraction(2)) -> list[str]:
    """What is wrong with answers that clients have, by the ledger; nothing if every one was paid for, once."""
    spends = [entry for entry in found.values() if entry.kind == "spend"]
    asked = [(entry.question, entry.price.epsilon) for entry in spends]
    paid = {(entry.number, entry.question, entry.price.epsilon) for entry in spends}
    wrong = {
        "an answer without its entry": any((told.entry, told.question, told.price) not in paid for told in answered),
        "two answers for one entry": len({told.entry for told in answered}) < len(answered),
        "a question was paid for twice": len(set(asked)) < len(asked),
        "more was spent than the cap": sum((entry.price.epsilon or Fraction(0) for entry in spends), Fraction(0)) > cap,
    }
    return [name for name, holds in wrong.items() if holds]
