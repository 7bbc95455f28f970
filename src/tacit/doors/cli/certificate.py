"""`tacit certificate` and `tacit ledger head`: certificates, shown and checked; the keys that sign them; heads and exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

    Example: tacit certificate show 1 --out cost.json
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
    key: Annotated[
        Path | None, typer.Option("--key", metavar="PUB", help="Published list of public keys, or one public key as PEM.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="EXPORT", help="Check an exported ledger with all its certificates.")
    ] = None,
    head: Annotated[
        list[Path] | None, typer.Option("--head", metavar="HEAD", help="With --ledger: a head that you kept; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a certificate without the data, by code that shares nothing with tacit's own. Exits with 1 if it is not valid.

    The same as `python -m tacit_certificate`, which can be copied out of tacit and read in an afternoon.

    Example: tacit certificate check published.json --key owner-keys.json
    """
    from tacit.errors import InvalidInput

    if key is None:
        raise InvalidInput("missing --key: the public keys that you trust; `tacit certificate keys` prints those of a data set")
    if (file is None) == (ledger is None) or (head and ledger is None):
        raise InvalidInput("give one FILE, or --ledger EXPORT and, if you kept some, --head HEAD")
    from tacit_certificate.__main__ import main

    given = [] if file is None else [str(file)]
    given += ["--key", str(key), *([] if ledger is None else ["--ledger", str(ledger)])]
    given += [part for each in head or () for part in ("--head", str(each))]
    if code := main([*given, *(["--json"] if as_json else [])]):
        raise typer.Exit(code)


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


COMMANDS: Mapping[str, Callable[..., None]] = {"show": show, "check": check, "keys": keys, "rotate": rotate, "export": export}
