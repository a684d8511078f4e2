"""How far a reading has come: told wherever rows come from, and in public terms only."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from discreet.domain.read import parse_domain
from discreet.table.unit import Unit
from discreet.vault import Vault
from tests.populations import snapshot_in

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
"""


@pytest.fixture
def people():
    ages = np.random.default_rng(3).integers(0, 100, 2_000)
    return pa.table({"age": ages, "person": np.arange(2_000) // 2})


@pytest.fixture
def heard():
    """A list of what is told, and the one who is told it."""
    told = []
    return told, lambda what, share: told.append((what, share))


def rising(told):
    shares = [share for _, share in told]
    return shares[-1] == 1 and all(0 <= before <= after <= 1 for before, after in pairwise([0, *shares]))


@pytest.mark.parametrize("unit", [None, Unit("person", 1)], ids=["rows", "people"])
def test_watching_changes_no_snapshot(engine, people, heard, tmp_path, unit, capfd):
    told, tell = heard
    where, domain = engine(people, tmp_path), parse_domain(DOMAIN)
    quiet = snapshot_in(tmp_path / "quiet", where, domain, unit)
    watched = snapshot_in(tmp_path / "watched", where, domain, unit, progress=tell)
    assert sorted(quiet.rows.codes("age").tolist()) == sorted(watched.rows.codes("age").tolist())
    assert {what for what, _ in told} == {"reading the table"}
    assert rising(told)
    assert capfd.readouterr().out == "", "engines have bars of their own, which would stand in the middle of answers"


def test_a_vault_tells_how_far_it_is_when_it_is_made_and_refreshed_and_not_when_it_is_asked(people, heard, tmp_path):
    told, tell = heard
    (tmp_path / "people.toml").write_text(DOMAIN)
    given = {"table": people, "domain": tmp_path / "people.toml", "epsilon": 100, "neighbours": "replace"}
    vault = Vault.init(tmp_path / "vault", **given, progress=tell)
    assert rising(told)
    told.clear()
    vault.ask("SELECT COUNT(*) FROM people", scale=10)
    assert told == []
    vault.refresh(people, progress=tell)
    assert rising(told)


def test_several_files_are_told_by_their_bytes(heard, tmp_path):
    for part in range(3):
        (tmp_path / f"part{part}.csv").write_bytes(b"age\n" + b"7\n" * 2**18)
    told, tell = heard
    snapshot_in(tmp_path / "s", str(tmp_path / "part*.csv"), parse_domain(DOMAIN), progress=tell)
    assert rising(told)
    assert [round(share, 2) for _, share in told] == [0.33, 0.67, 1.0, 1.0]


@pytest.mark.xdist_group("postgres")
def test_a_large_table_of_postgres_is_told_by_its_rows(postgres, heard, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.table.postgres.BLOCK_BYTES", 1000)
    postgres.execute(
        "DROP TABLE IF EXISTS pieces CASCADE",
        "CREATE TABLE pieces AS SELECT i % 100 AS age FROM generate_series(1, 2000) i",
    )
    told, tell = heard
    snapshot_in(tmp_path / "s", postgres.uri("pieces"), parse_domain(DOMAIN), progress=tell)
    assert rising(told)
    assert len(told) > 5
