"""The ledger of a graph: one relation, one budget, and the till through which every release about the graph pays.

A ledger is begun once for one edge or one node, and says so in its first entry. A release proved for another relation has no price
in it: an event of edges in a ledger of nodes, of units in either, and of either in a catalog's ledger are refused by type, before
the graph is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tacit.accounting.events import Event
from tacit.accounting.filter import Left
from tacit.accounting.ledger.caps import at_most
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.selling import Granted, Sale
from tacit.accounting.ledger.units import Policy, Units
from tacit.errors import InvalidInput, NoLedger, WrongRelation
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import QUESTIONS_AT_MOST, Budget
from tacit.privacy.loss import Neighbours, positive_budget, probability
from tacit.privacy.rounding import Number
from tacit.publish.graphs.private.relations import RELATIONS, relation_named
from tacit.release.certificates.keys import signer_in
from tacit.release.certificates.ways import Seal
from tacit.release.once import Till, once

Made = TypeVar("Made")
BEGIN = "begin one with: tacit ledger begin --relation edge --epsilon 1 --ledger FILE"


@dataclass(frozen=True, slots=True)
class Paid:
    """The ledger entry of a release, and the remaining budget."""

    entry: int
    left: Left
    seal: Seal = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {"entry": self.entry, "left": {"epsilon": at_most(self.left.epsilon), "delta": at_most(self.left.delta)}}


def begin_graph_ledger(file: str | Path, relation: str, epsilon: Number, delta: Number = 0) -> Ledger:
    """A new ledger for the releases of one graph, for one "edge" or one "node"; refused where one exists."""
    budget = Budget(positive_budget(epsilon), probability(delta))
    if (place := _file(file)).exists():
        raise InvalidInput(
            f"{place.name} already exists: a ledger is begun once, and records every release of its graph; "
            f"spend from it with --ledger {place.name}, or name a file that does not exist for another graph"
        )
    return begin_ledger(_address(Path(file)), _policy(budget, relation_named(relation)), bits.random_bytes(16).hex())


def open_graph_ledger(place: str | Path) -> Ledger:
    """The ledger of a graph, under the budget and the relation with which it was begun."""
    file = _file(place)
    if not file.is_file():
        raise NoLedger(f"{file.name} does not exist", remedy=BEGIN)
    first = next(iter(open_ledger(_address(file), _policy(Budget(positive_budget(1)), RELATIONS["edge"])).entries()))
    if first.price.neighbours not in RELATIONS.values():
        raise WrongRelation(f"{file.name} counts for '{first.price.neighbours}', not for one edge or one node of a graph; {BEGIN}")
    return open_ledger(_address(file), _policy(first.cap, first.price.neighbours))


def relation_of(ledger: Ledger) -> Neighbours:
    """The neighbouring relation that the ledger's prices count for."""
    return ledger.policy.neighbours


def sell_release(ledger: Ledger, event: Event, what: str, run: Callable[[], Made]) -> tuple[Made, Paid]:
    """The result of `run`, after the ledger has recorded the event. The graph is read inside `run`, and not before."""

    def read_graph(granted: Granted) -> tuple[Made, Seal]:
        return run(), Seal(granted.entry, QUESTIONS_AT_MOST, lambda: signer_in(_kept_beside(ledger)))

    done = once(Till(ledger), Sale((event,), "curator", what, "a graph without a catalog"), read_graph)
    made, seal = done.value
    return made, Paid(done.entry, done.left, seal)


def _kept_beside(ledger: Ledger) -> Path:
    """The folder of the key that signs, beside the file of the ledger."""
    assert ledger.file is not None  # noqa: S101  # the ledger of a graph is a file
    return ledger.file.absolute().parent / ".tacit"


def _file(place: str | Path) -> Path:
    """The file of a ledger; a URL is refused without its words, which may hold a password."""
    if ":/" in str(place):
        raise InvalidInput("the ledger of a graph is a file, not a URL; give for example --ledger graph.sqlite")
    return Path(place)


def _policy(budget: Budget, relation: Neighbours) -> Policy:
    return Policy(budget, neighbours=relation, units=Units((("graph", f'["{relation.of}"]'),)), data_set="graph")


def _address(file: Path) -> str:
    return f"sqlite:///{file.absolute()}"
