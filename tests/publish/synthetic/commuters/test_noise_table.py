"""The table of noise per block, in Python and on the command line."""

from __future__ import annotations

import json
import time
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.mechanisms.dirichlet.calibration import PublicFacts
from tacit.mechanisms.noise.urn import BlockClass
from tacit.publish.synthetic.commuters.noise_table import fake_share, noise_table, total_up, written_up

run = CliRunner().invoke
COMMAND = ["synthesize", "noise-table", "--n", "1e6", "--m", "1e6", "--blocks", "1e5", "--delta", "1e-5"]
MILLION = 10**6
DROPPED = ["synthesize", "noise-table", "--blocks", "120690", "--ratios", "100", "--keep", "0.0378"]


def test_the_command_prints_the_table():
    printed = run(app, COMMAND)
    assert printed.exit_code == 0
    rows = [line.split() for line in printed.output.splitlines() if line.strip() and line.split()[0] in ("5", "10", "20", "50")]
    assert [row[0] for row in rows] == ["5", "10", "20", "50"]
    assert [row[1] for row in rows] == ["1.6094", "2.3026", "2.9957", "3.9120"]
    assert [row[2] for row in rows] == ["250000", "111112", "52632", "20409"]
    assert [row[3] for row in rows] == ["21.50", "5.667", "2.158", "0.735"]
    assert "One job moves" in printed.output
    assert "ratio^j" in " ".join(printed.output.split())


def test_the_totals_are_blocks_times_noise():
    """The tutorial's eight million blocks: 160 billion fake workers where 20,000 stand on each, and 6 million with 0.74."""
    assert (total_up(Fraction(20_000), 8 * MILLION), total_up(Fraction("0.74"), 8 * MILLION)) == ("160 billion", "5.92 million")
    command = ["synthesize", "noise-table", "--blocks", "8e6", "--ratios", "50"]
    printed = run(app, command).output
    assert "164 billion" in printed, "20,409 on each, which the tutorial rounds to 20,000"
    assert "7.03 million" in printed
    (row,) = json.loads(run(app, [*command, "--json"]).stdout)["rows"]
    assert Fraction(row["pure_total"]) == 8 * MILLION * Fraction(row["pure"])
    assert Fraction(row["probabilistic_total"]) == 8 * MILLION * Fraction(row["probabilistic"])


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ("0.999", "999"),
        ("999.9991", "1.00 million"),
        ("123456", "124 million"),
        ("1e9", "1.00 trillion"),
        ("1234e9", "1,234 trillion"),
    ],
)
def test_totals_are_rounded_up(noise, words):
    assert total_up(Fraction(noise), 1000) == words


def test_no_number_of_blocks_gives_the_tutorials_row():
    """17.5, 5.5, 2.16 and 0.74: the noise grows with the blocks, and each of them needs another number of blocks."""
    published = dict(zip((5, 10, 20, 50), ("17.5", "5.5", "2.16", "0.74"), strict=True))
    few, some, many = (
        noise_table(PublicFacts(MILLION, MILLION, (BlockClass(blocks),)), 1e-5) for blocks in (5_000, 10_000, 200_000)
    )
    assert few[0].probable > Fraction(published[5]), "17.5 needs fewer than 5,000 blocks"
    assert some[3].probable < some[2].probable < Fraction(published[20]), "2.16 and 0.74 need more than 10,000"
    assert some[3].probable < Fraction(published[50]) < many[3].probable
    assert some[1].probable < Fraction(published[10]) < many[1].probable


def test_json_has_the_exact_noise():
    told = json.loads(run(app, [*COMMAND, "--json"]).stdout)
    assert [row["probabilistic"] for row in told["rows"]] == ["43/2", "17/3", "41/19", "36/49"]
    assert [row["probabilistic_noise_counted"] for row in told["rows"]] == ["37/4", "37/9", "35/19", "34/49"]
    assert told["rows"][0]["epsilon_of_dropping"] == 0


def test_dropping_shows_its_price_and_the_whole():
    """The tutorial's parameters: ratio 100, smallest keep-chance 0.0378."""
    printed = run(app, DROPPED)
    assert "+ 3.5122" in printed.output
    assert "8.1174" in printed.output
    (row,) = json.loads(run(app, [*DROPPED, "--json"]).stdout)["rows"]
    assert (row["ratio_in_all"], row["epsilon_in_all"]) == ("3352.36", "8.11742")
    assert "e^9" in run(app, [*DROPPED[:-1], "1e-400"]).output, "a price beyond all floats"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--keep", "0"], 3, "proves that a real one lives there"),
        (["--n", "1.5"], 2, "whole number"),
        (["--ratios", "1"], 2, "above 1"),
        (["--ratios", "5,1e60"], 2, "is not a meaningful guarantee"),
        (["--ratios", "1e400"], 2, "no privacy"),
        (["--delta", "2"], 2, "below 1"),
        (["--blocks", "0"], 2, "--blocks must be a whole number above 0"),
    ],
)
def test_what_is_wrong_is_said(options, code, words):
    result = run(app, ["synthesize", "noise-table", *options])
    assert result.exit_code == code
    assert words in result.output


def test_noise_is_printed_up():
    assert [written_up(Fraction(*pair)) for pair in ((2000, 3), (10**6, 9), (43, 2), (17, 3), (36, 49))] == [
        "666.67",
        "111112",
        "21.50",
        "5.667",
        "0.735",
    ]
    assert written_up(Fraction(100001, 10**5)) == "1.001"


def test_the_share_of_fake_workers():
    """The tutorial: six million fake workers to one million real ones, of which a sixth on the far coast is a seventh of all."""
    map_of_all = PublicFacts(MILLION, MILLION, (BlockClass(8 * MILLION),))
    share = fake_share(map_of_all, Fraction(3, 4))
    assert share == Fraction(6, 7)
    assert share / 6 == Fraction(1, 7)


def test_counting_noise_never_asks_for_more():
    for row in noise_table(PublicFacts(1041, 1041, (BlockClass(244),)), 1e-5):
        assert row.counted <= row.probable <= row.pure


@pytest.mark.slow
def test_the_table_takes_under_five_seconds():
    begin = time.perf_counter()
    assert run(app, COMMAND).exit_code == 0
    assert time.perf_counter() - begin < 5
