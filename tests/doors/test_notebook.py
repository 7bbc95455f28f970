"""Magics in a real kernel, beside JupySQL on an engine of the same catalog."""

import pytest

from hospital import files
from tacit.doors.notebook import Line, read_line
from tacit.errors import InvalidInput
from tacit.session import open as open_data

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")


def test_the_words_of_a_magic():
    assert read_line("") == Line()
    assert read_line("a << --epsilon 0.5 --params=given") == Line("a", {"epsilon": "0.5", "params": "given"})
    assert read_line("--explain tacit:///a.toml") == Line(explain=True, address="tacit:///a.toml")
    assert read_line("--address tacit+https://h --error 5") == Line(options={"error": "5"}, address="tacit+https://h")


@pytest.mark.parametrize("line", ["1 << --epsilon 1", "a b << x", "--epsilon", "--much", "word", "--params 'x"])
def test_what_a_magic_does_not_know_is_refused(line):
    with pytest.raises(InvalidInput):
        read_line(line)


def cells(address: str) -> list[str]:
    return [
        f"%load_ext tacit\nsession = %tacit {address}&most=1.5",
        "%%tacit --explain\nSELECT COUNT(*) AS n FROM visits",
        "%%tacit answer << --epsilon 0.1 --params given\nSELECT COUNT(*) AS n FROM visits WHERE cost > :c;",
        "given = {'c': 100}",
        "%%tacit answer << --epsilon 0.1 --params given\nSELECT COUNT(*) AS n FROM visits WHERE cost > :c;",
        "print(len(answer), session.budget()['analyst']['spent']['epsilon'])",
        "%%tacit --epsilon 0.1\nSELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        "%%tacit\nSELECT COUNT(*) AS n FROM visits WHERE cost > 7",
        "%%tacit --epsilon 1.4\nSELECT COUNT(*) AS n FROM visits WHERE cost > 8",
        f"%load_ext sql\nfrom sqlalchemy import create_engine\nengine = create_engine({address + '&epsilon=0.1'!r})\n%sql engine",
        "%%sql\nSELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        "print(session.budget()['analyst']['spent']['epsilon'])",
    ]


def test_a_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PLOOMBER_STATS_ENABLED", "false")  # JupySQL would tell its makers
    for variable in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        (tmp_path / variable).mkdir()
    catalog = files(tmp_path)
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells(f"tacit:///{catalog}?analyst=ana")])
    nbclient.NotebookClient(book, timeout=240, allow_errors=True, kernel_name="python3").execute()
    said = ["\n".join(str(output) for output in cell.outputs) for cell in book.cells]
    assert [at for at, cell in enumerate(book.cells) if any(each.output_type == "error" for each in cell.outputs)] == [2, 7, 8], (
        said
    )
    assert "price" in said[1]
    assert "unknown variable" in said[2]
    assert "1 0.1" in said[5]
    assert "north" in said[6]
    assert "text/html" in said[6]
    assert "NoBudget" in said[7]
    assert "limit of this session" in said[8]
    assert "north" in said[10]
    assert "0.2" in said[11], "the same question by another way is free"
