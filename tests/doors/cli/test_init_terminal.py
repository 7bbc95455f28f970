"""From `tacit init` to a chart in at most five commands, typed into a pseudo-terminal; no line is written by hand."""

import gzip
import shutil

import pytest

from services import fresh_database
from sources import ROOT
from tacit.data.catalog import read_catalog
from terminals import type_into

ACS = ROOT.parent / "shared" / "data" / "acs-ma-2019"
MOST_COMMANDS = 5
TOWNS = ("Köln", "Zürich", "Mürren")
SHOPS = [
    f"{n};{n % 90};{TOWNS[n % 3]};{n % 28 + 1:02}.{n % 12 + 1:02}.2024;{n % 9 + 1}.{n % 900 + 100},{n % 90 + 10}"
    for n in range(600)
]


def run_all(folder, *commands):
    """Run commands in order; each is its arguments and what is typed. All must succeed; the output of the last."""
    assert len(commands) <= MOST_COMMANDS
    said = ""
    for arguments, talk in commands:
        code, said = type_into(folder, arguments, talk)
        assert code == 0, said
    return said


def is_chart(path):
    return path.read_text().startswith("<svg") and "</svg>" in path.read_text()


def test_the_community_survey_with_its_dictionary(tmp_path):
    if not ACS.exists():
        pytest.skip(f"{ACS} is missing")
    for name in ("ma2019.csv.gz", "data_dictionary.json"):
        shutil.copy(ACS / name, tmp_path)
    talk = [("or skip: ", "row"), ("[10^6]: ", "10^5"), ("1/24 PUMA", ""), ("2/24 AGEP, Person's age [0..99]: ", "take all")]
    talk += [("ever released: ", "8"), ("delta [1e-6]: ", "")]
    question = "SELECT HOUSING_TYPE, COUNT(*) AS people, AVG(AGEP) AS age FROM ma2019 GROUP BY HOUSING_TYPE"
    run_all(
        tmp_path,
        (["init", "ma2019.csv.gz", "--codebook", "data_dictionary.json"], talk),
        (["prepare", "--new-ledger"], []),
        (["sql", question, "--epsilon", "1", "--chart", "age.svg"], []),
    )
    assert is_chart(tmp_path / "age.svg")
    table = read_catalog(tmp_path / "tacit.toml").tables["ma2019"]
    assert (len(table.columns), table.rows_at_most) == (23, 100_000)
    assert 'SEX = { values = [1, 2], labels = { 1 = "Male", 2 = "Female" } }' in (tmp_path / "tacit.toml").read_text()


def test_a_german_file_in_windows_1252(tmp_path):
    (tmp_path / "umsatz.csv").write_bytes("\r\n".join(["Nr;Alter;Wohnort;Datum;Umsatz", *SHOPS, ""]).encode("cp1252"))
    talk = [("or skip: ", "row"), ("[10^6]: ", "10^5"), ("1/5 Nr [number]: ", "skip"), ("2/5 Alter [0..120]: ", "")]
    talk += [("3/5 Wohnort [text]: ", ""), ("4/5 Datum [1900-01-01..2099-12-31]: ", "2024-01-01..2024-12-31")]
    talk += [
        ("missing values", ""),
        ("5/5 Umsatz [number by 0.01]: ", ""),
        ("by 0.01: ", "0..10000 by 0.01"),
        ("missing values", "drop"),
    ]
    talk += [("ever released: ", "8"), ("delta [1e-6]: ", "")]
    question = "SELECT Wohnort, AVG(Umsatz) AS umsatz FROM umsatz WHERE Alter >= 18 GROUP BY Wohnort"
    said = run_all(
        tmp_path,
        (["init", "umsatz.csv", "--kinds"], talk),
        (["prepare", "--new-ledger"], []),
        (["sql", question, "--epsilon", "4", "--delta", "1e-7", "--chart", "umsatz.svg"], []),
    )
    assert all(town in said for town in TOWNS)
    assert is_chart(tmp_path / "umsatz.svg")
    text = (tmp_path / "tacit.toml").read_text()
    assert 'encoding = "windows-1252"\ndecimal = ","\nthousands = "."\nformat = "%d.%m.%Y"\n' in text


