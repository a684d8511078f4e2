"""discreet cube plan | publish | show"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from discreet.cli.present import Json, VaultPath, command, err, out, print_json
from discreet.cli.show_cube import show_cube, show_cuboid, show_plan
from discreet.errors import ArchiveError, DiscreetError, InvalidBudget, UnsupportedQuery
from discreet.ledger.budget import exact_amount
from discreet.query.lattice import Cuboids, Label, Lattice

if TYPE_CHECKING:
    from discreet.cube.plan import CubePlan
    from discreet.cube.progress import Progress as Told
    from discreet.vault import Vault

app = typer.Typer(help="Data cubes: plan them, publish them, look at them.", no_args_is_help=True)

WhichCuboids = Annotated[str, typer.Option(help="all; at most so many dimensions: 3; or a list: 'sex,age;region'")]
Planner = Annotated[str, typer.Option(help="optimal, bmax, bmaxg, pmost, pmostg, all or base")]
Goal = Annotated[str, typer.Option(help="what optimal makes small: max, mean, weighted or mean-std")]
Dimensions = Annotated[str | None, typer.Option(help="the cube's dimensions: sex,age; every attribute by default")]
Weight = Annotated[list[str] | None, typer.Option(help="how much a cuboid matters: sex,age=3; 1 by default")]
Bound = Annotated[float | None, typer.Option(help="for pmost and pmostg: the variance up to which a cuboid is precise")]
SPENDS = "what the cube spends: 1, 0.5, 1/3"
SPENDS_RHO = "in a vault with a budget of ρ: how much of it the cube may spend"


@app.command()
@command
def plan(
    vault: Annotated[Path | None, typer.Argument(metavar="[VAULT]", help="the vault's directory")] = None,
    sizes: Annotated[str | None, typer.Option(help="instead of a vault, numbers of values: 9,16,7")] = None,
    neighbours: Annotated[str | None, typer.Option(help="with --sizes: add-remove or replace")] = None,
    epsilon: Annotated[str | None, typer.Option(help=SPENDS)] = None,
    rho: Annotated[str | None, typer.Option(help=SPENDS_RHO)] = None,
    cuboids: WhichCuboids = "all",
    planner: Planner = "optimal",
    objective: Goal = "max",
    dimensions: Dimensions = None,
    weight: Weight = None,
    bound: Bound = None,
    continuous: Annotated[bool, typer.Option("--continuous", help="state variances as 2λ², like the papers")] = False,
    plot: Annotated[Path | None, typer.Option(help="draw the lattice to this file")] = None,
    as_json: Json = False,
) -> None:
    """Show which cuboids would be measured, and how exact each would be. Spends nothing."""
    choice = _choice(cuboids, planner, objective, weight, bound, by_index=vault is None)
    if (vault is None) == (sizes is None):
        raise UnsupportedQuery("name a vault, or give --sizes 9,16,7 --neighbours add-remove instead")
    if vault is None:
        planned = _plan_for_sizes(str(sizes), neighbours, epsilon, rho, choice)
    else:
        from discreet.vault import Vault

        planned = Vault.open(vault).plan_cube(epsilon=epsilon, rho=rho, dimensions=_names(dimensions), **choice)
    if continuous:
        planned = replace(planned, noise=planned.noise.as_continuous())
    if plot is not None:
        from discreet.cube.draw import plot_plan

        plot_plan(planned, plot)
    if as_json:
        print_json(planned)
    else:
        show_plan(planned)


@app.command()
@command
def publish(
    vault: VaultPath,
    folder: Annotated[Path, typer.Option("--out", help="a new folder for the cube")],
    epsilon: Annotated[str | None, typer.Option(help=SPENDS)] = None,
    rho: Annotated[str | None, typer.Option(help=SPENDS_RHO)] = None,
    charge: Annotated[
        int | None, typer.Option(help="instead: the charge of a cube that is to be written again")
    ] = None,
    cuboids: WhichCuboids = "all",
    planner: Planner = "optimal",
    objective: Goal = "max",
    dimensions: Dimensions = None,
    weight: Weight = None,
    bound: Bound = None,
    consistent: Annotated[bool, typer.Option(help="make every roll-up fit, which also lowers the noise")] = True,
    as_json: Json = False,
) -> None:
    """Publish a cube: measured in one release, charged once, written to a folder that needs no vault."""
    from discreet.cube.folder import require_new_folder
    from discreet.vault import Vault

    if (epsilon is None and rho is None) == (charge is None):
        raise InvalidBudget("say what the cube may spend, --epsilon 0.5, or which charge to go on from, --charge 17")
    choice = _choice(cuboids, planner, objective, weight, bound)
    require_new_folder(folder)
    opened = Vault.open(vault)
    what: CubePlan | int = (
        opened.plan_cube(epsilon=epsilon, rho=rho, dimensions=_names(dimensions), **choice)
        if charge is None
        else charge
    )
    with _resumable(opened, folder), _bar() as told:
        cube = opened.publish_cube(what, consistent=consistent, progress=told)
        cube.save(folder, told)
    if as_json:
        print_json({**cube.describe(), "folder": str(folder)})
        return
    show_cube(cube)
    out.print(f"[dim]Next:[/] discreet cube show {folder} {cube.names[0]}", soft_wrap=True)


@app.command()
@command
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a published cube's folder", show_default=False)],
    dimensions: Annotated[list[str] | None, typer.Argument(help="the cuboid's dimensions; none: the total")] = None,
    confidence: Annotated[float, typer.Option(help="how surely the intervals hold")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="draw a cuboid of one or two dimensions to this file")] = None,
    as_json: Json = False,
) -> None:
    """Show a cuboid of a published cube, with intervals. Public, and free."""
    from discreet.cube.cube import Cube

    cube = Cube.load(folder)
    names = tuple(dimensions or ())
    cuboid, width = cube[names], cube.halfwidth(*names, confidence=confidence)
    if plot is not None:
        from discreet.cube.draw import plot_cuboid

        plot_cuboid(cube, *names, path=plot, confidence=confidence)
    if as_json:
        print_json(
            {
                "dimensions": list(names),
                "labels": {name: cuboid.coords[name].values for name in names},
                "count": cuboid.values,
                "variance": cube.variance(*names),
                "halfwidth": width,
                "confidence": confidence,
                "guarantee": cube.guarantee,
                "receipt": str(cube.origin.receipt),
            }
        )
        return
    if not names:
        show_cube(cube)
        out.print()
    show_cuboid(cuboid, width, confidence)
    out.print(f"[dim]{cube.guarantee}[/]", soft_wrap=True)


def _choice(
    cuboids: str, planner: str, objective: str, weights: list[str] | None, bound: float | None, by_index: bool = False
) -> dict[str, Any]:
    """What both ways to plan take, as they take it."""
    return {
        "cuboids": _which(cuboids, by_index),
        "planner": planner,
        "objective": objective,
        "weights": dict(_weight(text, by_index) for text in weights or ()),
        "bound": bound,
    }


def _which(text: str, by_index: bool) -> Cuboids:
    if text == "all":
        return "all"
    if text.isdecimal():
        return int(text)
    return [_cuboid(part, by_index) for part in text.split(";") if part.strip()]


def _cuboid(text: str, by_index: bool) -> tuple[Label, ...]:
    """Dimensions by comma; `total` is the cuboid without any."""
    if text.strip() == "total":
        return ()
    names = [name.strip() for name in text.split(",")]
    return tuple(int(name) if by_index and name.isdecimal() else name for name in names)


def _weight(text: str, by_index: bool) -> tuple[tuple[Label, ...], float]:
    cuboid, _, number = text.rpartition("=")
    try:
        return _cuboid(cuboid, by_index), float(number)
    except ValueError:
        raise UnsupportedQuery(f"a weight looks like sex,age=3, not {text!r}") from None


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _plan_for_sizes(
    sizes: str, neighbours: str | None, epsilon: str | None, rho: str | None, choice: dict[str, Any]
) -> "CubePlan":
    from discreet.cube.noise_model import GaussianNoise, LaplaceNoise, NoiseModel
    from discreet.cube.planning import plan_cube

    try:
        lattice = Lattice(tuple(int(size) for size in sizes.split(",")))
    except ValueError:
        raise UnsupportedQuery("--sizes takes numbers of values by comma, as in 9,16,7") from None
    if neighbours not in ("add-remove", "replace"):
        raise InvalidBudget("--sizes needs --neighbours add-remove or --neighbours replace")
    if (epsilon is None) == (rho is None):
        raise InvalidBudget("say what the cube may spend: --epsilon 1, or --rho 0.5")
    noise: NoiseModel
    if rho is None:
        noise = LaplaceNoise(exact_amount(epsilon or 0), neighbours)  # type: ignore[arg-type]
    else:
        noise = GaussianNoise(exact_amount(rho, "ρ"), neighbours)  # type: ignore[arg-type]
    return plan_cube(lattice, noise, **choice)


@contextmanager
def _bar() -> "Iterator[Told]":
    """A progress bar on standard error, where somebody watches."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda what, done: progress.update(task, description=what, completed=done)


@contextmanager
def _resumable(vault: "Vault", folder: Path) -> Iterator[None]:
    """Say how to go on, whatever happens after the charge."""
    before = vault.ledger.head.seq
    try:
        yield
    except (DiscreetError, KeyboardInterrupt) as error:
        charges = [entry.seq for entry in vault.ledger.entries(before) if entry.kind == "charge"]
        if not charges:
            raise
        again = f"discreet cube publish {vault.path} --charge {charges[-1]} --out {folder}"
        way_on = f"charge {charges[-1]} stands: `{again}` goes on without a further one"
        if isinstance(error, KeyboardInterrupt):
            raise ArchiveError(f"interrupted; {way_on}") from None
        raise type(error)(f"{error}; {way_on}") from None
