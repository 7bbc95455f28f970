"""The supervisor: it opens the socket, starts the other processes, ties them together, and replaces those that die.

It reads no question and no answer. Two processes are tied by a pair of sockets, and each gets one end: an engine when it is
started, front and clerk over the control connection that each of them has to the supervisor.

    an engine ends      another is started, and the clerk gets its end
    the clerk ends      the engines end with it; all are started again, and the front gets a connection to the new clerk
    the front ends      another is started on the same listening socket
    they lose one another    they are tied anew
    the catalog changes, or SIGHUP    clerk and engines are started again

A server answers as soon as one engine has opened the data, so the others are started after it. A process that dies is started again
at once; if it dies soon after that, a little later each time. Engines that cannot reach a cluster are started ever more
rarely; when one of them has reached it, the others are started at once.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tacit.data.catalog import stamp_of
from tacit.doors.server.calls import AWAY, LOST, NOT_USABLE, OF_ENGINE, OF_FRONT, READY
from tacit.doors.server.figures import Shown
from tacit.doors.server.parts import FIRST_WAIT, LONGEST_AWAY, Part, environment_of_an_engine, environment_of_the_clerk, started
from tacit.doors.server.sandbox.limits import User
from tacit.doors.server.settings import OfClerk, OfEngine, OfFront, cores_of
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Catalog

LOOK = 0.5  # seconds between two looks at the catalog
FAREWELL = 5.0  # seconds that processes have to end by themselves
TAKEN = 4096  # bytes of a report
PACKAGES = "Packages are loaded from folders called site-packages or dist-packages alone; install tacit[server] in an environment"


@dataclass(frozen=True, slots=True)
class Plan:
    """The processes to run: the settings of the application, how many engines within which limits, and whose each process is."""

    catalog: Catalog
    front: Any
    engines: int = 2
    memory: str = "60%"
    threads: int = 1
    users: tuple[User | None, User | None, User | None] = (None, None, None)  # of front, clerk and engines
    left_out: tuple[str, ...] = ()
    figures: Shown | None = None  # where the clerk's figures are shown

    @property
    def places(self) -> int:
        """The engines, where the clock is hidden: the clerk gives no more of them than that, whatever becomes of them."""
        return self.engines if self.front.hides_clock else 0

    @property
    def path(self) -> Path:
        """The catalog's file."""
        assert self.catalog.path is not None  # noqa: S101  # it was read from there
        return self.catalog.path.absolute()


