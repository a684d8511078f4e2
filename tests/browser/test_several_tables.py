"""A vault over several tables in a browser: an analyst finds the tables, joins them as one types, and sees what is left
by a person's own attributes and by those of their rows."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, opened
from tests.server.hospital import make_hospital

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    with opened(make_hospital(tmp_path_factory.mktemp("hospital"))) as found:
        yield found


def test_the_first_page_names_the_tables_and_asks_of_each(enter):
    page = enter("ana")
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("patients, encounters, prescriptions")
    expect(page.locator("#published ~ .pairs")).to_contain_text("ward · up to 3 rows of a person")
    page.get_by_role("link", name="How many encounters by sex?").click()
    expect(page.locator("#told")).to_contain_text("of each patient at most 3 rows count")
    assert Axe().run(page).response["violations"] == []


def test_a_table_is_picked_and_clicks_become_sql_of_it(enter):
    page = enter("ana")
    page.goto("/ask")
    page.get_by_role("navigation", name="Of which table").get_by_role("link", name="prescriptions").click()
    page.get_by_role("group", name="for each").get_by_role("checkbox", name="drug").check()
    expect(page.locator("#told")).to_contain_text("SELECT drug, COUNT(*) FROM prescriptions GROUP BY drug")
    assert "table=prescriptions" in page.url
    page.reload()
    expect(page.locator("#told")).to_contain_text("FROM prescriptions GROUP BY drug")
    assert Axe().run(page).response["violations"] == []


def test_a_join_along_a_key_is_completed_and_so_are_its_columns(enter, console):
    page = enter("ana")
    charged = console.vault.ledger.charges
    page.get_by_role("radio", name="SQL").check()
    sql, offers = page.get_by_label("SQL over patients, encounters, prescriptions"), page.get_by_role("listbox")
    sql.fill("")
    sql.press_sequentially("SELECT COUNT(*) FROM encounters e JOIN pat")
    expect(offers).to_contain_text("patients ON e.patient = patients.patient")
    sql.press("ArrowDown")
    sql.press("Enter")
    expect(sql).to_have_value("SELECT COUNT(*) FROM encounters e JOIN patients ON e.patient = patients.patient")
    sql.press_sequentially(" WHERE e.w")
    expect(offers.get_by_role("option")).to_have_count(1)
    expect(offers).to_contain_text("ward")
    sql.press("Tab")
    sql.press_sequentially(" = 'a")
    sql.press("Tab")
    expect(page.locator("#told")).to_contain_text("left there")
    sql.fill("")
    sql.press_sequentially("SELECT COUNT(*) FROM encounters a JOIN encounters b ON a.patient = b.patient")
    expect(page.locator("#told .refusal")).to_contain_text("a table is not joined with itself")
    assert console.vault.ledger.charges == charged


def test_a_statement_over_two_tables_is_priced_asked_and_repeated(enter, console):
    page = enter("ana")
    page.goto("/ask?sql=SELECT+(SELECT+COUNT(*)+FROM+encounters)*1.0/(SELECT+COUNT(*)+FROM+patients)+AS+each")
    expect(page.locator("#told")).to_contain_text("COUNT(*) of encounters")
    before = console.vault.ledger.charges
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("spent")
    assert console.vault.ledger.charges == before + 2
    page.goto("/releases")
    expect(page.locator("tbody")).to_contain_text("FROM patients")
    page.get_by_role("row", name="FROM encounters").first.get_by_role("link").click()
    expect(page.locator("main")).to_contain_text("FROM encounters")


def test_the_map_of_what_is_left_is_of_a_table_with_a_persons_own_attributes_apart(enter):
    page = enter("demo")
    page.goto("/budget")
    page.get_by_role("navigation", name="Of which table").get_by_role("link", name="encounters").click()
    across = page.get_by_label("to the right")
    expect(across.locator("optgroup").first).to_have_attribute("label", "encounters: up to 3 rows of a person")
    expect(across.locator("optgroup").last).to_have_attribute("label", "patients: one row of each person")
    across.select_option("ward")
    expect(page.locator("#view")).to_contain_text("a person has one budget for all of them")
    assert "table=encounters" in page.url
    page.get_by_label("counts of encounters with").fill("ward = 'a' AND sex = 'F'")
    expect(page.locator("#view")).not_to_contain_text("no attribute")
    assert Axe().run(page).response["violations"] == []


def test_nothing_is_wider_than_a_phone(enter):
    page = enter("demo", PHONE)
    for address in (
        "/",
        "/ask?mode=pick&table=prescriptions",
        "/ask?sql=SELECT+1",
        "/budget?table=encounters",
        "/plan",
    ):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], address
