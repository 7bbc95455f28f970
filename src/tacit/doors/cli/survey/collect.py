"""`tacit survey collect`: reports from files, folders, standard input or a small endpoint, into the store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import groupby, tee
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from tacit.doors.cli.output import print_json, progress, say
from tacit.errors import InvalidInput
from tacit.untrusted import for_terminal

if TYPE_CHECKING:
    from tacit.doors.cli.survey.endpoint import Endpoint
    from tacit.publish.local.survey.reports import Store

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MOST_ASIDE = 256 * 2**20  # bytes of texts set aside, beyond which no more are kept: disks are finite; sound reports still count


def collect(
    declaration: Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey declaration, such as survey.toml.")],
    sources: Annotated[
        list[str] | None, typer.Argument(help="Files or folders with one report or code per line; - for standard input.")
    ] = None,
    store: Annotated[Path, typer.Option(help="SQLite file that stores the reports.")] = Path("answers.sqlite"),
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address at which to accept reports by POST, until Ctrl-C or SIGTERM.")
    ] = "",
    cert: Annotated[Path | None, typer.Option("--cert", help="With --listen: TLS certificate (PEM), with its chain.")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="With --listen: private key of the certificate (PEM).")] = None,
    received: Annotated[
        str, typer.Option(metavar="DAY", help="Day on which the files arrived, as YYYY-MM-DD; today if omitted.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check reports and count each respondent once. Malformed, foreign, late and duplicate reports are set aside with a reason.

    Example: tacit survey collect survey.toml reports.txt --store answers.sqlite
    """
    from tacit.publish.local.survey.reading import read_survey
    from tacit.publish.local.survey.reports import Store

    if not sources and not listen:
        raise InvalidInput("no reports given; name files or folders, - for standard input, or --listen 127.0.0.1:8765")
    if listen:
        _require_server()
    elif cert or key:
        raise InvalidInput("--cert and --key need --listen; give an address, or leave them out")
    paths, address, day, tls = _paths(sources or [], store), _address(listen), _day(received), _tls(cert, key)
    with Store(store, read_survey(declaration), MOST_ASIDE if listen else None) as open_store:
        told: list[dict[str, Any]] = []
        for path in paths:
            told += _collect_file(open_store, path, day)
        if address:
            _listen(open_store, address, tls)
        if as_json:
            print_json({"store": str(store), "set_aside_now": told, **open_store.counts()})
        else:
            _summary(open_store, told)


def _paths(sources: list[str], store: Path) -> list[Path]:
    """The files, those of folders sorted by name, without hidden files and the store itself."""
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if source != "-" and not path.exists():
            raise InvalidInput(f"file not found: {source}; give a file or folder of reports, or - for standard input")
        if path.resolve() in _own(store):
            raise InvalidInput(f"{source} is the store itself; give a file of reports")
        files += _files_in(path, store) if path.is_dir() else [path]
    return files


def _files_in(folder: Path, store: Path) -> list[Path]:
    files = (each for each in folder.rglob("*") if each.is_file() and not each.name.startswith("."))
    return sorted(each for each in files if each.resolve() not in _own(store))


def _own(store: Path) -> set[Path]:
    """The files in which SQLite keeps the store."""
    place = store.resolve()
    return {place.with_name(place.name + ending) for ending in ("", "-journal", "-wal", "-shm")}


def _collect_file(store: Store, path: Path, day: datetime | None) -> list[dict[str, Any]]:
    """Takes the reports of one file; returns those that were set aside."""
    from tacit.publish.local.survey.reports import SetAside

    try:
        opened: AbstractContextManager[BinaryIO] = nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb")
    except OSError as error:
        raise InvalidInput(f"cannot read {path} ({error.strerror}); check its permissions") from None
    with opened as file:
        numbered, lines = tee(_lines(file))
        outcomes = progress(store.take_all((text for _, text in lines), day), _size(path), f"reading {path.name}")
        return [
            {"file": str(path), "line": number, "reason": outcome.reason, "why": outcome.why}
            for (number, _), outcome in zip(numbered, outcomes, strict=True)
            if isinstance(outcome, SetAside)
        ]


