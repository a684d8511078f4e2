"""A folder of vaults in a browser: sign in once, choose a vault, ask there, come back, sign out; at a sub-path too."""

import threading

import pytest
import uvicorn
from playwright.sync_api import expect

from discreet.server.auth import add_user, share_user
from discreet.server.run import Pace, many
from tests.patience import PATIENCE, wait_until
from tests.server.test_folder import make_vault

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module", params=["", "/statistics"], ids=["root", "sub-path"])
def offices(request, tmp_path_factory):
    """Two vaults behind a server, its address, and a token that asks one and looks at the other."""
    folder = tmp_path_factory.mktemp("browsed") / "offices"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder.parent))
        for name in ("health", "tax"):
            make_vault(folder, name)
        token = add_user(folder / "health", "ana", "custodian")
        share_user(folder / "tax", "ana", "auditor", folder / "health")
        app = many(folder, Pace(rate=0, slot=0, deadline=0), None, request.param).app()
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        thread = threading.Thread(target=server.run)
        thread.start()
        wait_until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{request.param}", token, folder
        server.should_exit = True
        thread.join()


def test_one_sign_in_opens_the_catalogue_and_each_vault_at_its_own_address(browser, offices):
    address, token, folder = offices
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    complaints = []
    page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    page.goto(f"{address}/v/tax/budget")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/v/tax/budget")
    page.get_by_role("link", name="All vaults").click()
    page.wait_for_url(f"{address}/")
    table = page.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table).to_contain_text("ana, auditor")

    table.get_by_role("link", name="health").click()
    page.wait_for_url(f"{address}/v/health/")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("radio", name="SQL").check()
    page.get_by_label("SQL over people").fill("SELECT COUNT(*) FROM people WHERE age < 30")
    expect(page.locator("#forecast")).to_contain_text("measured")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("measured")
    page.get_by_role("link", name="Ledger", exact=True).click()
    page.wait_for_url(f"{address}/v/health/ledger")
    page.get_by_role("link", name="Users", exact=True).click()
    page.get_by_label("name", exact=True).fill("bo")
    page.get_by_role("button", name="Add", exact=False).first.click()
    expect(page.get_by_text("bo", exact=True).first).to_be_visible()
    assert page.url.startswith(f"{address}/v/health/users")

    (folder / "tax").rename(folder.parent / "tax")
    page.goto(f"{address}/")
    expect(table.get_by_role("row")).to_have_count(2)
    (folder.parent / "tax").rename(folder / "tax")
    (folder / "tax" / "journal.sqlite").rename(folder / "tax" / "journal.away")
    page.goto(f"{address}/")
    expect(table).to_contain_text("tax cannot be opened now")
    (folder / "tax" / "journal.away").rename(folder / "tax" / "journal.sqlite")

    page.goto(f"{address}/v/health/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{address}/login")
    page.goto(f"{address}/v/health/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert not complaints
    context.close()
