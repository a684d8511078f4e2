"""discreet sulq ask | publish"""

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.present import Json, VaultPath, command, out, print_json, say, table, waiting
from discreet.cli.statistics import publish
from discreet.errors import UnsupportedQuery

if TYPE_CHECKING:
    from discreet.answer.subsets import SubsetAnswer

app = typer.Typer(
    help="Counts over subsets of a public roster, with a number of queries as the budget.", no_args_is_help=True
)
app.command()(publish)
MOST_ROWS = 200


@app.command()
@command
def ask(
    vault: VaultPath,
    predicate: Annotated[str, typer.Argument(help="a condition, as after WHERE: 'smoker AND age > 50'")],
    seed: Annotated[list[int] | None, typer.Option(help="a subset by its seed, with --rate; may be repeated")] = None,
    rate: Annotated[
        str | None, typer.Option(help="the share of the roster that a seed's subset has; 1/2 if not given")
    ] = (None),
    ids: Annotated[str | None, typer.Option(help="a subset by its record ids, with commas between them")] = None,
    as_json: Json = False,
) -> None:
    """Count the people of subsets who meet a condition, with noise; of everyone where no subset is named.

    Each subset is one of the vault's queries.
    """
    from discreet.vault.vault import Vault

    if rate is not None and not seed:
        raise UnsupportedQuery("a rate goes with a seed, which says which people: --seed 7 --rate 1/4")
    subsets: list[object] = [(number, rate or "1/2") for number in seed or ()]
    if ids is not None:
        subsets.append([text.strip() for text in ids.split(",") if text.strip()])
    with waiting("counting", as_json):
        answer = Vault.open(vault).sulq.ask_all(subsets or ["everyone"], predicate)
    if as_json:
        print_json(answer)
    else:
        show_subsets(answer)


def show_subsets(answer: "SubsetAnswer") -> None:
    """Print counts beside their margins and the sizes of their subsets."""
    rows = [
        (subset, f"{value:,}", f"± {answer.halfwidth():,}", f"{size:,}")
        for subset, value, size in zip(answer.subsets, answer.values.tolist(), answer.sizes.tolist(), strict=True)
    ]
    numbers = ("count", "95%", "people in it")
    table("", ("subset", *numbers), rows[:MOST_ROWS], right=numbers)
    if len(rows) > MOST_ROWS:
        out.print(f"[dim]and {len(rows) - MOST_ROWS:,} more: --json prints all[/]")
    spent = len(answer.subsets)
    out.print(
        f"spent {spent:,} {'query' if spent == 1 else 'queries'}; {answer.queries_left:,} left, ever", style="dim"
    )
    for note in answer.notes:
        say(note)
