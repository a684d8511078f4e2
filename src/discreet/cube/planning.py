"""From a question to a plan: every planner by its name."""

from collections.abc import Mapping
from fractions import Fraction
from typing import get_args

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan, Objective
from discreet.cube.planners.all import share_among_all
from discreet.cube.planners.base import give_all_to_base
from discreet.cube.planners.bmax import bound_max
from discreet.cube.planners.bmaxg import bound_max_generally
from discreet.cube.planners.optimal import optimise
from discreet.cube.planners.pmost import publish_most
from discreet.cube.planners.pmostg import publish_most_generally
from discreet.cube.planners.task import Planner, Shares, Task
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.query.lattice import Cuboids, Label, Lattice

PLANNERS: Mapping[str, Planner] = {
    "all": share_among_all,
    "base": give_all_to_base,
    "bmax": bound_max,
    "bmaxg": bound_max_generally,
    "pmost": publish_most,
    "pmostg": publish_most_generally,
    "optimal": optimise,
}


def plan_cube(
    lattice: Lattice,
    noise: NoiseModel,
    *,
    cuboids: Cuboids = "all",
    planner: str = "optimal",
    objective: Objective = "max",
    weights: Mapping[tuple[Label, ...], float] | None = None,
    bound: float | None = None,
) -> CubePlan:
    """Which cuboids to measure and how to share the budget among them. Public: it sees no data.

    `objective` steers optimal alone; the other planners have their own. `bound` is PMost's and PMostG's: the variance
    up to which a cuboid is precise.
    """
    if planner not in PLANNERS:
        raise UnsupportedQuery(f"no planner {planner!r}; there are {', '.join(PLANNERS)}")
    if objective not in get_args(Objective):
        raise UnsupportedQuery(f"no objective {objective!r}; there are {', '.join(get_args(Objective))}")
    if objective == "weighted" and not weights:
        raise UnsupportedQuery("the objective weighted needs a weight for at least one cuboid")
    if bound is not None and not bound > 0:
        raise UnsupportedQuery("a bound on the variance must be above 0")
    if bound is not None and planner not in ("pmost", "pmostg"):
        raise UnsupportedQuery(f"planner {planner} takes no bound; pmost and pmostg do")
    published = lattice.choose(cuboids)
    task = Task(lattice, published, lattice.weigh(published, weights), noise, objective, bound)
    sources, shares = _exact_shares(PLANNERS[planner](task), noise)
    return CubePlan(planner, lattice, published, task.weights, noise, sources, shares)


def _exact_shares(shares: Shares, noise: NoiseModel) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """Sources by mask, and shares of whole units of the ledger that never overspend."""
    total = max(Fraction(1), sum((Fraction(share) for share in shares.values()), Fraction()))
    exact = {mask: noise.exact_share(Fraction(share) / total) for mask, share in sorted(shares.items())}
    if not all(exact.values()):
        raise InvalidBudget(f"the budget is too small to be shared among {len(exact)} sources; give more, or plan base")
    # What rounding left goes to the largest share, so that the whole budget is spent, to the last unit.
    largest = max(exact, key=lambda mask: exact[mask])
    exact[largest] += noise.exact_share(Fraction(1)) - sum(exact.values())
    return tuple(exact), tuple(exact.values())
