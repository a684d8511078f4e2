from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded
from discreet.ledger.buckets import Buckets
from discreet.ledger.budget import PureBudget
from discreet.ledger.grid import MAX_POINTS, Grid
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.spend_map import spend_map


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [((79, 14, 23, 100), Grid), ((MAX_POINTS,), Grid), ((MAX_POINTS, 2), Buckets), ((7,) * 50, Buckets)],
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
