"""How far a cell of a cube may be off: what `noise/spread.py` says of the draws that it is made of.

A cell that is the sum of equal draws has a known law on the integers: its half-width is exact. A consistent cell is a
combination of very many draws; its half-width holds for every combination with that variance that is as even.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from discreet.cube.plan import CubePlan
from discreet.deadline import still_wanted
from discreet.domain.region import Box
from discreet.noise.spread import Draws, Spread, any_halfwidth, gathered, normal_halfwidth, rounded_down
from discreet.noise.spread import halfwidth as spread_halfwidth
from discreet.query.marginals import MOST_TABLES

NOTHING: Mapping[int, int] = {}


def halfwidth(
    plan: CubePlan, mask: int, consistent: bool, confidence: float, added_up: Mapping[int, int] = NOTHING
) -> float:
    """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability; or each
    sum of cells, of so many neighbouring codes of some of its axes as `added_up` says."""
    still_wanted()
    noise = plan.noise
    if consistent and any(not mask & ~known for known, _ in plan.known):
        return 0.0
    grain = noise.measure.grain
    if plan.basis == "cuboids" and (not consistent or (len(plan.shares) == 1 and not plan.known)):
        source = plan.best_source(mask)
        many = plan.lattice.magnification(mask, source) * prod(added_up.values())
        draws = Draws(1.0, noise.law_in_grains(plan.share_of(source)), many)
        return float(grain) * spread_halfwidth((draws,), Fraction(str(confidence)))
    draws_of_few = consistent_draws(plan, mask, added_up)
    if draws_of_few is not None:
        return float(grain) * spread_halfwidth(draws_of_few, Fraction(str(confidence)))
    variance = variance_of(plan, mask, consistent, added_up) / float(grain) ** 2
    least = noise.least_scale(plan.largest_share)
    if least is None:
        return float(grain) * normal_halfwidth(variance, confidence)
    return float(grain) * any_halfwidth(variance, least, confidence, spread_evenly(plan, mask, added_up))


def variance_of(plan: CubePlan, mask: int, consistent: bool, added_up: Mapping[int, int] = NOTHING) -> float:
    """The variance of a cell of a cuboid, or of a sum of some."""
    if consistent and added_up:
        return plan.marginals.variance(_cell(plan, mask, added_up))
    one = plan.variance(*plan.lattice.names_of(mask), consistent=consistent)
    return one * prod(added_up.values())


def spread_evenly(plan: CubePlan, mask: int, added_up: Mapping[int, int] = NOTHING) -> int:
    """No draw has more than one in so many parts of the variance of a consistent cell, or of a sum of some."""
    if len(plan.source_masks) + len(plan.known) > MOST_TABLES:
        return 1
    cell = _cell(plan, mask, added_up)
    return rounded_down(plan.marginals.variance(cell) / plan.marginals.largest_draw(cell))


def consistent_draws(plan: CubePlan, mask: int, added_up: Mapping[int, int] = NOTHING) -> Spread | None:
    """The draws in a consistent cell, in grains; None where more than a few have different weights."""
    if len(plan.source_masks) > MOST_TABLES:
        return None
    weights = plan.marginals.weights(_cell(plan, mask, added_up))
    if weights is None:
        return None
    masks = list(plan.cell_shares)
    laws = [plan.noise.law_in_grains(plan.cell_shares[one]) for one in masks]
    return gathered(Draws(weight, laws[source[1]], count) for weight, source, count in weights)


def _cell(plan: CubePlan, mask: int, added_up: Mapping[int, int]) -> Box:
    """A cell of a cuboid, or the first of so many of its codes together: where it lies makes no difference."""
    sizes = plan.lattice.sizes
    many = [added_up.get(axis, 1) if mask >> axis & 1 else size for axis, size in enumerate(sizes)]
    return Box((0,) * len(sizes), tuple(codes - 1 for codes in many))


@dataclass(frozen=True)
class CellError:
    """What is known of the noise in a cell: its variance, the least scale of a Laplace draw in it, in grains, its
    grain, the draws themselves where they are of one kind, and else how evenly its variance lies on them."""

    variance: float
    least_scale: Fraction | None
    grain: Fraction
    draws: Spread | None
    evenly: int = 1


def cell_error(plan: CubePlan, mask: int, consistent: bool) -> CellError:
    noise, grain = plan.noise, plan.noise.measure.grain
    if consistent and any(not mask & ~known for known, _ in plan.known):
        return CellError(0.0, None, grain, ())
    variance = plan.variance(*plan.lattice.names_of(mask), consistent=consistent)
    least = noise.least_scale(plan.largest_share)
    if consistent and (len(plan.shares) > 1 or plan.known):
        return CellError(variance, least, grain, None, 1 if least is None else spread_evenly(plan, mask))
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
        largest = max(total.variance / total.evenly, times**2 * count.variance / count.evenly)
        return any_halfwidth(variance, min(scales), confidence, rounded_down(variance / largest) if largest else 1)
    steps = float(total.grain) + abs(times) * float(count.grain)
    return normal_halfwidth(variance, confidence) - 0.5 + steps / 2
