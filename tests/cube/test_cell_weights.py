"""Weights of single cells [cubes, Section 3.1], against brute force over every cell and every choice of sources."""

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.query.lattice import Lattice

LAPLACE = NoiseModel(PureBudget(Fraction(1), "add-remove"), continuous=True)


def cells_of(lattice, mask):
    return list(itertools.product(*(range(lattice.sizes[axis]) for axis in lattice.axes(mask))))


def variance_of_cell(lattice, mask, cell, shares):
    """A cell's variance from its best source, by counting the noisy cells that are added up in it."""
    axes, best = lattice.axes(mask), math.inf
    for source, share in shares.items():
        if mask & ~source:
            continue
        places = [lattice.axes(source).index(axis) for axis in axes]
        many = sum(tuple(fine[place] for place in places) == cell for fine in cells_of(lattice, source))
        best = min(best, many * 2 / float(share) ** 2)
    return best


def largest_weighted(lattice, weights, shares):
    return max(
        float(np.broadcast_to(weights.get(mask, 1), lattice.shape(mask))[cell])
        * variance_of_cell(lattice, mask, cell, shares)
        for mask in range(lattice.base + 1)
        for cell in cells_of(lattice, mask)
    )


def random_case(draw):
    lattice = Lattice(tuple(draw.randint(2, 4) for _ in range(2)))
    weights = {
        mask: np.array([draw.choice([0.1, 1, 2, 9]) for _ in cells_of(lattice, mask)]).reshape(lattice.shape(mask))
        for mask in draw.sample(range(lattice.base + 1), 2)
    }
    return lattice, weights


@pytest.mark.parametrize("planner", ["bmax", "bmaxg"])
def test_weights_of_cells_make_the_largest_weighted_variance_of_a_cell_small(planner):
    draw = random.Random(31)
    for _ in range(60):
        lattice, weights = random_case(draw)
        named = {lattice.names_of(mask): cells for mask, cells in weights.items()}
        plan = plan_cube(lattice, LAPLACE, planner=planner, weights=named)
        reached = largest_weighted(lattice, weights, dict(zip(plan.source_masks, plan.shares, strict=True)))
        assert reached == pytest.approx(plan.score("max", consistent=False), rel=1e-6)
        masks = range(lattice.base + 1)
        least = min(
            largest_weighted(lattice, weights, dict.fromkeys(sources, 1 / many))
            for many in range(1, len(masks) + 1)
            for sources in itertools.combinations(masks, many)
        )
        assert reached <= (math.log(len(masks)) + 1) ** 2 * least * (1 + 1e-6)  # cubes, Theorem 3.2.6


def test_the_weight_of_precise_cells_is_their_sum():
    lattice = Lattice((2, 3), ("sex", "age"))
    cells = {("sex",): [1, 3], ("age",): 0.5}
    assert lattice.weigh((0, 1, 2), cells) == (1, 3, 0.5)
    assert lattice.weigh((0, 1, 2), cells, "sum") == (1, 4, 0.5)
    for planner, weight in (("pmost", 4), ("bmax", 3), ("optimal", 3)):
        assert plan_cube(lattice, LAPLACE, cuboids=1, planner=planner, weights=cells).weights[1] == weight
    most = plan_cube(lattice, LAPLACE, cuboids=1, objective="most", bound=100, weights=cells)
    assert most.weights[1] == 4


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2, 3], r"have the shape \(3,\); its cells have \(2,\)"),
        ([1, 0], "above 0 and finite"),
        ([1, math.inf], "above 0 and finite"),
        ([1, [2]], "a number, or an array"),
        (["a", "b"], "a number, or an array"),
    ],
)
def test_weights_that_fit_no_cells_are_refused(cells, message):
    with pytest.raises(UnsupportedQuery, match=message):
        Lattice((2, 3), ("sex", "age")).weigh((0, 1, 2, 3), {("sex",): cells})


def test_the_command_line_takes_them():
    words = [
        "cube",
        "plan",
        "--sizes",
        "2,3",
        "--epsilon",
        "1",
        "--neighbours",
        "add-remove",
        "--planner",
        "bmax",
        "--json",
    ]
    run = CliRunner().invoke
    by_cell = json.loads(run(app, [*words, "--weight", "0=[1,9]"]).output)
    assert by_cell == json.loads(run(app, [*words, "--weight", "0=9"]).output)
    assert "look like sex=[1,3]" in run(app, [*words, "--weight", "0=[1,"]).output
