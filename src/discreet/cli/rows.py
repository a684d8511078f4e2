"""discreet rows publish | check"""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.over import OverTable, vault_over
from discreet.cli.present import Json, VaultPath, command, out, pairs, print_json, say, table, waiting
from discreet.cli.resumable import resumable

app = typer.Typer(help="Synthetic rows: drawn from a model of what was released.", no_args_is_help=True)

MOST_SHOWN = 10


@app.command()
@command
def publish(
    vault: VaultPath,
    path: Annotated[Path, typer.Option("--out", help="a new file: .parquet or .csv")],
    cube: Annotated[
        Path | None, typer.Option("--from", help="only from this cube's model, one that this vault published")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="spend this on a cube for the rows first")] = None,
    rho: Annotated[str | None, typer.Option(help="the same in a vault with a budget of ρ")] = None,
    mu_squared: Annotated[str | None, typer.Option(help="the same in a vault with a budget of μ or of ε and δ")] = None,
    rows: Annotated[int | None, typer.Option(help="how many; as many as the model expects by default")] = None,
    seed: Annotated[int, typer.Option(help="other seeds draw other rows of the same model")] = 0,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Write synthetic rows: a table like the vault's, of which no row is a person. Drawn from the model of everything
    public, for nothing."""
    from discreet.synthetic.rows import require_rows_file

    require_rows_file(path)
    with waiting("drawing rows", as_json) as told:
        opened = vault_over(vault, over)
        with resumable(opened, lambda _charge: "the same command again"):
            made = opened.rows.publish(
                cube, epsilon=epsilon, rho=rho, mu_squared=mu_squared, rows=rows, seed=seed, progress=told
            )
            made.save(path)
    about = made.about
    if as_json:
        print_json({**{key: value for key, value in about.items() if key != "domain"}, "file": str(path)})
        return
    pairs(
        f"{len(made):,} synthetic row{'s' * (len(made) > 1)}",
        [
            ("file", path),
            ("what", about["what"]),
            ("limits", about["limits"]),
            *([("left out", ", ".join(about["left_out"]))] if about["left_out"] else []),
            ("guarantee", about["guarantee_in_words"]),
            ("receipt", about["receipt"]),
        ],
    )


@app.command()
@command
def check(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="synthetic rows", show_default=False)],
    against: Annotated[Path, typer.Option(help="the folder of a published cube")],
    as_json: Json = False,
) -> None:
    """Show how far synthetic rows are from what was released, by cuboid. Public, and free."""
    from discreet.cube.cube import Cube
    from discreet.synthetic.check import check_rows
    from discreet.synthetic.rows import SyntheticRows

    with waiting("comparing", as_json):
        checked = check_rows(SyntheticRows.load(path), Cube.load(against))
    if as_json:
        print_json(checked.to_json())
        return
    numbers = ("cuboids", "measured", "from the model", "from least squares", "largest, in rows")
    lines = [
        (
            one["dimensions"],
            one["cuboids"],
            one["measured_together"],
            f"{one['from_model']:.4f}",
            "–" if one["from_least_squares"] is None else f"{one['from_least_squares']:.4f}",
            f"{one['largest_in_rows']:.1f}",
        )
        for one in checked.by_dimensions()
    ]
    table("total variation distance, means", ("dimensions", *numbers), lines, right=("dimensions", *numbers))
    furthest = [(" × ".join(one.dimensions), f"{one.from_model:.4f}") for one in checked.distances[:MOST_SHOWN]]
    table("furthest from the model", ("cuboid", "distance"), furthest, right=("distance",))
    if not checked.same_release:
        out.print("[dim]These rows were drawn from other releases than this cube alone.[/]")
    words = "Least squares has its noise in it: rows that are nearer to it than to the model would be worse."
    say(words)
