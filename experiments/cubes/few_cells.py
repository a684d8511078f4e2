"""Mean absolute errors of cuboids of few cells, by many releases of what they depend on alone.

A release tells one error of the total, and ten thousand of a large cuboid: over a few releases the largest error of a
cuboid is mostly that of the luckless among the small ones. But what a small cuboid C is told by a source B is B's sum
over the dimensions that C has not, and a sum of n draws of discrete Laplace noise is a difference of two negative
binomial numbers; of MANY draws and more, hardly anything but normal. So C's errors are drawn on C's own lattice,
without B's cells. Nothing is lost: the estimate of least squares is made of the components of C's subsets, and a
source's component of one is the same whether it is taken of B or of its sum. Sources that have the same dimensions of C
are one, each with the weight of its precision.
"""

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import reconcile
from discreet.cube.plan import CubePlan
from discreet.noise.law import Laplace, Noise
from discreet.query.lattice import Lattice

FEW = 400
"""Cells; of more of them a few releases tell enough."""
ERRORS = 10_000
"""As many single errors are drawn, at least: their mean has a standard deviation of about 0.7%."""
MANY = 50
"""Draws, whose sum has a mean absolute value within 0.3% of the normal law's."""


def errors_of_few(plan: CubePlan, mask: int, seed: int) -> tuple[float, float]:
    """A cuboid's mean absolute error, rolled up from its best source and consistent."""
    rng = np.random.default_rng((seed, mask))
    lattice = Lattice((*plan.lattice.shape(mask), max(2, math.ceil(ERRORS / plan.lattice.cells(mask)))))
    best = plan.best_source(mask)
    rough = summed_noise(plan.noise.law(plan.share_of(best)), plan.lattice.cells(best & ~mask), lattice.sizes, rng)
    sums, precisions = told_by_others(plan, best, mask, lattice, rng)
    precision = 1 / (plan.lattice.cells(best & ~mask) * plan.source_variances[best])
    sums[lattice.base] = sums.get(lattice.base, 0) + precision * rough
    precisions[lattice.base] += precision
    sources = [(kept, noise / precisions[kept]) for kept, noise in sums.items()]
    # The releases are one more dimension, which every source has: least squares takes each of them by itself.
    cube = reconcile(lattice, sources, {kept: 1 / precision for kept, precision in precisions.items()})
    return float(np.abs(rough).mean()), float(np.abs(lattice.cuboid_of(cube, lattice.base)).mean())


def told_by_others(
    plan: CubePlan, best: int, mask: int, lattice: Lattice, rng: np.random.Generator
) -> tuple[dict[int, NDArray[np.float64]], dict[int, float]]:
    """What all sources but one tell, by the cuboid's dimensions that they have: noise × precision, and precision."""
    axes = plan.lattice.axes(mask)
    alike: Counter[tuple[int, int, Fraction]] = Counter()
    for source, share in zip(plan.source_masks, plan.shares, strict=True):
        kept = sum(1 << place for place, axis in enumerate(axes) if source >> axis & 1) | 1 << len(axes)
        if source != best:
            alike[kept, plan.lattice.cells(source & ~mask), share] += 1
    variances = {share: plan.noise.variance(share) for share in set(plan.shares)}
    sums: dict[int, NDArray[np.float64]] = {}
    precisions: dict[int, float] = defaultdict(float)
    smooth: dict[int, float] = defaultdict(float)
    for (kept, times, share), sources in alike.items():
        precision = 1 / (times * variances[share])
        precisions[kept] += sources * precision
        if sources * times >= MANY:
            smooth[kept] += sources * precision
            continue
        noise = summed_noise(plan.noise.law(share), sources * times, lattice.shape(kept), rng)
        sums[kept] = sums.get(kept, 0) + precision * noise
    for kept, precision in smooth.items():
        noise = rng.normal(0, math.sqrt(precision), lattice.shape(kept))
        sums[kept] = sums.get(kept, 0) + noise
    return sums, precisions


def summed_noise(law: Noise, times: int, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Sums of so many independent draws each."""
    if not isinstance(law, Laplace):
        raise NotImplementedError("the seed's experiments have Laplace noise")
    success = -math.expm1(-1 / float(law.scale))
    above, below = (rng.negative_binomial(times, success, shape) for _ in range(2))
    return (above - below).astype(np.float64)
