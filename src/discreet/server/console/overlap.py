"""What was asked and what was answered, drawn over each other: a strip for each attribute, and a map of two of them."""

from dataclasses import dataclass

from discreet.domain.attribute import Attribute
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.sql.where_text import where_text

MAP_SIDE = 300.0
"""The larger side of the map, in the drawing's units."""


@dataclass(frozen=True)
class Span:
    """A run of codes, as a share of its axis, and in which of the two regions it lies."""

    start: float
    width: float
    part: str
    """"both", "asked" or "answered"."""


@dataclass(frozen=True)
class Strip:
    """One attribute: where the two regions lie on it."""

    name: str
    spans: tuple[Span, ...]
    first: str
    last: str


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
    part: str


@dataclass(frozen=True)
class Overlap:
    """The picture, and the same in words."""

    strips: tuple[Strip, ...]
    across: str
    down: str
    width: float
    height: float
    rectangles: tuple[Rectangle, ...]
    asked: str
    answered: str


def overlap_picture(asked: Region, answered: Region, domain: Domain) -> Overlap:
    """Strips for the attributes that either region narrows; a map of the two on which they differ most."""
    narrowed = [
        axis
        for axis, attribute in enumerate(domain.attributes)
        if _on(asked, axis) | _on(answered, axis) and not _is_whole(attribute, _on(asked, axis) & _on(answered, axis))
    ]
    ranked = sorted(narrowed, key=lambda axis: (-len(_on(asked, axis) ^ _on(answered, axis)), -domain.shape[axis]))
    axes = sorted(ranked[:2], key=lambda axis: -domain.shape[axis])
    strips = tuple(_strip(domain.attributes[axis], _on(asked, axis), _on(answered, axis)) for axis in narrowed)
    words = where_text(asked, domain), where_text(answered, domain)
    if len(axes) < 2:
        return Overlap(strips, "", "", 0, 0, (), *words)
    across, down = axes
    width, height = MAP_SIDE, MAP_SIDE * min(1.0, max(0.28, domain.shape[down] / domain.shape[across]))
    units = width / domain.shape[across], height / domain.shape[down]
    rectangles = tuple(
        Rectangle(
            low_x * units[0],
            low_y * units[1],
            (high_x - low_x + 1) * units[0],
            (high_y - low_y + 1) * units[1],
            part,
        )
        for part, region in _parts(_projected(asked, axes), _projected(answered, axes)).items()
        for (low_x, low_y), (high_x, high_y) in ((box.low, box.high) for box in region.boxes)
    )
    names = domain.attributes[across].name, domain.attributes[down].name
    return Overlap(strips, *names, width, height, rectangles, *words)


def _projected(region: Region, axes: list[int]) -> Region:
    """The shadow of a region on two axes."""
    return Region.of(
        Box(tuple(box.low[axis] for axis in axes), tuple(box.high[axis] for axis in axes)) for box in region.boxes
    )


def _parts(asked: Region, answered: Region) -> dict[str, Region]:
    return {
        "both": asked.intersect(answered),
        "asked": asked.subtract(answered),
        "answered": answered.subtract(asked),
    }


def _on(region: Region, axis: int) -> set[int]:
    """The codes of an axis that a region meets."""
    return {code for box in region.boxes for code in range(box.low[axis], box.high[axis] + 1)}


def _is_whole(attribute: Attribute, codes: set[int]) -> bool:
    return len(codes) == attribute.size


def _strip(attribute: Attribute, asked: set[int], answered: set[int]) -> Strip:
    spans: list[Span] = []
    size = attribute.size
    for code in range(size):
        part = "both" if code in asked and code in answered else "asked" if code in asked else "answered"
        if code not in asked | answered:
            continue
        start = code / size
        if spans and spans[-1].part == part and abs(spans[-1].start + spans[-1].width - start) < 1e-9:
            spans[-1] = Span(spans[-1].start, spans[-1].width + 1 / size, part)
        else:
            spans.append(Span(start, 1 / size, part))
    return Strip(attribute.name, tuple(spans), attribute.label(0), attribute.label(size - 1))
