"""What the benchmarks share: the shortest of several runs, peers in environments of their own, and tables in the README."""

from __future__ import annotations

import platform
import subprocess
import time
import venv
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"
README = Path(__file__).parent / "README.md"
REPEATS = 5
TEXT = 2  # the first columns of a table contain text


def best_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peer_python(name: str, packages: list[str]) -> Path | None:
    """The interpreter of a peer's own environment, created on first use; None if it cannot be installed."""
    folder = OUT / "peers" / name.lower().replace(" ", "-")
    python, mark = folder / "bin" / "python", folder / ".installed"
    if mark.exists():
        return python
    venv.create(folder, with_pip=True)
    done = subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], capture_output=True, check=False)
    if done.returncode == 0:
        mark.touch()
    return python if done.returncode == 0 else None


def installed(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine(*packages: str) -> str:
    """The machine and the measured versions, in one line."""
    import os

    named = ["numpy", "duckdb", *packages]
    versions = ", ".join(f"{name} {found}" for name in named if (found := installed(name)))
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}; Python {platform.python_version()}, {versions}."


def markdown(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; numbers are right-aligned."""
    lines = [headers, [":--" if at < TEXT else "--:" for at in range(len(headers))], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_table(name: str, text: str, page: Path = README) -> None:
    """Prints a table and puts it between its markers in a page, which must have them."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    known = page.read_text(encoding="utf-8")
    before, rest = known.split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")
    print(text)
