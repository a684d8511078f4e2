"""discreet audit mechanisms"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.present import Json, command, out, print_json, table, waiting

if TYPE_CHECKING:
    from discreet.empirical.mechanisms import Audited


@command
def mechanisms(
    runs: Annotated[int, typer.Option(help="of either input, fewer where they are slow")] = 20_000,
    only: Annotated[str | None, typer.Option(help="those with this in their name: Laplace, ask, cube")] = None,
    as_json: Json = False,
) -> None:
    """Bound from below what every mechanism loses, from many runs on neighbouring inputs, and compare with what it
    states.

    Needs no vault. Exit code 1 where a bound is above what is stated.
    """
    with waiting("starting", as_json) as told:
        from discreet.empirical.mechanisms import audit_mechanisms

        audited = list(audit_mechanisms(runs, only or "", told))
    broken = [one for one in audited if not one.holds]
    if as_json:
        print_json({"holds": not broken, "mechanisms": [one.to_json() for one in audited]})
    else:
        show_audited(audited, broken)
    if broken:
        raise typer.Exit(1)


def show_audited(audited: "Sequence[Audited]", broken: "Sequence[Audited]") -> None:
    """Print what is stated beside what was found."""
    numbers = ("stated", "found")
    for neighbours in dict.fromkeys(one.neighbours for one in audited):
        rows = [_row(one) for one in audited if one.neighbours == neighbours]
        columns = ("mechanism", "inputs", *numbers, "by the event", "")
        table(f"neighbours: {neighbours}", columns, rows, right=numbers, tight=numbers)
        out.print()
    most = max(one.evidence.runs for one in audited)
    if broken:
        out.print(f"[bold red]{len(broken)} of {len(audited)} lose more than they state.[/]")
    else:
        out.print(f"[green]None of {len(audited)} was found to lose more than it states[/], in up to {most:,} runs.")
    out.print("[dim]A correct mechanism is accused in at most one audit of 100,000.[/]", soft_wrap=True)


def _row(one: "Audited") -> tuple[object, ...]:
    found = one.evidence
    return (
        one.mechanism,
        one.inputs,
        f"{found.symbol} = {found.stated:.3g}",
        f"≥ {found.bound:.3f}",
        found.event if found.bound else "–",
        "holds" if found.holds else "BROKEN",
    )
