"""`tacit shell` and `tacit mcp`: many questions in one session, of a person at a terminal, of a file, or of an agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.ask import AnalystOption, ServerOption, opened, remote_of, utf8_text
from tacit.doors.cli.output import console, say
from tacit.doors.cli.which_catalog import CatalogOption
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.limited import Limited

MOST_TEXT = 2**20  # bytes of a file of questions
Most = Annotated[str | None, typer.Option("--most", help="Limit on the sum of the epsilons of this session, for example 1.")]


def shell(
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon of each question, for example 0.1.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="File with questions that semicolons end; - is standard input.")
    ] = None,
    most: Most = None,
    analyst: AnalystOption = None,
    server: ServerOption = None,
    catalog: CatalogOption = None,
) -> None:
    r"""Ask one question after another: at a terminal, from a file, or from standard input.

    At a terminal, the price of the first question is shown before it is paid; \help lists the commands. Questions of a file are
    asked in order, and the first error ends them: the exit code is 3 if a question was refused.

    Example: tacit shell --epsilon 0.1 --file questions.sql
    """
    from tacit.doors.shell import Shell, interactive, statements

    at_terminal = file is None and sys.stdin.isatty()
    questions = [] if at_terminal else statements(_text(file))
    with _session(most, analyst, server, catalog) as session:
        if at_terminal:
            interactive(Shell(session, say, epsilon=epsilon, show=console().print), _folder())
            return
        asking = Shell(session, say, epsilon=epsilon, asked=True)
        for question in questions:
            asking.ask(question)


def mcp(most: Most = None, analyst: AnalystOption = None, server: ServerOption = None, catalog: CatalogOption = None) -> None:
    """Serve the Model Context Protocol on standard input and output, for an agent that asks as one analyst.

    Set --most: it limits what the agent can spend before you start it again.

    Example: tacit mcp --most 1
    """
    from tacit.doors.agents import mcp_server

    with _session(most, analyst, server, catalog) as session:
        mcp_server(session).run("stdio")


@contextmanager
def _session(most: str | None, analyst: str | None, server: str | None, catalog: Path | None) -> Iterator[Limited]:
    """The session on a server or a catalog, under a limit; it is closed at the end."""
    from tacit.doors.limited import Limited

    if server is not None:
        with remote_of(server, analyst) as remote:
            yield Limited(remote, most)
        return
    session = opened(catalog, analyst)
    with session.data:
        yield Limited(session, most)


def _text(file: Path | None) -> str:
    """The questions of a file or of standard input; one that is too long is not read in part."""
    if file is None or str(file) == "-":
        raw = sys.stdin.buffer.read(MOST_TEXT + 1)
    else:
        with file.open("rb") as content:
            raw = content.read(MOST_TEXT + 1)
    if len(raw) > MOST_TEXT:
        raise InvalidInput(f"the questions have more than {MOST_TEXT:,} bytes; split them into several files")
    return utf8_text(raw)


def _folder() -> Path:
    from tacit.accounting.ledger.register import state_folder

    folder = state_folder(os.environ)
    if folder is None:
        raise InvalidInput("cannot keep the history: neither XDG_STATE_HOME nor HOME is an absolute path; set one of them")
    return folder
