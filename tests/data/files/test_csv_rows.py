"""A row of a CSV file is read as its own bytes say: no other row, of whatever bytes, changes that, and none makes it fail.

Each check is shown to catch a planted bug: the engine's own reader with another one for files that it does not take, of which
only one takes a certain text for NULL; and a sieve that lets everything pass.
"""

import csv
import gzip
import io
import tempfile
from collections import Counter
from dataclasses import replace

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stored import catalog, number, stored, table, write_csv
from tacit.data.engine import Workshop
from tacit.data.files import csv_rows
from tacit.data.files.csv_rows import Header, Sieve, csv_header, fields_of
from tacit.data.files.sources import READERS
from tacit.data.prepare import prepare
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Owner, Source

HEADERS = [b"a,b", b"a;b;c", b"a\tb", b"alone", b' "a" , b', b'"a","b"']
ENDS = [b"\n", b"\r\n", b"\r"]
PARTS = [b"x", b"7", b" ", b'"', b'""', b",", b";", b"\t", b"|", b"\\", b"'", b"#", b"\x01", b"\x01NULL\x02", b"NULL", b"\0"]
PARTS += [b"\xff", b"\xc3", "é".encode(), b"\xe2\x82", b"\xef\xbb\xbf", b"\x1a", b"\x0b", b"\xc2\x85", "\u2028".encode()]
LINES = st.lists(st.sampled_from(PARTS), max_size=8).map(b"".join)
SOUND = st.lists(st.sampled_from([b"x", b"7", b" ", b",", b";", b'"a,b"', b'""', b'"x""y"']), max_size=6).map(b"".join)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    workshop = Workshop(tmp_path_factory.mktemp("csv") / "spill", "1GB")
    yield workshop
    workshop.engine.close()


@pytest.fixture
def small_blocks(monkeypatch):
    """So that small files have many, with rows and line ends across them."""
    monkeypatch.setattr(csv_rows, "BLOCK", 7)
    monkeypatch.setattr(csv_rows, "LONGEST_HEADER", 12)


def read(workshop, data, multiline=False, suffix="csv", encoding=None):
    """The rows of a file with these bytes, as texts, however often each is there."""
    file = workshop.spill.parent / f"rows.{suffix}"
    file.write_bytes(gzip.compress(data, 1) if suffix.endswith("gz") else data)
    source = Source("csv", str(file), multiline=multiline, encoding=encoding)
    with READERS["csv"](workshop, catalog(file.parent), source, None) as rows:
        columns = ", ".join(raw.sql for raw in rows.columns.values())
        return Counter(workshop.rows(f"SELECT {columns} FROM {rows.relation}"))


# --- the rule, in plain Python ---------------------------------------------------------------------------------------------------


def rows_in(data):
    """The lines after the first: they end with LF, or CR LF; only if the first one ends with CR alone, so do they."""
    if b"\r" in (lines := data.splitlines(keepends=True))[0][-1:]:
        return [line.rstrip(b"\r\n") for line in lines[1:] if line.strip(b"\r\n")]
    return [line.removesuffix(b"\r") for line in data.split(b"\n")[1:] if line not in (b"", b"\r")]


def expected(lines, header):
    """The rows that lines are, one by one, character by character; and whether one of them leaves a quotation mark open."""
    names, delimiter = header
    found, some_open = Counter(), False
    for line in lines:
        row, is_open = fields(line.decode("utf-8", "replace").replace("\0", "\ufffd"), delimiter)
        found[tuple((row + [""] * names)[:names])] += 1
        some_open = some_open or is_open
    return found, some_open


def fields(text, delimiter):
    row, field, state = [], "", "begins"
    for place, character in enumerate(text):
        if state == "quoted":
            if character != '"':
                field += character
            elif text[place + 1 : place + 2] == '"':
                state = "second mark"
            else:
                state = "plain"
        elif state == "second mark":
            field, state = field + '"', "quoted"
        elif character == delimiter:
            row, field, state = [*row, field], "", "begins"
        elif state == "begins" and character == '"' and not field.strip(" "):
            field, state = "", "quoted"
        else:
            field += character
            state = "begins" if state == "begins" and character == " " else "plain"
    return [*row, field], state == "quoted"


def parted(header):
    found = {delimiter: len(fields(header.decode(), delimiter)[0]) for delimiter in ",;\t|"}
    delimiter = max(found, key=found.get)
    return found[delimiter], delimiter


