"""The editor of domains: one file, one person, this machine; what is exact is shown to them alone."""

import os
import re
import subprocess
import sys

import httpx2
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from discreet.cli import app
from discreet.server.editor.app import create_editor
from discreet.server.editor.file import DomainFile
from tests.patience import PATIENCE

DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "form"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
"""
SAME = {"Sec-Fetch-Site": "same-origin"}
TOKEN = "a" * 64


@pytest.fixture
def file(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "41,F\n" * 7 + "120,X\n" * 3)
    (tmp_path / "people.toml").write_text(DOMAIN)
    return DomainFile(tmp_path / "people.toml", str(tmp_path / "people.csv"))


def visitor(file):
    return TestClient(create_editor(file, TOKEN), base_url="http://127.0.0.1:8802", follow_redirects=False)


@pytest.fixture
def editor(file):
    client = visitor(file)
    entered = client.post("/login", data={"token": TOKEN}, headers=SAME)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    return client


def state_in(page):
    return re.search(r'name="state" value="(\w*)"', page)[1]


def act(editor, deed, text, state="", **headers):
    return editor.post("/", data={"deed": deed, "text": text, "state": state}, headers={**SAME, **headers})


def test_nobody_without_the_token_sees_or_does_anything(file):
    client = visitor(file)
    assert client.get("/").headers["location"] == "/login"
    assert act(client, "fit", DOMAIN).headers["location"] == "/login"
    assert client.post("/login", data={"token": "b" * 64}, headers=SAME).status_code == 401
    assert client.post("/login", data={"token": TOKEN}).status_code == 403
    assert "people" not in client.get("/login").text
    client.cookies.set("discreet-editor", "b" * 64)
    assert client.get("/").status_code == 303


def test_a_page_of_another_server_can_do_nothing(editor, file):
    elsewhere = {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    assert act(editor, "save", "name = 1", **elsewhere).status_code == 403
    assert file.path.read_text() == DOMAIN


def test_the_cookie_is_out_of_reach_of_scripts_and_nothing_is_kept_by_the_browser(file):
    client = visitor(file)
    entered = client.post("/login", data={"token": TOKEN}, headers=SAME)
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert "SameSite=strict" in entered.headers["set-cookie"]
    shown = client.get("/")
    assert shown.headers["cache-control"] == "no-store"
    assert "default-src 'self'" in shown.headers["content-security-policy"]


def test_the_page_shows_the_text_its_attributes_and_every_mistake_at_its_line(editor):
    page = editor.get("/").text
    assert "The domain is well formed" in page
    assert "200 points" in page
    broken = DOMAIN.replace('["F", "M"]', "[]").replace("low = 0", "low = 100")
    page = act(editor, "check", broken).text
    assert "2 things to mend" in page
    assert re.findall(r'class="problems".*?</ol>', page, re.DOTALL)
    assert re.findall(r'<li><a href="#text" data-line="(\d+)"', page) == ["4", "9"]


def test_a_text_is_saved_whole_also_where_it_is_no_domain_yet(editor, file):
    file.path.chmod(0o640)
    state = state_in(editor.get("/").text)
    page = act(editor, "save", 'name = "people"\r\n', state).text
    assert "Saved." in page
    assert "It is no domain yet" in page
    assert file.path.read_bytes() == b'name = "people"\n'
    assert file.path.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in file.path.parent.iterdir() if path.name.startswith(".")] == []
    assert "Saved." in act(editor, "save", DOMAIN, state_in(page)).text


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(editor, file):
    state = state_in(editor.get("/").text)
    file.path.write_text(DOMAIN + "# mine\n")
    page = act(editor, "save", DOMAIN, state).text
    assert "was changed by somebody else" in page
    assert file.path.read_text() == DOMAIN + "# mine\n"


def test_how_it_fits_is_told_when_asked_for_and_written_nowhere(editor, file):
    before = {path: path.stat().st_mtime_ns for path in file.path.parent.iterdir()}
    page = act(editor, "fit", DOMAIN).text
    assert "10 rows</strong> read, 7 kept" in page
    assert "Exact and confidential" in page
    assert "rows</strong>" not in act(editor, "check", DOMAIN).text
    assert {path: path.stat().st_mtime_ns for path in file.path.parent.iterdir()} == before
    assert "mend what is wrong first" in act(editor, "fit", "name = 1").text


def test_the_table_is_the_one_that_was_named_at_the_start_and_no_other(tmp_path):
    client = visitor(DomainFile(tmp_path / "new.toml"))
    client.post("/login", data={"token": TOKEN}, headers=SAME)
    assert "attributes.age.source: required" in client.get("/").text
    assert "no table was named" in act(client, "fit", DOMAIN).text


def test_a_new_domain_begins_as_the_draft_of_its_table_and_is_made_when_it_is_saved(file):
    file.path.unlink()
    client = visitor(file)
    client.post("/login", data={"token": TOKEN}, headers=SAME)
    page = client.get("/").text
    assert "[attributes.sex]" in page
    assert "Saved." in act(client, "save", DOMAIN, state_in(page)).text
    assert file.path.read_text() == DOMAIN


def test_a_text_that_looks_like_html_is_text(editor):
    page = act(editor, "check", 'name = "</textarea><script>alert(1)</script>"').text
    assert "<script>alert" not in page


def test_a_text_that_is_too_long_is_refused(editor):
    assert act(editor, "check", "#" * (9 << 20)).status_code == 413


def test_the_command_serves_this_machine_and_prints_the_address_that_opens_it(file):
    code = "from discreet.cli import main; main()"
    command = [sys.executable, "-c", code, "domain", "edit", str(file.path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "500"}) as process:
        try:
            address, token = re.search(
                r"(http://127\.0\.0\.1:\d+)/login#token=(\w{64})", process.stdout.readline()
            ).groups()
            with httpx2.Client(base_url=address, headers=SAME, trust_env=False, timeout=PATIENCE) as client:
                assert client.get("/").headers["location"] == "/login"
                client.post("/login", data={"token": token})
                assert "The domain is well formed" in client.get("/").text
        finally:
            process.terminate()


def test_a_file_that_cannot_be_read_is_not_edited(tmp_path):
    (tmp_path / "people.toml").write_bytes(b"\xff\xfe")
    result = CliRunner().invoke(app, ["domain", "edit", str(tmp_path / "people.toml")])
    assert result.exit_code == 1
    assert "a domain is a UTF-8 TOML file" in result.output
