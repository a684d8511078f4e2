"""`discreet serve offices/`: every vault of a folder by its own users, as they come and go."""

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
import weakref

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from discreet.client import Client
from discreet.errors import NotFound, VaultError
from discreet.server.auth import add_user, revoke_user, share_user
from discreet.server.folder import names_of_vaults, unserved
from discreet.server.run import Pace, many
from discreet.vault import Vault
from tests.conftest import PEOPLE_DOMAIN

COUNT = {"sql": "SELECT COUNT(*) FROM people", "scale": 10}
AT_ONCE = Pace(rate=0, slot=0, deadline=0)


def make_vault(folder, name, people=600):
    columns = {"age": [i % 100 for i in range(people)], "sex": [("F", "M", None)[i % 3] for i in range(people)],
               "income": [float(i * 157 % 100_000) for i in range(people)]}  # fmt: skip
    pq.write_table(pa.table(columns), folder.parent / f"{name}.parquet")
    (folder.parent / "people.toml").write_text(PEOPLE_DOMAIN)
    return Vault.init(folder / name, table=folder.parent / f"{name}.parquet", domain=folder.parent / "people.toml",
                      epsilon=10, neighbours="replace")  # fmt: skip


@pytest.fixture
def offices(tmp_path):
    """Two vaults in a folder. Ana has a token in one, and Bo the same token in both, with other rights."""
    folder = tmp_path / "offices"
    folder.mkdir()
    for name in ("health", "tax"):
        make_vault(folder, name)
    return folder


@pytest.fixture
def ana(offices):
    return add_user(offices / "health", "ana", "analyst", quota="1")


@pytest.fixture
def bo(offices):
    token = add_user(offices / "health", "bo", "custodian")
    share_user(offices / "tax", "bo", "auditor", offices / "health")
    return token


@pytest.fixture
def served(offices):
    return many(offices, AT_ONCE, None, "")


@pytest.fixture
def client(served):
    with TestClient(served.app(), follow_redirects=False) as made:
        yield made


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_the_catalogue_has_what_a_token_opens_and_nothing_else(client, ana, bo):
    assert client.get("/api/v1/vaults").status_code == 401
    assert client.get("/api/v1/vaults", headers=bearer("no")).status_code == 401
    [line] = client.get("/api/v1/vaults", headers=bearer(ana)).json()["vaults"]
    assert line == {"name": "health", "address": "/v/health", "tables": ["people"], "user": "ana", "role": "analyst",
                    "quota": "1", "error": None}  # fmt: skip
    both = client.get("/api/v1/vaults", headers=bearer(bo)).json()["vaults"]
    assert [(line["name"], line["role"]) for line in both] == [("health", "custodian"), ("tax", "auditor")]


def test_each_vault_answers_its_own_users_in_their_role_from_its_own_budget(client, offices, ana, bo):
    assert client.post("/v/health/api/v1/ask", json=COUNT, headers=bearer(ana)).status_code == 200
    assert client.post("/v/tax/api/v1/ask", json=COUNT, headers=bearer(ana)).status_code == 401
    assert client.post("/v/tax/api/v1/ask", json=COUNT, headers=bearer(bo)).status_code == 403
    assert client.get("/v/health/api/v1/users", headers=bearer(bo)).status_code == 200
    assert Vault.open(offices / "health").ledger.charges == 1
    assert Vault.open(offices / "tax").ledger.charges == 0


def test_a_quota_holds_in_the_vault_that_gave_it(client, offices, ana):
    share_user(offices / "tax", "ana", "analyst", offices / "health")
    dear = {"sql": "SELECT COUNT(*) FROM people WHERE sex = 'F'", "scale": 1, "relax": False}
    refused = client.post("/v/health/api/v1/ask", json=dear, headers=bearer(ana))
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "QuotaExceeded")
    assert client.post("/v/tax/api/v1/ask", json=dear, headers=bearer(ana)).status_code == 200


def test_without_a_token_for_it_a_vault_is_as_good_as_none_and_is_not_opened(client, served, ana):
    for path in ("/v/tax/api/v1/describe", "/v/none/api/v1/describe", "/v/..%2F..%2Fetc/api/v1/describe",
                 "/v/.hidden/api/v1/describe", "/v/../health/api/v1/describe"):  # fmt: skip
        for headers in ({}, bearer("no")):
            assert client.get(path, headers=headers).status_code in (303, 401, 404)
    told = [client.get(f"/v/{name}/api/v1/describe", headers=bearer(ana)) for name in ("tax", "none", ".none", "%00")]
    assert len({(reply.status_code, reply.text) for reply in told}) == 1
    assert not served.schemas.folder._open


