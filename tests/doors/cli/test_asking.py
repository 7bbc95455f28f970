"""The questions of `tacit init`: defaults, help, the way back, and answers that a catalog accepts."""

import contextlib
from decimal import Decimal

import pytest

from tacit.data.catalog import parse_catalog
from tacit.data.catalog.draft import draft
from tacit.data.catalog.suggest import Suggestion, suggest_column
from tacit.data.declaration import Wrong
from tacit.data.files.kinds import Field, Found
from tacit.doors.cli.asking import Asker, Dialogue, read_range, read_size, read_values, shown

PEOPLE = Found("people", "people.csv", (Field("age"), Field("sex"), Field("salary"), Field("x17"), Field("email")))
PATIENTS = Found("patients", "patients.csv", (Field("id"), Field("age")))
VISITS = Found("visits", "visits.csv", (Field("patient_id"), Field("cost"), Field("day"), Field("ward")))


class Terminal:
    """A person who types the given lines; keeps the prompts and what is shown."""

    def __init__(self, *typed: str) -> None:
        self.typed, self.prompts, self.lines = list(typed), [], []

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.typed:
            raise EOFError
        return self.typed.pop(0)


def talk(tables, *typed):
    terminal = Terminal(*typed)
    dialogue = Dialogue(tables, suggest_column, {})
    with contextlib.suppress(EOFError):
        Asker(terminal.read, terminal.lines.append).run(dialogue)
    return dialogue, terminal


def test_enter_takes_every_suggestion():
    dialogue, terminal = talk([PEOPLE], "row", "", "", "", "0..1000000", "", "", "", "1", "")
    assert terminal.typed == []
    assert dialogue.answers[0].keys == {"unit": "row", "rows_at_most": 1_000_000}
    assert dialogue.answers[0].columns == {
        "age": {"bounds": [0, 120]},
        "sex": {"values": ["F", "M"], "unknown": "other"},
        "salary": {"bounds": [0, 1_000_000]},
        "x17": None,
        "email": None,
    }
    assert dialogue.budget == {"epsilon": 1, "delta": Decimal("1e-7")}
    assert "1/5 age [0..120]: " in terminal.prompts
    assert "3/5 salary [number]: " in terminal.prompts
    assert parse_catalog(draft([PEOPLE], dialogue.answers, dialogue.budget)).tables["people"].rows_at_most == 1_000_000


def test_bounds_that_are_typed_keep_how_the_values_are_written():
    found = {"step": Decimal("0.01"), "decimal": ",", "thousands": "."}
    suggested = Suggestion({"bounds": "?", **found}, "its values fit")
    table = Found("bills", "bills.csv", (Field("a"), Field("b"), Field("c"), Field("d"), Field("e")))
    terminal = Terminal(
        "row", "", "0..500", "", "number", "0..9", "", "0..5 by 1", "", "F, M", "", "", "2020-01-01..2024-12-31", ""
    )
    dialogue = Dialogue([table], lambda *_: suggested, {})
    with contextlib.suppress(EOFError):
        Asker(terminal.read, terminal.lines.append).run(dialogue)
    assert terminal.prompts[2] == "1/5 a [number by 0.01]: "
    assert dialogue.answers[0].columns == {
        "a": {"bounds": [0, 500], **found},
        "b": {"bounds": [0, 9], **found},
        "c": {"bounds": [0, 5], **found, "step": 1},
        "d": {"values": ["F", "M"]},
        "e": {"type": "date", "bounds": ["2020-01-01", "2024-12-31"]},
    }


def test_a_column_in_steps_asks_for_bounds_list_missing_and_unknown():
    typed = ["row", "10^5", "number", "0..99", "drop", "list", "f, m", "other", "keep", "skip", "d", "2020-01-01..2024-12-31", ""]
    dialogue, terminal = talk([PEOPLE], *typed, "text", "drop", "8", "0")
    assert dialogue.answers[0].columns == {
        "age": {"bounds": [0, 99], "nulls": "drop"},
        "sex": {"values": ["f", "m"], "unknown": "other"},
        "salary": None,
        "x17": {"type": "date", "bounds": ["2020-01-01", "2024-12-31"]},
        "email": {"keys": "private", "nulls": "drop"},
    }
    assert dialogue.budget == {"epsilon": 8}
    assert "  missing values: keep, drop, or a value [drop]: " in terminal.prompts, "the last answer is the default"


def test_a_column_without_known_bounds_or_values_can_be_left_open_or_out():
    typed = ["row", "", "number", "skip", "list", "text", "number", "?", "present", "list", "skip", "d", "-", "1", ""]
    dialogue, terminal = talk([PEOPLE], *typed)
    assert dialogue.answers[0].columns == {"age": None, "sex": {"keys": "private"}, "salary": {}, "x17": None, "email": None}
    assert any("`tacit bounds` can propose some" in line for line in terminal.lines)
    assert parse_catalog(draft([PEOPLE], dialogue.answers, dialogue.budget)).tables["people"].columns.keys() == {"sex", "salary"}