@given(st.text(st.sampled_from('a ",x'), min_size=1, max_size=12))
def test_fields_are_those_of_the_model_and_of_python(text):
    """The standard reader leaves out spaces at the beginning of a field, which no column keeps."""
    assert fields_of(text, ",") == fields(text, ",")
    theirs = next(csv.reader([text], skipinitialspace=True), [""])
    assert [field.lstrip(" ") for field in fields_of(text, ",")[0]] == [field.lstrip(" ") for field in theirs]


LENGTHS = pytest.mark.parametrize("examples", [120, pytest.param(3000, marks=pytest.mark.slow)])


@LENGTHS
def test_every_line_is_read_by_the_rule(workshop, small_blocks, examples):
    """Whatever stands in it, and wherever: in a file whose lines are rows."""

    @given(st.sampled_from(HEADERS), st.lists(st.tuples(LINES | SOUND, st.sampled_from(ENDS)), max_size=6), *[st.booleans()] * 3)
    @settings(max_examples=examples)
    @example(b"a,b", [(b"1,\x01NULL\x02", b"\n"), (b"2,\xff", b"\n")], False, False, False)
    @example(b"a,b", [(b'1,"x', b"\n"), (b"2,y", b"\n")], False, False, False)
    @example(b"a,b", [(b"\xef\xbb\xbf1,x", b"\n"), (b"\xef\xbb\xbf2,y", b"\n")], False, True, False)
    def inner(header, lines, one_end, with_mark, compressed):
        ends = [lines[0][1] if one_end else end for _, end in lines]
        data = (b"\xef\xbb\xbf" if with_mark else b"") + header + (ends[0] if ends else b"\n")
        data += b"".join(line + end for (line, _), end in zip(lines, ends, strict=True))
        suffix = "csv.gz" if compressed else "csv"
        wanted, some_open = expected(rows_in(data), parted(header))
        assert read(workshop, data, False, suffix) == wanted
        if some_open:
            with pytest.raises(InvalidCatalog, match=r"leaves a quotation mark open"):
                read(workshop, data, None, suffix)
        else:
            assert read(workshop, data, None, suffix) == wanted

    inner()


# --- no row changes another ------------------------------------------------------------------------------------------------------


def check_row_by_row(reader, header, rows):
    """The file gives what its rows give, each in a file of its own."""
    alone = sum((reader(b"\n".join([header, row, b""])) for row in rows), Counter())
    assert reader(b"\n".join([header, *rows, b""])) == alone


