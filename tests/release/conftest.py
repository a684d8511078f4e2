"""A small population behind a gate."""

import itertools
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.domain.read import parse_domain
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.noise.bits import Bits
from discreet.release.archive import Archive
from discreet.release.gate import Gate
from tests.populations import population

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 10
high = 59
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
[attributes.income]
kind = "bins"
edges = [-10, 0, 10, 40]
grain = 0.5
source = "a test"
[attributes.number]
kind = "integer"
low = 0
high = 9999
source = "a test"
"""


@pytest.fixture(scope="session")
def domain():
    return parse_domain(DOMAIN)


@pytest.fixture(scope="session")
def people():
    """1,200 people: ages 10 to 49 thirty times each, and their number."""
    rows = itertools.islice(itertools.cycle(itertools.product(range(10, 50), ("F", "M", "F"), (-2.5, 1.25, 39))), 1200)
    ages, sexes, incomes = zip(*rows, strict=True)
    return pa.table({"age": ages, "sex": sexes, "income": incomes, "number": range(1200)})


@pytest.fixture(scope="session")
def table(people, domain):
    return population(people, domain)


@pytest.fixture
def make_ledger(tmp_path, domain, table):
    """A ledger of its own for each test; the same one again when it is called again."""

    def make(epsilon=1000):
        budget, path = PureBudget(Fraction(epsilon), "add-remove"), tmp_path / "journal.sqlite"
        if not path.exists():
            name = tmp_path.name[-20:].replace("_", "-") + "-vault"
            Ledger.create(path, {"vault_id": name, "snapshot": table.id.to_json()})
        return Ledger.open(path, domain, budget)

    return make


@pytest.fixture
def gate(make_ledger, table, domain, tmp_path):
    return Gate(domain, lambda: table, make_ledger(), Archive(tmp_path / "releases"), Bits())
