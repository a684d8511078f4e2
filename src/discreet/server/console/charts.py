"""Charts of an answer: a line along an ordered label with the band of its intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.server.console.heat import Name
from discreet.server.console.page import number
from discreet.server.console.table import BarLine

WIDTH, HEIGHT = 760.0, 300.0
LEFT, TOP, BOTTOM = 64.0, 10.0, 40.0
MOST_NAMES = 12
STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class LineChart:
    """Values along a label, in a box with axes. `bands` are the intervals, `lines` the values; both end where one is
    not known."""

    column: str
    across: str
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    """Values without a neighbour, which no line shows."""
    ticks: tuple[Name, ...]
    names: tuple[Name, ...]
    zero: float | None
    """Where 0 is, if it is in the box."""

    width, height, left, top = WIDTH, HEIGHT, LEFT, TOP
    base = HEIGHT - BOTTOM


def line_chart(across: str, column: str, lines: Sequence[BarLine]) -> LineChart | None:
    """The chart of lines in their order; None where no value is known."""
    ends = [
        end for line in lines for end in (line.value, line.low, line.high) if end is not None and math.isfinite(end)
    ]
    if not ends:
        return None
    low, high, step = _axis(min(ends), max(ends))
    base, span = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    wide = (WIDTH - LEFT - 10) / max(len(lines), 1)

    def across_at(place: int) -> float:
        return LEFT + (place + 0.5) * wide

    def up(value: float) -> float:
        return base - (min(max(value, low), high) - low) / (high - low) * span

    runs = _runs(lines)
    ticks = [low + step * i for i in range(round((high - low) / step) + 1)]
    every = math.ceil(len(lines) / MOST_NAMES)
    return LineChart(
        column,
        across,
        tuple("M" + "L".join(f"{across_at(i):.1f} {up(v):.1f}" for i, v, _, _ in run) for run in runs if len(run) > 1),
        tuple(_band(run, across_at, up) for run in runs),
        tuple((across_at(i), up(v)) for run in runs if len(run) == 1 for i, v, _, _ in run),
        tuple(Name(up(tick), number(tick)) for tick in ticks),
        tuple(Name(across_at(i), " ".join(lines[i].labels)) for i in range(0, len(lines), every)),
        up(0.0) if low <= 0 <= high else None,
    )


Point = tuple[int, float, float, float]


def _runs(lines: Sequence[BarLine]) -> list[list[Point]]:
    """The known values with their ends, parted where one is not known."""
    runs: list[list[Point]] = [[]]
    for place, line in enumerate(lines):
        if line.value is None:
            runs.append([])
            continue
        low = line.value if line.low is None else line.low
        high = line.value if line.high is None else line.high
        runs[-1].append((place, line.value, low, high))
    return [run for run in runs if run]


def _band(run: Sequence[Point], across_at: Callable[[int], float], up: Callable[[float], float]) -> str:
    if len(run) == 1:
        [(place, _, low, high)] = run
        return f"M{across_at(place) - 2:.1f} {up(low):.1f}h4V{up(high):.1f}h-4z"
    there = "L".join(f"{across_at(place):.1f} {up(high):.1f}" for place, _, _, high in run)
    back = "L".join(f"{across_at(place):.1f} {up(low):.1f}" for place, _, low, _ in reversed(run))
    return f"M{there}L{back}z"


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """Round ends of an axis that holds both, and the step between its ticks."""
    if low == high:
        low, high = low - 1, high + 1
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in STEPS if power * each >= rough * (1 - 1e-9))
    return math.floor(low / step) * step, math.ceil(high / step) * step, step
