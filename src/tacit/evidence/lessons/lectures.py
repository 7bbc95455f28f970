r"""Pages that follow lecture notes, as items: each has a number, a title, and steps of text, commands and Python.

A page is Markdown. An item begins with a heading such as `### T12 Cell bounds`; what runs stands in fenced blocks, and the solution
of an exercise between `<details>` and `</details>`. `tacit lecture` walks through the items; the table of all items is written from
them.

>>> page = read_page("a", "# A\n\n## One\n\n### X1 Counts\n\nText.\n\n```console\n$ tacit show urn\nUrn\n```\n")
>>> page.items[0].number, page.items[0].part, [step.kind for step in page.items[0].steps], page.items[0].runs
('X1', 'One', ['text', 'console'], 'tacit show urn')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$|^</?details[^\n]*$|^<summary>[^\n]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
HEADING = re.compile(r"^(#{1,3}) (.+)$", re.MULTILINE)
NUMBER = re.compile(r"([A-Z]\d+) (.+)")
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
NO_PROGRAM, MISSING = "No program:", "Missing:"
RUNS, READ, NONE, OPEN = "runs", "to read", "no program", "missing"


@dataclass(frozen=True, slots=True)
class Step:
    """Text, a file, a console, Python, or the fold before a solution."""

    kind: str
    text: str
    title: str | None = None

    @property
    def commands(self) -> list[str]:
        """The commands of a console, a continued one on one line."""
        return [found[1].replace("\\\n", " ") for found in COMMAND.finditer(self.text)] if self.kind == "console" else []


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the notes: its number, its title, the part of the notes, and its steps."""

    number: str
    title: str
    part: str
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """The text of the item without its blocks."""
        return "\n".join(step.text for step in self.steps if step.kind == "text")

    @property
    def runs(self) -> str | None:
        """The first command of the item, or the last line of its Python; None if nothing runs."""
        for step in self.steps:
            if step.commands:
                return step.commands[0]
            if lines := [line[4:] for line in step.text.splitlines() if line.startswith(">>> ")]:
                return lines[-1].partition("  #")[0].strip()
        return None

    @property
    def link(self) -> tuple[str, str] | None:
        """The first page that the item leads to, as its text and its target."""
        found = LINK.search(self.text)
        return (found[1], found[2]) if found else None

    @property
    def status(self) -> str:
        """Whether the item runs, is to be read elsewhere, needs no program, or is missing."""
        words = self.text.lstrip()
        if words.startswith(MISSING):
            return OPEN
        return RUNS if self.runs else NONE if words.startswith(NO_PROGRAM) else READ


@dataclass(frozen=True, slots=True)
class Page:
    """The page of one set of notes."""

    name: str
    title: str
    intro: str
    items: tuple[Item, ...]


def read_page(name: str, text: str) -> Page:
    """The page with its items in their order."""
    masked = BLOCK.sub(lambda found: " " * len(found[0]), text)
    marks = [(found.start(), found.end(), found[1], found[2]) for found in HEADING.finditer(masked)]
    title, intro, part, items = name, "", "", []
    for at, (_, end, level, words) in enumerate(marks):
        body = text[end : marks[at + 1][0] if at + 1 < len(marks) else len(text)]
        if level == "#":
            title, intro = words, body.strip()
        elif level == "##":
            part = words
        elif numbered := NUMBER.fullmatch(words):
            items.append(Item(numbered[1], numbered[2], part, tuple(steps_of(body))))
    return Page(name, title, intro, tuple(items))


def steps_of(body: str) -> Iterator[Step]:
    """The steps of an item: its blocks, and the texts between them."""
    at = 0
    for found in BLOCK.finditer(body):
        if words := body[at : found.start()].strip():
            yield Step("text", words)
        at = found.end()
        if found[1] is None:
            if found[0].startswith("<details"):
                yield Step("fold", "Solution")
            continue
        named = TITLE.search(found[2])
        yield Step("file" if named else found[1], found[3], named[1] if named else None)
    if words := body[at:].strip():
        yield Step("text", words)
