"""One ledger for the same people: it begins by the data owner's word, knows its sources, its catalog and its units."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit.doors.cli import app
from tacit.errors import InvalidInput, NoLedger, StoreUnusable, UnitsChanged

CATALOG = """
[budget]
epsilon = 8
{ledger}
[tables.visits]
source = "{source}"
{unit}

[tables.visits.columns]
cost = {{ bounds = [0, 100] }}
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"
ROW, PERSON = 'unit = "row"', 'unit = { column = "pid" }\nmax_rows = 10'


def made(folder: Path, source: str = "visits.csv", unit: str = ROW, ledger: str = "", people: int = 40) -> Path:
    """A catalog in a folder, with visits of its own where it names no other file: ten of each person."""
    folder.mkdir(exist_ok=True)
    if source == "visits.csv":
        rows = [f"{person},{(person * 7 + visit) % 100}" for person in range(people) for visit in range(10)]
        (folder / source).write_text("\n".join(["pid,cost", *rows, ""]))
    (folder / "tacit.toml").write_text(CATALOG.format(source=source, unit=unit, ledger=ledger))
    return folder / "tacit.toml"


@pytest.fixture
def catalog(tmp_path) -> Path:
    found = made(tmp_path / "hospital")
    tacit.open(found).prepare(new_ledger=True)
    return found


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output


# --- it begins by word -----------------------------------------------------------------------------------------------------------


def test_without_a_ledger_nothing_is_answered(tmp_path):
    found = made(tmp_path / "hospital")
    code, said = run("prepare", "--catalog", str(found))
    assert code == 0
    assert "Run `tacit ledger begin` once." in said
    with pytest.raises(NoLedger, match="tacit ledger begin"):
        tacit.open(found).session().sql(COUNT, epsilon=1)
    assert not (found.parent / ".tacit" / "ledger.sqlite").exists(), "looking for a ledger makes none"
    assert run("ledger", "begin", "--catalog", str(found))[0] == 0
    assert tacit.open(found).session().sql(COUNT, epsilon=1).receipt.entry == 1


def test_a_ledger_begins_once(catalog):
    for words in (("prepare", "--new-ledger"), ("ledger", "begin", "--reason", "again")):
        code, said = run(*words, "--catalog", str(catalog))
        assert code == 2
        assert "already has a ledger" in said
    with pytest.raises(InvalidInput):
        tacit.open(catalog).begin_ledger("again")


# --- it knows its sources --------------------------------------------------------------------------------------------------------


def second_catalog(catalog: Path, folder: Path) -> Path:
    return made(folder, source=str(catalog.parent / "visits.csv"))


def copied_folder(catalog: Path, folder: Path) -> Path:
    shutil.copytree(catalog.parent, folder)
    return folder / "tacit.toml"


def copied_data(catalog: Path, folder: Path) -> Path:
    shutil.copytree(catalog.parent, folder, ignore=shutil.ignore_patterns(".tacit"))
    return folder / "tacit.toml"


def removed(catalog: Path, folder: Path) -> Path:
    shutil.rmtree(catalog.parent / ".tacit")
    return catalog


@pytest.mark.parametrize("way", [second_catalog, copied_folder, copied_data, removed])
def test_the_same_people_get_no_second_budget_without_a_word(catalog, tmp_path, way):
    tacit.open(catalog).session().sql(COUNT, epsilon=7)
    other = way(catalog, tmp_path / "other")
    for words in (("prepare",), ("prepare", "--new-ledger")):
        code, said = run(*words, "--catalog", str(other))
        assert code == 4
        assert "these sources are already behind the ledger of 'hospital'" in said
        assert str(catalog) in said
    if way is not copied_folder:
        code, said = run("prepare", "--new-ledger", "--reason", "another study", "--catalog", str(other))
        assert code == 0, said
        assert next(tacit.open(other).ledger.entries()).question == "another study"
        assert run("prepare", "--catalog", str(other))[0] == 0, "it was accepted before"


def test_a_register_that_forgets_its_ledgers_is_caught(catalog, tmp_path, monkeypatch):
    """The planted bug: a register that knows nothing lets the second catalog have the whole budget."""
    monkeypatch.setattr("tacit.accounting.ledger.register.Register.sharing", lambda *_, **__: ())
    other = tacit.open(second_catalog(catalog, tmp_path / "other"))
    other.prepare(new_ledger=True)
    assert other.session().sql(COUNT, epsilon=8).receipt.epsilon == 8


