"""The HTTP API: a token for everything but health, one shape of error, and no word more than the vault says."""

import ast
import json

import pytest
from fastapi.testclient import TestClient

from discreet.errors import VaultError
from discreet.server import door
from discreet.server.app import create_app
from discreet.server.auth import add_user, revoke_user
from discreet.server.run import serve
from discreet.vault import Vault
from discreet.vault.sulq import VaultSulq

ASK = "/api/v1/sulq/ask"
EVERYONE = {"predicate": "smoker", "subsets": ["everyone"]}


@pytest.fixture
def vault(make_vault):
    return make_vault("hospital")


@pytest.fixture
def client(vault):
    token = add_user(vault.path, "miner", "analyst")
    return TestClient(create_app(vault, deadline=None), headers={"Authorization": f"Bearer {token}"})


def test_health_needs_no_token_and_everything_else_does(vault):
    stranger = TestClient(create_app(vault, deadline=None))
    assert stranger.get("/api/v1/health").json() == {"status": "ok"}
    for reply in (stranger.get("/api/v1/sulq"), stranger.post(ASK, json=EVERYONE), stranger.post(ASK, content=b"{"),
                  stranger.get("/api/v1/openapi.json"), stranger.get("/api/v1/nothing"),
                  stranger.get("/api/v1/health/"), stranger.get("/api/v1/sulq", headers={"Authorization": "Bearer x"}),
                  stranger.get("/api/v1/sulq", headers={"Authorization": "Basic x"})):  # fmt: skip
        assert reply.status_code == 401
        assert reply.json()["error"]["kind"] == "AccessDenied"
    for page in ("/", "/docs", "/openapi.json", "/nothing"):
        assert stranger.get(page).url.path == "/login"
    assert vault.party().queries_left == 50


def test_no_request_builds_anything_of_the_server(client, monkeypatch):
    """Requests come in many threads, and building routes reads source code, which CPython 3.11 cannot do in two."""

    def read(*_, **__):
        raise SystemError("AST constructor recursion depth mismatch")

    with monkeypatch.context() as here:
        here.setattr(ast, "parse", read)
        replies = [client.get(f"/api/v1/{page}") for page in ("health", "describe", "budget", "cubes", "sulq")]
        replies.append(client.post(ASK, json=EVERYONE))
    assert [reply.status_code for reply in replies] == [200] * 6


def test_a_party_says_what_it_is(client, vault):
    about = client.get("/api/v1/sulq").json()
    party = vault.party()
    assert about["guarantee"].pop("text") == party.guarantee
    assert about == {"people": 20_000, "roster": party.roster, "trials": party.trials, "queries_left": 50,
                     "guarantee": vault.ledger.guarantee.to_json()}  # fmt: skip


def test_an_answer_is_what_the_vault_would_say(client, vault):
    subsets = [{"seed": 7, "rate": "1/2"}, {"seed": 8}, {"ids": [7, "00008", "stranger"]}, "everyone"]
    reply = client.post(ASK, json={"predicate": "smoker", "subsets": subsets})
    answer = reply.json()
    assert reply.status_code == 200
    assert answer["sizes"][2:] == [2, 20_000]
    assert answer["variance"] == vault.party().trials / 4
    assert answer["queries_left"] == 46
    [release] = vault.releases()
    assert answer["values"] == release.value.tolist()
    vault.check_receipt(answer["receipt"])


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"predicate": "weight > 3", "subsets": ["everyone"]}, 400, "DomainError"),
        ({"predicate": "smoker", "subsets": []}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": "everyone"}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": ["nobody"]}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": [{"seed": -1}]}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": [{"seed": 1e300}]}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": [{"seed": 1, "rate": "1/0"}]}, 400, "UnsupportedQuery"),
        ({"predicate": 7, "subsets": ["everyone"]}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker; DROP TABLE x", "subsets": ["everyone"]}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": ["everyone"], "more": 1}, 400, "UnsupportedQuery"),
        ({"predicate": "smoker", "subsets": ["everyone"] * 51}, 409, "BudgetExceeded"),
        ([], 400, "UnsupportedQuery"),
        (None, 400, "UnsupportedQuery"),
    ],
)
def test_every_refusal_has_one_shape_and_costs_nothing(client, vault, body, status, kind):
    reply = client.post(ASK, json=body)
    assert reply.status_code == status
    assert set(reply.json()) == {"error"}
    assert reply.json()["error"]["kind"] == kind
    assert vault.party().queries_left == 50


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"null", b'{"predicate": NaN}'])
def test_a_body_that_is_no_json_is_refused(client, content):
    reply = client.post(ASK, content=content, headers={"Content-Type": "application/json"})
    assert reply.status_code == 400
    assert reply.json()["error"]["kind"] == "UnsupportedQuery"


