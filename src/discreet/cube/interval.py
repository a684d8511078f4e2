"""How far a cell of a cube may be off: what `noise/spread.py` says of the draws that it is made of.

A cell that is the sum of equal draws has a known law on the integers: its half-width is exact. A consistent cell is a
combination of very many draws; its half-width holds for every combination with that variance.
"""

import math
from fractions import Fraction
from statistics import NormalDist

from discreet.cube.noise_model import LaplaceNoise
from discreet.cube.plan import CubePlan
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws, any_halfwidth, require_confidence
from discreet.noise.spread import halfwidth as spread_halfwidth


def halfwidth(plan: CubePlan, mask: int, consistent: bool, confidence: float) -> float:
    """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability."""
    noise = plan.noise
    if consistent and any(not mask & ~known for known, _ in plan.known):
        return 0.0
    grain = noise.measure.grain
    variance = plan.variance(*plan.lattice.names_of(mask), consistent=consistent) / float(grain) ** 2
    if not isinstance(noise, LaplaceNoise):
        return float(grain) * normal_halfwidth(variance, confidence)
    if not consistent or (len(plan.shares) == 1 and not plan.known):
        source = plan.best_source(mask)
        scale = noise.scale(plan.share_of(source)) / grain
        return float(grain) * sum_halfwidth(scale, plan.lattice.magnification(mask, source), confidence)
    return float(grain) * any_halfwidth(variance, noise.scale(plan.largest_share) / grain, confidence)


def normal_halfwidth(variance: float, confidence: float) -> float:
    """The width for a combination of Gaussian draws. At σ ≥ 1 a discrete one is normal to 10^-6, but for its steps:
    half a step is added."""
    return NormalDist().inv_cdf(0.5 + require_confidence(confidence) / 2) * math.sqrt(variance) + 0.5


def sum_halfwidth(scale: Fraction, draws: int, confidence: float) -> float:
    """A width within which a sum of so many discrete Laplace draws stays with this probability: the least one, where
    its law is short enough to be written out."""
    return spread_halfwidth((Draws(1.0, Laplace(scale), draws),), Fraction(str(confidence)))
