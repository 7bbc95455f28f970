"""The SQLAlchemy dialect: engines by entry point, Core statements, reflection, pandas and Polars, and no token in sight."""

from fractions import Fraction

import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa

from hospital import files
from served import listening, served
from tacit.doors.server.turns import Places
from tacit.session import open as open_data

WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = files(tmp_path_factory.mktemp("dialect"))
    with open_data(path, own_process=False) as opened:
        opened.prepare(yes=True)
        opened.begin_scratch("a test")
        yield opened


@pytest.fixture
def engine(data, monkeypatch):
    monkeypatch.setattr("tacit.data_set.OWN_PROCESS", False)
    made = sa.create_engine(f"tacit:///{data.catalog.path}?analyst=ana&epsilon=0.01")
    yield made
    made.dispose()


def test_entry_points_lead_to_the_dialects():
    for url, driver in (("tacit:///a.toml", "catalog"), ("tacit+https://h/", "https"), ("tacit+http://h/", "http")):
        dialect = sa.make_url(url).get_dialect()
        assert (dialect.name, dialect.driver) == ("tacit", driver)


def test_a_token_is_hidden():
    token = "tacit_" + "s" * 43
    engine = sa.create_engine(f"tacit+https://ana:{token}@stats.example.org/?epsilon=0.1")
    assert token not in f"{engine!r} {engine.url} {engine.url!r}"
    assert engine.dialect.create_connect_args(engine.url) == ([f"tacit+https://ana:{token}@stats.example.org/?epsilon=0.1"], {})


def test_reflection_is_the_catalog(engine, data):
    before = data.ledger.head
    inspector = sa.inspect(engine)
    assert set(inspector.get_table_names()) == {"patients", "visits", "wards"}
    assert inspector.get_view_names() == []
    assert inspector.get_schema_names() == ["main"]
    assert inspector.has_table("visits")
    assert not inspector.has_table("nothing")
    columns = {column["name"]: column for column in inspector.get_columns("visits")}
    assert columns["patient_id"]["comment"] == "privacy unit"
    assert columns["cost"]["comment"] == "0 to 5000, step 0.01"
    assert isinstance(columns["day"]["type"], sa.Date)
    assert isinstance(columns["urgent"]["type"], sa.Boolean)
    assert isinstance(columns["cost"]["type"], sa.Double)
    assert "north" in columns["ward"]["comment"]
    (key,) = inspector.get_foreign_keys("visits")
    assert (key["constrained_columns"], key["referred_table"], key["referred_columns"]) == (["patient_id"], "patients", ["id"])
    assert inspector.get_pk_constraint("patients")["constrained_columns"] == ["id"]
    assert (
        inspector.get_indexes("visits")
        == inspector.get_unique_constraints("visits")
        == inspector.get_check_constraints("visits")
        == []
    )
    assert "privacy unit" in inspector.get_table_comment("visits")["text"]
    assert "public" in inspector.get_table_comment("wards")["text"]
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nothing")
    table = sa.Table("visits", sa.MetaData(), autoload_with=engine)
    assert {"ward", "cost", "patient_id"} <= set(table.c.keys())
    assert data.ledger.head == before, "nothing is paid for"


def test_core_statements(engine):
    visits = sa.Table("visits", sa.MetaData(), autoload_with=engine)
    counted = sa.select(visits.c.ward, sa.func.count().label("n")).group_by(visits.c.ward)
    with engine.connect() as connection:
        rows = connection.execute(counted.where(visits.c.cost > 50).order_by(sa.desc("n")).limit(2)).all()
        assert len(rows) == 2
        assert rows[0].n >= rows[1].n
        assert list(connection.execute(counted.limit(0)).keys()) == ["ward", "n", "n_low", "n_high"]
        assert connection.get_isolation_level() == "AUTOCOMMIT"
        with pytest.raises(sa.exc.DBAPIError) as raised:
            connection.execute(sa.insert(visits).values(cost=1))
        assert raised.value.orig.code
    with engine.begin() as connection:
        assert connection.execute(sa.text("SELECT ward FROM wards")).rowcount == 4


