"""PipelineDP on its local backend. It is made for pipelines that are declared whole, not for one question at a time."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import numpy as np
import pipeline_dp
from numpy.typing import NDArray
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

from bench.peers.workload import Question, Reply, Table, column

PACKAGE = "pipeline-dp"
NOISE = "a grid of floats, secured"
BUDGET = "a new accountant each question"

PARTS = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda _: 0
)


def sampler(scale: int) -> Callable[[int], list[float]]:
    noise = LaplaceMechanism(epsilon=1 / scale, sensitivity=1)
    return lambda draws: [noise.add_noise(0.0) for _ in range(draws)]


def counted(rows: Iterable[tuple[int, Hashable]], keys: Sequence[Hashable], epsilon: float) -> dict[Hashable, float]:
    """The noisy number of people at each key, all keys being public."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    settings = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )
    noisy = engine.aggregate(rows, settings, PARTS, public_partitions=keys)
    accountant.compute_budgets()
    return {key: metrics.count for key, metrics in noisy}


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    def noisy(mask: int) -> NDArray[np.float64]:
        rows = list(enumerate(table.cell_of_rows(mask).tolist()))
        keys = list(range(table.cells(mask)))
        found = counted(rows, keys, epsilon / len(masks))
        return np.array([found[key] for key in keys])

    return ((mask, noisy(mask)) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    age, income = column(table, "age"), column(table, "income")

    def ask(question: Question) -> Reply:
        chosen = (age >= question.youngest) & (age <= question.oldest) & (income >= question.income)
        rows = [(person, True) for person in np.flatnonzero(chosen).tolist()]
        return Reply(counted(rows, [True], epsilon / many)[True])

    return ask
