"""A file becomes a document: canonical JSON within bounds, exact numbers, signatures. The file may be hostile.

Nothing here does more work than a few times the size of the file, and no number is longer than `MOST_DIGITS`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

MOST_BYTES = 1 << 25  # of a certificate: 1,000 times what 100 groups need
MOST_DEPTH = 200
MOST_DIGITS = 1000
RATIONAL = re.compile(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?")
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')
Node = Mapping[str, Any]  # a JSON object
Keys = Mapping[str, Ed25519PublicKey]
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError, RecursionError)


class Wrong(Exception):
    """A document does not say what it must: the reason, in the words of the report."""


def refuse(when: object, why: str) -> None:
    """Raises if something is wrong."""
    if when:
        raise Wrong(why)


# --- JSON and numbers --------------------------------------------------------------------------------------------------------


def canonical(value: Any) -> str:
    """The one text of a JSON value.

    >>> canonical({"b": [1, None], "a": "1/3"})
    '{"a":"1/3","b":[1,null]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read(data: bytes, floats: bool = False) -> Any:
    """The value of canonical JSON text; `floats` allows numbers with a point, which only released values have."""
    refuse(len(data) > MOST_BYTES, f"the text has {len(data)} bytes; at most {MOST_BYTES} are read")
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        raise Wrong("the text is not ASCII") from None
    depth = 0
    for found in BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        refuse(depth > MOST_DEPTH, f"objects and lists are nested more than {MOST_DEPTH} deep")
    number = _float if floats else _refuse_float
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=number, parse_constant=_refuse_float, parse_int=_integer)
    except (ValueError, RecursionError):
        raise Wrong("the text is not JSON") from None


def read_canonical(data: bytes) -> Any:
    """The value of a text that must be canonical, and one line, byte for byte."""
    value = read(data)
    if canonical(value).encode() + b"\n" != data:
        raise Wrong("the text is not in its canonical form: sorted keys, no blanks, one line feed at the end")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    refuse(len(made) < len(pairs), "a key occurs twice in one object")
    return made


def _integer(text: str) -> int:
    refuse(len(text) > MOST_DIGITS, f"a number has more than {MOST_DIGITS} digits")
    return int(text)


def _float(text: str) -> float:
    refuse(len(text) > 40, "a released number has more than 40 characters")
    return float(text)


def _refuse_float(text: str) -> NoReturn:
    raise Wrong(f"the number {text[:20]} is not exact: write whole numbers, and rationals as texts")


def rational(text: Any) -> Fraction:
    """The rational of a text in lowest terms.

    >>> rational("1/3"), rational("-2")
    (Fraction(1, 3), Fraction(-2, 1))
    """
    if not isinstance(text, str) or len(text) > 2 * MOST_DIGITS or not RATIONAL.fullmatch(text):
        raise Wrong(f"not a rational number: {str(text)[:40]!r}")
    number = Fraction(text)
    refuse(str(number) != text, f"a rational is not in lowest terms: {text[:40]}")
    return number


def optional(text: Any) -> Fraction | None:
    """The same, or None."""
    return None if text is None else rational(text)


def whole(node: Node, name: str, least: int | None = None) -> int:
    """A whole number in a field of an object."""
    value = node[name]
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise Wrong(f"{name} must be a whole number{'' if least is None else f' of at least {least}'}, not {str(value)[:40]}")
    return value


def only(node: Node, names: str, more: str = "") -> None:
    """Raises if an object has other fields than these; `more` are fields that may be there."""
    unknown, missing = node.keys() - {*names.split(), *more.split()}, {*names.split()} - node.keys()
    listed = [*(f"unknown {name[:40]}" for name in sorted(unknown)), *(f"missing {name}" for name in sorted(missing))]
    refuse(listed, f"the fields of the object are wrong: {', '.join(listed[:5])}")


# --- keys and signatures -----------------------------------------------------------------------------------------------------


def key_id(key: Ed25519PublicKey) -> str:
    """The id of a public key: the first 16 digits of the SHA-256 of its bytes."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def read_keys(data: bytes) -> Keys:
    """The keys that are trusted, by id: the one of a PEM file; of a list of keys the first, and what a trusted one signed."""
    if data.lstrip().startswith(b"-----BEGIN"):
        try:
            key = load_pem_public_key(data)
        except ValueError:
            raise Wrong("the PEM file has no public key") from None
        if not isinstance(key, Ed25519PublicKey):
            raise Wrong("the key is not an Ed25519 key")
        return {key_id(key): key}
    document, trusted = read(data), dict[str, Ed25519PublicKey]()
    only(document, "format kind keys")
    for place, one in enumerate(document["keys"]):
        only(one, "id public signed_by value")
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(one["public"]))
        refuse(key_id(key) != one["id"], "the id of a key is not that of its bytes")
        if place:
            signature = {"algorithm": "ed25519", "key": one["signed_by"], "value": one["value"]}
            _verify(trusted, signature, f"tacit key\n{one['public']}")
        trusted[one["id"]] = key
    return trusted


def verify(keys: Keys, document: Node, what: str) -> str:
    """The id of the trusted key that signed a document; raises if none did."""
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    return _verify(keys, document["signature"], f"tacit {what}\n{canonical(unsigned)}")


def _verify(keys: Keys, signature: Node, text: str) -> str:
    only(signature, "algorithm key value")
    key = keys.get(signature["key"])
    if signature["algorithm"] != "ed25519" or key is None:
        raise Wrong(f"it is signed by key {str(signature['key'])[:16]}, which is not among the trusted ones: {', '.join(keys)}")
    value = signature["value"]
    refuse(not re.fullmatch("[0-9a-f]{128}", value), "a signature has 128 hexadecimal digits")
    try:
        key.verify(bytes.fromhex(value), text.encode())
    except InvalidSignature:
        raise Wrong("the signature does not match: the text was changed, or another key signed it") from None
    return str(signature["key"])


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- what was found ----------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What was checked, what is taken as stated, and what is wrong, in order."""

    checked: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def section(self, name: str, look: Callable[[], object]) -> bool:
        """Runs one section. What it raises is wrong, and the sections that need it are left out."""
        try:
            look()
        except Wrong as reason:
            self.wrong.append(f"{name}: {reason}")
        except MALFORMED as reason:
            self.wrong.append(f"{name}: a field is missing or of another type ({type(reason).__name__})")
        return not self.wrong
