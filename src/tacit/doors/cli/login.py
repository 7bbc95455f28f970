"""`tacit login`, and `--server` of other commands: which server is asked, and with which token.

A token is read from standard input or a file, never from an argument, which a list of processes would show. It is kept in the
user's state folder, in a file of mode 600, and a copy of the server's certificate beside it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import print_json, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.client import Remote

FILE = "logins.json"
TOKEN = "TACIT_TOKEN"  # noqa: S105  # the name of a variable


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="Server, such as https://stats.example.org.")],
    token_file: Annotated[Path | None, typer.Option("--token-file", help="File with the token; else it is asked for.")] = None,
    ca: Annotated[Path | None, typer.Option("--ca", help="Certificate to trust: an authority's, or the server's own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Log in to a server: check a token, and keep it for `--server`. The curator of the data gives you the token.

    Example: tacit login https://stats.example.org --token-file token.txt
    """
    from tacit.doors.client import Remote, checked_url

    address, token = checked_url(url), _token_from(token_file)
    with Remote(address, token, ca, pauses=()) as remote:
        remote.catalog()
    _keep({**_logins(), address: {"token": token, "ca": None if ca is None else str(_kept_certificate(address, ca))}})
    if as_json:
        print_json({"server": address})
    else:
        say(f"logged in to {address}; ask it with --server {address}")


def connected(url: str) -> Remote:
    """The server that a command asks, with the token of $TACIT_TOKEN or of `tacit login`."""
    from tacit.doors.client import Remote, checked_url

    address = checked_url(url)
    login = _logins().get(address, {})
    token = os.environ.get(TOKEN) or login.get("token")
    if not token:
        raise InvalidInput(f"not logged in to {address}; run: tacit login {address}")
    return Remote(address, token, login.get("ca"))


def _token_from(file: Path | None) -> str:
    if file is not None:
        text = file.read_text("utf-8", "replace")
    elif sys.stdin.isatty():
        text = str(typer.prompt("Token", hide_input=True))
    else:
        text = sys.stdin.readline(1000)
    if not text.strip():
        raise InvalidInput("the token is missing; type it when asked, or give --token-file FILE")
    return text.strip()


def _place() -> Path:
    from tacit.accounting.ledger.register import state_folder

    folder = state_folder(os.environ)
    if folder is None:
        raise InvalidInput("cannot store the token: neither XDG_STATE_HOME nor HOME is an absolute path; set one of them")
    return folder / FILE


def _kept_certificate(address: str, ca: Path) -> Path:
    """A copy of the certificate beside the token: the file that was given may be moved or deleted."""
    from hashlib import sha256

    from tacit.files import write

    return write(_place().with_name(f"ca-{sha256(address.encode()).hexdigest()[:16]}.pem"), ca.read_bytes(), private=True)


def _logins() -> dict[str, dict[str, Any]]:
    try:
        logins = json.loads(_place().read_text("utf-8"))
    except (OSError, ValueError, InvalidInput):
        return {}
    return logins if isinstance(logins, dict) else {}


def _keep(logins: dict[str, dict[str, Any]]) -> None:
    from tacit.files import write
    from tacit.untrusted import for_json

    write(_place(), for_json(logins, indent=2), private=True)
