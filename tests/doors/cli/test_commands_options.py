"""An error that leaves through the command line names options, and help shows a type only where a value is taken."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from pages import ROOT, tacit
from sources import MODULES, nodes, tree_of
from tacit import errors
from tacit.doors.cli.commands import COMMANDS, GROUPS, options_of, with_options

EXAMPLE = str(ROOT / "examples" / "survey.toml")
WRONG = [" 12", "1_2", "\uff11\uff12", "\u0663"]
SIMULATE = ("survey", "simulate", "--n", "50", "--runs", "1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*SIMULATE, "--confidence", "2"), "--confidence must be above 0 and below 1, not 2.0; give for example --confidence 0.95"),
        ((*SIMULATE, "--p", "2"), "--p must be a probability"),
        (
            ("survey", "plan", EXAMPLE, "--error", "1e-9"),
            "--error is too small: it requires more than 10,000,000,000 people; give a larger one, or a larger epsilon",
        ),
        (("synthesize", "noise-table", "--blocks", "0"), "--blocks must be a whole number above 0, such as 1000000 or 1e6, not 0"),
        (("synthesize", "noise-table", "--m", "0"), "--m must be a whole number above 0"),
        (("synthesize", "state", "nowhere", "--radius", "nan"), "invalid radius nan"),
        ((*SIMULATE, "--epsilon", "0"), "give for example --epsilon 0.5"),
        ((*SIMULATE, "--epsilons", "1,0"), "--epsilons must be a finite number above 0, not 0; give for example --epsilons 0.5"),
        (
            ("synthesize", "noise-table", "--delta", "3"),
            "--delta must be at least 0 and below 1, not 3; give for example --delta 1e-6",
        ),
        (
            ("synthesize", "noise-table", "--ratios", "1"),
            "--ratios must be above 1 (it is e^epsilon), not 1; give for example --ratios 20 (epsilon",
        ),
    ],
)
def test_an_error_names_the_option_that_was_typed(words, said):
    code, printed = tacit(*words)
    assert code == 2
    assert said in printed
    assert not re.search(r"\w=\S", printed)


def test_so_does_an_error_in_json():
    _, printed = tacit(*SIMULATE, "--confidence", "2", "--json")
    assert json.loads(printed)["error"]["message"].endswith("give for example --confidence 0.95")


@pytest.mark.parametrize(
    "text",
    [
        "column 'epsilon=1' is not there",
        "the analyst's epsilonic=1 stays, and so does `epsilon=1`",
        "an epsilon is no epsilon",
        "--epsilon=1 is how an option is written already",
        "my_epsilon=1",
    ],
)
def test_what_is_no_argument_stays_as_it_was_written(text):
    assert with_options(text, ["epsilon"], {"epsilon": "--epsilon"}) == text


def test_an_argument_that_an_error_does_not_carry_stays():
    options = {"epsilon": "--epsilon", "error": "--error"}
    assert with_options("epsilon must fit; give error=5", ["epsilon", "steps"], options) == "--epsilon must fit; give error=5"
    assert with_options("give epsilon=1, or error=5", ["epsilon", "error"], options) == "give --epsilon 1, or --error 5"


# --- every error carries the arguments that it names -----------------------------------------------------------------------------


def option_names() -> set[str]:
    """The arguments that some command has as options."""
    alone = [getattr(import_module(module), name) for name, (module, _) in COMMANDS.items()]
    grouped = [command for module, _ in GROUPS.values() for command in import_module(module).COMMANDS.values()]
    return {argument for command in (*alone, *grouped) for argument in options_of(command)}


CARRYING = {
    name for name, kind in vars(errors).items() if inspect.isclass(kind) and "argument" in inspect.signature(kind).parameters
}
VERBS = "must|is|are|needs|lies"


def missing(tree: ast.Module, options: set[str]) -> Iterator[str]:
    """The arguments that the text of an error names, by their words or as `{name}`, and that it does not carry."""
    names = "|".join(map(re.escape, sorted(options)))
    pattern = re.compile(rf"(?<![\w-])({names}|{{name}})=(?=[^\s,;()])|\A({names}|{{name}})(?= (?:{VERBS})\b)")
    for call in nodes(tree, ast.Call):
        if not isinstance(call.func, ast.Name) or call.func.id not in CARRYING:
            continue
        carried = "".join(ast.unparse(each.value) for each in call.keywords if each.arg == "argument")
        for text in (call.args[:1], [each.value for each in call.keywords if each.arg == "remedy"]):
            for first, second in pattern.findall("".join(map(words, text))):
                argument = (first or second).strip("{}") if "{" in (first or second) else repr(first or second)
                if argument not in carried:
                    yield f"{call.lineno}: {argument}"


def words(text: ast.expr) -> str:
    """A text as it is written, with `{...}` for what is filled in; empty for anything else."""
    if isinstance(text, ast.Constant):
        return str(text.value)
    if not isinstance(text, ast.JoinedStr):
        return ""
    return "".join(part.value if isinstance(part, ast.Constant) else filled(part) for part in text.values)  # type: ignore[misc]


def filled(part: ast.expr) -> str:
    assert isinstance(part, ast.FormattedValue)
    return "{...}" if part.conversion != -1 else f"{{{ast.unparse(part.value)}}}"


def test_an_error_carries_the_arguments_that_it_names():
    options = option_names()
    assert {"epsilon", "confidence", "half_width", "k"} <= options
    library = {name: path for name, path in MODULES.items() if not name.startswith("tacit.doors.cli")}
    assert {name: found for name, path in library.items() if (found := list(missing(tree_of(path), options)))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('raise InvalidInput("k must be at least 1")', ["1: 'k'"]),
        ('raise InvalidInput("k must be at least 1", argument="k")', []),
        ('raise NoBudget("none", remedy="give epsilon=1, or error=5", argument="epsilon")', ["1: 'error'"]),
        ('raise InvalidInput(f"{name} must be above 0")', ["1: name"]),
        ('raise InvalidInput(f"{name!r} is not an analyst")', []),
    ],
)
def test_an_argument_that_is_not_carried_is_noticed(source, found):
    assert list(missing(ast.parse(source), {"k", "epsilon", "error"})) == found


@pytest.mark.parametrize("words", [(), ("survey",), ("synthesize", "map"), ("sql",)])
def test_help_shows_no_type_of_an_option_that_takes_no_value(words):
    code, printed = tacit(*words, "--help")
    assert code == 0
    assert "--help" in printed
    assert "<bool>" not in printed


# --- numbers are ASCII decimals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("option", ["--n", "--confidence", "--epsilon"])
def test_a_number_that_people_would_not_read_is_refused(option: str, text: str) -> None:
    """Whole numbers and floats of the framework, and budgets that tacit reads."""
    code, printed = tacit("survey", "simulate", "--n", "50", "--runs", "1", option, text)
    assert code == 2, printed


def test_plain_numbers_are_taken() -> None:
    assert tacit("survey", "simulate", "--n", "50", "--runs", "1", "--confidence", ".9", "--epsilon", "1e0")[0] == 0
