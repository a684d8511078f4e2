"""From a cube plan to a cube: measured in one release, charged once and evenly everywhere."""

from collections.abc import Callable

import numpy as np

from discreet.cube.consistency import reconcile, roll_up_best
from discreet.cube.cube import Cube, Dimension, Origin
from discreet.cube.memory import require_memory
from discreet.cube.plan import CubePlan
from discreet.cube.record import laplace_of
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.release.release import Release

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of it is."""


def silent(_what: str, _done: float) -> None:
    """No progress is shown."""


def measurements_of(plan: CubePlan, domain: Domain) -> Plan:
    """One count of everything by each source's dimensions, with its exact scale: Σ 1/scale is at most ε/(k·S)."""
    noise = laplace_of(plan)
    if noise.continuous:
        raise UnsupportedQuery("a plan with continuous variances is for comparison only; plan again without")
    return Plan(
        tuple(
            Measurement(Count(domain.everything, tuple(map(str, names))), noise.scale(share))
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
