"""Synthetic rows of Adult, of ACS and of a wide table, beside MST and AIM: `python -m benchmarks synthetic_rows`.

Every method gets the same cells, the same rho (of epsilon at delta 1e-9, by the tight conversion) and makes as many rows as there
are. The error is the mean total variation over all pairs of columns; the AUC is that of a gradient-boosted classifier
(scikit-learn) trained on synthetic rows and tested on real rows that no method saw.

Each run is a process of its own, and its rows stay in a folder (`SYNTHETIC_ROWS`, else one for temporary files): what is there is
not run again. Peers that are not there run only with `PEERS=1`, since one run of AIM takes minutes; a table has what was run.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine, markdown, write_table

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
KEPT = Path(os.environ.get("SYNTHETIC_ROWS", Path(tempfile.gettempdir()) / "tacit-synthetic-rows"))
DELTA = Fraction(1, 10**9)
SEEDS = 3
EPSILONS = ("0.3", "1", "5", "10")
HEADERS = ("table", "epsilon", "method", "runs", "error of pairs", "AUC", "processor time", "peak memory")
WIDE_ROWS, WIDE_COLUMNS = 50_000, 60
ACS_BINS = {
    "AGEP": [5, 10, 15, 18, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85],
    "DENSITY": [1500, 2500, 3000],
    "PINCP": [1, 10_000, 20_000, 30_000, 40_000, 50_000, 75_000, 100_000, 150_000, 250_000],
    "POVPIP": [50, 100, 150, 200, 250, 300, 400, 501],
    "NPF": [3, 4, 5, 6, 8],
    "NOC": [1, 2, 3, 4],
}
ACS_LEFT_OUT = ("INDP", "PWGTP", "WGTP")  # 271 industries that the dictionary does not list, and weights of the survey


@dataclass(frozen=True)
class Coded:
    """A table in cells: the rows that are synthesized, real rows beside them for tests, and the place of the target."""

    name: str
    codes: np.ndarray
    test: np.ndarray
    sizes: tuple[int, ...]
    target: int
    positive: tuple[int, ...]


def adult() -> Coded:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from adult import NUMBERS, VALUES  # the catalog of the code book, as tests have it

    rows = {part: _rows(SHARED / "adult" / f"{part}.csv.gz") for part in ("adult", "adult_test")}
    names, sizes, found = list(rows["adult"][0]), [], {part: [] for part in rows}
    for name in names:
        if name in VALUES:
            known = {value: at for at, value in enumerate(VALUES[name].split())}
            sizes.append(len(known) + 1)
            coded = {part: [known.get(row[name], len(known)) for row in rows[part]] for part in rows}
        else:
            (low, high), *bins = [json.loads(part) for part in re.findall(r"\[.*?\]", NUMBERS[name])]
            begins = bins[0] if bins else list(range(low + 1, high + 1))
            sizes.append(len(begins) + 2)
            coded = {part: np.searchsorted(begins, [float(row[name]) for row in rows[part]], side="right") for part in rows}
        for part, values in coded.items():
            found[part].append(np.asarray(values))
    train, test = (np.stack(found[part], axis=1) for part in rows)
    return Coded("adult", train, test, tuple(sizes), names.index("income"), (1,))


def acs() -> Coded:
    """Massachusetts: four fifths of the rows are synthesized, one fifth is for tests; the target is whether a home is rented."""
    rows = _rows(SHARED / "acs-ma-2019" / "ma2019.csv.gz")
    dictionary = json.loads((SHARED / "acs-ma-2019" / "data_dictionary.json").read_text("utf-8"))
    names = [name for name in rows[0] if name not in ACS_LEFT_OUT]
    columns, sizes = [], []
    for name in names:
        values = [row[name] for row in rows]
        if name in ACS_BINS:
            begins = ACS_BINS[name]
            columns.append([len(begins) + 1 if v == "N" else int(np.searchsorted(begins, float(v), side="right")) for v in values])
            sizes.append(len(begins) + 2)
        else:
            known = {value: at for at, value in enumerate(dictionary[name]["values"])}
            columns.append([known[value] for value in values])
            sizes.append(len(known))
    codes = np.stack(columns, axis=1)[np.random.default_rng(1).permutation(len(rows))]
    return Coded("acs", codes[len(rows) // 5 :], codes[: len(rows) // 5], tuple(sizes), names.index("OWN_RENT"), (2,))


def wide() -> Coded:
    """Simulated: 60 columns of 2 to 12 values, each by its own rule of two columns before it, and noise."""
    generator = np.random.default_rng(7)
    sizes = [int(size) for size in generator.integers(2, 13, WIDE_COLUMNS)]
    columns = [generator.integers(0, size, 2 * WIDE_ROWS) for size in sizes[:2]]
    for size in sizes[2:]:
        one, other = (columns[int(at)] for at in generator.integers(max(0, len(columns) - 8), len(columns), 2))
        rule = generator.integers(0, size, (one.max() + 1, other.max() + 1))
        noise = generator.random(one.size) < 0.3
        columns.append(np.where(noise, generator.integers(0, size, one.size), rule[one, other]))
    codes = np.stack(columns, axis=1)
    return Coded("wide", codes[:WIDE_ROWS], codes[WIDE_ROWS:], tuple(sizes), WIDE_COLUMNS - 1, (0,))


TABLES = {"adult": adult, "acs": acs, "wide": wide}


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- methods -----------------------------------------------------------------------------------------------------------------


def ours(coded: Coded, epsilon: str, folder: Path) -> np.ndarray:
    """Rows by tacit: prepared, paid and synthesized as a data owner does it."""
    import tacit
    from tacit.publish.synthetic.rows.release import synthesize_table

    names = [f"c{at}" for at in range(len(coded.sizes))]
    with (folder / "table.csv").open("w", encoding="utf-8") as file:
        file.write(",".join(names) + "\n")
        file.writelines(",".join(f"v{code}" for code in row) + "\n" for row in coded.codes.tolist())
    values = {name: json.dumps([f"v{at}" for at in range(size)]) for name, size in zip(names, coded.sizes, strict=True)}
    lines = "\n".join(f'{name} = {{ values = {each}, unknown = "drop", nulls = "drop" }}' for name, each in values.items())
    head = '[budget]\nepsilon = 100\ndelta = 1e-3\n[tables.t]\nsource = "table.csv"\nunit = "row"\nrows_at_most = 200000\n'
    (folder / "tacit.toml").write_text(f"{head}[tables.t.columns]\n{lines}\n", "utf-8")
    with tacit.open(folder / "tacit.toml") as data:
        data.prepare(new_ledger=True, reason="a benchmark")
        made = synthesize_table(data, "t", epsilon=epsilon, delta=DELTA, rows=coded.codes.shape[0])
        return np.stack(made.codes, axis=1)


def child(name: str, epsilon: str, out: str) -> None:
    """One run of tacit in a process of its own, with preparation and start."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = ours(TABLES[name](), epsilon, Path(folder))
    used = resource.getrusage(resource.RUSAGE_SELF)
    np.savez_compressed(out, codes=drawn.astype(np.int16))
    print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}))


