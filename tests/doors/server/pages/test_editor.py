"""The editor's bundle: its packages by their hashes, its words, its place in the wheel, and pages without it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sources import ROOT
from tacit.doors.server.pages.frame import FOLDER, Frame
from tacit.query.functions import FORMS

BUILT = Path(str(FOLDER), "static", "editor.js")
INSTALL = "install Node 18 or newer with npm, and run: make console"
UNNAMED = {
    "cast_boolean",
    "cast_date",
    "cast_integer",
    "cast_number",
    "cast_text",
    "concat_all",
    "count_distinct",
    "interval",
    "isodow",
}


def packages() -> dict[str, dict]:
    return json.loads((ROOT / "console/package-lock.json").read_text("utf-8"))["packages"]


def test_every_package_has_a_version_and_a_hash_and_no_address():
    text = (ROOT / "console/package-lock.json").read_text("utf-8")
    assert '"resolved"' not in text
    assert "://" not in re.sub(r'"(funding|url)".*', "", text)
    for name, package in packages().items():
        if name:
            kind, _, digest = package["integrity"].partition("-")
            assert (kind, len(base64.b64decode(digest))) == ("sha512", 64), name
    wanted = json.loads((ROOT / "console/package.json").read_text("utf-8"))
    named = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in named.values())
    assert all(packages()[f"node_modules/{name}"]["version"] == version for name, version in named.items())


def test_the_words_are_those_of_tacit():
    words = json.loads((ROOT / "console/words.json").read_text("utf-8"))
    assert {name.lower() for name in words["functions"]} == set(FORMS) - UNNAMED


def test_the_bundle_asks_no_other_place_and_has_its_licences():
    if not BUILT.exists():
        pytest.skip(INSTALL)
    text = BUILT.read_text("utf-8")
    assert len(text) < 420_000
    for word in ("eval(", "new Function", "importScripts", "XMLHttpRequest", "fetch(", "WebSocket", "sourceMappingURL"):
        assert word not in text
    licences = BUILT.with_name("editor.licences.txt").read_text("utf-8")
    for name, package in packages().items():
        if name and not package.get("dev") and not package.get("optional"):
            assert f"{name.removeprefix('node_modules/')} {package['version']} (MIT)" in licences


def test_the_wheel_has_the_pages_and_the_bundle(tmp_path):
    pytest.importorskip("hatchling", reason="install hatchling (pip install hatchling) and run the tests again")
    if not BUILT.exists():
        pytest.skip(INSTALL)
    source = tmp_path / "source"
    (source / "src").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "docs/reference", source / "docs/reference")
    shutil.copytree(ROOT / "src/tacit", source / "src/tacit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".gitignore", source)
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(words, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {name.removeprefix("tacit/doors/server/pages/") for name in wheel.namelist()}
    assert {"static/editor.js", "static/editor.licences.txt", "static/console.css", "static/console.js", "texts.toml"} <= names
    assert {f"templates/{path.name}" for path in Path(str(FOLDER), "templates").iterdir()} <= names


def test_without_the_bundle_the_page_has_a_plain_field(monkeypatch):
    kept = {address: file for address, file in Frame().static.items() if not address.endswith("editor.js")}
    monkeypatch.setattr("tacit.doors.server.pages.frame.read_static", lambda: kept)
    frame = Frame()
    assert frame._templates.globals["has_editor"] is False
    assert not any(address.endswith("editor.js") for address in frame.static)


# --- the pages' own files ----------------------------------------------------------------------------------------------------


def test_the_script_is_short_and_no_page_is_trusted():
    assert len(Path(str(FOLDER), "static", "console.js").read_text("utf-8").splitlines()) <= 200
    files = [
        *Path(str(FOLDER)).glob("*.py"),
        *Path(str(FOLDER), "templates").iterdir(),
        *Path(str(FOLDER), "static").glob("console.*"),
    ]
    trusting = r"\|\s*safe\b|Markup\(|autoescape\s*(=\s*)?[Ff]alse"
    forbidden = trusting + r"|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\bon[a-z]+=|\sstyle="
    for file in files:
        assert not re.search(forbidden, file.read_text("utf-8")), file
    for planted in ("{{ name|safe }}", "x.innerHTML = y", '<a onclick="x">', "<p style='x'>", "{% autoescape false %}"):
        assert re.search(forbidden, planted), planted


def test_every_text_is_used_and_every_used_text_exists():
    texts = Frame().texts
    folder = Path(str(FOLDER))
    sources = [path.read_text("utf-8") for path in (*folder.glob("*.py"), *(folder / "templates").iterdir())]
    used = {
        name
        for text in sources
        for name in re.findall(r"\bt\.([a-z_0-9]+)|(?:texts|words)\[\"([a-z_0-9]+)\"\]", text)
        for name in name
        if name
    }
    used |= {name for name in texts for text in sources if f'"{name}"' in text}
    assert set(texts) == used
