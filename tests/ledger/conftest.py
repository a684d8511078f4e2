"""A state directory of its own for each test, and small domains."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger

# The same examples on every run, and no deadline: a busy machine is not a bug.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state


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