def test_a_vault_that_is_added_answers_and_one_that_is_taken_away_does_not_without_a_restart(client, offices, tmp_path):
    elsewhere = make_vault(tmp_path / "elsewhere", "school").path
    token = add_user(elsewhere, "ana", "analyst")
    assert client.get("/v/school/api/v1/describe", headers=bearer(token)).status_code == 401
    (offices / "school").symlink_to(elsewhere)
    assert client.get("/v/school/api/v1/describe", headers=bearer(token)).status_code == 200
    assert [line["name"] for line in client.get("/api/v1/vaults", headers=bearer(token)).json()["vaults"]] == ["school"]
    (offices / "school").unlink()
    assert client.get("/v/school/api/v1/describe", headers=bearer(token)).status_code == 401
    assert client.get("/api/v1/vaults", headers=bearer(token)).status_code == 401


@pytest.mark.parametrize("taken", ["link", "folder"])
def test_what_was_charged_when_a_vault_is_taken_away_is_in_its_journal(served, client, offices, tmp_path, taken):
    """A question is under way while the vault goes: it is answered, or charged and to be completed; never lost."""
    vault = make_vault(tmp_path / "elsewhere", "school")
    token = add_user(vault.path, "ana", "analyst")
    if taken == "link":
        (offices / "school").symlink_to(vault.path)
    else:
        shutil.move(vault.path, offices / "school")
    reading, gone = threading.Event(), threading.Event()
    with served.schemas.folder.using("school") as opened:
        gate = opened.desk.vault.gate
        charge = gate.ledger.charge

        def charged(*args, **kwargs):
            made = charge(*args, **kwargs)
            reading.set()
            gone.wait()
            return made

        gate.ledger.charge = charged
        replies = []
        asking = threading.Thread(target=lambda: replies.append(
            client.post("/v/school/api/v1/ask", json=COUNT, headers=bearer(token))))  # fmt: skip
        asking.start()
        reading.wait()
        (offices / "school").unlink() if taken == "link" else shutil.move(offices / "school", tmp_path / "moved")
        assert client.get("/v/school/api/v1/describe", headers=bearer(token)).status_code == 401
        gone.set()
        asking.join()
    found = Vault.open(vault.path if taken == "link" else tmp_path / "moved")
    assert found.ledger.charges == 1
    if taken == "link":
        assert replies[0].status_code == 200
        assert not found.budget().pending
    elif replies[0].status_code != 200:
        assert len(found.complete()) == 1


def test_another_vault_under_a_name_is_opened_anew(client, offices, tmp_path, ana):
    first = client.get("/v/health/api/v1/describe", headers=bearer(ana)).json()["vault_id"]
    shutil.move(offices / "health", tmp_path / "old")
    other = make_vault(offices, "health")
    token = add_user(other.path, "ana", "analyst")
    assert client.get("/v/health/api/v1/describe", headers=bearer(ana)).status_code == 401
    assert client.get("/v/health/api/v1/describe", headers=bearer(token)).json()["vault_id"] != first


def test_a_vault_that_cannot_be_opened_says_so_and_stops_nobody(client, offices, bo):
    (offices / "tax" / "journal.sqlite").write_bytes(b"no journal at all")
    health, tax = client.get("/api/v1/vaults", headers=bearer(bo)).json()["vaults"]
    assert health["error"] is None
    assert tax["error"]["message"].startswith("tax cannot be opened now: ")
    assert str(offices) not in tax["error"]["message"]
    refused = client.get("/v/tax/api/v1/describe", headers=bearer(bo))
    assert refused.status_code == 503
    assert refused.json()["error"] == tax["error"]
    assert client.get("/v/health/api/v1/describe", headers=bearer(bo)).status_code == 200
    assert client.get("/api/v1/ready").status_code == 200


def test_it_is_tried_again_after_a_while(offices):
    now = [0.0]
    folder = many(offices, AT_ONCE, None, "").schemas.folder
    folder.clock = lambda: now[0]
    whole = (offices / "tax" / "journal.sqlite").read_bytes()
    (offices / "tax" / "journal.sqlite").write_bytes(b"no journal at all")
    assert isinstance(folder.why_not("tax"), VaultError)
    (offices / "tax" / "journal.sqlite").write_bytes(whole)
    assert isinstance(folder.why_not("tax"), VaultError)
    now[0] = 60.0
    assert folder.why_not("tax") is None
    assert isinstance(folder.why_not("none"), NotFound)


def test_so_many_vaults_are_open_and_none_is_closed_that_is_in_use(offices):
    folder = many(offices, AT_ONCE, None, "").schemas.folder
    folder.most_open = 1
    with folder.using("health") as health:
        with folder.using("tax"):
            assert set(folder._open) == {"health", "tax"}
        assert set(folder._open) == {"health"}
    with folder.using("tax"):
        pass
    assert set(folder._open) == {"tax"}
    kept = weakref.ref(health.desk.vault)
    del health
    gc.collect()
    assert kept() is None


def test_names_are_parts_of_addresses_and_the_others_are_said_to_be_unserved(offices):
    for name in ("a.b", "Health", "mysql", "-x"):
        (offices / name).mkdir()
        (offices / name / "vault.toml").touch()
    assert names_of_vaults(offices) == ["Health", "tax"]
    assert unserved(offices) == ["-x", "a.b", "health", "mysql"]


