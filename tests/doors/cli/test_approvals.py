"""`tacit approvals`: the owner lists, reads and decides on the server's machine, and an analyst sees and withdraws their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from served import COUNT, Served, listening, served
from tacit.doors.cli.commands import application
from tacit.doors.client import connect
from tacit.errors import NeedsApproval


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as place:
        file = place.folder / "tacit.toml"
        file.write_text(re.sub(r"(\[budget\].*)", r"\1\napprove_above = 0.3", file.read_text("utf-8"), count=1), "utf-8")
        yield place


def run(found: Served, *words: str, code: int = 0) -> str:
    result = CliRunner().invoke(application("approvals"), ["approvals", *words, "--catalog", str(found.folder / "tacit.toml")])
    assert result.exit_code == code, result.output
    return result.output


def test_the_owner_decides_and_the_analyst_is_answered(found: Served) -> None:
    with listening(found.desk) as url, connect(url, found.tokens["ana"]) as ana:
        for text in (COUNT, "SELECT SUM(cost) FROM visits"):
            with pytest.raises(NeedsApproval, match="it waits as number"):
                ana.sql(text, epsilon=0.4)
        listed = json.loads(run(found, "list", "--json"))["questions"]
        assert [(each["name"], each["number"], each["state"]) for each in listed] == [("ana", 2, "waiting"), ("ana", 1, "waiting")]
        assert "scan visits" in run(found, "list", "ana", "1")
        assert "entry" in run(found, "approve", "ana", "1")
        assert "refused: question 2 of ana" in run(found, "refuse", "ana", "2", "--reason", "too dear")
        assert ana.sql(COUNT, epsilon=0.4).receipt.epsilon == ana.sql(COUNT, epsilon=0.4).receipt.epsilon
        with pytest.raises(NeedsApproval, match="too dear"):
            ana.sql("SELECT SUM(cost) FROM visits", epsilon=0.4)
        assert [each["state"] for each in ana.waiting_questions()] == ["refused", "asked"]
        with pytest.raises(NeedsApproval):
            ana.sql("SELECT AVG(cost) FROM visits", epsilon=0.4)
        ana.withdraw(3)
        assert ana.waiting_questions()[0]["state"] == "withdrawn"
    assert json.loads(run(found, "list", "ana", "--json"))["questions"][0]["state"] == "withdrawn"
