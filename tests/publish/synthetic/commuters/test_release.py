"""The whole road of a map: paid before a home is read, written whole, with a receipt that is public; from a file or a catalog."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from tacit.accounting.events import Resampling
from tacit.accounting.ledger.caps import at_least
from tacit.accounting.ledger.ledger import open_ledger
from tacit.accounting.ledger.units import Policy
from tacit.data.prepare import prepare
from tacit.errors import (
    BudgetExceeded,
    InvalidBudget,
    InvalidCatalog,
    InvalidInput,
    LawViolated,
    NotAllowed,
    StoppedAfterSpending,
    StoreUnusable,
    UnknownName,
    WrongType,
)
from tacit.privacy.loss import Approximate
from tacit.privacy.rounding import log_up
from tacit.publish.synthetic.commuters import release as publishing
from tacit.publish.synthetic.commuters import report
from tacit.publish.synthetic.commuters.example_state import State, made_state
from tacit.publish.synthetic.commuters.flows import Columns
from tacit.publish.synthetic.commuters.model import ONE_JOB, Terms
from tacit.publish.synthetic.commuters.release import Release, publish_map, synthesize_map
from tacit.publish.synthetic.commuters.report import report_page, utility_of, write_report
from tacit.publish.synthetic.commuters.sources import (
    HOMES,
    NO_CAP,
    DeclaredFlows,
    FlowsFile,
    for_person,
    ledger_beside,
    refuse_declared,
    require_undeclared,
)
from tacit.release import outputs
from tacit.release.outputs import check_output, receipt_beside
from tacit.session import DataSet
from tacit.session import open as open_data

STATE = made_state(blocks=400, workplaces=6, jobs=1200)
LEVELS = ("tract", "tract")
TERMS = Terms(20, 1e-5)


@pytest.fixture
def source(tmp_path: Path) -> FlowsFile:
    flows, _ = STATE.write(tmp_path / "state")
    return FlowsFile(flows, tmp_path / "made.parquet")


def beside(out: Path) -> Any:
    return open_ledger(f"sqlite:///{ledger_beside(out)}", Policy(NO_CAP, neighbours=ONE_JOB, units=HOMES))


# --- from a file -------------------------------------------------------------------------------------------------------------


def test_a_map_is_written_with_its_receipt(source):
    release = publish_map(source, STATE.blocks, LEVELS, TERMS, source.out)
    table = parquet.read_table(source.out)
    assert table.column_names == ["origin", "destination", "jobs"]
    assert sum(table.column("jobs").to_pylist()) == 1200
    receipt = json.loads(receipt_beside(source.out).read_text())
    assert receipt == release.receipt == json.loads(table.schema.metadata[b"tacit.receipt"])
    assert (receipt["ratio"], receipt["epsilon"], receipt["delta"]) == ("20", "2.99574", "0.00001")
    assert "published without protection" in receipt["totals"]
    assert "only releases to this file" in receipt["paid"]["note"]
    assert "one job moves its home" in receipt["relation"]
    assert repr(release) == "Release(...)"


@pytest.mark.parametrize("name", ["made.csv", "made.csv.gz"])
def test_it_is_written_as_csv_too(name, tmp_path):
    from tacit.data.files.columns import read_columns

    flows, _ = STATE.write(tmp_path / "state")
    out = tmp_path / name
    publish_map(FlowsFile(flows, out), STATE.blocks, LEVELS, TERMS, out)
    (jobs,) = read_columns(out, ["jobs"])
    assert sum(int(text) for text in jobs.to_pylist()) == 1200
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".tacit"], "the key that signs; nothing half-written is left"


@dataclass(frozen=True)
class Watched:
    """A source that remembers in which order it was asked."""

    inner: FlowsFile
    asked: list[str] = field(default_factory=list)
    note: str = "watched"

    def check(self, out: Path) -> None:
        self.inner.check(out)

    def totals(self, *known: Any) -> Any:
        self.asked.append("totals")
        return self.inner.totals(*known)

    def sell(self, *known: Any) -> Any:
        self.asked.append("sell")
        return self.inner.sell(*known)

    def homes(self, *known: Any) -> Any:
        self.asked.append("homes")
        return self.inner.homes(*known)


def check_order(asked: list[str]) -> None:
    if asked.index("sell") > asked.index("homes"):
        raise LawViolated("spend first", "a home was read before the price was recorded")


def test_the_price_is_recorded_before_a_home_is_read(source):
    watched = Watched(source)
    publish_map(watched, STATE.blocks, LEVELS, TERMS, source.out)
    check_order(watched.asked)
    with pytest.raises(LawViolated):
        check_order(["totals", "homes", "sell"])


def test_what_is_stopped_or_fails_stays_spent(source, monkeypatch):
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "draw_map", stop)
    with pytest.raises(StoppedAfterSpending, match="entry 1"):
        publish_map(source, STATE.blocks, LEVELS, TERMS, source.out)
    assert not source.out.exists()
    assert beside(source.out).spent().delta == Fraction("1e-5")


def test_releases_add_up_in_the_ledger_beside_the_output(source):
    for number in (1, 2):
        release = publish_map(source, STATE.blocks, LEVELS, TERMS, source.out)
        assert release.paid.entry == release.paid.releases == number
    ledger = beside(source.out)
    assert ledger.verify().whole
    assert ledger.spent().epsilon == pytest.approx(2 * log_up(Fraction(20)))
    assert "ratio 400" in release.paid.together


def test_releases_that_promise_nothing_together_are_refused(source):
    publish_map(source, STATE.blocks, LEVELS, Terms(20, 0.2), source.out)
    before = source.out.read_bytes()
    with pytest.raises(InvalidBudget, match="total delta"):
        publish_map(source, STATE.blocks, LEVELS, Terms(20, 0.2), source.out)
    assert source.out.read_bytes() == before


def test_dropping_is_paid_for(source):
    release = publish_map(source, STATE.blocks, LEVELS, Terms(20, 1e-5, "distance:0.1"), source.out)
    assert float(release.receipt["ratio"]) > 200
    assert beside(source.out).spent().epsilon >= log_up(Fraction(200))
    assert release.receipt["dropping"]["keep"] == "distance:1/10"


@pytest.mark.parametrize("out", ["made.xlsx", "made", "state/flows.csv/made.csv", "folder.csv", "state/flows.csv", "link.csv"])
def test_an_output_that_cannot_be_written_costs_nothing(out, source, tmp_path):
    """A folder is no place for a file, and what is read must not be lost."""
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(source.path)
    before = source.path.read_text()
    with pytest.raises(InvalidInput):
        publish_map(FlowsFile(source.path, tmp_path / out), STATE.blocks, LEVELS, TERMS, tmp_path / out)
    assert not list(tmp_path.glob("**/*.ledger.sqlite"))
    assert source.path.read_text() == before
    assert check_output(tmp_path / "made.csv") == tmp_path / "made.csv"


def test_a_full_disk_is_told_and_leaves_what_was_there(source, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    publish_map(source, STATE.blocks, LEVELS, TERMS, source.out)
    before, receipt = source.out.read_bytes(), receipt_beside(source.out).read_bytes()
    monkeypatch.setattr(outputs, "_parquet", lambda *_: full)
    with pytest.raises(InvalidInput, match=r"the disk is full"):
        publish_map(source, STATE.blocks, LEVELS, TERMS, source.out)
    assert (source.out.read_bytes(), receipt_beside(source.out).read_bytes()) == (before, receipt), "both, or none"
    assert not list(source.out.parent.glob(".*.new"))
    assert beside(source.out).spent().delta == Fraction("2e-5")


# --- the curator's page ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A map and the place of its page, for all who only look at them."""
    folder = tmp_path_factory.mktemp("reported")
    flows, _ = STATE.write(folder / "state")
    release = publish_map(FlowsFile(flows, folder / "made.parquet"), STATE.blocks, LEVELS, TERMS, folder / "made.parquet")
    return release, write_report(release, folder / "report.html", folder / "made.parquet")


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """To draw them takes longer than all the rest of a page."""
    monkeypatch.setattr(report, "_pictures", lambda *_: [])


