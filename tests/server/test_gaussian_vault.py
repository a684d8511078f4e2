"""A vault of (ε, δ), or of μ, behind a server: what is said over HTTP, in the console and by MySQL, in what numbers."""

import html
import re
from fractions import Fraction

import pytest
from starlette.testclient import TestClient

from discreet.audit.report import audit_vault
from discreet.ledger.gaussian_conversion import mu_squared_for
from discreet.ledger.gaussian_price import gaussian_price
from discreet.ledger.spend import UNITS, units_up
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.vault import Vault
from tests.server.conftest import finished
from tests.server.mysql_clients import rows, served_over_mysql

HERE = {"origin": "http://testserver"}
COUNT = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
WHOLE = mu_squared_for(Fraction(1), Fraction(1, 10**5))
"""The μ² of (1, 10⁻⁵)."""
PROMISE = (
    "differential privacy, ε = 1, δ = 1e-05 (by μ² ≈ 0.07185 of Gaussian DP), neighbours: add-remove (one person's row "
    "is added or removed)"
)


@pytest.fixture
def make(folder):
    def made(**budget):
        place = {"table": folder / "people.parquet", "domain": folder / "people.toml"}
        return Vault.init(folder / "vault", **place, neighbours="add-remove", **budget)

    return made


@pytest.fixture
def vault(make):
    return make(epsilon=1, delta="1e-5")


