"""What only a custodian does, in a real browser: users, facts, buckets; and what others see of it.

It changes the vault that all of these tests share, so it is walked last.
"""

import re

import pytest
from playwright.sync_api import expect

from discreet.server.auth import authenticate, list_users
from discreet.server.console.plan import PLANNERS
from tests.browser.conftest import PEOPLE

pytestmark = pytest.mark.xdist_group("browser")


def test_a_custodian_adds_a_user_who_signs_in_with_the_address_and_is_then_revoked(enter, console, picture):
    page = enter("demo")
    page.get_by_role("link", name="Users").click()
    page.get_by_label("name", exact=True).fill("carol")
    page.get_by_label("quota, in ε or % (analysts)").fill("0.05")
    page.get_by_label("token good").select_option("for 30 days")
    page.get_by_role("button", name="Add, and show the token").click()
    expect(page.get_by_role("heading", name="carol may now ask as analyst")).to_be_visible()
    token, door = (
        page.get_by_label("token", exact=True).input_value(),
        page.get_by_label("address that signs").input_value(),
    )
    carol = authenticate(console.vault.path, token)
    assert (carol.name, str(carol.quota), carol.expires is None) == ("carol", "1/20", False)
    assert door == f"{console.address}/login#token={token}"
    page.get_by_role("button", name="Copy").first.click()
    picture(page, "users", full_page=True)
    page.goto("/users")
    assert token not in page.content()
    page.get_by_role("link", name="Revoke carol").click()
    page.get_by_role("button", name="Revoke carol").click()
    expect(page.get_by_role("heading", name="Who has a token")).to_be_visible()
    assert "carol" not in [user.name for user in list_users(console.vault.path)]


def test_a_user_that_makes_no_sense_is_refused_in_words_and_the_form_is_kept(enter):
    page = enter("demo")
    page.goto("/users")
    page.get_by_label("name", exact=True).fill("dan")
    page.get_by_label("role", exact=True).select_option("auditor: looks, and spends nothing")
    page.get_by_label("quota, in ε or % (analysts)").fill("0.05")
    page.get_by_role("button", name="Add, and show the token").click()
    expect(page.get_by_role("alert")).to_contain_text("a quota is for analysts")
    expect(page.get_by_label("name", exact=True)).to_have_value("dan")


def test_the_log_says_who_asked_what_and_an_auditor_reads_it_but_adds_nobody(enter, console):
    enter("ana").request.post(
        "/api/v1/ask", data={"sql": "SELECT COUNT(*) FROM people WHERE age >= 65"}, headers={"Origin": console.address}
    )
    page = enter("otto")
    page.get_by_role("link", name="Users").click()
    view = page.locator("#view")
    expect(view).to_contain_text("SELECT COUNT(*) FROM people WHERE age >= 65")
    page.get_by_label("by", exact=True).select_option("otto")
    expect(view).not_to_contain_text("WHERE age >= 65")
    expect(view).to_contain_text("explain")  # what a page shows of a question beforehand is in the log as well
    assert page.get_by_role("button", name="Add, and show the token").count() == 0
    assert page.get_by_role("link", name=re.compile("Revoke")).count() == 0


def test_an_analyst_has_no_page_of_users_and_nothing_to_publish_with(enter):
    page = enter("ana")
    assert page.get_by_role("link", name="Users").count() == 0
    page.goto("/buckets")
    assert page.get_by_role("link", name="Publish buckets").count() == 0


def test_a_custodian_adds_a_fact_after_saying_that_it_stays(enter, console, picture):
    page = enter("demo")
    page.get_by_role("link", name="Facts").click()
    page.get_by_label("a count, or a sum of counts, in SQL").fill("SELECT COUNT(*) FROM people")
    page.get_by_label("its exact value").fill(f"{PEOPLE:,}")
    page.get_by_role("button", name="Add the fact").click()
    assert not console.vault.ledger.facts  # the browser asks for the tick first
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Add the fact").click()
    expect(page.get_by_role("heading", name="is accounted for")).to_be_visible()
    assert len(console.vault.ledger.facts) == 1
    picture(page, "facts", full_page=True)


def test_a_custodian_publishes_buckets_and_sees_before_what_is_known_of_the_limits(enter, console, picture):
    page = enter("demo")
    page.get_by_role("link", name="Buckets").click()
    page.get_by_role("link", name="Publish buckets").click()
    view = page.locator("#view")
    expect(view).to_contain_text("whatever the table holds")
    page.get_by_label("the sensitive attribute").select_option("education")
    page.get_by_label("limit of a value").fill("0.1")
    expect(view).to_contain_text("No table meets these limits")
    page.get_by_label("limit of a value").fill("0.5")
    expect(view).to_contain_text("where no value is more frequent than 0.5")
    page.get_by_label("limit of a value").fill("min(1, 3*f + 0.1)")
    for name in ("occupation", "income"):
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    expect(view).to_contain_text("whatever the table holds")
    picture(page, "publish", full_page=True)
    page.get_by_label("publish as").fill("schooling")
    page.get_by_role("checkbox", name="The earlier publication never left our hands").check()
    page.get_by_role("checkbox", name="Rows of real people leave the vault").check()
    page.get_by_role("button", name="Publish the rows").click()
    expect(page.get_by_role("region", name="schooling")).to_contain_text("education is missing in")
    expect(page.get_by_label("limit of a value")).to_have_value("min(1, 3*f + 0.1)")
    page.get_by_role("checkbox", name="A missing value is a value like others").check()
    page.get_by_role("checkbox", name="Rows of real people leave the vault").check()
    page.get_by_role("button", name="Publish the rows").click()
    page.wait_for_url("**/buckets?name=schooling")
    expect(page.get_by_role("heading", name="Buckets schooling")).to_be_visible()
    assert console.vault.ledger.latest("buckets")["state"] == "published"


def test_every_planner_plans_here_and_cuboids_may_be_small_ones_only(enter):
    page = enter("ana")
    view = page.locator("#view")
    for planner in PLANNERS:
        page.goto(f"/plan?planner={planner}&cuboids=2&dimensions=age&dimensions=sex&dimensions=region")
        # And the finest, where that is what is measured; of what is chosen as one goes, what is measured at first.
        expect(view).to_contain_text(re.compile("4 cuboids" if planner == "adaptive" else "[78] cuboids"))
    page.get_by_label("cuboids of").select_option("1 dimension")
    expect(view).to_contain_text(re.compile("[45] cuboids"))
