"""`tacit synthesize table`: rows, receipt and refusals as somebody at a terminal sees them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tacit.data.prepare import prepare
from tacit.doors.cli import app
from tacit.release.curators import NOTICE
from tacit.session import open as open_data

CATALOG = """
[budget]
epsilon = 5
delta = 1e-5

[tables.people]
source = "people.csv"
unit = "row"

[tables.people.columns]
sex = { values = ["F", "M"], unknown = "drop" }
age = { bounds = [0, 99], bins = 5, nulls = "drop" }
ill = { values = [true, false] }
name = { keys = "private" }
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with its ledger, prepared once; every test has a copy of its own."""
    made = tmp_path_factory.mktemp("people")
    rows = [f"{'FM'[at % 2]},{at % 90},{'true' if at % 7 == 0 else 'false'},person {at}" for at in range(300)]
    (made / "people.csv").write_text("\n".join(["sex,age,ill,name", *rows, ""]))
    (made / "tacit.toml").write_text(CATALOG)
    with open_data(made / "tacit.toml") as data:
        data.prepare(new_ledger=True)
    return made


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["synthesize", "table", *words], prog_name="tacit")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_rows_their_receipt_and_the_curators_page(folder: Path) -> None:
    code, said = run("people", "--epsilon", "2", "--rows", "120", "--out", "rows.parquet", "--report", "report.html")
    assert code == 0, said
    assert "120 synthetic rows of people" in said
    assert "Entry 1 of the ledger, for 'add or remove one unit'. Remaining: epsilon 3." in said
    assert "Note: name is left out: its values are private." in said
    assert "For the data owner only: .tacit/reports/report.html (instead of report.html" in said
    assert not (folder / "report.html").exists(), "never beside the public output"
    assert NOTICE in (folder / ".tacit/reports/report.html").read_text().splitlines()[0]
    rows = pq.read_table(folder / "rows.parquet")
    assert rows.column_names == ["sex", "age", "ill"]
    assert rows.num_rows == 120
    receipt = json.loads((folder / "rows.parquet.receipt.json").read_text())
    assert receipt == json.loads(rows.schema.metadata[b"tacit.receipt"])
    assert receipt["price"] == {"epsilon": "2", "delta": "0"}
    assert [part["kind"] for part in receipt["events"]["events"]] == ["laplace"] * 3 + ["adaptive-rounds"]
    assert "NaN" not in json.dumps(receipt)
    code, said = run("people", "--epsilon", "2", "--rows", "7", "--out", "more.csv", "--json")
    assert json.loads(said)["notes"][-1] == "measured before: nothing was spent"
    assert len((folder / "more.csv").read_text().splitlines()) == 8


def test_what_the_rows_are_for(folder: Path) -> None:
    words = ["people", "--epsilon", "1", "--rows", "9", "--out", "rows.csv", "--json"]
    code, said = run(*words, "--workload", "sex+ill, sex+age+ill", "--steps", "3")
    assert code == 0, said
    assert {tuple(pair) for pair in json.loads(said)["pairs"]} <= {("sex", "ill"), ("sex", "age", "ill")}
    code, said = run(*words, "--method", "tree")
    assert code == 0, said
    assert len(json.loads(said)["pairs"]) == 2
    assert run(*words, "--target", "sex")[0] == 0


def test_resampling_prints_relation_and_claim(folder: Path) -> None:
    words = ["people", "--method", "dirichlet", "--epsilon", "1", "--rows", "50", "--columns", "sex, ill", "--out", "cells.csv"]
    code, said = run(*words)
    assert code == 0, said
    assert "Add or remove one unit, with its row: no output is more than 2.71" in said
    assert "fake rows on each of 6 cells" in said
    assert (folder / "cells.csv").read_text().startswith("sex,ill\n")
    code, said = run(*words, "--json")
    assert json.loads(said)["cells"] == 6


@pytest.mark.parametrize(
    ("words", "code", "start"),
    [
        ("people --out x.parquet --seed 7 --epsilon 1", 3, "tacit: --seed is not supported: anyone who knows the seed"),
        ("people --out x.parquet", 3, "tacit: missing budget for synthetic rows; give for example --epsilon 1"),
        ("people --out x.txt --epsilon 1", 2, "tacit: the name of the output ends in one of .parquet, .csv, .csv.gz"),
        ("people --out x.parquet --epsilon 6", 3, "tacit: the budget of the data set does not admit"),
        ("nobody --out x.parquet --epsilon 1", 3, "tacit: unknown table nobody; expected one of: people"),
        (
            "people --out x.parquet --epsilon 1 --columns name",
            3,
            "tacit: people.name cannot be synthesized: its values are private",
        ),
        (
            "people --out x.parquet --epsilon 1 --rows 0",
            2,
            "tacit: --rows must be at least 1, not 0",
        ),
        (
            "people --out x.parquet --epsilon 1 --rows -2",
            2,
            "tacit: --rows must be at least 1, not -2",
        ),
        ("people --out x.csv --method tree --epsilon 1 --steps 3", 2, "tacit: --target, --workload and --steps belong to --method"),
        ("people --out x.csv --epsilon 1 --workload sex,", 2, "tacit: a marginal of --workload is empty"),
        ("people --out x.csv --epsilon 1 --workload sex", 2, "tacit: a marginal of a workload must have two or three"),
        ("people --out x.csv --epsilon 1 --target name", 3, "tacit: unknown column name; expected one of: sex, age, ill"),
        ("people --out x.csv --epsilon 1 --steps 0", 2, "tacit: --steps must be"),
        ("people --out x.csv --method dirichlet --epsilon 1 --columns sex", 2, "tacit: --method dirichlet requires --rows"),
        ("people --out x.csv --method dirichlet --epsilon 1 --rows 3", 2, "tacit: --method dirichlet requires --columns"),
        ("people --out x.csv --method dirichlet --delta 1e-6", 2, "tacit: --method dirichlet does not support --delta"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_refusals(words: str, code: int, start: str) -> None:
    found, said = run(*words.split())
    assert (found, said[: len(start)]) == (code, start)
    assert not Path("x.parquet").exists()


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("people.csv", "people.csv"),  # the very file
        ("people.csv", "sub/../people.csv"),
        ("people*.csv", "people-made-up.csv"),  # by its pattern, at the next preparation
        ("rows.csv", "rows.csv/deep/made-up.csv"),  # in its folder
    ],
)
@pytest.mark.parametrize("method", ["marginals", "dirichlet"])
def test_real_rows_are_neither_replaced_nor_mixed_with_synthetic_ones(folder: Path, source: str, out: str, method: str) -> None:
    for made in ("sub", "rows.csv/deep"):
        (folder / made).mkdir(parents=True)
    (folder / "rows.csv" / "people.csv").write_text((folder / "people.csv").read_text())
    (folder / "tacit.toml").write_text(CATALOG.replace("people.csv", source))
    with open_data(folder / "tacit.toml") as data:
        prepare(data.catalog)
    real = (folder / "people.csv").read_text()
    code, said = run("people", "--epsilon", "1", "--rows", "9", "--columns", "sex,ill", "--method", method, "--out", out)
    assert code == 2
    assert said.startswith(f"tacit: {out} is, or would be, read as the table people")
    assert (folder / "people.csv").read_text() == real
    with open_data(folder / "tacit.toml") as data:
        assert data.ledger.head.number == 0


@pytest.mark.usefixtures("folder")
def test_refusals_are_json_where_json_is_asked_for() -> None:
    code, said = run("people", "--out", "x.csv", "--json")
    assert code == 3
    assert json.loads(said)["error"]["code"] == "no_budget"


def test_copies_a_public_report_and_what_carries_an_analysis(folder: Path) -> None:
    more = ("--copies", "2", "--public-report", "public.html")
    code, said = run("people", "--epsilon", "2", "--workload", "sex+age", "--out", "rows.csv.gz", *more)
    assert code == 0, said
    assert "Copies: rows-1.csv.gz to rows-2.csv.gz" in said
    assert "Public report: public.html, and public.json." in said
    for name in ("rows", "rows-1", "rows-2"):
        receipt = json.loads((folder / f"{name}.csv.gz.receipt.json").read_text())
        assert receipt["entry"] == 1
        assert receipt["copy"] == {"number": 0 if name == "rows" else int(name[-1]), "of": 2}
    assert json.loads((folder / "public.json").read_text())["model_only"]["pairs"] == [["sex", "ill"], ["age", "ill"]]
    check = ["synthesize", "check-analysis", "rows-1.csv.gz", "--columns"]
    carried = CliRunner().invoke(app, [*check, "age,sex"])
    assert (carried.exit_code, "were measured together" in carried.output) == (0, True)
    alone = CliRunner().invoke(app, [*check, "age,ill", "--json"])
    assert (alone.exit_code, json.loads(alone.output)["carried_by"]) == (1, "model")


def test_copies_that_cannot_be_made_are_refused_before_the_budget_is_spent(folder: Path) -> None:
    for words, expected in (
        (("--copies", "1"), "invalid number of copies 1; expected a whole number from 2 to 100"),
        (("--public-report", "page.txt"), "ends in .html"),
        (("--copies", "2", "--method", "dirichlet", "--rows", "5", "--columns", "sex"), "does not support --copies"),
    ):
        code, said = run("people", "--epsilon", "2", "--out", "rows.csv", *words)
        assert code != 0
        assert expected in " ".join(said.split())
    with open_data(folder / "tacit.toml") as data:
        assert data.ledger.left("curator").epsilon == 5


FAMILY = """
[budget]
epsilon = 5

