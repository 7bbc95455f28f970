"""Why a question failed on a cluster, in words of a closed list, for the data owner's log: nothing of the message itself.

A process that answers sends a reason as one byte, its place in the list. Any other reason has none.
"""

from __future__ import annotations

MISSING = "a table of the prepared store is missing"
GONE = "the cluster went away"
SILENT = "its engine did not answer in time"
REASONS = (  # what Spark's messages contain, and what the log says instead
    ("OutOfMemoryError", "an executor ran out of memory"),
    ("exited with code 52", "an executor ran out of memory"),  # what Java does then
    ("ExecutorLostFailure", "executors were lost"),
    ("FetchFailed", "executors were lost"),
    ("cancelled", "it was stopped when its time was up"),
    ("OPERATION_CANCELED", "it was stopped when its time was up"),
    ("SparkContext was shut down", GONE),
    ("stopped SparkContext", GONE),
    ("Connection refused", GONE),
    ("UNAVAILABLE", GONE),
    ("RETRIES_EXCEEDED", GONE),  # of Spark Connect, which has tried again for some seconds
    ("SESSION_NOT_FOUND", "the Spark Connect server was started again"),
    ("SESSION_CHANGED", "the Spark Connect server was started again"),
    ("SESSION_CLOSED", "the Spark Connect server closed the session"),
    ("PATH_NOT_FOUND", MISSING),
    ("FAILED_READ_FILE", "a file of the prepared store cannot be read"),
    ("FOOTER", "a file of the prepared store cannot be read"),
    ("is not a Parquet file", "a file of the prepared store cannot be read"),
)
WORDS = tuple(dict.fromkeys(words for _, words in REASONS))


def reason_of(error: Exception) -> str:
    """The reason of an error of Spark; the name of its type if the list has none.

    >>> reason_of(RuntimeError("Job 3 cancelled: SELECT secret"))
    'it was stopped when its time was up'
    >>> reason_of(RuntimeError("SELECT secret"))
    'RuntimeError'
    """
    said = f"{type(error).__name__} {error}"
    return next((words for part, words in REASONS if part in said), type(error).__name__)


def packed_reason(words: str) -> bytes:
    r"""A reason as at most one byte; nothing for words that are not in the list.

    >>> packed_reason("executors were lost"), packed_reason("SELECT secret")
    (b'\x01', b'')
    """
    return bytes([WORDS.index(words)]) if words in WORDS else b""


def unpacked_reason(content: bytes) -> str:
    r"""The reason that `packed_reason` wrote, or nothing.

    >>> unpacked_reason(b"\x01"), unpacked_reason(b""), unpacked_reason(b"\xff")
    ('executors were lost', '', '')
    """
    return WORDS[content[0]] if len(content) == 1 and content[0] < len(WORDS) else ""
