"""The console: what its first page weighs and how soon it can be used, and how long a large cube keeps one waiting."""

import itertools
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure
from bench.ledger import state_home
from discreet.demo.console import prepare
from discreet.server.shelf import CUBES

PEOPLE = 1_000_000
DIMENSIONS = ("age", "sex", "region", "occupation", "income")
"""A cube of 1,071,408 cells."""
OPENINGS = 7
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        vault = prepare(Path(folder), PEOPLE)
        cube = vault.cubes.publish(vault.cubes.plan(epsilon="0.05", dimensions=DIMENSIONS))
        cube.save(vault.path / CUBES / "million")
        cells, codes = cube.describe()["cells"], {d.name: len(d.labels) for d in cube.dimensions}
        vault.ledger.close()
        with serving(folder) as (address, token):
            waits = sorted(browse(address, token, codes))
            note = f"{len(waits)} views of {cells:,} cells, in the middle {1000 * statistics.median(waits):.0f} ms"
            yield Figure("slowest view of a cube of 10^6 cells", 1000 * waits[-1], 200, "lower", "ms", note)
            yield from first_page(address, token)


@contextmanager
def serving(folder: str) -> Iterator[tuple[str, str]]:
    """The console in a process of its own: its address, and a token."""
    run = "from discreet.cli import main; main()"
    command = [sys.executable, "-c", run, "demo", folder, "--console", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = next(filter(None, (re.search(r"(http\S+)/login#token=(\S+)", line) for line in server.stdout)))
            yield found[1], found[2]
        finally:
            server.terminate()


def browse(address: str, token: str, codes: dict[str, int]) -> Iterator[float]:
    """Seconds of every view by at most two dimensions, and of slices and far pages of the finest."""
    chosen = [names for some in range(3) for names in itertools.combinations(codes, some)]
    views = [{**{f"d.{name}": "*" for name in names}, "view": view} for names in chosen for view in ("bars", "heat")]
    finest = {f"d.{name}": "*" for name in codes}
    views += [{**finest, "view": "table", "page": str(page)} for page in (0, 77, 6900)]
    views += [{**finest, f"d.{name}": str(size - 1), "view": "bars"} for name, size in codes.items()]
    read(address, token, views[0])  # the first one loads the cube, which the server does when it starts
    for view in views:
        started = time.perf_counter()
        read(address, token, view)
        yield time.perf_counter() - started


def read(address: str, token: str, view: dict[str, str]) -> bytes:
    headers = {"Cookie": f"discreet={token}", "X-Part": "1", "Accept-Encoding": "gzip"}
    asked = urllib.request.Request(f"{address}/cube/million?{urllib.parse.urlencode(view)}", headers=headers)
    with urllib.request.urlopen(asked, timeout=30) as reply:
        return bytes(reply.read())


def first_page(address: str, token: str) -> Iterator[Figure]:
    """Its weight, and the time until its script has run and shown what the first question would cost."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("console: the first page is not measured; apt-get install chromium", file=sys.stderr)
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        times, weights = [], []
        for _ in range(OPENINGS):
            page = browser.new_context(base_url=address).new_page()
            page.goto(f"/login#token={token}")
            page.wait_for_url("**/")
            client, sizes = page.context.new_cdp_session(page), []
            client.send("Network.enable")
            client.send("Network.setCacheDisabled", {"cacheDisabled": True})
            client.on("Network.loadingFinished", lambda event, sizes=sizes: sizes.append(event["encodedDataLength"]))
            started = time.perf_counter()
            page.goto("/ask", wait_until="commit")
            page.wait_for_selector("html.scripted #forecast dd")
            times.append(time.perf_counter() - started)
            page.wait_for_load_state("networkidle")
            weights.append(sum(sizes) / 1000)
            page.context.close()
        browser.close()
    yield Figure("first page over the wire", max(weights), 300, "lower", "kB", "nothing cached")
    note = f"script run, cost of the question shown; the slowest of {OPENINGS}: {max(times):.2f} s"
    yield Figure("first page ready to be used", statistics.median(times), 1, "lower", "s", note)
