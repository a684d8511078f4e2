"""From a cube plan to a cube: measured in one release, charged once and evenly everywhere."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.cube.cube import Cube
from discreet.cube.cuboids import cuboids_of
from discreet.cube.dimension import Dimension, Origin
from discreet.cube.known_cuboids import Known, impose
from discreet.cube.memory import require_memory
from discreet.cube.plan import CubePlan
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.progress import Progress, silent
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Residual, Sum
from discreet.release.release import Release


def measurements_of(plan: CubePlan, domain: Domain) -> Plan:
    """One count (or sum, or residual) of everything, or of the plan's periods, by each source's dimensions, with its
    exact noise."""
    noise, where = plan.noise, domain.everything if plan.within is None else plan.within.region(domain)
    if noise.continuous:
        raise UnsupportedQuery("a plan with continuous variances is for comparison only; plan again without")
    laws = {share: noise.law(share) for share in set(plan.cell_shares.values())}

    def query(mask: int) -> Count | Residual | Sum:
        by, of = tuple(map(str, plan.lattice.names_of(mask))), noise.measure.of
        if of is not None:
            return Sum(of, where, by)
        return (Residual if plan.basis == "residuals" else Count)(where, by)

    return Plan(tuple(Measurement(query(mask), laws[share]) for mask, share in plan.cell_shares.items()))


def publish_cube(
    plan: CubePlan,
    domain: Domain,
    measure: Callable[[Plan], Release],
    *,
    consistent: bool = True,
    known: Known | None = None,
    progress: Progress = silent,
) -> Cube:
    """Measure a plan's sources and compute its cuboids. Refused before anything is spent where memory is too small."""
    require_memory(plan)
    require_consistent(plan, consistent)
    progress("measuring", 0.0)
    release = measure(measurements_of(plan, domain))
    progress("measuring", 1.0)
    return cube_of(plan, domain, release, consistent=consistent, known=known, progress=progress)


def require_consistent(plan: CubePlan, consistent: bool) -> None:
    """Raise UnsupportedQuery where a cube can only be a consistent one: it agrees with facts, or is of residuals."""
    if plan.known and not consistent:
        raise UnsupportedQuery("a cube that agrees with facts is a consistent one; plan without facts, or leave it so")
    if plan.basis == "residuals" and not consistent:
        raise UnsupportedQuery(
            "this plan measures residuals, and a cube of them is a consistent one; leave it so, or choose planner all"
        )


def cube_of(
    plan: CubePlan,
    domain: Domain,
    release: Release,
    *,
    consistent: bool = True,
    known: Known | None = None,
    progress: Progress = silent,
) -> Cube:
    """The cube of a release that measured a plan's sources: made from public numbers alone, and free.

    `known` has the exact tables of the cuboids that the plan knows.
    """
    require_consistent(plan, consistent)
    lattice = plan.lattice
    sources = {mask: noisy.units for mask, noisy in zip(plan.source_masks, release.answers, strict=True)}
    what = "making consistent" if consistent else "rolling up"

    def one_by_one() -> Iterator[tuple[int, NDArray[np.int64]]]:
        for place, source in enumerate(sources.items()):
            progress(what, place / (len(sources) + 1))
            yield source

    cuboids = cuboids_of(plan, one_by_one(), consistent)
    impose(lattice, cuboids, known or {})
    for cells in cuboids.values():
        cells.flags.writeable = False
    progress(what, 1.0)
    return Cube(
        plan=plan,
        dimensions=tuple(Dimension.of(domain[str(name)]) for name in lattice.names),
        sources=sources,
        cuboids=cuboids,
        consistent=consistent,
        origin=Origin(_table(plan, domain), release.guarantee, release.charge, release.receipt),
    )


def _table(plan: CubePlan, domain: Domain) -> str:
    """What the rows of a cube are called."""
    return domain.name if plan.within is None else f"{domain.name} {plan.within.label}"
