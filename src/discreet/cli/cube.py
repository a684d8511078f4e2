"""discreet cube plan | publish | show | average | export"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.over import OverTable, vault_at, vault_over
from discreet.cli.present import Json, VaultPath, command, out, print_json, say, waiting
from discreet.cli.resumable import resumable
from discreet.cli.standing import publish_each
from discreet.errors import InvalidBudget, UnsupportedQuery

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.cube.plan import CubePlan
    from discreet.query.lattice import Cuboids, Label

app = typer.Typer(help="Data cubes: plan them, publish them, look at them.", no_args_is_help=True)

WhichCuboids = Annotated[str, typer.Option(help="all; at most so many dimensions: 3; or a list: 'sex,age;region'")]
OPTIMAL, FOR_MODELS = "optimal", ("model", "adaptive")
Planner = Annotated[str, typer.Option(help="optimal, bmax, bmaxg, pmost, pmostg, all, base, model or adaptive")]
Purpose = Annotated[str, typer.Option("--for", help="tables, or model: measure what a model is best fitted to")]
Goal = Annotated[str, typer.Option(help="what optimal makes small: max, mean, weighted, mean-std; or large: most")]
Dimensions = Annotated[str | None, typer.Option(help="the cube's dimensions: sex,age; every attribute by default")]
Weight = Annotated[
    list[str] | None, typer.Option(help="how much a cuboid matters: sex,age=3; its cells: sex=[1,3]; 1 by default")
]
Bound = Annotated[float | None, typer.Option(help="for most, pmost, pmostg: the variance up to which one is precise")]
Expected = Annotated[
    list[str] | None, typer.Option(help="the variance that you expect of a cuboid: sex,age=100; others=400")
]
Estimate = Annotated[Path | None, typer.Option(help="a cube published before: make relative errors small, by it")]
MeasureOf = Annotated[str, typer.Option("--measure", help="count, or sum(income): an attribute with declared bounds")]
Facts = Annotated[bool, typer.Option("--facts", help="agree exactly with the vault's facts that are cuboids")]
SPENDS = "what the cube spends: 1, 0.5, 1/3"
SPENDS_RHO = "in a vault with a budget of ρ: how much of it the cube may spend"
SPENDS_MU = "in a vault with a budget of μ, or of ε and δ: how much μ² the cube may spend"


@app.command()
@command
def plan(
    vault: Annotated[Path | None, typer.Argument(metavar="[VAULT]", help="the vault's directory")] = None,
    sizes: Annotated[str | None, typer.Option(help="instead of a vault, numbers of values: 9,16,7")] = None,
    neighbours: Annotated[str | None, typer.Option(help="with --sizes: add-remove or replace")] = None,
    epsilon: Annotated[str | None, typer.Option(help=SPENDS)] = None,
    rho: Annotated[str | None, typer.Option(help=SPENDS_RHO)] = None,
    mu_squared: Annotated[str | None, typer.Option(help=SPENDS_MU)] = None,
    cuboids: WhichCuboids = "all",
    planner: Planner = OPTIMAL,
    purpose: Purpose = "tables",
    objective: Goal = "max",
    dimensions: Dimensions = None,
    weight: Weight = None,
    bound: Bound = None,
    expected: Expected = None,
    estimate: Estimate = None,
    measure: MeasureOf = "count",
    facts: Facts = False,
    continuous: Annotated[bool, typer.Option("--continuous", help="state variances as 2λ², like the papers")] = False,
    plot: Annotated[Path | None, typer.Option(help="draw the lattice to this file")] = None,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Show which cuboids would be measured, and how exact each would be. Spends nothing."""
    from discreet.cli.show_cube import show_plan

    choice = _choice(cuboids, _planner(planner, purpose), objective, weight, bound, expected, by_index=vault is None)
    if (vault is None) == (sizes is None):
        raise UnsupportedQuery("name a vault, or give --sizes 9,16,7 --neighbours add-remove instead")
    if vault is None:
        if over is not None:
            raise UnsupportedQuery("--table is one of a vault: name the vault, not --sizes")
        if estimate is not None:
            raise UnsupportedQuery("--estimate takes a cube of a vault: name the vault, not --sizes")
        planned, affordable = _plan_for_sizes(str(sizes), neighbours, (epsilon, rho, mu_squared), choice), None
    else:
        cubes = vault_over(vault, over).cubes
        planned = cubes.plan(
            epsilon=epsilon,
            rho=rho,
            mu_squared=mu_squared,
            dimensions=_names(dimensions),
            estimate=estimate,
            measure=measure,
            facts="vault" if facts else None,
            **choice,
        )
        affordable = cubes.affordable(planned)
    if continuous:
        planned = replace(planned, noise=planned.noise.as_continuous())
    if plot is not None:
        from discreet.cube.draw import plot_plan

        plot_plan(planned, plot)
    if as_json:
        print_json({**planned.to_json(), **({} if affordable is None else affordable.to_json())})
        return
    show_plan(planned)
    if affordable is not None and not affordable.fits:
        say(f"The budget cannot pay for it: {affordable.words}", style="bold red")


