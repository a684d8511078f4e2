"""The interval of values that a quantile may have, from what is public about how people spread over them.

A draw of the exponential mechanism alone tells nothing of it: where two halves of the people are far apart, every value
between is as good a median. Released counts by the attribute do. Let F(v) count the people up to v, n all of them, and
level·n be the rank asked for. A value v is the quantile only if F(v) ≥ level·n ≥ F(v − 1), and the noise in
F(v) − level·n is a sum of draws with known weights, 1 − level for those up to v and −level for those beyond. Each of
the two inequalities is given up where it fails by more than that noise's half-width. For the true quantile that
happens with half of the chance that is left to go wrong, on either side: so it stays with at least the confidence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answer.draws import Laws
from discreet.answer.index import Answers
from discreet.answer.past import CountBlock
from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.noise.law import Noise
from discreet.noise.spread import Draws, halfwidth
from discreet.query.cells import Labelling
from discreet.query.query import Quantile, group_name
from discreet.sql.where_text import where_text

MOST_SAID = 120
"""A WHERE that is longer than this, in characters, is not said again."""
LOOKED_UP = 32
"""Half-widths are made for so many values; between two of them the larger one is taken."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Released counts of a region by code, each with so many draws of one law."""

    counts: NDArray[np.int64]
    draws: NDArray[np.int64]
    law: Noise


def histogram_of(region: Region, axis: int, cells: int, past: Answers, laws: Laws) -> Histogram | None:
    """The sharpest released counts of a region by the first `cells` codes of an axis; None where there are none."""
    found = [histogram for block in past.groups.blocks for histogram in _from(block, region, axis, cells, laws)]
    return min(found, key=lambda one: float(one.draws.sum()) * one.law.variance, default=None)


def labelled_histogram(
    region: Region, labelling: Labelling, past: Answers, laws: Laws, domain: Domain
) -> Histogram | None:
    """Released counts of a region by the values of an expression; None where they are not of one release."""
    cells = labelling.attribute.cells
    counts, draws = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    sources = set()
    for code, part in enumerate(labelling.sections(region, domain)[:cells]):
        found = past.measured(part) if part else None
        if found is not None:
            counts[code], draws[code] = int(found.value), 1
            sources.add(found.source)
        elif part:
            return None
    return Histogram(counts, draws, laws(sources.pop())) if len(sources) == 1 else None


def _from(block: CountBlock, region: Region, axis: int, cells: int, laws: Laws) -> Iterator[Histogram]:
    if axis not in block.by or not all(block.aligned(box) for box in region.boxes):
        return
    counts, draws = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    for box in region.boxes:
        inside = tuple(slice(box.low[a] - block.where.low[a], box.high[a] - block.where.low[a] + 1) for a in block.by)
        groups = np.moveaxis(block.values[inside], block.by.index(axis), 0)[: max(cells - box.low[axis], 0)]
        at = slice(box.low[axis], box.low[axis] + len(groups))
        counts[at] += groups.reshape(len(groups), -1).sum(axis=1)
        draws[at] += groups[:1].size
    yield Histogram(counts, draws, laws(block.source))


def codes_within(level: Fraction, histogram: Histogram, confidence: Fraction) -> tuple[int, int]:
    """The first and the last code that may hold the quantile; all of them where none seems to."""
    share = float(level)
    upto = np.cumsum(histogram.counts)
    above = upto - share * upto[-1]
    width = _halfwidths(share, np.cumsum(histogram.draws), histogram.law, confidence)
    reached = above + width >= 0
    not_passed = np.append(True, (above - width <= 0)[:-1])
    allowed = np.flatnonzero(reached & not_passed & (histogram.draws > 0))
    if not len(allowed):
        allowed = np.flatnonzero(histogram.draws)
    return int(allowed[0]), int(allowed[-1])


def counts_by_value(query: Quantile, domain: Domain) -> str:
    """The counts that tell a quantile, as SQL: of the same rows, by its groups and its attribute."""
    said = where_text(query.where, domain)
    if isinstance(query.of, str):
        axis, attribute = domain.axis(query.of), domain[query.of]
        # A quantile is of rows with a value; counts by the values may have a line for the others as well.
        last, size = attribute.cells - 1, attribute.size
        boxes = [
            Box(box.low, (*box.high[:axis], size - 1, *box.high[axis + 1 :])) if box.high[axis] == last else box
            for box in query.where.boxes
        ]
        said = where_text(Region(tuple(boxes)), domain)
    rows = "" if said == "TRUE" else f" WHERE {said}" if len(said) <= MOST_SAID else " with the same WHERE"
    return f"COUNT(*){rows} GROUP BY {', '.join(map(group_name, (*query.by, query.of)))}"


def code_at(level: Fraction, histogram: Histogram) -> int:
    """The code at which released counts reach a quantile's rank, as far as their noise lets one tell."""
    upto = np.cumsum(histogram.counts)
    reached = np.flatnonzero((upto >= float(level) * upto[-1]) & (histogram.draws > 0))
    return int(reached[0]) if len(reached) else int(np.flatnonzero(histogram.draws)[-1])


def _halfwidths(share: float, upto: NDArray[np.int64], law: Noise, confidence: Fraction) -> NDArray[np.float64]:
    """Of the noise at each code. It changes little from code to code, and turns once at most."""
    nodes = np.unique(np.linspace(0, len(upto) - 1, LOOKED_UP + 1).round().astype(np.int64))
    total = int(upto[-1])
    widths = np.array(
        [
            halfwidth([Draws(1 - share, law, below), Draws(share, law, total - below)], confidence)
            for below in upto[nodes].tolist()
        ]
    )
    after = np.searchsorted(nodes, np.arange(len(upto)))
    return np.asarray(np.maximum(widths[after], widths[np.maximum(after - 1, 0)]))


def values_of(of: Attribute | Labelling, first: int, last: int) -> tuple[float | None, float | None]:
    """The least value of one code and the greatest of another; None where a bin is open."""
    if isinstance(of, Labelling):
        least, greatest = (float(str(of.values[code])) for code in (first, last))
        return least, greatest
    attribute = of
    if isinstance(attribute, Integer):
        return attribute.low + first, attribute.low + last
    edges = attribute.edges if isinstance(attribute, Bins) else ()
    low, high = (None if edge is None else float(edge) for edge in (edges[first], edges[last + 1]))
    return low, high
