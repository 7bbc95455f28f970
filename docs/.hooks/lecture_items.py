"""Writes docs/lectures/items.md: every item of the pages that follow lecture notes, with its command or page. A test compares."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tacit.evidence.lessons.lectures import MISSING, NO_PROGRAM, NONE, OPEN, READ, RUNS, Item, Page, read_page

FOLDER = Path(__file__).parent.parent / "lectures"
NAMES = ("numeric-queries", "definition", "tutorial", "randomized-response", "sensitivity-quiz")
ABOUT = """# Every item of the lecture notes

This table is written from the [pages](index.md) by `docs/.hooks/lecture_items.py`; a test compares it with them. An item *runs* if
its page has a command or Python that the tests of the documentation run; it is *to read* if its place is another page of the
documentation.
"""
LONGEST = 90
STATUSES = (RUNS, READ, NONE, OPEN)


def pages() -> list[Page]:
    """The five pages, in the order of their table."""
    return [read_page(name, (FOLDER / f"{name}.md").read_text("utf-8")) for name in NAMES]


def anchor(item: Item) -> str:
    """The anchor of an item, as MkDocs makes it."""
    plain = re.sub(r"[^\w\s-]", "", f"{item.number} {item.title}").strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def _place(item: Item) -> str:
    if item.runs is not None:
        shown = item.runs if len(item.runs) <= LONGEST else f"{item.runs[: LONGEST - 4]} ..."
        return f"`{shown.replace('|', chr(92) + '|')}`"
    if item.status == NONE:
        return item.text.partition(NO_PROGRAM)[2].strip().partition(".")[0]
    if item.status == OPEN:
        return item.text.partition(MISSING)[2].strip().partition(".")[0]
    return "" if item.link is None else f"[{' '.join(item.link[0].split())}]({item.link[1]})"


def written() -> str:
    """The page."""
    parts = [ABOUT]
    made = pages()
    counted = {page.name: Counter(item.status for item in page.items) for page in made}
    parts += ["| page | items | " + " | ".join(STATUSES) + " |", "|---|---|" + "---|" * len(STATUSES)]
    for page in made:
        numbers = " | ".join(str(counted[page.name][status]) for status in STATUSES)
        parts.append(f"| [{page.title}]({page.name}.md) | {len(page.items)} | {numbers} |")
    total = sum(counted.values(), Counter[str]())
    parts.append(f"| all | {sum(total.values())} | " + " | ".join(str(total[status]) for status in STATUSES) + " |")
    for page in made:
        parts += ["", f"## {page.title}", "", "| item | topic | command or page |", "|---|---|---|"]
        parts += [f"| {item.number} | [{item.title}]({page.name}.md#{anchor(item)}) | {_place(item)} |" for item in page.items]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    (FOLDER / "items.md").write_text(written(), encoding="utf-8")
