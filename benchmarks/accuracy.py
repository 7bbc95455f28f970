"""What a budget buys, here and elsewhere, at equal epsilon: `python -m benchmarks accuracy`.

20,000 rows of `amount` in [0, 1000] by steps of 0.01, of 20,000 people or of 2,000 people with 10 rows each. Every system answers
the same question many times; the tables have the 95th percentile of the error, the width of the interval and how often it holds.
Each peer runs in its own environment under benchmarks/out/peers; one that cannot be installed is skipped with a note.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import OUT, machine, markdown, peer_python, write_table

FULL = os.environ.get("FULL") == "1"
OWN, TIMES = 2000, 2000 if FULL else 400  # answers of tacit, and of each peer, some of which take minutes
ROWS, STEPS = 20_000, 100
EPSILON = "0.1"
SMALL, CAPS = "0.01", ("1", "8")
BUDGETS = ("0.1", "1")
PEERS = Path(__file__).parent / "peers"
PACKAGES = {
    "OpenDP": ("accuracy_opendp.py", ["opendp>=0.14", "numpy"]),
    "PyDP": ("accuracy_pydp.py", ["python-dp", "numpy"]),
    "diffprivlib": ("accuracy_diffprivlib.py", ["diffprivlib", "scikit-learn<1.7"]),  # it imports names that newer ones lack
    "SmartNoise SQL": ("accuracy_smartnoise.py", ["smartnoise-sql"]),
}
CATALOG = """
[budget]
epsilon = 1000000
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit = {{ column = "person" }}
max_rows = {per_person}
rows_at_most = 100000

[tables.visits.columns]
person = {{ key = true }}
amount = {{ bounds = [0, 1000], step = 0.01, nulls = "drop" }}
"""
SQL = {
    "count": "SELECT COUNT(*) AS x FROM visits",
    "sum": "SELECT SUM(amount) AS x FROM visits",
    "mean": "SELECT AVG(amount) AS x FROM visits",
    "variance": "SELECT VAR_SAMP(amount) AS x FROM visits",
    "median": "SELECT MEDIAN(amount) AS x FROM visits",
}
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """Many answers to one question; the ends of their intervals where the system has intervals."""

    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


@dataclass(frozen=True)
class Truth:
    """The exact rows, sorted, in hundredths."""

    rows: NDArray[np.int64]

    def of(self, question: str) -> float:
        exact = self.rows / STEPS
        found = {"count": len(exact), "sum": exact.sum(), "mean": exact.mean(), "variance": exact.var(ddof=1)}
        return float(found[question])

    def ranks_off(self, values: Numbers) -> Numbers:
        """How many ranks each value is from the median; 0 for a value that ties with it."""
        placed, half = np.round(values * STEPS), len(self.rows) / 2
        below, up_to = np.searchsorted(self.rows, placed, "left"), np.searchsorted(self.rows, placed, "right")
        return np.maximum(np.maximum(below - half, half - up_to), 0)

    def ranks_between(self, low: Numbers, high: Numbers) -> Numbers:
        """Half of the number of rows in each interval."""
        return (np.searchsorted(self.rows, high * STEPS, "right") - np.searchsorted(self.rows, low * STEPS, "left")) / 2

    def errors(self, question: str, values: Numbers) -> Numbers:
        return self.ranks_off(values) if question == "median" else np.abs(values - self.of(question))

    def half_widths(self, question: str, released: Released) -> Numbers:
        assert released.low is not None
        assert released.high is not None
        if question == "median":
            return self.ranks_between(released.low, released.high)
        return (released.high - released.low) / 2

    def covered(self, question: str, released: Released) -> float:
        assert released.low is not None
        assert released.high is not None
        if question == "median":
            exact = self.rows[[len(self.rows) // 2 - 1, len(self.rows) // 2]] / STEPS
            return float(np.mean((released.low <= exact[1]) & (released.high >= exact[0])))
        return float(np.mean((released.low <= self.of(question)) & (self.of(question) <= released.high)))


def amounts() -> NDArray[np.int64]:
    """The rows of every system; data, not noise."""
    drawn = np.random.default_rng(20).gamma(2.0, 100.0, ROWS)
    return np.minimum(np.round(drawn * STEPS), 1000 * STEPS).astype(np.int64)


def ours(rows: NDArray[np.int64], per_person: int) -> dict[str, Released]:
    """tacit's answers; each has another epsilon by a hair less than EPSILON, since a repeated question repeats its answer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import tacit

    found: dict[str, Released] = {}
    with tempfile.TemporaryDirectory() as folder:
        people = np.arange(len(rows)) // per_person
        pq.write_table(pa.table({"person": people, "amount": rows / STEPS}), Path(folder, "visits.parquet"))
        Path(folder, "tacit.toml").write_text(CATALOG.format(per_person=per_person))
        with tacit.open(Path(folder, "tacit.toml"), own_process=False) as data:
            data.prepare()
            data.begin_scratch("a benchmark")
            session = data.session()
            for name, question in [*SQL.items(), ("median, no interval", SQL["median"])]:
                extra: dict[str, Any] = {"interval": False} if name.endswith("no interval") else {}
                answers = [session.sql(question, epsilon=_nearly(turn), **extra).column("x") for turn in range(OWN)]
                found[name] = _released([(each.values[0], each.low, each.high) for each in answers])
    return found


