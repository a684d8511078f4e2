"""discreet running plan | declare | publish | show"""

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.cube import SPENDS, SPENDS_MU, SPENDS_RHO
from discreet.cli.over import OverTable, vault_over
from discreet.cli.present import Json, VaultPath, command, out, pairs, print_json, say, table

if TYPE_CHECKING:
    from discreet.cube.running import RunningPlan, RunningTotals
    from discreet.vault.vault import Vault

app = typer.Typer(
    help="Running totals of periods: planned ahead, paid for once, published one by one.", no_args_is_help=True
)
Each = Annotated[str, typer.Option(help="a date attribute, or what its periods are called: month")]
By = Annotated[str | None, typer.Option(help="totals of each group: sex,region")]
First = Annotated[str | None, typer.Option(help="the first period that is counted; the domain's first by default")]
Last = Annotated[str | None, typer.Option(help="the last period; the domain's last by default")]
Epsilon = Annotated[str | None, typer.Option(help=SPENDS)]
Rho = Annotated[str | None, typer.Option(help=SPENDS_RHO)]
Mu = Annotated[str | None, typer.Option(help=SPENDS_MU)]
Number = Annotated[int | None, typer.Option(help="which, where several were declared: the number of its entry")]
Confidence = Annotated[float, typer.Option(help="how surely the intervals hold")]
MOST_ROWS = 200


@app.command()
@command
def plan(
    vault: VaultPath,
    each: Each,
    by: By = None,
    first: First = None,
    last: Last = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu_squared: Mu = None,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Show how exact running totals would be. Spends nothing."""
    opened, planned = _planned(vault_over(vault, over), each, by, first, last, epsilon, rho, mu_squared)
    labels = planned.within.labels(opened.ledger.horizon)
    widths = [planned.halfwidth(place) for place in range(planned.periods)]
    if as_json:
        print_json({**planned.to_json(), "periods": labels, "halfwidths": widths})
        return
    rows = [("periods", f"{len(labels):,}, {labels[0]} to {labels[-1]}"), ("groups by", ", ".join(planned.by) or "–")]
    pairs(f"running totals of {planned.within.of}", [*rows, ("each total", f"± {max(widths):,.4g} at most, at 95%")])


@app.command()
@command
def declare(
    vault: VaultPath,
    each: Each,
    by: By = None,
    first: First = None,
    last: Last = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu_squared: Mu = None,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Set aside what running totals cost, for all of their periods. It is spent from then on, on nothing else."""
    opened, planned = _planned(vault_over(vault, over), each, by, first, last, epsilon, rho, mu_squared)
    _show(opened.running.declare(planned), as_json, 0.95)


@app.command()
@command
def publish(
    vault: VaultPath,
    through: Annotated[
        str | None, typer.Option(help="the last period that has ended: 2027-02; of a table that grows, the last closed")
    ] = None,
    number: Number = None,
    confidence: Confidence = 0.95,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Publish the totals up to a period. What was published before stays as it is; nothing more is spent."""
    _show(vault_over(vault, over).running.publish(number, through=through), as_json, confidence)


@app.command()
@command
def show(
    vault: VaultPath,
    number: Number = None,
    confidence: Confidence = 0.95,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Show the totals that were published, with intervals. Public, and free."""
    _show(vault_over(vault, over).running.show(number), as_json, confidence)


def _planned(
    opened: "Vault",
    each: str,
    by: str | None,
    first: str | None,
    last: str | None,
    epsilon: str | None,
    rho: str | None,
    mu_squared: str | None,
) -> "tuple[Vault, RunningPlan]":
    names = [name.strip() for name in (by or "").split(",") if name.strip()]
    amounts = {"epsilon": epsilon, "rho": rho, "mu_squared": mu_squared}
    return opened, opened.running.plan(each, by=names, first=first, last=last, **amounts)


def _show(totals: "RunningTotals", as_json: bool, confidence: float) -> None:
    if as_json:
        print_json(totals.to_json(confidence))
        return
    numbers = ("total", f"{confidence:.0%}")
    rows = [
        (period, *group, f"{value:,.1f}", f"± {high - value:,.1f}")
        for period, group, value, _, high in totals.rows(confidence)
    ]
    if rows:
        table("", (totals.plan.within.of, *totals.plan.by, *numbers), rows[-MOST_ROWS:], right=numbers)
    if len(rows) > MOST_ROWS:
        out.print(f"[dim]and {len(rows) - MOST_ROWS:,} before them: --json prints all[/]")
    still = len(totals.labels) - len(totals.measured)
    if still and not totals.open:
        state = "they ended when the table was refreshed, or people were erased"
    elif still:
        state = f"{still:,} of {len(totals.labels):,} periods are to come, and paid for"
    else:
        state = "all periods are published"
    say(f"Running totals {totals.number}: {state}.")
    say(str(totals.guarantee))
