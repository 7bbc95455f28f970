"""Puts the proofs, which lie beside the code, into the site: src/tacit/**/NAME.md becomes proofs/NAME.md, in the tree's order."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

AFTER_GUIDES = "---\nsearch:\n  boost: 0.1\n---\n\n"  # who searches for a word wants the page that explains it first
CHAPTERS = ("privacy", "accounting", "mechanisms", "data", "query", "release", "publish", "evidence")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation, with every proof in its room."""
    room = next(part["Proofs"] for part in config.nav if "Proofs" in part)
    room.extend(f"proofs/{proof.name}" for proof in _proofs(config))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of docs/, and the proofs."""
    for proof in _proofs(config):
        content = AFTER_GUIDES + _listed(_readable(proof.read_text("utf-8")))
        files.append(File.generated(config, f"proofs/{proof.name}", content=content))
    return files


STARRED = re.compile(r"(?<![\w*`])([A-Za-z](?:_\w)?)\*(?!\*)")


def _readable(proof: str) -> str:
    """The text with the star of R* or S_r* as a star: Markdown would read two of them as emphasis."""
    return "\n".join(line if line.startswith("    ") else STARRED.sub(r"\1\\*", line) for line in proof.split("\n"))


PROVED = re.compile(r"(?:^- `[\w.]+` `[0-9a-f]{8}`\n)+", re.MULTILINE)


def _listed(proof: str) -> str:
    """The text with the list of what it proves as a table."""
    return PROVED.sub(
        lambda found: "| code | fingerprint |\n|---|---|\n" + re.sub(r"^- (\S+) (\S+)$", r"| \1 | \2 |", found[0], flags=re.M),
        proof,
    )


def _proofs(config: MkDocsConfig) -> list[Path]:
    source = Path(config.config_file_path).parent / "src" / "tacit"
    return [proof for chapter in CHAPTERS for proof in sorted((source / chapter).rglob("*.md"))]
