"""`tacit init`, `tacit check`, `tacit schema`, and how a command finds its catalog."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import tomllib
from pathlib import Path

import duckdb
import jsonschema
import pytest
from typer.testing import CliRunner

from tacit.data.catalog import parse_catalog, read_catalog
from tacit.doors.cli import app
from tacit.doors.cli.check_report import described
from tacit.doors.cli.which_catalog import find_catalog
from tacit.errors import InvalidCatalog

CATALOG = """\
[budget]
epsilon = 8
delta = 1e-7

[analysts.ana]
epsilon = 2
epsilon_per_query = 0.5

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 10000

[tables.patients.columns]
id = { key = true }
age = { bounds = [0, 110] }
sex = { values = ["F", "M"], unknown = "other", nulls = "drop" }

[tables.visits]
source = "visits.csv"
unit = { column = "patient_id", references = "patients.id" }
max_rows = 8
rows_at_most = 80000

[tables.visits.columns]
cost = { bounds = [0, 5000], step = 0.01 }
day = { type = "date", bounds = ["2020-01-01", "2024-12-31"] }
ward = { keys = "private" }

[tables.wards]
source = "wards.csv"
public = true
"""
FILES = {
    "patients.csv": "id,age,sex\n1,50,F\n2,60,M\n",
    "visits.csv": "patient_id,cost,day,ward\n1,10.5,2020-02-03,A\n",
    "wards.csv": "ward,beds\nA,10\nB,20\n",
    "tacit.toml": CATALOG,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


class TestInit:
    def test_a_draft_is_written_once(self, folder):
        (folder / "tacit.toml").unlink()
        result = run("init", "patients.csv", "visits.csv")
        assert (result.exit_code, result.stderr) == (0, "")
        assert 'tacit.toml: 2 tables, 7 columns, 12 places marked "?" to fill in' in result.stdout
        draft = (folder / "tacit.toml").read_text()
        assert tomllib.loads(draft)["tables"]["visits"]["source"] == "visits.csv"
        again = run("init", "patients.csv")
        assert again.exit_code == 2
        assert again.stderr == "tacit: tacit.toml already exists; overwrite it with --force, or choose another file with --out\n"
        assert (folder / "tacit.toml").read_text() == draft
        assert run("init", "patients.csv", "--force").exit_code == 0
        assert list(tomllib.loads((folder / "tacit.toml").read_text())["tables"]) == ["patients"]

    def test_a_draft_never_replaces_the_data(self, folder):
        held = (folder / "patients.csv").read_bytes()
        result = run("init", "visits.csv", "patients.csv", "--out", "./patients.csv", "--force")
        assert (result.exit_code, "patients.csv is read here and would be lost" in result.stderr) == (2, True)
        assert (folder / "patients.csv").read_bytes() == held

    def test_check_says_what_is_left_of_a_draft(self, folder):
        made = json.loads(run("init", "patients.csv", "--out", "draft.toml", "--json").stdout)
        assert made == {"catalog": str(folder / "draft.toml"), "tables": 1, "columns": 3, "to_fill_in": 6}
        result = run("check", "--catalog", "draft.toml", "--json")
        assert (result.exit_code, result.stdout) == (4, "")
        error = json.loads(result.stderr)["error"]
        assert (error["code"], error["message"]) == ("catalog", "draft.toml has 6 problems:")
        assert [problem["key"] for problem in error["problems"]] == [
            "budget.epsilon",
            "tables.patients.unit",
            "tables.patients.rows_at_most",
            *(f"tables.patients.columns.{name}" for name in ("id", "age", "sex")),
        ]
        lines = Path("draft.toml").read_text().splitlines()
        assert all('= "?"' in lines[problem["line"] - 1] for problem in error["problems"])

    def test_check_names_open_places_in_one_table(self, folder):
        run("init", "patients.csv", "visits.csv", "--out", "draft.toml")
        result = run("check", "--catalog", "draft.toml")
        assert (result.exit_code, result.stdout) == (4, "")
        lines = result.stderr.splitlines()
        assert lines[0] == "draft.toml has 12 problems:"
        assert sum("is not filled in yet" in line for line in lines) == 7  # one for all columns of a table
        assert "tables.patients.columns: id, age, sex" in result.stderr
        assert "epsilon = 1" in result.stderr

    def test_the_first_line_names_a_schema_that_is_there(self, folder):
        """Editors read `#:schema` with a path from the file's folder; it must work without a network."""
        run("init", "patients.csv", "--out", "draft.toml")
        first = Path("draft.toml").read_text().splitlines()[0]
        named = first.removeprefix("#:schema ")
        assert first.startswith("#:schema ./")
        assert json.loads(Path(named).read_text())["title"] == "tacit.toml"

    def test_sources_are_written_as_seen_from_the_catalog(self, folder):
        (folder / "below").mkdir()
        (folder / "below" / "t.csv").write_text("a\n")
        (folder / "beside").mkdir()
        run("init", "below/t.csv", "--out", "a.toml")
        run("init", "below/t.csv", "--out", "beside/a.toml")
        assert tomllib.loads(Path("a.toml").read_text())["tables"]["t"]["source"] == "below/t.csv"
        assert tomllib.loads(Path("beside/a.toml").read_text())["tables"]["t"]["source"] == str(folder / "below" / "t.csv")

    def test_the_body_of_a_file_does_not_change_the_draft(self, folder):
        drafts = set()
        for body in (b"", b"1,50,F\n", b"\xff\x00" * 5000, b'"\n' * 99):
            (folder / "patients.csv").write_bytes(b"id,age,sex\n" + body)
            assert run("init", "patients.csv", "--force").exit_code == 0
            drafts.add((folder / "tacit.toml").read_text())
        assert len(drafts) == 1

    def test_a_pipe_that_is_still_being_written(self, folder):
        os.mkfifo(folder / "pipe.csv")
        done = threading.Event()

        def write():
            with open(folder / "pipe.csv", "wb", buffering=0) as pipe:
                pipe.write(b"id,age\n")
                done.wait(20)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            assert run("init", "pipe.csv", "--out", "pipe.toml").exit_code == 0
            assert not done.is_set()
        finally:
            done.set()
            writer.join()

    def test_what_is_no_table_is_refused_and_nothing_is_written(self, folder):
        (folder / "rows.csv").write_text("39,State-gov\n")
        for file, words in {
            "rows.csv": "it may be a row",
            "no.csv": "file not found: no.csv",
            "x.odt": "unsupported file type: x.odt",
        }.items():
            result = run("init", file, "--out", "new.toml")
            assert (result.exit_code, result.stdout) == (2, "")
            assert words in result.stderr
        assert not Path("new.toml").exists()


