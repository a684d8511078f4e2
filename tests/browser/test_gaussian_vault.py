"""A vault of (ε, δ) in a browser: what a custodian reads and does from the budget to a published cube."""

import pytest
from playwright.sync_api import expect

from discreet.audit.report import audit_vault
from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault
from tests.browser.conftest import opened

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gaussian")
    write_census(folder / "people.parquet", 2000)
    vault = Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=census_domain_path(),
        epsilon=1,
        delta="1e-5",
        neighbours="replace",
    )
    with opened(vault) as found:
        yield found


def test_a_custodian_asks_plans_and_publishes_and_reads_the_same_promise_throughout(enter, console):
    page = enter("demo")
    page.get_by_role("link", name="Budget").click()
    expect(page.locator("main")).to_contain_text("100% of ε 1, δ 1e-05")
    expect(page.locator("main")).to_contain_text("ε = 1, δ = 1e-05 (by μ² ≈ 0.07185 of Gaussian DP)")
    page.goto("/plan?cuboids=1&dimensions=sex&dimensions=region")
    expect(page.locator("#view")).to_contain_text("μ² ≈ 0.007185, 10% of ε 1, δ 1e-05")
    page.get_by_label("publish as").fill("small")
    page.get_by_role("button", name="Publish, and spend μ² 0.0071851404654").click()
    page.wait_for_url("**/cube/small*")
    expect(page.locator("main")).to_contain_text("Gaussian differential privacy, μ² ≈ 0.007185")
    assert float(console.vault.budget().spent) == pytest.approx(0.0071851404654, abs=1e-9)
    page.get_by_role("link", name="Budget").click()
    expect(page.locator("main")).to_contain_text("90% of ε 1, δ 1e-05")
    assert audit_vault(console.vault.path).holds
