"""`prepare --add`: the store is that of all rows prepared at once, versions follow the owner's word alone, whole or not at all."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import tacit
from by_month import CATALOG, HEADERS, KEY, Clinic, declared
from stored import write_csv
from tacit.data.catalog import parse_catalog
from tacit.data.catalog.periods import begun_through
from tacit.data.prepare import adding, keeping, prepare
from tacit.data.prepare.adding import add, given_files
from tacit.data.store import LOCK, _only_one, attach_parts, open_store, store_file, store_info, stored_files
from tacit.errors import BudgetExceeded, InvalidCatalog, InvalidInput, StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog, having_begun
from tacit.privacy.periods import renewed

MONTHS = ("2025-01", "2025-02", "2025-03", "2025-04")
TABLES = ("visits", "labs", "patients")


def first(folder: Path, clinic: Clinic, through: str = "2025-01", closed: str | None = None) -> Catalog:
    """A prepared clinic, with one ranking key."""
    shutil.rmtree(folder, ignore_errors=True)
    budget = "" if closed is None else f'closed = "{closed}"'
    made = declared(folder, clinic, budget=budget, through=through)
    made.kept.mkdir(exist_ok=True)
    (made.kept / "rank.key").write_text(KEY)
    prepare(made)
    return made


def added(catalog: Catalog, through: str | None = None, closed: str | None = None, **rows: list[tuple]) -> Catalog:
    """The clinic after rows came, as files of a table each."""
    info = store_info(catalog)
    per = catalog.per if closed is None else replace(catalog.per, closed=catalog.per.calendar.numbered(closed))
    catalog = begun_through(having_begun(catalog, replace(per, begun=info.begun)), through, info.begun)
    files = []
    for place, (table, each) in enumerate(rows.items()):
        file = catalog.folder / f"more-{table}-{place}.csv"
        write_csv(file, HEADERS[table], each)
        files.append(f"{table}={file}")
    add(catalog, given_files(catalog, files))
    return catalog


def test_a_file_that_the_store_was_made_from_is_not_added_again(tmp_path):
    """Nor is a copy of it elsewhere; one with other rows is, whatever it is called."""
    made = first(tmp_path / "clinic", Clinic(((1, 3),), ((1, "2025-01-02", 3),)))
    before = shape(made)
    copy = tmp_path / "visits.csv"
    shutil.copy(made.folder / "visits.csv", copy)
    for file in (made.folder / "visits.csv", copy):
        assert add(made, given_files(made, [f"visits={file}"])).notes == ("skipped, since they were added before: visits.csv",)
    assert shape(made) == before
    write_csv(copy, HEADERS["visits"], [(1, "2025-01-03", 4)])
    assert add(made, given_files(made, [f"visits={copy}"])).notes == ()
    assert shape(made) != before


def held(catalog: Catalog, tables: Sequence[str] = TABLES) -> dict[int, dict[str, Counter]]:
    """The stored rows of each unit's code, by table, as a question reads them."""
    units: dict[int, dict[str, Counter]] = {}
    with closing(open_store(store_file(catalog))) as engine:
        if store_info(catalog).added:
            attach_parts(engine, catalog.store_folder)
        for table in tables:
            for unit, *row in engine.execute(f"SELECT tacit_unit, * EXCLUDE (tacit_unit) FROM {table}").fetchall():
                units.setdefault(unit, {}).setdefault(table, Counter())[tuple(row)] += 1
    return units


def shape(catalog: Catalog) -> list[str]:
    """The store up to the names of its codes."""
    return sorted(str({table: sorted(rows.items(), key=str) for table, rows in each.items()}) for each in held(catalog).values())


