"""A rule that holds for the whole tree: files are written by `tacit.files`, and by libraries that keep a file of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from sources import FILES, nodes, tree_of

METHODS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"}
FUNCTIONS = {
    *(f"os.{name}" for name in ("replace", "rename", "renames", "link", "symlink", "truncate", "mkfifo")),
    *(f"shutil.{name}" for name in ("copy", "copy2", "copyfile", "copytree", "move")),
    *(f"tempfile.{name}" for name in ("mkstemp", "NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile")),
}
NAMES = {"mkstemp", "NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile", "copyfile", "copytree"}
TABLES = {"write_table", "write_csv", "write_parquet", "ParquetWriter", "savefig", "savez", "dump_all"}  # of libraries
WRITING = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC", "O_EXCL"}
# What writes without `tacit.files`, and why it may.
EXCEPTIONS = {
    "release/elsewhere/processes.py": {"os.open"},  # the null device takes the place of what an answering process could print to
    "data/prepare/adding.py": {"(place / f'{number:06}-{file.name}').symlink_to"},  # gathers sources, which are only read
    "publish/releases/kept.py": {"os.open"},  # the lock of a run, which stays empty
    "publish/releases/site.py": {"pq.write_table"},  # into memory
    "doors/cli/commands.py": {"os.open"},  # the null device takes the place of a standard output that was closed
}
FILE = "file"  # what a function that `files.write` calls names the open file that it is given


def writes(tree: ast.AST) -> set[str]:
    """The calls in a tree that open a file for writing, or put one in a place."""
    return {name for call, name in _calls(tree) if _writes(call, name)}


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Every call, with what is called as it is written."""
    return ((call, ast.unparse(call.func)) for call in nodes(tree, ast.Call))


def _writes(call: ast.Call, name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    if last in METHODS or last in NAMES or name in FUNCTIONS:
        return True
    if last in TABLES:
        return not any(isinstance(given, ast.Name) and given.id == FILE for given in call.args)
    if name == "os.open":
        return bool(WRITING & {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)})
    return (name == "open" or last in ("open", "fdopen")) and _mode_writes(call, 1 if name != last or name == "open" else 0)


def _mode_writes(call: ast.Call, place: int) -> bool:
    """Whether the mode says so: the first argument of `Path.open`, the second of `open`, `gzip.open` and `os.fdopen`.

    A mode that is no constant counts, and so does one of `Path.open` and `open` that cannot be told apart.
    """
    given = [*(keyword.value for keyword in call.keywords if keyword.arg == "mode"), *call.args[: place + 1]]
    modes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    words = [mode for mode in modes if mode and set(mode) <= set("rwaxbtU+")]
    chosen = any(isinstance(each, ast.IfExp) for each in given)
    return chosen or any(set(mode) & set("wax+") for mode in words)


def test_only_one_module_writes_files() -> None:
    found = {place: writes(tree_of(path)) - EXCEPTIONS.get(place, set()) for place, path in FILES.items() if place != "files.py"}
    assert {place: names for place, names in found.items() if names} == {}


def test_every_exception_is_still_one() -> None:
    assert {place: writes(tree_of(FILES[place])) for place in EXCEPTIONS} == EXCEPTIONS


@pytest.mark.parametrize(
    "planted",
    [
        "Path(out).write_text('x')",
        "out.write_bytes(page)",
        "place.touch(mode=0o600)",
        "open(path, 'w')",
        "open(path, mode='ab')",
        "out.open('x', encoding='utf-8')",
        "out.open('w' if force else 'x')",
        "gzip.open(path, 'wb')",
        "os.fdopen(descriptor, 'wb')",
        "os.open(path, os.O_RDWR | os.O_CREAT, 0o600)",
        "os.replace(new, old)",
        "shutil.copyfile(one, other)",
        "tempfile.mkstemp()",
        "NamedTemporaryFile()",
        "pq.write_table(table, path)",
        "pq.write_table(table, str(folder / 'file.parquet'))",
    ],
)
def test_a_planted_writer_is_caught(planted: str) -> None:
    assert writes(ast.parse(f"def f():\n    {planted}"))


@pytest.mark.parametrize(
    "sound",
    [
        "open(path)",
        "path.open('rb')",
        "gzip.open(path)",
        "os.open(path, os.O_RDONLY)",
        "os.fdopen(descriptor, 'rb')",
        "write(path, lambda file: pq.write_table(table, file))",
        "text.replace('a', 'w')",
        "tacit.open('w.toml')",
    ],
)
def test_what_only_reads_is_not(sound: str) -> None:
    assert not writes(ast.parse(sound))


# --- reading -----------------------------------------------------------------------------------------------------------------

READERS = {"read_csv", "read_parquet", "read_schema", "open_csv", "ParquetFile", "ParquetDataset", "DictReader", "scan_csv"}
MODULES = {"csv", "gzip", "pyarrow.csv"}
# What reads tables, or imports what does, outside data/files, and why it may.
READING = {
    "untrusted.py": {"csv"},  # writes CSV, and is the only one that does
    "data/registering.py": {"gzip"},  # compares a source by its bytes, and reads no table
    "release/outputs.py": {"gzip"},  # compresses what it writes
    "evidence/attacks/hostile_key.py": {"csv"},  # reads tacit's own output back, as a stranger would
    "doors/cli/demo/hospital.py": {"read_csv", "read_parquet"},  # a plain engine, to compare with
}


def reads(tree: ast.AST) -> set[str]:
    """The readers of tables that a tree imports or calls."""
    found = {name.rsplit(".", 1)[-1] for _, name in _calls(tree)} & READERS
    for node in nodes(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif node.module:
            found |= {node.module} & MODULES
            found |= {f"{node.module}.{alias.name}" for alias in node.names} & MODULES
    return found


def test_only_one_folder_reads_tables() -> None:
    others = {place: path for place, path in FILES.items() if not place.startswith("data/files/")}
    found = {place: reads(tree_of(path)) - READING.get(place, set()) for place, path in others.items()}
    assert {place: names for place, names in found.items() if names} == {}


def test_every_other_reader_is_still_one() -> None:
    assert {place: reads(tree_of(FILES[place])) for place in READING} == READING


@pytest.mark.parametrize(
    "planted",
    ["import csv", "from pyarrow import csv", "import gzip", "pq.ParquetFile(path)", "engine.read_csv(path)", "pq.read_schema(f)"],
)
def test_a_planted_reader_is_caught(planted: str) -> None:
    assert reads(ast.parse(planted))
