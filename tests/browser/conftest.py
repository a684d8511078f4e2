"""A small demo vault behind a server, and the system's Chromium before it.

Where there is no Chromium these tests are skipped, with a line that says how to get it; where CI is set they fail.
SCREENSHOTS=docs/images PEOPLE=1000000 makes the pictures of the docs.
"""

import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright

from discreet.demo.console import new_tokens, prepare
from discreet.server.app import create_app
from discreet.vault import Vault
from tests.patience import PATIENCE, wait_until

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PEOPLE = int(os.environ.get("PEOPLE", "20000"))
expect.set_options(timeout=1000 * PATIENCE)
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@dataclass(frozen=True)
class Console:
    address: str
    tokens: dict[str, str]
    vault: Vault


@pytest.fixture(scope="module")  # gone when others run: Playwright keeps its process from running event loops
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        needed = "the console's tests need Chromium: apt-get install chromium"
        pytest.fail(needed, pytrace=False) if os.environ.get("CI") else pytest.skip(needed)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def console(tmp_path_factory):
    """The demo's vault, served; every test uses the same one."""
    with opened(prepare(tmp_path_factory.mktemp("console"), PEOPLE)) as found:
        yield found


@contextmanager
def opened(vault):
    """The console of a vault, with the demo's users."""
    tokens = new_tokens(vault)
    server = uvicorn.Server(uvicorn.Config(create_app(vault, rate=0, deadline=None), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Console(f"http://127.0.0.1:{port}", tokens, vault)
    server.should_exit = True
    thread.join()


@pytest.fixture
def enter(browser, console):
    """Sign in as one of the demo's users; at the end, the browser's console must have had nothing to complain of."""
    contexts, complaints = [], []

    def signed_in(name, viewport=DESK, **options):
        context = browser.new_context(base_url=console.address, viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"/login#token={console.tokens[name]}")
        page.wait_for_url("**/")
        page.goto("/ask")
        return page

    yield signed_in
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def picture(tmp_path):
    """Save what is to be seen, under a name: for the docs where SCREENSHOTS names their folder."""
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path))

    def save(page, name, **options):
        page.mouse.move(0, 0)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(120)
        page.screenshot(path=folder / f"console-{name}.png", **options)

    return save
