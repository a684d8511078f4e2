"""A domain is edited in a real browser: mistakes while one types, the table, how it fits, and saving."""

import re
import threading

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from discreet.server.editor.app import create_editor
from discreet.server.editor.file import DomainFile
from tests.browser.conftest import DESK, PHONE
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.xdist_group("browser")

TOKEN = "c" * 64


@pytest.fixture
def file(tmp_path):
    lines = ["age,sex,town", *["41,F,Bern"] * 60, *["17,M,bern"] * 30, *["200,M,Basel"] * 10]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return DomainFile(tmp_path / "people.toml", str(tmp_path / "people.csv"))


@pytest.fixture
def page(browser, file):
    server = uvicorn.Server(uvicorn.Config(create_editor(file, TOKEN), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    context = browser.new_context(base_url=address, viewport=DESK)
    shown, complaints = context.new_page(), []
    shown.set_default_timeout(1000 * PATIENCE)
    shown.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on("dialog", lambda asked: asked.accept())
    shown.goto(f"/login#token={TOKEN}")
    shown.wait_for_url("**/")
    yield shown
    context.close()
    server.should_exit = True
    thread.join()
    assert complaints == []


DOMAIN = """\
name = "people"

[attributes.age]
kind = "integer"
low = 0
high = 120
source = "law"

[attributes.town]
kind = "category"
values = ["Bern", "Basel"]
source = "map"
"""


def test_a_domain_is_written_with_checks_while_one_types_tried_on_the_table_and_saved(page, file, picture):
    text, found = page.get_by_role("textbox", name="The domain"), page.locator("#found")
    expect(text).to_have_value(text.input_value())
    assert "[attributes.sex]" in text.input_value()
    expect(found).to_contain_text("3 things to mend")

    text.fill(DOMAIN.replace("high = 120", "high = -1"))
    expect(found).to_contain_text("1 thing to mend")
    expect(page.locator("#gutter .wrong")).to_have_text("5\n", use_inner_text=False)
    page.get_by_role("link", name="line 5").click()
    selected = "e => e.value.slice(e.selectionStart, e.selectionEnd)"
    assert text.evaluate(selected) == "low = 0"
    picture(page, "editor-wrong")

    text.fill(DOMAIN)
    expect(page.get_by_role("heading", name="The domain is well formed")).to_be_visible()
    expect(page.locator("#gutter .wrong")).to_have_count(0)
    expect(page.get_by_role("region", name="Attributes")).to_contain_text("Bern, Basel")
    page.get_by_role("link", name="town", exact=True).click()
    assert text.evaluate(selected) == "[attributes.town]"

    page.get_by_role("button", name="Does it fit").click()
    expect(found).to_contain_text("100 rows read, 60 kept, 40 lost.")
    expect(found).to_contain_text("ignore_case = true would read 30 rows")
    expect(found).to_contain_text("Exact and confidential")
    picture(page, "editor")
    assert Axe().run(page).response["violations"] == []

    assert not file.path.exists()
    text.press("Control+s")
    expect(page.get_by_role("status")).to_have_text("Saved.")
    assert file.path.read_text() == DOMAIN
    text.fill(DOMAIN + "# and more\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    wait_until(lambda: file.path.read_text().endswith("# and more\n"))


def test_the_editor_fits_a_phone_and_nobody_gets_in_without_the_token(page, browser):
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    context = browser.new_context(base_url=page.url)
    other = context.new_page()
    other.goto("/")
    assert other.url.endswith("/login")
    assert Axe().run(other).response["violations"] == []
    other.get_by_label("Your token").fill("wrong")
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("alert")).to_have_text("that is not the token")
    context.close()


def test_the_printed_address_lets_in_where_the_sign_in_page_stands_already(page):
    page.context.clear_cookies()
    page.goto("/")
    expect(page).to_have_url(re.compile("/login$"))
    page.goto(f"/login#token={TOKEN}")
    expect(page.get_by_role("textbox", name="The domain")).to_be_visible()