class TestCheck:
    def test_a_sound_catalog_is_described(self, folder):
        result = run("check")
        assert (result.exit_code, result.stderr) == (0, "")
        for words in (
            f"{folder / 'tacit.toml'} is sound.",
            "The promise: add or remove one unit",
            "epsilon 8, delta 0.0000001.",
            "Analyst ana: epsilon 2, delta 0.0000001, epsilon per query 0.5.",
            "patients, from patients.csv: each row is one unit",
            "visits, from visits.csv: visits -> patients: the unit is patients.id, at most 8 rows of each",
            "wards, public, from wards.csv",
            "0 to 5000 by 0.01",
            "2020-01-01 to 2024-12-31",
            '["F", "M", "other"]',
            "There is no store yet. Run `tacit prepare`.",
        ):
            assert words in " ".join(result.stdout.split()) or words in result.stdout

    def test_bins_are_counted(self, folder):
        (folder / "tacit.toml").write_text(CATALOG.replace("bounds = [0, 110]", "bounds = [0, 110], bins = [18, 65]"))
        assert "0 to 110, 3 bins" in run("check").stdout

    def test_the_same_as_json(self, folder):
        report = json.loads(run("check", "--json").stdout)
        assert report["budget"] == {"epsilon": "8", "delta": "0.0000001"}
        assert (report["neighbours"], report["notes"], report["store"]) == ("add-remove", [], {"state": "missing"})
        assert [table["name"] for table in report["tables"]] == ["patients", "visits", "wards"]
        age = report["tables"][0]["columns"][1]
        assert (age["name"], age["kind"], age["declared"], age["points"], age["nullable"]) == (
            "age",
            "number",
            "0 to 110",
            111,
            True,
        )
        assert report["tables"][0]["columns"][2]["nullable"] is False

    def test_sizes_are_said_and_a_missing_one_is_noted(self, folder):
        report = json.loads(run("check", "--json").stdout)
        assert [table.get("rows_at_most") for table in report["tables"]] == [10_000, 80_000, None]
        assert report["tables"][1]["columns"][2]["declared"] == "private values of at most 256 bytes"
        assert "at most 8 rows of each, at most 80,000 rows" in run("check").stdout
        (folder / "tacit.toml").write_text(CATALOG.replace("rows_at_most = 80000\n", "").replace("rows_at_most = 10000\n", ""))
        (note,) = json.loads(run("check", "--json").stdout)["notes"]
        assert note.startswith(
            "without rows_at_most, at most 2,000,000 rows are assumed of patients, visits: `tacit prepare` stops"
        )
        assert note.endswith("tacit prepare --declare patients=1000000")

    def test_the_store_is_missing_ready_or_stale(self, folder):
        from tacit.data.prepare import prepare

        prepare(read_catalog(folder / "tacit.toml"))
        assert json.loads(run("check", "--json").stdout)["store"]["state"] == "ready"
        assert "The store fits the catalog" in run("check").stdout
        (folder / "tacit.toml").write_text(CATALOG.replace("epsilon = 8", "epsilon = 9"))
        assert json.loads(run("check", "--json").stdout)["store"]["state"] == "ready"
        (folder / "tacit.toml").write_text(CATALOG.replace("[0, 110]", "[0, 120]"))
        result = run("check")
        assert result.exit_code == 0
        assert "The store is stale: the catalog has changed since it was prepared" in result.stdout
        assert "is sound, but its store is stale: run `tacit prepare`." in result.stdout
        assert json.loads(run("check", "--json").stdout)["store"]["state"] == "stale"

    def test_a_source_that_changed_after_the_store_is_named(self, folder):
        from tacit.data.prepare import prepare

        prepare(read_catalog(folder / "tacit.toml"))
        later = time.time() + 60
        os.utime(folder / "visits.csv", (later, later))
        result = run("check")
        assert "is sound, but its store is stale: run `tacit prepare`." in result.stdout
        assert "the source of visits has changed since it was prepared" in " ".join(result.stdout.split())
        assert json.loads(run("check", "--json").stdout)["store"]["newer_sources"] == ["visits"]

    @pytest.mark.parametrize("damage", ["not a store", "of another format"])
    def test_a_store_that_cannot_be_read_is_stale(self, folder, damage):
        """A store of an older format or a damaged one is what `tacit prepare` replaces: the rest of the report is told."""
        from tacit.data.prepare import prepare

        store = prepare(read_catalog(folder / "tacit.toml")).store
        if damage == "not a store":
            store.write_bytes(b"not a store")
        else:
            with duckdb.connect(str(store)) as engine:
                engine.execute("UPDATE tacit_store SET details = '{\"format\": 1}'")
        result = run("check")
        assert (result.exit_code, result.stderr) == (0, "")
        assert re.search("The store is stale: .*prepared store.*; run.*tacit prepare", " ".join(result.stdout.split()))
        assert json.loads(run("check", "--json").stdout)["store"]["state"] == "stale"

    def test_the_person_at_the_end_of_a_chain_is_named(self, folder):
        lines = '[tables.lines]\nsource = "lines.csv"\nunit = { column = "visit", references = "visits.visit" }\nmax_rows = 9\n'
        (folder / "lines.csv").write_text("visit\n1\n")
        keyed = CATALOG.replace("[tables.visits.columns]", "[tables.visits.columns]\nvisit = { key = true }")
        (folder / "tacit.toml").write_text(keyed + lines)
        owners = {table["name"]: table["owner"] for table in json.loads(run("check", "--json").stdout)["tables"]}
        assert owners == {
            "patients": None,
            "visits": "visits -> patients: the unit is patients.id",
            "wards": None,
            "lines": "lines -> visits -> patients: the unit is patients.id",
        }
        assert "lines -> visits -> patients: the unit is patients.id, at most 9 rows of each" in " ".join(
            run("check").stdout.split()
        )

    def test_people_without_a_key_beside_people_with_one_are_two_units(self, folder):
        (folder / "tacit.toml").write_text(CATALOG.replace("id = { key = true }\n", "").replace(', references = "patients.id"', ""))
        (note,) = json.loads(run("check", "--json").stdout)["notes"]
        assert note.startswith("the rows of patients have no key, so a person in several private tables is several units")
        assert "in common with visits, declare the key" in note
        alone = 'budget.epsilon = 1\n[tables.patients]\nunit = "row"\nsource = "patients.csv"\nrows_at_most = 10\n'
        (folder / "tacit.toml").write_text(alone)
        assert json.loads(run("check", "--json").stdout)["notes"] == []

    @pytest.mark.parametrize("source", ["gone.csv", "gone/*.csv", "gone.parquet", "gone.duckdb"])
    def test_a_source_without_a_file_is_a_problem(self, folder, source):
        table = 'source = { duckdb = "gone.duckdb", table = "t" }' if source.endswith("duckdb") else f'source = "{source}"'
        (folder / "tacit.toml").write_text(CATALOG.replace('source = "wards.csv"', table))
        result = run("check", "--json")
        assert result.exit_code == 4
        report = json.loads(result.stdout)
        assert not report["sound"]
        (problem,) = report["problems"]
        assert problem.startswith(f"the source of wards: file not found: {source}")
        shown = run("check")
        assert shown.exit_code == 4
        assert "has problems." in shown.stdout
        assert f"problem: the source of wards: file not found: {source}" in " ".join(shown.stdout.split())

    def test_problems_are_lines_on_standard_error(self, folder):
        (folder / "tacit.toml").write_text(CATALOG.replace("[0, 110]", "[110, 0]").replace("max_rows = 8", ""))
        result = run("check")
        assert (result.exit_code, result.stdout) == (4, "")
        assert [line.split()[:2] for line in result.stderr.splitlines()[1:]] == [["line", "16:"], ["line", "19:"]]

    def test_what_a_curator_should_look_at(self, folder):
        (folder / "tacit.toml").write_text(
            CATALOG.replace("epsilon = 2", "epsilon = 20")
            .replace("age =", "aeg =")
            .replace('column = "patient_id"', 'column = "patient"')
            + '[ledger]\nurl = "postgresql://me:secret@db/ledger"\n'
        )
        result = run("check", "--json")
        assert result.exit_code == 0
        assert json.loads(result.stdout)["notes"] == [
            "analyst ana has a larger epsilon than the data set, whose own stands first",
            "a password stands in the catalog; write $NAME in its place, and set the variable NAME in the environment",
            "aeg is not a column of patients.csv; did you mean age?",
            "patient is not a column of visits.csv; did you mean patient_id?",
        ]

    def test_a_password_is_not_printed(self):
        source = '{ postgres = "postgresql://me:secret@db/h", table = "public.v" }'
        catalog = parse_catalog(f'budget.epsilon = 1\n[tables.v]\nunit = "row"\nsource = {source}')
        assert "secret" not in json.dumps(described(catalog))
        assert described(catalog)["tables"][0]["source"] == "public.v in postgresql://...@db/h"

    def test_brackets_in_names_are_not_markup(self, folder):
        (folder / "tacit.toml").write_text(
            'budget.epsilon = 1\n[tables."[red]t"]\nunit = "row"\nsource = "patients.csv"\ncolumns."[b]" = {}\n'
        )
        output = run("check").stdout
        assert "[red]t" in output
        assert "[b]" in output


