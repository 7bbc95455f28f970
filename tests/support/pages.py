"""Pages of documentation as programs: the blocks of a page run one after the other, in a folder of their own.

    ```python               runs; a block with >>> in it is a doctest. The blocks of a page share their names
    ```toml title="a.toml"  is written to that file; so is a block of any language with a title
    ```console              every `$ tacit ...` runs, and what is shown after it must be what it prints, numbers apart
    ```console exact        the same with its numbers; attacks run too

In shown output a line `...` stands for any lines. Noise draws other numbers each time, so that a number, and an error bar, is
compared as such; an error is compared word by word all the same, since its words are fixed.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
NUMBER = re.compile(r"[0-9a-f]{32,64}|[-+]?\d(?:[\d,.]*\d)?(?:e[-+]?\d+)?")
SLOW = {"demo", "verify", "attack"}  # named and checked, and run elsewhere


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line of text."""

    language: str
    title: str | None
    text: str
    line: int
    exact: bool = False


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what is shown below it."""

    words: tuple[str, ...]
    shown: str
    line: int
    exact: bool = False


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    return [
        Block(
            found[1],
            title[1] if (title := TITLE.search(found[2])) else None,
            found[3],
            page.count("\n", 0, found.start(3)) + 1,
            found[2].strip() == "exact",
        )
        for found in FENCE.finditer(page)
    ]


def commands(page: str) -> Iterator[Command]:
    """The commands of all console blocks; a line that ends with a backslash goes on in the next."""
    for block in blocks(page):
        if block.language == "console":
            yield from commands_of(block)


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of one console block."""
    for found in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        words = shlex.split(found[1].replace("\\\n", " "), comments=True)
        yield Command(tuple(words), found[2], block.line + block.text.count("\n", 0, found.start()), block.exact)


def run_page(name: str, page: str, folder: Path) -> None:
    """Run every block of a page in `folder`, which is the current one."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.title is not None:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_python(name, block, names)
        elif block.language == "console":
            for command in commands_of(block):
                run_command(name, command)


def run_python(name: str, block: Block, names: dict[str, object]) -> None:
    """Run a block of Python, or its doctests."""
    if ">>>" not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), names)  # noqa: S102  # our own pages
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, name, name, block.line - 1)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)
    names.update(test.globs)


def run_command(name: str, command: Command) -> None:
    """Run `tacit ...` or `python FILE`; what is shown begins with "tacit:" where the command is to fail."""
    if command.words[0] == "python" and command.words[1].endswith(".py"):
        script = Path(command.words[1])
        exec(compile(script.read_text(), script.name, "exec"), {"__name__": "__main__"})  # noqa: S102
    if command.words[0] != "tacit" or (command.words[1] in SLOW and not command.exact):
        return
    code, printed = tacit(*command.words[1:])
    place = f"{name}, line {command.line}: {' '.join(command.words)}"
    expected_to_fail = command.shown.startswith(("tacit:", '{"error"'))
    assert (code != 0) == expected_to_fail, f"{place}\nexit code {code}\n{printed}"
    if command.shown.strip():
        assert agrees(command.shown, printed, command.exact), f"{place}\nprinted\n{printed}"


def tacit(*words: str) -> tuple[int, str]:
    """The exit code of a command and all that it printed."""
    from typer.testing import CliRunner

    from tacit.doors.cli import app

    result = CliRunner().invoke(app, list(words), prog_name="tacit")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def agrees(shown: str, printed: str, exact: bool = False) -> bool:
    """Whether the shown output is what was printed, blanks apart, and numbers unless exact; `...` stands for any lines.

    >>> agrees("n  12 ± 3\\n...\\nleft 7", "n  11 ± 3\\nsomething\\nleft 7.5"), agrees("n", "m"), agrees("n 1", "n 2", exact=True)
    (True, False, False)
    """
    lines = ["(?:.*\\n)*?" if line.strip() == "..." else re.escape(line) + "\\n" for line in _lines(shown, exact)]
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in _lines(printed, exact))) is not None


def _lines(text: str, exact: bool = False) -> list[str]:
    """The lines that say something; unless exact, numbers as #, error bars as ± #; blanks and rules as one blank."""
    numbered = [line if exact else NUMBER.sub("#", line).replace("# [#, #]", "# ± #") for line in text.splitlines()]
    plain = [" ".join(re.sub("[\u2500-\u257f]+", " ", line).split()) for line in numbered]
    return [line for line in plain if line and line != "..."] if "..." not in plain else [line for line in plain if line]