[tables.people]
source = "people.csv"
unit = { column = "id" }
max_rows = 1

[tables.people.columns]
id = { key = true }
sex = { values = ["F", "M"], unknown = "drop" }

[tables.trips]
source = "trips.csv"
unit = { column = "person", references = "people.id" }
max_rows = 2

[tables.trips.columns]
person = { key = true }
way = { values = ["foot", "bus"], unknown = "drop" }
"""


def test_two_tables_are_written_into_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("id,sex\n" + "".join(f"{at},{'FM'[at % 2]}\n" for at in range(200)))
    (tmp_path / "trips.csv").write_text(
        "person,way\n" + "".join(f"{at % 150},{'foot' if at % 3 else 'bus'}\n" for at in range(300))
    )
    (tmp_path / "tacit.toml").write_text(FAMILY)
    monkeypatch.chdir(tmp_path)
    with open_data(tmp_path / "tacit.toml") as data:
        data.prepare(new_ledger=True)
    words = ["synthesize", "tables", "people", "trips", "--epsilon", "2", "--rows", "80", "--out", "made", "--format", "csv"]
    result = CliRunner().invoke(app, words, prog_name="tacit")
    assert result.exit_code == 0, result.output
    assert "80 synthetic rows of people." in result.output
    assert "Entry 1 of the ledger" in result.output
    people, trips = ((tmp_path / "made" / name).read_text().splitlines() for name in ("people.csv", "trips.csv"))
    assert (people[0], trips[0], len(people)) == ("id,sex", "person,way", 81)
    assert {line.split(",")[0] for line in trips[1:]} <= {line.split(",")[0] for line in people[1:]}
    receipt = json.loads((tmp_path / "made/trips.csv.receipt.json").read_text())
    assert receipt["keys"] == {"people": "id", "trips": "person"}
    check = ["synthesize", "check-analysis", "made/trips.csv", "--columns", "way,people__sex"]
    assert "were measured together" in CliRunner().invoke(app, check).output, "a column of the child with one of its parent"
    again = CliRunner().invoke(app, [*words, "--json"], prog_name="tacit")
    assert json.loads(again.output)["notes"][-1] == "measured before: nothing was spent"
    copied = CliRunner().invoke(app, [*words, "--copies", "2"], prog_name="tacit")
    assert "Copies: in made-1 to made-2" in copied.output, copied.output
    told = [json.loads((tmp_path / f"made-{at}/trips.csv.receipt.json").read_text()) for at in (1, 2)]
    assert [each["copy"] for each in told] == [{"number": 1, "of": 2}, {"number": 2, "of": 2}]
    for wrong in (("--format", "xlsx"), ("--epsilon", "1000"), ("--seed", "3"), ("--copies", "1")):
        assert CliRunner().invoke(app, [*words, *wrong], prog_name="tacit").exit_code != 0