@LENGTHS
def test_no_row_changes_how_another_is_read(workshop, small_blocks, examples):
    @given(st.sampled_from(HEADERS), st.lists(LINES | SOUND, min_size=2, max_size=5))
    @settings(max_examples=examples // 3)
    def inner(header, rows):
        check_row_by_row(lambda data: read(workshop, data), header, rows)

    inner()


ENCODED = {"cp1252": (b"\n", b"a,b"), "cp932": (b"\n", b"a,b"), "utf-16-le": ("\n".encode("utf-16-le"), "a,b".encode("utf-16-le"))}


@pytest.mark.parametrize("encoding", ENCODED)
@given(st.lists(LINES | SOUND, min_size=2, max_size=4), st.sampled_from([0, 0xD8, 0xDC]))
@settings(max_examples=30)
def test_no_row_changes_another_in_another_encoding(workshop, encoding, rows, high):
    """Bytes that the encoding does not have, and halves of characters, end with their row."""
    end, header = ENCODED[encoding]
    if encoding.startswith("utf-16"):
        rows = [b"".join(bytes([byte, high if byte > 0x60 else 0]) for byte in row) for row in rows]

    def found(*some):
        return read(workshop, b"".join(part + end for part in (header, *some)), encoding=encoding)

    assert found(*rows) == sum((found(row) for row in rows), Counter())


def test_the_same_of_an_encoding_with_states_fails(workshop):
    rows = [b"1,\x1b$B", b"2,xy"]
    whole, alone = (read(workshop, b"\n".join([b"a,b", *some, b""]), encoding="iso2022_jp") for some in (rows, rows[1:]))
    assert not alone <= whole


QUOTED = st.text(st.sampled_from('a"\n\r, é;'), max_size=6)


@LENGTHS
def test_no_row_of_a_properly_quoted_file_changes_another(workshop, small_blocks, examples):
    """With line ends in fields, where the catalog declares them."""

    def written(row):
        file = io.StringIO()
        csv.writer(file).writerow(row)
        return file.getvalue().encode().removesuffix(b"\r\n")

    @given(st.lists(st.tuples(QUOTED, QUOTED), max_size=5), st.lists(LINES.filter(lambda line: b'"' not in line), max_size=3))
    @settings(max_examples=examples // 3)
    def inner(rows, others):
        assert read(workshop, b"\n".join([b"a,b", *map(written, rows), b""]), True) == Counter(rows)
        check_row_by_row(lambda data: read(workshop, data, True), b"a,b", [*map(written, rows), *others])

    inner()


@pytest.mark.parametrize("row", [b'1,"x', b'1,x"y', b'1, "x"', b'1,"x"y', b'1,"x" ', b'1,"x""', b'\xff,"x'])
def test_what_is_not_properly_quoted_is_refused_where_line_ends_are_declared(workshop, row):
    """One such row could swallow others, which would look like a long field."""
    with pytest.raises(InvalidCatalog, match=r"is declared with multiline ="):
        read(workshop, b"a,b\n0,0\n" + row + b"\n2,y\n", True)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_row_that_is_too_long_is_one_of_empty_fields(workshop, small_blocks, monkeypatch, end):
    """Wherever it is cut, and even if a CR stands there."""
    monkeypatch.setattr(csv_rows, "LONGEST_ROW", 20)
    for length in range(15, 45):
        for mark in (b"", b"\r"):
            row = (b"1," + b"x" * 18 + mark + b"y" * 40)[:length].rstrip(b"\r")
            found = read(workshop, end.join([b"a,b", b"0,0", row, b"2,y", b""]))
            assert found == Counter([("0", "0"), ("2", "y"), ("", "") if len(row) > 20 else ("1", row[2:].decode())])
            assert read(workshop, end.join([b"a,b", b"2,y", row])) == found - Counter([("0", "0")])
    with pytest.raises(InvalidCatalog, match="has a row longer than"):
        read(workshop, b'a,b\n1,"' + b"x\n" * 50 + b'"\n', True)
    with pytest.raises(InvalidCatalog, match="has a row longer than"):
        read(workshop, b'a,b\n1,"' + b"x" * 18 + b'"\n', True)


# --- planted bugs ----------------------------------------------------------------------------------------------------------------

HOSTILE = {
    "a text for NULL": [b"1,x", b"2,\x01NULL\x02", b"3,\xff"],
    "an open quotation mark": [b"1,x", b'2,"y', b'3,"z"', b"4,w"],
    "two of them": [b"1,x", b'2,"y', b"3,z", b'4,"w"'],
}


def two_readers(data):
    """What the engine reads or, as soon as it does not take one row, another reader: for the whole file."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file, duckdb.connect() as engine:
        file.write(data)
        file.flush()
        options = "auto_detect = false, header = true, quote = '\"', escape = '\"', nullstr = '\x01NULL\x02'"
        try:
            columns = "columns = {'a': 'VARCHAR', 'b': 'VARCHAR'}"
            return Counter(engine.execute(f"FROM read_csv('{file.name}', {columns}, {options})").fetchall())
        except duckdb.InvalidInputException:
            lines = io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace", newline="")
            return Counter(tuple([*row, ""][:2]) for row in list(csv.reader(lines))[1:])


@pytest.mark.parametrize("rows", HOSTILE)
def test_a_reader_by_file_changes_other_rows(rows, workshop):
    check_row_by_row(lambda data: read(workshop, data), b"a,b", HOSTILE[rows])
    with pytest.raises(AssertionError):
        check_row_by_row(two_readers, b"a,b", HOSTILE[rows])


@pytest.mark.parametrize("rows", [[b"1,x", b'2,"y', b'3,"z"', b"4,w"], [b"1,x", b"2", b"3,w"], [b"1,x", b"2,y\r3,z"]])
def test_without_the_sieve_rows_change_others_or_fail(rows, workshop, monkeypatch):
    check_row_by_row(lambda data: read(workshop, data), b"a,b", rows)
    monkeypatch.setattr(Sieve, "sound", lambda *_: True)
    with pytest.raises((AssertionError, duckdb.Error)):
        check_all_there(lambda data: read(workshop, data), b"a,b", rows)


def check_all_there(reader, header, rows):
    check_row_by_row(reader, header, rows)
    assert reader(b"\n".join([header, *rows])).total() == len(rows)


# --- from the file to the store --------------------------------------------------------------------------------------------------

OTHERS = {
    "not UTF-8": b"9,\xff\n",
    "an open quotation mark": b'9,"x\n',
    "too many fields": b"9,x,y,z\n",
    "too few fields": b"9\n",
    "a mark inside": b'9,"x"y\n',
    "other line ends": b"9,x\r9,y\r\n",
    "NUL": b"9,\0\n",
    "what the engine is told to take for NULL": b"9,\x01\n",
}


def test_what_one_person_has_changes_no_row_of_others(tmp_path):
    sound = b'1,\n2,""\n3,\x01NULL\x02\n4,"a ""b"", c"\n5, d \n6,\xc3\xa9\n'
    notes = {1: None, 2: None, 3: "\x01NULL\x02", 4: 'a "b", c', 5: "d", 6: "é"}
    source = Source("csv", "notes.csv", multiline=False)
    columns = (Column("note", "text"), number("id", 0, 9))
    prepared = catalog(tmp_path, table("notes", source, *columns, unit=Owner("id"), max_rows=9))
    for what, other in {"nothing": b"", **OTHERS}.items():
        (tmp_path / "notes.csv").write_bytes(b"id,note\n" + other + sound + other)
        prepare(prepared)
        found = [row for row in stored(prepared, "notes", "id", "note") if row[0] != 9]
        assert found == sorted(notes.items(), key=repr), what


@pytest.mark.parametrize("data", [b"id\n1\n"[:3], b"id\n1\n"])
def test_a_damaged_archive_is_said_in_our_words(data, tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data)[: -9 if len(data) > 3 else 15])
    with pytest.raises(InvalidCatalog, match=r"a\.csv\.gz cannot be decompressed"):
        prepare(catalog(tmp_path, table("a", tmp_path / "a.csv.gz", number("id", 0, 9))))


def test_a_header_stands_on_one_line(tmp_path):
    for data, words in ((b'a,"b\nc"\n1,2\n', "leaves a quotation mark open"), (b"a" * (1 << 20) + b"a\n", "too long for a header")):
        (tmp_path / "a.csv").write_bytes(data)
        with pytest.raises(InvalidCatalog, match=words):
            prepare(catalog(tmp_path, table("a", tmp_path / "a.csv", number("a", 0, 9))))


def test_files_of_one_table_may_have_different_line_ends(tmp_path):
    for place, end in enumerate(ENDS):
        (tmp_path / f"notes{place}.csv").write_bytes(end.join([b"id,note", b"%d,x" % place, b"%d,y" % (5 + place), b""]))
    prepared = catalog(tmp_path, table("notes", Source("csv", "notes*.csv"), number("id", 0, 9), Column("note", "text")))
    prepare(prepared)
    assert stored(prepared, "notes", "id", "note") == [(0, "x"), (1, "x"), (2, "x"), (5, "y"), (6, "y"), (7, "y")]


def test_another_declaration_of_line_ends_is_another_catalog(tmp_path):
    from tacit.privacy.catalog import fingerprint

    notes = table("notes", Source("csv", "notes.csv"), Column("note", "text"))
    found = {
        fingerprint(catalog(tmp_path, replace(notes, source=Source("csv", "n", multiline=said)))) for said in (None, True, False)
    }
    assert len(found) == 3


def test_what_is_sound_and_what_is_written_anew():
    sieve = Sieve("rows.csv", Header(("a", "b"), ","), None)
    assert sieve.sound(b'1,2\r\n"x,y",\r\n')
    assert sieve.sound(b'1,2\n"x""y",\n')
    odd = (b"1,2\r", b"1\r\n", b"\r\n", b'1,"2\r\n"\r\n', b"1,2\r\r\n", b"1,2\n3,4\r\n", b"1,\r2\n", b"1,\xff\r\n", b"1,\0\n")
    assert not any(map(sieve.sound, odd))
    assert sieve.mend_rows(b'\r\n1\n2,"x"y,z\r\r\n3,4\r\n') == b'"1",""\n"2","xy"\n3,4\n'


def test_how_far_a_file_is_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "BLOCK", 1 << 10)
    monkeypatch.setattr(csv_rows, "LONGEST_HEADER", 1 << 10)
    files = [write_csv(tmp_path / f"{place}.csv", ["a"], [["x" * 100]] * 2000) for place in range(2)]
    told = []
    rows = csv_rows.CsvRows(files, csv_header(files[0]), None, [0])
    assert rows.batches(told.append).read_all().num_rows == 4000
    assert told == sorted(told)
    assert (told[0] < 0.1, told[-1]) == (True, 1.0)
