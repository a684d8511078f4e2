"""The lattice of a plan's cuboids, level by level: which are measured, with how much noise, and how exact each is.

Names stand whole, whatever their number: a level is a list that wraps, the most exact first and in the strongest shade.
"""

from collections import defaultdict
from dataclasses import dataclass
from math import log

from discreet.cube.interval import halfwidth
from discreet.cube.plan import CubePlan
from discreet.server.console.heat import SHADES

MOST_ON_A_LEVEL = 40
"""The most exact cuboids of each level are drawn; the table has more."""
MOST_LISTED = 300
CONFIDENCE = 0.95


@dataclass(frozen=True)
class DrawnCuboid:
    """A cuboid in the drawing: how exact, and its share of the budget where it was measured."""

    mask: int
    names: tuple[str, ...]
    cells: int
    halfwidth: float
    share: float | None
    shade: int

    @property
    def words(self) -> str:
        return " × ".join(self.names) or "total"


@dataclass(frozen=True)
class Level:
    """The cuboids of so many dimensions, the most exact first; of many, those alone."""

    words: str
    nodes: tuple[DrawnCuboid, ...]
    hidden: int


@dataclass(frozen=True)
class Drawing:
    """The lattice from the total down."""

    nodes: tuple[DrawnCuboid, ...]
    levels: tuple[Level, ...]


def draw_lattice(plan: CubePlan, consistent: bool = True) -> Drawing:
    """A plan's published cuboids, and its sources."""
    measured = {mask: float(share) for mask, share in zip(plan.source_masks, plan.shares, strict=True)}
    masks = sorted({*plan.published, *plan.source_masks})
    widths = {mask: halfwidth(plan, mask, consistent, CONFIDENCE) for mask in masks}
    low, high = min(widths.values()), max(widths.values())
    nodes = tuple(
        DrawnCuboid(
            mask,
            tuple(map(str, plan.lattice.names_of(mask))),
            plan.lattice.cells(mask),
            widths[mask],
            measured.get(mask),
            _shade(widths[mask], low, high),
        )
        for mask in masks
    )
    by_level: dict[int, list[DrawnCuboid]] = defaultdict(list)
    for node in sorted(nodes, key=lambda node: (node.halfwidth, node.mask)):
        by_level[len(node.names)].append(node)
    levels = (
        Level(_level_words(depth), tuple(level[:MOST_ON_A_LEVEL]), max(len(level) - MOST_ON_A_LEVEL, 0))
        for depth, level in sorted(by_level.items())
    )
    return Drawing(nodes, tuple(levels))


def _shade(width: float, low: float, high: float) -> int:
    """Shades by the logarithm of the error; the stronger, the more exact."""
    if high <= low or low <= 0:
        return SHADES // 2
    return SHADES - 1 - min(int((SHADES - 1) * log(width / low) / log(high / low)), SHADES - 2)


def _level_words(level: int) -> str:
    return "total" if level == 0 else "1 dimension" if level == 1 else f"{level} dimensions"
