"""Tables of numbers with their intervals, each line with its bar and its error bar on one common scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

BAR_WIDTH = 200.0
"""The width of the drawing, in its own units."""


@dataclass(frozen=True)
class BarLine:
    """A number with the labels of its group, and the interval around it."""

    labels: tuple[str, ...]
    value: float | None
    low: float | None
    high: float | None
    kind: str = ""
    links: tuple[str, ...] = ()
    """Where each label leads, where it does."""
    about: str = ""
    """The region that the number is for, where it is not the one asked about."""
    offer: str | None = None
    """How sharply what was asked could be had instead."""
    may_be_zero: bool = False
    too_noisy: bool = False
    shrunken: float | None = None

    @property
    def is_even(self) -> bool:
        """Whether the interval reaches as far to either side, but for rounding."""
        if self.value is None or self.low is None or self.high is None:
            return False
        return math.isclose(self.value - self.low, self.high - self.value, rel_tol=1e-6, abs_tol=1e-9)


@dataclass(frozen=True)
class Bar:
    """Where a line's bar begins and ends, and its error bar, in the drawing's units."""

    start: float
    width: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class BarTable:
    """Lines with bars. `zero` is where the bars stand; `hidden` lines are not shown."""

    by: tuple[str, ...]
    column: str
    lines: tuple[tuple[BarLine, Bar | None], ...]
    zero: float | None
    """None on a scale that does not begin at 0: dots."""
    hidden: int

    @property
    def kinds(self) -> bool:
        """Whether lines say different things of where they come from."""
        return len({line.kind for line, _ in self.lines}) > 1

    @property
    def near(self) -> bool:
        """Whether some lines are about other regions than those asked about."""
        return any(line.about for line, _ in self.lines)

    @property
    def offered(self) -> bool:
        return any(line.offer is not None for line, _ in self.lines)

    @property
    def shrunken(self) -> bool:
        return any(line.shrunken is not None for line, _ in self.lines)

    @property
    def bounded(self) -> bool:
        return any(line.low is not None or line.high is not None for line, _ in self.lines)


def table_of(by: Sequence[str], column: str, lines: Sequence[BarLine], most: int, dots: bool = False) -> BarTable:
    """Bars of the first lines, from 0, on a scale that holds every interval; or dots, on one of these alone."""
    shown = lines[:most]
    ends = [end for line in shown for end in (line.value, line.low, line.high) if end is not None]
    low, high = _with_margin(min(ends), max(ends)) if dots and ends else (min([0.0, *ends]), max([0.0, *ends]))
    span = (high - low) / BAR_WIDTH
    unit = 1 / span if span and math.isfinite(1 / span) else 0.0
    return BarTable(
        tuple(by),
        column,
        tuple((line, _bar(line, low, unit, dots)) for line in shown),
        None if dots else -low * unit,
        len(lines) - len(shown),
    )


def _with_margin(low: float, high: float) -> tuple[float, float]:
    """A scale on which no dot is cut off at its ends."""
    margin = 0.02 * (high - low)
    return low - margin, high + margin


def _bar(line: BarLine, low: float, unit: float, dot: bool) -> Bar | None:
    if line.value is None:
        return None
    end = (line.value - low) * unit
    zero = end if dot else -low * unit
    bounds = [None if bound is None else (bound - low) * unit for bound in (line.low, line.high)]
    return Bar(min(zero, end), abs(end - zero), bounds[0], bounds[1])
