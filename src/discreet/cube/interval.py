"""How far a cell of a cube may be off: what `noise/spread.py` says of the draws that it is made of.

A cell that is the sum of equal draws has a known law on the integers: its half-width is exact. A consistent cell is a
combination of very many draws; its half-width holds for every combination with that variance.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from discreet.cube.plan import CubePlan
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws, Spread, any_halfwidth, require_confidence
from discreet.noise.spread import halfwidth as spread_halfwidth


def halfwidth(plan: CubePlan, mask: int, consistent: bool, confidence: float) -> float:
    """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability."""
    noise = plan.noise
    if consistent and any(not mask & ~known for known, _ in plan.known):
        return 0.0
    grain = noise.measure.grain
    variance = plan.variance(*plan.lattice.names_of(mask), consistent=consistent) / float(grain) ** 2
    least = noise.least_scale(plan.largest_share)
    if least is None:
        return float(grain) * normal_halfwidth(variance, confidence)
    if not consistent or (len(plan.shares) == 1 and not plan.known):
        source = plan.best_source(mask)
        draws = Draws(1.0, noise.law_in_grains(plan.share_of(source)), plan.lattice.magnification(mask, source))
        return float(grain) * spread_halfwidth((draws,), Fraction(str(confidence)))
    return float(grain) * any_halfwidth(variance, least, confidence)


@dataclass(frozen=True)
class CellError:
    """What is known of the noise in a cell: its variance, the least scale of a Laplace draw in it, in grains, its
    grain, and the draws themselves where they are of one kind."""

    variance: float
    least_scale: Fraction | None
    grain: Fraction
    draws: Spread | None


def cell_error(plan: CubePlan, mask: int, consistent: bool) -> CellError:
    noise, grain = plan.noise, plan.noise.measure.grain
    if consistent and any(not mask & ~known for known, _ in plan.known):
        return CellError(0.0, None, grain, ())
    variance = plan.variance(*plan.lattice.names_of(mask), consistent=consistent)
    least = noise.least_scale(plan.largest_share)
    if consistent and (len(plan.shares) > 1 or plan.known):
        return CellError(variance, least, grain, None)
    source = plan.best_source(mask)
    law = noise.law_in_grains(plan.share_of(source))
    return CellError(variance, least, grain, (Draws(float(grain), law, plan.lattice.magnification(mask, source)),))


def difference_halfwidth(total: CellError, count: CellError, times: float, confidence: float) -> float:
    """How far off a cell less `times` an independent one may be, of a cube with the same kind of noise."""
    if total.draws is not None and count.draws is not None:
        draws = (*total.draws, *(draw.times(times) for draw in count.draws))
        return spread_halfwidth(draws, Fraction(str(confidence)))
    variance = total.variance + times**2 * count.variance
    scales = [scale for scale in (total.least_scale, count.least_scale) if scale is not None]
    if scales:
        return any_halfwidth(variance, min(scales), confidence)
    steps = float(total.grain) + abs(times) * float(count.grain)
    return normal_halfwidth(variance, confidence) - 0.5 + steps / 2


def normal_halfwidth(variance: float, confidence: float) -> float:
    """The width for a combination of Gaussian draws. At σ ≥ 1 a discrete one is normal to 10^-6, but for its steps:
    half a step is added."""
    return NormalDist().inv_cdf(0.5 + require_confidence(confidence) / 2) * math.sqrt(variance) + 0.5


def sum_halfwidth(scale: Fraction, draws: int, confidence: float) -> float:
    """A width within which a sum of so many discrete Laplace draws stays with this probability: the least one, where
    its law is short enough to be written out."""
    return spread_halfwidth((Draws(1.0, Laplace(scale), draws),), Fraction(str(confidence)))
