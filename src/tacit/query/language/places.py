"""Where in a question a refusal points: its line, with a caret under the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.errors import Refused
from tacit.untrusted import for_terminal, width

WIDEST = 100  # characters of a line that are shown


@contextmanager
def pointing(text: object) -> Iterator[None]:
    """Lets a refusal of this question say where: the line and a caret are a note of it, which a traceback shows below it."""
    try:
        yield
    except Refused as refusal:
        if isinstance(text, str) and refusal.at is not None and not getattr(refusal, "__notes__", ()):
            refusal.add_note(excerpt(text, *refusal.at))
        raise


def excerpt(text: str, line: int, column: int) -> str:
    r"""A line of a question with a caret under a column; of a long line, the part around it.

    >>> print(excerpt("SELECT COUNT(*)\nFROM vists", 2, 6))
      FROM vists
           ^
    """
    lines = text.split("\n")
    whole = lines[line - 1].rstrip("\r") if 1 <= line <= len(lines) else ""
    start = max(0, min(column - 1 - WIDEST // 2, len(whole) - WIDEST))
    before, after = whole[start : column - 1], whole[column - 1 : start + WIDEST]
    shown = [for_terminal(part.replace("\t", " ")) for part in (before, after)]
    left = "..." if start else ""
    right = "..." if start + WIDEST < len(whole) else ""
    return f"  {left}{shown[0]}{shown[1]}{right}\n  {' ' * (width(shown[0]) + len(left))}^"