def test_core_selects_from_answers(engine, data):
    """A sub-query, a common table expression and a scalar of Core: the question inside them is paid for once."""
    metadata = sa.MetaData()
    visits, wards, patients = (sa.Table(name, metadata, autoload_with=engine) for name in ("visits", "wards", "patients"))
    counted = sa.select(visits.c.ward, sa.func.count().label("n")).group_by(visits.c.ward)
    inner, named = counted.subquery("t"), counted.cte("q")
    floors = sa.select(wards.c.floor, sa.func.sum(inner.c.n).label("n")).join_from(inner, wards, inner.c.ward == wards.c.ward)
    shares = sa.select(named.c.ward, (named.c.n / sa.func.sum(named.c.n).over()).label("share")).order_by(named.c.n.desc())
    each = sa.select(sa.func.count()).select_from(visits).scalar_subquery() / (
        sa.select(sa.func.count()).select_from(patients).scalar_subquery()
    )
    before = data.ledger.head.questions
    with engine.connect() as connection:
        assert list(pd.read_sql(floors.group_by(wards.c.floor), connection).columns) == ["floor", "n", "n_low", "n_high"]
        assert list(connection.execute(shares.limit(2)).keys()) == ["ward", "share", "share_low", "share_high"]
        assert data.ledger.head.questions == before + 1
        assert len(connection.execute(sa.select(each.label("visits"))).all()) == 1
        assert data.ledger.head.questions == before + 3


def test_pandas_and_polars_read_an_engine(engine, data):
    frame = pd.read_sql(WARDS, engine)
    assert list(frame.columns) == ["ward", "n", "n_low", "n_high"]
    asked = sa.text("SELECT COUNT(*) AS n FROM visits WHERE cost > :c AND day < :d")
    assert pd.read_sql(asked, engine, params={"c": 100, "d": "2024-01-31"}).shape == (1, 3)
    before = data.ledger.spent("ana").epsilon
    assert pl.read_database(WARDS, engine).to_dict(as_series=False)["n"] == frame["n"].tolist()
    assert data.ledger.spent("ana").epsilon == before, "the same question is free"


def test_a_server_behind_an_engine(tmp_path):
    with served(tmp_path) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        with listening(found.desk) as url:
            address = sa.make_url(f"tacit+{url}/?epsilon=0.01").set(username="ana", password=found.tokens["ana"])
            engine = sa.create_engine(address)
            assert "visits" in sa.inspect(engine).get_table_names()
            assert len(pd.read_sql(WARDS, engine)) == 5
            with engine.connect() as connection, pytest.raises(sa.exc.ProgrammingError) as raised:
                connection.execute(sa.text("SELECT SUM(nothing) FROM visits"))
            assert raised.value.orig.code == "unknown_name"
            assert found.tokens["ana"] not in str(raised.value)
            engine.dispose()


def test_the_connections_of_an_engine_have_one_limit(tmp_path):
    with served(tmp_path) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        with listening(found.desk) as url:
            address = sa.make_url(f"tacit+{url}/?epsilon=0.01&most=0.03").set(username="ana", password=found.tokens["ana"])
            addresses = [address, f"tacit:///{found.folder / 'tacit.toml'}?analyst=ana&epsilon=0.01&most=0.03"]
            for place, engine in enumerate(map(sa.create_engine, addresses)):
                with engine.connect() as one, engine.connect() as other:
                    for number, connection in enumerate((one, other, one)):
                        connection.execute(sa.text(f"SELECT COUNT(*) FROM visits WHERE cost > {10 * place + number}"))
                    with pytest.raises(sa.exc.OperationalError):
                        other.execute(sa.text(f"SELECT COUNT(*) FROM visits WHERE cost > {10 * place + 9}"))
                engine.dispose()
            assert found.data.ledger.token_sums("ana", [1]) == {1: Fraction(3, 100)}
