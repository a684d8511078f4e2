"""From a question to a plan: every planner by its name."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import get_args

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import Basis, CubePlan, Objective
from discreet.cube.planners.adaptive import plan_first_step
from discreet.cube.planners.all import share_among_all
from discreet.cube.planners.base import give_all_to_base
from discreet.cube.planners.bmax import bound_max
from discreet.cube.planners.bmaxg import bound_max_generally
from discreet.cube.planners.few import is_few, optimise_few
from discreet.cube.planners.for_model import all_of_order, order_for_model
from discreet.cube.planners.most import publish_most_precise
from discreet.cube.planners.optimal import optimise
from discreet.cube.planners.pmost import precision_bound, publish_most
from discreet.cube.planners.pmostg import publish_most_generally
from discreet.cube.planners.residuals import can_measure_residuals, optimise_either
from discreet.cube.planners.task import Planner, Shares, Task
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.query.lattice import MAX_DIMENSIONS, Cuboids, Label, Lattice, Weights

PLANNERS: Mapping[str, Planner] = {
    "all": share_among_all,
    "base": give_all_to_base,
    "bmax": bound_max,
    "bmaxg": bound_max_generally,
    "pmost": publish_most,
    "pmostg": publish_most_generally,
    "optimal": optimise,
    "model": all_of_order,
}
ADAPTIVE = "adaptive"
"""Chooses as it goes: what it plans is the first step."""


def plan_cube(
    lattice: Lattice,
    noise: NoiseModel,
    *,
    cuboids: Cuboids = "all",
    planner: str = "optimal",
    objective: Objective = "max",
    weights: Weights | None = None,
    bound: float | None = None,
    expected: Mapping[tuple[Label, ...] | str, float] | None = None,
) -> CubePlan:
    """Which cuboids to measure and how to share the budget among them. Public: it sees no data.

    `objective` steers optimal alone; the other planners have their own. `expected` has the variance that is expected of
    each cuboid: then it is the ratio of its variance to that which is made small. `bound` is for the objective most,
    PMost and PMostG: the variance, or the ratio, up to which a cuboid is precise. `weights` are cuboids', or their
    cells': of these the largest counts where the largest variance is made small, and else their sum. The planner
    model measures what a model is best fitted to; with it `cuboids` are of as many dimensions as are measured together.
    The planner adaptive plans single dimensions; what is measured then is chosen among `cuboids` when it is published.
    """
    if planner not in (*PLANNERS, ADAPTIVE):
        raise UnsupportedQuery(f"no planner {planner!r}; there are {', '.join((*PLANNERS, ADAPTIVE))}")
    if objective not in get_args(Objective):
        raise UnsupportedQuery(f"no objective {objective!r}; there are {', '.join(get_args(Objective))}")
    if objective == "weighted" and not weights:
        raise UnsupportedQuery("the objective weighted needs a weight for at least one cuboid")
    if bound is not None and not bound > 0:
        raise UnsupportedQuery("a bound on the variance must be above 0")
    counts_precise = planner in ("pmost", "pmostg") or (planner == "optimal" and objective == "most")
    sums_up = planner == "optimal" and objective != "max"
    if bound is not None and not counts_precise:
        raise UnsupportedQuery(f"planner {planner} takes no bound; pmost, pmostg and the objective most do")
    if planner == ADAPTIVE:
        if weights or expected:
            raise UnsupportedQuery("the planner adaptive takes no weights and no expected variances")
        return plan_first_step(lattice, noise, cuboids)
    if planner == "model" and cuboids == "all":
        cuboids = order_for_model(lattice, noise)
    published = lattice.choose(cuboids)
    task = Task(
        lattice=lattice,
        published=published,
        weights=lattice.weigh(published, weights, "sum" if counts_precise or sums_up else "max"),
        noise=noise,
        objective=objective,
        bound=bound,
        expected=lattice.expect(published, expected),
    )
    if counts_precise and bound is None:
        if is_few(task):
            raise UnsupportedQuery("say up to which variance a cuboid is precise: bound=1000, --bound 1000")
        task = replace(task, bound=precision_bound(task))
    wide = lattice.dimensions > MAX_DIMENSIONS
    basis, chosen = _chosen(planner, task)
    sources, shares = _exact_shares(chosen, noise, wide)
    return CubePlan(
        planner=planner,
        lattice=lattice,
        published=published,
        weights=task.weights,
        noise=noise,
        source_masks=sources,
        shares=shares,
        expected=task.expected if expected else (),
        bound=task.bound,
        basis=basis,
    )


def _chosen(name: str, task: Task) -> tuple[Basis, Shares]:
    """What a planner measures; optimal as it suits the objective, the noise and the number of dimensions."""
    if name != "optimal":
        return "cuboids", PLANNERS[name](task)
    if task.objective == "most":
        return "cuboids", publish_most_precise(task)
    if can_measure_residuals(task):
        return optimise_either(task)
    return "cuboids", (optimise_few if is_few(task) else optimise)(task)


def _exact_shares(shares: Shares, noise: NoiseModel, wide: bool) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """Sources, and shares of whole units of the ledger that never overspend; by mask, in a wide cube by share."""
    # Thousands of sources have a few different shares: sums go by share.
    times = Counter(shares.values())
    total = max(Fraction(1), sum((Fraction(share) * count for share, count in times.items()), Fraction()))
    rounded = {share: noise.exact_share(Fraction(share) / total) for share in times}
    if not all(rounded.values()):
        raise InvalidBudget(
            f"the budget is too small to be shared among {len(shares):,} sources; give more, or choose fewer cuboids"
        )
    exact = {mask: rounded[share] for mask, share in sorted(shares.items())}
    # What rounding left goes to the largest share, so that the whole budget is spent, to the last unit.
    largest = max(exact, key=lambda mask: exact[mask])
    left = noise.exact_share(Fraction(1)) - sum((rounded[share] * count for share, count in times.items()), Fraction())
    exact[largest] += left
    if wide:
        # Sources with one share lie together, so that a plan of thousands is short to write.
        exact = dict(sorted(exact.items(), key=lambda source: source[1]))
    return tuple(exact), tuple(exact.values())