@pytest.mark.usefixtures("without_pictures")
def test_what_cannot_be_read_is_told_to_the_curator_alone(source, reported, tmp_path):
    """The same release with seven rows that count for nothing: its receipt and its rows say nothing of them, the report does."""
    plain, place = reported
    work, home = STATE.blocks.names[STATE.work[0]], STATE.blocks.names[0]
    wrong = [f"{work},{home},{jobs}" for jobs in ("", "x", "-1", "1.5", "1e3", "9999999999", "NaN")]
    source.path.write_text(source.path.read_text() + "\n".join([*wrong, f"{work},{home},0"]) + "\n")
    out = tmp_path / "again.parquet"
    release = publish_map(FlowsFile(source.path, out), STATE.blocks, LEVELS, TERMS, out)
    assert {**release.receipt, "paid": 0} == {**plain.receipt, "paid": 0}
    assert (plain.homes.unreadable.unseal(), release.homes.unreadable.unseal()) == (0, 7)
    told = "unreadable number of jobs; they count as no job</td><td>{}<"
    assert told.format(7) in report_page(release)
    assert told.format(0) in place.read_text()


@pytest.mark.usefixtures("without_pictures")
def test_the_number_of_synthetic_workers_is_in_the_receipt_and_in_the_ledger(source):
    release = publish_map(source, STATE.blocks, LEVELS, Terms(20, 1e-5, workers="each:50"), source.out)
    many = 50 * len(release.offer.totals)
    assert release.receipt["synthetic workers"] == {"rule": "each:50", "number": many}
    assert sum(parquet.read_table(source.out).column("jobs").to_pylist()) == many
    assert f"<td>{many:,}<" in report_page(release)
    assert "each:50" in next(entry.question for entry in beside(source.out).entries() if "map" in entry.question)


