"""The rows of CSV files, by one rule: how a row is read depends on its own bytes and on the header, and on nothing else.

Every file passes a sieve, in blocks of whole rows. A block of sound rows is parsed unchanged. In any other block, each unsound row
is rewritten in the one form that the parser reads as the rule requires. So there is one reader, no row makes it fail, and no row
changes how another is read. store.md states the rule and its limits.

The engine's own reader is not used: it guesses where rows begin when it divides a file, and loses rows if the guess is wrong.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from tacit.data.declaration import folded
from tacit.data.files.kinds import is_compressed
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import BLANKS

if TYPE_CHECKING:
    import pyarrow as pa

DECODED = 1 << 18


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
            chunk = self.raw.read(DECODED)
            self.ended = not chunk
            parts.append(self.decoder.decode(chunk, self.ended).encode("utf-8", "replace"))
            there += len(parts[-1])
        read = b"".join(parts)
        self.rest = read[size:]
        return read[:size]


# --- rows --------------------------------------------------------------------------------------------------------------------


DELIMITERS = ",;\t|"
BLOCK = 1 << 19
LONGEST_HEADER = 1 << 20
LONGEST_ROW = 1 << 24  # in bytes; a longer row is read as empty fields
BOM = b"\xef\xbb\xbf"
LINE_END = re.compile(rb"\r\n|\n|\r")
LINE_FEED = ord("\n")
REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a CSV file: the case-folded names, and the delimiter that splits the line into the most names.

    `by_return` says whether the line ends with CR alone: then rows do too. Otherwise rows end with LF or CR LF, and a CR is an
    ordinary character. `written` has the names with their case.
    """

    names: tuple[str, ...]
    delimiter: str
    by_return: bool = field(default=False, compare=False)
    written: tuple[str, ...] = field(default=(), compare=False)

    @property
    def places(self) -> Mapping[str, int]:
        """The position of each named column; if two share a name, the first counts."""
        places: dict[str, int] = {}
        for place, name in enumerate(self.names):
            places.setdefault(name, place)
        return {name: place for name, place in places.items() if name}


def csv_header(file: Path, encoding: str | None = None, separator: str | None = None) -> Header:
    """The header of a CSV file, parted by the declared separator, if one is. No later line is read."""
    with _open_text(file, encoding) as (raw, _):
        line, end, _ = _split_header(raw)
    if len(line) > LONGEST_HEADER:
        raise InvalidCatalog(f"the first line of {file.name} is too long for a header; begin with the names of the columns")
    if not line:
        raise InvalidCatalog(f"{file.name} is empty; a CSV file begins with the names of its columns")
    names, delimiter, is_open = header_names(line.decode("utf-8", "replace"), separator)
    if is_open:
        raise InvalidCatalog(f"the first line of {file.name} leaves a quotation mark open; write the names of columns on one line")
    return Header(tuple(map(folded, names)), delimiter, end == b"\r", names)


def header_names(line: str, separator: str | None = None) -> tuple[tuple[str, ...], str, bool]:
    """The names in a header, the declared delimiter or the one that gives the most names, and whether a quotation is left open.

    >>> header_names('id; "first name" ;age')
    (('id', 'first name', 'age'), ';', False)
    """
    parted = {delimiter: fields_of(line, delimiter) for delimiter in ([separator] if separator else DELIMITERS)}
    delimiter = max(parted, key=lambda each: len(parted[each][0]))
    names, is_open = parted[delimiter]
    return tuple(name.strip(BLANKS) for name in names), delimiter, is_open


def fields_of(row: str, delimiter: str) -> tuple[list[str], bool]:
    """The fields of one row, and whether it ends inside a quotation.

    A field that begins with a quotation mark, with or without spaces before it, is quoted. Two marks mean one and a single mark
    ends the quotation; what follows up to the delimiter still belongs to the field.

    >>> fields_of('7, "a,b"" c" d,x"y', ",")
    (['7', 'a,b" c d', 'x"y'], False)
    >>> fields_of('7,"a,b', ",")
    (['7', 'a,b'], True)
    """
    pattern, fields, place, is_open = _field(delimiter), [], 0, False
    while match := pattern.match(row, place):
        quoted, closed, after, plain = match.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"') + after)
        is_open = quoted is not None and not closed
        place = match.end() + 1
        if place > len(row):
            break
    return fields, is_open


