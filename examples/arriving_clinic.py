"""A clinic whose data arrive every day: a generator of daily files, and the loop that prepares and publishes every month.

    python examples/arriving_clinic.py OUT --months 36 --kill 0.3

OUT gets `tacit.toml`, `releases.toml`, the files that arrive (`arrivals/2024-01-01.csv`, ...) and the site (`site/`). Each month is
prepared beside the others by `tacit prepare --add`, then closed by a line in the catalog, and published by `tacit release run`.
With `--kill`, each of these processes is killed at a random moment with that probability and started again, as on a machine that
fails: the store and the ledger end as they would have, and nothing is paid twice. The people are made up.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

FIRST = date(2024, 1, 1)
WARDS = ("emergency", "surgery", "medicine", "maternity", "children")
CATALOG = """[budget]
epsilon = 1
delta = 1e-7
per = "month"
lifetime = {{ epsilon = {lifetime}, delta = 1e-6 }}

[tables.visits]
source = "arrivals/{first}-*.csv"
unit = {{ column = "patient" }}
period = "day"
max_rows = 4
rows_at_most = 10000000

[tables.visits.columns]
day = {{ type = "date", bounds = ["{low}", "{high}"], outside = "drop", nulls = "drop" }}
ward = {{ values = ["emergency", "surgery", "medicine", "maternity", "children"], unknown = "drop", nulls = "drop" }}
minutes = {{ bounds = [0, 720] }}
"""
RELEASES = """title = "Clinic of the Lake"
about = "Visits to the clinic, month by month. The people are made up."
url = "https://statistics.example.org/clinic/"
publisher = "Clinic of the Lake"

[releases.visits]
title = "Visits by ward"
notes = "A visit is counted in the month of its day. Of each patient, at most four visits a month count."
sql = "SELECT ward, COUNT(*) AS visits FROM visits WHERE day BETWEEN :first AND :last GROUP BY ward"
epsilon = 0.3
period = "month"

[releases.patients]
title = "Patients"
notes = "People with at least one visit in the month."
sql = "SELECT COUNT(DISTINCT patient) AS patients FROM visits WHERE day BETWEEN :first AND :last"
epsilon = 0.05
period = "month"

[releases.waiting]
title = "Minutes in the clinic"
notes = "The mean time between arrival and departure."
sql = "SELECT AVG(minutes) AS minutes FROM visits WHERE day BETWEEN :first AND :last"
epsilon = 0.15
period = "month"
"""


def month_of(number: int) -> date:
    """The first day of a month after the first one."""
    return date(FIRST.year + number // 12, number % 12 + 1, 1)


def rows_of(day: date, rng: random.Random) -> Iterator[tuple[int, str, str, int]]:
    """The visits that arrive on a day: more in winter, fewer at weekends, a few of the days before."""
    season = 1 + 0.25 * math.cos(2 * math.pi * (day.timetuple().tm_yday - 20) / 365)
    for _ in range(round(60 * season * (0.6 if day.weekday() > 4 else 1) * (1 + 0.004 * (day - FIRST).days / 10))):
        late = rng.randrange(1, 4) if rng.random() < 0.02 else 0
        ward = rng.choices(WARDS, (5, 3, 4, 1, 2))[0]
        seen = max(FIRST, day - timedelta(late))
        yield rng.randrange(4000), seen.isoformat(), ward, min(720, round(rng.lognormvariate(4.6, 0.6)))


def arrive(out: Path, month: date, following: date, rng: random.Random) -> list[str]:
    """Write the files that arrive in a month, one a day; returns their names."""
    names = []
    for number in range((following - month).days):
        day = month + timedelta(number)
        file = out / "arrivals" / f"{day}.csv"
        with file.open("w", newline="") as target:
            csv.writer(target).writerows([("patient", "day", "ward", "minutes"), *rows_of(day, rng)])
        names.append(f"arrivals/{file.name}")
    return names


def surely(out: Path, *words: str, kill: float = 0.0, rng: random.Random) -> int:
    """Run a command of tacit until one run comes to its end; returns how many were killed."""
    variables = {**os.environ, "XDG_STATE_HOME": str(out.absolute() / "state")}  # made-up people do not go into your register
    command = [sys.executable, "-m", "tacit", *words]
    for killed in range(1000):
        process = subprocess.Popen(command, cwd=out, env=variables, stdout=subprocess.PIPE, text=True)
        if rng.random() < kill:
            time.sleep(rng.uniform(0, 4))
            process.kill()
        told, _ = process.communicate()
        if process.returncode == 0:
            return killed
        if process.returncode > 0:
            sys.exit(f"tacit {' '.join(words)} failed\n{told}")
    sys.exit("a run was killed a thousand times")


def close(out: Path, month: date) -> None:
    """The owner's word that the data of a month are complete: `closed` in the catalog."""
    text = re.sub(r"^closed = .*\n", "", (out / "tacit.toml").read_text(), flags=re.MULTILINE)
    (out / "tacit.toml").write_text(text.replace('per = "month"\n', f'per = "month"\nclosed = "{month:%Y-%m}"\n'))


def run(out: Path, months: int, kill: float, seed: int) -> int:
    """The life of the clinic's data set; returns how many processes were killed."""
    rng = random.Random(seed)
    (out / "arrivals").mkdir(parents=True)
    high = month_of(months) - timedelta(1)
    (out / "tacit.toml").write_text(CATALOG.format(first=f"{FIRST:%Y-%m}", low=FIRST, high=high, lifetime=max(1, months)))
    (out / "releases.toml").write_text(RELEASES)
    killed = 0
    for number in range(months):
        month, following = month_of(number), month_of(number + 1)
        names = arrive(out, month, following, rng)
        if number:
            killed += surely(out, "prepare", "--add", *names, "--through", f"{month:%Y-%m}", kill=kill, rng=rng)
        else:
            surely(out, "prepare", "--new-ledger", "--reason", "an example", "--through", f"{month:%Y-%m}", rng=rng)
        if number:
            close(out, month_of(number - 1))  # late rows of a month arrive in the first days of the next
            killed += surely(out, "release", "run", kill=kill, rng=rng)
    close(out, month_of(months - 1))
    killed += surely(out, "release", "run", kill=kill, rng=rng)
    surely(out, "release", "site", "site", rng=rng)
    return killed


def main() -> None:
    """Read the arguments, and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--months", type=int, default=36)
    parser.add_argument("--kill", type=float, default=0.0, help="probability that a process is killed at a random moment")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    killed = run(asked.out, asked.months, asked.kill, asked.seed)
    print(f"{asked.months} months were prepared and published; {killed} processes were killed.")
    print(f"Open {asked.out / 'site' / 'index.html'}")


if __name__ == "__main__":
    main()
