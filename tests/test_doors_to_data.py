"""Rules that hold for the whole tree: who may open a sealed answer, and who may touch randomness."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "tacit"
FILES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}
RANDOM_MODULES = {"random", "secrets", "uuid"}
RANDOM_CALLS = {"urandom", "getrandom", "default_rng", "SystemRandom", "RandomState", "AESGCM"}
MAY_DRAW = {"mechanisms/noise/bits.py"}


def opens_a_seal(tree: ast.AST) -> bool:
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return "unseal" in names or bool({"unseal", "_Sealed__value"} & (texts | names))


def draws_randomness(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] in RANDOM_MODULES}
            found |= {alias.name for alias in node.names if alias.name.startswith("numpy.random")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in RANDOM_MODULES:
            found.add(node.module or "")
        elif isinstance(node, ast.Attribute) and node.attr in RANDOM_CALLS:
            found.add(node.attr)
        elif isinstance(node, ast.Attribute) and node.attr == "random" and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.random")
    return found


@pytest.mark.parametrize("name", FILES)
def test_only_mechanisms_open_a_sealed_answer(name):
    if name.startswith("mechanisms/") or name == "privacy/sealed.py":
        return
    assert not opens_a_seal(ast.parse(FILES[name].read_text()))


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith(("evidence/", "doors/"))])
def test_noise_has_one_door_to_randomness(name):
    if name in MAY_DRAW:
        return
    assert draws_randomness(ast.parse(FILES[name].read_text())) == set()


def test_both_searches_find_what_they_look_for():
    assert opens_a_seal(ast.parse("x.unseal()"))
    assert opens_a_seal(ast.parse("getattr(x, 'unseal')"))
    assert not opens_a_seal(ast.parse("x.release()"))
    assert draws_randomness(ast.parse("import random")) == {"random"}
    assert draws_randomness(ast.parse("np.random.default_rng(3)")) == {"default_rng", "np.random"}
    assert draws_randomness(ast.parse("os.urandom(3)")) == {"urandom"}