def test_the_report_is_the_curators_and_lies_elsewhere(reported):
    release, place = reported
    folder = place.parents[2]
    assert (folder / "made.parquet").exists()
    assert place == folder / ".tacit" / "reports" / "report.html"
    assert not (folder / "report.html").exists()
    page = place.read_text()
    assert "For the data owner only" in page.splitlines()[0]
    assert page.count("<svg") == 5
    assert "<script" not in page
    found = utility_of(release)
    assert f"{found.variation:.2%}" in page
    assert "Short and long commutes to dense and sparse destinations" in page
    for each in found.crossed:
        assert f"<td>{each.name}</td>" in page
        shown = "none" if np.isnan(each.signed) else f"{each.signed:+.2%}"
        assert f"<td>{shown}</td>" in page


def test_maps_are_drawn_of_finer_origins_too(source, monkeypatch):
    release = publish_map(source, STATE.blocks, ("blockgroup", "county"), TERMS, source.out)
    assert report_page(release).count("Where the workers of") >= 3
    monkeypatch.setattr(report, "MOST_CIRCLES", 1)
    assert "Where the workers of" not in report_page(release), "not with more circles than can be seen"


def test_rings_have_figures_and_no_map(source):
    release = publish_map(source, STATE.blocks, ("rings", "tract"), TERMS, source.out)
    page = report_page(release)
    assert page.count("<svg") == 2
    assert "dense origins" not in page


# --- from a catalog ----------------------------------------------------------------------------------------------------------

CATALOG = """
{relation}
[budget]
epsilon = 30
delta = 1e-3

[tables.jobs]
source = "jobs.csv"
unit = {{ column = "person" }}
max_rows = {most}

[tables.jobs.columns]
w_geocode = {{ keys = "private" }}
h_geocode = {{ keys = "private" }}
shift = {{ bounds = [0, 3] }}

[tables.workplaces]
source = "totals.csv"
public = true
"""


def jobs_of(state: State) -> list[str]:
    names = state.blocks.names
    rows = [(names[w], names[h]) for w, h, n in zip(state.work, state.home, state.jobs, strict=True) for _ in range(int(n))]
    return [f"{person},{work},{home},1" for person, (work, home) in enumerate(rows)]


