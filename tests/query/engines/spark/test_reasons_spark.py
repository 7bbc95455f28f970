"""Why a question failed on a cluster travels as one byte of a closed list."""

from __future__ import annotations

import pytest

from tacit.query.engines.spark.reasons import GONE, REASONS, WORDS, packed_reason, reason_of, unpacked_reason


@pytest.mark.parametrize("words", WORDS)
def test_a_reason_comes_back_from_one_byte(words):
    assert len(packed_reason(words)) == 1
    assert unpacked_reason(packed_reason(words)) == words


def test_nothing_else_is_sent_or_believed():
    assert packed_reason("Alice is 42") == b""
    assert [unpacked_reason(content) for content in (b"", b"ab", bytes([len(WORDS)]), b"\xff")] == [""] * 4


@pytest.mark.parametrize(("part", "words"), REASONS)
def test_a_message_of_spark_is_replaced(part, words):
    assert reason_of(RuntimeError(f"SELECT secret {part} secret")) == words


def test_a_server_that_is_given_up_is_gone():
    class RetriesExceeded(Exception):  # as PySpark names it
        pass

    assert reason_of(RetriesExceeded("[RETRIES_EXCEEDED] The maximum number of retries has been exceeded.")) == GONE
