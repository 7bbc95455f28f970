"""Addresses of drivers: catalogs, servers, options; never a token in sight, and no default epsilon."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.doors.driver.address import Address, read_address, with_options
from tacit.errors import InvalidInput

TOKEN = "tacit_" + "s" * 43


@pytest.mark.parametrize(
    ("text", "catalog", "server"),
    [
        ("tacit://", "tacit.toml", ""),
        ("tacit:///data/tacit.toml", "data/tacit.toml", ""),
        ("tacit:////data/tacit.toml", "/data/tacit.toml", ""),
        ("tacit:///my%20data/tacit.toml", "my data/tacit.toml", ""),
        ("tacit+https://stats.example.org", "", "https://stats.example.org"),
        ("tacit+https://stats.example.org:8443/", "", "https://stats.example.org:8443"),
        ("tacit+http://[::1]:8000", "", "http://[::1]:8000"),
    ],
)
def test_places(text, catalog, server):
    address = read_address(text)
    assert (address.catalog, address.server) == (catalog, server)
    assert address.place == (server or catalog)
    assert address.budget == {}, "there is no default epsilon"
    assert address.most is None


def test_options_of_the_call_count_more():
    address = read_address("tacit:///a.toml?epsilon=0.1&most=1&analyst=ana&intervals=none", {"epsilon": "0.2", "delta": None})
    assert (address.budget, address.most, address.analyst, address.intervals) == ({"epsilon": "0.2"}, Fraction(1), "ana", "none")
    assert read_address("tacit:///a.toml?simultaneous=true&error=5").budget == {"error": "5", "simultaneous": True}


@pytest.mark.parametrize(
    "text",
    [
        "", "a.toml", "mysql://localhost/x", "tacit://host/a.toml", "tacit+https:///x", "tacit+https://h/path", "tacit:///a#b",
        "tacit+https://h:port", "tacit+https://[::1", "tacit:///a?epsilon=lots", "tacit:///a?epsilon=1&epsilon=2", "tacit:///a?more=1",
        "tacit:///a?most=0", "tacit:///a?most=-1", "tacit:///a?intervals=all", "tacit:///a?epsilon=nan",
    ],
)  # fmt: skip
def test_what_is_not_an_address_is_refused(text):
    with pytest.raises(InvalidInput):
        read_address(text)


def test_a_token_is_never_shown():
    address = read_address(f"tacit+https://ana:{TOKEN}@stats.example.org/?epsilon=0.1")
    assert (address.token, address.analyst) == (TOKEN, "ana")
    assert TOKEN not in repr(address) + str(address) + address.place
    for wrong in (f"tacit+https://ana:{TOKEN}@h/path", f"tacit+https://ana:{TOKEN}@h:port", f"mysql://ana:{TOKEN}@h"):
        with pytest.raises(InvalidInput) as raised:
            read_address(wrong)
        assert TOKEN not in str(raised.value)
    assert TOKEN not in repr(with_options({"server": "https://h"}, {"token": TOKEN}))


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_an_address_or_an_error_of_ours(rest, query):
    for scheme in ("tacit:///", "tacit+https://", ""):
        try:
            address = read_address(f"{scheme}{rest}?{query}")
        except InvalidInput:
            continue
        assert isinstance(address, Address)
