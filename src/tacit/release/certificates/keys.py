"""The key that signs certificates and heads, and the public keys by which they are checked; old ones stay.

`signing.key` is 32 random bytes in hexadecimal, for its owner alone (mode 600). `keys.json` is public: every key that ever signed,
each after the first signed by the one before it. On a server the clerk reads both before its sandbox closes, and nothing else can.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.entries import canonical_json
from tacit.accounting.ledger.group_commit import turn_of
from tacit.errors import StoreUnusable
from tacit.files import make_private_folder, replace_file
from tacit.mechanisms.noise import bits

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FOLDER, SECRET, PUBLIC = "certificates", "signing.key", "keys.json"
BYTES = 32
OF_CERTIFICATES, OF_HEADS, OF_KEYS = b"tacit certificate\n", b"tacit head\n", b"tacit key\n"
REMEDY = "restore it from a backup, or remove it and run: tacit certificate rotate"


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key with its id; it signs, and its repr has the id alone."""

    key: str
    _private: Ed25519PrivateKey = field(repr=False, compare=False)

    def signed(self, document: Mapping[str, Any], of: bytes) -> dict[str, Any]:
        """The document with its signature."""
        value = self._private.sign(of + canonical_json({**document}).encode("ascii")).hex()
        return {**document, "signature": {"algorithm": "ed25519", "key": self.key, "value": value}}

    def vouch(self, public: str) -> str:
        """The signature of another public key."""
        return self._private.sign(OF_KEYS + public.encode("ascii")).hex()


def key_id(public: str) -> str:
    """The id of a public key, which is 64 hexadecimal digits.

    >>> key_id("00" * 32)
    '66687aadf862bd77'
    """
    return sha256(bytes.fromhex(public)).hexdigest()[:16]


def signer_in(kept: Path) -> Signer:
    """The signer of a data set, from the folder of what tacit keeps for it; the key is made when it is first needed."""
    folder = kept / FOLDER
    if not (folder / SECRET).exists():
        make_private_folder(folder)
        with turn_of(folder):
            if not (folder / SECRET).exists():
                _add_key(folder)
    return _signer(folder)


def rotate(kept: Path) -> str:
    """Make a new key, signed by the one before, and return its id. The signatures of older keys can be checked as before."""
    folder = kept / FOLDER
    make_private_folder(folder)
    with turn_of(folder):
        return _add_key(folder)


def public_keys(kept: Path) -> dict[str, Any]:
    """The public keys of a data set, in the order in which they signed."""
    file = kept / FOLDER / PUBLIC
    if not file.exists():
        return {"format": 1, "kind": "keys", "keys": []}
    try:
        document: dict[str, Any] = json.loads(file.read_text("ascii"))
        _ = [(str(each["id"]), str(each["public"])) for each in document["keys"]]
    except (OSError, ValueError, LookupError, TypeError):
        raise StoreUnusable(f"the list of public keys is damaged ({file})", remedy="restore it from a backup") from None
    return document


def _add_key(folder: Path) -> str:
    """Draw a key; the list of public keys has it before anything can be signed with it.

    If the private key was lost, nothing can sign the new one: its list begins anew, and the old list stays beside it.
    """
    earlier, before = public_keys(folder.parent), _signer(folder) if (folder / SECRET).exists() else None
    if before is None and earlier["keys"]:
        (folder / PUBLIC).rename(folder / f"keys-until-{earlier['keys'][-1]['id']}.json")
        earlier = public_keys(folder.parent)
    secret = bits.random_bytes(BYTES).hex()
    public = _public(_private(secret))
    vouched = {"signed_by": None if before is None else before.key, "value": None if before is None else before.vouch(public)}
    keys = [*earlier["keys"], {"id": key_id(public), "public": public, **vouched}]
    replace_file(folder / PUBLIC, f"{canonical_json({**earlier, 'keys': keys})}\n")
    replace_file(folder / SECRET, f"{secret}\n")
    return key_id(public)


def _signer(folder: Path) -> Signer:
    file = folder / SECRET
    try:
        secret = file.read_text("ascii").strip()
        private = _private(secret)
    except (OSError, ValueError):
        raise StoreUnusable(f"the key that signs certificates cannot be read ({file})", remedy=REMEDY) from None
    return Signer(key_id(_public(private)), private)


def _private(secret: str) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))


def _public(private: Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes_raw().hex()
