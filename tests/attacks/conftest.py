"""Vaults to attack."""

import pytest

from discreet.vault import Vault


@pytest.fixture
def vault_of(folder):
    """Makes a vault over the people of `folder`, one after another."""
    made = iter(range(100))

    def make(**wishes):
        return Vault.init(folder / f"vault{next(made)}", table="people.parquet", domain="people.toml", **wishes)

    return make
