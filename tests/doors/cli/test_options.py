"""An error that leaves through the command line names options, and help shows a type only where a value is taken."""

from __future__ import annotations

import json
import re

import pytest

from pages import ROOT, tacit
from tacit.doors.cli.options import in_options

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
    assert in_options(text, {"epsilon": "--epsilon"}) == text


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
