"""discreet sulq publish"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.cli.present import Json, VaultPath, command, out, pairs, print_json, waiting
from discreet.cli.resumable import resumable
from discreet.errors import ArchiveError

if TYPE_CHECKING:
    from discreet.mining.statistics import Statistics, StatisticsPlan


@command
def publish(
    vault: VaultPath,
    folder: Annotated[Path | None, typer.Option("--out", help="a new folder for the statistics")] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(help="a column with two values, or 'old: age > 50'; all columns with two values by default"),
    ] = None,
    arity: Annotated[int | None, typer.Option(help="ℓ: literals a conjunction has; as many as fit by default")] = None,
    subsets: Annotated[int | None, typer.Option(help="t: on how many random subsets each is counted")] = None,
    within: Annotated[
        float, typer.Option("--error", help="instead of --subsets: within what functions are to be known")
    ] = 0.1,
    confidence: Annotated[float, typer.Option(help="how surely the error is kept")] = 0.95,
    charge: Annotated[int | None, typer.Option(help="instead: the charge of statistics to be written again")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="only say what it would take; spends nothing")] = False,
    as_json: Json = False,
) -> None:
    """Publish noisy counts of every conjunction, from which anybody learns functions of twice as many attributes."""
    from discreet.release.package import require_new_folder
    from discreet.vault.vault import Vault

    def planned(opened: Vault) -> "StatisticsPlan":
        return opened.sulq.plan(attribute, arity=arity, subsets=subsets, error=within, confidence=confidence)

    if plan:
        _show_plan(planned(Vault.open(vault)), as_json)
        return
    if folder is None:
        raise ArchiveError("say where to: --out stats/; or --plan, to see what it would take")
    require_new_folder(folder, "the statistics")
    with waiting("counting", as_json):
        opened = Vault.open(vault)
        with resumable(opened, lambda number: f"`discreet sulq publish {vault} --charge {number} --out …`"):
            published = opened.sulq.publish(planned(opened) if charge is None else charge)
            published.save(folder)
    if as_json:
        print_json({**published.describe(), "folder": str(folder)})
    else:
        _show(published, folder)


def _show_plan(plan: "StatisticsPlan", as_json: bool) -> None:
    from discreet.mining.statistics import subsets_by_the_seed

    k, arity = len(plan.attributes), plan.arity
    by_the_seed = subsets_by_the_seed(arity, k, plan.error, 1 - plan.confidence) if plan.error < 1 else None
    if as_json:
        print_json({**plan.to_json(), "subsets_by_the_seed": by_the_seed})
        return
    factors = f"{plan.subsets:,} subsets × C({k},{arity}) × 2^{arity}"
    seeds = f"in the order of {by_the_seed:,} subsets, for all conjunctions at once" if by_the_seed else "–"
    pairs(
        "",
        [
            ("attributes", ", ".join(f"{one.name} ({one.condition})" for one in plan.attributes)),
            ("queries", f"{plan.queries:,} = {factors}"),
            ("tells", _tells(plan)),
            ("instead of", f"{plan.queries_naive:,}, every conjunction of {2 * arity} once ({_saving(plan)})"),
            ("the paper's t", seeds),
        ],
    )


def _tells(plan: "StatisticsPlan") -> str:
    functions = f"any function of {2 * plan.arity} attributes"
    if plan.error >= 1:
        return f"nothing for sure of {functions}: the noise is too much for so few people and subsets"
    return f"{functions} within ±{plan.error:.2g} at {plan.confidence:.0%}"


def _saving(plan: "StatisticsPlan") -> str:
    if plan.queries_naive > plan.queries:
        return f"{plan.queries_naive / plan.queries:,.1f} times as many"
    return "fewer: with so few attributes it pays to ask for what you want directly"


def _show(published: "Statistics", folder: Path) -> None:
    about = published.describe()
    names = ", ".join(about.pop("attributes"))
    rows = [(key, f"{value:,}" if isinstance(value, int) else value) for key, value in about.items()]
    pairs("", [("attributes", names), *rows])
    some = " AND ".join(published.names[: 2 * published.arity])
    out.print(f"[dim]Next:[/] discreet mine learn {escape(str(folder))} '{some}'", soft_wrap=True)
