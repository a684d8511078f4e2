"""A small vault of people, for pages."""

import pytest

from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault


@pytest.fixture
def vault_of_people(tmp_path):
    table = tmp_path / "people.parquet"
    write_census(table, 1000)
    return Vault.init(tmp_path / "vault", table=table, domain=census_domain_path(), epsilon="1", neighbours="replace")
