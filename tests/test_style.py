"""Files for one sitting, short functions, and a sentence for everything that can be called: measured, so that it stays so."""

import ast
from collections.abc import Iterator

from sources import FILES, nodes, tree_of

Function = ast.FunctionDef | ast.AsyncFunctionDef

DESCRIBED = 0.95  # share of the public functions, classes and methods with a docstring
LONGEST_FILE = 500  # lines
LONGEST_FUNCTION = 52  # lines, its signature and docstring included


def public(tree: ast.Module | ast.ClassDef) -> Iterator[Function | ast.ClassDef]:
    """What a reader may call: the public definitions of a module, and those of its public classes."""
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node)


def undescribed(tree: ast.Module) -> list[str]:
    return [node.name for node in public(tree) if not ast.get_docstring(node)]


def too_long(tree: ast.Module) -> list[str]:
    functions = nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in functions if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION]


def test_public_functions_say_what_comes_back():
    everything = sum(len(list(public(tree_of(path)))) for path in FILES.values())
    missing = {name: names for name, path in FILES.items() if (names := undescribed(tree_of(path)))}
    assert everything > 2000
    assert 1 - sum(map(len, missing.values())) / everything >= DESCRIBED, missing


def test_files_fit_in_one_sitting():
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in FILES.items()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_functions_fit_on_one_screen():
    assert {name: names for name, path in FILES.items() if (names := too_long(tree_of(path)))} == {}


def test_the_measures_see():
    planted = ast.parse(
        "class Public:\n    def told(self):\n        'Says it.'\n    def silent(self): ...\n    def _own(self): ...\n"
    )
    assert undescribed(planted) == ["Public", "silent"]
    assert too_long(ast.parse("def long():\n" + "    x = 1\n" * LONGEST_FUNCTION)) == ["long"]
    assert too_long(ast.parse("def short():\n" + "    x = 1\n" * (LONGEST_FUNCTION - 1))) == []