def test_a_whole_table_can_be_left_out():
    dialogue, _ = talk([PATIENTS, VISITS], "row", "10^5", "take all", "skip", "8", "")
    assert [each.left_out for each in dialogue.answers] == [False, True]
    assert dialogue.budget["delta"] == Decimal("1e-6"), "by the tables that are left"
    catalog = parse_catalog(draft([PATIENTS, VISITS], dialogue.answers, dialogue.budget))
    assert list(catalog.tables) == ["patients"]
    public, _ = talk([PATIENTS, VISITS], "public", "skip", "8")
    assert public.budget == {"epsilon": 8}, "no delta where nothing private is left"


def test_the_way_back_asks_the_question_before_again():
    dialogue, terminal = talk([PEOPLE], "<", "row", "<", "email", "<", "row", "10^7", "0..5", "", "<", "<", "0..6", "")
    assert terminal.lines.count("this is the first question") == 1
    assert dialogue.answers[0].keys == {"unit": "row", "rows_at_most": 10**7}
    assert dialogue.answers[0].columns == {"age": {"bounds": [0, 6]}}


def test_help_and_mistakes_ask_again():
    dialogue, terminal = talk([PEOPLE], "?", "", "persons", "row", "many", "10^5", "abc", "5..1", "0..x", "0..7", "-1", "3")
    shown_lines = "\n".join(terminal.lines)
    assert "The answer decides what is protected" in shown_lines
    assert "please type an answer; ? is help" in shown_lines
    assert '"persons" is not a column of people; type row, public, skip or the name of a column' in shown_lines
    assert '"many" is not a whole number of at least 1' in shown_lines
    assert '"abc" is not a kind of column; type number, date, list' in shown_lines
    assert "bounds is [5, 1]; the lower bound stands first" in shown_lines
    assert "nulls is -1, which is outside the bounds" in shown_lines
    assert dialogue.answers[0].columns == {"age": {"bounds": [0, 7], "nulls": 3}}


@pytest.mark.parametrize(("word", "age"), [("skip all", None), ("take all", {"bounds": [0, 120]})])
def test_the_rest_at_once(word, age):
    dialogue, _ = talk([PEOPLE], "row", "10^5", word, "1", "")
    assert dialogue.answers[0].columns["age"] == age
    assert dialogue.answers[0].columns["salary"] is None, "an open place is not a suggestion to take"
    assert len(dialogue.answers[0].columns) == 5


def test_tables_that_refer_to_each_other():
    typed = [
        "",
        "10^5",
        "",
        "",
        "",
        "4",
        "10^6",
        "",
        "0..5000 by 0.01",
        "drop",
        "date",
        "2024-01-01..2024-12-31",
        "",
        "a, b",
        "",
        "",
    ]
    dialogue, terminal = talk([PATIENTS, VISITS], *typed, "8", "")
    assert "whose is a row: row, a column, public or skip [patient_id -> patients.id]: " in terminal.prompts
    catalog = parse_catalog(draft([PATIENTS, VISITS], dialogue.answers, dialogue.budget))
    assert catalog.tables["visits"].unit.references == ("patients", "id")
    assert (catalog.tables["visits"].max_rows, catalog.tables["visits"].rows_at_most) == (4, 10**6)
    assert catalog.tables["visits"].columns["cost"].nulls == "drop"


def test_a_public_table_needs_one_answer():
    dialogue, _ = talk([PEOPLE], "public", "2")
    assert (dialogue.answers[0].keys, dialogue.budget) == ({"public": True}, {"epsilon": 2})
    assert parse_catalog(draft([PEOPLE], dialogue.answers, dialogue.budget)).tables["people"].public


def test_answers_so_far_are_a_draft():
    dialogue, _ = talk([PEOPLE], "row", "10^5", "0..99", "")
    text = draft([PEOPLE], dialogue.answers, dialogue.budget)
    assert "age = { bounds = [0, 99] }" in text
    assert 'sex = "?"' in text
    assert 'epsilon = "?"' in text


def test_no_default_is_a_number_of_rows():
    """The ladder is public; nothing that is asked or offered depends on the rows of a file."""
    _, terminal = talk([VISITS], "row")
    assert "the most rows the table can ever have (10^5, 10^6, 10^7 ...) [10^6]: " in terminal.prompts


@pytest.mark.parametrize("text", ["0", "-5", "1.5", "x", "10^99", "1e400", "", "10^5^2"])
def test_sizes_that_are_refused(text):
    with pytest.raises(Wrong):
        read_size(text)


@pytest.mark.parametrize("text", ["1", "a..b", "..", "1..", "1..inf", "2020-01-01..7", "1..2..3"])
def test_ranges_that_are_refused(text):
    with pytest.raises(Wrong):
        read_range(text)


def test_texts_that_are_typed():
    assert read_range("-5 .. 7.5") == {"bounds": [-5, Decimal("7.5")], "step": Decimal("0.1")}
    assert read_range("0..1,000,000") == {"bounds": [0, 1_000_000]}
    assert read_values("a b | c,d") == {"values": ["a b", "c,d"]}
    assert read_values("01, 02") == {"values": ["01", "02"]}
    assert shown({"values": list(range(100))}) == "0, 1, ... 99: 100 values"
