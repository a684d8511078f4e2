"""Which combinations of periods to measure for running totals: how good they are, and that they are exact."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.errors import UnsupportedQuery
from discreet.refinement.running_totals import (
    GRAINS,
    RunningStrategy,
    best_strategy,
    block_strategy,
    least_possible,
)


def exact_combinations(weights: list[list[int]]) -> list[list[Fraction]]:
    """The triangle of ones times the inverse of the weights, by fractions: row by row, from the last column on."""
    size, rows = len(weights), []
    for place in range(size):
        row = [Fraction(0)] * size
        for column in range(place, -1, -1):
            rest = 1 - sum(row[later] * weights[later][column] for later in range(column + 1, place + 1))
            row[column] = Fraction(rest) / weights[column][column]
        rows.append(row)
    return rows


@pytest.mark.parametrize("strategy", [best_strategy, block_strategy])
@pytest.mark.parametrize("periods", [1, 2, 7, 12, 30])
def test_totals_are_exactly_what_the_combinations_say(strategy, periods: int) -> None:
    found = strategy(periods)
    exact = exact_combinations(found.weights.tolist())
    assert np.allclose(found.combinations, np.array(exact, float), rtol=1e-10, atol=1e-14)
    for place, column in product(range(periods), repeat=2):
        total = sum(exact[place][row] * int(found.weights[row, column]) for row in range(periods))
        assert total == (column <= place)
    worst = max(sum(weight**2 for weight in row) for row in exact) * max(found.squared_columns)
    assert found.worst == pytest.approx(float(worst), rel=1e-9)
    assert found.squared_columns == tuple(sum(int(w) ** 2 for w in column) for column in found.weights.T)
    assert found.summed_columns == tuple(sum(abs(int(w)) for w in column) for column in found.weights.T)


# Issue 25, point 6: at most 3.5 for 12 periods, where the square root has 3.43; for 365, `bench running`.
@pytest.mark.parametrize(("periods", "bar"), [(1, 1.0001), (12, 2.64), (52, 4.21), (60, 4.38)])
def test_the_worst_variance_is_proved_to_be_near_the_least_there_is(periods: int, bar: float) -> None:
    found = best_strategy(periods)
    assert found.worst <= bar
    assert least_possible(periods) <= found.worst <= (1 + 1e-3) * least_possible(periods)
    assert (found.weights >= 0).all(), "one-signed numbers are charged once where people are replaced"


@pytest.mark.parametrize("periods", [2, 3, 5])
def test_no_search_finds_a_better_triangle(periods: int) -> None:
    rows, columns = np.tril_indices(periods)
    ones = np.tril(np.ones((periods, periods)))

    def worst(entries) -> float:
        own = np.zeros((periods, periods))
        own[rows, columns] = entries
        if np.abs(np.diagonal(own)).min() < 1e-6:
            return 1e9
        return float((own**2).sum(axis=0).max() * ((ones @ np.linalg.inv(own)) ** 2).sum(axis=1).max())

    starts = [np.eye(periods)[rows, columns], best_strategy(periods).weights[rows, columns] / GRAINS + 0.05]
    found = min(
        minimize(worst, start, method="Nelder-Mead", options={"maxiter": 20_000, "fatol": 1e-10}).fun
        for start in starts
    )
    assert best_strategy(periods).worst <= found * (1 + 1e-3)


@pytest.mark.parametrize("periods", [2, 3, 4, 9])
def test_the_least_possible_is_below_every_strategy(periods: int) -> None:
    draw = np.random.default_rng(periods)
    for _ in range(200):
        weights = np.tril(draw.integers(-9, 10, (periods, periods)))
        np.fill_diagonal(weights, draw.integers(1, 10, periods))
        assert RunningStrategy(weights).worst >= least_possible(periods) * (1 - 1e-9)


@pytest.mark.parametrize(("periods", "worst"), [(1, 1), (12, 12), (50, 4 * 12), (365, 4 * 36)])
def test_blocks_for_laplace_noise_are_the_best_of_their_kind(periods: int, worst: int) -> None:
    found = block_strategy(periods)
    squared = (max(found.summed_columns) / GRAINS) ** 2
    assert squared * found.variances.max() * GRAINS**2 == pytest.approx(worst)


@pytest.mark.parametrize("periods", [0, 513])
def test_too_many_periods_are_refused_with_what_to_do(periods: int) -> None:
    with pytest.raises(UnsupportedQuery, match="1 to 512 periods"):
        best_strategy(periods)


@pytest.mark.parametrize("weights", [[[1, 1], [1, 1]], [[0]], [[1, 0]], []], ids=str)
def test_a_strategy_measures_each_period_and_nothing_that_is_to_come(weights: list[list[int]]) -> None:
    with pytest.raises(ValueError, match=r"a strategy has a row|at the end of a period"):
        RunningStrategy(np.array(weights, np.int64))
