"""Bars of progress on the terminal."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from tacit.doors.cli.screen import Screen, styled


class Described(ProgressColumn):
    """What is done, as it is: rich's own column reads markup in it, and a file may have any name."""

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