def generated(seed: int, texts: bool) -> list[tuple[str, tuple]]:
    """Rows of few people in four months, in the order of their arrival: late ones, repeated ones, and keys as texts."""
    rng = random.Random(seed)
    rows = []
    for _ in range(60):
        person = rng.choice([1, 2, 3, 4, 5, *(["x", "007", ""] if texts else [])])
        day = f"{rng.choice(MONTHS)}-{rng.choice(['01', '15', '28'])}"
        rows.append(rng.choice([("visits", (person, day, rng.randrange(4))), ("labs", (person, day, rng.randrange(-3, 4)))]))
    return rows


@pytest.mark.parametrize(("seed", "texts"), [(0, False), pytest.param(1, True, marks=pytest.mark.slow), (2, True)])
def test_a_store_that_grew_is_that_of_all_rows_at_once(seed, texts, tmp_path):
    rows, patients = generated(seed, texts), ((1, 3), (2, 5), (9, 1))
    arrivals = [rows[:20], rows[20:25], rows[25:26], rows[26:50], rows[50:]]

    def of(table, some):
        return tuple(row for name, row in some if name == table)

    grown = first(tmp_path / "grown", Clinic(patients, of("visits", arrivals[0]), of("labs", arrivals[0])), MONTHS[-1])
    for some in arrivals[1:]:
        grown = added(grown, **{table: list(found) for table in ("visits", "labs") if (found := of(table, some))})
    whole = first(tmp_path / "whole", Clinic(patients, of("visits", rows), of("labs", rows)), MONTHS[-1])
    assert shape(grown) == shape(whole)


