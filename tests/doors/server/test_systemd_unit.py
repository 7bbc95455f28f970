"""The unit of docs/guides/server.md: systemd takes it, and tacit takes its command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from tacit.doors.cli import app

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "server.md"
UNIT = next(block for block in re.findall(r"```text\n(.+?)```", GUIDE.read_text("utf-8"), re.DOTALL) if "[Service]" in block)


def settings(unit: str) -> dict[str, str]:
    """What the unit sets; a line that ends in a backslash goes on."""
    lines = [line for line in unit.replace("\\\n", " ").splitlines() if "=" in line]
    return dict(line.split("=", 1) for line in lines)


def command_line(unit: str) -> dict[str, object]:
    """The command of the unit as tacit reads it; raises where tacit would refuse."""
    program, *words = shlex.split(settings(unit)["ExecStart"])
    assert Path(program).name == "tacit"
    group: Any = typer.main.get_command(app)
    command = group.get_command(group.make_context("tacit", ["serve"], resilient_parsing=True), words[0])
    return dict(command.make_context(words[0], words[1:]).params)


def verified(unit: str, folder: Path) -> str:
    """What systemd says of a unit; nothing if all of it is known."""
    file = folder / "tacit.service"
    file.write_text(unit.replace("/opt/tacit/bin/tacit", "/bin/true"))
    words = ["systemd-analyze", "verify", "--man=no", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    return "\n".join(line for line in done.stderr.splitlines() if "tacit.service" in line)


def test_tacit_takes_the_command_line_of_the_unit():
    given = command_line(UNIT)
    assert (given["host"], given["port"], given["users"]) == ("0.0.0.0", 443, "tacit-front,tacit,tacit-engine")  # noqa: S104
    assert str(given["catalog"]) == "/srv/hospital/tacit.toml"
    assert settings(UNIT)["Type"] == "notify"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path):
    assert verified(UNIT, tmp_path) == ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_a_unit_with_a_setting_that_systemd_does_not_know_is_caught(tmp_path):
    """Planted: a misspelt protection, which systemd would ignore; and an option that tacit does not have."""
    assert "ProtectSystm" in verified(UNIT.replace("ProtectSystem", "ProtectSystm"), tmp_path)
    with pytest.raises(Exception, match="No such option: --owners"):
        command_line(UNIT.replace("--users", "--owners"))