def declared(folder: Path, most: int = 1, relation: str = "", more: int = 0, empty: bool = False) -> DataSet:
    """A data set of its own, with its own ledger: a copy of one that was prepared once."""
    shutil.copytree(prepared(most, relation, more, empty).name, folder)
    return open_data(folder / "tacit.toml")


@cache
def prepared(most: int, relation: str, more: int, empty: bool) -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory()
    folder, totals = Path(made.name), STATE.totals(STATE.blocks.zones("tract"))
    (folder / "jobs.csv").write_text("person,w_geocode,h_geocode,shift\n" + "\n".join([] if empty else jobs_of(STATE)) + "\n")
    lines = [f"{name},{jobs + more}" for name, jobs in zip(totals.names, totals.jobs.tolist(), strict=True)]
    (folder / "totals.csv").write_text("destination,jobs\n" + "\n".join(lines) + "\n")
    (folder / "tacit.toml").write_text(CATALOG.format(most=most, relation=relation))
    with pytest.MonkeyPatch.context() as patch, open_data(folder / "tacit.toml") as data:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # a register that does not know of the copies
        data.prepare(new_ledger=True, reason="a test")
    return made


def flows_of(data: DataSet, **other: Any) -> DeclaredFlows:
    known = {"table": "jobs", "columns": Columns(jobs=None), "declared": "workplaces", "analyst": "curator"}
    return DeclaredFlows(data, **{**known, **other})


@pytest.mark.parametrize(("relation", "most", "moves"), [("", 1, 1), ("", 2, 2), ('neighbours = "change-one"', 1, 2)])
def test_a_catalog_pays_for_all_homes_that_one_person_moves(relation, most, moves, tmp_path):
    data = declared(tmp_path / "set", most, relation)
    release = publish_map(flows_of(data), STATE.blocks, LEVELS, TERMS, tmp_path / "made.csv")
    spent = data.ledger.spent()
    assert spent.epsilon == pytest.approx(moves * log_up(Fraction(20)))
    assert float(spent.delta) == pytest.approx(1e-5 * sum(20**i for i in range(moves)))
    assert release.receipt["paid"]["ledger"] == "the catalog's ledger"
    assert float(release.receipt["paid"]["price"]["ratio"]) == pytest.approx(20**moves, rel=1e-4)
    assert not ledger_beside(tmp_path / "made.csv").exists()


@pytest.mark.parametrize("more", [-40, 0, 40])
def test_flows_are_brought_to_the_declared_totals(more, tmp_path):
    data = declared(tmp_path / "set", more=more)
    release = publish_map(flows_of(data), STATE.blocks, LEVELS, TERMS, tmp_path / "made.csv")
    truth = [counted.unseal() for counted in release.homes.counts(release.offer.domains())]
    wanted = (STATE.totals(STATE.blocks.zones("tract")).jobs + more).tolist()
    assert [int(jobs.sum()) for _, jobs in truth] == wanted
    assert [int(jobs.sum()) for _, jobs in release.made.cells] == wanted


def test_a_declared_table_holds_the_same_flows_as_the_file(tmp_path):
    data = declared(tmp_path / "set")
    release = publish_map(flows_of(data), STATE.blocks, LEVELS, TERMS, tmp_path / "made.csv")
    totals = STATE.totals(STATE.blocks.zones("tract"))
    ours, theirs = STATE.homes(totals), release.homes
    for one, other in zip(*(homes.counts(release.offer.domains()) for homes in (ours, theirs)), strict=True):
        (cells, jobs), (same_cells, same_jobs) = one.unseal(), other.unseal()
        assert cells.tolist() == same_cells.tolist()
        assert jobs.tolist() == same_jobs.tolist()


def test_columns_with_declared_values_are_read_too(tmp_path):
    folder = tmp_path / "set"
    declared(folder)
    works = ", ".join(f'"{name}"' for name in sorted({str(STATE.blocks.names[work]) for work in STATE.work}))
    text = (folder / "tacit.toml").read_text().replace('w_geocode = { keys = "private" }', f"w_geocode = {{ values = [{works}] }}")
    (folder / "tacit.toml").write_text(text)
    data = open_data(folder / "tacit.toml")
    prepare(data.catalog)
    release = publish_map(flows_of(data), STATE.blocks, LEVELS, TERMS, tmp_path / "made.csv")
    ours = STATE.homes(STATE.totals(STATE.blocks.zones("tract")))
    (_, block, jobs), (_, our_block, our_jobs) = release.homes.jobs.unseal(), ours.jobs.unseal()
    assert int(jobs.sum()) == int(our_jobs.sum())
    assert np.bincount(block, jobs).tolist() == np.bincount(our_block, our_jobs).tolist()