class CsvRows:
    """The rows of CSV files with one header, in Arrow batches of texts `c0`, `c1`, ...: the columns at the given `places`.

    A failure is kept as `problem`, because an engine that reads the batches replaces the message with its own. `tell` receives the
    progress.
    """

    def __init__(
        self,
        files: Sequence[Path],
        header: Header,
        multiline: bool | None,
        places: Collection[int],
        encoding: str | None = None,
    ) -> None:
        self.files, self.header, self.multiline, self.encoding = files, header, multiline, encoding
        self.wanted = [f"c{place}" for place in sorted(places)] or ["c0"]
        self.problem: InvalidCatalog | None = None

    def batches(self, tell: Callable[[float], None]) -> pa.RecordBatchReader:
        """All rows, in a single pass."""
        import pyarrow as pa

        schema = pa.schema([(column, pa.large_string()) for column in self.wanted])
        return pa.RecordBatchReader.from_batches(schema, self._batches(tell))

    def _batches(self, tell: Callable[[float], None]) -> Iterator[pa.RecordBatch]:
        try:
            for place, file in enumerate(self.files):
                for block, share in self.sound_blocks(file):
                    yield from self._parse_block(block)
                    tell((place + share) / len(self.files))
        except InvalidCatalog as problem:
            self.problem = problem
            raise

    def sound_blocks(self, file: Path) -> Iterator[tuple[bytes, float]]:
        """Blocks of sound rows, and how much of the file has been read."""
        sieve = Sieve(file.name, csv_header(file, self.encoding, self.header.delimiter), self.multiline)
        size = max(file.stat().st_size, 1)
        with _open_text(file, self.encoding) as (raw, on_disk):
            for block in sieve.blocks(raw):
                yield block if sieve.sound(block) else sieve.mend_rows(block), on_disk.tell() / size

    def _parse_block(self, block: bytes) -> list[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv

        if not block:
            return []
        names = [f"c{place}" for place in range(len(self.header.names))]
        reading = csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 1)
        parsing = csv.ParseOptions(delimiter=self.header.delimiter, newlines_in_values=True)
        texts = dict.fromkeys(self.wanted, pa.large_string())
        converting = csv.ConvertOptions(column_types=texts, include_columns=self.wanted, check_utf8=False)
        batches: list[pa.RecordBatch] = csv.read_csv(pa.BufferReader(block), reading, parsing, converting).to_batches()
        return batches


def _among(characters: str) -> NDArray[np.bool_]:
    """For each byte, whether it is one of the given ones."""
    chosen = np.zeros(256, np.bool_)
    chosen[[*characters.encode()]] = True
    return chosen


LINE_ENDING = _among("\r\n")