@app.command()
@command
def publish(
    vault: VaultPath,
    folder: Annotated[Path, typer.Option("--out", help="a new folder; with --each also the one from before")],
    epsilon: Annotated[str | None, typer.Option(help=SPENDS)] = None,
    rho: Annotated[str | None, typer.Option(help=SPENDS_RHO)] = None,
    mu_squared: Annotated[str | None, typer.Option(help=SPENDS_MU)] = None,
    charge: Annotated[
        int | None, typer.Option(help="instead: the charge of a cube that is to be written again")
    ] = None,
    cuboids: WhichCuboids = "all",
    planner: Planner = OPTIMAL,
    purpose: Purpose = "tables",
    objective: Goal = "max",
    dimensions: Dimensions = None,
    weight: Weight = None,
    bound: Bound = None,
    expected: Expected = None,
    estimate: Annotated[str | None, typer.Option(help="modelled: fit a model, too; or a cube as for plan")] = None,
    measure: MeasureOf = "count",
    facts: Facts = False,
    consistent: Annotated[bool, typer.Option(help="make every roll-up fit, which also lowers the noise")] = True,
    norm: Annotated[str, typer.Option(help="l2, least squares; or by a linear program, where small: l1, linf")] = "l2",
    counts: Annotated[str, typer.Option(help="real, nonnegative or whole: what cells may be")] = "real",
    again: Annotated[
        bool, typer.Option("--again", help="measure anew what was published before, and pay again")
    ] = False,
    each: Annotated[str | None, typer.Option(help="a cube of every period of a date attribute: month")] = None,
    through: Annotated[str | None, typer.Option(help="with --each: the last period that has ended")] = None,
    first: Annotated[str | None, typer.Option(help="with --each: the first period; the domain's by default")] = None,
    last: Annotated[str | None, typer.Option(help="with --each: the last period; the domain's by default")] = None,
    over: OverTable = None,
    as_json: Json = False,
) -> None:
    """Publish a cube: measured in one release, charged once, written to a folder that needs no vault.

    With --each a standing one, of every period: what all of them cost is set aside once, and each is published when it
    has ended, by the same command with a later --through.
    """
    from discreet.cli.show_cube import show_cube
    from discreet.release.package import require_new_folder

    if each is not None:
        usual = (charge, again, consistent, norm, counts, facts, estimate)
        if usual != (None, False, True, "l2", "real", False, None):
            raise UnsupportedQuery("cubes of each period are made consistent, by least squares: leave such options out")
        own = _choice(cuboids, _planner(planner, purpose), objective, weight, bound, expected)
        own |= {"epsilon": epsilon, "rho": rho, "mu_squared": mu_squared, "measure": measure}
        opened = vault_over(vault, over)
        planned = opened.cubes.plan(dimensions=_names(dimensions), **own)
        publish_each(opened.cubes.standing, folder, planned, (each, first, last), through, as_json)
        return
    if (through, first, last) != (None, None, None):
        raise UnsupportedQuery("--through, --first and --last are periods: say of what with --each month")
    if charge is not None and (epsilon, rho, mu_squared) != (None, None, None):
        raise InvalidBudget("--charge goes on with what was paid for: say nothing of what the cube may spend beside it")
    choice = _choice(cuboids, _planner(planner, purpose), objective, weight, bound, expected)
    modelled = estimate == "modelled"
    require_new_folder(folder, "the cube")
    with waiting("planning", as_json) as told:
        opened = vault_over(vault, over) if charge is None or over is not None else vault_at(vault, charge)
        what: CubePlan | int = (
            opened.cubes.plan(
                epsilon=epsilon,
                rho=rho,
                mu_squared=mu_squared,
                dimensions=_names(dimensions),
                estimate=None if modelled else estimate,
                measure=measure,
                facts="vault" if facts else None,
                **choice,
            )
            if charge is None
            else charge
        )
        before = opened.ledger.head.seq
        more = " --estimate modelled" if modelled else ""
        with resumable(
            opened, lambda number: f"`discreet cube publish {vault} --charge {number} --out {folder}{more}`"
        ):
            shape: dict[str, Any] = {"norm": norm, "counts": counts}
            shape |= {"estimate": "modelled"} if modelled else {}
            cube = opened.cubes.publish(what, consistent=consistent, again=again, progress=told, **shape)
            cube.save(folder, told)
    repeated = cube.origin.charge <= before
    if as_json:
        print_json({**cube.describe(), "folder": str(folder), "repeated": repeated})
        return
    show_cube(cube)
    if repeated:
        words = f"It is what charge {cube.origin.charge} measured; nothing more was spent"
        out.print(f"[dim]{words}[/]" if charge else f"[dim]{words}: --again measures anew[/]")
    estimate = "" if cube.model is None else " --estimate modelled"
    out.print(f"[dim]Next:[/] discreet cube show {escape(f'{folder} {cube.names[0]}')}{estimate}", soft_wrap=True)


