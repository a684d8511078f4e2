"""How the pages look and weigh: for everybody, on any screen, in little time."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE

pytestmark = pytest.mark.xdist_group("browser")

PAGES = (
    "/",
    "/ask",
    "/ask?sql=SELECT+region,+COUNT(*)+FROM+people+WHERE+age+>=+65+GROUP+BY+region&within=400&chart=dots",
    "/ask/curve?sql=SELECT+COUNT(*)+FROM+people",
    "/history",
    "/history?query=sql%3DSELECT",
    "/glossary",
    "/cube/census",
    "/cube/census?d.age=*&d.region=*&view=heat",
    "/cube/census?d.region=*&d.sex=*&view=table",
    "/lattice/census",
    "/budget",
    "/releases",
    "/releases/7",
    "/ledger",
    "/buckets?sql=SELECT+COUNT(*)+FROM+people+WHERE+age+>+60",
    "/plan",
    "/plan?cuboids=2&planner=bmaxg",
    "/facts",
    "/users",
    "/users?revoke=ana",
    "/buckets/publish",
)
MOST_BYTES = 200_000


@pytest.mark.parametrize(
    ("scheme", "viewport", "rules"),
    [("light", DESK, {}), ("dark", DESK, {"runOnly": ["color-contrast"]}), ("light", PHONE, {})],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_nothing_on_any_page(enter, scheme, viewport, rules):
    page, found = enter("demo", color_scheme=scheme, viewport=viewport), {}
    for path in PAGES:
        page.goto(path)
        violations = Axe().run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
        if violations:
            found[path] = [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in violations]
    assert found == {}


def test_axe_finds_nothing_on_an_answer_and_on_the_login_page(enter, browser, console):
    page = enter("ana")
    page.get_by_role("checkbox", name="sex", exact=True).check()
    page.get_by_role("button", name="Ask").click()
    page.wait_for_selector("#answer table")
    assert Axe().run(page).response["violations"] == []
    context = browser.new_context(base_url=console.address)
    entrance = context.new_page()
    entrance.goto("/login")
    assert Axe().run(entrance).response["violations"] == []
    context.close()


def test_no_page_is_wider_than_a_phone(enter, picture):
    picture(enter("ana", viewport=PHONE), "phone")
    page, wide = enter("demo", viewport=PHONE), {}
    for path in PAGES:
        page.goto(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            wide[path] = width
    assert wide == {}


def test_the_dark_console_is_dark(enter, picture):
    page = enter("ana", color_scheme="dark")
    page.goto("/cube/census?d.sex=*&d.region=*")
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert max(int(part) for part in ground[4:-1].split(",")) < 64
    picture(page, "dark")


def test_the_first_page_weighs_less_than_200_kilobytes_and_nothing_comes_from_elsewhere(enter, console):
    page = enter("ana")
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes, addresses = [], []
    client.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    client.on("Network.requestWillBeSent", lambda event: addresses.append(event["request"]["url"]))
    page.goto("/ask")
    page.wait_for_load_state("networkidle")
    assert len(sizes) >= 3
    assert sum(sizes) < MOST_BYTES
    assert {address[: len(console.address)] for address in addresses} == {console.address}


def test_everything_works_without_scripts(browser, console):
    context = browser.new_context(base_url=console.address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Your token").fill(console.tokens["ana"])
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("checkbox", name="sex", exact=True).check()
    page.get_by_role("button", name="What would it cost?").click()
    expect(page.locator("main")).to_contain_text("left there")
    page.go_back()
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer .kind").first).to_be_visible()
    page.goto("/cube/census")
    page.get_by_label("sex", exact=True).select_option("each value")
    page.get_by_label("region", exact=True).select_option("each value")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#view")).to_contain_text("36 cells")
    context.close()
