"""Adult through a model at (1, 10^-9): how far off it is, by the number of attributes and by the size of a cell.

Measured are all triples of its eight attributes. Beside it is least squares of the same release, clipped at 0, where it
was published; and, as a yardstick, another sample of as many people from the table itself.
"""

import os
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bench.modelled import Cuboids, rolled_up
from discreet.cube.cube import Cube
from discreet.ledger.conversion import rho_for
from discreet.vault.vault import Vault
from experiments.cubes.plot import panels
from experiments.page import Page
from experiments.tables.tables import Coded, adult

PAGE = Page("models")
MEASURED = 3
FINER = 5
"""Cuboids of so many attributes stand for those that were never measured."""
SIZES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Cells are taken together from each of these numbers of people to the next."""
Floats = NDArray[np.float64]


def draw() -> None:
    table = adult()
    cube = published(table)
    truth = rolled_up(table.base_cuboid().astype(float), cube.plan.lattice)
    assert cube.model is not None
    modelled = cube.model.cuboids(range(1 << len(table.sizes)))
    least = {mask: np.maximum(cube.cells_of(mask), 0) for mask in truth if mask.bit_count() <= MEASURED}
    again = rolled_up(resampled(truth[max(truth)]), cube.plan.lattice)
    orders = range(1, len(table.sizes) + 1)
    by_order = {
        "modelled": [variation(modelled, truth, order) for order in orders],
        "least squares, clipped": [variation(least, truth, order) for order in orders if order <= MEASURED],
        "another sample": [variation(again, truth, order) for order in orders],
    }
    by_size = {
        f"modelled, {MEASURED} attributes (measured)": errors(modelled, truth, MEASURED),
        f"least squares, {MEASURED} attributes": errors(least, truth, MEASURED),
        f"modelled, {FINER} attributes (never measured)": errors(modelled, truth, FINER),
    }
    PAGE.write_rows(
        "by_attributes",
        ("attributes", *by_order),
        [
            (order, *(f"{own[order - 1]:.4f}" if order <= len(own) else "" for own in by_order.values()))
            for order in orders
        ],
    )
    PAGE.write_rows(
        "by_size",
        ("people in a cell, at least", *by_size),
        [(size, *(f"{own[place]:.2f}" for own in by_size.values())) for place, size in enumerate(SIZES)],
    )
    PAGE.save(picture(by_order, by_size), "error")


def published(table: Coded) -> Cube:
    """All triples of a table's attributes at (1, 10^-9), and their model."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "vault", table=rows, domain=domain, rho=1, neighbours="add-remove")
        plan = vault.cubes.plan(rho=rho_for(Fraction(1), Fraction(1, 10**9)), planner="model")
        return vault.cubes.publish(plan, estimate="modelled")


def resampled(base: Floats) -> Floats:
    """As many people drawn from the table itself."""
    people = np.random.default_rng(1).multinomial(round(base.sum()), (base / base.sum()).reshape(-1))
    return people.reshape(base.shape).astype(np.float64)


def variation(made: Cuboids, truth: Cuboids, order: int) -> float:
    """The mean total variation distance over the cuboids of so many attributes."""
    masks = [mask for mask in truth if mask.bit_count() == order]
    shares = [(made[mask] / made[mask].sum(), truth[mask] / truth[mask].sum()) for mask in masks]
    return float(np.mean([np.abs(one - other).sum() / 2 for one, other in shares]))


def errors(made: Cuboids, truth: Cuboids, order: int) -> Floats:
    """The mean absolute error of a cell, by how many people are in it."""
    masks = [mask for mask in truth if mask.bit_count() == order]
    people = np.concatenate([truth[mask].reshape(-1) for mask in masks])
    off = np.concatenate([np.abs(made[mask] - truth[mask]).reshape(-1) for mask in masks])
    place = np.searchsorted(SIZES, people, side="right") - 1
    cells = np.bincount(place, minlength=len(SIZES))
    return np.asarray(np.bincount(place, off, minlength=len(SIZES)) / np.maximum(cells, 1))


def picture(by_order: dict[str, list[float]], by_size: dict[str, Floats]) -> Figure:
    figure, (orders, sizes) = panels(2)
    styles = ("o-", "s--", "^:")
    for (name, own), style in zip(by_order.items(), styles, strict=True):
        orders.plot(range(1, len(own) + 1), own, style, color="#111111", label=name, markersize=4)
    orders.set(xlabel="attributes", ylabel="mean total variation distance", yscale="log")
    places = [max(size, 0.5) for size in SIZES]
    for (name, own), style in zip(by_size.items(), styles, strict=True):
        sizes.plot(places, own, style, color="#111111", label=name, markersize=4)
    sizes.plot(places[1:], places[1:], "-", color="#b5482a", linewidth=0.8, label="as large as the cell itself")
    sizes.set(xlabel="people in a cell (left: none)", ylabel="mean absolute error, people", xscale="log", yscale="log")
    sizes.set_ylim(bottom=0.05)
    for panel in (orders, sizes):
        panel.yaxis.set_major_formatter("{x:,.6g}")
        panel.legend(frameon=False, fontsize=8, loc="upper left")
    sizes.xaxis.set_major_formatter("{x:,.6g}")
    title = "Adult, 8 attributes, 32,561 people, (1, 10⁻⁹): all triples measured"
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure
