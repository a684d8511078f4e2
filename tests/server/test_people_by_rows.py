"""People by what their rows come to: one question, one price and one answer, through every door."""

import json
import socket

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.release.slots import Slots
from discreet.server.app import create_app
from discreet.server.auth import add_user, allow_mysql
from discreet.server.desk import FrontDesk
from discreet.server.pace import Bucket
from discreet.server.wire import serving_mysql
from discreet.vault import Vault
from tests.server.mysql_clients import Served, rows

EACH = "SELECT patient, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY patient"
ASKED = f"SELECT n, COUNT(*) AS people FROM ({EACH}) AS v GROUP BY n ORDER BY n"
OLDEST = (
    "SELECT IF(a > 6, 'old', 'young') AS oldest, COUNT(*) AS people "
    "FROM (SELECT patient, MAX(age) AS a FROM visits GROUP BY patient) AS v GROUP BY oldest ORDER BY oldest"
)
DOMAIN = """\
name = "visits"
null_ids = "drop"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "a test"
"""


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "visits.toml").write_text(DOMAIN)
    table = pa.table({"patient": [i % 97 for i in range(400)], "age": [i * 7 % 10 for i in range(400)]})
    return Vault.init(tmp_path / "vault", table=table, domain=tmp_path / "visits.toml", epsilon=9,
                      neighbours="replace", id="patient", max_rows=3)  # fmt: skip


def test_every_door_gives_the_same_answer_for_the_price_that_explain_says(vault):
    said = vault.explain(ASKED, scale=4)
    answer = vault.ask(ASKED, scale=4)
    assert answer.cost == said.cost == vault.explain("SELECT COUNT(*) FROM visits WHERE age > 4", scale=4).cost > 0
    values = [row.value for row in answer.rows]
    assert [row.labels for row in answer.rows] == [("1",), ("2",), ("3",)]
    oldest = [row.value for row in vault.ask(OLDEST, scale=4).rows]
    assert answer.notes == ("of each patient at most 3 rows count",)
    charges = vault.ledger.charges

    by_command = CliRunner().invoke(app, ["ask", str(vault.path), ASKED, "--scale", "4", "--json"])
    assert [row["value"] for row in json.loads(by_command.stdout)["rows"]] == values
    foreseen = CliRunner().invoke(app, ["ask", str(vault.path), ASKED, "--scale", "4", "--explain", "--json"])
    assert json.loads(foreseen.stdout)["cost"] in (0, "0", 0.0)

    allow_mysql(vault.path)
    token = add_user(vault.path, "ada", "analyst")
    client = TestClient(create_app(vault, slot=0, rate=0, deadline=None), headers={"Authorization": f"Bearer {token}"})
    over_http = client.post("/api/v1/ask", json={"sql": ASKED, "scale": 4})
    assert [row["value"] for row in over_http.json()["rows"]] == values
    assert over_http.json()["notes"] == ["of each patient at most 3 rows count"]
    refused = client.post("/api/v1/ask", json={"sql": "SELECT patient, COUNT(*) FROM visits GROUP BY patient"})
    assert "single people are never shown" in refused.text

    listening = socket.create_server(("127.0.0.1", 0))
    served = Served(vault, listening.getsockname()[1], token)
    with (
        serving_mysql(FrontDesk(vault, Bucket(0), slots=Slots(), deadline=None), listening, None),
        served.connect() as ada,
    ):
        rows(ada, "SET discreet_scale = 4")
        assert rows(ada, ASKED)[0] == [*zip((1, 2, 3), values, strict=True)]
        assert rows(ada, OLDEST)[0] == [*zip(("old", "young"), oldest, strict=True)]
    assert vault.ledger.charges == charges
    assert audit_vault(vault).holds
