"""The export list: what `import tacit` offers, that all of it loads, and that importing costs nothing."""

import ast
import inspect
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import tacit
from sources import MODULES, nodes, tree_of

FRONT = Path(tacit.__file__)
HEAVY = {
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "altair",
    "duckdb",
    "ibis",
    "sqlglot",
    "sqlalchemy",
    "rich",
    "typer",
    "cryptography",
}
EXPORTED = [
    "ADD_REMOVE",
    "CHANGE_ONE",
    "Answer",
    "Answers",
    "Approximate",
    "Concentrated",
    "DataSet",
    "DirichletResampling",
    "Exponential",
    "Gaussian",
    "GaussianKeyThreshold",
    "Interval",
    "KeyThreshold",
    "Laplace",
    "Neighbours",
    "NoisyMax",
    "Probabilistic",
    "Pure",
    "Quantile",
    "QuantileWithInterval",
    "RandomizedResponse",
    "Sealed",
    "Session",
    "SmoothQuantile",
    "SmoothTrimmedMean",
    "SparseVector",
    "Universe",
    "__version__",
    "attack",
    "audit",
    "composition",
    "connect",
    "dbapi",
    "errors",
    "graphs",
    "init",
    "local",
    "open",
    "sensitivity",
    "show",
    "survey",
    "synthesize",
    "tables",
    "train",
    "verify",
]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout


def seen_by_type_checkers() -> set[str]:
    """The names that the front page imports under TYPE_CHECKING."""
    block = next(node for node in ast.parse(FRONT.read_text()).body if isinstance(node, ast.If))
    imported = [node for node in block.body if isinstance(node, ast.Import | ast.ImportFrom)]
    annotated = [node.target.id for node in block.body if isinstance(node, ast.AnnAssign)]
    return {alias.asname or alias.name for node in imported for alias in node.names} | set(annotated)


def test_the_export_list_is_meant():
    """A name that comes or goes here is a change for everybody: it is made in two places, and told in the changelog."""
    assert tacit.__all__ == EXPORTED
    assert sorted(tacit.__all__) == dir(tacit)


@pytest.mark.parametrize("name", EXPORTED)
def test_every_name_loads_from_its_home(name):
    value = getattr(tacit, name)
    if isinstance(value, type):
        assert value.__name__ == name
        assert value.__module__.startswith("tacit.")


def test_type_checkers_see_the_same_names():
    assert seen_by_type_checkers() == set(EXPORTED)


def test_a_misspelt_name_is_an_error_that_knows_the_right_one():
    with pytest.raises(AttributeError, match="no attribute 'Laplac'"):
        tacit.Laplac  # noqa: B018
    assert not hasattr(tacit, "_HOMES_")


def test_importing_loads_nothing_heavy():
    loaded = set(run("import sys, tacit; print(*{name.partition('.')[0] for name in sys.modules})").split())
    assert loaded & HEAVY == set()
    assert {"numpy"} <= set(run("import sys, tacit; tacit.Laplace; print(*sys.modules)").split()), "the search sees what is loaded"


@pytest.mark.slow  # a clock is read: other work on the machine can disturb it
def test_importing_is_quick():
    """Below 0.3 s beyond the start of Python itself; the best of three, since the machine may be busy."""

    def seconds(code: str) -> float:
        began = time.perf_counter()
        run(code)
        return time.perf_counter() - began

    assert min(seconds("import tacit") for _ in range(3)) - min(seconds("pass") for _ in range(3)) < 0.3


def test_the_version_is_that_of_the_package():
    written = next(line for line in (FRONT.parents[2] / "pyproject.toml").read_text().splitlines() if line.startswith("version"))
    assert f'"{tacit.__version__}"' in written


# --- the faces ---------------------------------------------------------------------------------------------------------------