def test_health_and_readiness_take_no_token_and_tell_no_names(client):
    for path in ("/api/v1/health", "/v/health/api/v1/health", "/v/none/api/v1/health"):
        assert client.get(path).json() == {"status": "ok"}
    assert client.get("/api/v1/ready").json() == {"status": "ready"}


def test_a_server_that_ends_is_not_ready(served):
    app = served.app()
    with TestClient(app) as client:
        served.slots.ending.set()
        assert client.get("/api/v1/ready").json() == {"status": "ending"}
        assert client.get("/api/v1/ready").status_code == 503


def signed_in(client, token, onward="/"):
    headers = {"Sec-Fetch-Site": "same-origin"}
    return client.post("/login", data={"token": token, "next": onward}, headers=headers)


def test_a_browser_signs_in_once_for_all_that_its_token_opens(client, bo):
    assert client.get("/").headers["location"] == "/login"
    assert client.get("/v/tax/ask").headers["location"] == "/login?next=/v/tax/ask"
    assert client.get("/v/none/ask").headers["location"] == "/login?next=/v/none/ask"
    assert signed_in(client, "no").status_code == 401
    entered = signed_in(client, bo, "/v/tax/budget")
    assert entered.headers["location"] == "/v/tax/budget"
    page = client.get("/").text
    assert 'href="/v/health/"' in page
    assert 'href="/v/tax/"' in page
    assert "bo, auditor" in page
    assert client.get("/v/health/budget").status_code == 200
    assert client.get("/api/v1/vaults").status_code == 200
    client.post("/v/tax/logout", headers={"Sec-Fetch-Site": "same-origin"})
    assert client.get("/v/health/budget").status_code == 303


def test_a_session_ends_in_the_vault_that_revokes_its_token_and_goes_on_in_the_others(client, offices, bo):
    signed_in(client, bo)
    revoke_user(offices / "tax", "bo")
    assert client.get("/v/tax/budget").status_code == 303
    assert client.get("/v/health/budget").status_code == 200


def test_a_page_of_another_site_signs_nobody_in_or_out(client, bo):
    signed_in(client, bo)
    for path in ("/login", "/logout", "/v/tax/logout"):
        assert client.post(path, data={"token": bo}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.get("/v/health/budget").status_code == 200


PAGES = ("/", "/ask", "/budget", "/ledger", "/releases", "/plan", "/facts", "/users", "/buckets/publish")


def test_every_address_on_a_vaults_pages_is_below_the_vault(client, bo):
    signed_in(client, bo)
    assert client.post("/v/health/api/v1/ask", json=COUNT, headers=bearer(bo)).status_code == 200
    for path in PAGES:
        page = client.get(f"/v/health{path}", headers={"Accept": "text/html"})
        assert page.status_code == 200, path
        found = re.findall(r'[a-z-]+="(/[^"]*)"', page.text)
        assert len(found) > 5
        assert not [address for address in found if not address.startswith("/v/health/")], path
        assert 'href="/v/health/../../">All vaults' in page.text
    for address in re.findall(r'(?:src|href)="(/[^"]*assets[^"]*)"', page.text):
        assert client.get(address).status_code == 200


def test_the_openapi_documents_say_where_they_hold(client, bo):
    assert client.get("/v/health/api/v1/openapi.json", headers=bearer(bo)).json()["servers"] == [{"url": "/v/health"}]
    assert set(client.get("/api/v1/openapi.json").json()["paths"]) == {
        "/api/v1/health", "/api/v1/ready", "/api/v1/vaults"
    }  # fmt: skip


def test_lines_of_the_logs_say_which_vault(offices, tmp_path, ana):
    log = tmp_path / "access.jsonl"
    with TestClient(many(offices, AT_ONCE, log, "").app()) as client:
        client.post("/v/health/api/v1/ask", json=COUNT, headers=bearer(ana))
        client.get("/v/tax/api/v1/describe", headers=bearer(ana))
    assert '"path": "/v/health/api/v1/ask"' in log.read_text()
    assert "SELECT COUNT(*)" in (offices / "health" / "asked.jsonl").read_text()
    assert not (offices / "tax" / "asked.jsonl").exists()
    assert '"path": "/v/tax/api/v1/describe"' in (offices / "asked.jsonl").read_text()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_serves_a_folder_and_says_what_it_does_not(offices, ana, workers):
    (offices / "not.served").mkdir()
    (offices / "not.served" / "vault.toml").touch()
    (offices / "tax" / "users.json").write_text("no users at all")
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(offices), "--port", "0"]
    command += ["--workers", str(workers), "--root-path", "/all", "--deadline", "0"]
    environment = {**os.environ, "COLUMNS": "300"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            told = []
            while "answers at" not in (told or [""])[-1]:
                told.append(process.stdout.readline())
            assert any("not.served is not served" in line for line in told)
            assert any("tax cannot be opened now" in line for line in told)
            url = told[-1].split()[-1]
            assert url.endswith("/all")
            client = Client(f"{url}/v/health", ana)
            assert client.ask(COUNT["sql"], scale=10).kind == "measured"
            assert client.ask(COUNT["sql"], scale=10).kind == "repeated"
        finally:
            process.terminate()
