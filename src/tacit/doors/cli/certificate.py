"""`tacit certificate` and `tacit ledger head`: certificates, shown and checked; the keys that sign them; heads and exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson, ServerOption
from tacit.doors.cli.login import connected
from tacit.doors.cli.output import print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog

if TYPE_CHECKING:
    from tacit.release.certificates.certificate import Certificate

certificate = typer.Typer(no_args_is_help=True, help="Show and check certificates: why the price of a release is right.")
What = Annotated[str, typer.Argument(metavar="FILE|ENTRY", help="File of a certificate, or number of an entry of the ledger.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="PATH", help="File to write; it is checked byte for byte.")]


def show(
    what: What,
    auditor: Annotated[
        bool, typer.Option("--auditor", help="For an auditor: with the place in the ledger and the sums of the data set.")
    ] = False,
    out: OutOption = None,
    as_json: AsJson = False,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Explain a certificate line by line, or write it to a file with --out.

    A number is an entry of the ledger by which something was paid for. With --server, one of your own entries.

    Example: tacit certificate show 12 --out cost.json
    """
    shown = _of_entry(int(what), auditor, server, catalog) if what.isascii() and what.isdigit() else _of_file(Path(what))
    if out is not None:
        shown.save(out)
        say(f"{out} has the certificate; check it with: tacit certificate check {out} --key keys.json")
    elif as_json:
        print_json(shown.to_dict())
    else:
        say(str(shown))


def _of_entry(entry: int, auditor: bool, server: str | None, catalog: Path | None) -> Certificate:
    from tacit.errors import InvalidInput
    from tacit.session import open as open_data

    if server is None:
        return open_data(find_catalog(catalog)).certificate(entry, auditor=auditor)
    if auditor:
        raise InvalidInput("--auditor is not supported with --server; the data owner exports certificates with their sums")
    with connected(server) as remote:
        return remote.certificate(entry)


def _of_file(file: Path) -> Certificate:
    from tacit.release.certificates.certificate import read_certificate

    return read_certificate(file)


def check(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="File of a certificate.")] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="PUB", help="Published list of keys, or one key as PEM.")] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="EXPORT", help="Export of a ledger, with all certificates.")
    ] = None,
    head: Annotated[
        list[Path] | None, typer.Option("--head", metavar="HEAD", help="Head of the ledger that you kept; can be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a certificate, or a ledger with all its certificates, by a program that shares no code with tacit.

    Exits with 1 if something is not valid. The same program runs alone: python -m tacit_certificate FILE --key PUB.

    Example: tacit certificate check cost.json --key keys.json
    """
    from tacit.errors import InvalidInput
    from tacit_certificate.__main__ import plain, run, text

    if key is None or (file is None) == (ledger is None) or (head and ledger is None):
        raise InvalidInput("give --key PUB, and one FILE or --ledger EXPORT; --head belongs to --ledger")
    try:
        report = run(file, ledger, head or [], key)
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror}; give the path of a file") from None
    if as_json:
        print_json(plain(report))
    else:
        say(text(report))
    if report.wrong:
        raise typer.Exit(1)


def keys(out: OutOption = None, catalog: CatalogOption = None) -> None:
    """Print the public keys by which certificates are checked; publish them where readers trust you.

    Example: tacit certificate keys --out keys.json
    """
    from tacit.accounting.ledger.entries import canonical_json
    from tacit.files import write
    from tacit.release.certificates.keys import public_keys
    from tacit.session import open as open_data

    data = open_data(find_catalog(catalog))
    _ = data.signer  # made now, if nothing was signed yet
    text = canonical_json(public_keys(data.catalog.kept))
    if out is None:
        say(text)
    else:
        write(out, f"{text}\n")
        say(f"{out} has the public keys")


def rotate(catalog: CatalogOption = None, as_json: AsJson = False) -> None:
    """Make a new key, signed by the one before. Certificates of older keys stay checkable. Restart a server afterwards.

    Example: tacit certificate rotate
    """
    from tacit.release.certificates.keys import rotate as rotated
    from tacit.session import open as open_data

    key = rotated(open_data(find_catalog(catalog)).catalog.kept)
    if as_json:
        print_json({"key": key})
    else:
        say(f"key {key} signs from now on; publish the new list: tacit certificate keys --out keys.json")


def export(
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="File to write; only its owner can read it.")],
    catalog: CatalogOption = None,
) -> None:
    """Write the ledger with the certificates of all entries, for an auditor. It shows what every analyst asked.

    Example: tacit certificate export --out ledger.jsonl
    """
    from tacit.release.certificates.exports import export as write_export
    from tacit.session import open as open_data

    write_export(open_data(find_catalog(catalog)), out)
    say(f"{out} has the ledger and its certificates; check them with: tacit certificate check --ledger {out} --key keys.json")


def head(out: OutOption = None, catalog: CatalogOption = None) -> None:
    """Print the signed head of the ledger: whoever keeps it notices a ledger that was cut, rewritten or restored.

    Example: tacit ledger head --out head.json
    """
    from tacit.accounting.ledger.entries import canonical_json
    from tacit.files import write
    from tacit.release.certificates.exports import head_of
    from tacit.session import open as open_data

    text = canonical_json(head_of(open_data(find_catalog(catalog))))
    if out is None:
        say(text)
    else:
        write(out, f"{text}\n")
        say(f"{out} has the head")


COMMANDS: Mapping[str, Callable[..., Any]] = {"show": show, "check": check, "keys": keys, "rotate": rotate, "export": export}
