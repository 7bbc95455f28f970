"""Processes that ask a ledger until they are killed: `python crash.py ADDRESS FOLDER ORDER CAP KILLS SECONDS`.

One process, without threads, forks the others: a dozen at a time, half of them with the ledger that it has open itself. Each
spends, and then shows its answer by writing the number of its entry into a pipe; all are ended by kill -9 at any moment, and others
take their place. Kills wait for as many answers, so that the budget comes to its end on a busy machine too.
Prints {"seen": [numbers], "kills": count, "errors": [texts], "refused": whether the budget came to its end}.

ORDER is `spend-first`, or `answer-first`: the planted bug, in which the answer is shown, the engine's work done, and then debited.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

from ledgers import IDENTITY, opened, policy, pure
from tacit.accounting.ledger.rollback import check_head, remember_head
from tacit.errors import BudgetExceeded

EACH = "1/8"
TOGETHER = 12


def ask(ledger, folder: Path, pipe: int, answer_first: bool) -> None:
    """Questions until the budget ends, with the same steps as a session."""
    while True:
        check_head(folder, ledger)
        if answer_first:
            os.write(pipe, f"{ledger.head.number + 1}\n".encode())
            time.sleep(0.02)
        entry = ledger.spend(pure(EACH), "curator", question="q", data_version="v")
        remember_head(folder, entry.head)
        if not answer_first:
            os.write(pipe, f"{entry.number}\n".encode())


def start(address: str, cap: int, inherited, folder: Path, pipe: int, answer_first: bool) -> int:
    child = os.fork()
    if child:
        return child
    try:
        ask(inherited or opened(address, policy(cap), IDENTITY), folder, pipe, answer_first)
    except BudgetExceeded:
        os.write(pipe, b"refused\n")
    except BaseException as error:
        os.write(pipe, f"error {error}\n".encode())
    os._exit(0)


def wait_a_moment(pipe: int, seconds: float) -> bytes:
    ready, _, _ = select.select([pipe], [], [], seconds)
    return os.read(pipe, 1 << 16) if ready else b""


def main(address: str, folder: Path, answer_first: bool, cap: int, kills: int, seconds: float) -> dict[str, object]:
    ledger = opened(address, policy(cap), IDENTITY)
    receive, send = os.pipe()
    children, shown, killed = [], b"", 0
    end = time.monotonic() + seconds
    while (killed < kills or shown.count(b"\n") < TOGETHER) and time.monotonic() < end and b"refused" not in shown:
        while len(children) < TOGETHER:
            children.append(start(address, cap, random.choice([None, ledger]), folder, send, answer_first))
        shown += wait_a_moment(receive, random.uniform(0, 0.03))
        while shown.count(b"\n") < killed and b"refused" not in shown and (left := end - time.monotonic()) > 0:
            shown += wait_a_moment(receive, left)
        victim = children.pop(random.randrange(len(children)))
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        killed += 1
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(send)
    while more := os.read(receive, 1 << 16):
        shown += more
    lines = shown.decode().splitlines()
    return {
        "seen": [int(line) for line in lines if line.isdigit()],
        "kills": killed + len(children),
        "errors": [line for line in lines if line.startswith("error")],
        "refused": "refused" in lines,
    }


if __name__ == "__main__":
    address, folder, order, cap, kills, seconds = sys.argv[1:]
    print(json.dumps(main(address, Path(folder), order == "answer-first", int(cap), int(kills), float(seconds))))
