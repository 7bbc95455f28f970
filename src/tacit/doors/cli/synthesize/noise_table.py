"""`tacit synthesize noise-table`: the number of fake workers per block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import console, print_json
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.mechanisms.dirichlet_calibration import PublicFacts
    from tacit.publish.synthetic.commuters.noise_table import NoiseRow


def noise_table(
    n: Annotated[str, typer.Option("--n", help="Public number of real workers at the destination.")] = "1e6",
    m: Annotated[str, typer.Option("--m", help="Number of synthetic workers; the number of real ones if omitted.")] = "",
    blocks: Annotated[str, typer.Option(help="Number of blocks of the map.")] = "1e5",
    delta: Annotated[str, typer.Option(help="Probability that the ratio bound is exceeded.")] = "1e-5",
    ratios: Annotated[str, typer.Option(help="Ratios r = e^epsilon, comma-separated.")] = "5,10,20,50",
    keep: Annotated[str, typer.Option(help="Probability that an empty block keeps its noise.")] = "1",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute the fake workers that each block needs, for pure and for probabilistic differential privacy.

    Example: tacit synthesize noise-table --n 1000 --blocks 100 --ratios 5,20
    """
    from tacit.mechanisms.dirichlet_calibration import PublicFacts
    from tacit.mechanisms.noise.urn import BlockClass
    from tacit.publish.synthetic.commuters import noise_table as table

    facts = PublicFacts(_whole("n", n), _whole("m", m or n), (BlockClass(_whole("blocks", blocks), keep),))
    rows = table.noise_table(facts, delta, [part.strip() for part in ratios.split(",")])
    if as_json:
        print_json(_as_json(facts, delta, rows))
    else:
        _show(facts, delta, rows)


def _whole(name: str, written: str) -> int:
    from tacit.privacy.rounding import exact

    number = exact(written, name)
    if number.denominator != 1 or number < 1:
        raise InvalidInput(f"--{name} must be a whole number above 0, such as 1000000 or 1e6, not {written}")
    return int(number)


def _as_json(facts: PublicFacts, delta: str, rows: tuple[NoiseRow, ...]) -> dict[str, Any]:
    from tacit.accounting.ledger.caps import at_least
    from tacit.publish.synthetic.commuters.noise_table import RELATION
    from tacit.publish.synthetic.commuters.spending import ratio_of

    listed = [
        {
            "ratio": float(row.ratio),
            "epsilon": float(row.epsilon),
            "pure": str(row.pure),
            "probabilistic": str(row.probable),
            "probabilistic_noise_counted": str(row.counted),
            "pure_total": str(row.pure * row.blocks),
            "probabilistic_total": str(row.probable * row.blocks),
            "fake_share": float(row.fakes),
            "epsilon_of_dropping": float(row.extra),
            "ratio_in_all": ratio_of(row.whole) if row.extra else at_least(row.ratio),
            "epsilon_in_all": at_least(row.whole),
        }
        for row in rows
    ]
    public = {"workers": facts.workers, "draws": facts.draws, "blocks": facts.blocks, "keep": str(facts.classes[0].keep)}
    return {**public, "delta": delta, "relation": RELATION, "rows": listed}


def _show(facts: PublicFacts, delta: str, rows: tuple[NoiseRow, ...]) -> None:
    from rich.table import Table

    from tacit.publish.synthetic.commuters.noise_table import RELATION, total_up, written_up
    from tacit.publish.synthetic.commuters.spending import ratio_of

    dropped = facts.classes[0].keep < 1
    names = ["ratio", "epsilon", "pure", "probabilistic", "noise counted", "pure, total", "probabilistic, total", "fake share"]
    table = Table(box=None, header_style="bold")
    for name in [*names, *(["dropping", "total ratio", "total epsilon"] if dropped else [])]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [f"{float(row.ratio):g}", f"{float(row.epsilon):.4f}", *map(written_up, (row.pure, row.probable, row.counted))]
        totals = [total_up(noise, row.blocks) for noise in (row.pure, row.probable)]
        more = [f"+ {float(row.extra):.4f}", ratio_of(row.whole), f"{float(row.whole):.4f}"] if dropped else []
        table.add_row(*cells, *totals, f"{float(row.fakes):.1%}", *more)
    screen = console()
    screen.print(
        f"Fake workers per block: {facts.workers:,} workers, {facts.draws:,} synthetic, {facts.blocks:,} blocks, delta {delta}"
    )
    screen.print(table)
    screen.print(f"{RELATION} A person with j jobs is protected at ratio^j (epsilon times j; delta grows with it).", style="dim")
    screen.print(
        "All figures are rounded up. A total is the noise of one block times the number of blocks. Only the column `noise counted` "
        "relies on the noise of other blocks, and only on blocks that are always kept.",
        style="dim",
    )
