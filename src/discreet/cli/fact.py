"""discreet fact add | list"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.over import OverTable, vault_over
from discreet.cli.present import Json, VaultPath, command, err, out, pairs, print_json, table, waiting
from discreet.errors import InvalidFact
from discreet.exact import equals_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.facts.account import AddedFact, FactLine, FactPreview
    from discreet.facts.plausible import Doubt

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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what it would do; add nothing")] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="add it even if it stops the vault, or S_Q is a bound")
    ] = False,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Account for a statistic that is public anyway. It lowers the limit, and cannot be taken back."""
    from discreet.facts.account import AddedFact

    if (value is None) == (cuboid is None):
        raise InvalidFact("give SQL and the value it has, or --cuboid sex,age and a CSV file")
    given: dict[str, Any] = {"sql": what, "value": _whole(value)} if cuboid is None else _cuboid(cuboid, what)
    with waiting("working out what it does", as_json):
        opened = vault_over(vault, over)
        done = opened.facts.preview(**given) if dry_run else opened.facts.add(**given, accept=accept)
    if as_json:
        print_json(done)
    elif isinstance(done, AddedFact):
        _show_added(done)
    else:
        _show_preview(done)


def _cuboid(names: str, file: str) -> dict[str, Any]:
    return {"cuboid": [name.strip() for name in names.split(",") if name.strip()], "values": Path(file)}


def _whole(value: str | None) -> int:
    try:
        return int((value or "").replace("_", "").replace(",", ""))
    except ValueError:
        raise InvalidFact(f"{value!r} is not a count: give a whole number") from None


def _at_most(told: "AddedFact | FactPreview") -> str:
    return "" if told.exact else "at most "


def _show_added(added: "AddedFact") -> None:
    symbol = added.guarantee.symbol
    pairs(
        f"fact {added.fact.number}",
        [
            ("what", added.fact.text),
            (
                "S_Q",
                f"{_at_most(added)}{added.sensitivity}: up to so many people change between tables that agree with all "
                "facts",
            ),
            ("spent", f"{symbol} {equals_text(added.spent)}, to whoever knows the facts"),
            ("promise", added.guarantee),
        ],
    )
    _show_doubts(added.doubts)
    if added.exceeded:
        err.print(
            f"[bold yellow]warning[/]: {symbol} {equals_text(added.spent)} holds now for what was released, more than "
            "the vault was to promise: nothing more is measured",
            soft_wrap=True,
        )


def _show_preview(would: "FactPreview") -> None:
    symbol = would.guarantee.symbol
    wider = "the same" if would.costs == 1 else f"{symbol} {float(would.costs):g} times as much as now"
    pairs(
        "what the fact would do; nothing was added",
        [
            ("what", would.fact.text),
            ("about", would.about),
            ("S_Q", f"{_at_most(would)}{would.sensitivity}, now {would.sensitivity_before}"),
            ("spent", f"{symbol} {equals_text(would.spent)}, now {equals_text(would.spent_before)}"),
            ("left", f"{symbol} {equals_text(would.left)} where most is spent, now {equals_text(would.left_before)}"),
            ("accuracy", f"the same noise would cost {wider}"),
            ("promise", would.guarantee),
        ],
    )
    _show_doubts(would.doubts)
    if not would.exact:
        err.print(
            "[bold yellow]warning[/]: S_Q is not known, and this is a bound on it: it is added with --accept only",
            soft_wrap=True,
        )
    if would.stops:
        err.print(
            "[bold yellow]warning[/]: this would stop the vault: nothing more would be measured; it is added with "
            "--accept only",
            soft_wrap=True,
        )


def _show_doubts(doubts: "Sequence[Doubt]") -> None:
    for doubt in doubts:
        err.print(f"[bold yellow]warning[/]: {doubt}", soft_wrap=True)


@app.command("list")
@command
def list_facts(vault: VaultPath, over: OverTable = None, as_json: Json = False) -> None:
    """List the facts: whether each can differ between neighbours, the sensitivity it induces, what it makes of ε."""
    report = vault_over(vault, over).facts.report()
    if as_json:
        print_json(report)
        return
    symbol = report.guarantee.symbol
    rows = [_cells(line) for line in report.facts]
    if rows:
        columns = ("fact", "what", "value", "can differ", "S_Q", f"{symbol} if known")
        table("facts", columns, rows, right=("fact", "value", "S_Q", columns[-1]))
        out.print(f"[dim]{columns[-1]}: what noise for the vault's whole budget promises to whoever knows that fact[/]")
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
        equals_text(line.if_known).removeprefix("= "),
    )
