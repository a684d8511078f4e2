"""IBM's diffprivlib: histograms, and counts of what NumPy selects, with an accountant."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from diffprivlib import BudgetAccountant, tools
from diffprivlib.mechanisms import Geometric
from numpy.typing import NDArray

from bench.peers.workload import Question, Reply, Table, column

PACKAGE = "diffprivlib"
NOISE = "integers, from floats"
BUDGET = "in memory"


def sampler(scale: int) -> Callable[[int], list[int]]:
    noise = Geometric(epsilon=1 / scale, sensitivity=1)
    return lambda draws: [noise.randomise(0) for _ in range(draws)]


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    accountant = BudgetAccountant(epsilon * (1 + 1e-9), 0)  # its sum of 256 shares is in floats

    def noisy(mask: int) -> NDArray[np.float64]:
        share = epsilon / len(masks)
        if not mask:
            return np.array(tools.count_nonzero(np.ones(len(table.rows), bool), epsilon=share, accountant=accountant))
        edges = [np.arange(size + 1) - 0.5 for size in table.shape(mask)]
        codes = table.rows[:, table.axes(mask)]
        return tools.histogramdd(codes, epsilon=share, bins=edges, accountant=accountant)[0]

    return ((mask, noisy(mask)) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    age, income = column(table, "age"), column(table, "income")
    accountant = BudgetAccountant(epsilon * (1 + 1e-9), 0)

    def ask(question: Question) -> Reply:
        chosen = (age >= question.youngest) & (age <= question.oldest) & (income >= question.income)
        return Reply(tools.count_nonzero(chosen, epsilon=epsilon / many, accountant=accountant))

    return ask
