"""The SQL editor: completion, highlighting, help, and a mistake at its place; the plan and the price as one types."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")


def test_words_columns_and_values_are_completed_and_mistakes_underlined(enter, console, picture):
    page = enter("ana")
    charged = console.vault.ledger.charges
    page.get_by_role("radio", name="SQL").check()
    sql, offers = page.get_by_label("SQL over people"), page.get_by_role("listbox")
    sql.fill("")
    sql.press_sequentially("SELECT COUNT(*) FROM people WHERE reg")
    expect(offers).to_contain_text("region")
    sql.press("ArrowDown")
    sql.press("Enter")
    expect(sql).to_have_value("SELECT COUNT(*) FROM people WHERE region")
    expect(offers).to_be_hidden()
    sql.press_sequentially(" = 'ard")
    sql.press("Tab")
    expect(sql).to_have_value("SELECT COUNT(*) FROM people WHERE region = 'Arden'")
    expect(page.locator(".painted .keyword")).to_have_text(["SELECT", "FROM", "WHERE"])
    expect(page.locator("#told")).to_contain_text("left there")
    sql.press_sequentially(" AND aeg > 5")
    expect(page.locator(".painted .wrong")).to_have_text("aeg")
    expect(page.locator("#told .refusal")).to_contain_text("did you mean age")
    assert Axe().run(page).response["violations"] == []
    picture(page, "sql")
    page.reload()
    expect(sql).to_have_value("SELECT COUNT(*) FROM people WHERE region = 'Arden' AND aeg > 5")
    assert console.vault.ledger.charges == charged


def test_the_schema_and_the_constructs_beside_it_are_written_by_a_click(enter):
    page = enter("ana")
    page.goto("/ask?sql=SELECT+COUNT(*)+FROM+people+WHERE")
    page.get_by_role("button", name="region", exact=True).click()
    page.get_by_text("What can be written").click()
    page.get_by_role("button", name="IS NULL").click()
    expect(page.get_by_label("SQL over people")).to_have_value("SELECT COUNT(*) FROM people WHERE region IS NULL")
    expect(page.locator("#told")).to_contain_text("left there")


def test_dragging_along_the_curve_sets_the_accuracy_and_its_price(enter, console):
    page = enter("ana")
    charged = console.vault.ledger.charges
    page.goto("/ask?sql=SELECT+COUNT(*)+FROM+people+WHERE+age+<+20")
    slider = page.get_by_label("accuracy", exact=True)
    expect(slider).to_be_visible()
    slider.fill("6")
    expect(page.get_by_label("within ±")).not_to_have_value("")
    least = page.locator("button.primary [data-price]").inner_text()
    slider.fill("4")
    expect(page.locator("button.primary [data-price]")).not_to_have_text(least)
    assert console.vault.ledger.charges == charged


def test_what_spends_much_is_asked_back_for(enter, console):
    page = enter("ana")
    charged = console.vault.ledger.charges
    page.goto("/ask?sql=SELECT+COUNT(*)+FROM+people+WHERE+age+<+10&within=30")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("heading", name="This spends much")).to_be_visible()
    assert console.vault.ledger.charges == charged
    page.get_by_role("button", name="Spend it, and ask").click()
    expect(page.locator("#answer .figure .value")).to_be_visible()
    assert console.vault.ledger.charges == charged + 1


def test_the_first_page_says_what_there_is(enter, picture):
    page = enter("ana")
    page.get_by_role("link", name="Start").click()
    expect(page.get_by_role("heading", name="Begin here")).to_be_visible()
    picture(page, "start", full_page=True)
