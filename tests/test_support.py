"""The list of what tests share is whole: a line of tests/support/README.md for each module, and no line for one that is gone."""

import re

from sources import ROOT

SUPPORT = ROOT / "tests" / "support"


def listed(page: str) -> list[str]:
    return re.findall(r"^- `(\w+\.py)`: \S.*", page, re.MULTILINE)


def test_every_module_has_a_line_and_every_line_a_module():
    lines = listed((SUPPORT / "README.md").read_text("utf-8"))
    assert len(lines) == len(set(lines))
    assert set(lines) == {path.name for path in SUPPORT.glob("*.py")}


def test_a_line_without_words_does_not_count():
    assert listed("- `one.py`: a thing\n- `two.py`:\n- three.py: another\n") == ["one.py"]