def test_joined_files_hold_the_same_rows(tmp_path, monkeypatch):
    """Files are joined when there are many, which changes no row and no version."""
    monkeypatch.setattr(keeping, "MOST_ALIKE", 3)
    rows = [(person, f"{month}-02", cost) for month in MONTHS for person in (1, "a") for cost in range(3)]
    grown = first(tmp_path / "grown", Clinic(((1, 3),)), MONTHS[-1])
    for place in range(0, len(rows), 3):
        grown = added(grown, visits=rows[place : place + 3], closed=MONTHS[place // 6 - 1] if place >= 6 else None)
    with closing(open_store(store_file(grown))) as engine:
        kinds = Counter(each.kind for each in stored_files(engine))
    assert kinds["rows"] <= 6
    assert kinds["units"] <= 6
    assert kinds["waiting"] <= 2, "the rows of closed periods wait no more"
    whole = first(tmp_path / "whole", Clinic(((1, 3),), tuple(rows)), MONTHS[-1])
    assert shape(grown) == shape(whole)
    names = {each.name for each in grown.store_folder.iterdir()}
    assert len([each for each in names if each.endswith(".duckdb")]) == 1 + sum(kinds.values()), "what is replaced is removed"


def test_the_only_table_grows_too(tmp_path):
    """A person in several periods has one code, also where no other table has units."""
    text = CATALOG.format(budget="", visits="", line="")
    alone = text[: text.index("[tables.patients]")] + text[text.index("[tables.visits]") : text.index("[tables.labs]")]
    alone = alone.replace(', references = "patients.id"', "")
    write_csv(tmp_path / "visits.csv", HEADERS["visits"], [(7, "2025-01-02", 1), (7, "2025-02-02", 1), (8, "2025-02-02", 1)])
    made = begun_through(parse_catalog(alone, tmp_path / "tacit.toml"), "2025-04", None)
    prepare(made)
    file = write_csv(tmp_path / "more.csv", HEADERS["visits"], [(8, f"2025-0{month}-03", 2) for month in (2, 3, 4)])
    add(made, given_files(made, [file]))
    assert sorted(sum(rows["visits"].values()) for rows in held(made, ["visits"]).values()) == [2, 4]


def test_a_table_without_periods_is_replaced(tmp_path):
    grown = first(tmp_path / "grown", Clinic(((1, 3), (2, 4)), ((1, "2025-01-02", 3),)))
    grown = added(grown, patients=[(2, 4), (3, 9)])
    whole = first(tmp_path / "whole", Clinic(((2, 4), (3, 9)), ((1, "2025-01-02", 3),)))
    assert shape(grown) == shape(whole)


def test_an_addition_can_be_repeated(tmp_path):
    """The rows are there once; the version is renewed all the same, or it would tell that nothing new came."""
    grown = first(tmp_path / "grown", Clinic(((1, 3),), ((1, "2025-01-02", 3),)))
    more = given_files(grown, [f"visits={write_csv(tmp_path / 'more.csv', HEADERS['visits'], [(1, '2025-01-09', 1)])}"])
    add(grown, more)
    before, version = held(grown), store_info(grown).version
    again = add(grown, more)
    assert again.notes == ("skipped, since they were added before: more.csv",)
    assert again.tables == ()
    assert held(grown) == before
    assert store_info(grown).version != version
    write_csv(tmp_path / "more.csv", HEADERS["visits"], [(2, "2025-01-09", 1)])
    assert not add(grown, more).notes
    assert held(grown) != before


def test_rows_of_periods_that_are_closed_or_have_not_begun_are_left_out_and_counted(tmp_path):
    grown = first(tmp_path / "grown", Clinic((), ((1, "2025-01-02", 3),)), "2025-02", "2025-01")
    before = held(grown)
    file = write_csv(tmp_path / "more.csv", HEADERS["visits"], [(1, "2025-01-09", 1), (2, "2025-01-09", 1), (1, "2025-03-09", 1)])
    report = add(grown, given_files(grown, [f"visits={file}"])).tables[0]
    assert dict(report.dropped) == {"value": 0, "no unit": 0, "limit": 0, "not begun": 1, "closed": 2}
    assert (report.read, report.kept) == (3, 0)
    assert held(grown) == before


# --- versions ----------------------------------------------------------------------------------------------------------------


JUNE = (7, "2025-02-14", 5)  # the late row


def told(folder: Path, closed: str, late: bool, monkeypatch: pytest.MonkeyPatch) -> object:
    """All that the description of a store says after an addition, with and without a late row of one person."""
    count = iter(range(10**6))
    monkeypatch.setattr(bits, "random_bytes", lambda size: next(count).to_bytes(size, "big"))
    grown = first(folder, Clinic(((1, 3),), ((1, "2025-01-02", 3), (2, "2025-02-03", 1))), "2025-03", closed)
    grown = added(grown, visits=[(3, "2025-03-03", 2), *([JUNE] if late else [])])
    return replace(store_info(grown), prepared_at="")


@pytest.mark.parametrize("closed", ["2025-01", "2025-02"], ids=["open", "closed"])
def test_a_late_row_moves_no_version(closed, tmp_path, monkeypatch):
    one, other = (told(tmp_path / "clinic", closed, late, monkeypatch) for late in (False, True))
    assert one == other


def test_a_version_that_moves_only_where_a_row_came_is_seen(tmp_path, monkeypatch):
    seen = []
    real = adding._added

    def planted(*arguments):
        files, reports = real(*arguments)
        seen.append(len(files))
        return files, reports

    def moved(before, closed, begun, version):
        return renewed(before, closed, begun, version) if came[0] else renewed(before, 24302 - 1, begun, version)

    came = [False]
    monkeypatch.setattr(adding, "_added", planted)
    monkeypatch.setattr(adding, "renewed", moved)
    one = told(tmp_path / "clinic", "2025-01", False, monkeypatch)
    came[0] = True
    assert one != told(tmp_path / "clinic", "2025-01", True, monkeypatch)
    assert seen


def test_an_addition_renews_every_open_period_and_no_closed_one(tmp_path):
    grown = first(tmp_path / "clinic", Clinic(), "2025-02", "2025-01")
    before = store_info(grown)
    grown = added(grown, "2025-03", visits=[(1, "2025-03-03", 1)])
    after = store_info(grown)
    calendar = grown.per.calendar
    january, february, march = map(calendar.numbered, MONTHS[:3])
    assert after.versions == ((january, january, before.version), (february, march, after.version))
    assert after.version != before.version
    assert (after.begun, after.closed, after.added) == ((january, march), january, 1)


def test_answers_about_closed_periods_stay_free_and_the_budget_of_now_binds(tmp_path):
    made = first(tmp_path / "clinic", Clinic(((1, 3),), ((1, "2025-01-02", 3), (2, "2025-02-03", 1))), "2025-02", "2025-01")
    place, all_of_it = made.folder / "tacit.toml", "SELECT COUNT(*) FROM visits"
    january = f"{all_of_it} WHERE day < DATE '2025-02-01'"
    with tacit.open(place, own_process=False) as data:
        data.begin_scratch("a test")
        ana = data.session()
        paid = [ana.sql(text, epsilon="0.2") for text in (january, all_of_it)]
        more = write_csv(made.folder / "more.csv", HEADERS["visits"], [(3, "2025-02-14", 5)])
        data.prepare(add=[f"visits={more}"], reason="a test")
        again = [ana.sql(text, epsilon="0.2") for text in (january, all_of_it)]
        assert [each.receipt.again for each in again] == [True, False], "only the answer about the closed month is repeated"
        assert again[0]["count"] == paid[0]["count"]
        assert again[0].receipt.data_version == paid[0].receipt.data_version != again[1].receipt.data_version
        text = place.read_text()
        place.write_text(text.replace("epsilon = 1\n", "epsilon = 0.5\n", 1))
        with pytest.raises(BudgetExceeded, match="does not admit this question"):
            ana.sql(all_of_it, epsilon="0.15", fresh=True)
        place.write_text(text)
        with pytest.raises(InvalidInput, match="afresh"):
            data.prepare(reason="a test")


# --- refused -----------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_added_is_refused(tmp_path):
    grown = first(tmp_path / "clinic", Clinic(), "2025-02", "2025-01")
    more = write_csv(tmp_path / "more.csv", HEADERS["visits"], [])
    with pytest.raises(InvalidInput, match="say which table"):
        given_files(grown, [more])
    with pytest.raises(InvalidInput, match="file not found"):
        given_files(grown, ["visits=nowhere.csv"])
    with pytest.raises(InvalidInput, match="expected a csv file"):
        add(grown, {"visits": [more.rename(tmp_path / "more.parquet")]})
    opened = having_begun(grown, replace(grown.per, closed=None))
    with pytest.raises(InvalidCatalog, match="stays closed"):
        add(opened, {})
    with pytest.raises(StoreUnusable, match="no data has been prepared"):
        add(replace(grown, path=tmp_path / "other" / "tacit.toml"), {})
    with pytest.raises(InvalidInput, match="add needs per"):
        add(having_begun(grown, None), {})
    changed = {**grown.tables, "visits": replace(grown.tables["visits"], max_rows=9)}
    with pytest.raises(StoreUnusable, match="the catalog changed"):
        add(replace(grown, tables=changed), {})


LED = """[budget]
epsilon = 1
per = "month"
lifetime = { epsilon = 9 }
[tables.episodes]
source = "e.csv"
unit = { column = "patient" }
max_rows = 3
[tables.episodes.columns]
id = { key = true }
[tables.visits]
source = "v.csv"
unit = { column = "episode", references = "episodes.id" }
period = "day"
max_rows = 2
[tables.visits.columns]
day = { type = "date", bounds = ["2025-01-01", "2025-04-30"], outside = "drop", nulls = "drop" }
"""


def test_a_table_that_looks_units_up_is_refused(tmp_path):
    write_csv(tmp_path / "e.csv", ["id", "patient"], [(1, 1)])
    more = write_csv(tmp_path / "v.csv", ["episode", "day"], [(1, "2025-01-01")])
    made = begun_through(parse_catalog(LED, tmp_path / "tacit.toml"), "2025-02", None)
    prepare(made)
    with pytest.raises(InvalidInput, match="in which units are looked up"):
        add(made, given_files(made, [more]))


# --- whole or not at all -----------------------------------------------------------------------------------------------------


KILLED = """
import os, signal, sys
sys.path[:0] = {paths}
from pathlib import Path
from dataclasses import replace
from tacit import files
from tacit.data import store
from tacit.data.catalog import parse_catalog
from tacit.data.prepare.adding import add, given_files
from tacit.privacy.catalog import having_begun

folder, step = Path(sys.argv[1]), int(sys.argv[2])
count = 0
def counted(real):
    def one(*arguments, **more):
        global count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)
    return one
from tacit.data.engine import Workshop
Workshop.run = counted(Workshop.run)
Workshop.step = counted(Workshop.step)
store.put_private = counted(store.put_private)
os.link = counted(os.link)
made = parse_catalog((folder / "tacit.toml").read_text(), folder / "tacit.toml")
info = store.store_info(made)
made = having_begun(made, replace(made.per, begun=info.begun))
add(made, given_files(made, ["visits=" + str(folder / "late.csv")]))
print(count)
"""


def killed(folder: Path, step: int) -> int:
    """An addition in a process that kills itself at a step; how many steps it had, if it came to its end."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "support")]
    script = textwrap.dedent(KILLED.format(paths=paths))
    done = subprocess.run([sys.executable, "-c", script, str(folder), str(step)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return int(done.stdout) if done.returncode == 0 else 0


def whole_or_not(tmp_path: Path, steps: list[int] | None) -> None:
    made = first(tmp_path / "clinic", Clinic(((1, 3),), ((1, "2025-01-02", 3), (2, "2025-02-03", 1))), "2025-02")
    write_csv(made.folder / "late.csv", HEADERS["visits"], [(1, "2025-02-04", 4), (5, "2025-01-05", 2)])
    old = shape(made)
    fresh = tmp_path / "fresh"
    shutil.copytree(made.folder, fresh)
    last = killed(fresh, 0)
    new = shape(replace(made, path=fresh / "tacit.toml"))
    assert old != new
    assert last > 20
    for step in steps or range(1, last + 1):
        shutil.rmtree(made.folder)
        shutil.copytree(fresh.with_name("kept"), made.folder) if fresh.with_name("kept").exists() else None
        if not fresh.with_name("kept").exists():
            first(made.folder, Clinic(((1, 3),), ((1, "2025-01-02", 3), (2, "2025-02-03", 1))), "2025-02")
            write_csv(made.folder / "late.csv", HEADERS["visits"], [(1, "2025-02-04", 4), (5, "2025-01-05", 2)])
            shutil.copytree(made.folder, fresh.with_name("kept"))
        assert killed(made.folder, step if step > 0 else last + step) == 0
        assert shape(made) == old, step
        assert store_info(made).added == 0
        assert killed(made.folder, 0) == last, "the next one clears up and goes through"
        assert shape(made) == new, step
        assert not list(made.store_folder.glob("preparing-*"))
        used = {"store.duckdb", "prepare.lock", *(each.name for each in made.store_folder.glob("*-*.duckdb"))}
        with closing(open_store(store_file(made))) as engine:
            assert used - {"store.duckdb", "prepare.lock"} == {each.file for each in stored_files(engine)}


def test_an_addition_that_is_killed_leaves_the_store_of_before(tmp_path):
    """At the last steps, in which files get their places: the description of the store is the last of them."""
    whole_or_not(tmp_path, [0, -3])


@pytest.mark.slow
def test_an_addition_that_is_killed_at_any_step_leaves_the_store_of_before(tmp_path):
    whole_or_not(tmp_path, None)


def test_one_at_a_time(tmp_path):
    made = first(tmp_path / "clinic", Clinic())
    with _only_one(made.store_folder / LOCK), pytest.raises(StoreUnusable, match="being prepared by another process"):
        add(made, {})
