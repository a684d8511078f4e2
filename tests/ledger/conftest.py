"""Small domains, and a ledger on one of them."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger


@pytest.fixture(scope="session")
def domain_of() -> Callable[..., Domain]:
    """Attributes a, b, c … with so many codes each."""

    def make(*sizes: int) -> Domain:
        names = "abcdefghijklmnopqrstuvwxyz" if len(sizes) <= 26 else [f"a{i}" for i in range(len(sizes))]
        pairs = zip(names, sizes, strict=False)
        return Domain("t", tuple(Integer(name=name, source="test", low=0, high=size - 1) for name, size in pairs))

    return make


@pytest.fixture
def domain(domain_of: Callable[..., Domain]) -> Domain:
    return domain_of(6, 4)


@pytest.fixture
def budget() -> PureBudget:
    return PureBudget(Fraction(1), "add-remove")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with its first entry only."""
    journal = tmp_path / "journal.db"
    Ledger.create(journal, {"vault_id": "test-vault"})
    return journal


@pytest.fixture
def ledger(path: Path, domain: Domain, budget: PureBudget) -> Ledger:
    return Ledger.open(path, domain, budget)
