"""The hostile key fails in every format, and succeeds in each of them where its escape is taken away."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from hostile import caught
from tacit.errors import Refused
from tacit.evidence.attacks import hostile_key
from tacit.evidence.attacks.hostile_key import (
    FORMATS,
    HOSTILE,
    INJECTED,
    NAMES,
    answer_with,
    broken_out,
    harmless,
    hostile_names,
    keyed_data,
    released_keys,
)
from tacit.release.answer import Answer
from tacit.untrusted import UNSEEN


def as_it_is(text, *_, **__):
    return text


def cut_only(text, longest=None):
    return str(text)[:longest]


def test_hostile_keys_are_released_and_stay_in_their_cells():
    """Each has a hundred people: left out with a chance below 1e-30."""
    answer = released_keys()
    assert len(answer) == len(HOSTILE)
    assert HOSTILE[0] in answer["note"]
    assert broken_out([answer]) == set()


def test_hostile_names_are_answered_or_refused_in_one_line():
    with keyed_data(["a", "b"], epsilon=1) as data:
        found = list(hostile_names(data.session(), "people", epsilon=1))
    unseen = [name for name in NAMES if UNSEEN.search(name)]
    assert [column.name for column in found[0].columns] == [name for name in NAMES if name not in unseen]
    assert len([each for each in found if isinstance(each, Refused)]) == len(NAMES) + len(unseen) > len(NAMES)
    assert broken_out(found) == set()


PLANTED = [  # what is taken away, where, and the format that must notice
    ("text", "tacit.release.answer.for_terminal", cut_only, "\x1b[2J"),
    ("terminal", "tacit.release.answer.for_terminal", cut_only, "\u202ea\x9b"),
    ("table in HTML", "tacit.untrusted.for_html", as_it_is, "<img src=x onerror=alert(1)>"),
    ("CSV", "tacit.untrusted.for_csv", as_it_is, "=1+1"),
    ("CSV", "tacit.untrusted.for_csv", as_it_is, "a\nb"),
    ("JSON", "tacit.release.answer.for_json", lambda value: json.dumps(value, ensure_ascii=False), "\u202e"),
    ("chart in HTML", "tacit.untrusted.TAG", hostile_key.NUMBER, "</script><b>"),
    ("chart in a notebook", "tacit.untrusted.TAG", hostile_key.NUMBER, "</script><b>"),
]


@pytest.mark.parametrize(("form", "where", "weaker", "key"), PLANTED)
def test_a_missing_escape_is_found_in_its_format(form, where, weaker, key, monkeypatch):
    if form == "chart in HTML":
        monkeypatch.setattr("tacit.chart.for_script", json.dumps)
    monkeypatch.setattr(where, weaker)
    answer = answer_with([key, "b"])
    outline = FORMATS[form]
    caught(_same, outline, answer)


def _same(outline, answer: Answer) -> None:
    assert outline(answer) == outline(harmless(answer))


ABORTING = """
from tacit.evidence.attacks.hostile_key import answer_with
from tacit import chart as picture
from tacit.release import charts
picture.for_chart = charts.for_chart = lambda text: text
charts.for_terminal = lambda text, longest: text
print("drawing", flush=True)
picture.svg(answer_with(["a\\x00b"]).chart().altair())
print("drawn")
"""


@pytest.mark.slow
def test_a_control_that_xml_has_no_place_for_would_end_the_process():
    """What the escape keeps from happening, in a process of its own."""
    ended = subprocess.run([sys.executable, "-c", ABORTING], capture_output=True, text=True, check=False)
    assert ended.stdout == "drawing\n"
    assert ended.returncode == -signal.SIGABRT


def test_a_title_that_goes_on_as_an_expression_is_found(monkeypatch):
    _same(FORMATS["chart by Altair in SVG"], answer_with(["a"], ("key", INJECTED)))
    monkeypatch.setattr("tacit.untrusted.for_title", as_it_is)
    monkeypatch.setattr("tacit.release.charts.for_title", as_it_is)
    caught(_same, FORMATS["chart by Altair in SVG"], answer_with(["b"], ("key", INJECTED)))


def test_a_refusal_that_is_not_escaped_is_found(monkeypatch):
    monkeypatch.setattr("tacit.errors.for_terminal", cut_only)
    assert broken_out([Refused("no column \x1b[2J")]) == {"refusal"}
    assert broken_out([Refused("no column\nspent: nothing")]) == {"refusal"}


def test_a_letter_of_two_halves_is_never_cut_in_two():
    """Vega cuts labels between them; of that vl-convert makes no picture, and somebody's emoji would cost the chart."""
    keys = ["a" * at + "\U0001f3e5" * 20 for at in range(4)]
    _same(FORMATS["chart in SVG"], answer_with(keys, ("\U0001f3e5" * 90, "n" + "\U0001f3e5" * 90)))


def test_a_key_that_objects_have_already_leaves_the_chart_as_it_is(monkeypatch):
    _same(FORMATS["chart by Altair in SVG"], answer_with(["constructor", "b"]))
    monkeypatch.setattr("tacit.untrusted.INHERITED", frozenset())
    caught(_same, FORMATS["chart by Altair in SVG"], answer_with(["constructor", "c"]))


def test_names_that_vega_reads_as_paths_are_drawn():
    """Fields of a chart have names of tacit's own, so that a.b is no path, and a[0] no place in a list."""
    for name in ("a.b", "a[0]", "a\\.b", "datum['a']", "value", "first", "others", "__proto__", "title"):
        drawn = answer_with(["x", "y"], ("key.of", name)).chart().altair().to_dict()
        fields = {part["field"] for layer in drawn["layer"] for part in layer["encoding"].values() if "field" in part}
        assert fields <= {"first", "others", "value", "low", "high"}
        assert [row["value"] for row in drawn["data"]["values"]] == [100, 101]
    _same(FORMATS["chart by Altair in SVG"], answer_with(["x", "y"], ("a[0]", "a.b")))
