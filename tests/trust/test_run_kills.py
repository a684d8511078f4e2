"""kill -9 in the middle of a run that chooses what to measure as it goes: it goes on, and nothing is paid for twice."""

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.audit.report import audit_vault
from discreet.ledger.ledger import Ledger
from discreet.release.archive import Archive
from discreet.release.gate import Gate
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.trust.doomed import AtStep, Tell, begin

DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 2
source = "registry"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "questionnaire"
[attributes.place]
kind = "integer"
low = 0
high = 2
source = "registry"
"""
STEPS = {
    "before the plan is noted": AtStep(Ledger, "note", after=False),
    "the plan noted": AtStep(Ledger, "note"),
    "a step noted": AtStep(Ledger, "note", nth=3),
    "the first step charged": AtStep(Ledger, "charge"),
    "a choice charged": AtStep(Ledger, "charge", nth=2),
    "a choice read": AtStep(Snapshot, "evaluate", nth=2),
    "a choice drawn": AtStep(Gate, "_draw", nth=2),
    "a choice recorded": AtStep(Ledger, "record", nth=2),
    "what was chosen charged": AtStep(Ledger, "charge", nth=3),
    "what was chosen drawn": AtStep(Gate, "_draw", nth=3),
    "what was chosen saved": AtStep(Archive, "save", nth=3),
    "what was chosen recorded": AtStep(Ledger, "record", nth=3),
    "a later choice charged": AtStep(Ledger, "charge", nth=4),
}


def publish(path: Path, _: Tell) -> None:
    vault = Vault.open(path)
    vault.cubes.publish(vault.cubes.plan(epsilon=2, planner="adaptive"))


@pytest.mark.parametrize("doom", STEPS.values(), ids=STEPS.keys())
def test_a_run_that_is_killed_goes_on_and_nothing_is_paid_for_twice(tmp_path: Path, doom: AtStep) -> None:
    rows = range(300)
    columns = {
        "age": [i % 3 for i in rows],
        "sex": ["FM"[i // 7 % 2] for i in rows],
        "place": [i // 5 % 3 for i in rows],
    }
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(DOMAIN)
    table, domain = tmp_path / "people.parquet", tmp_path / "people.toml"
    path = Vault.init(tmp_path / "vault", table=table, domain=domain, neighbours="add-remove", epsilon=2).path
    assert begin(partial(publish, path), doom).told()[1]
    vault = Vault.open(path)
    plan = vault.cubes.plan(epsilon=2, planner="adaptive")
    assert vault.cubes.affordable(plan).fits
    cube = vault.cubes.publish(plan)
    charged = [entry.seq for entry in vault.ledger.entries() if entry.kind == "charge"]
    assert (*cube.origin.earlier, cube.origin.charge) == tuple(charged)
    assert vault.ledger.spent_max == plan.noise.limit
    assert not vault.ledger.pending()
    assert audit_vault(path).holds
