"""The documentation holds: its code runs, its commands exist, its links lead somewhere, and nothing is left out of it."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import pages
import tacit
from guide import quoted
from pages import ROOT
from sources import tree_of
from tacit import errors
from tacit.doors.cli import app
from tacit.query.binding.binder import CONDITIONS
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals.aggregates import WRITTEN
from tacit.query.language.sql import parse
from tacit.query.language.syntax import Apply

DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "tacit"
FRONT = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
PROOFS = sorted(SOURCE.rglob("*.md"))
PAGES = {str(path.relative_to(ROOT)): path for path in [*FRONT, *sorted(DOCS.rglob("*.md")), *PROOFS]}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
PROOF = re.compile(r"(\w+\.md)")
TEST = re.compile(r"`(?:tests/)?(?:\w+/)*((?:test_\w+\.py)?(?:(?:::)?test_\w+)?)`")
FACES = {name for name in tacit.__all__ if inspect.ismodule(getattr(tacit, name))} - {"errors"}
RECIPES = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
COMMAND = typer.main.get_command(app)


@cache
def text(name: str) -> str:
    return PAGES[name].read_text("utf-8")


@cache
def unfenced(name: str) -> str:
    """A page without its blocks."""
    return pages.FENCE.sub("", text(name))


# --- what runs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PAGES if pages.blocks(PAGES[name].read_text("utf-8"))])
def test_the_code_of_a_page_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in ("TACIT_CATALOG", "TACIT_ANALYST"):
        monkeypatch.delenv(variable, raising=False)
    pages.run_page(name, text(name), tmp_path)


def test_a_page_that_is_wrong_is_caught(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="Expected"):
        pages.run_page("planted", "```python\n>>> 1 + 1\n3\n```\n", tmp_path)
    with pytest.raises(NameError):
        pages.run_page("planted", "```python\nnobody_knows\n```\n", tmp_path)
    with pytest.raises(AssertionError, match="exit code"):
        pages.run_page("planted", "```console\n$ tacit check\nall is well\n```\n", tmp_path)
    with pytest.raises(AssertionError, match="printed"):
        pages.run_page("planted", "```console\n$ tacit --version\ntacit of another name 1.0\n```\n", tmp_path)
    pages.run_page("sound", "```console\n$ tacit --version\ntacit 3.2.1\n```\n", tmp_path)


def parts(command: Any) -> dict[str, Any]:
    """The commands of a group; none of a command."""
    return getattr(command, "commands", {})


def resolved(words: tuple[str, ...]) -> Any:
    """The command that the words name, after its groups; None where there is no such command."""
    found = COMMAND
    for word in words:
        if found is None or not parts(found):
            break
        found = parts(found).get(word)
    return found


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-")}


def wrong_in_command(words: tuple[str, ...]) -> list[str]:
    """What a command names that is not there: recipes, commands or options."""
    if words[0] == "make":
        return [f"no recipe {word}" for word in words[1:] if "=" not in word and word not in RECIPES]
    if words[0] != "tacit" or words[1:] == ("--version",):
        return []
    command = resolved(words[1:])
    if command is None:
        return [f"no command {' '.join(words)}"]
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    return [f"no option {option} of {' '.join(words)}" for option in sorted(given - options(command) - {"--help"})]


def written_commands(name: str) -> list[tuple[str, ...]]:
    """The commands of a page, in its consoles and in its text."""
    inline = re.findall(r"`(tacit [a-z][^`\n]*|make [a-z]+)`", unfenced(name))
    shortened = [tuple(word for word in written.split() if not re.search(r"[A-Z<>\[\]\".]", word)) for written in inline]
    return [*(command.words for command in pages.commands(text(name))), *shortened]


def test_commands_and_options_exist():
    written = [(name, words) for name in PAGES for words in written_commands(name)]
    assert [(name, wrong) for name, words in written for wrong in wrong_in_command(words)] == []
    assert len(written) > 300


def test_a_command_that_is_not_there_is_caught():
    assert wrong_in_command(("tacit", "abolish")) == ["no command tacit abolish"]
    assert wrong_in_command(("tacit", "ledger", "abolish", "it")) == ["no command tacit ledger abolish it"]
    assert wrong_in_command(("tacit", "check", "--harder")) == ["no option --harder of tacit check --harder"]
    assert wrong_in_command(("make", "coffee")) == ["no recipe coffee"]
    assert wrong_in_command(("tacit", "check", "--help")) == wrong_in_command(("make", "test")) == []


def test_fences_are_closed_and_have_a_language():
    assert [name for name in PAGES if "```" in unfenced(name)] == [], "a fence stands at the beginning of a line, and is closed"
    unnamed = [(name, block.line) for name in PAGES for block in pages.blocks(text(name)) if not block.language]
    assert unnamed == [], "a block names its language; `text` is one"


# --- links -------------------------------------------------------------------------------------------------------------------


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a page, the way MkDocs makes them."""
    from markdown.extensions.toc import slugify

    headings = re.findall(r"^#+ (.+)$", pages.FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {slugify(heading.replace("`", ""), "-") for heading in headings}


def wrong_in_link(page: Path, target: str) -> str:
    """What is wrong with a link of a page; nothing where it leads somewhere."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return "no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "no such heading"
    if page.is_relative_to(DOCS) and not file.is_relative_to(DOCS):
        return "not part of the site; name the file in code instead"
    return ""


def test_links_lead_somewhere():
    links = [(name, target) for name in PAGES for target in LINK.findall(unfenced(name))]
    inside = [(name, target) for name, target in links if not target.startswith(("https://", "mailto:"))]
    assert [(*link, wrong) for link in inside if (wrong := wrong_in_link(PAGES[link[0]], link[1]))] == []
    assert len(inside) > 400


def test_a_link_that_leads_nowhere_is_caught():
    page = DOCS / "promise.md"
    assert wrong_in_link(page, "nowhere.md") == wrong_in_link(page, "nowhere.md#there") == "no such file"
    assert wrong_in_link(page, "promise.md#nowhere") == wrong_in_link(page, "#nowhere") == "no such heading"
    assert wrong_in_link(page, "../README.md").startswith("not part of the site")
    assert wrong_in_link(ROOT / "README.md", "docs/promise.md") == wrong_in_link(page, "promise.md") == ""


@cache
def defined_in(path: Path) -> set[str]:
    """The names of the tests in a file: functions, methods, and laws that are made and named."""
    if not path.is_file():
        return set()
    named = re.compile(r"^\s*(?:async )?(?:def )?(test_\w+)(?:\(| = )", re.MULTILINE)
    return set(named.findall(path.read_text("utf-8")))


@cache
def known_tests() -> dict[str, set[str]]:
    """The names of the tests in all files of a name; under the empty name, all tests."""
    found: dict[str, set[str]] = {"": set()}
    for path in (ROOT / "tests").rglob("test_*.py"):
        found.setdefault(path.name, set()).update(defined_in(path))
        found[""] |= defined_in(path)
    return found


def unknown_tests(page: str) -> list[str]:
    """The tests, and the files of tests, that a page names and that do not exist."""
    missing, known = [], known_tests()
    for named in filter(None, TEST.findall(page)):
        file, _, function = (
            named.rpartition("::") if "::" in named else (named, "", "") if named.endswith(".py") else ("", "", named)
        )
        if file not in known or (function and function not in known[file]):
            missing.append(named)
    return missing


def test_tests_that_are_named_exist():
    assert [(name, missing) for name in PAGES for missing in unknown_tests(text(name))] == []


def test_a_named_test_that_is_not_there_is_caught():
    sound = "`tests/test_docs.py::test_links_lead_somewhere`, `test_docs.py` and `test_links_lead_somewhere`"
    assert unknown_tests(sound) == []
    planted = ["test_nowhere.py::test_of_nothing", "test_nowhere.py", "test_of_nothing", "test_docs.py::test_of_nothing"]
    assert unknown_tests(" and ".join(f"`{name}`" for name in planted)) == planted


# --- nothing is left out -----------------------------------------------------------------------------------------------------


def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert (built.returncode, built.stdout) == (0, ""), built.stderr
    assert "∎" in (tmp_path / "proofs" / "grid.html").read_text("utf-8"), "proofs are part of the site"


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name Python objects that are of no interest here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def in_navigation() -> list[str]:
    def walk(item: object) -> list[str]:
        if isinstance(item, str):
            return [item]
        return [page for part in (item.values() if isinstance(item, dict) else item) for page in walk(part)]

    return walk(yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)["nav"])  # noqa: S506  # a safe loader all the same


def test_every_page_is_in_the_navigation_once():
    listed = in_navigation()
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    assert len({path.name for path in PROOFS}) == len(PROOFS), "proofs are put into the site by their names"


SHARED = {"mechanism", "additive"}  # what mechanisms are, and what two of them share


def mechanisms() -> dict[str, str]:
    """Modules of mechanisms/ with a class that releases something, and their docstrings."""
    found = {}
    for path in sorted((SOURCE / "mechanisms").rglob("*.py")):
        tree = tree_of(path)
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and path.stem not in SHARED]
        releasing = any(getattr(part, "name", "") == "release" for node in classes for part in node.body)
        if releasing or any("AdditiveNoise" in ast.dump(base) for node in classes for base in node.bases):
            found[str(path.relative_to(SOURCE / "mechanisms").with_suffix(""))] = ast.get_docstring(tree) or ""
    return found


def test_mechanisms_are_found_also_where_they_share_their_release():
    assert {"laplace", "gaussian", "exponential", "dirichlet/resampling", "selection"} <= set(mechanisms())


@pytest.mark.parametrize(("module", "docstring"), mechanisms().items())
def test_every_mechanism_has_its_proof_beside_it(module, docstring):
    path = SOURCE / "mechanisms" / f"{module}.md"
    beside = [path.with_name(name) for name in {path.name, *PROOF.findall(docstring)} if path.with_name(name).exists()]
    assert beside, f"{module}.py has no {module}.md, and its docstring names no other proof"
    assert any(re.search(r"proof|∎|QED", proof.read_text("utf-8"), re.IGNORECASE) for proof in beside)


def test_decisions_are_numbered_without_gaps():
    numbers = [int(path.name[:4]) for path in sorted((DOCS / "decisions").glob("[0-9]*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("path", sorted((DOCS / "decisions").glob("[0-9]*.md")), ids=lambda path: path.stem)
def test_a_decision_says_what_why_and_what_else(path):
    headings = re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)
    assert headings == ["The question", "The decision", "Why", "What else was considered", "Where it is"]


# --- the reference -----------------------------------------------------------------------------------------------------------


def section(page: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{level}}} |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def command_line() -> Any:
    """The module that writes the commands into their page."""
    spec = spec_from_file_location("command_line", DOCS / ".hooks" / "command_line.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_line_is_described():
    page = text("docs/reference/command-line.md")
    assert command_line().written(page) == page, "the commands have changed: `make docs` writes their page anew"
    assert not re.search(r"^\|( *\|)+$", page, re.MULTILINE), "a table without names of its columns is no table to a screen reader"
    assert "By default ." not in page


def test_every_command_and_option_is_there_and_says_what_it_does():
    page, known = text("docs/reference/command-line.md"), command_line().leaves(COMMAND)
    assert {"sql", "prepare", "ledger adopt"} <= set(known)
    for name, command in known.items():
        described = section(page, f"## tacit {name}")
        assert set(re.findall(r"^\| `(--[a-z-]+)", described, re.MULTILINE)) == options(command) - {"--help"}
        assert not re.search(r"^\| `--[a-z-]+` \|\s+\|", described, re.MULTILINE), f"an option of tacit {name} has no help"


def test_the_public_names_are_described():
    rows = re.findall(r"^\| `tacit\.(\w+)`", text("docs/reference/python.md"), re.MULTILINE)
    assert sorted(rows) == sorted(tacit.__all__)


@pytest.mark.parametrize("face", sorted(FACES))
def test_the_names_of_a_face_are_described(face):
    rows = re.findall(rf"^\| `tacit\.{face}\.(\w+)`", text("docs/reference/python.md"), re.MULTILINE)
    assert sorted(rows) == sorted(getattr(tacit, face).__all__)


def imported_deeply(page: str) -> list[str]:
    """The modules below `tacit` and its faces that the code of a page imports, or reaches by dots."""
    public = r"tacit(?:\.(?:" + "|".join([*FACES, "errors"]) + r"))?"
    code = "\n".join(block.text for block in pages.blocks(page) if block.language == "python")
    named = re.findall(r"(?:from|import)\s+(tacit[\w.]*)", code)
    chapters = [path.stem for path in SOURCE.iterdir() if path.stem not in FACES | {"errors", "__init__", "__main__"}]
    dotted = re.findall(rf"\btacit\.(?:{'|'.join(chapters)})\b[\w.]*", re.sub(r"^tacit\.errors\..*", "", code, flags=re.MULTILINE))
    return sorted({name for name in named if not re.fullmatch(public, name)} | set(dotted))


TAUGHT = [
    name
    for name in PAGES
    if name == "README.md" or name.startswith(("docs/guides/", "docs/ideas/", "docs/lectures/", "docs/start/", "docs/index"))
]


def test_pages_that_teach_use_public_names_only():
    assert [(name, module) for name in TAUGHT for module in imported_deeply(text(name))] == []
    assert len(TAUGHT) > 40


def test_a_deep_import_is_caught():
    page = (
        "```python\nimport tacit\nfrom tacit.local import KAry\nfrom tacit.publish.local import x\ntacit.mechanisms.laplace\n```\n"
    )
    assert imported_deeply(page) == ["tacit.mechanisms.laplace", "tacit.publish.local"]


def test_the_page_of_a_survey_is_the_one_whose_hash_is_shown(tmp_path):
    """Numbers of shown output are not compared, but people compare this one: the same declaration is the same page."""
    guide = text("docs/guides/surveys.md")
    (tmp_path / "survey.toml").write_text(next(block.text for block in pages.blocks(guide) if block.title == "survey.toml"))
    code, printed = pages.tacit("survey", "form", str(tmp_path / "survey.toml"), "--out", str(tmp_path / "form.html"))
    assert code == 0
    size, digest = re.search(r"(\d+ kB), self-contained\n(SHA-256 [0-9a-f]{64})", printed).groups()
    assert (size in guide, digest in guide) == (True, True), f"the page has changed: the guide should show {size} and {digest}"


def refusals() -> dict[str, str]:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.TacitError)]
    return {kind.__name__: getattr(kind, "code", "") for kind in classes}


def test_every_error_is_described_with_its_code():
    page = text("docs/reference/errors.md")
    described = dict(re.findall(r"^\| `(\w+)` \| (?:`(\w+)`)?", page, re.MULTILINE))
    assert described == refusals()


def declared_keys(schema: dict, path: str = "") -> set[str]:
    """Every key of tacit.toml, from its schema."""
    found: set[str] = set()
    for part in (schema, *schema.get("anyOf", ())):
        found |= set(part.get("properties", {}))
    return found


def test_every_key_of_the_catalog_is_described():
    schema = json.loads((SOURCE / "data" / "catalog" / "tacit.schema.json").read_text())
    keys = set().union(*(declared_keys(part) for part in (schema, *schema["properties"].values(), *schema["definitions"].values())))
    described = set(re.findall(r"^\| `([a-z_]+)`", text("docs/guides/catalog.md"), re.MULTILINE))
    assert described == keys


RULES = range(1, 24)
NAMED = re.compile(r"^- `(tests/[\w/]+\.py)::(test_\w+)`", re.MULTILINE)


def unkept(rule: str) -> list[str]:
    """What is wrong with a rule of the promise: tests that are not there, or neither a test nor a gap."""
    named = NAMED.findall(rule)
    missing = [f"{file}::{test}" for file, test in named if test not in defined_in(ROOT / file)]
    return missing or ([] if named or re.search(r"^Gap: \w+", rule, re.MULTILINE) else ["neither a test nor a gap"])


@pytest.mark.parametrize("number", RULES)
def test_every_rule_of_the_promise_has_its_test_or_its_gap(number):
    page = text("docs/promise.md")
    heading = re.search(rf"^### D{number} .+$", page, re.MULTILINE)
    assert heading, f"rule D{number} is not named"
    assert unkept(section(page, heading[0])) == []


def test_a_rule_without_test_or_gap_is_caught():
    assert unkept("We promise much.") == ["neither a test nor a gap"]
    assert unkept("- `tests/test_docs.py::test_of_nothing`") == ["tests/test_docs.py::test_of_nothing"]
    assert unkept("- `tests/test_nowhere.py::test_of_nothing`") == ["tests/test_nowhere.py::test_of_nothing"]
    assert unkept("Gap: there is no server.") == []


def test_the_promise_has_its_rules_in_order():
    found = re.findall(r"^### D(\d+) ", text("docs/promise.md"), re.MULTILINE)
    assert [int(number) for number in found] == list(RULES)


def test_the_glossary_is_in_order():
    words = re.findall(r"^\*\*(.+?)\*\*", text("docs/reference/glossary.md"), re.MULTILINE)
    assert words == sorted(words, key=str.lower)
    assert len(words) > 20


SEARCHED = """OnTheMap, census, differential privacy, SQL, epsilon, delta, sensitivity, Laplace, Gaussian, zCDP, synthetic data,
RAPPOR, randomized response, query auditing, reconstruction attack, k-anonymity, l-diversity, t-closeness"""


def topics() -> list[str]:
    """The first cells of the rows of Topics A to Z."""
    return re.findall(r"^\| (?!topic )(\w[^|]*) \|", text("docs/reference/topics.md"), re.MULTILINE)


def test_topics_are_in_order_and_lead_somewhere():
    assert topics() == sorted(topics(), key=str.lower)
    rows = [row for row in text("docs/reference/topics.md").splitlines() if row.startswith("| ")][1:]
    assert all("](" in row or "planned" in row for row in rows)


def test_what_people_search_for_is_a_topic():
    known = " ".join(topics()).lower()
    assert [word for word in SEARCHED.replace("\n", " ").split(", ") if word.lower() not in known] == []


def test_modules_that_pages_name_exist():
    for name in PAGES:
        for module in re.findall(r"`(tacit(?:\.(?!toml)[a-z_]+)+)`", text(name)):
            parent, _, last = module.rpartition(".")
            try:
                import_module(module)
            except ImportError:
                assert hasattr(import_module(parent), last), f"{name} names {module}"


def files_not_there(page: str) -> list[str]:
    """The files of the project that a page names and that do not exist."""
    named = re.findall(r"`((?:src/tacit|tests|benchmarks|docs)/[\w/.-]+\.(?:py|md|json|toml))`", page)
    return [file for file in named if not (ROOT / file).exists()]


def test_files_that_pages_name_exist():
    assert files_not_there("`docs/promise.md` and `src/tacit/nowhere.py`") == ["src/tacit/nowhere.py"]
    assert [(name, missing) for name in PAGES for missing in files_not_there(text(name))] == []


# --- SQL ---------------------------------------------------------------------------------------------------------------------


def asked(question: str):
    """The question as it is written, and understood and priced."""
    return parse(question), quoted(question)


def questions(name: str, title: str = "sql") -> list[tuple[str, str]]:
    """The questions of a page, and what is said after each."""
    found = re.findall(rf"^```{title}\n(.*?)^```$", text(name), re.MULTILINE | re.DOTALL)
    lines = [line for block in found for line in block.splitlines() if line.strip()]
    return [(question.strip(), note.strip()) for question, _, note in (line.partition("-- ") for line in lines)]


ASKED = [(name, question) for name in PAGES for question, _ in questions(name)]
REFUSED = [(name, question, code) for name in PAGES for question, code in questions(name, "sql refused")]


@pytest.mark.parametrize(("name", "question"), ASKED)
def test_questions_of_pages_are_answered(name, question):
    asked(question.rstrip(";"))


@pytest.mark.parametrize(("name", "question", "code"), REFUSED)
def test_questions_of_pages_are_refused_as_said(name, question, code):
    with pytest.raises(errors.Refused) as refused:
        asked(question.rstrip(";"))
    assert refused.value.code == code


def functions(expression: object) -> set[str]:
    if not isinstance(expression, Apply):
        return set()
    return {expression.function}.union(*map(functions, expression.arguments))


def test_everything_that_is_answered_is_in_the_reference():
    used: set[str] = set()
    for name, question in ASKED:
        if name == "docs/reference/sql.md":
            select = asked(question.rstrip(";"))[0]
            parts = [*(item.expression for item in select.items), *select.group_by, select.where, select.having]
            used |= set().union(*map(functions, parts))
    assert (set(FUNCTIONS) | set(CONDITIONS) | set(WRITTEN) | {"case"}) - used == set()
