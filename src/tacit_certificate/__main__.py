"""The command: python -m tacit_certificate FILE --key PUB, or --ledger EXPORT --key PUB [--head HEAD ...]."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tacit_certificate import ledger
from tacit_certificate.check import ABOUT, Certificate
from tacit_certificate.document import MOST_BYTES, Keys, Report, read_canonical, read_keys

VALID, NOT_VALID, UNUSABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 valid, 1 not valid, 2 wrong usage or an unreadable file."""
    parser = argparse.ArgumentParser("tacit_certificate", description="Check a certificate of tacit, or a ledger with its own.")
    parser.add_argument("file", nargs="?", metavar="FILE", type=Path, help="a certificate")
    parser.add_argument("--key", required=True, metavar="PUB", type=Path, help="the published list of keys, or one key as PEM")
    parser.add_argument("--ledger", metavar="EXPORT", type=Path, help="an export of a ledger, with all certificates")
    parser.add_argument("--head", metavar="HEAD", type=Path, action="append", default=[], help="a head that you kept; repeatable")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    if (given.file is None) == (given.ledger is None) or (given.head and given.ledger is None):
        parser.error("give one FILE, or --ledger EXPORT and perhaps --head HEAD")
    try:
        report = run(given.file, given.ledger, given.head, given.key)
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return UNUSABLE
    print(json.dumps({"valid": not report.wrong, **vars(report)}) if given.json else text(report))
    return NOT_VALID if report.wrong else VALID


def run(file: Path | None, export: Path | None, heads: Sequence[Path], key: Path) -> Report:
    """The report on a certificate, or on a ledger with its certificates and heads that were kept."""
    report, keys, found = Report(), list[Keys](), list[Report]()
    if not report.section("keys", lambda: keys.append(read_keys(_bytes(key)))):
        return report
    if file is not None:
        report.section("file", lambda: found.append(Certificate(read_canonical(_bytes(file))).check(keys[0])))
        return found[0] if found else report
    with Path(export or "").open("rb") as lines:
        return ledger.check(iter(lambda: lines.readline(MOST_BYTES + 1), b""), map(_bytes, heads), keys[0])


def _bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES + 1)


def text(report: Report) -> str:
    """A report for people, line by line."""
    told = {"checked   ": report.checked, "as stated ": report.stated, "WRONG     ": report.wrong}
    lines = [f"{word}{each}" for word, texts in told.items() for each in texts]
    counts = f"{len(report.checked)} statements checked, {len(report.stated)} taken as stated"
    lines += [f"not valid: {report.wrong[0]}" if report.wrong else f"valid: {counts}", ABOUT]
    return "\n".join("".join(each if each.isprintable() else "?" for each in line) for line in lines)  # no text commands a terminal


if __name__ == "__main__":
    sys.exit(main())