def _nearly(turn: int) -> str:
    return f"{float(EPSILON) * (1 - turn * 1e-7):.10f}"


def _released(answers: list[tuple[Any, Any, Any]]) -> Released:
    values = np.array([float(value) for value, _, _ in answers])
    if answers[0][1] is None or answers[0][1][0] is None:
        return Released(values)
    return Released(values, *(np.array([float(answer[end][0]) for answer in answers]) for end in (1, 2)))


def of_peer(name: str, path: Path, per_person: int) -> dict[str, Any] | str:
    """A peer's answers, or the reason why it is skipped."""
    script, packages = PACKAGES[name]
    python = peer_python(f"accuracy {name}", packages)
    if python is None:
        return "cannot be installed here"
    command = [str(python), str(PEERS / script), str(path), EPSILON, str(per_person), str(TIMES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False, cwd=OUT)
    lines = re.findall(r"\{.*\}", done.stdout)
    return dict(json.loads(lines[-1])) if lines else f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:80]}"


# --- tables ---


def errors_table(rows: NDArray[np.int64]) -> tuple[str, dict[str, dict[str, Any] | str]]:
    """The 95th percentile of the error of every system, for people of 1 and of 10 rows; and the peers' answers."""
    truth, lines, notes = Truth(np.sort(rows)), [], []
    peers: dict[str, dict[str, Any] | str] = {}
    for per_person in (1, 10):
        path = OUT / f"amounts-{per_person}.npy"
        OUT.mkdir(exist_ok=True)
        np.save(path, rows)
        mine = ours(rows, per_person)
        peers = {name: of_peer(name, path, per_person) for name in PACKAGES}
        notes += [f"{name}: {found}" for name, found in peers.items() if isinstance(found, str)]
        for question in mine:
            asked = question.split(",")[0]
            cells = [_percentile(truth, asked, found) for found in peers.values()]
            lines.append([f"{question}, {_unit(asked)}", per_person, *_own(truth, asked, mine[question]), *cells])
    headers = ["question", "rows a person", "tacit: error", "half width", "half width / error", "covered", *PACKAGES]
    return "\n\n".join([markdown(headers, lines), *dict.fromkeys(notes)]), peers


def _unit(question: str) -> str:
    return "ranks" if question == "median" else "units of the answer"


def _own(truth: Truth, question: str, found: Released) -> list[str]:
    error = float(np.percentile(truth.errors(question, found.values), 95))
    if found.low is None:
        return [f"{error:.4g}", "-", "-", "-"]
    wide = float(np.mean(truth.half_widths(question, found)))
    return [f"{error:.4g}", f"{wide:.4g}", f"{wide / error:.2f}", f"{truth.covered(question, found):.3f}"]


