"""A pool of engines as the clerk of a server makes it, and the seats of its threads."""

from __future__ import annotations

from typing import Any

from tacit.doors.server.clerk import CLUSTER, SEATS, caller_at
from tacit.doors.server.requests import elsewhere
from tacit.doors.server.turns import Seats
from tacit.release.elsewhere.pool import Pool


def shared_pool(**given: Any) -> tuple[Pool, Seats]:
    """A pool, and the seats that whoever waits for one of its engines gives up."""
    seats = Seats(SEATS, elsewhere=elsewhere)
    return Pool(**({"changed": lambda: None} | given), caller=caller_at(seats), cluster=CLUSTER), seats
