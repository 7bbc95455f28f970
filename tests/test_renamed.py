"""Proofs follow code that changed names alone, and nothing else."""

import ast
import subprocess

import pytest

import renamed
from fingerprints import Listed, fingerprint
from renamed import Comparison, Definition, same_up_to_names

OLD = """
def price(found, low):
    total = log_up(found) + low
    return self_check(total, scale=found.scale)
"""


def definition(text: str) -> Definition:
    tree = ast.parse(text)
    return Definition("a", "price", (tree.body[0],))


TAKEN = {"price", "found", "low", "log_up", "log_down", "self_check", "scale", "step"}


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (OLD, True),
        (OLD.replace("found", "row"), True),
        (
            OLD.replace("found", "low_").replace("low\n", "found\n").replace(", low)", ", found)").replace("low_", "low"),
            True,
        ),  # locals may swap
        (OLD.replace("self_check", "checked_total"), True),
        (OLD.replace("price(", "price_of("), True),
        (OLD.replace("+ low", "- low"), False),
        (OLD.replace("log_up", "log_down"), False),
        (OLD.replace("found.scale", "found.step"), False),
        (OLD.replace("scale=", "step="), False),
        (OLD.replace("log_up(found) + low", "log_up(low) + found"), False),
        (OLD.replace("log_up(found)", "log_up(other)"), False),
        (OLD.replace("total", "found"), False),
        (OLD.replace("log_up(found) + low", "log_up(found) + found"), False),
    ],
)
def test_only_names_may_differ(now, same):
    assert same_up_to_names(definition(OLD), definition(now), TAKEN) is same


def test_a_line_finds_its_successor_in_another_module():
    before, now = (
        {"a": ast.parse(OLD)},
        {"b.c": ast.parse(OLD.replace("price(", "price_of(")), "d": ast.parse("def other(): return 1")},
    )
    comparison = Comparison.of(before, now)
    line = Listed("a.price", fingerprint([before["a"].body[0]]), None)
    successor = comparison.successor(line, "")
    assert successor is not None
    assert (successor.module, successor.name) == ("b.c", "price_of")
    changed = Comparison.of(before, {"a": ast.parse(OLD.replace("+ low", "- low"))})
    assert changed.successor(line, "") is None


def test_an_earlier_commit_is_read_and_not_the_files_of_today(tmp_path, monkeypatch):
    folder = tmp_path / "src" / "tacit"
    (folder / "privacy").mkdir(parents=True)
    for name, text in {
        "__init__.py": "a = 1",
        "privacy/__init__.py": "",
        "privacy/loss.py": "b = 'ü'",
        "privacy/loss.md": "#",
    }.items():
        (folder / name).write_text(text, "utf-8")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (folder / "privacy" / "loss.py").write_text("b = 2", "utf-8")
    monkeypatch.setattr(renamed, "ROOT", tmp_path)
    texts = {name: ast.unparse(tree) for name, tree in renamed.trees_at("HEAD").items()}
    assert texts == {"__init__": "a = 1", "privacy": "", "privacy.loss": "b = 'ü'"}
