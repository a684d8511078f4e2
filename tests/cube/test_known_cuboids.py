"""Exact cuboids among the sources of a cube, against least squares with constraints, solved densely."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.cube.consistency import reconcile
from discreet.cube.interval import halfwidth
from discreet.cube.known_cuboids import impose, known_cuboids, known_tables
from discreet.cube.known_variances import variances_given
from discreet.cube.kronecker import consistent_variances
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.cube.record import plan_of, plan_record
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import Induced, PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice
from tests.facts.small import count, cuboid, small_domain

LATTICE = Lattice((2, 3, 2))


def roll_up_matrix(lattice, mask):
    """The matrix that takes base cells to a cuboid's cells."""
    cells = list(itertools.product(*map(range, lattice.sizes)))
    axes = lattice.axes(mask)
    own = list(itertools.product(*(range(lattice.sizes[axis]) for axis in axes)))
    return np.array([[float(tuple(cell[axis] for axis in axes) == code) for cell in cells] for code in own])


def constrained(lattice, variances, known):
    """From noisy sources (stacked) and exact tables (stacked) to the best base cells, by the KKT system."""
    rows = np.concatenate([roll_up_matrix(lattice, mask) for mask in variances])
    weights = np.concatenate([np.full(lattice.cells(mask), 1 / variance) for mask, variance in variances.items()])
    exact = np.concatenate([roll_up_matrix(lattice, mask) for mask in known])
    points, bound = rows.shape[1], len(exact)
    system = np.block([[rows.T * weights @ rows, exact.T], [exact, np.zeros((bound, bound))]])
    inverse = np.linalg.pinv(system)[:points]
    return inverse[:, :points] @ (rows.T * weights), inverse[:, points:], weights


@pytest.mark.parametrize("known", [[0b001], [0], [0b001, 0b010], [0b011, 0b110], [0b001, 0b010, 0b100]])
def test_it_is_least_squares_with_constraints(known):
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 50, LATTICE.sizes)
    variances = {0b111: 3.0, 0b011: 1.0, 0b100: 0.5}
    tables = {
        mask: truth.sum(axis=tuple(axis for axis in range(3) if not mask >> axis & 1)) for mask in (*variances, *known)
    }
    noisy = {mask: tables[mask] + rng.normal(0, 2, tables[mask].shape) for mask in variances}
    cube = reconcile(LATTICE, noisy.items(), variances)
    cuboids = {mask: LATTICE.cuboid_of(cube, mask) for mask in range(8)}
    impose(LATTICE, cuboids, {mask: tables[mask] for mask in known})

    from_noisy, from_exact, weights = constrained(LATTICE, variances, known)
    base = from_noisy @ np.concatenate([table.ravel() for table in noisy.values()])
    base += from_exact @ np.concatenate([tables[mask].ravel() for mask in known])
    left = variances_given(
        LATTICE,
        known,
        range(8),
        lambda masks: consistent_variances(
            np.array([1 / variances[mask] if mask in variances else 0.0 for mask in range(8)]), LATTICE.sizes
        )[list(masks)],
    )
    for mask in range(8):
        rows = roll_up_matrix(LATTICE, mask)
        assert cuboids[mask].ravel() == pytest.approx(rows @ base, abs=1e-9)
        spread = rows @ from_noisy
        assert np.full(len(rows), left[mask]) == pytest.approx((spread**2 / weights).sum(axis=1), abs=1e-9)
    for mask in known:
        assert np.array_equal(cuboids[mask], tables[mask])  # exactly, to the last bit


def test_a_plan_states_what_facts_leave_of_its_variances():
    domain = small_domain(2, 7, 5)
    lattice = Lattice((2, 7, 5), ("a", "b", "c"))
    facts = [cuboid(domain, "a"), cuboid(domain, "b")]
    plain = plan_cube(
        lattice, NoiseModel(PureBudget(Fraction(1), "add-remove", induced=Induced(4, 8))), planner="bmaxg"
    )
    known = tuple(known_cuboids(facts, lattice, domain).items())
    plan = replace(plain, known=known)
    assert plan.noise.factor == 4
    assert [mask for mask, _ in known] == [0b001, 0b010]
    assert plan.variance("a") == plan.variance("b") == plan.variance() == 0
    assert 0 < plan.variance("a", "b") < plain.variance("a", "b")
    assert plan.variance("c") < plain.variance("c")  # the total is known
    assert plan.variance("a", consistent=False) == plain.variance("a", consistent=False)
    assert halfwidth(plan, 0b001, True, 0.95) == 0
    assert 0 < halfwidth(plan, 0b111, True, 0.95) <= halfwidth(plain, 0b111, True, 0.95)
    assert plan.to_json()["known"] == [["a"], ["b"]]
    assert plan_of(plan_record(plan)) == plan
    assert "known" not in plan_record(plain)


@pytest.mark.parametrize(
    ("noise", "factor"),
    [
        (NoiseModel(PureBudget(Fraction(1), "add-remove", induced=Induced(4, 8))), 4),
        (NoiseModel(PureBudget(Fraction(1), "replace", 3, induced=Induced(4, 8))), 12),
        (NoiseModel(PureBudget(Fraction(1), "replace", induced=Induced())), 2),
        (NoiseModel(ConcentratedBudget(Fraction(1), "add-remove", induced=Induced(4, 8))), 16),
        (NoiseModel(ConcentratedBudget(Fraction(1), "replace", induced=Induced(4, 8))), 8),
    ],
)
def test_shares_of_the_budget_are_what_the_facts_leave(noise, factor):
    # cubes, Theorem 5.3.1: Σ 1/λ_C = ε/S_Q
    assert noise.factor == factor
    if noise.power == 2:
        assert 1 / noise.law(Fraction(1)).scale == pytest.approx(1 / factor)


def test_facts_are_rolled_up_to_the_dimensions_of_the_cube():
    domain = small_domain(2, 3, 4)
    lattice = Lattice((4, 2), ("c", "a"))
    values = np.arange(6).reshape(2, 3)
    total = count(domain, (1, [(0, 1), (0, 2), (0, 3)]), value=15)
    facts = [replace(cuboid(domain, "ab", values), number=3), replace(total, number=5)]
    assert known_cuboids(facts, lattice, domain) == {0b10: 3}
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), planner="base")
    plan = replace(plan, known=((0b10, 3),))
    assert known_tables(plan, facts)[0b10].tolist() == [3, 12]
    with pytest.raises(UnsupportedQuery, match="counts on fact 3"):
        known_tables(plan, [])
    assert known_cuboids(facts[1:], lattice, domain) == {0: 5}
    assert known_tables(replace(plan, known=((0, 5),)), facts)[0] == 15
