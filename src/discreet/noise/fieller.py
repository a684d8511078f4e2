"""The interval of an average: Fieller's, by the law of the noise itself.

An average θ is one of those that the noisy sum T and count N allow if T − θ·N, which is nothing but noise for the true
one, stays within the half-width w(θ) of that noise: so the true average is among them with the confidence of w, and the
interval reaches from the least of them to the greatest. w is looked up in a table: it grows with |θ|, but for a step of
the noise (`spread.md`), and between two entries the larger one is taken.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ENTRIES = 24
"""Entries of a table: where a row can add as much to the sum as its noise is scaled by, w differs by 2% between two."""


def table(low: float, high: float, halfwidth: Callable[[float], float], step: float) -> tuple[Floats, Floats]:
    """Averages in a row, and between each and the next the largest w; `step` is that of the sum's noise."""
    # 0 is among them where it is between: |θ| has no other turn.
    nodes = np.unique([*np.linspace(low, high, ENTRIES + 1), min(max(0.0, low), high)])
    if len(nodes) == 1:  # the one average that there can be, and again
        nodes = np.repeat(nodes, 2)
    widths = np.array([halfwidth(node) for node in nodes.tolist()])
    return nodes, np.maximum(widths[:-1], widths[1:]) + step


def bounds(total: Floats, count: Floats, surely: Floats, nodes: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest average that each sum and count allow; `surely` is what the count is surely at least.
    All of them where that is not above 0; and where none is allowed at all, for such noise tells nothing of it."""
    divisor = np.where(count > 0, count, 1.0)[..., None]
    first = np.maximum((total[..., None] - widths) / divisor, nodes[:-1])
    last = np.minimum((total[..., None] + widths) / divisor, nodes[1:])
    some = (first <= last) & (surely > 0)[..., None]
    least, greatest = np.where(some, first, np.inf).min(axis=-1), np.where(some, last, -np.inf).max(axis=-1)
    told = some.any(axis=-1)
    return np.where(told, least, nodes[0]), np.where(told, greatest, nodes[-1])
