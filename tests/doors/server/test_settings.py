"""What must hold before another machine can reach the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data.catalog import parse_catalog
from tacit.doors.server.settings import Settings, check_engine, check_exposure
from tacit.errors import InvalidCatalog, InvalidInput

DECLARED = '[budget]\nepsilon = 1\n[tables.people]\nsource = "p.csv"\nunit = "row"\nrows_at_most = 10\n'
UNDECLARED = DECLARED.replace("rows_at_most = 10\n", "")
PUBLIC = UNDECLARED.replace('unit = "row"', "public = true") + '[tables.more]\nsource = "m.csv"\nunit = "row"\nrows_at_most = 10\n'
TLS = {"certificate": Path("c.pem"), "key": Path("k.pem")}
EVERYWHERE = {"host": "0.0.0.0", "names": ("stats.example.org",)}  # noqa: S104  # nothing listens


@pytest.mark.parametrize(
    ("settings", "catalog", "problem"),
    [
        (Settings(**EVERYWHERE), DECLARED, "TLS is required"),
        (Settings(host="192.0.2.1", **TLS), DECLARED, "names of the server"),
        (Settings(**EVERYWHERE, **TLS), UNDECLARED, "rows_at_most = 1000000 in \\[tables.people\\]"),
        (Settings(**EVERYWHERE, behind_proxy=True), UNDECLARED, "loopback only"),
        (Settings(names=("stats.example.org",), behind_proxy=True), UNDECLARED, "loopback only"),  # the proxy reaches it for all
        (Settings(behind_proxy=True), DECLARED, "names of the server"),
        (Settings(certificate=Path("c.pem")), DECLARED, "belong together"),
    ],
)
def test_what_may_not_be_served_is_refused_with_a_remedy(settings, catalog, problem):
    with pytest.raises(InvalidInput, match=problem):
        check_exposure(settings, parse_catalog(catalog))


@pytest.mark.parametrize(
    ("settings", "catalog"),
    [
        (Settings(), UNDECLARED),
        (Settings(host="::1"), UNDECLARED),
        (Settings(**EVERYWHERE, **TLS), DECLARED),
        (Settings(**EVERYWHERE, behind_proxy=True), PUBLIC),
    ],
)
def test_what_may_be_served_is(settings, catalog):
    check_exposure(settings, parse_catalog(catalog))


def test_names_of_this_machine_are_for_loopback_alone():
    assert "localhost" in Settings().hosts
    assert Settings(**EVERYWHERE, **TLS).hosts == {"stats.example.org"}
    assert Settings(names=("stats.example.org",), behind_proxy=True).hosts == {"stats.example.org"}


@pytest.mark.parametrize("master", ["", 'master = "spark://driver:7077"', 'master = "local[2]"'])
def test_a_spark_driver_is_not_served(master):
    with pytest.raises(InvalidInput, match="must use Spark Connect"):
        check_engine(parse_catalog(f'{DECLARED}[store]\nengine = "spark"\n{master}\n'))


def test_other_engines_are_served():
    check_engine(parse_catalog(DECLARED))
    check_engine(parse_catalog(f'{DECLARED}[store]\nengine = "spark"\nmaster = "sc://cluster:15002"\n'))


def test_the_url_of_a_cluster_is_checked_before_anything_starts_and_not_quoted(monkeypatch):
    monkeypatch.setenv("SPARK_TOKEN", "hunter2")
    check_engine(parse_catalog(f'{DECLARED}[store]\nengine = "spark"\nmaster = "sc://cluster/;use_ssl=true;token=$SPARK_TOKEN"\n'))
    with pytest.raises(InvalidInput, match="options after a slash") as raised:
        check_engine(parse_catalog(f'{DECLARED}[store]\nengine = "spark"\nmaster = "sc://cluster:1;token=$SPARK_TOKEN"\n'))
    assert "hunter2" not in str(raised.value)
    with pytest.raises(InvalidCatalog, match="not set in the environment"):
        check_engine(parse_catalog(f'{DECLARED}[store]\nengine = "spark"\nmaster = "sc://cluster/;token=$NOT_THERE"\n'))
