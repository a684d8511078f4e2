"""OpenDP's context over a Polars frame: what its documentation teaches first."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import opendp.prelude as dp
import polars as pl
from numpy.typing import NDArray

from bench.peers.workload import Question, Reply, Table, in_order

dp.enable_features("contrib")

PACKAGE = "opendp"
BUDGET = "in memory"


def context(table: Table, epsilon: float, many: int) -> dp.Context:
    return dp.Context.compositor(
        data=pl.LazyFrame({name: np.ascontiguousarray(table.rows[:, at]) for at, name in enumerate(table.names)}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=many,
    )


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    asked = context(table, epsilon, len(masks))

    def noisy(mask: int) -> NDArray[np.float64]:
        names = table.columns(mask)
        if not names:
            return np.array(asked.query().select(dp.len(signed=True)).release().collect().item())
        keys = pl.LazyFrame(table.code_grid(mask), schema=names)
        frame = asked.query().group_by(names).agg(dp.len(signed=True)).with_keys(keys).release().collect()
        return in_order(table, mask, frame.select(names).to_numpy(), frame["len"].to_numpy())

    return ((mask, noisy(mask)) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    asked = context(table, epsilon, many)

    def ask(question: Question) -> Reply:
        old_enough, young_enough = pl.col("age") >= question.youngest, pl.col("age") <= question.oldest
        chosen = asked.query().filter(old_enough & young_enough & (pl.col("income") >= question.income))
        return Reply(chosen.select(dp.len(signed=True)).release().collect().item())

    return ask
