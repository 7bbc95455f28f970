"""`tacit attack timing`: what the clock of an analyst tells through the door of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, show
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.doors.client import Remote
    from tacit.evidence.attacks.door.reply_times import Ask, ReplyTimes

PRESENT, ABSENT = 7, 8  # badges: of somebody who works in the generated hospital, and of somebody who is left out of it
QUESTION = "SELECT MEDIAN(cost) AS middle FROM visits JOIN patients ON visits.patient_id = patients.id WHERE badge = {}"


def timing(
    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="Server to ask; one over a generated hospital if omitted.")
    ] = None,
    question: Annotated[str | None, typer.Option(help="With --server: a question about somebody who is in the data.")] = None,
    control: Annotated[str | None, typer.Option(help="With --server: the same about somebody who is not.")] = None,
    count: Annotated[int, typer.Option(help="Number of replies to time, for each of the two.", min=20)] = 200,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell by the time of a reply whether a person is in the data. No defense yet: the server does not hide its clock.

    Example: tacit attack timing --count 20
    """
    if server is None:
        if question or control:
            raise InvalidInput("--question and --control require --server; add it, or remove them")
        found = of_own_server(count)
    elif question is None or control is None:
        raise InvalidInput("--server requires --question, about somebody in the data, and --control, about somebody who is not")
    else:
        found = of_server(server, question, control, count)
    show(found, chart, as_json)


def of_server(url: str, question: str, control: str, count: int) -> ReplyTimes:
    """The server of somebody else, with the token of `tacit login`."""
    from tacit.doors.cli.login import connected
    from tacit.evidence.attacks.door.reply_times import reply_times

    with connected(url) as remote:
        return reply_times(question, (asking(remote, question), asking(remote, control)), count)


def of_own_server(count: int) -> ReplyTimes:
    """A server over the generated hospital, of which somebody was left out; its processor time is watched, too."""
    from tacit.doors.cli.attack.own_server import own_server
    from tacit.evidence.attacks.door.reply_times import reply_times

    present, absent = QUESTION.format(PRESENT), QUESTION.format(ABSENT)
    with own_server(leave_out=ABSENT) as server:
        asks = (asking(server.remote, present), asking(server.remote, absent))
        return reply_times(present, asks, count, server.processor_seconds if server.watched else None)


def asking(remote: Remote, text: str) -> Ask:
    """Asks one question, with the budget that is given."""
    return lambda epsilon: remote.sql(text, epsilon=epsilon)
