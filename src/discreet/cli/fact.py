"""discreet fact add | list"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.present import Json, VaultPath, command, err, out, pairs, print_json, table, waiting
from discreet.errors import InvalidFact
from discreet.exact import equals_text

if TYPE_CHECKING:
    from discreet.facts.account import AddedFact, FactLine

app = typer.Typer(help="Facts: exact statistics that are public anyway, and what they do.", no_args_is_help=True)


# A difference of counts may be below 0: -5 is a value, not an option.
@app.command("add", context_settings={"ignore_unknown_options": True})
@command
def add_fact(
    vault: VaultPath,
    what: Annotated[str, typer.Argument(help="SQL for a count or a sum of counts; with --cuboid a CSV file")],
    value: Annotated[str | None, typer.Argument(help="the count", show_default=False)] = None,
    cuboid: Annotated[
        str | None, typer.Option(help="a whole exact cuboid, as in sex,age; the CSV has these columns and the counts")
    ] = None,
    as_json: Json = False,
) -> None:
    """Account for a statistic that is public anyway. It lowers the limit, and cannot be taken back."""
    from discreet.vault import Vault

    if (value is None) == (cuboid is None):
        raise InvalidFact("give SQL and the value it has, or --cuboid sex,age and a CSV file")
    with waiting("working out what it does", as_json):
        opened = Vault.open(vault)
        added = (
            opened.add_fact(what, _whole(value))
            if cuboid is None
            else opened.add_fact(cuboid=[name.strip() for name in cuboid.split(",") if name.strip()], values=Path(what))
        )
    if as_json:
        print_json(added)
        return
    _show_added(added)


def _whole(value: str | None) -> int:
    try:
        return int((value or "").replace("_", "").replace(",", ""))
    except ValueError:
        raise InvalidFact(f"{value!r} is not a count: give a whole number") from None


def _show_added(added: "AddedFact") -> None:
    symbol = added.guarantee.symbol
    pairs(
        f"fact {added.fact.number}",
        [
            ("what", added.fact.text),
            ("S_Q", f"{added.sensitivity}: up to so many people change between tables that agree with all facts"),
            ("spent", f"{symbol} {equals_text(added.spent)}, to whoever knows the facts"),
            ("promise", added.guarantee),
        ],
    )
    for doubt in added.doubts:
        err.print(f"[bold yellow]warning[/]: {doubt}", soft_wrap=True)
    if added.exceeded:
        err.print(
            f"[bold yellow]warning[/]: {symbol} {equals_text(added.spent)} holds now for what was released, more than "
            "the vault was to promise: nothing more is measured",
            soft_wrap=True,
        )


@app.command("list")
@command
def list_facts(vault: VaultPath, as_json: Json = False) -> None:
    """List the facts: whether each can differ between neighbours, the sensitivity it induces, ρ for the vault's ε."""
    from discreet.vault import Vault

    report = Vault.open(vault).list_facts()
    if as_json:
        print_json(report)
        return
    symbol = report.guarantee.symbol
    rows = [_cells(line) for line in report.facts]
    if rows:
        columns = ("fact", "what", "value", "can differ", "S_Q", f"ρ for {symbol}" if symbol == "ε" else "ρ")
        table("facts", columns, rows, right=("fact", "value", "S_Q", columns[-1]))
        out.print("[dim]ρ: what noise for the vault's whole budget would promise to whoever knows that fact alone[/]")
    pairs(
        "together" if rows else "no facts",
        [
            ("S_Q", report.sensitivity),
            ("spent", f"{symbol} {equals_text(report.spent)}"),
            ("left", f"{symbol} {equals_text(report.left)}, where most is spent"),
            ("promise", report.guarantee),
        ],
    )


def _cells(line: "FactLine") -> tuple[object, ...]:
    from discreet.facts.facts import CuboidFact

    fact = line.fact
    value = " × ".join(map(str, fact.values.shape)) if isinstance(fact, CuboidFact) else f"{fact.value:,}"
    what = fact.text if line.current else f"{fact.text} (of an earlier table)"
    return (
        fact.number,
        what,
        value or "1",
        "yes" if line.differs else "no",
        line.sensitivity,
        equals_text(line.rho).removeprefix("= "),
    )
