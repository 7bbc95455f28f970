"""A certificate: why the price of a release is right for what was asked. A value, its canonical text, and a text for people.

The format is in docs/reference/certificate-format.md. A certificate is made from public values alone, and from the ledger's entry
that was written before the data was read; of what came after it has the released values and their hash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.accounting.ledger.entries import canonical_json
from tacit.errors import InvalidInput
from tacit.files import write
from tacit.privacy.catalog import day_of
from tacit.privacy.periods import calendar_from, named
from tacit.untrusted import for_terminal

ABOUT = (
    "This certificate shows that the price is right for the plan. It cannot show that the program drew its noise, "
    "nor that it read the data that was declared."
)
IN_PERIODS = (
    " The budget is one of each period, and protects the rows of a person in one of them: "
    "a person in m periods has m times its epsilon, and a delta that soon says nothing."
)
FORMAT = 1
LONGEST = 200  # characters of a text that is printed
LONG = re.compile(r"(?<![\w.])-?(?=[0-9/]{14})[0-9]{1,4000}/[0-9]{1,4000}(?![\w.])")  # a rational of more than 13 characters
Shown = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A signed certificate; `str` explains it line by line."""

    document: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return {**self.document}

    def to_json(self) -> str:
        """The canonical text, which is what the signature covers, with the signature."""
        return canonical_json({**self.document})

    def save(self, path: str | Path) -> Path:
        """Write the canonical text and a line feed; returns the path."""
        return write(path, f"{self.to_json()}\n")

    def __str__(self) -> str:
        return "\n".join(lines_of(self.document))

    def __repr__(self) -> str:
        return f"Certificate(way={self.document['way']!r}, form={self.document['form']!r}, entry={self.document['entry'][:16]!r})"


def certificate_from(text: str) -> Certificate:
    """The certificate of a text, read and not checked; a ValueError, LookupError or TypeError if it has another form."""
    document = json.loads(text)
    if (document["kind"], document["format"]) != ("certificate", FORMAT):
        raise ValueError("another document")
    made = Certificate(document)
    _ = str(made)  # what cannot be shown is not a certificate
    return made