def test_the_same_release_of_an_empty_table_looks_the_same(tmp_path):
    """Everything but the draws is decided before a row is read: receipt, price, destinations, and how many jobs each gets."""
    full, empty = (
        publish_map(
            flows_of(declared(tmp_path / name, empty=name == "empty")), STATE.blocks, LEVELS, TERMS, tmp_path / f"{name}.csv"
        )
        for name in ("full", "empty")
    )
    assert full.receipt == empty.receipt
    assert [int(jobs.sum()) for _, jobs in full.made.cells] == [int(jobs.sum()) for _, jobs in empty.made.cells]
    assert full.paid == empty.paid


@pytest.mark.parametrize(
    ("other", "error"),
    [
        ({"table": "people"}, UnknownName),
        ({"table": "workplaces"}, NotAllowed),
        ({"declared": "jobs"}, NotAllowed),
        ({"declared": "towns"}, UnknownName),
        ({"columns": Columns("w_geocode", "home", None)}, UnknownName),
        ({"columns": Columns("w_geocode", "shift", None)}, WrongType),
    ],
)
def test_what_is_not_declared_is_refused_and_costs_nothing(other, error, tmp_path):
    data = declared(tmp_path / "set")
    with pytest.raises(error):
        publish_map(flows_of(data, **other), STATE.blocks, LEVELS, TERMS, tmp_path / "made.csv")
    assert data.ledger.spent().epsilon == 0


def test_a_budget_that_is_spent_refuses(tmp_path):
    data = declared(tmp_path / "set")
    with pytest.raises(BudgetExceeded):
        publish_map(flows_of(data), STATE.blocks, LEVELS, Terms(10**14, 1e-5), tmp_path / "made.csv")
    assert not (tmp_path / "made.csv").exists()


@pytest.mark.parametrize("keep", ["all", "uniform:0.9"])
@pytest.mark.parametrize("policy", ["", "[analysts.curator]\nepsilon_per_query = 4\n"])
def test_a_refusal_names_a_ratio_that_fits_with_its_price(keep, policy, tmp_path):
    """The planted bug names the epsilon of all jobs of one person, which is no ratio of one job."""
    folder = tmp_path / "set"
    declared(folder, most=2)
    (folder / "tacit.toml").write_text((folder / "tacit.toml").read_text().replace("epsilon = 30", "epsilon = 8") + policy)
    data = open_data(folder / "tacit.toml")
    with pytest.raises(BudgetExceeded) as refused:
        publish_map(flows_of(data), STATE.blocks, LEVELS, Terms(1000, 1e-8, keep), tmp_path / "made.csv")
    named = re.match(
        r"give (?:keep=(?P<keep>all) )?ratio=([\d.]+), which costs ratio ([\d.]+) \(epsilon ([\d.]+)\)", refused.value.remedy
    )
    assert named, refused.value.remedy
    assert bool(named["keep"]) == (keep != "all" and bool(policy)), "no ratio has epsilon 2 with a chance of 0.9 in this state"
    release = publish_map(flows_of(data), STATE.blocks, LEVELS, Terms(named[2], 1e-8, named["keep"] or keep), tmp_path / "made.csv")
    assert release.receipt["paid"]["price"]["epsilon"] == named[4]
    most = 4 if policy else data.catalog.budget.epsilon
    assert 0.98 * float(most) < float(named[4]) <= most, "and hardly anything is left of what it may cost"


