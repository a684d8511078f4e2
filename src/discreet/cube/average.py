"""Averages from two published cubes, one of sums and one of counts. Public, and free. [cubes, Section 3.4.2]"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.cube.cube import Cube
from discreet.cube.interval import difference_halfwidth
from discreet.errors import UnsupportedQuery
from discreet.noise.fieller import bounds, table
from discreet.query.lattice import Label

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Averages:
    """`averages["sex"]` is the mean of the summed attribute, by sex: noisy sum / noisy count.

    A ratio of noisy numbers is biased where the count is small, so look at the interval: it holds the true average of
    a cell that is not empty with at least its confidence.
    """

    sums: Cube
    counts: Cube

    def __post_init__(self) -> None:
        summed, counted = (cube.plan.noise.measure for cube in (self.sums, self.counts))
        if summed.of is None or counted.of is not None:
            raise UnsupportedQuery("an average takes a cube of sums and a cube of counts, in this order")
        if not summed.complete:
            raise UnsupportedQuery(
                f"rows may have no {summed.of} (null or other, in the domain) and are counted all the same: a sum over "
                f"a count is no average then; ask for AVG({summed.of}) in SQL, which leaves them out"
            )
        if self.sums.origin.table != self.counts.origin.table:
            raise UnsupportedQuery("an average takes two cubes of one table")

    def __getitem__(self, names: Label | tuple[Label, ...]) -> "xr.DataArray":
        """Averages of a cuboid; missing where the noisy count is not above 0."""
        sums, counts = self.sums[names], self.counts[names]
        averages = (sums / counts.where(counts > 0)).rename("average")
        averages.attrs = {"guarantee": str(self.sums.guarantee), "count_guarantee": str(self.counts.guarantee)}
        return averages

    def interval(self, *names: Label, confidence: float = 0.95) -> "tuple[xr.DataArray, xr.DataArray]":
        """Bounds for the true average of each cell that is not empty, never beyond ± the largest declared |value|; all
        of it where the cell may be empty. See `noise/fieller.py`."""
        total, count = self.sums.least_squares[names], self.counts.least_squares[names]
        own, other = self.sums.error(*names), self.counts.error(*names)
        largest = float(self.sums.plan.noise.measure.move)

        def width(average: float) -> float:
            return difference_halfwidth(own, other, average, confidence)

        nodes, widths = table(-largest, largest, width, float(own.grain))
        surely = count.values - self.counts.halfwidth(*names, confidence=confidence)
        low, high = bounds(total.values, count.values, surely, nodes, widths)
        return total.copy(data=low), total.copy(data=high)
