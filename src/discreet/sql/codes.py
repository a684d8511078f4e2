"""Sets of codes of one attribute: disjoint intervals in ascending order, never touching."""

from collections.abc import Iterable

Interval = tuple[int, int]
Codes = tuple[Interval, ...]


def merged(intervals: Iterable[Interval]) -> Codes:
    """The union of intervals that may overlap or touch."""
    union: list[Interval] = []
    for low, high in sorted(intervals):
        if union and low <= union[-1][1] + 1:
            union[-1] = (union[-1][0], max(union[-1][1], high))
        else:
            union.append((low, high))
    return tuple(union)


def complement(codes: Codes, size: int) -> Codes:
    """The codes of 0 … size−1 that are not in `codes`."""
    gaps, start = [], 0
    for low, high in codes:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    return (*gaps, (start, size - 1)) if start < size else tuple(gaps)
