"""The page's own texts, from page/texts.toml; a survey may put some in other words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

LANGUAGES = ("en", "de")
PROTECTED = {"promise_title", "promise", "how", "strength", "weak", "public", "except_group", "could_be", "deny"}
TAKEN = {"review", "stays", "is_sent", "send_to", "deliver", "keeps", "forgets", "shared"}
PROMISES = frozenset(PROTECTED | TAKEN)  # how far answers are protected; what is sent, to whom, and what is kept


@cache
def _all() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files("tacit.publish.local.survey").joinpath("page", "texts.toml").read_text("utf-8"))


def page_texts(language: str, others: Mapping[str, str] | None = None) -> dict[str, str]:
    """The texts of the page in a language, with `others` in the place of some of them.

    A variant such as de-AT has the texts of its language; a language that tacit does not know begins from the English ones,
    and `others` then has all of them (`reading.py` sees to it).

    >>> page_texts("de-AT")["send"], page_texts("en", {"send": "Off it goes"})["send"]
    ('Absenden', 'Off it goes')
    """
    texts = _all()
    return {**texts.get(language.split("-")[0], texts["en"]), **(others or {})}


def filled(text: str, **blanks: object) -> str:
    """The text with its {blanks} filled in; other braces stay as they are.

    >>> filled("{count} of {all} {}", count=3, all="4")
    '3 of 4 {}'
    """
    for name, value in blanks.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text
