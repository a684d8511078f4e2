"""discreet release list | show"""

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.over import OverTable, vault_at, vault_over
from discreet.cli.present import Json, VaultPath, command, out, pairs, print_json, table
from discreet.exact import equals_text

if TYPE_CHECKING:
    from discreet.domain.domain import Domain
    from discreet.release.release import Noisy, Release, ReleasedCell

COLUMNS = ("value", "95% low", "95% high")
MOST_ROWS = 200

app = typer.Typer(help="What was released: public, and free to read.", no_args_is_help=True)


@app.command("list")
@command
def list_releases(vault: VaultPath, over: OverTable = None, as_json: Json = False) -> None:
    """List everything that was released."""
    opened = vault_over(vault, over)
    releases = list(opened.releases())
    if as_json:
        print_json({"releases": releases})
        return
    rows = [
        (
            release.charge,
            _first_of(opened.plan_text(release.plan)),
            _numbers(release, opened.domain),
            equals_text(release.guarantee.amount).removeprefix("= "),
        )
        for release in releases
    ]
    spent = "queries" if opened.ledger.budget.by_queries else opened.ledger.budget.symbol
    table("releases", ("charge", "what", "answer", spent), rows, right=("charge", "answer", spent))


@app.command("show")
@command
def show_release(
    vault: VaultPath, charge: Annotated[int, typer.Argument(help="the release's charge")], as_json: Json = False
) -> None:
    """Show one release: values, variances, intervals, guarantee, receipt."""
    from discreet.release.release import label_names

    opened = vault_at(vault, charge)
    release = opened.release(charge)
    if as_json:
        print_json(release)
        return
    pairs(f"release {charge}", [("guarantee", release.guarantee), ("receipt", release.receipt)])
    for what, noisy in zip(opened.plan_text(release.plan), release.answers, strict=True):
        rows = [_cells(row, noisy, opened.domain) for row in islice(noisy.rows(opened.domain), MOST_ROWS)]
        out.print(f"\n{what}", markup=False, soft_wrap=True)
        table("", (*label_names(noisy.measurement.query), *COLUMNS), rows, right=COLUMNS)
        if noisy.units.size > MOST_ROWS:
            out.print(f"[dim]and {noisy.units.size - MOST_ROWS:,} more: --json prints all[/]")


def _first_of(texts: list[str], most: int = 4) -> str:
    """The first few queries of a plan: a cube has hundreds."""
    shown = texts if len(texts) <= most else [*texts[:most], f"and {len(texts) - most:,} more"]
    return "\n".join(shown)


def _cells(row: "ReleasedCell", noisy: "Noisy", domain: "Domain") -> tuple[str, ...]:
    """A quantile is recorded as a code, a choice as a place: people read what it stands for."""
    from discreet.answer.view import number
    from discreet.query.query import Choice, Quantile, group_attribute
    from discreet.release.release import chosen

    query = noisy.measurement.query
    match query:
        case Quantile():
            value = group_attribute(query.of, domain).label(int(row.value))
        case Choice():
            value = ", ".join(chosen(noisy).by)
        case _:
            value = number(row.value)
    return (*row.labels, value, number(row.low), number(row.high))


def _numbers(release: "Release", domain: "Domain") -> str:
    cells = sum(noisy.units.size for noisy in release.answers)
    if cells != 1:
        return f"{cells:,} numbers"
    noisy = release.only
    return _cells(next(noisy.rows(domain)), noisy, domain)[-3]