@dataclass(frozen=True)
class Sieve:
    """Separates the sound rows of a CSV file from the others, and rewrites these.

    `multiline` declares whether quoted fields may contain line ends; None if the catalog does not declare it.
    """

    name: str
    header: Header
    multiline: bool | None

    def blocks(self, raw: BinaryIO) -> Iterator[bytes]:
        """The file after its header, in parts of whole rows with their line ends; of a row that is too long, enough to show it."""
        *_, rest = _split_header(raw)
        while chunk := raw.read(BLOCK):
            rest += chunk
            if cut := self._cut(rest):
                yield rest[:cut]
                rest = rest[cut:]
            elif len(rest) > LONGEST_ROW + 2:
                rest = self._cut_short(rest)
        if rest:
            yield rest if rest.endswith(b"\n") else rest + b"\n"

    def sound(self, block: bytes) -> bool:
        """Whether every row of a block can be parsed unchanged.

        It requires quotation marks around whole fields, UTF-8 without NUL, one kind of line ends, and one field per name.
        """
        if not self._well_placed(block) or b"\0" in block or len(block) > LONGEST_ROW or not _is_utf8(block):
            return False
        if block.startswith(BOM):  # the parser would skip it
            return False
        marks = block.translate(None, self._other_bytes)  # delimiters, line ends and quotation marks
        bare = _outside(marks).replace(b'"', b"")
        across = _line_ends(bare) != _line_ends(marks)  # some line ends are inside quotations
        if across and not self.multiline:
            return False
        end = b"\r\n" if b"\r" in bare else b"\n"
        row = self.header.delimiter.encode() * (len(self.header.names) - 1) + end
        rows = len(bare) // len(row)
        if bare != row * rows or (len(self.header.names) == 1 and (block.startswith(end) or end * 2 in block)):
            return False
        return end == b"\n" or (_outside(block) if across else block).count(end) == rows

    def mend_rows(self, block: bytes) -> bytes:
        """The rows of a block in sound form; empty lines are left out."""
        return b"".join((row if self._is_simple(row) else self._quoted_row(row)) + b"\n" for row in self._rows(block) if row)

    def _quoted_row(self, row: bytes) -> bytes:
        """One row in the form that can be parsed unchanged: one quoted field per name."""
        fields, is_open = [""], False
        if len(row) <= LONGEST_ROW:
            fields, is_open = fields_of(row.decode("utf-8", "replace").replace("\0", REPLACEMENT), self.header.delimiter)
        elif self.multiline:
            raise self._not_multiline("has a row longer than 16 MiB")
        if is_open and self.multiline is None:
            raise InvalidCatalog(
                f"a line of {self.name} leaves a quotation mark open; if fields may hold line ends and were quoted properly, "
                'declare source = { csv = "...", multiline = true }; if every line is a row, multiline = false'
            )
        missing = len(self.header.names) - len(fields)
        quoted = [f'"{field.replace(chr(34), chr(34) * 2)}"' for field in (fields + [""] * missing)[: len(self.header.names)]]
        return self.header.delimiter.join(quoted).encode()

    def _is_simple(self, row: bytes) -> bool:
        return len(row) <= LONGEST_ROW and self._simple.fullmatch(row) is not None

    def _rows(self, block: bytes) -> list[bytes]:
        """The rows of a block without their line ends; an empty line gives an empty row."""
        if self.multiline and b'"' in block:
            ends = np.flatnonzero(self._bytes_that_end[_codes(block)] & ~_inside(block))
            rows = [block[begin:end] for begin, end in zip([0, *(ends + 1)], [*ends, len(block)], strict=True)]
        else:
            rows = block.splitlines() if self.header.by_return else block.split(b"\n")
        return [row.removesuffix(b"\r") for row in rows]

    def _cut(self, rest: bytes) -> int:
        """The end of the last whole row, or 0. A CR at the very end may be half a line end."""
        if self.multiline and b'"' in rest:
            rest = np.where(_inside(rest), np.uint8(0), _codes(rest)).tobytes()
        by_return = rest.rfind(b"\r", 0, len(rest) - 1) + 1 if self.header.by_return else 0
        return rest.rfind(b"\n") + 1 or by_return

    def _cut_short(self, rest: bytes) -> bytes:
        """Enough of a row to show that it is too long, even if its last byte looks like part of the line end."""
        if self.multiline:
            raise self._not_multiline("has a row longer than 16 MiB")
        return rest[: LONGEST_ROW + 2]

    def _well_placed(self, block: bytes) -> bool:
        """Whether quotation marks appear only around whole fields, or doubled inside them."""
        if b'"' not in block:
            return True
        codes = _codes(block)
        places = np.flatnonzero(codes == ord('"'))
        if len(places) % 2 == 0:
            before, after = codes[places[0::2] - 1], codes[places[1::2] + 1]
            before[places[0::2] == 0] = LINE_FEED
            if (self._bytes_that_mark | self._bytes_that_end)[before].all() and (self._bytes_that_mark | LINE_ENDING)[after].all():
                return True
        if self.multiline:
            raise self._not_multiline("has a quotation mark inside a field that is not quoted properly")
        return False

    def _not_multiline(self, what: str) -> InvalidCatalog:
        return InvalidCatalog(
            f"{self.name} is declared with multiline = true, and {what}: its rows cannot be separated safely; "
            "quote every such field, or declare multiline = false"
        )

    @cached_property
    def _bytes_that_mark(self) -> NDArray[np.bool_]:
        """Which bytes are the delimiter or a quotation mark."""
        return _among(f'{self.header.delimiter}"')

    @cached_property
    def _bytes_that_end(self) -> NDArray[np.bool_]:
        """Which bytes end a row; a CR before LF belongs to the end too."""
        return LINE_ENDING if self.header.by_return else _among("\n")

    @cached_property
    def _other_bytes(self) -> bytes:
        return bytes(np.flatnonzero(~(self._bytes_that_mark | LINE_ENDING)).tolist())

    @cached_property
    def _simple(self) -> re.Pattern[bytes]:
        """A row of printable ASCII without quotation marks, with one field per name."""
        delimiter = re.escape(self.header.delimiter).encode()
        field = rb'[^"\x00-\x08\x0a-\x1f\x80-\xff' + delimiter + rb"]*+"
        return re.compile(field + rb"(?:" + delimiter + field + rb"){%d}" % (len(self.header.names) - 1))


def _field(delimiter: str) -> re.Pattern[str]:
    """A quoted field (its content, the closing mark, what follows) or a plain one."""
    other = f"[^{re.escape(delimiter)}]*+"
    return re.compile(f' *+"((?:[^"]++|"")*+)("?+)({other})|({other})')


def _codes(block: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(block, np.uint8)


def _inside(block: bytes) -> NDArray[Any]:
    """For each byte of whole rows, whether it is inside a quotation; the opening mark is inside, the closing mark is not."""
    return (np.cumsum(_codes(block) == ord('"'), dtype=np.uint8) & 1).view(np.bool_)


def _outside(block: bytes) -> bytes:
    """A block of whole rows with the content of quotations removed."""
    return _codes(block)[~_inside(block)].tobytes() if b'"' in block else block


def _line_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r")


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _split_header(raw: BinaryIO) -> tuple[bytes, bytes, bytes]:
    """The first line of a file, its line end, and what was read beyond it."""
    read = raw.read(len(BOM) + LONGEST_HEADER + 2).removeprefix(BOM)
    end = LINE_END.search(read)
    return (read, b"", b"") if end is None else (read[: end.start()], end[0], read[end.end() :])


@contextmanager
def _open_text(file: Path, encoding: str | None = None) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file to read from, decompressed and in UTF-8, and the file on disk; failures are reported in tacit's own words."""
    try:
        with file.open("rb") as on_disk:
            raw = cast("BinaryIO", gzip.GzipFile(fileobj=on_disk)) if is_compressed(file) else on_disk
            yield (raw if encoding is None else cast("BinaryIO", Transcoded(raw, encoding))), on_disk
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidCatalog(f"{file.name} cannot be decompressed; compress it again") from None
    except OSError as error:
        raise InvalidCatalog(f"{file.name} cannot be read: {error.strerror or 'unknown reason'}") from None