def test_a_body_that_is_too_large_is_refused(client, vault, monkeypatch):
    monkeypatch.setattr(door, "BODY_BYTES", 1 << 20)
    reply = client.post(ASK, content=b" " * (1 << 20) + json.dumps(EVERYONE).encode())
    assert reply.status_code == 413
    chunked = client.post(ASK, content=(b" " * 4096 for _ in range(300)))
    assert chunked.status_code == 413
    assert vault.party().queries_left == 50


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ASK), ("POST", "/api/v1/sulq"), ("GET", "/api/v2"), ("GET", "/docs")]
)
def test_other_places_answer_in_the_same_shape(client, method, path):
    reply = client.request(method, path)
    assert reply.status_code in (404, 405)
    assert reply.json()["error"]["kind"] == "NotFound"


def test_a_role_that_may_not_ask_looks_on_and_a_revoked_token_is_out_at_once(client, vault):
    token = add_user(vault.path, "eye", "auditor")
    looking = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/sulq", headers=looking).json()["queries_left"] == 50
    assert client.post(ASK, json=EVERYONE, headers=looking).status_code == 403
    assert vault.party().queries_left == 50
    revoke_user(vault.path, "miner")
    assert client.post(ASK, json=EVERYONE).status_code == 401


def test_whatever_breaks_inside_says_nothing_of_it(client, monkeypatch):
    quiet = TestClient(client.app, headers=client.headers, raise_server_exceptions=False)

    def broken(*_):
        raise ZeroDivisionError("a row says 7")

    monkeypatch.setattr(VaultSulq, "ask_all", broken)
    reply = quiet.post(ASK, json=EVERYONE)
    assert reply.status_code == 500
    assert reply.json()["error"]["kind"] == "EngineError"
    assert "7" not in reply.text


def test_a_vault_without_a_roster_has_nothing_to_say_here(folder):
    other = Vault.init("pure", table="people.parquet", domain="people.toml", epsilon=1, neighbours="replace")
    token = add_user(other.path, "miner", "analyst")
    client = TestClient(create_app(other, deadline=None), headers={"Authorization": f"Bearer {token}"})
    assert client.get("/api/v1/sulq").json()["error"]["kind"] == "PartyError"
    assert client.post(ASK, json={**EVERYONE, "predicate": "age > 3"}).json()["error"]["kind"] == "UnsupportedQuery"
    assert (folder / "pure").is_dir()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "in the clear"),
        ({"host": "::"}, "in the clear"),
        ({"host": "example.org"}, "in the clear"),
        ({"certfile": "x.pem"}, "both"),
        ({"certfile": "x.pem", "keyfile": "y.pem"}, "no file"),
        ({"port": 10**6}, "cannot be listened on"),
    ],
)
def test_a_server_beyond_this_machine_or_without_its_files_is_refused(vault, tmp_path, options, words):
    files = {name: tmp_path / file for name, file in options.items() if name.endswith("file")}
    with pytest.raises(VaultError, match=words):
        serve(vault, **{"host": "127.0.0.1", "port": 0, **options, **files})
