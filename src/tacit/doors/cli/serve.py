"""`tacit serve`: the server, a demonstration of it, and the table of what protects it on this machine."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.server.figures import Shown
    from tacit.doors.server.sandbox.limits import User
    from tacit.doors.server.settings import Settings
    from tacit.privacy.catalog import Catalog

Users = tuple["User | None", "User | None", "User | None"]
BACKLOG = 512
SHARE = 60  # percent of the machine's memory, for all engines together
CERTIFICATE, KEY = "server.pem", "server.key"
CLOCK = (
    "the clock is shown: an answer that is faster than the worst case is visible to whoever can time the machine that answers; "
    "see docs/promise.md (D14), and --hide-clock"
)
QUESTION = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
Metrics = Annotated[Path | None, typer.Option("--metrics", help="Unix socket on which figures are shown (OpenMetrics).")]
MetricsGroup = Annotated[
    str | None, typer.Option("--metrics-group", help="Group that may read them too; else the owner of the server alone.")
]
ForwardedBy = Annotated[
    list[str] | None, typer.Option("--forwarded-by", help="IP address of a proxy whose X-Forwarded-For is trusted.")
]
WithoutSandbox = Annotated[
    bool, typer.Option("--without-sandbox", help="Serve more than loopback even if protections are missing.")
]


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 8443,
    name: Annotated[list[str] | None, typer.Option("--name", help="Host name that clients use; may be repeated.")] = None,
    cert: Annotated[Path | None, typer.Option("--cert", help="TLS certificate (PEM), with its chain.")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Private key of the certificate (PEM).")] = None,
    behind_proxy: Annotated[bool, typer.Option("--behind-proxy", help="A proxy on this machine has the TLS.")] = False,
    forwarded_by: ForwardedBy = None,
    per_address: Annotated[int, typer.Option("--per-address", min=1, help="Connections that one address may hold.")] = 100,
    engines: Annotated[int, typer.Option("--engines", min=0, max=64, help="Engines; 0 starts one per core.")] = 0,
    users: Annotated[
        str, typer.Option("--users", metavar="FRONT,CLERK,ENGINE", help="Users that root gives the processes to.")
    ] = "",
    check: Annotated[bool, typer.Option("--check", help="Print which protections hold on this machine, and stop.")] = False,
    without_sandbox: WithoutSandbox = False,
    show_clock: Annotated[bool, typer.Option("--show-clock", help="Let the time and size of replies follow the work.")] = False,
    hide_clock: Annotated[bool, typer.Option("--hide-clock", help="Hide the clock on loopback, too.")] = False,
    pace: Annotated[bool, typer.Option("--pace", help="With --check: measure generated data, and propose a pace.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a generated hospital on loopback, with TLS and four accounts.")
    ] = False,
    metrics: Metrics = None,
    metrics_group: MetricsGroup = None,
    opened: Annotated[
        bool, typer.Option("--open", help="With --demo: serve plain HTTP, print a login code, and open the browser.")
    ] = False,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Serve questions over HTTPS to analysts, with the ledger and the data in processes of their own.

    Example: tacit serve --check
    """
    from tacit.doors.server.sandbox.check import protections
    from tacit.doors.server.settings import Settings

    held, owners = protections(), _users(users)
    if pace and not check:
        raise InvalidInput("--pace measures this machine and serves nothing; give --check too")
    if check:
        (_print_pace if pace else partial(_print_protections, held, users=owners))(as_json)
        return
    if opened and not demo:
        raise InvalidInput("--open shows the demonstration; give --demo too, or open the address of the server in a browser")
    shown = metrics, _group(metrics, metrics_group)
    how = How(held, owners, engines, without_sandbox, _shows_clock(show_clock, hide_clock), *shown)
    if demo:
        _serve_hospital(port, how, opened)
        return
    proxies = tuple(forwarded_by or ())
    _run(find_catalog(catalog), Settings(host, port, tuple(name or ()), cert, key, behind_proxy, proxies, per_address), how)


def _shows_clock(show: bool, hide: bool) -> bool | None:
    """Whether the clock is shown; None if neither is asked for, so that it is shown on loopback alone."""
    if show and hide:
        raise InvalidInput("--show-clock and --hide-clock are both given; leave one of them out")
    return show if show or hide else None


def _serve_hospital(port: int, how: How, opened: bool) -> None:
    """The demonstration, until it is stopped."""
    from tacit.doors.server.settings import Settings

    with _hospital(opens=opened) as (place, shown):
        files = () if opened else (place.parent / CERTIFICATE, place.parent / KEY)
        _run(place, Settings("127.0.0.1", port, (), *files), how, shown)


