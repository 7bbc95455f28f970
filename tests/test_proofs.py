"""Every proof says which code it is about, and that code is as it was when the proof was last read."""

import ast
import textwrap
from pathlib import Path

import pytest

import fingerprints
from fingerprints import HEADING, LINE, ROOT, accepted, fingerprint, fingerprint_of, listed, proofs

PAGES = {str(page.relative_to(fingerprints.SOURCE)): page for page in proofs()}
LAPLACE = PAGES["mechanisms/laplace.md"]


def test_a_proof_is_about_the_code_as_it_is():
    changed = [
        f"{name}: {each.name}: {each.written} -> {each.now}"
        for name, page in PAGES.items()
        for each in listed(page)
        if each.changed
    ]
    assert not changed, "\n".join(["read the proof again, correct it or accept it: make proofs", *changed])


def faults(text: str, page: Path) -> list[str]:
    """What is wrong with the section of a page that lists what it proves."""
    section = text.partition(f"\n{HEADING}\n")[2]
    lines = [line for line in section.splitlines() if line.startswith("-")]
    names = [each.name for each in listed(page, text)]
    rules = {
        f"it ends with the section '{HEADING[3:]}', which lists at least one function": bool(names),
        "each line is `name` `fingerprint`, each name once": len(names) == len(set(names)) == len(lines),
        "it is the last section": "\n## " not in section,
    }
    return [rule for rule, held in rules.items() if not held]


def test_a_proof_lists_what_it_proves():
    found = {name: wrong for name, page in PAGES.items() if (wrong := faults(page.read_text("utf-8"), page))}
    assert found == {}


@pytest.mark.parametrize(
    "section",
    [
        "",
        f"{HEADING}\n\n- `laplace.Laplace.scale` `0`\n",
        f"{HEADING}\n\n- `laplace.Laplace.scale` `new`\n- `laplace.Laplace.scale` `new`\n",
        f"{HEADING}\n\n- `laplace.Laplace.scale` `new`\n\n## More\n",
    ],
)
def test_a_list_that_is_missing_twisted_or_not_the_last_is_caught(section):
    assert faults(f"# A proof\n\n{section}", LAPLACE)
    assert not faults(f"# A proof\n\n{HEADING}\n\n- `laplace.Laplace.scale` `new`\n", LAPLACE)


def test_there_are_proofs():
    assert len(PAGES) > 60


# --- what a fingerprint sees -------------------------------------------------------------------------------------------------

CODE = '''
def release(value, scale):
    """What comes back."""
    if scale < 0:
        raise ValueError(f"scale must be positive, not {scale}")
    return value + noise(scale)  # fresh
'''


def of(code: str) -> str:
    return fingerprint(ast.parse(textwrap.dedent(code)).body)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("What comes back.", "Another sentence."),
        ("  # fresh", ""),
        ("value + noise(scale)", "(\n        value\n        + noise(scale)\n    )"),
        ("scale must be positive, not", "a scale is positive:"),
        ('not {scale}"', 'not {scale}", argument="scale"'),
    ],
)
def test_words_and_formatting_do_not_count(old, new):
    assert old in CODE
    assert of(CODE.replace(old, new)) == of(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("noise(scale)", "noise(0.9 * scale)"),
        ("scale < 0", "scale <= 0"),
        ("value + noise", "value - noise"),
        ("not {scale}", "not {value}"),
        ('not {scale}"', 'not {scale}", argument=noise(scale)'),
        ('not {scale}"', 'not {scale}", remedy="scale"'),
        ("(value, scale)", "(value, scale=1)"),
        ("ValueError", "KeyError"),
        ("def release", "@cached\ndef release"),
        ('"""What comes back."""', '"""What comes back."""\n    log(value)'),
    ],
)
def test_a_planted_change_is_seen(old, new):
    assert old in CODE
    assert of(CODE.replace(old, new)) != of(CODE)


def test_what_is_registered_on_a_function_counts():
    code = "@singledispatch\ndef cost(event): ...\n@cost.register\ndef _(event: Laplace):\n    return {}\n"
    one, other = ([*fingerprints.named(ast.parse(code.format(value)), ["cost"])] for value in (1, 2))
    assert len(one) == 2
    assert fingerprint(one) != fingerprint(other)


def test_versions_of_python_agree():
    """3.12 has the field type_params, 3.13 leaves empty lists out of what it dumps, and none of that is in a fingerprint."""

    class FunctionDef(ast.FunctionDef):
        _fields = (*ast.FunctionDef._fields, "type_params")

    old = ast.parse(CODE).body[0]
    newer = FunctionDef(**{field: getattr(old, field, None) for field in old._fields}, type_params=[])
    older = ast.parse(CODE).body[0]
    del older.type_comment
    assert fingerprint([old]) == fingerprint([newer]) == fingerprint([older]) == "3e5a5fbc"


# --- pages -------------------------------------------------------------------------------------------------------------------


def test_a_page_that_was_not_read_again_is_caught(monkeypatch):
    """Noise a tenth too small, planted in the tree that the fingerprints are read from."""
    source = (LAPLACE.parent / "laplace.py").read_text()
    planted = source.replace("laplace_scale(self.units, self.epsilon)", "laplace_scale(self.units, self.epsilon) * 9 / 10")
    assert planted != source
    monkeypatch.setattr(
        fingerprints, "tree_of", lambda module: ast.parse(planted if module.stem == "laplace" else module.read_text())
    )
    assert [each.name for each in listed(LAPLACE) if each.changed] == ["laplace.Laplace.scale"]


def test_a_name_that_is_gone_is_caught_and_never_accepted():
    text = f"# A proof\n\n{HEADING}\n\n- `laplace.Laplace.gone` `00000000`\n- `laplace.Laplace.scale` `new`\n"
    gone, new = listed(LAPLACE, text)
    assert (gone.now, gone.changed, new.changed) == (None, True, True)
    assert dict(LINE.findall(accepted(text, LAPLACE))) == {
        "laplace.Laplace.gone": "00000000",
        "laplace.Laplace.scale": fingerprint_of("laplace.Laplace.scale", LAPLACE.parent),
    }


def test_names_reach_other_folders():
    assert fingerprint_of("accounting.ledger.selling.decide_sale", ROOT / "src/tacit/release")
    assert fingerprint_of("data.prepare.prepare", ROOT / "src/tacit/data")
    assert fingerprint_of("nowhere.decide_sale", ROOT / "src/tacit/release") is None


def test_the_recipe_shows_and_accepts(monkeypatch, tmp_path, capsys):
    page = tmp_path / "laplace.md"
    page.write_text(f"# A proof\n\n{HEADING}\n\n- `mechanisms.laplace.Laplace.scale` `00000000`\n")
    monkeypatch.setattr(fingerprints, "ROOT", tmp_path)
    monkeypatch.setattr(fingerprints, "proofs", lambda: [page])
    assert fingerprints.main([]) == 1
    assert "00000000 -> " in capsys.readouterr().out
    assert fingerprints.main([str(page)]) == 0
    assert fingerprints.main([]) == 0
