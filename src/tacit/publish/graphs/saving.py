"""Files of a graph published by groups or by numbers: one JSON file, compressed if its name says so, and a receipt beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.data.files.kinds import compressed
from tacit.files import write_together
from tacit.release.outputs import receipt_beside
from tacit.untrusted import for_json

NOT_WRITTEN = "nothing is published"


def save_json(out: Path, content: Mapping[str, Any], promise: Mapping[str, Any], after: str = NOT_WRITTEN) -> Path:
    """Write the content and, before it, the receipt with its promise; returns the receipt's path."""
    text = f"{for_json(dict(content))}\n".encode()
    receipt = receipt_beside(out)
    files: dict[Path, Any] = {receipt: f"{for_json(dict(promise), indent=2)}\n"}
    files[out] = compressed(text) if out.name.lower().endswith(".gz") else text
    write_together(files, after=after)
    return receipt