def run_of(method: str, coded: Coded, epsilon: str, seed: int) -> tuple[np.ndarray, dict[str, float]] | None:
    """The rows of one run and what they took, kept from before or made now; None where a peer was never run."""
    from tacit.query.price.price import calibrate_rho

    KEPT.mkdir(exist_ok=True)
    out = KEPT / f"{method}_{coded.name}_{epsilon}_{seed}.npz"
    if not out.exists():
        if method == "tacit":
            command = [
                "-c",
                f"from benchmarks import synthetic_rows; synthetic_rows.child({coded.name!r}, {epsilon!r}, {str(out)!r})",
            ]
        elif os.environ.get("PEERS"):
            source, rho = KEPT / f"{coded.name}.npz", str(float(calibrate_rho(Fraction(epsilon), DELTA)))
            np.savez_compressed(source, codes=coded.codes, sizes=np.array(coded.sizes))
            command = ["-m", "benchmarks.peers.synthetic_mbi", method, str(source), rho, str(seed), str(out)]
        else:
            return None
        done = subprocess.run([sys.executable, "-W", "ignore", *command], cwd=ROOT, capture_output=True, text=True, check=True)
        out.with_suffix(".json").write_text(done.stdout.splitlines()[-1], "utf-8")
    return np.load(out)["codes"].astype(np.int64), json.loads(out.with_suffix(".json").read_text("utf-8"))


# --- measures ----------------------------------------------------------------------------------------------------------------


def error_of_pairs(coded: Coded, drawn: np.ndarray) -> float:
    """The mean total variation of all pairs of columns."""
    errors = []
    for one, other in itertools.combinations(range(len(coded.sizes)), 2):
        cells = coded.sizes[one] * coded.sizes[other]
        shares = [
            np.bincount(rows[:, one] * coded.sizes[other] + rows[:, other], minlength=cells) / len(rows)
            for rows in (coded.codes, drawn)
        ]
        errors.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return float(np.mean(errors))


def auc(coded: Coded, rows: np.ndarray) -> float:
    """Of a classifier that learned from these rows, on real rows that nobody saw."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    def parts(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.delete(codes, coded.target, axis=1), np.isin(codes[:, coded.target], coded.positive)

    (features, labels), (unseen, truth) = parts(rows), parts(coded.test)
    if labels.all() or not labels.any():
        return 0.5
    model = HistGradientBoostingClassifier(random_state=0).fit(features, labels)
    return float(roc_auc_score(truth, model.predict_proba(unseen)[:, 1]))


def table_rows(seeds: int, epsilons: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, methods in (("adult", ("tacit", "aim", "mst")), ("acs", ("tacit", "aim", "mst")), ("wide", ("tacit",))):
        if name != "wide" and not (SHARED / {"adult": "adult", "acs": "acs-ma-2019"}[name]).exists():
            continue
        coded = TABLES[name]()
        yield name, "-", "real rows", "-", "0", f"{auc(coded, coded.codes):.3f}", "-", "-"
        for epsilon, method in itertools.product(epsilons if name != "wide" else ("1",), methods):
            runs = [run for seed in range(1, seeds + 1) if (run := run_of(method, coded, epsilon, seed)) is not None]
            if runs:
                yield name, epsilon, method, str(len(runs)), *_figures(coded, runs)


def _figures(coded: Coded, runs: list[tuple[np.ndarray, dict[str, Any]]]) -> tuple[str, ...]:
    errors, areas = [error_of_pairs(coded, drawn) for drawn, _ in runs], [auc(coded, drawn) for drawn, _ in runs]
    seconds, megabytes = [told["seconds"] for _, told in runs], max(told["megabytes"] for _, told in runs)
    return _spread(errors, 4), _spread(areas, 3), f"{np.median(seconds):.0f} s", f"{megabytes:.0f} MB"


def _spread(numbers: list[float], digits: int) -> str:
    mean = f"{np.mean(numbers):.{digits}f}"
    return mean if len(numbers) == 1 else f"{mean} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})"


def run() -> None:
    write_table(
        "synthetic rows", f"{machine('numba', 'mbi', 'scikit-learn')}\n\n{markdown(HEADERS, list(table_rows(SEEDS, EPSILONS)))}"
    )
