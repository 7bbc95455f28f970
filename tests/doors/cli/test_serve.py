"""`tacit serve` before it serves: what it refuses, and what it prints of its protections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hospital import files
from tacit.doors.cli import app
from tacit.doors.server.sandbox import check
from tacit.doors.server.sandbox.check import PATHS, PROTECTIONS

HELD = dict.fromkeys(PROTECTIONS, True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(check, "protections", lambda: HELD)
    return files(tmp_path)


def refused(place: Path, *words: str) -> str:
    result = CliRunner().invoke(app, ["serve", "--catalog", str(place), *words])
    assert result.exit_code == 2, result.output
    return result.output + result.stderr


def test_more_than_loopback_needs_tls_names_and_sizes(place):
    assert "TLS is required" in refused(place, "--host", "0.0.0.0")  # noqa: S104
    assert "names of the server" in refused(place, "--host", "0.0.0.0", "--behind-proxy")  # noqa: S104
    assert "belong together" in refused(place, "--cert", "a.pem")


def test_more_than_loopback_needs_a_sandbox(place, monkeypatch):
    monkeypatch.setattr(check, "protections", lambda: HELD | {PATHS: False})
    monkeypatch.setattr("tacit.doors.server.settings.undeclared_sizes", lambda _: [])
    said = refused(place, "--host", "0.0.0.0", "--behind-proxy", "--name", "stats.example.org")  # noqa: S104
    assert "missing on this machine: files" in said
    assert "Landlock or users of their own" in said


def test_data_among_the_programs_is_not_served(place, monkeypatch):
    monkeypatch.setattr("tacit.doors.server.sandbox.profiles.program_folders", lambda: [place.parent])
    assert "folder of programs" in refused(place)


def test_the_page_is_opened_for_the_demonstration_alone(place):
    assert "give --demo too" in refused(place, "--open")


def test_users_are_three(place):
    assert "three different users" in refused(place, "--users", "nobody")
    assert "three different users" in refused(place, "--users", "a,a,b")


def test_the_table_of_protections(place):
    result = CliRunner().invoke(app, ["serve", "--check", "--json"])
    assert json.loads(result.output) == {"protections": HELD, "beyond_loopback": True}
    assert "enough to serve more than loopback" in CliRunner().invoke(app, ["serve", "--check"]).output


def test_the_demonstration_shows_commands_without_a_token(tmp_path, capsys):
    from tacit.doors.cli.serve import _print_accounts

    _print_accounts({"ana": ("analyst", "tacit_secret")}, tmp_path / "cert.pem", "https://127.0.0.1:8443")
    account, *commands = [line for line in capsys.readouterr().out.splitlines() if line]
    assert "tacit_secret" in account
    assert not any("tacit_secret" in line for line in commands), "a list of processes shows arguments"
    assert any(f"-H @{tmp_path / 'ana.header'}" in line for line in commands)
    assert any(f"--token-file {tmp_path / 'ana.token'}" in line for line in commands)
    assert (tmp_path / "ana.header").read_text() == "Authorization: Bearer tacit_secret\n"
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in ("ana.header", "ana.token"))


def test_a_spark_driver_is_refused_before_anything_starts(place):
    place.write_text(f'{place.read_text("utf-8")}\n[store]\nengine = "spark"\nmaster = "spark://driver:7077"\n', "utf-8")
    assert "must use Spark Connect" in refused(place)


def test_a_proxy_is_named_by_its_address_and_together_with_behind_proxy(place):
    assert "names a proxy" in refused(place, "--forwarded-by", "127.0.0.1")
    assert "IP address of the proxy" in refused(place, "--behind-proxy", "--forwarded-by", "proxy.example")
