"""Texts that try to be more than texts, and what shows that one succeeded; for tests of everything that is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from tacit.evidence.attacks.hostile_key import HOSTILE

FRAGMENTS = [
    *(text[:60] for text in HOSTILE),
    "<script>", "</style>", "<!--", "-->", "]]>", "<![CDATA[", "&amp;", "&#x3c;", "javascript:", " onload=", "`${x}`",
    '"', "'", "\\", "\\\\", '\\"', "''", "'=", ",", ";", "|", ";=", "=", "+", "-", "@", "\uff1d", "ID;P", "-1", "+1.5e3", "5%",
    "[", "]", "[/]", "[bold]", "[link=http://x]", ":bomb:", "{", "}", "{0}", "%s", "$x", "datum['a']", "a.b", "a[0]",
    "\x00", "\x07", "\b", "\t", "\n", "\r", "\x0b", "\x1b", "\x1b[31m", "\x1b]8;;http://x\x1b\\", "\x7f", "\x85", "\x9b", "\xa0",
    "\xad", "\u061c", "\u200b", "\u200c", "\u200d", "\u200e", "\u2028", "\u202e", "\u2066", "\u2069", "\u3000", "\ufeff", "\ufffd",
    "\ufffe", "\uffff", "\ud800", "\udfff", "\u0301", "\u20dd", "\ufe0f", "\ufe00", "\U000e0041", "\U000e0100", "\U0010ffff",
    "\u3164", "\u034f", "constructor", "valueOf", "__proto__", "é", "ü", "東京", "שלום", "می\u200cخواهم",
    "👩\u200d⚕️", "a", "b", "1", " ",
]  # fmt: skip

texts = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=5).map("".join),
    st.text(st.characters(exclude_categories=()), max_size=12),  # every character there is, lone surrogates too
)
# What a terminal obeys, what turns or hides a text, and what no encoding has.
OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


def tame(text: str) -> None:
    """What is printed holds nothing that a terminal obeys; line breaks are its own."""
    found = OBEYED.search(text)
    assert found is None, f"{text[max(0, found.start() - 30) : found.end() + 10]!r} holds {found[0]!r}"


def caught(check: Callable[..., Any], *arguments: Any) -> None:
    """The check fails, as it should where a bug is planted."""
    with pytest.raises((AssertionError, ValueError, SyntaxError)):  # the last is what XML that is none raises
        check(*arguments)
