"""Answers over subsets of a roster: one number or several, and bounds around them."""

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.answer.subsets import SubsetAnswer
from discreet.errors import UnsupportedQuery
from discreet.query.subset import subset_of


def answer(*values: int) -> SubsetAnswer:
    """An answer with these noisy counts, whose noise stays within 3 at 95% and within 9 at more."""
    noisy = SimpleNamespace(units=np.array(values), halfwidth=lambda confidence: 3.0 if confidence <= 0.95 else 9.0)
    ledger = SimpleNamespace(budget=SimpleNamespace(limit=20), spent_max=25)
    release = SimpleNamespace(only=noisy, variance=2.25)
    subsets = tuple(subset_of((seed, "1/2")) for seed in range(len(values)))
    return SubsetAnswer("smoker", subsets, release, (), ledger, lambda some: np.full(len(some), 40))


def test_one_subset_has_one_value_and_one_interval():
    one = answer(17)
    assert one.value == 17
    assert one.interval() == (14, 20)
    assert one.interval(0.99) == (8, 26)
    assert one.sizes.tolist() == [40]


def test_several_subsets_have_several_and_no_value_of_their_own():
    several = answer(17, -2)
    with pytest.raises(UnsupportedQuery, match=r"this answer has 2 counts; look at \.values"):
        _ = several.value
    low, high = several.interval()
    assert (low.tolist(), high.tolist()) == ([14, -5], [20, 1])


def test_fewer_than_no_queries_are_never_left():
    assert answer(17).queries_left == 0
