"""People to audit."""

import pytest

from discreet.vault import Vault
from tests.audit.insider import write_people


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A working directory with a table of 400 people."""
    monkeypatch.chdir(tmp_path)
    write_people()
    return tmp_path


@pytest.fixture
def vault_of(folder):
    """Makes a vault over the people of `folder`, one after another."""
    made = iter(range(100))

    def make(**wishes):
        return Vault.init(folder / f"vault{next(made)}", table="people.parquet", domain="people.toml", **wishes)

    return make
