"""`tacit demo`: releases with intervals, and the comparison of noises."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from tacit.doors.cli import app

run = CliRunner().invoke


def test_the_demo_prints_values_intervals_loss_and_the_comparison():
    result = run(app, ["demo"])
    assert result.exit_code == 0
    for words in ("people who are ill", "in the north", "median income", "95% interval", "pure epsilon 2", "textbook", "0%"):
        assert words in result.output


def test_the_demo_as_json():
    told = json.loads(run(app, ["demo", "--json"]).stdout)
    assert len(told["releases"]) == 6
    assert all(row["low"] <= row["value"] <= row["high"] for row in told["releases"])
    assert told["floating_point"]["ours"] == 0
    assert told["floating_point"]["textbook"] > 0.5


def test_the_noise_is_fresh_and_the_data_are_not():
    runs = [json.loads(run(app, ["demo", "--json"]).stdout)["releases"] for _ in range(3)]
    assert len({tuple(row["exact"] for row in rows) for rows in runs}) == 1
    # six released numbers are all the same in three runs with a chance below 1e-6
    assert len({tuple(row["value"] for row in rows) for rows in runs}) > 1
