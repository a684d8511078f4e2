import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded
from discreet.ledger.buckets import BucketedSpend
from discreet.ledger.budget import PureBudget
from discreet.ledger.grid import MAX_POINTS, GridSpend
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.spend_map import spend_map


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ((79, 14, 23, 100), GridSpend),
        ((MAX_POINTS,), GridSpend),
        ((MAX_POINTS, 2), BucketedSpend),
        ((7,) * 50, BucketedSpend),
    ],
)
def test_the_size_of_the_domain_decides(domain_of: Callable[..., Domain], sizes: tuple[int, ...], kind: type) -> None:
    assert isinstance(spend_map(domain_of(*sizes), 1).exact(), kind)


def test_a_ledger_over_fifty_attributes_has_a_budget_for_each_region(
    path: Path, domain_of: Callable[..., Domain]
) -> None:
    domain, budget = domain_of(*[7] * 50), PureBudget(Fraction(1), "replace")
    ledger = Ledger.open(path, domain, budget)
    low, high = (0,) * 50, (3, *[6] * 49)
    ledger.charge(Cost(0, ((Box(low, high), UNITS // 2),)), {})
    with pytest.raises(BudgetExceeded, match=r"ε = 0 left \(a0 3\)"):
        ledger.charge(Cost(0, ((Box((3, *[0] * 49), (6,) * 50), 1),)), {})
    again = Ledger.open(path, domain, budget)
    assert again.left(Region((Box((4, *[0] * 49), (6,) * 50),))) == UNITS // 2
    assert again.left(domain.everything) == 0


@pytest.mark.parametrize("size", [10, 100])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_left_is_what_is_granted(size, seed):
    """On a map of every point, and on the histogram that larger domains have."""
    rng, limit = random.Random(seed), 10**6
    domain = Domain("t", tuple(Integer(name=f"a{i}", source="a test", low=0, high=size - 1) for i in range(4)))
    spent = spend_map(domain, limit)

    def some_box():
        ends = [sorted(rng.choices(range(size), k=2)) if rng.random() < 0.5 else (0, size - 1) for _ in range(4)]
        return Box(*(tuple(end) for end in zip(*ends, strict=True)))

    for _ in range(rng.randrange(1, 8)):
        cost = Cost(0, ((some_box(), rng.randrange(1, limit)),))
        if spent.refusal(cost) is None:
            spent.add(cost)
    for _ in range(5):
        box = some_box()
        left = spent.left(Region((box,)))
        assert spent.refusal(Cost(0, ((box, left),))) is None
        assert spent.refusal(Cost(0, ((box, left + 1),))) is not None