class Door:
    """One application, with clients of its API and of its pages."""

    def __init__(self, vault):
        self.vault, self.app = vault, create_app(vault, slot=0, rate=0, deadline=None)

    def api(self, name, role="analyst", quota=None):
        token = add_user(self.vault.path, name, role, quota=quota)
        return TestClient(self.app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")

    def pages(self, name, role="analyst", quota=None):
        """What a page says, by its path."""
        client = TestClient(self.app, follow_redirects=False)
        client.post("/login", data={"token": add_user(self.vault.path, name, role, quota=quota)}, headers=HERE)
        return lambda path, **data: plain(client.post(path, data=data, headers=HERE) if data else client.get(path))


def plain(reply):
    """The words of a page."""
    assert reply.status_code == 200, reply.text
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", reply.text.split("<main")[-1])))


class TestHTTP:
    def test_budget_explain_ask_and_the_release_count_in_one_currency(self, vault):
        ana = Door(vault).api("ana")
        told = ana.post("explain", json={"sql": COUNT, "scale": 20}).json()
        asked = ana.post("ask", json={"sql": COUNT, "scale": 20}).json()
        # d − d²/12 = 1/400, and one row moves one cell by 1.
        price = Fraction(units_up(gaussian_price(Fraction(400))), UNITS)
        assert float(price) == pytest.approx(1 / 400 * (1 + 1 / 4800), rel=1e-6)
        assert Fraction(told["cost"]) == Fraction(asked["cost"]) == price
        assert asked["share"] == pytest.approx(float(price / WHOLE))
        assert asked["guarantee"] == {
            "kind": "gaussian",
            "mu_squared": str(price),
            "neighbours": "add-remove",
            "max_rows": 1,
        }
        report = ana.get("budget").json()
        assert report["guarantee"] == {
            "kind": "gaussian",
            "epsilon": "1",
            "delta": "1/100000",
            "mu_squared": str(WHOLE),
            "neighbours": "add-remove",
            "max_rows": 1,
        }
        assert Fraction(report["spent"]) == price
        assert 0 <= WHOLE - Fraction(report["spent"]) - Fraction(report["left"]) < Fraction(1, UNITS)
        assert Fraction(report["by_user"]["ana"]) == price

    def test_a_cube_takes_a_part_of_mu_squared_and_of_nothing_else(self, vault):
        boss = Door(vault).api("boss", "custodian")
        for wrong in ({"epsilon": "0.1"}, {"rho": "0.01"}, {"epsilon": "0.1", "mu_squared": "0.01"}):
            reply = boss.post("cubes/one", json={**wrong, "cuboids": 1})
            assert (reply.status_code, reply.json()["error"]["kind"]) == (400, "InvalidBudget")
            assert "this vault's budget is μ²" in reply.json()["error"]["message"]
        plan = boss.post("cubes/plan", json={"mu_squared": "0.01", "cuboids": 1}).json()
        assert plan["affordable"]
        assert boss.post("cubes/one", json={"mu_squared": "0.01", "cuboids": 1}).status_code == 202
        assert finished(boss, "one")["state"] == "done"
        assert 0 <= Fraction(1, 100) - Fraction(boss.get("budget").json()["spent"]) < Fraction(1, 10**6)
        assert boss.get("cubes/one").json()["guarantee"] == (
            "Gaussian differential privacy, μ² = 0.01, neighbours: add-remove (one person's row is added or removed)"
        )
        assert audit_vault(vault.path).holds

    def test_a_quota_of_epsilon_is_the_mu_squared_of_it_and_is_said_as_a_part(self, vault):
        door = Door(vault)
        ana, boss = door.api("ana", quota="0.1"), door.api("boss", "custodian")
        quota = mu_squared_for(Fraction(1, 10), Fraction(1, 10**5))
        assert Fraction(ana.get("me").json()["quota"]) == quota
        assert boss.post("ask", json={"sql": "SELECT COUNT(*) FROM people", "scale": 40}).status_code == 200
        relaxed = ana.post("ask", json={"sql": COUNT, "scale": 20}).json()
        assert relaxed["cost"] == "0"
        assert any("ana has a quota of μ² ≈ 0.001058 (1.5% of ε 1, δ 1e-05)" in note for note in relaxed["notes"])
        assert audit_vault(vault.path).holds

    def test_a_vault_of_mu_says_mu_squared_everywhere(self, make):
        vault = make(mu="1/2")
        ana = Door(vault).api("ana", quota="0.1")
        assert ana.get("me").json()["quota"] == "0.1"
        assert ana.get("budget").json()["guarantee"] == {
            "kind": "gaussian",
            "mu_squared": "1/4",
            "neighbours": "add-remove",
            "max_rows": 1,
        }
        assert ana.post("ask", json={"sql": COUNT, "scale": 20}).json()["share"] == pytest.approx(0.01, rel=1e-3)


class TestConsole:
    def test_pages_say_the_promise_and_what_is_left_of_it(self, vault):
        page = Door(vault).pages("boss", "custodian")
        budget = page("/budget")
        assert f"promise {PROMISE}" in budget
        assert "left there 100% of ε 1, δ 1e-05" in budget  # though less than a unit of μ² is never spent
        asked = page("/ask", sql=COUNT, mode="sql")
        assert "1% of ε 1, δ 1e-05" in asked
        assert "left there 99% of ε 1, δ 1e-05" in page("/budget")
        assert "promise Gaussian differential privacy, μ² ≈ 0.0007185, neighbours: add-remove" in page("/releases/2")
        assert f"a vault over people: {PROMISE}" in page("/ledger")

    def test_a_cube_is_planned_in_mu_squared_with_its_part_of_the_promise(self, vault):
        plan = Door(vault).pages("boss", "custodian")("/plan")
        assert "μ² that the cube would spend, everywhere" in plan
        assert "cost μ² ≈ 0.007185, 10% of ε 1, δ 1e-05 of 0.0719 left where most is spent" in plan
        assert "Publish, and spend μ² 0.0071851404654" in plan

    def test_a_quota_is_given_in_epsilon_and_shown_as_a_part(self, vault):
        door = Door(vault)
        page = door.pages("boss", "custodian")
        door.api("ana", quota="0.1")
        users = page("/users")
        assert "quota, in ε or %" in users
        assert "ana analyst 0% of ε 1, δ 1e-05 1.5% of ε 1, δ 1e-05" in users

    def test_a_vault_of_mu_has_its_own_words(self, make):
        page = Door(make(mu="1/2")).pages("boss", "custodian")
        assert "promise Gaussian differential privacy, μ² = 0.25, neighbours: add-remove" in page("/budget")
        assert "left there μ² 0.25 of 0.25 · 100%" in page("/budget")
        assert "cost μ² = 0.025 of 0.25 left where most is spent" in page("/plan")
        assert "quota, in μ² or %" in page("/users")


def test_mysql_clients_are_told_what_part_of_epsilon_and_delta_was_spent(folder):
    with served_over_mysql(folder, epsilon=1, delta="1e-5") as server, server.connect() as ada:
        found, _ = rows(ada, COUNT)
        [(_, _, said)] = [line for line in rows(ada, "SHOW WARNINGS")[0] if "spent" in line[2]]
        assert said == "spent 1% of ε 1, δ 1e-05"
        again = server.vault.ask(COUNT)
        assert (again.kind, [row.value for row in again.rows]) == ("repeated", [n for _, n in found])
        assert again.guarantee.to_json()["kind"] == "gaussian"
        assert server.vault.budget().spent == pytest.approx(WHOLE / 100)
