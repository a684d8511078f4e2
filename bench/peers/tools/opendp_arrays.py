"""OpenDP on vectors: its own transformation counts categories; a WHERE is counted by NumPy, inside one of ours."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray

from bench.peers.workload import Question, Reply, Table, column

dp.enable_features("contrib", "honest-but-curious")

PACKAGE = "opendp"
NOISE = "integers, exact"
BUDGET = "in memory"


def sampler(scale: int) -> Callable[[int], list[int]]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noise = dp.m.make_laplace(*space, scale=float(scale))
    return lambda draws: noise([0] * draws)


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, list[int]]]:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
    noise = dp.m.then_laplace(scale=len(masks) / epsilon)

    def noisy(mask: int) -> list[int]:
        counted = dp.t.then_count_by_categories(categories=list(range(table.cells(mask))), null_category=False)
        return (space >> counted >> noise)(table.cell_of_rows(mask).tolist())

    return ((mask, noisy(mask)) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    """A compositor holds the columns and the budget; that a row moves a count by 1 is our word, not OpenDP's proof."""
    space = dp.user_domain("two columns", lambda _: True), dp.symmetric_distance()
    shares = [epsilon / many] * many
    compositor = dp.c.make_adaptive_composition(*space, dp.max_divergence(), d_in=1, d_mids=shares)
    columns: tuple[NDArray[np.int32], ...] = column(table, "age"), column(table, "income")
    queryable = compositor(columns)
    noise = dp.m.then_laplace(scale=many / epsilon)
    whole = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")

    def ask(question: Question) -> Reply:
        counted = dp.t.make_user_transformation(*space, *whole, lambda held: question.counted(*held), lambda d_in: d_in)
        return Reply(queryable(counted >> noise))

    return ask
