"""The one till: every way to publish pays here, and no release reads private rows anywhere else. once.md has the proof.

check     the ledger is the one that this data set knows, and has lost no entry
recall    an answer that this analyst has paid for before; nothing is opened or written for it
reserve   one transaction: an answer that was released before, or the first offer that the ledger admits, spent
run       what was paid for, once; the spend stays whatever happens, and a run that does not finish is counted
keep      the answer, with its hash in the chain
receipt   for the analyst who asks: their own entry, and their remaining budget
exit      an error outside the closed list leaves as one constant text, and a line about it goes to the data owner's log

An unforeseen exception may quote a cell in its message, in its cause, or in a variable of one of its frames. So none of these is
passed on: a new exception is raised after the old one is gone. The log is for the data owner alone (mode 600), in the catalog's
`.tacit/log` folder, else in the user's state folder. A line has the time, the types of the exceptions and the places in the code,
and no message, so that the owner can send it to a maintainer.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Generic, ParamSpec, Protocol, TypeVar, cast

from tacit.accounting.filter import Left
from tacit.accounting.ledger.entries import Entry
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.register import state_folder
from tacit.accounting.ledger.rollback import check_head, remember_head
from tacit.accounting.ledger.selling import Granted, Recalled, Sale
from tacit.errors import InvalidCatalog, InvalidValue, StoppedAfterSpending, StoreUnusable, TacitError, TimedOut, Unforeseen
from tacit.files import append_line

Value = TypeVar("Value")


def _nothing_to_open() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Till:
    """A ledger, and the folder next to the prepared data that remembers its head (None: nothing is remembered).

    `named` is the ledger that the prepared data itself names. `ready` opens the data without reading a row, so that data that
    cannot be opened is found before anything is paid. `log` is the folder of the data owner's log.
    """

    ledger: Ledger
    folder: Path | None = None
    named: str | None = None
    ready: Callable[[], None] = _nothing_to_open
    log: Path | None = None

    def check(self) -> None:
        """Refuse a ledger that is not this data set's, or that has lost entries; called before anything is read from it."""
        if self.folder is not None:
            check_head(self.folder, self.ledger, self.named)

    def under(self, sale: Sale, older: Sequence[str]) -> Sale:
        """The same sale under the first of some older keys, if this analyst has paid for an answer that is kept under that one."""
        if not older:
            return sale
        self.check()
        before = (replace(sale, key=key) for key in older)
        return next((each for each in before if self.ledger.recalled(each) is not None), sale)

    def remember(self, granted: Granted) -> None:
        if self.folder is not None:
            remember_head(self.folder, granted.entry.head)


@dataclass(frozen=True, slots=True)
class Form(Generic[Value]):
    """How a released value is stored as text, and read back."""

    write: Callable[[Value], str]
    read: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class Sold(Generic[Value]):
    """A released value for one analyst: the accepted offer, their entry, and their remaining budget.

    `repeated` is True if they had asked for it before; then nothing was spent. Of what was released just now, `kept` has the entry
    that paid with the text that the ledger keeps: whoever makes a certificate need not read them again.
    """

    value: Value
    offer: int
    entry: int
    left: Left
    repeated: bool = False
    kept: tuple[Entry, str] | None = None


def once(till: Till, sale: Sale, run: Callable[[Granted], Value], form: Form[Value] | None = None) -> Sold[Value]:
    """The value that `run` releases for the offer that the ledger granted; or the one released before under the sale's key.

    `run` is called at most once, after the spend is on the disk. A key requires a form. An answer that this analyst paid for needs
    neither the data nor a turn at the ledger.
    """
    till.check()
    decision = till.ledger.recalled(sale) or _reserve(till, sale)
    if isinstance(decision, Recalled):
        assert form is not None  # noqa: S101  # only what has a key is kept, and what has a key has a form
        return Sold(form.read(decision.text), decision.offer, decision.entry, _left(till, sale), repeated=decision.own)
    value, kept = _paid_for(till, decision, run, form if sale.key else None)
    return Sold(value, decision.offer, decision.entry.number, _left(till, sale), kept=kept)


def _left(till: Till, sale: Sale) -> Left:
    """The remaining budget of the analyst; where the budget is one of each period, in those of the sale."""
    return till.ledger.left(sale.analyst, sale.charge)


def all_once(till: Till, sales: Sequence[Sale], run: Callable[[int, Granted], Value], form: Form[Value]) -> list[Sold[Value]]:
    """The values of several sales, each as `once` has it; all that are not paid for are admitted together, or none is.

    Each that was granted runs, also after another one has failed: what was paid for is kept, and the first error is raised then.
    """
    till.check()
    decisions: list[Granted | Recalled | None] = [till.ledger.recalled(sale) for sale in sales]
    if unpaid := [sale for sale, decision in zip(sales, decisions, strict=True) if decision is None]:
        for sale in unpaid:
            till.ledger.require_approved(sale)
        till.ready()
        till.check()
        decided = iter(till.ledger.reserve_all(unpaid))
        decisions = [next(decided) if decision is None else decision for decision in decisions]
    sold, failed = [], list[TacitError]()
    with ExitStack() as leases:
        for granted in decisions:
            if isinstance(granted, Granted):
                leases.enter_context(till.ledger.held(granted))
        for number, decision in enumerate(decisions):
            try:
                if isinstance(decision, Granted):
                    value, _ = _paid_for(till, decision, partial(run, number), form)
                    sold.append((value, decision.offer, decision.entry.number, False))
                elif decision is not None:
                    sold.append((form.read(decision.text), decision.offer, decision.entry, decision.own))
            except TacitError as error:
                failed.append(alone(error))
    if failed:
        raise failed[0]
    lefts = [_left(till, sale) for sale in sales]
    return [Sold(*each[:3], left, each[3]) for each, left in zip(sold, lefts, strict=True)]


