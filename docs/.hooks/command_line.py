"""Writes the commands into docs/reference/command-line.md, from what they say of themselves; `make docs` runs it.

The part between the marks is written anew; what stands above it is by hand. A test compares the page with the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.main import get_command

from tacit.doors.cli import app

PAGE = Path(__file__).parent.parent / "reference" / "command-line.md"
BEGIN, END = "<!-- commands: begin -->", "<!-- commands: end -->"


def leaves(command: Any, words: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every command by its words, those of groups too."""
    parts = getattr(command, "commands", {})
    if not parts:
        return {" ".join(words): command}
    return {name: leaf for word, part in parts.items() for name, leaf in leaves(part, (*words, word)).items()}


def options(command: Any) -> list[Any]:
    """What a command takes by name."""
    return [each for each in command.params if each.opts[0].startswith("--") and each.name != "help" and not each.hidden]


def described(name: str, command: Any) -> str:
    """The section of one command: its words, what it does, and a table of what it takes."""
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    words = " ".join(["tacit", name, *(each.metavar or each.name.upper() for each in arguments)])
    rows = [_row(each.metavar or each.name.upper(), each) for each in arguments]
    rows += [_row(each.opts[0], each) for each in options(command)]
    head = "argument or option" if arguments else "option"
    table = [f"| {head} | what it is |", "|---|---|", *rows] if rows else []
    what, _, example = (command.help or "").partition("\n\nExample: ")
    shown = [f"Example: `{_line(example)}`", ""] if example else []
    return "\n".join([f"## tacit {name}", "", f"`{words}`: {_line(what)}", "", *shown, *table, ""])


def _row(name: str, parameter: Any) -> str:
    default = parameter.default
    said = [_line(parameter.help)]
    said += ["Needed."] if parameter.required and name.startswith("-") else []
    said += [f"By default {default}."] if default not in (None, False, (), "") and not callable(default) else []
    return f"| `{name}` | {' '.join(said)} |"


def _line(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def written(page: str) -> str:
    """The page with the part between the marks written anew."""
    above, _, rest = page.partition(BEGIN)
    commands = leaves(get_command(app))
    return "\n".join(
        [f"{above}{BEGIN}", "", *(described(name, leaf) for name, leaf in commands.items()), f"{END}{rest.partition(END)[2]}"]
    )


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), encoding="utf-8")
