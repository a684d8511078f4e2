"""A spend map that waits until it is asked, against the same map that counts at once."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.ledger.buckets import BucketedSpend
from discreet.ledger.deferred import MOST_WAITING, Deferred
from discreet.ledger.grid import GridSpend
from discreet.ledger.spend import MAX_UNITS, Cost, SpendMap

SIZES = (4, 3)
LIMIT = 40


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in SIZES]
    return Box(tuple(a for a, _ in ends), tuple(b for _, b in ends))


costs = st.builds(
    Cost, st.integers(0, 2), st.lists(st.tuples(boxes(), st.integers(0, 9)), min_size=1, max_size=3).map(tuple)
)
steps = st.lists(st.tuples(costs, st.sampled_from(["add", "replay", "look", "lower"])), max_size=30)


@given(steps, st.sampled_from([GridSpend, BucketedSpend]))
def test_it_decides_and_counts_as_the_map_that_it_defers(
    domain_of: Callable[..., Domain], story: list[tuple[Cost, str]], kind: Callable[[Domain, int], SpendMap]
) -> None:
    domain = domain_of(*SIZES)
    at_once, deferred = kind(domain, LIMIT), Deferred(kind(domain, LIMIT), domain)
    for cost, step in story:
        assert deferred.refusal(cost) == at_once.refusal(cost)
        assert deferred.overdrawn == at_once.overdrawn
        if step == "look":
            assert deferred.spent_max == at_once.spent_max
            assert deferred.left(domain.everything) == at_once.left(domain.everything)
        elif step == "lower":
            deferred.limit = at_once.limit = at_once.limit - 1
        elif step == "add" and at_once.refusal(cost) is None:
            deferred.add(cost), at_once.add(cost)
        elif step == "replay":  # what is in the journal counts, whether it fits or not
            deferred.replay([cost, cost]), at_once.replay([cost, cost])
    assert (deferred.limit, deferred.spent_max) == (at_once.limit, at_once.spent_max)
    assert np.array_equal(deferred.left_by((0, 1)), at_once.left_by((0, 1)))


class Counted:
    """How often a map was asked for something."""

    def __init__(self, counted: SpendMap) -> None:
        self._counted, self.calls = counted, 0

    def __getattr__(self, name: str) -> object:
        self.calls += name in ("replay", "refusal", "left")
        return getattr(self._counted, name)


def test_charges_that_fit_by_far_are_counted_when_somebody_looks(domain_of: Callable[..., Domain]) -> None:
    domain = domain_of(*SIZES)
    counted = Counted(GridSpend(domain, 1000))
    deferred = Deferred(counted, domain)  # type: ignore[arg-type]
    one = Cost(0, ((Box((0, 0), (1, 1)), 2),))
    for _ in range(20):
        assert deferred.refusal(one) is None
        deferred.add(one)
    assert not deferred.overdrawn
    assert counted.calls == 0
    assert deferred.spent_max == 40
    assert counted.calls == 1


def test_charges_do_not_wait_without_end(domain_of: Callable[..., Domain]) -> None:
    domain = domain_of(*SIZES)
    counted = Counted(GridSpend(domain, 10**9))
    deferred = Deferred(counted, domain)  # type: ignore[arg-type]
    for _ in range(3 * MOST_WAITING):
        deferred.add(Cost(0, ((Box((0, 0), (1, 1)), 1),)))
    assert counted.calls == 3


def test_what_cannot_be_is_raised_where_it_is_added(domain_of: Callable[..., Domain]) -> None:
    domain = domain_of(*SIZES)
    deferred = Deferred(GridSpend(domain, LIMIT), domain)
    outside = Cost(0, ((Box((0, 0), (4, 1)), 1),))
    for use in (deferred.refusal, deferred.add, lambda cost: deferred.replay([cost])):
        with pytest.raises(ValueError, match="domain"):
            use(outside)
    deferred.add(Cost(0, ((Box((0, 0), (1, 1)), MAX_UNITS),)))
    deferred.add(Cost(0, ((Box((0, 0), (1, 1)), MAX_UNITS),)))
    with pytest.raises(OverflowError):
        deferred.add(Cost(0, ((Box((0, 0), (1, 1)), MAX_UNITS),)))
