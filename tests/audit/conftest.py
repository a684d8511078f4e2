"""People to audit; and attacks whose noise is the same on every run: production bits, with keys that are told."""

import pytest

from discreet.noise.bits import KEY_BYTES, Bits
from discreet.vault import Vault
from tests.audit.insider import write_people


@pytest.fixture
def steady(monkeypatch):
    keys = iter(range(1, 1 << 30))
    monkeypatch.setattr(Bits, "_key", lambda _: next(keys).to_bytes(KEY_BYTES, "big"))


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A working directory with a table of 400 people."""
    monkeypatch.chdir(tmp_path)
    write_people()
    return tmp_path


@pytest.fixture
def vault_of(folder, steady):  # noqa: ARG001
    """Makes a vault over the people of `folder`, one after another."""
    made = iter(range(100))

    def make(**wishes):
        return Vault.init(folder / f"vault{next(made)}", table="people.parquet", domain="people.toml", **wishes)

    return make
