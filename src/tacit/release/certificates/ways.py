"""The certificates of ways to publish other than questions: histograms with noise, and what a proof page states as a whole.

A way that keeps its result keeps its basis with it, so that the certificate can be made again from the ledger. One that keeps
nothing has its certificate when it is released, and never again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.events import Event
from tacit.accounting.ledger.entries import event_json
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.catalog import Table
from tacit.release.certificates.certificate import Certificate
from tacit.release.certificates.derivation import PROOFS
from tacit.release.certificates.keys import OF_CERTIFICATES, Signer
from tacit.release.certificates.making import Basis, unsigned
from tacit.release.certificates.mechanisms import leaves, parameters
from tacit.release.certificates.plain import table_facts

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry

KEPT = ("way", "asked", "plan", "facts", "derivation", "mechanisms", "stated")
ENDING = ".certificate.json"


@dataclass(slots=True)
class Way:
    """Collects the steps and the mechanisms of a release, in the order of the leaves of its event."""

    way: str
    what: str
    plan: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    stated: list[str] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    mechanisms: list[dict[str, Any]] = field(default_factory=list)
    events: int = 0

    def step(self, rule: str, inputs: Mapping[str, Any], **gives: Any) -> int:
        """Add a step; returns its place."""
        self.steps.append({"rule": rule, "proof": PROOFS[rule], "at": "", "inputs": dict(inputs), "gives": gives})
        return len(self.steps) - 1

    def noise(self, releases: str, step: int, mechanism: Laplace | Gaussian, **more: Any) -> None:
        """Add a mechanism that adds noise to a histogram or a number."""
        self._add({"releases": releases, "step": step, **more, **parameters(mechanism)}, mechanism.event)

    def drawn(self, releases: str, step: int, kind: str, event: Event, **more: Any) -> None:
        """Add a mechanism that draws its result."""
        self._add({"releases": releases, "step": step, "kind": kind, **more}, event)

    def _add(self, document: dict[str, Any], event: Event) -> None:
        number = sum(1 for _ in leaves(event))
        self.mechanisms.append({"part": 0, **document, "events": list(range(self.events, self.events + number))})
        self.events += number

    @property
    def kept(self) -> dict[str, Any]:
        """The basis that is kept with the result; all of it is public."""
        told = {"way": self.way, "asked": {"what": self.what}, "plan": dict(self.plan), "facts": dict(self.facts)}
        return {**told, "derivation": self.steps, "mechanisms": self.mechanisms, "stated": self.stated}


def basis_kept(kept: Mapping[str, Any], digest: str | None) -> Basis:
    """The basis of a way as it was kept; `digest` is the hash of what was released."""
    return Basis(**{name: kept[name] for name in KEPT}, released={"text": None, "sha256": digest, "names": []})


def facts_of(table: Table, columns: Sequence[str]) -> dict[str, Any]:
    """The catalog facts of one private table and some of its columns."""
    return {"tables": {table.name: table_facts(table, {name.lower() for name in columns})}}


def stated_event(way: Way, rule: str, event: Event, inputs: Mapping[str, Any]) -> Way:
    """The way with mechanisms whose price a proof page states as a whole: one for each leaf of the event."""
    step = way.step(rule, inputs)
    for leaf in leaves(event):
        told = {name: value for name, value in event_json(leaf).items() if name not in ("kind", "neighbours")}
        way.drawn("stated", step, "stated", leaf, parameters=told)
    return way


@dataclass(frozen=True, slots=True)
class Seal:
    """Signs the certificate of a release that is being made: with the entry that paid for it, before anything is kept of it."""

    entry: Entry
    questions_at_most: int
    signer: Callable[[], Signer]

    def beside(self, way: Way, out: Path) -> Certificate:
        """The certificate of a file that is written, saved beside it."""
        certificate = self.of(way, sha256(out.read_bytes()).hexdigest())
        certificate.save(certificate_beside(out))
        return certificate

    def of(self, way: Way, digest: str | None = None) -> Certificate:
        """The certificate of a release with this hash."""
        document = unsigned(basis_kept(way.kept, digest), self.entry, self.questions_at_most)
        return Certificate(self.signer().signed(document, OF_CERTIFICATES))


def certificate_beside(out: Path) -> Path:
    """The path of the certificate of a published file."""
    return out.with_name(f"{out.name}{ENDING}")
