"""The bytes of a text file in blocks of whole lines, decompressed where the name says so: for edge lists, which have no header."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from tacit.data.files.kinds import existing, is_compressed
from tacit.errors import InvalidInput

BLOCK = 1 << 24
BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 1 << 26  # in bytes; nothing that is a list of edges has a longer one


def line_blocks(path: str | Path, block: int = BLOCK) -> Iterator[bytes]:
    """Blocks that end with a line, the last one with the end of the file; a byte order mark is left out."""
    file = existing(path)
    try:
        with file.open("rb") as on_disk:
            raw = cast("BinaryIO", gzip.GzipFile(fileobj=on_disk)) if is_compressed(file) else on_disk
            yield from _whole_lines(raw, file.name, block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInput(f"{file.name} cannot be decompressed; compress it again") from None
    except OSError as error:
        raise InvalidInput(f"{file.name} cannot be read: {error.strerror or 'unknown reason'}") from None


def _whole_lines(raw: BinaryIO, name: str, block: int) -> Iterator[bytes]:
    rest = raw.read(max(block, len(BOM) + 1)).removeprefix(BOM)
    while rest:
        more = raw.read(block)
        cut = len(rest) if not more else rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut]
        rest = rest[cut:] + more
        if len(rest) > LONGEST_LINE + block:
            raise InvalidInput(f"{name} has a line of more than {LONGEST_LINE:,} bytes; an edge list has one edge on each line")


def compressed(text: bytes) -> bytes:
    """The text in the form of a .gz file, the same bytes for the same text."""
    return gzip.compress(text, compresslevel=6, mtime=0)