@dataclass(slots=True)
class Supervisor:
    """All processes of one server. `say` takes what happens, in words without any data."""

    plan: Plan
    listening: socket.socket
    say: Callable[[str], None]
    front: Part = field(default_factory=lambda: Part("front"))
    clerk: Part = field(default_factory=lambda: Part("clerk"))
    engines: list[Part] = field(default_factory=list)
    tied: tuple[int, int] = (0, 0)  # the processes of front and clerk that are connected
    stopping: bool = False
    changed: bool = False
    was_ready: bool = False
    away: bool = False  # whether the last engine to start did not reach its data
    reason: str = ""  # why, as the clerk said it last
    stamp: Any = None
    died: bool = False  # whether a signal that is not ours ended the last clerk

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGTERM or SIGINT; raises `StoreUnusable` if the first start fails for a reason that will not go away."""
        self.engines = [Part(f"engine {number + 1}") for number in range(self.plan.engines)]
        self.stamp = stamp_of(self.plan.path)
        with self._signals() as woken:
            try:
                while not self.stopping:
                    self._step(woken)
                    if not self.was_ready and self.front.ready and self.clerk.ready:
                        self.was_ready = True
                        notify("READY=1")
                        ready()
            finally:
                notify("STOPPING=1")
                self._end()

    def _step(self, woken: int) -> None:
        self._look_at_catalog()
        self._reap()
        self._start()
        controls = [part.control for part in (self.front, self.clerk) if part.control is not None]
        watched: list[Any] = [woken, *controls]
        readable, _, _ = select.select(watched, [], [], self._pause())
        if woken in readable:
            with suppress(BlockingIOError):
                os.read(woken, TAKEN)
        for part in (self.front, self.clerk):
            if part.control in readable:
                self._report(part)

    def _pause(self) -> float:
        """Seconds until there is something to do: a look at the catalog, or the start of what is missing."""
        now = time.monotonic()
        return max(0.0, min([LOOK, *(part.due - now for part in self._parts_to_start())]))

    def _parts_to_start(self) -> list[Part]:
        """The processes that should run and do not; of the engines, only the first until it has opened the data."""
        engines = self.engines if self.clerk.ready else self.engines[:1]
        return [part for part in (self.clerk, *(engines if self.clerk.lives() else ()), self.front) if not part.lives()]

    def _look_at_catalog(self) -> None:
        """A changed catalog binds at once: the clerk reads it where it can, and is started again in any case."""
        now = stamp_of(self.plan.path)
        if self.changed or now != self.stamp:
            self.changed, self.stamp = False, now
            self.say("the catalog has changed: clerk and engines start again")
            self.clerk.end()
            for part in (self.clerk, *self.engines):
                part.start_at_once()

    def _reap(self) -> None:
        for part in (self.front, self.clerk, *self.engines):
            if part.process is not None and not part.lives():
                code = part.process.returncode
                part.ended(code == AWAY)
                if code < 0:
                    self._note_signal(part, code)
                elif self.was_ready:
                    self._say_ended(part, code)
                elif code != AWAY and part.wait == 2 * FIRST_WAIT:  # what cannot be used ends once, with its reason
                    self.say(f"{part.name} ended ({code}) before it was ready; it is started again. {PACKAGES}")
        if not self.clerk.lives():
            for part in self.engines:  # what they know is told to the clerk that started with them
                part.end()

    def _note_signal(self, part: Part, code: int) -> None:
        """Note that a signal that is not ours ended a process: of the clerk, what it worked on is counted."""
        self.died |= part is self.clerk
        if self.was_ready:
            self._say_ended(part, code)

    def _say_ended(self, part: Part, code: int) -> None:
        """Say that a process ended; of engines that do not reach their data, only that it began."""
        if code != AWAY:
            self.say(f"{part.name} ended ({code}); it is started again")
        elif not self.away:
            self.away = True
            self.say(f"no engine can open the data; they try again after at most {LONGEST_AWAY:g} seconds")

    def _note_reached(self) -> None:
        """An engine has opened the data: those that wait for it need not wait any longer."""
        if self.away:
            self.away, self.reason = False, ""
            self.say("an engine has opened the data again")
        for part in self.engines:
            part.due, part.wait = min(part.due, time.monotonic()), 0.0

    def _start(self) -> None:
        now = time.monotonic()
        if not self.clerk.lives() and now >= self.clerk.due:
            own = self._shared(1)
            died, self.died = self.died, False
            with ExitStack() as stack:
                sent = [] if self.plan.figures is None else [self._figures(stack, self.plan.figures)]
                places = self.plan.places
                made_clerk = lambda at: OfClerk(str(self.plan.path), at, died, places, *sent, **own)  # noqa: E731
                self._start_controlled(self.clerk, made_clerk, *sent)
            for part in self.engines:
                part.due = now
        for part in self._parts_to_start():
            if part in self.engines and now >= part.due:
                self._start_engine(part)
        if not self.front.lives() and now >= self.front.due:
            own, at = self._shared(0), self.listening.fileno()
            settings = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self.plan.front).items()}
            made = lambda control: OfFront(control, at, settings, **own)  # noqa: E731
            self._start_controlled(self.front, made, at)
        self._tie()

    def _shared(self, which: int) -> dict[str, Any]:
        """The settings that the front (0), the clerk (1) and the engines (2) share."""
        user = self.plan.users[which]
        cores = cores_of(which == 2) if self.plan.places else ()
        shared = {"left_out": self.plan.left_out, "cores": cores}
        return shared | ({} if user is None else {"user": user.user, "group": user.group})

    def _start_controlled(self, part: Part, settings: Callable[[int], Any], *descriptors: int) -> None:
        """Start a process with a control connection."""
        ours, theirs = socket.socketpair()
        with theirs:
            more = environment_of_the_clerk(self.plan.catalog, self.plan.users[1] is None) if part is self.clerk else None
            part.process = started(part.name, settings(theirs.fileno()), (theirs.fileno(), *descriptors), more)
        part.control, part.since = ours, time.monotonic()

    def _figures(self, stack: ExitStack, shown: Shown) -> int:
        """The descriptor at which a new clerk sends its figures."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        shown.take(ours)
        return stack.enter_context(theirs).fileno()

    def _start_engine(self, part: Part) -> None:
        ours, theirs = socket.socketpair()
        plan = self.plan
        with ours, theirs:
            settings = OfEngine(str(plan.path), theirs.fileno(), plan.memory, plan.threads, **part.new_session(), **self._shared(2))
            more = environment_of_an_engine(plan.catalog)
            part.process, part.since = started("engine", settings, (theirs.fileno(),), more), time.monotonic()
            self._hand_over(self.clerk, OF_ENGINE, ours)

    def _tie(self) -> None:
        """Connect front and clerk, where one of them is new."""
        if self.front.process is None or self.clerk.process is None:
            return
        pair = (self.front.process.pid, self.clerk.process.pid)
        if pair != self.tied:
            of_front, of_clerk = socket.socketpair()
            with of_front, of_clerk:
                self._hand_over(self.front, OF_FRONT, of_front)
                self._hand_over(self.clerk, OF_FRONT, of_clerk)
            self.tied = pair

    def _hand_over(self, part: Part, tag: bytes, line: socket.socket) -> None:
        with suppress(OSError):  # it has just ended, which the next look finds
            if part.control is not None:
                socket.send_fds(part.control, [tag], [line.fileno()])

    def _report(self, part: Part) -> None:
        assert part.control is not None  # noqa: S101  # it was readable
        try:
            said = part.control.recv(TAKEN)
        except OSError:
            said = b""
        if said[:1] == READY:
            part.ready = True
            if part is self.clerk:
                self._note_reached()
        elif said[:1] == NOT_USABLE:
            reason = said[1:].decode(errors="replace")
            if not self.was_ready:
                raise StoreUnusable(reason)
            if reason != self.reason:
                self.say(f"{part.name}: {reason}")
            self.reason = reason
        elif said[:1] == LOST:
            self.tied = (0, 0)
        else:  # it ends, or has ended
            code = part.end(FAREWELL)
            if code is not None and code < 0:
                self._note_signal(part, code)

    def _end(self) -> None:
        """End all processes: the front first, so that no call is half done; what does not end by itself is ended."""
        if self.front.process is not None:
            self.front.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.front.process.wait(FAREWELL)
        self.front.end()
        self.clerk.end()
        for part in self.engines:  # without a clerk, they stop the work of a cluster
            part.end(FAREWELL if self.plan.catalog.store_master else 0.0)

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """A descriptor that is readable after a signal; the flags say which one it was."""
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)
        woken = signal.set_wakeup_fd(writes, warn_on_full_buffer=False)

        def stop(*_: object) -> None:
            self.stopping = True

        def change(*_: object) -> None:
            self.changed = True

        handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: change, signal.SIGCHLD: lambda *_: None}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield reads
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(woken)
            os.close(reads)
            os.close(writes)


def notify(said: str) -> None:
    """Tell systemd, if it started this process and wants to know."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address.startswith(("/", "@")):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.connect(address.replace("@", "\0", 1))
            line.sendall(said.encode())