def test_where_no_ratio_fits_the_budget_is_to_be_raised(tmp_path):
    data = declared(tmp_path / "set")
    spent = Resampling(data.ledger.left("curator").epsilon, Fraction(0), data.catalog.neighbours)
    data.ledger.spend(spent, "curator", "all of it", data.version)
    with pytest.raises(BudgetExceeded) as refused:
        publish_map(flows_of(data), STATE.blocks, LEVELS, TERMS, tmp_path / "made.csv")
    assert refused.value.remedy == "ask the data owner to raise that budget in tacit.toml"


def test_a_refusal_and_a_claim_round_one_price_alike(tmp_path):
    """Up, both: the planted bug rounds the refusal to the nearest."""
    data = declared(tmp_path / "set")
    with pytest.raises(BudgetExceeded) as refused:
        publish_map(flows_of(data), STATE.blocks, LEVELS, Terms(2 * 10**14, 1e-30), tmp_path / "made.csv")
    price = for_person(
        Approximate(log_up(Fraction(2 * 10**14)), "1e-30", ONE_JOB), data.catalog.tables["jobs"], data.catalog.neighbours
    )
    assert f"it costs epsilon {at_least(price.epsilon)}, delta {at_least(price.delta)}, and" in str(refused.value)


def test_data_that_was_prepared_again_is_not_read(tmp_path):
    data = declared(tmp_path / "set")
    paid = flows_of(data)
    assert data.version
    prepare(data.catalog)
    totals = paid.totals(STATE.blocks, STATE.blocks.zones("tract"))
    with pytest.raises(StoreUnusable, match="prepared again"):
        paid.homes(STATE.blocks, totals)


def test_a_file_that_a_catalog_declares_has_no_ledger_of_its_own(tmp_path):
    data = declared(tmp_path / "set")
    with pytest.raises(NotAllowed, match="whose budget pays"):
        refuse_declared(tmp_path / "set" / "jobs.csv", data.catalog)
    refuse_declared(tmp_path / "set" / "totals.csv", data.catalog)
    refuse_declared(tmp_path / "other.csv", data.catalog)
    blocks = STATE.write(tmp_path / "state")[1]
    with pytest.raises(NotAllowed, match="whose budget pays"):
        synthesize_map(tmp_path / "set" / "jobs.csv", blocks, tmp_path / "made.csv", TERMS)


def test_a_catalog_that_cannot_be_used_still_keeps_the_files_it_names(tmp_path):
    place = tmp_path / "tacit.toml"
    place.write_text('[budget\n[tables.jobs]\nsource = "jobs.csv"\n')
    with pytest.raises(InvalidCatalog):
        require_undeclared(tmp_path / "jobs.csv")
    require_undeclared(tmp_path / "other.csv")


def test_totals_of_a_catalog_are_whole_numbers_and_named_once(tmp_path):
    data = declared(tmp_path / "set")
    place = tmp_path / "set" / "totals.csv"
    first = place.read_text().splitlines()[1]
    for line in (first, first.split(",")[0] + "x,1", "000000,many", "000000,", "000000,²", "000000,99999999999999999999"):
        place.write_text(place.read_text() + line + "\n")
        with pytest.raises(InvalidInput):
            flows_of(data).totals(STATE.blocks, STATE.blocks.zones("tract"))
        place.write_text("\n".join(place.read_text().splitlines()[:-1]) + "\n")
    assert Counter(np.sign(flows_of(data).totals(STATE.blocks, STATE.blocks.zones("tract")).jobs).tolist())[1] > 0


def test_an_output_that_the_catalog_would_read_is_refused_and_costs_nothing(tmp_path):
    data = declared(tmp_path / "set")
    before = (tmp_path / "set" / "jobs.csv").read_bytes()
    with pytest.raises(InvalidInput, match="read as the table jobs"):
        publish_map(flows_of(data), STATE.blocks, LEVELS, TERMS, tmp_path / "set" / "jobs.csv")
    assert data.ledger.spent().epsilon == 0
    assert (tmp_path / "set" / "jobs.csv").read_bytes() == before


def test_the_curators_page_speaks_of_this_map_in_words(reported):
    page = reported[1].read_text()
    assert "expected share of fake synthetic jobs" in page
    assert not [word for word in ("tutorial", "slides", "alpha", "8 million") if word in page]
