"""`make site`: the docs as a site that holds together, and that loads nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOADED = re.compile(r"<(?:script|link|img|iframe|source|video)\b[^>]*?\b(?:src|href)=[\"']?([^\"' >]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with --strict: a link, picture or anchor that leads nowhere, or a page that no menu has, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.xdist_group("site")
def test_a_page_loads_only_what_is_in_the_site(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list(ROOT.glob("docs/**/*.md")))
    for page in pages:
        for target in LOADED.findall(page.read_text(encoding="utf-8")):
            found = site / target[1:] if target.startswith("/") else page.parent / target
            assert found.is_file(), f"{page.relative_to(site)} loads {target}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style


@pytest.mark.xdist_group("site")
def test_every_page_can_be_found_by_what_it_says(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert found == {str(page.relative_to(site)) for page in site.rglob("*.html")} - {"404.html"}
    assert any("discrete Gaussian" in entry["text"] for entry in index["docs"])