def read_certificate(file: Path) -> Certificate:
    """The certificate of a file. It is read and not checked: `tacit certificate check` does that."""
    try:
        return certificate_from(file.read_text("ascii"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read ({error.strerror or type(error).__name__})") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        words = f"{file} is not a certificate of format {FORMAT}; `tacit certificate show ENTRY --out FILE` writes one"
        raise InvalidInput(words) from None


# --- line by line ------------------------------------------------------------------------------------------------------------


def lines_of(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a certificate for people. Its texts are not trusted, so none of them can command a terminal."""
    yield for_terminal(str(document["about"]), 2 * LONGEST)
    for heading, lines in sections_of(document):
        yield ""
        yield heading
        width = max(len(name) for name, _ in lines)
        yield from (f"  {name.ljust(width)}  {words}".rstrip() for name, words in lines)


def sections_of(document: Mapping[str, Any]) -> list[tuple[str, list[Shown]]]:
    """The headings with their lines, each a name and its words."""
    sections = [(heading, list(shown(document))) for heading, shown in SECTIONS.items()]
    return [(heading, lines) for heading, lines in sections if lines]


def _asked(document: Mapping[str, Any]) -> Iterator[Shown]:
    asked = document["asked"]
    yield "way", _text(document["way"])
    if "question" in asked:
        question = str(asked["question"])  # on one line, unless a comment ends where its line does
        yield "question", _text(question if "--" in question else question.replace("\n", " "))
        budget = {name: asked[name] for name in ("epsilon", "delta", "error", "confidence") if asked[name] not in (None, "0")}
        yield "asked with", _text(", ".join(f"{name} {value}" for name, value in budget.items()))
    else:
        yield "release", _text(asked["what"])
    yield "neighbours", _text(document["relation"])
    yield "data version", _text(document["data_version"])


def _facts(document: Mapping[str, Any]) -> Iterator[Shown]:
    for name, fact in document["facts"].get("tables", {}).items():
        if fact["public"]:
            yield _text(name), "public"
            continue
        unit = "each row is one unit" if fact["unit"] is None else f"unit by {fact['unit']['column']}"
        of = fact.get("period") or fact.get("period_of")
        within = "" if of is None else f" in a period, which is that of {of}"
        yield _text(name), _text(f"{unit}, at most {fact['max_rows']} rows of one unit{within}")
        for column, declared in fact["columns"].items():
            ends = declared["bounds"] or ()
            ends = [day_of(int(end)) for end in ends] if declared["kind"] == "date" else ends
            bounds = " from {} to {}".format(*ends) if ends else ""
            yield _text(f"{name}.{column}"), _text(f"{declared['kind']}{bounds}, {declared['points']} values")


def _steps(document: Mapping[str, Any]) -> Iterator[Shown]:
    for number, step in enumerate(document["derivation"], start=1):
        gives = ", ".join(f"{name} {value}" for name, value in sorted(step["gives"].items()) if name != "several")
        yield f"{number}. {_text(step['rule'])}", _text(f"{gives}  ({step['proof']})")


def _noise(document: Mapping[str, Any]) -> Iterator[Shown]:
    for number, each in enumerate(document["mechanisms"]):
        named = ("part", "releases", "kind", "events", "moment", "calls")
        parameters = ", ".join(f"{name} {value}" for name, value in sorted(each.items()) if name not in named)
        what = f"{each['releases']} {each['moment']}" if "moment" in each else str(each["releases"])
        yield f"{number}. {_text(each['kind'])}", _text(f"{what}: {parameters}")


def _price(document: Mapping[str, Any]) -> Iterator[Shown]:
    price, cap, within = document["price"], document["cap"], document.get("periods")
    everything = f"epsilon {cap['epsilon']}, delta {cap['delta']}, at most {cap['questions_at_most']} questions"
    if within is None:
        yield "this release", _text(_amounts(price))
        yield "everything", _text(everything)
    else:
        calendar, runs = calendar_from(within["per"]), tuple((int(low), int(high)) for low, high in within["runs"])
        yield "periods", _text(f"{named(runs, calendar) or 'none'}, each a {calendar.word}")
        yield "in each", _text(_amounts(within["price"]))
        yield "in total", _text(f"{_amounts(price)}, for a person with rows in every one of them")
        yield "everything", _text(f"{everything}, in each period")
        lifetime = within["lifetime"]
        yield "lifetime", _text("no limit" if lifetime is None else f"epsilon {lifetime['epsilon']}, delta {lifetime['delta']}")
    yield "entry", _text(document["entry"])
    if "ledger" in document:
        ledger = document["ledger"]
        yield "position", _text(f"number {ledger['number']} of ledger {ledger['id']}")
        for name in ("before", "after"):
            yield f"sums {name}", _text(_amounts(ledger[name]))
        for low, high, sums in ledger.get("periods", ()):
            run, calendar = (int(low), int(high)), calendar_from(document["periods"]["per"])
            yield "periods before", _text(f"{named((run,), calendar)}: {_amounts(sums)}")


def _amounts(price: Mapping[str, Any]) -> str:
    return f"epsilon {'none' if price['epsilon'] is None else price['epsilon']}, rho {price['rho']}, delta {price['delta']}"


def _released(document: Mapping[str, Any]) -> Iterator[Shown]:
    released = document["released"]
    yield "hash", "no values were kept" if released["sha256"] is None else _text(released["sha256"])
    for name, rule in zip(released["names"], document["intervals"], strict=True):
        half = f": ± {rule['half_width']}, missed with {rule['missed']}" if "half_width" in rule else ""
        yield _text(name), _text(f"{rule['rule']}{half}")


def _software(document: Mapping[str, Any]) -> Iterator[Shown]:
    yield "version", _text(f"tacit {document['software']['version']}")
    for stated in document["stated"]:
        yield "stated", _text(stated)
    yield "signed by", _text(document["signature"]["key"])


SECTIONS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Shown]]] = {
    "What was asked": _asked,
    "What the catalog declares": _facts,
    "Why one unit cannot change more": _steps,
    "The noise": _noise,
    "The price": _price,
    "What was released": _released,
    "Who says so": _software,
}


def _text(value: object) -> str:
    return for_terminal(LONG.sub(_rounded, str(value)), LONGEST)


def _rounded(number: re.Match[str]) -> str:
    """A rational of many digits as people read it: about as a decimal. The file has it exactly."""
    return f"about {float(Fraction(number[0])):.6g}"
