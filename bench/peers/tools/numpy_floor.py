"""NumPy: what it costs to add floating-point noise and promise nothing. The floor."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.peers.workload import Question, Reply, Table, column

PACKAGE = "numpy"
NOISE = "floats, which leak"
BATCH = 10**6
BUDGET = "none"


def sampler(scale: int) -> Callable[[int], NDArray[np.float64]]:
    rng = np.random.default_rng()
    return lambda draws: rng.laplace(0, scale, draws)


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    draw = sampler(1)
    scale = len(masks) / epsilon
    return ((mask, table.counted(mask) + scale * draw(table.cells(mask)).reshape(table.shape(mask))) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    age, income = column(table, "age"), column(table, "income")
    rng = np.random.default_rng()
    return lambda question: Reply(question.counted(age, income) + rng.laplace(0, many / epsilon))