def _run(place: Path, wanted: Settings, how: How, shown: Callable[[str], None] = lambda _: None) -> None:
    from tacit.accounting.ledger.rollback import take_over_heads
    from tacit.data.catalog import read_catalog
    from tacit.doors.server.sandbox.check import CALLS, PATHS
    from tacit.doors.server.sandbox.profiles import is_public
    from tacit.doors.server.settings import check_engine, check_exposure, cores_of
    from tacit.doors.server.supervisor import Plan, Supervisor

    declared, wanted = read_catalog(place), how.about_clock(wanted)
    check_exposure(wanted, declared)
    check_engine(declared)
    how.require(wanted.reached)
    if is_public(declared.kept) or is_public(declared.store_folder):
        raise InvalidInput("the data lies in a folder of programs, which every process may read; move the catalog elsewhere")
    take_over_heads(declared.store_folder, declared.heads_folder)  # as earlier versions had it, while that can be read
    cores = len(cores_of(True)) if wanted.hides_clock else os.cpu_count() or 1
    count = how.engines or os.cpu_count() or 1
    left_out = tuple(kind for kind, name in (("calls", CALLS), ("paths", PATHS)) if not how.held[name])
    with _listening_socket(wanted) as listening:
        url = f"{wanted.scheme}://{_host_name(wanted)}:{listening.getsockname()[1]}"
        plan = Plan(
            declared, wanted, count, f"{max(1, SHARE // count)}%", max(1, cores // count), how.users, left_out, how.figures()
        )

        def ready() -> None:
            _note(f"ready at {url}")
            shown(url)

        Supervisor(plan, listening, _note).run(ready)


def _listening_socket(wanted: Settings) -> socket.socket:
    """The socket that the server listens on; raises if it cannot be had."""
    try:
        return socket.create_server((wanted.host.strip("[]"), wanted.port), family=_family(wanted.host), backlog=BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise InvalidInput(f"cannot listen on {wanted.host}, port {wanted.port} ({why}); give another --port or --host") from None


@dataclass(frozen=True, slots=True)
class How:
    """The protection of the processes, their users, and the number of engines."""

    held: dict[str, bool]
    users: Users
    engines: int
    without_sandbox: bool
    show_clock: bool | None = None
    metrics: Path | None = None
    metrics_group: int | None = None

    def figures(self) -> Shown | None:
        """Where figures are shown, if they are; the socket is opened."""
        from tacit.doors.server.figures import Shown, listen_at

        if self.metrics is None:
            return None
        try:
            shown = Shown(listen_at(self.metrics, self.metrics_group))
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else type(error).__name__
            raise InvalidInput(f"cannot listen on {self.metrics} ({why}); give another --metrics") from None
        shown.start()
        return shown

    def about_clock(self, wanted: Settings) -> Settings:
        """The settings with the choice about the clock, which is hidden beyond loopback; says so where it is shown."""
        shown = self.show_clock if self.show_clock is not None else not wanted.reached
        if shown:
            _note(CLOCK)
        return replace(wanted, hides_clock=not shown)

    def require(self, reached: bool) -> None:
        """Say what is missing; refuse to let other machines reach the server without the least."""
        from tacit.doors.server.sandbox.check import suffices

        if missing := [name for name, holds in self.held.items() if not holds]:
            _note(f"protections that are missing on this machine: {', '.join(missing)}")
        if reached and not self.without_sandbox and not suffices(self.held, all(self.users)):
            raise InvalidInput(
                "beyond loopback, seccomp is required, and Landlock or users of their own; see --check, or give --without-sandbox"
            )


def _group(metrics: Path | None, name: str | None) -> int | None:
    """The number of the group that may read the figures."""
    import grp

    if name is None:
        return None
    if metrics is None:
        raise InvalidInput("--metrics-group says who may read the socket of --metrics; give --metrics too")
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise InvalidInput(f"unknown group {name!r}; name a group of this machine in --metrics-group") from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _host_name(wanted: Settings) -> str:
    return wanted.names[0] if wanted.names else "localhost" if wanted.loopback else wanted.host


def _note(text: str) -> None:
    say(f"tacit serve: {text}", to_stderr=True)


def _users(given: str) -> Users:
    """The users of front, clerk and engines; only root can give processes away."""
    from tacit.doors.server.sandbox.limits import user_named

    if not given:
        return None, None, None
    names = [name.strip() for name in given.split(",")]
    if len(names) != 3 or len(set(names)) != 3:
        raise InvalidInput("--users takes three different users; give for example --users tacit-front,tacit,tacit-engine")
    if os.geteuid() != 0:
        raise InvalidInput("only root can give processes to other users; start as root, or leave --users out")
    front, clerk, engine = map(user_named, names)
    return front, clerk, engine


def _print_protections(held: dict[str, bool], as_json: bool, *, users: Users) -> None:
    from rich.table import Table

    from tacit.doors.server.sandbox.check import PROTECTIONS, suffices

    enough = suffices(held, all(users))
    if as_json:
        print_json({"protections": held, "beyond_loopback": enough})
        return
    table = Table("protection", "by", "against", "holds", header_style="bold")
    for name, protection in PROTECTIONS.items():
        table.add_row(name, protection.by, protection.against, "yes" if held[name] else "no")
    console().print(table)
    say("enough to serve more than loopback" if enough else "not enough to serve more than loopback: only this machine is served")


def _print_pace(as_json: bool) -> None:
    """The times of generated questions on this machine, and the line of the catalog that follows."""
    from tacit.doors.cli.pace import as_declared, measurements, proposal

    with TemporaryDirectory(prefix="tacit-pace-") as folder:
        times = list(measurements(Path(folder)))
    pace = proposal(times)
    if as_json:
        print_json({"pace": float(pace), "questions": [asdict(each) for each in times]})
        return
    for each in times:
        say(f"{each.took:7.1f} ms, where the worst work states {each.stated:7.1f}: {each.question}")
    say(f"\nFor tacit.toml, if the machine is as busy now as it usually is:\n\n{as_declared(pace)}")


# --- the demonstration -------------------------------------------------------------------------------------------------------


@contextmanager
def _hospital(opens: bool = False) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A generated hospital with four accounts and a certificate, and what is said of it; all of it is gone afterwards."""
    from tacit.doors.cli.demo.hospital import build
    from tacit.doors.server.certificate import self_signed
    from tacit.session import open as open_data

    with TemporaryDirectory(prefix="tacit-serve-") as folder:
        place = build(Path(folder))
        with open_data(place) as data:
            data.prepare(yes=True)
            data.begin_scratch("the demonstration of the server")
            tokens = _accounts(data.catalog)
        if opens:
            yield place, partial(_open_page, data.catalog, tokens)
            return
        self_signed(place.parent / CERTIFICATE, place.parent / KEY)
        yield place, partial(_print_accounts, tokens, place.parent / CERTIFICATE)


def _open_page(catalog: Catalog, tokens: dict[str, tuple[str, str]], url: str) -> None:
    """Print a code that works once, and open the page that asks for it. No address has the code, and so no list of processes."""
    import webbrowser

    from tacit.doors.server.console import CODE_SECONDS, make_code
    from tacit.doors.server.records import FILE, Accounts, Records

    url = url.replace("localhost", "127.0.0.1")
    records = Records(catalog.kept / FILE)
    code = make_code(Accounts(records), "ana")
    records.close()
    for name, (role, token) in tokens.items():
        say(f"{role:8} {name:8} {token}")
    say(f"\nYour code for {url}/ is {code}")
    say(f"It works once, within {CODE_SECONDS / 60:.0f} minutes, and logs you in as ana. The tokens above log you in at any time.")
    sys.stdout.flush()
    webbrowser.open(f"{url}/")


def _print_accounts(tokens: dict[str, tuple[str, str]], certificate: Path, url: str) -> None:
    """The accounts, and commands to try. They read the token from files: arguments are visible in a list of processes."""
    from tacit.files import write

    for name, (role, token) in tokens.items():
        say(f"{role:8} {name:8} {token}")
    kept, header = certificate.with_name("ana.token"), certificate.with_name("ana.header")
    write(kept, f"{tokens['ana'][1]}\n", private=True)
    write(header, f"Authorization: Bearer {tokens['ana'][1]}\n", private=True)
    say(f"\ntacit login {url} --ca {certificate} --token-file {kept}")
    say(f'tacit sql --server {url} "{QUESTION}" --epsilon 0.5')
    asked = f'{{"sql": "{QUESTION}", "epsilon": "0.5"}}'
    say(f"curl --cacert {certificate} {url}/v1/questions -H @{header} \\")
    say(f"  -H 'Content-Type: application/json' -d '{asked}'")
    sys.stdout.flush()


def _accounts(catalog: Catalog) -> dict[str, tuple[str, str]]:
    from tacit.doors.server.records import FILE, Accounts, Records

    records = Records(catalog.kept / FILE)
    accounts, roles = Accounts(records), {"ana": "analyst", "mallory": "analyst", "carol": "curator", "otto": "auditor"}
    made: dict[str, Any] = {name: accounts.add(name, role, declared=catalog.analysts).token for name, role in roles.items()}
    records.close()
    return {name: (role, made[name]) for name, role in roles.items()}
