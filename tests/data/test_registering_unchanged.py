"""Preparation of unchanged sources: a note for the owner, and a version that only the owner's word keeps."""

from __future__ import annotations

import stat

import pytest

import tacit
from tacit.data.registering import DIGEST, UNCHANGED, digest_of
from tacit.errors import StoreUnusable

CATALOG = """\
[budget]
epsilon = 8
[tables.people]
source = { csv = "people" }
unit = "row"
rows_at_most = 100
[tables.people.columns]
age = { bounds = [0, 110] }
sex = { values = [1, 2], unknown = "drop", labels = { "1" = "male", 2 = "<b>fe\\u202Emale</b>" } }
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tacit.toml").write_text(CATALOG)
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "a.csv").write_text("age,sex\n30,1\n")
    (tmp_path / "people" / "b.csv").write_text("age,sex\n40,2\n")
    return tmp_path


def prepared(folder, **options):
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        return data.prepare(**options)


def test_the_owner_is_told_and_the_version_is_new_all_the_same(folder):
    first = prepared(folder, new_ledger=True)
    second = prepared(folder)
    assert (first.unchanged, second.unchanged) == (False, True)
    assert UNCHANGED in second.notes
    assert first.version != second.version
    assert prepared(folder, keep_version=True).version == second.version


def test_the_digest_is_for_the_owner_alone(folder):
    prepared(folder, new_ledger=True)
    file = folder / ".tacit" / "store" / DIGEST
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    catalog = tacit.open(folder / "tacit.toml").catalog
    assert digest_of(catalog, b"one") != digest_of(catalog, b"another")


@pytest.mark.parametrize("change", ["row", "catalog", "file", "gone"])
def test_a_change_is_seen_and_a_kept_version_is_refused(folder, change):
    first = prepared(folder, new_ledger=True)
    if change == "row":
        (folder / "people" / "a.csv").write_text("age,sex\n31,1\n")
    elif change == "catalog":
        (folder / "tacit.toml").write_text(CATALOG.replace("110", "111"))
    elif change == "file":
        (folder / "people" / "c.csv").write_text("age,sex\n40,2\n")
    else:
        (folder / "people" / "b.csv").unlink()
    with pytest.raises(StoreUnusable, match="changed"):
        prepared(folder, keep_version=True)
    later = prepared(folder)
    assert not later.unchanged
    assert later.version != first.version


def test_a_renamed_file_and_a_new_budget_change_nothing(folder):
    prepared(folder, new_ledger=True)
    (folder / "people" / "a.csv").rename(folder / "people" / "z.csv")
    (folder / "tacit.toml").write_text(CATALOG.replace("epsilon = 8", "epsilon = 9"))
    assert prepared(folder).unchanged


def test_the_owners_word_keeps_the_version_by_itself(folder):
    (folder / "tacit.toml").write_text(CATALOG + '[store]\nchanges = "public"\n')
    first = prepared(folder, new_ledger=True)
    assert prepared(folder).version == first.version
    (folder / "people" / "a.csv").write_text("age,sex\n31,1\n")
    assert prepared(folder).version != first.version


def test_neighbouring_sources_show_analysts_nothing_without_that_word(folder):
    """Planted as the test above: with the word, the version tells whether one row changed; without it, both are new."""
    versions = []
    for rows in ("30,1\n", "31,1\n"):
        (folder / "people" / "a.csv").write_text("age,sex\n30,1\n")
        first = prepared(folder, new_ledger=not versions).version
        (folder / "people" / "a.csv").write_text(f"age,sex\n{rows}")
        versions.append(prepared(folder).version == first)
    assert versions == [False, False]


QUESTION = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def test_labels_are_shown_to_people_and_values_stay_values(folder):
    prepared(folder, new_ledger=True)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        answer = data.session().sql(QUESTION, epsilon=1)
        assert "male" in str(answer)
        assert "\u202e" not in str(answer)
        assert "<b>" not in answer._repr_html_()
        assert [row["sex"] for row in answer.rows()] == [1, 2]
        assert answer.to_dict()["columns"][0]["labels"]["1"] == "male"
        assert answer.to_arrow().column_names[:2] == ["sex", "sex_label"]
        assert "sex_label" in answer.to_csv()
        assert answer.labelled()["sex"][0] == "male"


def test_other_labels_repeat_the_kept_answer(folder):
    prepared(folder, new_ledger=True)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        first = data.session().sql(QUESTION, epsilon=1)
    (folder / "tacit.toml").write_text(CATALOG.replace('"male"', '"men"'))
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        again = data.session().sql(QUESTION, epsilon=1)
    assert again.receipt.again
    assert again["n"] == first["n"]
    assert "men" in str(again)


@pytest.mark.parametrize(
    ("labels", "what"),
    [('{ "3" = "x" }', "not one of the values"), ('{ 1 = "x", 2 = "x" }', "for two values"), ("{ 1 = 5 }", "not a text")],
)
def test_wrong_labels_are_refused(folder, labels, what):
    text = CATALOG.partition("labels = ")[0]
    (folder / "tacit.toml").write_text(f"{text}labels = {labels} }}\n")
    with pytest.raises(tacit.errors.InvalidCatalog, match=what):
        tacit.open(folder / "tacit.toml")
