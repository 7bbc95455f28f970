"""The terminal: no text that is printed steers it, and none is read as markup.

Rich turns `[bold]` and `:bomb:` in any text into something else, fails where a bracket is not what it expects, and passes escape
sequences on. So here markup is off, and every text is made visible first, in a table as on a line of its own. Text with a
colour is put together with `styled`, part by part; rich's own way to escape markup leaves a hole (three backslashes at the end).
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from tacit.untrusted import lines_for_terminal, without_passwords

Part = str | tuple[str, str]


class Screen(Console):
    """A console that prints what it is given, and obeys nothing in it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:  # every text comes through here, cells of tables too
        """The text without markup and without control characters."""
        return super().render_str(_plain(text), **{**settings, "markup": False, "emoji": False})


def styled(*parts: Part) -> Text:
    r"""A text of parts; a pair is a part with its style.

    >>> styled(("a[/x]", "bold"), " is \x1b[1m sound").plain
    'a[/x] is \\x1b[1m sound'
    """
    return Text.assemble(*(_plain(part) if isinstance(part, str) else (_plain(part[0]), part[1]) for part in parts))


def _plain(text: str) -> str:
    return lines_for_terminal(without_passwords(text))


# --- bars of progress on the terminal ----------------------------------------------------------------------------------------


class Described(ProgressColumn):
    """The current task, as it is: rich's own column reads markup in it, and a file may have any name."""

    def render(self, task: Task) -> Text:
        """The description of a task, as styled text."""
        return styled(task.description)


def bars() -> Progress:
    """Bars of progress on standard error, gone when all is done."""
    columns = (Described(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Screen(stderr=True), transient=True)


def elapsed() -> Progress:
    """Something whose end is not known, with the time that it has taken, on standard error; gone when it is done."""
    return Progress(Described(), BarColumn(), TimeElapsedColumn(), console=Screen(stderr=True), transient=True)
