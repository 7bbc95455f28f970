"""`tacit lecture`: a page of lecture notes, item by item, with everything in it that runs."""

from __future__ import annotations

import doctest
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import say
from tacit.errors import InvalidInput
from tacit.files import write

if TYPE_CHECKING:
    from tacit.evidence.lessons.lectures import Item, Page, Step

STATE = "XDG_STATE_HOME"  # below it lies the register of ledgers


class Name(StrEnum):
    """The pages, by the file of each."""

    NUMERIC = "numeric-queries"
    DEFINITION = "definition"
    TUTORIAL = "tutorial"
    RESPONSE = "randomized-response"
    QUIZ = "sensitivity-quiz"
    HOUR = "one-hour"


def lecture(
    name: Annotated[
        Name | None, typer.Argument(help="Page of notes; without it, the pages are listed.", show_default=False)
    ] = None,
    item: Annotated[str | None, typer.Option("--item", help="Show one item, by its number.")] = None,
    contents: Annotated[bool, typer.Option("--list", help="List the items.")] = False,
    only_show: Annotated[bool, typer.Option("--no-run", help="Show commands and Python without running them.")] = False,
) -> None:
    """Walk through lecture notes: each topic with its command and the number that comes out. Works in an empty temporary folder.

    Example: tacit lecture tutorial --item T7
    """
    from tacit.evidence.lessons.lectures import read_page

    if name is None:
        for each in Name:
            page = read_page(each.value, text_of(each))
            say(f"{each.value:20} {len(page.items):3} items  {page.title}")
        return
    page = read_page(name.value, text_of(name))
    chosen = [each for each in page.items if item is None or each.number.lower() == item.lower()]
    if not chosen:
        last = page.items[-1].number
        raise InvalidInput(f"unknown item {item!r:.40}: this page has {page.items[0].number} to {last}; list them with --list")
    if contents:
        for one in chosen:
            say(f"{one.number:5} {one.title:60} {one.runs or one.status}")
        return
    _walk(page, chosen, not only_show, whole=item is None)


def text_of(name: Name) -> str:
    """The page: beside this module where tacit is installed, in `docs` where it runs from its sources."""
    here = Path(__file__)
    for place in (here.parent / "pages" / "lectures", *(above / "docs" / "lectures" for above in here.parents[4:5])):
        if (file := place / f"{name.value}.md").is_file():
            return file.read_text(encoding="utf-8")
    raise InvalidInput(f"the page {name.value} is not installed; read it in the documentation")


def _walk(page: Page, items: list[Item], run: bool, whole: bool) -> None:
    """Show the items one after the other; at a terminal, wait for a key before each thing that runs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    part = ""
    if whole:
        say(f"{page.title}\n{'=' * len(page.title)}\n\n{_plain(page.intro)}\n")
    earlier = () if whole else _needed(page, items[0])
    with _elsewhere():
        for step in earlier if run else ():
            _prepare(step, names)
        for each in items:
            if each.part != part:
                part = each.part
                say(f"{part}\n{'-' * len(part)}\n")
            say(f"{each.number}  {each.title}\n")
            for step in each.steps:
                if not _show(step, names, run):
                    return


def _needed(page: Page, item: Item) -> Iterator[Step]:
    """The files and the Python of earlier items of the part, for an item that is shown by itself."""
    for each in page.items:
        if each is item:
            return
        if each.part == item.part:
            yield from (step for step in each.steps if step.kind in ("file", "python"))


def _prepare(step: Step, names: dict[str, Any]) -> None:
    """A file written, or the imports, definitions and assignments of Python repeated, without output."""
    if step.kind == "file":
        write(str(step.title), step.text)
        return
    for source in _sources(step.text):
        if not _is_expression(source):
            exec(compile(source, "lecture", "exec"), names)  # noqa: S102  # a page that is part of tacit


def _is_expression(source: str) -> bool:
    try:
        compile(source, "lecture", "eval")
    except SyntaxError:
        return False
    return True


def _show(step: Step, names: dict[str, Any], run: bool) -> bool:
    """Show a step, and run it; whether to go on."""
    if step.kind == "text":
        say(f"{_plain(step.text)}\n")
    elif step.kind == "fold":
        return _go_on("the solution follows")
    elif step.kind == "file":
        write(str(step.title), step.text)
        say(f"{step.title}:\n{_indented(step.text)}\n")
    elif step.kind == "console" and run:
        return all(_command(command) for command in step.commands)
    elif step.kind == "python" and run:
        return _python(step.text, names)
    else:
        say(f"{_indented(step.text)}\n")
    return True


def _command(line: str) -> bool:
    from tacit.doors.cli.commands import application

    words = shlex.split(line, comments=True)
    say(f"$ {line}")
    if words[0] != "tacit":
        return True
    if not _go_on("run it"):
        return False
    try:
        application(words[1])(args=words[1:], prog_name="tacit")
    except SystemExit:
        say("")
    return True


def _python(text: str, names: dict[str, Any]) -> bool:
    for source in _sources(text):
        lines = source.rstrip("\n").split("\n")
        say("\n".join(f"{'>>>' if at == 0 else '...'} {line}".rstrip() for at, line in enumerate(lines)))
        if _is_expression(source) and not _go_on("run it"):
            return False
        try:
            exec(compile(source, "lecture", "single" if ">>>" in text else "exec"), names)  # noqa: S102  # a page of tacit
        except Exception as error:  # a page may show a refusal
            say(f"{type(error).__name__}: {error}")
    say("")
    return True


def _sources(text: str) -> list[str]:
    """The examples of a doctest, or a block as a whole."""
    return [example.source for example in doctest.DocTestParser().get_examples(text)] if ">>>" in text else [text]


def _go_on(what: str) -> bool:
    """At a terminal, wait for Enter; q ends the walk."""
    if not _at_terminal():
        return True
    return input(f"  [Enter: {what}; q: quit] ").strip().lower() != "q"


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _plain(text: str) -> str:
    """Markdown without the marks that a terminal does not need."""
    from tacit.evidence.lessons.lectures import LINK

    return LINK.sub(lambda found: found[1], text).replace("**", "").replace("\\(", "").replace("\\)", "")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().split("\n"))


@contextmanager
def _elsewhere() -> Iterator[None]:
    """An empty folder and a register of ledgers that are gone afterwards, and no variable that leads to a data set or a server."""
    before = {name: value for name, value in os.environ.items() if name.startswith("TACIT_") or name == STATE}
    for name in before:
        del os.environ[name]
    try:
        with (
            TemporaryDirectory(prefix="tacit-lecture-") as folder,
            TemporaryDirectory(prefix="tacit-state-") as state,
            chdir(folder),
        ):
            os.environ[STATE] = state
            yield
    finally:
        os.environ.pop(STATE, None)
        os.environ.update(before)
