"""The lattice of a plan's cuboids, drawn: which are measured, with how much noise, and how exact each is."""

from collections import defaultdict
from dataclasses import dataclass
from math import log

from discreet.cube.interval import halfwidth
from discreet.cube.plan import CubePlan
from discreet.server.console.heat import SHADES

MOST_DRAWN = 128
"""A lattice of more cuboids is a table only."""
MOST_NAMED = 32
MOST_LISTED = 300
WIDTH, LEVEL = 900.0, 104.0
LETTER = 6.2
"""A letter is about this wide, in the drawing's units."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class DrawnCuboid:
    """A cuboid in the drawing: where it is, how exact, and its share of the budget where it was measured."""

    mask: int
    names: tuple[str, ...]
    cells: int
    halfwidth: float
    share: float | None
    shade: int
    x: float
    y: float
    radius: float
    room: float
    """How wide its caption may be."""

    @property
    def words(self) -> str:
        return " × ".join(self.names) or "total"

    @property
    def caption(self) -> str:
        """Its dimensions, each as long as there is room."""
        fitting = int(self.room / LETTER)
        shorter = ("·".join(name[:letters] for name in self.names) for letters in (9, 7, 5, 4, 3, 2, 1))
        return next((text for text in (self.words, *shorter) if len(text) <= fitting), "")


@dataclass(frozen=True)
class Drawing:
    """The lattice from the total down. `joins` lead from a cuboid to those with one dimension more."""

    nodes: tuple[DrawnCuboid, ...]
    joins: tuple[tuple[float, float, float, float], ...]
    levels: tuple[tuple[float, str], ...]
    height: float
    named: bool
    width = WIDTH


def draw_lattice(plan: CubePlan, consistent: bool = True) -> Drawing:
    """A plan's published cuboids, and its sources, level by level."""
    measured = {mask: float(share) for mask, share in zip(plan.source_masks, plan.shares, strict=True)}
    masks = sorted({*plan.published, *plan.source_masks})
    widths = {mask: halfwidth(plan, mask, consistent, CONFIDENCE) for mask in masks}
    low, high = min(widths.values()), max(widths.values())
    by_level: dict[int, list[int]] = defaultdict(list)
    for mask in masks:
        by_level[mask.bit_count()].append(mask)
    deepest = sorted(by_level)
    crowd = max(map(len, by_level.values()))
    radius = min(15.0, 0.36 * WIDTH / crowd)
    places = {
        mask: ((position + 0.5) * WIDTH / len(level), 40 + deepest.index(depth) * LEVEL)
        for depth, level in by_level.items()
        for position, mask in enumerate(level)
    }
    nodes = tuple(
        DrawnCuboid(
            mask,
            tuple(map(str, plan.lattice.names_of(mask))),
            plan.lattice.cells(mask),
            widths[mask],
            measured.get(mask),
            _shade(widths[mask], low, high),
            *places[mask],
            radius,
            WIDTH / len(by_level[mask.bit_count()]),
        )
        for mask in masks
    )
    joins = tuple(
        (*places[mask], *places[mask ^ bit])
        for mask in masks
        for bit in (1 << axis for axis in plan.lattice.axes(mask))
        if mask ^ bit in places
    )
    levels = tuple((40 + place * LEVEL, _level_words(depth)) for place, depth in enumerate(deepest))
    return Drawing(nodes, joins, levels, 40 + len(deepest) * LEVEL, crowd <= MOST_NAMED // 4 + 2)


def _shade(width: float, low: float, high: float) -> int:
    """Shades by the logarithm of the error; the darker, the less exact."""
    if high <= low or low <= 0:
        return SHADES // 2
    return 1 + min(int((SHADES - 1) * log(width / low) / log(high / low)), SHADES - 2)


def _level_words(level: int) -> str:
    return "total" if level == 0 else "1 dimension" if level == 1 else f"{level} dimensions"