def _percentile(truth: Truth, asked: str, found: dict[str, Any] | str) -> str:
    """A peer's error; no peer has an interval, so its figure is beside the answers with and without one."""
    if isinstance(found, str) or asked not in found:
        return "-"
    return f"{float(np.percentile(truth.errors(asked, np.array(found[asked], dtype=float)), 95)):.4g}"


def fits_table() -> str:
    """How many questions of a small epsilon fit in a budget: adaptive ones here and at OpenDP, and a list that is fixed before."""
    lines = []
    for cap in CAPS:
        lines.append([f"({cap}, 1e-6)", SMALL, f"{fit_here(cap):,}", f"{fit_opendp(cap):,}", f"{fit_fixed(cap):,}"])
    headers = ["budget", "epsilon of each", "tacit, adaptive", "OpenDP's conversion from zCDP, adaptive", "fixed list, PLD"]
    return markdown(headers, lines)


def fit_here(cap: str) -> int:
    """By the ledger of a data set with this budget: what `tacit budget --what-if` says."""
    import tacit

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "visits.csv").write_text("person,amount\n1,1\n")
        declared = CATALOG.format(per_person=1).replace("visits.parquet", "visits.csv").replace("1000000\n", f"{cap}\n")
        Path(folder, "tacit.toml").write_text(declared)
        with tacit.open(Path(folder, "tacit.toml"), own_process=False) as data:
            data.prepare(yes=True)
            data.begin_scratch("a benchmark")
            return data.questions_left(SMALL)


def fit_opendp(cap: str) -> int:
    """By OpenDP's own conversion of rho = n epsilon^2 / 2."""
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def within(count: int) -> bool:
        rho = count * float(SMALL) ** 2 / 2
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        noise = dp.m.make_gaussian(*space, scale=(1 / (2 * rho)) ** 0.5)
        return bool(dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(1e-6) <= float(cap))

    return _largest(within)


def fit_fixed(cap: str) -> int:
    """By privacy-loss distributions, for a list that is fixed before the first answer."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_laplace_mechanism(1 / float(SMALL), value_discretization_interval=1e-5)
    return _largest(lambda count: one.self_compose(count).get_delta_for_epsilon(float(cap)) <= 1e-6)


def _largest(holds: Any) -> int:
    """The largest count that holds, of a rule that holds up to some count."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gaussian_table(peers: dict[str, dict[str, Any] | str]) -> str:
    """The standard deviation of Gaussian noise for sensitivity 1, of one question."""
    from tacit.mechanisms.gaussian import Gaussian

    known = {name: peer["gaussian"] for name, peer in peers.items() if not isinstance(peer, str) and "gaussian" in peer}
    lines = []
    for at, epsilon in enumerate(BUDGETS):
        mine = float(Gaussian.for_budget(1, epsilon, "1e-6", step=1, on_grid=True).scale)
        theirs = [scales[at] for scales in known.values()]
        ratio = f"{mine / min(theirs):.3f}" if theirs else "-"
        lines.append([f"({epsilon}, 1e-6)", f"{mine:.4f}", *(f"{scale:.4f}" for scale in theirs), ratio])
    return markdown(["budget", "tacit", *known, "tacit / best peer"], lines)


def run() -> None:
    """Measures, prints and writes the tables."""
    errors, peers = errors_table(amounts())
    note = f"95th percentile of the error over {OWN} answers of tacit and {TIMES} of each peer at epsilon {EPSILON}."
    note += " Intervals of tacit are at confidence 0.95; peers have none."
    parts = [f"{machine('opendp', 'dp-accounting')} {note}", errors, fits_table(), "Gaussian noise for sensitivity 1:"]
    write_table("accuracy", "\n\n".join([*parts, gaussian_table(peers)]))


if __name__ == "__main__":
    run()
