"""The whole walk through the console, as an analyst and as a custodian, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")

RELAXED = "SELECT COUNT(*) FROM people WHERE region = 'Arden' AND income >= 20000 AND age BETWEEN 30 AND 60"


def test_an_analyst_asks_by_clicks_and_sees_the_cost_before_and_the_answer_with_its_intervals(enter, console, picture):
    page = enter("ana")
    page.get_by_role("checkbox", name="sex", exact=True).check()
    page.get_by_label("age from").select_option(label="26")
    page.get_by_label("within ±").fill("400")
    forecast = page.locator("#forecast")
    expect(forecast).to_contain_text("SELECT sex, COUNT(*) FROM people WHERE age >= 26 GROUP BY sex")
    expect(forecast).to_contain_text("measured × 3")
    charged = console.vault.ledger.charges
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("#answer")
    expect(answer.get_by_text("measured", exact=True)).to_be_visible()
    assert answer.locator("tbody tr").count() == 3
    assert answer.locator("tbody .whisker").count() == 3
    assert console.vault.ledger.charges == charged + 1
    expect(forecast).to_contain_text("free")
    picture(page, "ask", full_page=True)
    page.get_by_role("button", name="Ask").click()
    expect(answer.get_by_text("repeated", exact=True)).to_be_visible()
    assert console.vault.ledger.charges == charged + 1


def test_clicks_become_sql_that_can_be_edited_and_sent_from_the_keyboard(enter):
    page = enter("ana")
    page.get_by_text("region").nth(1).click()
    page.get_by_role("checkbox", name="Arden").check()
    expect(page.locator("#forecast [data-sql]")).to_contain_text("region = 'Arden'")
    page.get_by_role("radio", name="SQL").check()
    sql = page.get_by_label("SQL over people")
    expect(sql).to_have_value("SELECT COUNT(*) FROM people WHERE region = 'Arden'")
    sql.fill("SELECT COUNT(*) FROM people WHERE region = 'Belmont'")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer .figure .value")).to_have_text(re.compile(r"^[\d,.]+$"))


def test_a_question_that_cannot_be_asked_says_why_and_what_to_do(enter):
    page = enter("ana")
    page.get_by_role("radio", name="SQL").check()
    page.get_by_label("SQL over people").fill("SELECT name FROM people")
    expect(page.locator("#forecast .refusal")).to_be_visible()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_relaxed_answer_draws_the_asked_and_the_answered_region_over_each_other(enter, picture):
    page = enter("ana")
    page.get_by_role("radio", name="SQL").check()
    page.get_by_label("SQL over people").fill(RELAXED)
    page.get_by_label("within ±").fill("30")
    expect(page.locator("#forecast")).to_contain_text("the answer will be relaxed")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer").get_by_text("relaxed", exact=True)).to_be_visible()
    assert page.locator("#answer .overlap .strip").count() >= 1
    assert page.locator("#answer .overlap rect.both").count() >= 1
    picture(page, "relaxed", full_page=True)


def test_an_analyst_browses_the_cube_by_slices_and_roll_ups(enter, picture):
    page = enter("ana")
    page.get_by_role("link", name="Cube").click()
    view = page.locator("#view")
    page.get_by_label("sex", exact=True).select_option("each value")
    page.get_by_label("region", exact=True).select_option("each value")
    expect(view).to_contain_text("36 cells")
    picture(page, "cube")
    view.get_by_role("link", name="Heat map").click()
    expect(view.locator("svg[data-heat]")).to_be_visible()
    page.get_by_label("sex", exact=True).select_option("")
    page.get_by_label("age", exact=True).select_option("each value")
    expect(view).to_contain_text("1,200 cells")
    view.locator("svg[data-heat]").hover(position={"x": 500, "y": 100})
    expect(view.locator("figure output")).to_contain_text("±")
    picture(page, "heat")
    view.get_by_role("link", name="Table").click()
    view.get_by_role("link", name="Arden").first.click()
    expect(view).to_contain_text("100 cells")
    expect(page.get_by_label("region", exact=True)).to_have_value("1")
    view.get_by_role("link", name="Roll region Arden up").click()
    expect(page.get_by_label("region", exact=True)).to_have_value("")
    with page.expect_download() as saved:
        view.get_by_role("link", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0].replace('"', "") == "age,count,low,high"
    assert len(lines) == 101
    page.go_back()
    expect(page.get_by_label("region", exact=True)).to_have_value("1")


def test_an_analyst_rolls_a_hierarchy_up_and_goes_down_into_a_group(enter):
    page = enter("ana")
    page.get_by_role("link", name="Cube").click()
    view, occupation = page.locator("#view"), page.get_by_label("occupation", exact=True)
    page.get_by_label("sex", exact=True).select_option("")
    occupation.select_option("groups, level 1")
    expect(view).to_contain_text("3 cells, each with its own interval at 95%")
    view.get_by_role("link", name="not at work", exact=True).click()
    expect(occupation).to_have_value("*2")
    expect(view.get_by_role("link", name="without work", exact=True)).to_be_visible()
    with page.expect_download() as saved:
        view.get_by_role("link", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0].replace('"', "") == "occupation_group2,count,low,high"
    view.get_by_role("link", name="office", exact=True).click()
    expect(view.get_by_role("link", name="clerk", exact=True)).to_be_visible()
    page.go_back()
    expect(occupation).to_have_value("*2")
    page.reload()
    expect(page.get_by_label("occupation", exact=True)).to_have_value("*2")


@pytest.mark.parametrize(
    ("link", "sees"),
    [
        ("Lattice", "Noise was added to the ringed cuboids"),
        ("Budget", "How many more questions"),
        ("Releases", "SELECT region, COUNT(*) FROM people WHERE age >= 65"),
        ("Ledger", "a vault over people"),
        ("Buckets", "not differential privacy"),
        ("Plan", "Before publishing"),
    ],
)
def test_every_page_is_a_link_away_and_shows_what_there_is(enter, picture, link, sees):
    page = enter("ana")
    page.get_by_role("link", name=link).click()
    expect(page.locator("main")).to_contain_text(sees)
    expect(page.get_by_role("link", name=link, exact=True)).to_have_attribute("aria-current", "page")
    picture(page, link.lower(), full_page=link in ("Budget", "Plan"))


def test_the_budget_page_counts_the_questions_of_a_region_as_it_is_typed(enter):
    page = enter("otto")
    page.get_by_role("link", name="Budget").click()
    left = page.locator("#view").get_by_text("is left there")
    everywhere = left.inner_text()
    page.get_by_label("counts of people with").fill("region = 'Lowmarsh' AND age < 10")
    expect(left).not_to_have_text(everywhere)
    assert page.get_by_label("counts of people with").evaluate("field => field === document.activeElement")


def test_an_auditor_looks_and_has_nothing_to_ask_with(enter):
    page = enter("otto")
    expect(page.get_by_text("otto may look, but not ask.")).to_be_visible()
    assert page.get_by_role("button", name="Ask", exact=True).count() == 0


def test_a_custodian_drags_epsilon_and_publishes_a_cube(enter, console):
    page = enter("demo")
    page.get_by_role("link", name="Plan").click()
    view = page.locator("#view")
    page.get_by_role("checkbox", name="age").uncheck()
    page.get_by_role("checkbox", name="region").uncheck()
    expect(view).to_contain_text("4 cuboids")
    before = view.locator("dd").nth(1).inner_text()
    page.get_by_role("slider").press("Home")
    expect(page.locator("output[for=step]")).to_have_text("0.001")
    expect(view.locator("dd").nth(1)).not_to_have_text(before)
    expect(view).to_contain_text("ε = 0.001")
    page.get_by_label("publish as").fill("small")
    page.get_by_role("button", name="Publish, and spend ε 0.001").click()
    page.wait_for_url("**/cube/small")
    expect(page.locator("#view")).to_contain_text("cells")
    assert "small" in [path.name for path in (console.vault.path / "cubes").iterdir()]


def test_signing_out_ends_it_and_a_wrong_token_is_refused_in_words(enter, browser, console):
    page = enter("ana")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_focused()
    page.goto("/budget")
    assert page.url.endswith("/login?next=/budget")
    context = browser.new_context(base_url=console.address)  # a refusal is a line in its console, and rightly
    stranger = context.new_page()
    stranger.goto("/login")
    stranger.get_by_label("Your token").fill("0" * 64)
    stranger.keyboard.press("Enter")
    expect(stranger.get_by_role("alert")).to_contain_text("not known here")
    context.close()


def test_the_token_leaves_the_address_and_no_script_can_read_it(enter, console):
    page = enter("ana")
    assert console.tokens["ana"] not in page.url
    assert page.evaluate("document.cookie") == ""
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