@app.command()
@command
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a published cube's folder", show_default=False)],
    dimensions: Annotated[list[str] | None, typer.Argument(help="the cuboid's dimensions; none: the total")] = None,
    estimate: Annotated[str, typer.Option(help="least-squares, or modelled: biased and sharper")] = "least-squares",
    confidence: Annotated[float, typer.Option(help="how surely the intervals hold")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="draw a cuboid of one or two dimensions to this file")] = None,
    as_json: Json = False,
) -> None:
    """Show a cuboid of a published cube, with intervals. Public, and free."""
    from discreet.cli.show_cube import show_cube, show_cuboid
    from discreet.cube.cube import Cube

    cube = Cube.load(folder)
    names = tuple(name for given in dimensions or () for name in given.split(",") if name)
    if estimate not in ("least-squares", "modelled"):
        raise UnsupportedQuery(f"an estimate is least-squares or modelled, not {estimate!r}")
    if estimate == "modelled":
        if plot is not None:
            raise UnsupportedQuery("a picture is of least squares; leave out --plot, or the estimate")
        _show_modelled(cube, names, confidence, as_json)
        return
    if any(name not in cube.names for name in names):
        _show_grouped(cube, names, confidence, as_json, plot)
        return
    cuboid, (low, high) = cube[names], cube.interval(*names, confidence=confidence)
    if plot is not None:
        from discreet.cube.draw import plot_cuboid

        plot_cuboid(cube, *names, path=plot, confidence=confidence)
    if as_json:
        print_json(
            {
                "dimensions": list(names),
                "labels": {name: cuboid.coords[name].values for name in names},
                str(cuboid.name): cuboid.values,
                "low": low.values,
                "high": high.values,
                "variance": cube.variance(*names),
                "halfwidth": cube.halfwidth(*names, confidence=confidence),
                "confidence": confidence,
                **cube.unusual(),
                "guarantee": cube.guarantee,
                "charge": cube.origin.charge,
                "receipt": str(cube.origin.receipt),
            }
        )
        return
    if not names:
        show_cube(cube)
        out.print()
    show_cuboid(cuboid, low, high, confidence)
    if cube.norm != "l2" and cube.counts == "real":
        say(f"{cube.norm_bound(confidence)}.")
    if cube.counts != "real" or cube.norm != "l2":
        say("Intervals are those of least squares; a cell may lie beyond its own.")
    say(cube.of_release)
    say(str(cube.guarantee))