def test_a_moved_folder_is_the_same_data_set(catalog, tmp_path):
    tacit.open(catalog).session().sql(COUNT, epsilon=7)
    catalog.parent.rename(tmp_path / "moved")
    moved = tacit.open(tmp_path / "moved" / "tacit.toml")
    moved.prepare()
    assert moved.ledger.left().epsilon == 1


def test_without_a_place_for_the_register_work_goes_on_with_a_word(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    code, said = run("prepare", "--new-ledger", "--catalog", str(made(tmp_path / "hospital")))
    assert code == 0
    assert "no folder for the register of ledgers" in said


# --- it knows its catalog --------------------------------------------------------------------------------------------------------


def test_two_catalogs_share_a_ledger_only_where_they_declare_it(tmp_path):
    place = f'[ledger]\nurl = "sqlite:///{tmp_path}/ledger.sqlite"\n'
    first, second = made(tmp_path / "a", ledger=place), made(tmp_path / "b", ledger=place, people=41)
    tacit.open(first).prepare(new_ledger=True)
    for command in ("prepare", "budget"):
        code, said = run(command, "--catalog", str(second))
        assert code == 4
        assert "this ledger belongs to the data set 'a', and this catalog is that of 'b'" in said
    made(tmp_path / "b", ledger=place + 'data_set = "a"\n', people=41)
    tacit.open(second).prepare(reason="one study of two hospitals")
    tacit.open(second).session().sql(COUNT, epsilon=5)
    assert tacit.open(first).ledger.left().epsilon == 3


def test_another_catalog_file_in_the_same_folder_is_another_data_set(catalog):
    other = catalog.with_name("other.toml")
    other.write_text(catalog.read_text())
    code, said = run("budget", "--catalog", str(other))
    assert code == 4
    assert "declare [ledger] data_set" in said


# --- it knows its units ----------------------------------------------------------------------------------------------------------


def test_another_unit_is_not_answered_until_it_is_restated(catalog):
    """Epsilon 7 for one row is at least 70 for a person with ten."""
    tacit.open(catalog).session().sql(COUNT, epsilon=7)
    made(catalog.parent, unit=PERSON)
    assert run("prepare", "--catalog", str(catalog))[0] == 0
    code, said = run("check", "--catalog", str(catalog))
    assert code == 0
    assert "The ledger counts for other units: the unit of visits has changed" in said
    code, said = run("sql", COUNT, "--epsilon", "0.5", "--catalog", str(catalog), "--json")
    assert code == 4
    assert json.loads(said)["error"]["code"] == "units_changed"
    assert "tacit ledger units --steps" in said
    code, said = run("ledger", "units", "--steps", "10", "--reason", "ten visits each", "--catalog", str(catalog))
    assert code == 0
    assert "spent so far: epsilon 70" in said
    assert "nothing more is admitted" in said
    assert "epsilon 70" in run("check", "--catalog", str(catalog))[1]
    assert run("sql", COUNT, "--epsilon", "0.01", "--catalog", str(catalog))[0] == 3
    assert run("history", "--catalog", str(catalog))[0] == 0


def test_a_stored_answer_of_other_units_is_not_given_either(catalog):
    data = tacit.open(catalog)
    data.session().sql(COUNT, epsilon=1)
    made(catalog.parent, unit=PERSON)
    data = tacit.open(catalog)
    data.prepare()
    with pytest.raises(UnitsChanged):
        data.session().sql(COUNT, epsilon=1)


def test_a_lost_ledger_is_begun_anew_with_what_the_data_remembers(catalog):
    data = tacit.open(catalog)
    data.session().sql(COUNT, epsilon=7)
    for file in (catalog.parent / ".tacit").glob("ledger.sqlite*"):
        file.unlink()
    with pytest.raises(StoreUnusable):
        tacit.open(catalog).session().sql(COUNT, epsilon=1)
    assert run("ledger", "begin", "--catalog", str(catalog))[0] == 4, "the register remembers it"
    code, said = run("ledger", "begin", "--reason", "the disk is gone", "--catalog", str(catalog))
    assert code == 0, said
    assert tacit.open(catalog).ledger.left().epsilon == 1
