"""Each chapter imports lower ones only: the tree of the package is a book that can be read from the front."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

from sources import MODULES, SOURCE, nodes, tree_of

ORDER = [
    "untrusted",
    "errors",
    "files",
    "chart",
    "privacy",
    "accounting",
    "mechanisms",
    "data",
    "query",
    "release",
    "data_set",
    "session",
    "publish",
    "evidence",
    "doors",
]
FACES = {
    "attack",
    "audit",
    "composition",
    "dbapi",
    "graphs",
    "local",
    "sensitivity",
    "show",
    "survey",
    "synthesize",
    "tables",
    "train",
    "verify",
}
FRONT = {"__init__", "__main__", *FACES}  # they may import every chapter, and no chapter imports them


def chapter(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported(tree: ast.AST) -> set[str]:
    """Every module of tacit that a tree imports, also inside functions and under TYPE_CHECKING."""
    found = set()
    for node in nodes(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "tacit"}
        else:
            assert node.level == 0, "imports are absolute, so that this test can read them"
            if node.module and node.module.split(".")[0] == "tacit":
                found |= {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "tacit" else {node.module}
    return found


def breaches(module: str, tree: ast.AST) -> set[str]:
    here = chapter(module)
    if here in FRONT:
        return set()
    rank = ORDER.index(here)
    return {name for name in imported(tree) if chapter(name) in FRONT or ORDER.index(chapter(name)) > rank}


def test_imports_lower_chapters_only():
    found = {module: breaches(module, tree_of(path)) for module, path in MODULES.items()}
    assert {module: names for module, names in found.items() if names} == {}


def test_a_planted_breach_is_seen():
    planted = ast.parse("def f():\n    from tacit.doors.cli import main\n")
    assert breaches("tacit.privacy.loss", planted) == {"tacit.doors.cli"}
    assert breaches("tacit.doors.cli", planted) == set()
    assert breaches("tacit.doors.cli", ast.parse("from tacit.survey import load")) == {"tacit.survey"}


def test_a_face_holds_no_code_of_its_own():
    """Faces say what is public, and nothing else: what they did would be out of every chapter's sight."""
    for face in FACES:
        for node in tree_of(SOURCE / f"{face}.py").body[1:]:
            listing = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            assert isinstance(node, ast.ImportFrom) or listing, f"{face}: {ast.unparse(node)}"


def test_there_are_nine_chapters_and_no_junk_drawer():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ORDER)
    assert len(folders) == 9
    names = {path.stem for path in SOURCE.rglob("*")}
    assert not names & {"utils", "util", "helpers", "common", "manager", "misc"}


# --- cycles ------------------------------------------------------------------------------------------------------------------


def at_import(tree: ast.AST) -> Iterator[str]:
    """The modules of tacit that are imported when a module is: not inside functions, nor for type checking alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        yield from at_import(node)


def folder(module: str) -> str:
    """The folder of a module, as a path; the front of the package is in none."""
    return str(MODULES[module].relative_to(SOURCE).parent)


def folders_of(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Which folder imports from which; a folder and its sub-folders count as one."""
    found: dict[str, set[str]] = {}
    for module, imports in edges.items():
        here = folder(module)
        there = {folder(name) for name in imports} - {"."}
        found.setdefault(here, set()).update(
            name for name in there if not f"{name}/".startswith(f"{here}/") and not f"{here}/".startswith(f"{name}/")
        )
    return found


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Some cycle of a graph, or nothing."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def edges() -> dict[str, set[str]]:
    """Which module imports which when it is imported."""
    return {module: set(at_import(tree_of(path))) & set(MODULES) - {module} for module, path in MODULES.items()}


def test_no_module_imports_itself_by_a_detour():
    assert cycle(edges()) == []


def test_no_folder_imports_itself_by_a_detour():
    assert cycle(folders_of(edges())) == []


def test_planted_cycles_are_seen():
    planted = {name: set(imports) for name, imports in edges().items()}
    planted["tacit.query.intervals.aggregates"].add("tacit.query.passes")
    assert cycle(planted)
    planted = {name: set(imports) for name, imports in edges().items()}
    planted["tacit.query.binding.terms"].add("tacit.query.released.windows")
    assert cycle(folders_of(planted))
    assert not cycle({"a": {"b"}, "b": set()})


def test_the_map_has_a_line_for_every_folder():
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    named = re.findall(r"^\| *\d* *\| *`([a-z_/]+)/` *\|", text, re.MULTILINE)
    folders = sorted({folder(module) for module in MODULES} - {"."})
    assert sorted(named) == folders


# --- the map and the tree ----------------------------------------------------------------------------------------------------

LANGUAGE = "tacit.query.language"


def of_sqlglot(tree: ast.AST) -> bool:
    """Whether a tree imports sqlglot, anywhere in it."""
    return any(
        name.partition(".")[0] == "sqlglot"
        for node in nodes(tree, ast.Import, ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    )


def test_the_map_says_which_modules_import_sqlglot():
    (line,) = re.findall(r"^.*`query/language/`.*$", (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    importing = [path.name for module, path in MODULES.items() if not module.startswith(LANGUAGE) and of_sqlglot(tree_of(path))]
    assert sorted(re.findall(r"`(\w+\.py)`(?!\])", line)) == sorted(importing)
    assert of_sqlglot(ast.parse("def f():\n    import sqlglot.expressions as sge\n"))


def test_the_map_names_every_face():
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    (told,) = re.findall(r"stand the (\w+) public modules: (.*?)\. They list", text, re.DOTALL)
    assert (told[0], set(re.findall(r"`tacit\.(\w+)`", told[1]))) == ("thirteen", FACES)
    assert len(FACES) == 13


def test_the_embedded_engine_loads_nothing_of_spark():
    """Only the server, which hands its engines an address, imports a module of a cluster together with itself."""
    meeting = {
        module
        for module, imports in edges().items()
        if ".spark." not in module and any(".spark." in f"{name}." for name in imports)
    }
    assert {module for module in meeting if not module.startswith("tacit.doors.server.")} == set()
    assert "tacit.data.spark.session" in edges()["tacit.data.spark.making"], "the search sees what is imported"
