"""Whether the sources of a catalog are those of the last preparation, by a keyed digest beside the store, for the data owner alone.

The digest covers every byte of every file and what the catalog declares. Its key is drawn anew each time and lies with it, readable
by the owner alone, so that the digest tells nothing to anyone who guesses at rows. Whether anything has changed is a fact about the
data: by itself it decides nothing, unless the data owner declares `[store] changes = "public"`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tacit.data.files.sources import source_files
from tacit.errors import InvalidCatalog
from tacit.files import replace_file
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog, fingerprint

FILE = "sources.digest"
KEY_BYTES = 32
READ = 1 << 20  # bytes at a time
OPAQUE = ("postgres", "memory")  # sources without bytes to compare
UNCHANGED = (
    "sources and catalog are those of the last preparation: `tacit prepare --keep-version` would keep the data version, and the "
    "answers released under it"
)
KEPT = 'nothing has changed since the last preparation, so the data version is kept: [store] changes = "public"'

Seen = tuple[tuple[str, int, int, int], ...]


def digest_of(catalog: Catalog, key: bytes) -> str | None:
    """The keyed digest of sources and declarations; None if a source cannot be compared by its bytes."""
    digest = hashlib.blake2b(fingerprint(catalog).encode(), key=key)
    for name, table in sorted(catalog.tables.items()):
        if table.source.kind in OPAQUE or table.source.remote:
            return None
        digests = sorted(
            _file_digest(file, key) for file in source_files(catalog, table.source)
        )  # the order of files means nothing
        digest.update(repr((name, digests)).encode())
    return digest.hexdigest()


def _file_digest(file: Path, key: bytes) -> str:
    digest = hashlib.blake2b(file.name.lower().rpartition(".")[2].encode(), key=key)
    with file.open("rb") as opened:
        while chunk := opened.read(READ):
            digest.update(chunk)
    return digest.hexdigest()


def seen_files(catalog: Catalog) -> Seen | None:
    """The stamps of all files of a catalog, to see whether one is written to during a preparation; None if one is missing."""
    try:
        return tuple(_stamps(catalog))
    except (OSError, InvalidCatalog):
        return None


def _stamps(catalog: Catalog) -> Iterator[tuple[str, int, int, int]]:
    for table in catalog.tables.values():
        if table.source.kind not in OPAQUE and not table.source.remote:
            for file in source_files(catalog, table.source):
                status = file.stat()
                yield str(file), status.st_mtime_ns, status.st_size, status.st_ino


def is_unchanged(catalog: Catalog) -> bool | None:
    """Whether sources and catalog are those of the store; None if that is not known."""
    try:
        kept = json.loads((catalog.store_folder / FILE).read_text("ascii"))
        found = digest_of(catalog, bytes.fromhex(kept["key"]))
        return None if found is None else bool(found == kept["digest"])
    except (OSError, ValueError, KeyError, TypeError, InvalidCatalog):
        return None


def remember_sources(catalog: Catalog, before: Seen | None) -> None:
    """Keep the digest of what has been prepared, if no file changed since `before`; else forget the old one."""
    key, place = bits.random_bytes(KEY_BYTES), catalog.store_folder / FILE
    try:
        digest = digest_of(catalog, key) if before is not None else None
    except (OSError, InvalidCatalog):
        digest = None
    if digest is None or seen_files(catalog) != before:
        place.unlink(missing_ok=True)
        return
    replace_file(place, json.dumps({"key": key.hex(), "digest": digest}) + "\n")
