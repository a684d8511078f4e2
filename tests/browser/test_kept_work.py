"""Work is kept: a question and its answer have an address, a history, a name; and looking at them spends nothing."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")


def test_an_answer_survives_reload_back_and_being_sent_to_somebody_else(enter, console, picture):
    page = enter("ana")
    page.goto("/ask")
    page.get_by_role("checkbox", name="education", exact=True).check()
    page.get_by_label("within ±").fill("500")
    expect(page.locator("#forecast")).to_contain_text("GROUP BY education")
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("#answer")
    expect(answer.locator("tbody tr")).to_have_count(8)
    charged, address = console.vault.ledger.charges, page.url
    assert "by=education" in address
    page.reload()
    expect(answer.locator("tbody tr")).to_have_count(8)
    expect(page.get_by_role("checkbox", name="education", exact=True)).to_be_checked()
    answer.get_by_role("link", name="Dots").click()
    expect(answer.locator(".bar .dot")).to_have_count(8)
    answer.get_by_role("link", name="count", exact=True).click()
    expect(answer.locator("th[aria-sort=descending]")).to_have_text("count")
    picture(page, "answer", full_page=True)
    answer.get_by_label("Lines with").fill("bach")
    expect(answer.locator("tbody tr")).to_have_count(1)
    page.go_back()
    expect(answer.locator("tbody tr")).to_have_count(8)
    expect(answer.locator("th[aria-sort=descending]")).to_have_count(0)
    colleague = enter("demo")
    colleague.goto(address)
    expect(colleague.locator("#answer tbody tr")).to_have_count(8)
    with colleague.expect_download() as saved:
        colleague.locator("#answer").get_by_role("link", name="CSV").click()
    assert len(saved.value.path().read_text().splitlines()) == 9
    auditor = enter("otto")
    auditor.goto(address)
    expect(auditor.locator("#forecast")).to_contain_text("free")
    expect(auditor.locator("#answer table")).to_have_count(0)
    assert console.vault.ledger.charges == charged


def test_a_line_of_ages_shows_its_band(enter, picture):
    page = enter("ana")
    page.goto("/ask?sql=SELECT+age,+COUNT(*)+FROM+people+GROUP+BY+age&within=600")
    page.get_by_role("button", name="Ask").click()
    page.locator("#answer").get_by_role("link", name="Line", exact=True).click()
    expect(page.locator("#answer svg.chart .band")).to_have_count(1)
    assert Axe().run(page).response["violations"] == []
    picture(page, "line", full_page=True)


def test_a_question_is_found_again_in_the_history_and_under_a_name(enter, console, picture):
    page = enter("ana")
    page.goto("/ask?sql=SELECT+COUNT(*)+FROM+people+WHERE+age+>+70&within=500")
    page.get_by_role("button", name="Ask").click()
    page.locator("#answer").get_by_role("link", name="Keep").click()
    page.get_by_label("keep this question as").fill("the old")
    page.get_by_label("a note").fill("for the report of May")
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("region", name="Questions that you keep")).to_contain_text("for the report of May")
    assert Axe().run(page).response["violations"] == []
    picture(page, "history", full_page=True)
    charged = console.vault.ledger.charges
    page.get_by_role("link", name="the old", exact=True).click()
    expect(page.locator("#answer .figure .value")).to_be_visible()
    assert console.vault.ledger.charges == charged
    page.goto("/history")
    page.get_by_role("button", name="Forget the old").click()
    expect(page.get_by_text("Nothing is kept yet")).to_be_visible()
