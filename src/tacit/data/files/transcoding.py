"""Files in an encoding other than UTF-8, as a stream of UTF-8: bytes that are invalid in the encoding become U+FFFD."""

from __future__ import annotations

import codecs
from typing import BinaryIO

BLOCK = 1 << 18


class Transcoded:
    r"""Reads a file as UTF-8, whatever its encoding; keeps only the requested part in memory.

    >>> from io import BytesIO
    >>> Transcoded(BytesIO(b"caf\xe9 \x81"), "cp1252").read(100).decode()
    'café \ufffd'
    """

    def __init__(self, raw: BinaryIO, encoding: str) -> None:
        self.raw, self.decoder = raw, codecs.getincrementaldecoder(encoding)("replace")
        self.rest, self.ended = b"", False

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        parts, there = [self.rest], len(self.rest)
        while there < size and not self.ended:
            chunk = self.raw.read(BLOCK)
            self.ended = not chunk
            parts.append(self.decoder.decode(chunk, self.ended).encode("utf-8", "replace"))
            there += len(parts[-1])
        read = b"".join(parts)
        self.rest = read[size:]
        return read[:size]