def _reserve(till: Till, sale: Sale) -> Granted | Recalled:
    """One transaction, after the data is opened; the ledger is checked again, since that can take long.

    A question that waits for a curator opens nothing.
    """
    till.ledger.require_approved(sale)
    till.ready()
    till.check()
    return till.ledger.reserve(sale)


def _paid_for(
    till: Till, granted: Granted, run: Callable[[Granted], Value], form: Form[Value] | None
) -> tuple[Value, tuple[Entry, str] | None]:
    """The value, kept if there is a form; the spend stays. A time-out or a failure is recorded as an entry, and counted.

    The error is raised outside the handler of the original one: neither that exception nor its frames can be reached from outside.
    """
    try:
        with till.ledger.held(granted):
            till.remember(granted)
            value = run(granted)
            text = None if form is None else form.write(value)
    except (Exception, KeyboardInterrupt) as error:
        leaving, counted = _error_and_count(error, till, granted)
    else:
        is_kept = text is not None and till.ledger.answered(granted, text)
        return value, (granted.entry, text) if text is not None and is_kept else None
    if counted:
        till.ledger.failed(granted, counted)
    else:
        till.ledger.stopped(granted)
    raise alone(leaving)


def _error_and_count(error: Exception | KeyboardInterrupt, till: Till, granted: Granted) -> tuple[TacitError, str]:
    """The error to raise instead, and the word by which it is counted; no word for an error that no row can cause."""
    match error:
        case KeyboardInterrupt():
            return StoppedAfterSpending(f"stopped; entry {granted.entry.number} of the ledger stays spent"), ""
        case TimedOut():
            if error.why:
                log_line(f"TimedOut at entry {granted.entry.number}: {error.why}", till.log)
                error.why = ""
            return error, "timed out"
        case StoreUnusable() | InvalidCatalog():  # not caused by a row
            return error, ""
        case TacitError() if not isinstance(error, InvalidValue):  # InvalidValue may describe a value
            return error, "failed"
        case OSError():
            why = os.strerror(error.errno) if error.errno else type(error).__name__
            what = f"the system failed after the spend, which stays ({why})"
            return StoreUnusable(what, remedy="check the disk and its rights, then ask again"), ""
        case _:
            return noted(error, till.log), "failed"


# --- one exit for errors -----------------------------------------------------------------------------------------------------

LOG = "log/unforeseen.log"  # in a folder of its own, where a confined process may rename files
LARGEST_LOG = 1 << 20  # bytes; a full log is renamed to end in .1, and earlier ones in .2 to .4
OLDER_LOGS = 4
MOST_FRAMES = 20
MOST_LINKS = 5  # chained exceptions in one line


class Keeper(Protocol):
    """An object whose methods have one exit."""

    @property
    def kept(self) -> Path:
        """The folder of the log."""


Given = ParamSpec("Given")


def one_exit(method: Callable[Given, Value]) -> Callable[Given, Value]:
    """A method of a keeper: tacit's own errors leave it without their causes, and any other error leaves as `Unforeseen`."""

    @wraps(method)
    def call(*given: Given.args, **named: Given.kwargs) -> Value:
        try:
            return method(*given, **named)
        except TacitError as error:
            leaving = alone(error)
        except Exception as error:
            leaving = noted(error, cast(Keeper, given[0]).kept)
        raise leaving

    return call


def alone(error: TacitError) -> TacitError:
    """The error without the exceptions and frames behind it, which may contain rows; raise it outside any handler."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def noted(error: BaseException, folder: Path | None = None) -> Unforeseen:
    """The error that replaces an unforeseen one, after a line about it is in the owner's log.

    `folder` is the catalog's own; without one, or if it cannot be written to, the log goes to the user's state folder.
    """
    log_line(line_of(error), folder)
    return Unforeseen()


def log_line(line: str, folder: Path | None = None) -> None:
    """Add a line, with the time, to the owner's log: in the catalog's own folder, else in the user's state folder."""
    for place in (folder if folder is not None and folder.is_dir() else None, state_folder(os.environ)):
        with suppress(OSError):  # a log that cannot be written does not change what is reported
            if place is not None:
                append_line(place / LOG, f"{datetime.now(UTC).isoformat(timespec='seconds')} {line}", LARGEST_LOG, OLDER_LOGS)
                break


def latest(folder: Path, most: int) -> list[str]:
    """The latest lines of the log, the last one at the end; older files are read only if they are needed."""
    lines: list[str] = []
    for name in (LOG, *(f"{LOG}.{number + 1}" for number in range(OLDER_LOGS))):
        with suppress(OSError):
            lines = (folder / name).read_text("ascii", "replace").splitlines() + lines
        if len(lines) >= most:
            break
    return lines[-most:]


def line_of(error: BaseException) -> str:
    """The types of the exceptions, and the places in the code; no message, no value.

    >>> line_of(ValueError("a cell"))
    'ValueError at no place'
    """
    return " after ".join(_links(error))


def _links(error: BaseException | None) -> Iterator[str]:
    for _ in range(MOST_LINKS):
        if error is None:
            return
        frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-MOST_FRAMES:]]
        number = f" {errno.errorcode.get(error.errno, '')}" if isinstance(error, OSError) and error.errno else ""
        yield f"{type(error).__name__}{number} at {' > '.join(places) or 'no place'}"
        error = error.__cause__ or error.__context__
