"""How many of something each of many holds, with a limit for each: connections of an address, unread replies of an account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network

PER_ADDRESS = 100  # connections; a browser opens 6
PER_ACCOUNT = 16  # connections with replies of an account; 16 of the largest replies are half of the front's memory
NETWORK = 64  # leading bits of an IPv6 address: whoever has one address has all of its network


@dataclass(slots=True)
class Crowd:
    """Counts for one thread. Nothing of those who hold nothing is remembered."""

    most: int
    _held: Counter[str] = field(default_factory=Counter)

    def enter(self, who: str) -> bool:
        """Count one more; False, and nothing is counted, if that would be too many."""
        if self._held[who] >= self.most:
            return False
        self._held[who] += 1
        return True

    def leave(self, who: str) -> None:
        """Count one less."""
        self._held[who] -= 1
        if self._held[who] <= 0:
            del self._held[who]


def origin_of(address: str) -> str:
    """Who an address stands for: itself, or the network of an IPv6 address; empty for what is not an address.

    >>> origin_of("192.0.2.1"), origin_of("::ffff:192.0.2.1"), origin_of("2001:db8::1:2:3:4"), origin_of("nobody")
    ('192.0.2.1', '192.0.2.1', '2001:db8::/64', '')
    """
    try:
        found = ip_address(address.strip().strip("[]").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, NETWORK), strict=False))
    return str(found)


def forwarded(headers: Collection[tuple[bytes, bytes]]) -> str:
    """Whom a proxy names as its client: the last address of X-Forwarded-For. Those before it came from the client itself.

    >>> forwarded([(b"x-forwarded-for", b"203.0.113.9, 192.0.2.1")])
    '192.0.2.1'
    """
    named = [value.decode("latin-1") for name, value in headers if name.lower() == b"x-forwarded-for"]
    return origin_of(named[-1].rpartition(",")[2]) if named else ""