def _show_grouped(cube: "Cube", names: tuple[str, ...], confidence: float, as_json: bool, plot: Path | None) -> None:
    """A cuboid by groups of hierarchies, each sum with its interval."""
    from discreet.cli.show_cube import show_cuboid

    found = cube.grouped(*names, confidence=confidence)
    if plot is not None:
        raise UnsupportedQuery("a picture is of dimensions by themselves; leave out --plot, or name no groups")
    if as_json:
        print_json(
            {
                "dimensions": list(names),
                "labels": {name: found.sums.coords[name].values for name in names},
                str(found.sums.name): found.sums.values,
                "low": found.low.values,
                "high": found.high.values,
                "variance": found.variance.values,
                "confidence": confidence,
                **cube.unusual(),
                "guarantee": cube.guarantee,
                "charge": cube.origin.charge,
                "receipt": str(cube.origin.receipt),
            }
        )
        return
    show_cuboid(found.sums, found.low, found.high, confidence)
    out.print(f"[dim]{cube.of_release}[/]", soft_wrap=True)
    out.print(f"[dim]{escape(str(cube.guarantee))}[/]", soft_wrap=True)


def _show_modelled(cube: "Cube", names: tuple[str, ...], confidence: float, as_json: bool) -> None:
    """A cuboid as the model has it, with model ranges."""
    from discreet.cli.show_cube import show_cuboid
    from discreet.cube.modelled import not_together

    with waiting("simulating releases of the model", as_json):
        modelled = cube.modelled
        cuboid, (low, high) = modelled[names], modelled.range(*names, confidence=confidence)
    together = modelled.is_measured(*names)
    if as_json:
        print_json(
            {
                "dimensions": list(names),
                "labels": {name: cuboid.coords[name].values for name in names},
                "modelled": cuboid.values,
                "low": low.values,
                "high": high.values,
                "confidence": confidence,
                "measured_together": together,
                **modelled.describe(),
                "guarantee": cube.guarantee,
                "receipt": str(cube.origin.receipt),
            }
        )
        return
    show_cuboid(cuboid.rename("modelled"), low, high, confidence)
    say("Modelled: biased, and sharper than least squares. The ranges are model ranges, from simulated releases.")
    if not together:
        say(not_together(names))
    say(str(cube.guarantee))


@app.command()
@command
def average(
    sums: Annotated[Path, typer.Argument(metavar="SUMS", help="a published cube of sums", show_default=False)],
    counts: Annotated[Path, typer.Argument(metavar="COUNTS", help="a published cube of counts", show_default=False)],
    dimensions: Annotated[list[str] | None, typer.Argument(help="the cuboid's dimensions; none: the total")] = None,
    confidence: Annotated[float, typer.Option(help="how surely the intervals hold")] = 0.95,
    as_json: Json = False,
) -> None:
    """Show averages, with intervals, from a cube of sums and a cube of counts. Public, and free."""
    from discreet.cli.show_cube import show_cuboid
    from discreet.cube.average import Averages
    from discreet.cube.cube import Cube

    averages, names = Averages(Cube.load(sums), Cube.load(counts)), tuple(dimensions or ())
    cuboid, (low, high) = averages[names], averages.interval(*names, confidence=confidence)
    if as_json:
        labels = {name: cuboid.coords[name].values for name in names}
        print_json(
            {
                "dimensions": list(names),
                "labels": labels,
                "average": cuboid.values,
                "low": low.values,
                "high": high.values,
                "confidence": confidence,
                "guarantees": [averages.sums.guarantee, averages.counts.guarantee],
            }
        )
        return
    show_cuboid(cuboid, low, high, confidence)
    for what, cube in (("sums", averages.sums), ("counts", averages.counts)):
        say(f"{what}: {cube.guarantee}")


@app.command()
@command
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a published cube's folder", show_default=False)],
    path: Annotated[Path, typer.Argument(metavar="FILE", help="NetCDF (.nc), Zarr (.zarr) or SDMX-CSV (.csv)")],
    cuboid: Annotated[list[str] | None, typer.Option(help="only this one: sex,age; may be repeated")] = None,
    as_json: Json = False,
) -> None:
    """Write a published cube for other tools."""
    from discreet.cube.cube import Cube
    from discreet.cube.export import require_format

    require_format(path)
    cube = Cube.load(folder)
    cube.export(path, None if cuboid is None else [_cuboid(text, by_index=False) for text in cuboid])
    written = len(cube.cuboids) if cuboid is None else len(cuboid)
    if as_json:
        print_json({"file": str(path), "cuboids": written})
        return
    out.print(f"{written:,} cuboids are in [bold]{escape(str(path))}[/]", soft_wrap=True)


