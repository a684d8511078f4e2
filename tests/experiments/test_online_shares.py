"""Shares of a budget for cuboids that are asked for one by one: the promise, by random questions."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from experiments.cubes.online_shares import Own, Shares, best_variances, candidates, least_start, safe_ratio

DIMENSIONS = 5


def random_questions(seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    return [int(mask) for mask in rng.integers(0, 1 << DIMENSIONS, int(rng.integers(1, 25)))]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_variance_is_that_of_all_sources(seed: int) -> None:
    questions = random_questions(seed)
    found = best_variances(questions)
    sources = Shares(candidates(DIMENSIONS, DIMENSIONS), 1.0, 1.0)
    for count in (1, len(questions)):
        rows = np.array([-sources.rates(mask) for mask in questions[:count]])
        # The least Σb for a precision of 1 is the best variance for Σb = 1.
        least = linprog(np.ones(rows.shape[1]), A_ub=rows, b_ub=-np.ones(count))
        assert found[count - 1] == pytest.approx(least.fun, rel=1e-7)
    assert all(later >= before * (1 - 1e-9) for before, later in pairwise(found))
    assert all(1 - 1e-9 <= best <= len(set(questions)) + 1e-9 for best in found)


@pytest.mark.parametrize("kind", [Shares, Own])
@pytest.mark.parametrize("seed", range(20))
def test_every_question_has_the_variance_that_was_promised_and_the_budget_lasts(kind: type[Shares], seed: int) -> None:
    questions = random_questions(seed)
    sources = candidates(DIMENSIONS, DIMENSIONS)
    start = least_start(Shares(sources, 1.0, 1.0), questions)
    shares = kind(sources, safe_ratio(len(set(questions)), start), start)
    for mask, best in zip(questions, best_variances(questions), strict=True):
        before = shares.bought.copy()
        shares.ask(mask, best)
        assert np.all(shares.bought >= before)
        assert 1 / (shares.rates(mask) @ shares.bought) <= shares.ratio * best * (1 + 1e-9)
    if kind is Shares:
        assert shares.spent <= 1  # Own has no such promise
