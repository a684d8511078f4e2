"""The parts of the experiments on facts that figures rest on."""

from fractions import Fraction

import numpy as np

from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice
from experiments.cubes.techniques import BMAXG, exact_cube
from experiments.facts.fig6_10 import READINGS, outcome_of


def test_more_is_drawn_where_facts_leave_neighbours_far_apart_and_known_cuboids_are_exact():
    sizes = (3, 4)
    lattice, exact = Lattice(sizes), exact_cube(np.full(sizes, 10))
    plan = BMAXG.plan(sizes, Fraction(1))
    spread = [outcome_of(plan, lattice, exact, (0b01, 0b10), SeededBits(run)) for run in range(200)]
    assert {outcome.people for outcome in spread} == {6}  # S_Q of both margins of 3 × 4: a cycle through 3 rows
    alone = [outcome_of(plan, lattice, exact, (0,), SeededBits(run)) for run in range(200)]
    assert {outcome.people for outcome in alone} == {2}
    private, public, imposed = READINGS
    means = [np.mean([outcome.errors[private] for outcome in found], axis=0) for found in (spread, alone)]
    np.testing.assert_allclose(means[0] / means[1], 3, rtol=0.25)
    known = [place for place, mask in enumerate(plan.published) if mask in (0b01, 0b10, 0)]
    for outcome in spread:
        assert not outcome.errors[public][known].any()
        assert np.abs(outcome.errors[imposed][known]).max() < 1e-9
