"""Rules that hold for the whole tree: who may open a sealed answer, a store or an engine, and who may touch randomness."""

import ast

import pytest

from sources import FILES, nodes, tree_of

RANDOM_MODULES = {"random", "secrets", "uuid"}
RANDOM_CALLS = {"urandom", "getrandom", "default_rng", "SystemRandom", "RandomState", "AESGCM"}
MAY_DRAW = {"mechanisms/noise/bits.py"}
SEEDED = "publish/graphs/"  # searches, renamings and samples that a seed repeats; none of it is noise, and what is stays checked:
NOISE = "publish/graphs/private/"
MAY_OPEN = {
    "publish/local/randomizers/randomizer.py": "a randomizer is a mechanism: it runs on the device of the person whose value it is",
    "release/curators.py": "the owner's door: reports that compare with the real data, for those who hold it",
}
OWNERS = {
    "publish/synthetic/commuters/flows.py": "counts, for the owner, what is in a file of flows",
    "publish/synthetic/commuters/report.py": "compares a published map with the real one, on the owner's page",
    "publish/synthetic/rows/utility.py": "compares synthetic rows with the real ones, on the owner's page",
    "evidence/attacks/longest_commute.py": "an attack knows everybody else's homes, and checks its guesses",
}
STORE = {"store_file", "open_store", "read_parquet", "read_csv_auto"}  # the store's path, and ways to an engine on files
MAY_TOUCH_THE_STORE = ("query/engines/", "data/")
MAY_TOUCH_DUCKDB = {"doors/cli/demo/hospital.py": "asks plain DuckDB, without protection, about people who were made up"}


def opens_a_seal(tree: ast.AST) -> bool:
    names = {node.attr for node in nodes(tree, ast.Attribute)}
    texts = {node.value for node in nodes(tree, ast.Constant) if isinstance(node.value, str)}
    taken = imported_names(tree, "tacit.mechanisms.unseal")
    return "unseal" in names or "opened" in taken or bool({"unseal", "_Sealed__value"} & (texts | names))


def imported_names(tree: ast.AST, module: str) -> set[str]:
    """The names that are taken from a module; the module as a whole counts as all of them."""
    found: set[str] = set()
    for node in nodes(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if node.module == module}
            found |= {"opened" for alias in node.names if f"{node.module}.{alias.name}" == module}
        else:
            found |= {"opened" for alias in node.names if alias.name == module}
    return found


def opens_for_the_owner(tree: ast.AST) -> bool:
    names = {node.id for node in nodes(tree, ast.Name)}
    return "for_the_owner" in names | {node.attr for node in nodes(tree, ast.Attribute)}


def touches_a_store(tree: ast.AST) -> set[str]:
    """What a module has of DuckDB, of the engine's own module, or of the place of the store."""
    found: set[str] = set()
    for node in nodes(tree, ast.Import, ast.ImportFrom, ast.Attribute, ast.Constant):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if "duckdb" in alias.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in whole if "duckdb" in name.split(".")} | {alias.name for alias in node.names} & STORE
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} if node.attr in STORE or node.attr == "duckdb" else set()
        elif isinstance(node.value, str) and node.value.endswith("store.duckdb"):
            found.add(node.value)
    return found


def draws_randomness(tree: ast.AST) -> set[str]:
    found = set()
    for node in nodes(tree, ast.Import, ast.ImportFrom, ast.Attribute):
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


def test_only_mechanisms_open_a_sealed_answer():
    others = (name for name in FILES if not name.startswith("mechanisms/") and name != "privacy/sealed.py" and name not in MAY_OPEN)
    assert [name for name in others if opens_a_seal(tree_of(FILES[name]))] == []


def test_the_owners_door_is_used_where_it_is_listed_and_nowhere_else():
    users = {name for name, path in FILES.items() if opens_for_the_owner(tree_of(path))}
    assert users == set(OWNERS)
    assert set(MAY_OPEN) <= set(FILES)


def test_only_engines_and_preparation_touch_the_store():
    others = {name: touches_a_store(tree_of(path)) for name, path in FILES.items() if not name.startswith(MAY_TOUCH_THE_STORE)}
    excused = {name for name, found in others.items() if name in MAY_TOUCH_DUCKDB and found <= {"duckdb", "read_parquet"}}
    assert {name: found for name, found in others.items() if found and name not in excused} == {}


def test_noise_has_one_door_to_randomness():
    for_noise = (name for name in FILES if not name.startswith(("evidence/", "doors/cli/")) and name not in MAY_DRAW)
    unseeded = [name for name in for_noise if not name.startswith(SEEDED) or name.startswith(NOISE)]
    assert len(unseeded) > len(FILES) // 2
    assert {name: found for name in unseeded if (found := draws_randomness(tree_of(FILES[name])))} == {}


PLANTED = (
    "import duckdb",
    "def f():\n    from duckdb import connect",
    "from tacit.query.engines.duckdb import DuckDBEngine",
    "from tacit.query.engines import duckdb",
    "from tacit.data.store import open_store",
    "from tacit.data import store\nstore.store_file(catalog)",
    "ibis.duckdb.connect('x')",
    "open(folder / 'store.duckdb')",
)


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_way_to_the_store_is_seen(text):
    assert touches_a_store(ast.parse(text))


def test_what_goes_through_the_seam_is_no_breach():
    through = "from tacit.query.engines import engine_for\nengine_for(catalog).tallies(bound, ['a'])\nkinds = ('duckdb', 'csv')"
    assert not touches_a_store(ast.parse(through))


def test_both_searches_find_what_they_look_for():
    assert opens_a_seal(ast.parse("from tacit.mechanisms.unseal import opened\nopened(x)"))
    assert opens_a_seal(ast.parse("from tacit.mechanisms import unseal"))
    assert opens_a_seal(ast.parse("import tacit.mechanisms.unseal as u"))
    assert not opens_a_seal(ast.parse("from tacit.mechanisms.unseal import marginal"))
    assert opens_for_the_owner(ast.parse("from tacit.release.curators import for_the_owner\nfor_the_owner(x)"))
    assert opens_for_the_owner(ast.parse("from tacit.release import curators\ncurators.for_the_owner(x)"))
    assert opens_a_seal(ast.parse("x.unseal()"))
    assert opens_a_seal(ast.parse("getattr(x, 'unseal')"))
    assert not opens_a_seal(ast.parse("x.release()"))
    assert draws_randomness(ast.parse("import random")) == {"random"}
    assert draws_randomness(ast.parse("np.random.default_rng(3)")) == {"default_rng", "np.random"}
    assert draws_randomness(ast.parse("os.urandom(3)")) == {"urandom"}
