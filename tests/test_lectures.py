"""The pages that follow lecture notes: every item runs or leads somewhere, and every number beside theirs comes out of what runs.

That the code and the commands of the pages print what is shown is tested with all other pages (test_docs.py), numbers included in
blocks that are `exact`.
"""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

import pages
from pages import ROOT
from tacit.doors.cli.lecture import Name
from tacit.evidence.lessons.lectures import NONE, READ, RUNS, Item, read_page

FOLDER = ROOT / "docs" / "lectures"
HEAD = "| | the notes | here |"


def lecture_items() -> Any:
    """The module that writes the table of all items."""
    spec = spec_from_file_location("lecture_items", ROOT / "docs" / ".hooks" / "lecture_items.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = lecture_items()
PAGES = {page.name: page for page in MODULE.pages()}
ITEMS = [item for page in PAGES.values() for item in page.items]


def test_the_table_of_all_items_is_that_of_the_pages() -> None:
    written = (FOLDER / "items.md").read_text("utf-8")
    assert MODULE.written() == written, "run docs/.hooks/lecture_items.py"
    rows = re.findall(r"^\| ([A-Z]\d+) \|", written, re.MULTILINE)
    assert len(rows) == len(set(rows)) == len(ITEMS) > 266, "as many as an audit counted, and no fewer"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_items_are_numbered_in_order(name: str) -> None:
    numbers = [item.number for item in PAGES[name].items]
    assert numbers == [f"{numbers[0][0]}{at}" for at in range(1, len(numbers) + 1)]
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    headings = re.findall(r"^### .*$", pages.FENCE.sub("", text), re.MULTILINE)
    assert len(headings) == len(numbers), "every heading of the third level is an item"


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.number)
def test_every_item_runs_or_leads_somewhere(item: Item) -> None:
    assert item.status in (RUNS, READ, NONE), f"{item.number} is missing"
    assert item.status != READ or item.link is not None, f"{item.number} neither runs nor leads to a page"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_part_has_an_exercise_with_its_solution(name: str) -> None:
    parts = {item.part for item in PAGES[name].items}
    exercises = [item for item in PAGES[name].items if "**Exercise.**" in item.text]
    assert {item.part for item in exercises} == parts
    assert all([step.kind for step in item.steps].count("fold") == 1 for item in exercises)


def compared(item: Item) -> list[tuple[str, str, str]]:
    """The rows of the table that compares with the notes: what, the notes' number, and ours."""
    rows: list[tuple[str, str, str]] = []
    lines = item.text.splitlines()
    for at in (at for at, line in enumerate(lines) if line == HEAD):
        for line in lines[at + 2 :]:
            if not line.startswith("|"):
                break
            what, notes, here = (cell.strip() for cell in line.strip("|").split("|"))
            rows.append((what, notes, here))
    return rows


def shown(item: Item) -> str:
    """The output of everything exact of an item that stands before its exercise."""
    page = next(page for page in PAGES.values() if item in page.items)
    text = (FOLDER / f"{page.name}.md").read_text("utf-8")
    begin = text.index(f"### {item.number} ")
    body = text[begin : text.find("\n### ", begin) if "\n### " in text[begin:] else len(text)].partition("<details")[0]
    outputs = [
        line
        for block in pages.blocks(body)
        if block.language == "python" or block.exact
        for line in block.text.splitlines()
        if not line.startswith((">>>", "... ", "$"))
    ]
    return "\n".join(outputs)


def not_shown(here: str, output: str) -> list[str]:
    """The parts of our number that the output does not have."""
    return [part for part in here.split(", ") if not re.search(rf"(?<![\w.]){re.escape(part)}(?![\w])", output)] if here else []


COMPARED = [(item, row) for item in ITEMS for row in compared(item)]


@pytest.mark.parametrize(("item", "row"), COMPARED, ids=lambda each: each.number if isinstance(each, Item) else each[0])
def test_every_number_beside_the_notes_comes_out_of_what_runs(item: Item, row: tuple[str, str, str]) -> None:
    assert not_shown(row[2], shown(item)) == [], f"{item.number}: {row[0]}"


def test_there_are_many_numbers_and_a_wrong_one_is_caught() -> None:
    assert len(COMPARED) > 60
    assert not_shown("3", "(3, 13)") == not_shown("(0, 12)", "[[(0, 12), (0, 12)]]") == []
    assert not_shown("4", "(3, 14)") == ["4"]
    assert not_shown("0.5", "10.5") == ["0.5"]


def test_a_wrong_number_in_exact_output_is_caught(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = "```console exact\n$ tacit show weeding\nd = 0011001 and c = 0110011 differ in 3 rows; 4 alpha is 2.8.\n...\n```\n"
    pages.run_page("sound", page, tmp_path)
    with pytest.raises(AssertionError, match="printed"):
        pages.run_page("planted", page.replace("2.8", "2.9"), tmp_path)
    pages.run_page("numbers apart", page.replace("2.8", "2.9").replace(" exact", ""), tmp_path)


def test_the_class_of_an_hour_has_steps_of_at_most_three_commands() -> None:
    hour = read_page("one-hour", (FOLDER / "one-hour.md").read_text("utf-8"))
    counts = [sum(len(step.commands) for step in item.steps) for item in hour.items]
    assert len(hour.items) == 12
    assert max(counts) <= 3
    assert min(counts) >= 1


def test_every_page_can_be_walked_through() -> None:
    assert {name.value for name in Name} == {path.stem for path in FOLDER.glob("*.md")} - {"index", "items"}
