"""The export list: what `import tacit` offers, that all of it loads, and that importing costs nothing."""

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tacit

FRONT = Path(tacit.__file__)
HEAVY = {
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "altair",
    "duckdb",
    "ibis",
    "sqlglot",
    "sqlalchemy",
    "rich",
    "typer",
    "cryptography",
}
EXPORTED = [
    "ADD_REMOVE",
    "CHANGE_ONE",
    "Answer",
    "Approximate",
    "Concentrated",
    "DataSet",
    "DirichletResampling",
    "Exponential",
    "Gaussian",
    "Interval",
    "KeyThreshold",
    "Laplace",
    "Neighbours",
    "NoisyMax",
    "Probabilistic",
    "Pure",
    "Quantile",
    "QuantileWithInterval",
    "RandomizedResponse",
    "Sealed",
    "Session",
    "SmoothQuantile",
    "SmoothTrimmedMean",
    "SparseVector",
    "Universe",
    "__version__",
    "errors",
    "open",
    "verify",
]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def seen_by_type_checkers() -> set[str]:
    """The names that the front page imports under TYPE_CHECKING."""
    block = next(node for node in ast.parse(FRONT.read_text()).body if isinstance(node, ast.If))
    imported = [node for node in block.body if isinstance(node, ast.Import | ast.ImportFrom)]
    annotated = [node.target.id for node in block.body if isinstance(node, ast.AnnAssign)]
    return {alias.asname or alias.name for node in imported for alias in node.names} | set(annotated)


def test_the_export_list_is_meant():
    """A name that comes or goes here is a change for everybody: it is made in two places, and told in the changelog."""
    assert tacit.__all__ == EXPORTED
    assert sorted(tacit.__all__) == dir(tacit)


@pytest.mark.parametrize("name", EXPORTED)
def test_every_name_loads_from_its_home(name):
    value = getattr(tacit, name)
    if isinstance(value, type):
        assert value.__name__ == name
        assert value.__module__.startswith("tacit.")


def test_type_checkers_see_the_same_names():
    assert seen_by_type_checkers() == set(EXPORTED)


def test_a_misspelt_name_is_an_error_that_knows_the_right_one():
    with pytest.raises(AttributeError, match="no attribute 'Laplac'"):
        tacit.Laplac  # noqa: B018
    assert not hasattr(tacit, "_HOMES_")


def test_importing_loads_nothing_heavy():
    loaded = set(run("import sys, tacit; print(*{name.partition('.')[0] for name in sys.modules})").split())
    assert loaded & HEAVY == set()
    assert {"numpy"} <= set(run("import sys, tacit; tacit.Laplace; print(*sys.modules)").split()), "the search sees what is loaded"


@pytest.mark.slow  # a clock is read: other work on the machine can disturb it
def test_importing_is_quick():
    """Below 0.3 s beyond the start of Python itself; the best of three, since the machine may be busy."""

    def seconds(code: str) -> float:
        began = time.perf_counter()
        run(code)
        return time.perf_counter() - began

    assert min(seconds("import tacit") for _ in range(3)) - min(seconds("pass") for _ in range(3)) < 0.3


def test_the_version_is_that_of_the_package():
    written = next(line for line in (FRONT.parents[2] / "pyproject.toml").read_text().splitlines() if line.startswith("version"))
    assert f'"{tacit.__version__}"' in written
