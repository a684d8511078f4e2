"""A service below a path, behind a proxy that hands requests on as they came."""

import re

import pytest
from fastapi.testclient import TestClient

from discreet.errors import VaultError
from discreet.server.auth import add_user
from discreet.server.below import require_path
from discreet.server.run import Pace, one

ROOT = "/offices/statistics"


@pytest.fixture
def token(people):
    return add_user(people.path, "ana", "custodian")


@pytest.fixture
def client(people):
    with TestClient(one(people, Pace(rate=0, slot=0, deadline=0), None, ROOT).app(), follow_redirects=False) as made:
        yield made


def test_everything_is_below_the_path_and_nothing_beside_it(client, token):
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get(f"{ROOT}/api/v1/health").json() == {"status": "ok"}
    assert client.get(f"{ROOT}/api/v1/describe", headers=headers).json()["name"] == "people"
    document = client.get(f"{ROOT}/api/v1/openapi.json", headers=headers).json()
    assert document["servers"] == [{"url": ROOT}]
    for path in ("/api/v1/health", "/", f"{ROOT}x/api/v1/health", "/offices/api/v1/health"):
        assert client.get(path, headers=headers).status_code == 404
    assert client.get(ROOT).headers["location"] == f"{ROOT}/"


def test_pages_redirects_and_the_cookie_stay_there(client, token):
    assert client.get(f"{ROOT}/budget").headers["location"] == f"{ROOT}/login?next=/budget"
    form, own = {"token": token, "next": "/budget"}, {"Sec-Fetch-Site": "same-origin"}
    entered = client.post(f"{ROOT}/login", data=form, headers=own)
    assert entered.headers["location"] == f"{ROOT}/budget"
    assert f"Path={ROOT}/;" in entered.headers["set-cookie"]
    for path in ("/", "/budget", "/ledger", "/users", "/plan"):
        page = client.get(f"{ROOT}{path}")
        assert page.status_code == 200
        found = re.findall(r'[a-z-]+="(/[^"]*)"', page.text)
        assert not [address for address in found if not address.startswith(f"{ROOT}/")]
    [style] = re.findall(r'href="([^"]*console[^"]*\.css)"', page.text)
    assert client.get(style).status_code == 200
    left = client.post(f"{ROOT}/logout", headers=own)
    assert left.headers["location"] == f"{ROOT}/login"
    assert client.get(f"{ROOT}/budget").status_code == 303


def test_what_somebody_wrote_is_no_address(client, token):
    client.post(f"{ROOT}/login", data={"token": token}, headers={"Sec-Fetch-Site": "same-origin"})
    page = client.get(f"{ROOT}/ask", params={"sql": 'href="/x" <a href="/y">'})
    assert "href=&#34;/x&#34;" in page.text
    assert f'href="{ROOT}/y' not in page.text


@pytest.mark.parametrize(("given", "path"), [("", ""), ("/", ""), ("/a", "/a"), ("/a/b-c/", "/a/b-c")])
def test_a_path_is_taken_with_or_without_its_last_slash(given, path):
    assert require_path(given) == path


@pytest.mark.parametrize("given", ["a", "//a", "/a/../b", "/a b", '/a"', "/..", "http://x/a", "/é"])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(VaultError, match="no path to serve below"):
        require_path(given)