def _choice(
    cuboids: str,
    planner: str,
    objective: str,
    weights: list[str] | None,
    bound: float | None,
    expected: list[str] | None,
    by_index: bool = False,
) -> dict[str, Any]:
    """What both ways to plan take, as they take it."""
    return {
        "cuboids": _which(cuboids, by_index),
        "planner": planner,
        "objective": objective,
        "weights": dict(_weighted(text, by_index) for text in weights or ()),
        "bound": bound,
        "expected": dict(map(partial(_expected, by_index=by_index), expected or ())),
    }


def _planner(planner: str, purpose: str) -> str:
    """The planner, which a purpose chooses where none is named."""
    if purpose not in ("tables", "model"):
        raise UnsupportedQuery(f"a plan is --for tables or --for model, not {purpose!r}")
    if purpose == "tables":
        return planner
    if planner not in (OPTIMAL, *FOR_MODELS):
        raise UnsupportedQuery(
            f"the planner {planner} is for tables, and --for model plans by {' or '.join(FOR_MODELS)}: leave out one"
        )
    return planner if planner in FOR_MODELS else "model"


def _which(text: str, by_index: bool) -> "Cuboids":
    if text == "all":
        return "all"
    if text.isdecimal():
        return int(text)
    return [_cuboid(part, by_index) for part in text.split(";") if part.strip()]


def _cuboid(text: str, by_index: bool) -> "tuple[Label, ...]":
    """Dimensions by comma; `total` is the cuboid without any."""
    if text.strip() == "total":
        return ()
    names = [name.strip() for name in text.split(",")]
    return tuple(int(name) if by_index and name.isdecimal() else name for name in names)


def _numbered(text: str, by_index: bool, what: str) -> "tuple[tuple[Label, ...], float]":
    """A cuboid with a number."""
    cuboid, _, number = text.rpartition("=")
    try:
        return _cuboid(cuboid, by_index), float(number)
    except ValueError:
        raise UnsupportedQuery(f"{what} looks like sex,age=3, not {text!r}") from None


def _weighted(text: str, by_index: bool) -> "tuple[tuple[Label, ...], float | list[Any]]":
    """A cuboid with a number, or with one for each of its cells: sex=[1,3]."""
    cuboid, _, cells = text.partition("=")
    if not cells.lstrip().startswith("["):
        return _numbered(text, by_index, "a weight")
    try:
        return _cuboid(cuboid, by_index), json.loads(cells)
    except (ValueError, RecursionError):
        raise UnsupportedQuery(f"weights of cells look like sex=[1,3], not {text!r}") from None


def _expected(text: str, by_index: bool) -> "tuple[tuple[Label, ...] | str, float]":
    from discreet.query.lattice import OTHERS

    cuboid, variance = _numbered(text, by_index, "an expected variance")
    return (OTHERS if cuboid == (OTHERS,) else cuboid), variance


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _plan_for_sizes(
    sizes: str, neighbours: str | None, amounts: tuple[str | None, str | None, str | None], choice: dict[str, Any]
) -> "CubePlan":
    from discreet.cube.noise_model import NoiseModel
    from discreet.cube.planning import plan_cube
    from discreet.ledger.budget import exact_amount
    from discreet.ledger.budget_choice import budget_from_json
    from discreet.query.lattice import Lattice

    try:
        lattice = Lattice(tuple(int(size) for size in sizes.split(",")))
    except ValueError:
        raise UnsupportedQuery("--sizes takes numbers of values by comma, as in 9,16,7") from None
    if neighbours not in ("add-remove", "replace"):
        raise InvalidBudget("--sizes needs --neighbours add-remove or --neighbours replace")
    given = {
        name: str(exact_amount(amount, symbol))
        for name, symbol, amount in zip(("epsilon", "rho", "mu_squared"), ("ε", "ρ", "μ²"), amounts, strict=True)
        if amount is not None
    }
    if len(given) != 1:
        raise InvalidBudget("say what the cube may spend: --epsilon 1, --rho 0.5, or --mu-squared 1")
    budget = budget_from_json({**given, "neighbours": neighbours, "max_rows": 1})
    return plan_cube(lattice, NoiseModel(budget), **choice)
