"""A small vault to ask: 6,000 people, 10 × 3 × 5 points, and what is true of them."""

import numpy as np
import pandas as pd
import pytest

from discreet.vault import Vault

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
null = true
source = "a test"
[attributes.income]
kind = "bins"
edges = [0, 10, 20, 30, 50]
null = true
grain = 1
source = "a test"
"""


@pytest.fixture(scope="session")
def people():
    rng = np.random.default_rng(7)
    n = 6_000
    income = rng.integers(0, 50, n).astype(float)
    income[::50] = np.nan
    return pd.DataFrame(
        {"age": rng.integers(0, 10, n), "sex": rng.choice(np.array(["F", "M", None], object), n), "income": income}
    )


@pytest.fixture
def make_vault(tmp_path, people):
    """Makes a vault over the people, with a budget."""
    (tmp_path / "people.toml").write_text(DOMAIN)

    def make(neighbours="add-remove", **budget):
        place = {"table": people, "domain": tmp_path / "people.toml"}
        return Vault.init(tmp_path / "vault", **place, neighbours=neighbours, **budget)

    return make


@pytest.fixture
def vault(make_vault):
    return make_vault(epsilon=10)
