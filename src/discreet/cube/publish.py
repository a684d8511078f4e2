"""From a cube plan to a cube: measured in one release, charged once and evenly everywhere."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import Source, reconcile, roll_up
from discreet.cube.cube import Cube, Dimension, Origin
from discreet.cube.memory import require_memory
from discreet.cube.plan import CubePlan
from discreet.cube.progress import Progress, silent
from discreet.cube.wide import is_wide, reconcile_few, roll_up_few
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.release.release import Release


def measurements_of(plan: CubePlan, domain: Domain) -> Plan:
    """One count of everything by each source's dimensions, with its exact noise."""
    noise = plan.noise
    if noise.continuous:
        raise UnsupportedQuery("a plan with continuous variances is for comparison only; plan again without")
    return Plan(
        tuple(
            Measurement(Count(domain.everything, tuple(map(str, names))), noise.law(share))
            for names, share in zip(plan.sources, plan.shares, strict=True)
        )
    )


def publish_cube(
    plan: CubePlan,
    domain: Domain,
    measure: Callable[[Plan], Release],
    *,
    consistent: bool = True,
    progress: Progress = silent,
) -> Cube:
    """Measure a plan's sources and compute its cuboids. Refused before anything is spent where memory is too small."""
    require_memory(plan)
    progress("measuring", 0.0)
    release = measure(measurements_of(plan, domain))
    progress("measuring", 1.0)
    return cube_of(plan, domain, release, consistent=consistent, progress=progress)


def cube_of(
    plan: CubePlan, domain: Domain, release: Release, *, consistent: bool = True, progress: Progress = silent
) -> Cube:
    """The cube of a release that measured a plan's sources: made from public numbers alone, and free."""
    lattice = plan.lattice
    sources = {mask: noisy.units for mask, noisy in zip(plan.source_masks, release.answers, strict=True)}
    what = "making consistent" if consistent else "rolling up"

    def one_by_one() -> Iterator[tuple[int, NDArray[np.int64]]]:
        for place, source in enumerate(sources.items()):
            progress(what, place / (len(sources) + 1))
            yield source

    cuboids = _cuboids(plan, one_by_one(), consistent)
    progress(what, 1.0)
    return Cube(
        plan=plan,
        dimensions=tuple(Dimension.of(domain[str(name)]) for name in lattice.names),
        sources=sources,
        cuboids=cuboids,
        consistent=consistent,
        origin=Origin(domain.name, release.guarantee, release.charge, release.receipt),
    )


def _cuboids(plan: CubePlan, sources: Iterable[Source], consistent: bool) -> dict[int, NDArray[np.float64]]:
    """The published cuboids, read-only: views of the one array, or each by itself where that would be too large."""
    lattice, variances = plan.lattice, plan.source_variances
    if is_wide(plan):
        few = reconcile_few(lattice, sources, variances, plan.published) if consistent else roll_up_few(plan, sources)
        for cells in few.values():
            cells.flags.writeable = False
        return few
    array = (reconcile if consistent else roll_up)(lattice, sources, variances)
    array.flags.writeable = False
    return {mask: lattice.cuboid_of(array, mask) for mask in plan.published}