@pytest.mark.parametrize(("key", "code", "written"), [("\x03", 130, False), ("\x04", 0, True)])
def test_ctrl_c_writes_nothing_and_ctrl_d_keeps_a_draft(tmp_path, key, code, written):
    (tmp_path / "people.csv").write_text("age,sex\n")
    talk = [("or skip: ", "row"), ("[10^6]: ", ""), ("1/2 age [0..120]: ", ""), ("2/2 sex", key)]
    ended, said = type_into(tmp_path, ["init", "people.csv"], talk)
    assert (ended, (tmp_path / "tacit.toml").exists()) == (code, written)
    assert ("nothing was written" in said) == (not written)
    if written:
        text = (tmp_path / "tacit.toml").read_text()
        assert "age = { bounds = [0, 120] }" in text
        assert 'sex = "?"' in text


def test_no_input_asks_nothing(tmp_path):
    with gzip.open(tmp_path / "people.csv.gz", "wt") as file:
        file.write("age,sex\n")
    code, said = type_into(tmp_path, ["init", "people.csv.gz", "--no-input"])
    assert (code, "5 places" in said) == (0, True), said


SCHEMA = """
CREATE TABLE patients (id bigint PRIMARY KEY, age int NOT NULL CHECK (age BETWEEN 0 AND 120), sex text CHECK (sex IN ('F', 'M')));
CREATE TABLE stays (id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients (id),
  ward text CHECK (ward IN ('north', 'south')), cost numeric(8,2) CHECK (cost >= 0 AND cost <= 5000));
CREATE TABLE doses (stay_id bigint NOT NULL REFERENCES stays (id), mg int CHECK (mg BETWEEN 0 AND 1000));
COMMENT ON COLUMN stays.cost IS 'Cost in euros';
INSERT INTO patients SELECT n, n % 100, CASE n % 2 WHEN 0 THEN 'F' ELSE 'M' END FROM generate_series(1, 500) n;
INSERT INTO stays SELECT n, n % 500 + 1, CASE n % 3 WHEN 0 THEN 'north' ELSE 'south' END, n % 900 + 0.25
  FROM generate_series(1, 1000) n;
INSERT INTO doses SELECT n % 1000 + 1, n % 300 FROM generate_series(1, 2000) n;
"""


def test_three_tables_of_postgresql_with_keys(tmp_path, postgres_url):
    """Kinds, keys, references, bounds, lists and comments come from the server's catalog; Enter takes them."""
    import psycopg

    postgres = fresh_database(postgres_url)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(SCHEMA)
    talk = [("[stay_id -> stays.id]: ", ""), ("[8]: ", "8"), ("[10^6]: ", ""), ("1/2 stay_id [present]: ", "")]
    talk += [("2/2 mg [0..1000]: ", ""), ("or skip [row]: ", ""), ("[10^6]: ", "10^5"), ("1/3 id [key]: ", "take all")]
    talk += [("[patient_id -> patients.id]: ", ""), ("[8]: ", "4"), ("[10^6]: ", ""), ("1/4 id [key]: ", "")]
    talk += [("2/4 patient_id [present]: ", ""), ("3/4 ward [north, south]: ", "")]
    talk += [("4/4 cost, Cost in euros [0..5000 by 0.01]: ", ""), ("ever released: ", "8"), ("delta [1e-7]: ", "")]
    run_all(
        tmp_path,
        (["init", postgres], talk),
        (["prepare", "--new-ledger"], []),
        (["sql", "SELECT ward, AVG(cost) AS cost FROM stays GROUP BY ward", "--epsilon", "2", "--chart", "cost.svg"], []),
    )
    assert is_chart(tmp_path / "cost.svg")
    tables = read_catalog(tmp_path / "tacit.toml").tables
    assert tables["stays"].unit.references == ("patients", "id")
    assert tables["doses"].unit.references == ("stays", "id")