FACES = {
    "attack": "Attacker BlackBox DifferentValues Exact FullDomain GroupSize Grouping LocalRecoding MinimumSize MostShare Noise "
    "Noisy Person Rounding Suppressing Target Tolerance aims averaging coalition collude differencing downcode "
    "email_graph fair_bits floating_point grouping homogeneity hostile_key link minimality planted posterior re_identify "
    "rebuild reconstruction session simple_plan told_apart tracing tracker walk_plan",
    "audit": "Data Denial Desk ExactAnswer Private auditor check_simulatable question read replayed",
    "composition": "NOTHING_SPENT Filter advanced advanced_tighter batch_loss compare_totals cost events exact_pure "
    "for_change_one loss parallel sequential",
    "dbapi": "BINARY DATETIME NUMBER ROWID STRING Binary Connection Cursor DataError DatabaseError Date DateFromTicks Error "
    "IntegrityError InterfaceError InternalError NotSupportedError OperationalError ProgrammingError Time TimeFromTicks Timestamp "
    "TimestampFromTicks Warning apilevel connect paramstyle threadsafety",
    "graphs": "Candidates Graph Network Published TwoSided Utility anonymous_degrees begin_graph_ledger bipartite build "
    "candidates check_k_degree check_k_neighbourhood colours_of degree_histogram distinct_right edges_between estimated "
    "fixed_point graph_of_degrees is_graphical k_degree k_neighbourhood like load naive nearest_graphical "
    "open_graph_ledger read release_degrees "
    "release_edges release_stars release_triangles safe_example sampled save sized_groups unsafe_example utility",
    "local": "Account Binary BloomRappor End HadamardResponse KAry LocalHashing Numeric PrefixTree Rappor Request Sampled Sets "
    "Split Tally Unary Words choose compare estimate heavy_hitters permanent plan plan_difference posterior quantiles reach "
    "simulate",
    "sensitivity": "Reach centred_total count counts_l1 counts_l2 fraction histogram_l1 histogram_l2 largest largest_change "
    "lower_median mean midpoint_median population_variance quiz sample_variance sensitivity_of smallest smooth_order_statistic "
    "smooth_trimmed_mean sorted_rows total",
    "show": "Example Laws Sensitivity Totals audit colours commutes compare_totals counties difference neighbouring_laws quiz "
    "sensitivity_of thresholds urn weeding",
    "survey": "Form Request Store Survey chart compare estimate load page parse to_csv",
    "synthesize": "Aim Terms check_analysis combine contingency fake_share independent made_state map offered table tables tree "
    "undropped workload write_public_report",
    "tables": "AlphaK Anonymized AtLeast Blind ClassI ClassII ClassIII ClassIV Closeness DeltaDisclosure DistinctDiversity "
    "EntropyDiversity FrequencyDiversity Hierarchy KAnonymity Normal Pareto PersonalizedPrivacy Poisson Prior "
    "RecursiveDiversity Release Requirements Table Tree anonymize cell_bounds consistent count_tables dates "
    "group_report intervals journalist prefixes prosecutor range_beliefs read_configuration released rows_of "
    "sample_risk strictest suppress",
    "train": "Classifier Training classifier explain read",
    "verify": "Check Coverage Effort EpsilonBound Law Report contract coverage coverage_of_draws epsilon epsilon_of_laws "
    "epsilon_of_samplers epsilon_with_clock timed",
}


@pytest.mark.parametrize("face", FACES)
def test_a_face_offers_what_is_meant_and_nothing_else(face):
    module = import_module(f"tacit.{face}")
    assert module is getattr(tacit, face)
    assert module.__all__ == FACES[face].split()
    assert {name for name in module.__all__ if not hasattr(module, name)} == set()
    assert all(getattr(module, name).__doc__ for name in module.__all__)
    assert ">>> " in module.__doc__


def test_every_face_is_here():
    assert {name for name in EXPORTED if inspect.ismodule(getattr(tacit, name))} == {*FACES, "errors"}


def test_names_are_imported_from_faces():
    assert run("from tacit.verify import epsilon\nimport tacit.survey\nprint(tacit.survey.load.__name__)") == "read_survey\n"


# --- what reaches which module -----------------------------------------------------------------------------------------------

BY_NOBODY: dict[str, str] = {}  # a module of publish/, evidence/ or mechanisms/ that only its tests use, with the reason


@cache
def imports_of(module: str) -> set[str]:
    """The modules of tacit that a module imports, anywhere in it, or names in full as a text, to be loaded later."""
    found = set()
    for node in nodes(tree_of(MODULES[module]), ast.Import, ast.ImportFrom, ast.Constant):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node.value, str) and node.value.count(".") > 1:
            found.add(node.value)
    return found & MODULES.keys() - {"tacit"}


def reached_from(entrances: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(entrances)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += imports_of(module)
    return seen


def unreached(entrances: Iterable[str]) -> set[str]:
    reached = reached_from(entrances)
    bodies = {name for name, path in MODULES.items() if path.name != "__init__.py"}
    chapters = ("tacit.publish.", "tacit.evidence.", "tacit.mechanisms.", "tacit.accounting.")
    return {name for name in bodies - reached if name.startswith(chapters) and not name.rpartition(".")[2].startswith("_")}


ENTRANCES = ["tacit", "tacit.__main__", *(f"tacit.{face}" for face in FACES)]


def test_every_module_serves_a_command_or_a_public_name():
    assert unreached(ENTRANCES) == BY_NOBODY.keys()


def test_a_module_that_serves_nobody_is_caught():
    """Without the faces, these would be proved and tested for no user."""
    alone = {"heavy_hitters", "quantiles", "posterior"}
    assert alone <= {name.rpartition(".")[2] for name in unreached(["tacit.__main__"])}