class TestFinding:
    def test_the_nearest_one_in_the_folder_or_above(self, folder, monkeypatch):
        (folder / "a" / "b").mkdir(parents=True)
        monkeypatch.chdir(folder / "a" / "b")
        assert find_catalog(environment={}) == folder / "tacit.toml"
        (folder / "a" / "tacit.toml").write_text(CATALOG)
        assert find_catalog(environment={}) == folder / "a" / "tacit.toml"

    def test_one_in_a_folder_above_is_named_in_errors(self, folder, monkeypatch):
        below = folder / "one" / "two"
        below.mkdir(parents=True)
        words = ["explain", "SELECT COUNT(*) FROM nothing", "--epsilon", "1", "--analyst", "ana"]
        assert "(catalog:" not in run(*words).stderr
        monkeypatch.chdir(below)
        said = run(*words).stderr
        assert "unknown table" in said
        assert said.endswith("\n(catalog: ../../tacit.toml)\n")
        assert "(catalog:" not in run(*words, "--catalog", str(folder)).stderr, "it was named"
        monkeypatch.setenv("TACIT_CATALOG", str(folder))
        assert "(catalog:" not in run(*words).stderr, "it was named"

    def test_the_option_goes_before_the_variable_and_the_variable_before_the_folder(self, folder, tmp_path):
        other, third = tmp_path / "other.toml", tmp_path / "third"
        other.write_text(CATALOG)
        third.mkdir()
        (third / "tacit.toml").write_text(CATALOG)
        assert find_catalog(environment={"TACIT_CATALOG": str(other)}) == other
        assert find_catalog(third, {"TACIT_CATALOG": str(other)}) == third / "tacit.toml"
        assert find_catalog(environment={"TACIT_CATALOG": ""}) == folder / "tacit.toml"

    def test_a_catalog_that_is_not_there_says_how_to_name_or_make_one(self, folder):
        with pytest.raises(InvalidCatalog, match=r"--catalog names no\.toml, and there"):
            find_catalog(Path("no.toml"), {})
        with pytest.raises(InvalidCatalog, match=r"\$TACIT_CATALOG names no\.toml"):
            find_catalog(environment={"TACIT_CATALOG": "no.toml"})
        result = run("check", "--catalog", "no.toml")
        assert result.exit_code == 4

    def test_none_anywhere(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InvalidCatalog, match=r"there is no tacit\.toml in"):
            find_catalog(environment={})


def test_the_schema_is_printed_for_editors():
    schema = json.loads(run("schema").stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(CATALOG), schema)


def test_kinds_of_a_file_in_utf_16_are_read_in_its_encoding(tmp_path, monkeypatch):
    """Its first two bytes tell it; as Windows-1252 its names would have a zero byte after each letter."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{place},{place % 7}\n" for place in range(200))
    (tmp_path / "people.csv").write_bytes(("age,größe\n" + rows).encode("utf-16"))
    told = CliRunner().invoke(app, ["init", "people.csv", "--kinds", "--yes", "--no-input"])
    assert told.exit_code == 0, told.output
    drafted = tomllib.loads((tmp_path / "tacit.toml").read_text("utf-8"))["tables"]["people"]
    assert (drafted["encoding"], set(drafted["columns"])) == ("utf-16", {"age", "größe"})
