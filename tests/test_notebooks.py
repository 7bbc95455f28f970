"""The notebooks of examples/notebooks: each runs from its first cell to its last, and is kept without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NAMES = ("owner", "analyst", "attacks", "surveys")
GUIDE = FOLDER.parents[1] / "docs" / "guides" / "connect.md"


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def unkept(book: Any) -> list[int]:
    """The cells with an output or a count of an execution."""
    return [at for at, cell in enumerate(book.cells) if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]


def test_every_notebook_is_listed():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)
    assert [name for name in NAMES if f"{name}.ipynb" not in GUIDE.read_text("utf-8")] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_outputs(name):
    book = read(name)
    nbformat.validate(book)
    assert unkept(book) == []
    assert set(book.metadata) == {"kernelspec", "language_info"}
    words = [cell for cell in book.cells if cell.cell_type == "markdown"]
    assert len(words) >= 5, "a notebook teaches"
    text = json.dumps(book)
    assert "/home/" not in text
    assert "/work/" not in text


def test_an_output_that_was_kept_is_caught():
    """Planted: a cell with an output."""
    book = read("owner")
    cell = next(each for each in book.cells if each.cell_type == "code")
    cell.outputs = [nbformat.v4.new_output("stream", text="1")]
    assert unkept(book)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    for variable in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        (tmp_path / variable).mkdir()
    book = read(name)
    nbclient.NotebookClient(book, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert [output for output in shown if output.output_type == "stream" and output.name == "stderr"] == []
    assert len(shown) >= 5
    if name in ("owner", "analyst"):
        assert sum("text/html" in output.get("data", {}) for output in shown) >= 3
    if name == "attacks":
        said = "".join(output.get("text", "") for output in shown)
        assert "100% of the bits are right" in said
        assert "remains" in said


def test_plain_cells_are_python():
    for name in NAMES:
        for cell in read(name).cells:
            if cell.cell_type == "code" and "%" not in cell.source.split("\n")[0]:
                ast.parse(cell.source)
