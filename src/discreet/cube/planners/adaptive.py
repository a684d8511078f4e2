"""The first step of a cube whose cuboids are chosen as one goes: every dimension by itself, with a small share.

What comes after is chosen among public candidates, cuboids of two dimensions and more, round by round, by how far a
model of all that was measured so far is from the truth: see `cube/adaptive.py`.
"""

from fractions import Fraction

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planners.for_model import order_for_model
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.model.size import is_mixture, most_dimensions
from discreet.query.lattice import Cuboids, Lattice

FIRST = Fraction(1, 10)
"""The share of the budget with which single dimensions are measured, before anything is chosen."""


def plan_first_step(lattice: Lattice, noise: NoiseModel, cuboids: Cuboids) -> CubePlan:
    """The plan of a run of rounds. `cuboids` are what is chosen among: all of at most so many dimensions, or a list."""
    if noise.measure.of is not None:
        raise UnsupportedQuery("what to measure is chosen by a model of counts; sums have none: choose another planner")
    if is_mixture(lattice):
        raise UnsupportedQuery(
            f"the planner adaptive fits a model after every round, and one of so many cells takes too long for that: "
            f"choose at most {most_dimensions(lattice)} dimensions, or the planner model"
        )
    chosen = order_for_model(lattice, noise) if cuboids == "all" else cuboids
    candidates = tuple(mask for mask in lattice.choose(chosen) if mask.bit_count() > 1)
    if not candidates:
        raise UnsupportedQuery("there is nothing to choose among: name two dimensions or more, and cuboids of them")
    singles = tuple(1 << axis for axis in range(lattice.dimensions))
    share = noise.exact_share(FIRST / len(singles))
    if not share:
        raise InvalidBudget("the budget is too small to be shared among rounds; give more, or choose fewer dimensions")
    published = (0, *singles)
    return CubePlan(
        planner="adaptive",
        lattice=lattice,
        published=published,
        weights=(1.0,) * len(published),
        noise=noise,
        source_masks=singles,
        shares=(share,) * len(singles),
        candidates=candidates,
    )
