"""Running totals of a served vault: what was published, for everybody who may look."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.vault import Vault

DOMAIN = """\
name = "visits"
[attributes.seen]
kind = "date"
low = 2026-01-01
high = 2026-12-31
period = "month"
source = "a form"
"""


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"seen": [f"2026-{i % 12 + 1:02d}-07" for i in range(600)]}), "visits.parquet")
    Path("visits.toml").write_text(DOMAIN)
    return Vault.init("vault", table="visits.parquet", domain="visits.toml", rho=1, neighbours="add-remove")


@pytest.mark.parametrize("role", ["analyst", "auditor", "custodian"])
def test_running_totals_are_served_as_python_has_them_and_nothing_is_spent(vault: Vault, role: str) -> None:
    headers = {"Authorization": f"Bearer {add_user(vault.path, 'ada', role)}"}
    client = TestClient(create_app(vault, deadline=None), headers=headers, base_url="http://testserver/api/v1")
    assert client.get("/running").json() == {"running": []}
    vault.running.declare(vault.running.plan("month", rho="1/2"))
    vault.running.publish(through="2026-03")
    head = vault.ledger.head
    assert client.get("/running").json() == {"running": [vault.running.show().to_json()]}
    wide = client.get("/running?confidence=0.999").json()["running"][0]
    assert wide == vault.running.show().to_json(0.999)
    assert client.get("/running?confidence=2").status_code == 400
    assert vault.ledger.head == head
