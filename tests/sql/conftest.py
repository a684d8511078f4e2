from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.domain.read import read_domain

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sql"


@pytest.fixture(scope="session")
def people() -> Domain:
    return read_domain(FIXTURES / "people.toml")
