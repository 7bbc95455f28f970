"""What a certificate costs and how large it is: `python -m benchmarks certificates`.

Times are processor time of this process, in which the questions also run, on the hospital of `tacit demo`; each figure is the
median of as many questions, all different. The check is that of `tacit_certificate`, on the text of the file.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.tables import machine, markdown, write_table

TURNS = 21
QUESTIONS = {
    "a count": "SELECT COUNT(*) AS n FROM visits WHERE cost > {number}",
    "counts and sums of 10 groups": "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE cost > {number} GROUP BY ward",
    "means of a join, by 2 groups": (
        "SELECT sex, AVG(cost) AS c FROM visits v JOIN patients p ON v.patient_id = p.id WHERE cost > {number} GROUP BY sex"
    ),
    "counts, sums and means of 112 groups": (
        "SELECT age, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS c FROM visits v JOIN patients p ON v.patient_id = p.id "
        "WHERE cost > {number} GROUP BY age"
    ),
}


def run() -> None:
    with tempfile.TemporaryDirectory() as folder, _hospital(Path(folder)) as data:
        rows = [_row(name, text, data) for name, text in QUESTIONS.items()]
    head = ["question", "the question", "its certificate", "of it", "made again later", "a check", "size"]
    table = markdown(head, rows)
    print(table)
    write_table("certificates", f"{table}\n\n{machine()}")


@contextmanager
def _hospital(folder: Path) -> Iterator[Any]:
    import tacit
    from tacit.doors.cli.demo.hospital import build

    (folder / "hospital").mkdir()
    catalog = build(folder / "hospital")
    text = catalog.read_text()
    catalog.write_text(text.replace("epsilon = 3\n", "epsilon = 1000\n").replace("epsilon = 2\n", "epsilon = 1000\n"))
    with tacit.open(catalog, own_process=False) as data:
        data.prepare(new_ledger=True, yes=True, reason="a benchmark")
        yield data


def _row(name: str, text: str, data: Any) -> list[str]:
    from tacit.release.certificates.keys import public_keys
    from tacit_certificate.check import Certificate
    from tacit_certificate.document import read_canonical, read_keys

    ana, times, size = data.session("ana"), dict[str, list[float]](), 0
    keys = read_keys(json.dumps(public_keys(data.catalog.kept)).encode()) if data.signer else None
    for number in range(TURNS + 1):  # the first one loads what it needs, and does not count
        answer = _timed(times, "question", partial(ana.sql, text.format(number=number), epsilon="0.01"))
        certificate = _timed(times, "certificate", partial(getattr, answer, "certificate"))
        _timed(times, "again", partial(ana.certificate, answer.receipt.entry))
        file = f"{certificate.to_json()}\n".encode()
        report = _timed(times, "check", partial(_checked, file, keys, Certificate, read_canonical))
        assert not report.wrong, report.wrong
        size = len(file)
    middle = {what: median(each[1:]) for what, each in times.items()}
    ms = [f"{middle[what] * 1000:.2g} ms" for what in ("question", "certificate")]
    more = [f"{middle['certificate'] / middle['question']:.1%}", *(f"{middle[what] * 1000:.2g} ms" for what in ("again", "check"))]
    return [name, *ms, *more, f"{size / 1000:.1f} kB"]


def _checked(file: bytes, keys: Any, certificate: Any, read: Any) -> Any:
    return certificate(read(file)).check(keys)


def _timed(times: dict[str, list[float]], what: str, work: Callable[[], Any]) -> Any:
    begun = time.process_time()
    made = work()
    times.setdefault(what, []).append(time.process_time() - begun)
    return made
