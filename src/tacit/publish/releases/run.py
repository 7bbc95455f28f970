"""`tacit release run`: asks for every period that is due and not yet released, once each, and may be killed at any moment.

The order decides (releases.md): the definition is noted, then the ledger grants and keeps the answer, then the file is written. A
run that finds no file asks again under the same request: an answer that the ledger has is written for nothing, and a spend whose
process ended before it had an answer is answered without a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tacit.errors import InvalidInput, NotAllowed, TacitError
from tacit.privacy.rounding import decimal_text
from tacit.publish.releases.declaration import Release, Releases
from tacit.publish.releases.due import Complete, Due, due_periods
from tacit.publish.releases.kept import Done, Kept
from tacit.release.answer import Receipt, recorded, with_names
from tacit.release.outputs import check_apart
from tacit.release.reads import TO

if TYPE_CHECKING:
    from tacit.accounting.ledger.entries import Entry
    from tacit.release.answer import Answer
    from tacit.session import DataSet, Session

EPOCH = date(1970, 1, 1)
Told = Callable[["Step"], None]


@dataclass(frozen=True, slots=True)
class Step:
    """A period that is due and not yet released."""

    release: Release
    due: Due

    @property
    def request(self) -> str:
        """The name under which the ledger knows it: of this definition, this period and no other."""
        return f"release {self.release.name} {self.due.name} {self.release.fingerprint}"

    def __str__(self) -> str:
        return self.release.name if not self.release.period else f"{self.release.name} {self.due.name}"


@dataclass(frozen=True, slots=True)
class Ran:
    """A period that was released now. `recovered` says that its entry is of an earlier run, so that nothing was spent now."""

    release: str
    period: str
    entry: int
    epsilon: str
    delta: str
    recovered: bool

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


def complete_of(data: DataSet, declared: Releases) -> Complete:
    """The days of the data that are complete: by the closed periods of the budget, or by `through` of the declaration."""
    periods = getattr(data, "periods", None)
    closed = periods() if periods is not None and getattr(data.catalog, "per", None) is not None else None
    tables = [table for table in data.catalog.tables.values() if not table.public]
    columns = (column for table in tables for column in table.columns.values() if column.kind == "date" and column.bounds)
    bounds = [EPOCH + timedelta(int(column.bounds[0])) for column in columns if column.bounds]
    return Complete.of(declared, closed, bounds)


def steps_of(declared: Releases, complete: Complete, kept: Kept, only: Sequence[str] = ()) -> list[Step]:
    """The periods that are due and not yet released, in the order of the periods."""
    for name in only:
        if declared.release(name) is None:
            raise InvalidInput(
                f"unknown release {name!r}; releases.toml declares: {', '.join(each.name for each in declared.releases)}"
            )
    wanted = [each for each in declared.releases if not only or each.name in only]
    for release in wanted:
        kept.check(release)
    steps = [Step(release, due) for release in wanted for due in due_periods(release, complete) if not kept.has(release, due)]
    return sorted(steps, key=lambda step: (step.due.last or date.min, [each.name for each in wanted].index(step.release.name)))


def run(data: DataSet, declared: Releases, steps: Sequence[Step], kept: Kept, told: Told = lambda step: None) -> Iterator[Ran]:
    """Releases one step after the other; the caller holds `Kept.alone`.

    A release that fails stops at its period and leaves the others alone; the first error is raised when all have had their turn.
    """
    failed: dict[str, TacitError] = {}
    for step in steps:
        if step.release.name in failed:
            continue
        told(step)
        kept.begin(step.release)
        try:
            yield _way_of(step.release)(data, declared, step, kept)
        except TacitError as error:
            error.add_note(f"(release {step}; the next run goes on from here)")
            failed[step.release.name] = error
    if failed:
        names = ", ".join(failed)
        first = next(iter(failed.values()))
        if len(failed) > 1:
            first.add_note(f"({len(failed)} releases failed: {names})")
        raise first


def _way_of(release: Release) -> Callable[[DataSet, Releases, Step, Kept], Ran]:
    """How a release is asked for."""
    return _rows if release.synthetic else _answered if release.horizon is None else _stream_period


# --- a question ----------------------------------------------------------------------------------------------------------------


def _answered(data: DataSet, declared: Releases, step: Step, kept: Kept) -> Ran:
    session = data.session(declared.analyst)
    before = data.ledger.requested(step.request, -1)
    answer = _kept_answer(data, session, step, before)
    if answer is None:
        asking = session.for_request(step.request, resumes=True)
        answer = asking.sql(step.release.sql, params=step.due.parameters or None, **step.release.amounts, fresh=True)
    entries = answer.receipt.entries or ((answer.receipt.entry,) if answer.receipt.entry is not None else ())
    done = Done(
        step.release.name, step.due.name, *_days(step.due), answer.asked or step.release.sql, _day_of(data, entries), entries,
        answer, certificates=_certificates(data, session, entries),
    )  # fmt: skip
    kept.keep(step.release, done)
    return _ran(step, answer.receipt, entries[0] if entries else 0, before is not None)


def _kept_answer(data: DataSet, session: Session, step: Step, before: Entry | None) -> Answer | None:
    """The answer that the ledger has of an earlier run, whatever version of the data is prepared now; None if it has none."""
    found = None if before is None else data.ledger.paid_by(before.number, session.analyst)
    if found is None or found[1] is None or before is None or before.details.get("among"):
        return None
    explained = session.explain(step.release.sql, params=step.due.parameters or None, **step.release.amounts)
    made = recorded(found[1])
    if len(explained.columns) != len(made.columns):
        return None
    receipt = Receipt(made.receipt.epsilon, made.receipt.delta, entry=before.number, data_version=before.data_version, again=True)
    named = with_names(made, [heading.name for heading in explained.columns], [column.labels for column in made.columns])
    return replace(named, receipt=receipt, asked=before.question)


def _certificates(data: DataSet, session: Session, entries: Sequence[int]) -> tuple[str, ...]:
    """The certificates of what was paid for; none where there cannot be one, or where the catalog no longer says what it said."""
    made = []
    for entry in entries:
        try:
            made.append(data.certified(entry, session.analyst).to_json())
        except (InvalidInput, NotAllowed):
            continue
    return tuple(made)


def _day_of(data: DataSet, entries: Sequence[int]) -> str:
    """The day on which it was paid for: of a time, nothing finer is published."""
    entry = next(data.ledger.entries(first=entries[0]), None) if entries else None
    return "" if entry is None else entry.at[:10]


def _days(due: Due) -> tuple[str, str]:
    return ("", "") if due.first is None or due.last is None else (due.first.isoformat(), due.last.isoformat())


def _ran(step: Step, receipt: Receipt, entry: int, recovered: bool) -> Ran:
    amounts = decimal_text(receipt.epsilon), decimal_text(receipt.delta)
    return Ran(step.release.name, step.due.name, entry, *amounts, recovered or receipt.again)


# --- a stream ------------------------------------------------------------------------------------------------------------------


def _stream_period(data: DataSet, declared: Releases, step: Step, kept: Kept) -> Ran:
    """One more measurement; what a run that ended had paid for under the same request is answered without a second price."""
    release, before = step.release, data.ledger.requested(step.request, -1)
    per = data.catalog.per
    if per is not None and per.calendar.kind != release.period:
        raise InvalidInput(
            f"release {release.name} has period = {release.period!r}, and the budget is one of each {per.calendar.word}: "
            f"a stream has the periods of the budget"
        )
    asking = data.session(declared.analyst).for_request(step.request, resumes=True)
    answer = asking.stream(release.sql, through=step.due.name, horizon=release.horizon or 0, **release.amounts)
    entry = answer.receipt.entry or 0
    done = Done(release.name, step.due.name, *_days(step.due), answer.asked, _day_of(data, [entry]), (entry,), answer)
    kept.keep(release, done)
    return _ran(step, answer.receipt, entry, before is not None)


# --- synthetic rows ------------------------------------------------------------------------------------------------------------


def _rows(data: DataSet, declared: Releases, step: Step, kept: Kept) -> Ran:
    """Synthetic rows: their measurements are kept by the ledger under the same request, so that a second run pays nothing."""
    from tacit.publish.synthetic.rows.release import rows_for

    asked, release = step.release.synthetic, step.release
    assert asked is not None  # noqa: S101  # the caller has looked
    session = data.session(declared.analyst).for_request(step.request, resumes=True)
    wanted = asked.table, asked.columns, asked.bins, _periods(data, step)
    made = rows_for(session, wanted, **_budget(release.amounts), rows=asked.rows)
    entry, name = made.receipt.entry or 0, f"{step.due.name}.rows.parquet"
    out = kept.of(step.release) / name
    check_apart(data.catalog, out)
    made.save(out)
    told = {each: value for each, value in made.to_dict().items() if each not in ("left", "data_version")}
    certificates = _certificates(data, session, [entry])
    what, day = f"synthetic rows of {asked.table}", _day_of(data, [entry])
    done = Done(release.name, step.due.name, *_days(step.due), what, day, (entry,), None, name, told, certificates)
    kept.keep(step.release, done)
    return _ran(step, made.receipt, entry, made.recalled)


def _periods(data: DataSet, step: Step) -> str | None:
    """The periods of the budget that a step's period has; all that have begun for a release without periods."""
    per, due = data.as_prepared.per, step.due
    if due.first is None or due.last is None:
        return None
    if per is None:
        raise InvalidInput(
            f"release {step.release.name}: synthetic rows by {step.release.period} need a budget of each period; "
            f'remove period, or add per = "{step.release.period}" to [budget] of the catalog'
        )
    calendar = per.calendar
    first, last = calendar.number(due.first), calendar.number(due.last)
    if (calendar.first_day(first), calendar.last_day(last)) != (due.first, due.last):
        raise InvalidInput(f"release {step.release.name}: a {step.release.period} is not made of whole periods of the budget")
    return f"{calendar.name(first)}{TO}{calendar.name(last)}"


def _budget(amounts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: amounts[name] for name in ("epsilon", "delta") if name in amounts}