def _size(path: Path) -> int:
    """About how many reports a file holds: they have some 250 bytes."""
    return max(1, path.stat().st_size // 250) if path.is_file() else 1


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; of a line that is too long for a report, the beginning."""
    from tacit.publish.local.survey.reports import LARGEST

    number = 0
    while line := file.readline(LARGEST + 2):
        number += 1
        rest = line
        while len(rest) == LARGEST + 2 and not rest.endswith(b"\n"):
            rest = file.readline(LARGEST + 2)
        if text := line.removeprefix(BYTE_ORDER_MARK).strip():
            yield number, text
        elif rest is not line:
            yield number, line  # blank only as far as it was read


def _day(text: str) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"--received must be a day such as 2027-06-30, not {text!r}") from None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _address(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InvalidInput(f"--listen must be HOST:PORT, for example 127.0.0.1:8765, not {text!r}")
    return host.strip("[]"), int(port)


def _tls(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """The certificate and its key, which belong together and can be read."""
    import ssl

    if cert is None or key is None:
        if cert is not key:
            raise InvalidInput("--cert and --key must be given together")
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")  # so that OpenSSL asks for none
    except (OSError, ValueError):  # an SSLError is one
        raise InvalidInput("cannot read --cert and --key; both must be PEM files, and the key must have no password") from None
    return cert.absolute(), key.absolute()


def _require_server() -> None:
    try:
        import uvicorn  # noqa: F401
    except ImportError:
        raise InvalidInput("--listen needs a package that is not installed; run: pip install 'tacit[server]'") from None


def _listen(store: Store, address: tuple[str, int], tls: tuple[Path, Path] | None = None) -> None:
    """Takes reports until Ctrl-C, or until asked to end by SIGTERM, as a service is."""
    from tacit.doors.cli.survey.endpoint import Endpoint
    from tacit.publish.local.survey.form import build_form

    try:
        endpoint = Endpoint(address, store, tls=tls)
    except OSError as error:
        place = f"{address[0]}:{address[1]}"
        raise InvalidInput(f"cannot listen on {place} ({error.strerror}); choose another host or port") from None
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    url = f"{'http' if tls is None else 'https'}://{host}:{endpoint.port}/"
    survey = store.form.survey
    everywhere = address[0] in ("0.0.0.0", "::")  # noqa: S104  # no address that a browser could send to
    endpoint.desk.page = build_form(survey if survey.send_to or everywhere else replace(survey, send_to=url))
    with endpoint, _asked_to_end() as asked:
        endpoint.wait()
        if endpoint.missing:
            say(f"protections that are missing on this machine: {', '.join(endpoint.missing)}", to_stderr=True)
        say(f"accepting reports at {url} (POST); the form is at the same address; stop with Ctrl-C", to_stderr=True)
        if survey.closed_at(datetime.now(UTC)):
            say(f"the survey closed on {survey.closes}: new reports are set aside as late", to_stderr=True)
        _watch(store, endpoint, asked)


@contextmanager
def _asked_to_end() -> Iterator[list[int]]:
    """The signals to end that have come. They are noted, since an exception could come before there is anything to end."""
    import signal

    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _watch(store: Store, endpoint: Endpoint, asked: list[int]) -> None:
    """Shows how many have come, on a terminal, until asked to end."""
    from tacit.doors.cli.screen import Screen, styled

    screen = Screen(stderr=True)
    with screen.status("waiting for reports") if screen.is_terminal else nullcontext() as status:
        while not asked:
            endpoint.look()
            if status is not None:
                status.update(styled(counted(store.counts())))
            time.sleep(0.2)


def counted(counts: dict[str, int]) -> str:
    """How many reports count, and how many are set aside for which reason, in words."""
    aside = ", ".join(f"{number:,} {reason}" for reason, number in counts.items() if reason != "counted" and number)
    return f"{counts['counted']:,} report{'' if counts['counted'] == 1 else 's'} counted" + (
        f"; set aside: {aside}" if aside else ""
    )


def _summary(store: Store, told: list[dict[str, Any]]) -> None:
    alike = [list(lines) for _, lines in groupby(told, itemgetter("file", "reason", "why"))]  # of a wrong file, one line
    for lines in alike[:20]:
        say(f"set aside, {lines[0]['reason']}: {for_terminal(lines[0]['file'])}, {_where(lines)}: {lines[0]['why']}")
    if len(alike) > 20:
        say(f"... and {sum(map(len, alike[20:])):,} more; see the table set_aside in {store.path}")
    say(f"{store.path}: {counted(store.counts())}")


def _where(lines: list[dict[str, Any]]) -> str:
    first, last = lines[0]["line"], lines[-1]["line"]
    return f"line {first}" if len(lines) == 1 else f"{len(lines):,} lines from {first:,} to {last:,}"
