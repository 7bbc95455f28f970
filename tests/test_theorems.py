"""Theorems of proofs/, pages and the last result of `make theorems` belong together; Coq itself is not run here."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "proofs"
sys.path.insert(0, str(PROOFS))

import check  # noqa: E402  # the script of `make theorems`

sys.path.remove(str(PROOFS))
RESULT = json.loads((PROOFS / "result.json").read_text("utf-8"))
ON_A_PAGE = re.compile(r"^- `proofs/(\w+)\.v`: (.+)$", re.MULTILINE)


def rows():
    """(file, theorem, page) for each theorem of the list."""
    for name, row in tomllib.loads((PROOFS / "theorems.toml").read_text("utf-8")).items():
        for part in (row, *(each for each in row.values() if isinstance(each, dict))):
            yield from ((name, theorem, part["page"]) for theorem in part["theorems"])


def on_pages():
    """The same, read from all pages beside the code."""
    for page in (ROOT / "src").rglob("*.md"):
        for name, theorems in ON_A_PAGE.findall(page.read_text("utf-8")):
            yield from ((name, theorem, str(page.relative_to(ROOT))) for theorem in re.findall(r"`(\w+)`", theorems))


def test_pages_and_theorems_link_to_each_other():
    assert set(rows()) == set(on_pages())


def test_every_theorem_of_the_list_is_stated_and_every_stated_one_is_listed():
    stated = {
        (file.stem, name)
        for file in PROOFS.glob("*.v")
        for name in re.findall(r"^(?:Theorem|Corollary) (\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    listed = {(name, theorem) for name, theorem, _ in rows()}
    assert listed <= stated
    assert {name for _, name in stated - listed} <= {"integer_onto", "integer_once"}  # about the numbering of integers


def test_the_last_result_is_of_these_sources():
    assert RESULT["sources"] == check.hash_of_sources(), "sources have changed; run make theorems"
    assert set(RESULT["theorems"]) == {f"{name}.{theorem}" for name, theorem, _ in rows()}


def test_nothing_is_assumed_but_what_is_listed():
    allowed = set((PROOFS / "assumptions.txt").read_text("utf-8").split())
    assert all(set(axioms) <= allowed for axioms in RESULT["theorems"].values())


@pytest.mark.parametrize(
    "text", ["Lemma x : False. Admitted.", "Axiom x : False.", "Lemma x : True. admit. Qed.", "Parameter x : nat."]
)
def test_an_unfinished_proof_would_be_seen(text):
    assert check.FORBIDDEN.search(check.COMMENT.sub("", text))
    assert not check.FORBIDDEN.search(check.COMMENT.sub("", f"(* {text} *)"))


def test_the_sources_have_no_unfinished_proof():
    for file in PROOFS.glob("*.v"):
        assert not check.FORBIDDEN.search(check.COMMENT.sub("", file.read_text("utf-8"))), file.name


def test_every_mistake_has_its_place():
    mistakes = tomllib.loads((PROOFS / "mistakes.toml").read_text("utf-8"))
    assert RESULT["mistakes"] == len(mistakes) >= 4
    for row in mistakes.values():
        assert (PROOFS / f"{row['file']}.v").read_text("utf-8").count(row["old"]) == 1


def test_every_rule_of_the_promise_has_a_row_on_the_page():
    page = (ROOT / "docs" / "reference" / "proved.md").read_text("utf-8")
    rules = re.findall(r"^### (D\d+) ", (ROOT / "docs" / "promise.md").read_text("utf-8"), re.MULTILINE)
    assert rules
    assert [rule for rule in rules if not re.search(rf"^\| {rule}\b", page, re.MULTILINE)] == []
    named = re.findall(r"`(\w+\.\w+)`", page)
    assert {name for name in named if name.split(".")[0] in {file.stem for file in PROOFS.glob("*.v")}} <= set(RESULT["theorems"])
