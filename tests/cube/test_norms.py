"""L1 and L∞ consistency: against programs written out by hand, and the theorems' bounds against simulated noise."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from discreet.cube.norms import MOST_CELLS, nearest, norm_bound
from discreet.errors import UnsupportedQuery
from discreet.noise.bits import SeededBits
from discreet.noise.law import Gaussian, Laplace
from discreet.query.lattice import Lattice

LATTICE = Lattice((2, 3))
TOTAL, ROWS, COLUMNS, BASE = 0, 1, 2, 3


def rolled_up(base: np.ndarray, mask: int) -> np.ndarray:
    return base.sum(axis=tuple(axis for axis in range(base.ndim) if not mask >> axis & 1))


def distances(base: np.ndarray, sources: list, laws: dict) -> np.ndarray:
    return np.concatenate(
        [(np.abs(rolled_up(base, mask) - table) / float(laws[mask].scale)).ravel() for mask, table in sources]
    )


def test_sources_that_fit_are_their_own_nearest_cube() -> None:
    base = np.arange(6.0).reshape(2, 3)
    sources = [(mask, rolled_up(base, mask)) for mask in (TOTAL, ROWS, BASE)]
    laws = {mask: Laplace(Fraction(3)) for mask in (TOTAL, ROWS, BASE)}
    for norm in ("l1", "linf"):
        np.testing.assert_allclose(nearest(LATTICE, sources, laws, norm), base, atol=1e-6)


@pytest.mark.parametrize(("norm", "of"), [("l1", np.sum), ("linf", np.max)])
def test_a_total_against_one_row_of_parts_is_the_optimum_of_one_variable(norm: str, of) -> None:
    """With two parts of 10 and 20 and a total of 36, only their sum moves: the best is found by a search over it."""
    lattice = Lattice((2,))
    sources, laws = [(0, np.array(36)), (1, np.array([10, 20]))], {0: Laplace(Fraction(2)), 1: Laplace(Fraction(1))}
    found = nearest(lattice, sources, laws, norm)

    def apart(shift: float) -> float:
        return float(of(distances(np.array([10 + shift / 2, 20 + shift / 2]), sources, laws)))

    best = minimize_scalar(apart, bounds=(0, 6), method="bounded", options={"xatol": 1e-9})
    assert of(distances(found, sources, laws)) == pytest.approx(best.fun, abs=1e-6)


@pytest.mark.parametrize(("norm", "of"), [("l1", np.sum), ("linf", np.max)])
def test_no_nearby_cube_is_nearer(norm: str, of) -> None:
    rng = np.random.default_rng(3)
    base = rng.poisson(30, (2, 3))
    laws = {
        TOTAL: Laplace(Fraction(5)),
        ROWS: Laplace(Fraction(2)),
        COLUMNS: Laplace(Fraction(9)),
        BASE: Laplace(Fraction(4)),
    }
    bits = SeededBits(5)
    sources = [
        (mask, rolled_up(base, mask) + law.sample(LATTICE.cells(mask), bits).reshape(LATTICE.shape(mask)))
        for mask, law in laws.items()
    ]
    found = nearest(LATTICE, sources, laws, norm)
    least = of(distances(found, sources, laws))
    assert least <= of(distances(base, sources, laws))
    for step in rng.normal(scale=1.0, size=(500, 2, 3)):
        assert of(distances(found + step, sources, laws)) >= least - 1e-6


@pytest.mark.parametrize("law", [Laplace(Fraction(1, 2)), Laplace(Fraction(20)), Gaussian(Fraction(49))])
@pytest.mark.parametrize(("norm", "of"), [("l1", np.sum), ("linf", np.max)])
def test_the_bounds_of_theorems_4_2_1_and_4_2_2_hold_as_often_as_they_say(law, norm: str, of) -> None:
    """The noise alone, doubled, is what the theorems bound: in 2,000 draws it may exceed the bound 5% of the time."""
    lattice, laws = Lattice((4, 5)), {1: law, 3: law}
    cells = sum(lattice.cells(mask) for mask in laws)
    bound = norm_bound(lattice, laws, norm, 0.95)
    noise = np.abs(law.sample(2000 * cells, SeededBits(7)).reshape(2000, cells)) / float(law.scale)
    assert np.mean(2 * of(noise, axis=1) > bound.within) <= 0.05


def test_the_bound_for_l1_grows_with_the_cells_and_that_for_linf_with_their_logarithm() -> None:
    # cubes, Theorem 4.2.1: 2·log(|E|/δ) scales for each cell; here with half a unit for discreteness.
    lattice, laws = Lattice((10, 10)), {3: Laplace(Fraction(50))}
    assert norm_bound(lattice, laws, "linf", 0.9).within == pytest.approx(2 * math.log(100 / 0.1) + 1 / 50)
    # cubes, Theorem 4.2.2: (η/2)/e^(η/2 − 1) to the power |E| is δ.
    within = norm_bound(lattice, laws, "l1", 0.9).within
    eta = (within - 2 * 100 * 0.5 / 50) / 100
    assert (eta / 2 / math.exp(eta / 2 - 1)) ** 100 == pytest.approx(0.1)
    assert norm_bound(lattice, laws, "l1", 0.9).rounding == pytest.approx(100 * 0.5 / 50)


def test_a_program_beyond_the_limit_is_refused_with_what_to_do() -> None:
    wide = Lattice((40, 30, 20))
    assert wide.cells(wide.base) > MOST_CELLS
    with pytest.raises(UnsupportedQuery, match=r"48,000 cells, and at most 20,000 are solved; publish by l"):
        nearest(wide, [], {7: Laplace(Fraction(1))}, "l1")


def test_a_norm_that_is_none_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="l2, l1 or linf"):
        nearest(LATTICE, [], {3: Laplace(Fraction(1))}, "l3")


def test_every_source_cell_is_the_sum_of_its_base_cells() -> None:
    base = np.random.default_rng(1).integers(0, 9, (2, 3)).astype(float)
    for mask in range(4):
        laws = {mask: Laplace(Fraction(1)), BASE: Laplace(Fraction(1))}
        found = nearest(LATTICE, [(m, rolled_up(base, m)) for m in laws], laws, "l1")
        for cell in product(range(2), range(3)):
            assert found[cell] == pytest.approx(base[cell], abs=1e-6)
