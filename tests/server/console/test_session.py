"""The way in: cookies, other sites, addresses; without a browser."""

import gzip

import pytest
from starlette.testclient import TestClient

from discreet.errors import VaultError
from discreet.server.app import create_app
from discreet.server.auth import add_user, revoke_user
from discreet.server.run import configured
from discreet.vault import Vault

HERE = {"origin": "http://testserver"}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    from discreet.demo.census import census_domain_path, write_census

    folder = tmp_path_factory.mktemp("session")
    write_census(folder / "people.parquet", 2000)
    return Vault.init(folder / "vault", table=folder / "people.parquet", domain=census_domain_path(), epsilon="1",
                      neighbours="replace")  # fmt: skip


@pytest.fixture(scope="module")
def app(vault):
    return create_app(vault, slot=0, rate=0, deadline=None)


@pytest.fixture
def client(app):
    with TestClient(app, follow_redirects=False) as made:
        yield made


@pytest.fixture(scope="module")
def token(vault):
    return add_user(vault.path, "ana", "analyst")


@pytest.fixture
def signed_in(client, token):
    entered = client.post("/login", data={"token": token}, headers=HERE)
    assert entered.status_code == 303
    return client


def test_nothing_but_the_entrance_answers_without_a_session(client):
    for path in ("/", "/ask", "/cube", "/budget", "/ledger", "/releases/1", "/plan"):
        reply = client.get(path)
        assert (reply.status_code, reply.headers["location"][:6]) == (303, "/login"), path
    assert client.get("/api/v1/budget").status_code == 401
    assert client.post("/ask", headers=HERE).status_code == 303
    assert "people" not in client.get("/login").text


def test_behind_a_proxy_that_speaks_tls_the_cookie_is_for_tls_alone(app, token):
    def cookie(behind, forwarded):
        config = configured(app, 1, behind_proxy=behind)
        config.load()
        client = TestClient(config.loaded_app, follow_redirects=False, client=("10.1.2.3", 5))
        headers = {**HERE, "X-Forwarded-Proto": forwarded}
        return client.post("/login", data={"token": token}, headers=headers).headers["set-cookie"]

    assert "Secure" in cookie("127.0.0.1, 10.0.0.0/8", "https")
    assert "Secure" not in cookie("10.0.0.0/8", "http")
    assert "Secure" not in cookie("127.0.0.1", "https")  # somebody else says so
    assert "Secure" not in cookie(None, "https")


@pytest.mark.parametrize("address", ["*", "proxy.example", "10.0.0.0/99"])
def test_a_proxy_that_is_believed_has_an_address(app, address):
    with pytest.raises(VaultError, match="no address of a proxy"):
        configured(app, 1, behind_proxy=address)


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(client, token):
    cookie = client.post("/login", data={"token": token}, headers=HERE).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "secure" not in cookie.lower()


def test_over_tls_the_cookie_never_travels_in_the_clear(app, token):
    with TestClient(app, base_url="https://testserver", follow_redirects=False) as client:
        entered = client.post("/login", data={"token": token}, headers={"origin": "https://testserver"})
    assert "Secure" in entered.headers["set-cookie"]


def test_a_session_opens_the_api_as_well(signed_in):
    assert signed_in.get("/api/v1/me").json()["name"] == "ana"


@pytest.mark.parametrize("headers", [{}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"},
                                     {"origin": "null"}, {"origin": "http://testserver.evil.example"}])  # fmt: skip
@pytest.mark.parametrize("path", ["/ask", "/login", "/api/v1/ask"])
def test_what_another_site_sends_is_refused_whatever_the_cookie(signed_in, vault, headers, path):
    charges = vault.ledger.charges
    reply = signed_in.post(path, data={"sql": "SELECT COUNT(*) FROM people"}, headers=headers)
    assert reply.status_code == 403
    assert vault.ledger.charges == charges


def test_a_token_in_a_header_needs_no_page_before_it(client, vault, token):
    question = {"sql": "SELECT COUNT(*) FROM people WHERE age > 97"}
    reply = client.post("/api/v1/ask", json=question, headers={"Authorization": f"Bearer {token}"})
    assert (reply.status_code, reply.json()["kind"]) == (200, "measured")
    assert reply.json()["value"] == vault.ask(question["sql"]).value


@pytest.mark.parametrize("onward", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\r\nb", ""])
def test_the_login_leads_nowhere_else(client, token, onward):
    entered = client.post("/login", data={"token": token, "next": onward}, headers=HERE)
    assert entered.headers["location"] == "/"


@pytest.mark.parametrize(
    "cookie", ["discreet=", "discreet=wrong", 'discreet="a b"', "discreet=%0d%0a", "=;;;", "x" * 9000]
)
def test_a_strange_cookie_is_no_session(client, cookie):
    assert client.get("/budget", headers={"cookie": cookie}).status_code == 303


def test_a_revoked_token_opens_no_further_page(app, vault):
    token = add_user(vault.path, "gone", "analyst")
    with TestClient(app, follow_redirects=False) as client:
        client.post("/login", data={"token": token}, headers=HERE)
        assert "<h1>Budget" in client.get("/budget").text
        revoke_user(vault.path, "gone")
        reply = client.get("/budget")
    assert reply.headers["location"] == "/login?next=/budget"


def test_signing_out_takes_the_cookie_back(signed_in):
    reply = signed_in.post("/logout", headers=HERE)
    assert reply.headers["location"] == "/login"
    assert signed_in.get("/budget").status_code == 303


@pytest.mark.parametrize("path", ["/login", "/ask", "/budget", "/nowhere-at-all"])
def test_every_page_lets_nothing_in_from_elsewhere(signed_in, path):
    reply = signed_in.get(path)
    if reply.headers["content-type"].startswith("text/html"):
        assert reply.headers["content-security-policy"].startswith("default-src 'self'")
        assert reply.headers["cache-control"] == "no-store"
        assert "<style" not in reply.text
        assert " style=" not in reply.text
        assert "onclick" not in reply.text


@pytest.mark.parametrize("name", ["../page.py", "..%2fpage.py", "console.css", "nothing.js", "%00"])
def test_only_the_assets_there_are_are_served(client, name):
    assert client.get(f"/assets/{name}").status_code in (303, 404)


def test_assets_are_kept_for_ever_under_a_name_of_their_content(client):
    address = client.get("/login").text.split('rel="stylesheet" href="')[1].split('"')[0]
    reply = client.get(address)
    assert reply.status_code == 200
    assert "immutable" in reply.headers["cache-control"]
    assert ":root" in reply.text


def test_a_page_only_for_what_exists(signed_in):
    menu = signed_in.get("/budget").text.split("<nav")[1].split("</nav>")[0]
    assert "/ask" in menu
    assert "/cube" not in menu
    assert "/buckets" not in menu
    for path in ("/cube", "/lattice", "/buckets", "/cube/none", "/releases/999", "/releases/x"):
        reply = signed_in.get(path)
        assert 400 <= reply.status_code < 500 or reply.status_code == 503, path
        assert 'role="alert"' in reply.text


STRANGE = ("page=-1", "page=99999999999999999999", "across=x&down=y", "where=)(", "where=%27", "before=-5", "step=1e9",
           "dimensions=nope", "a=1&" * 3000, "sql=%F0%9F&mode=x")  # fmt: skip


@pytest.mark.parametrize("query", STRANGE)
def test_no_address_makes_the_server_fail(signed_in, query):
    for path in ("/ask", "/budget", "/ledger", "/releases", "/plan"):
        reply = signed_in.get(f"{path}?{query}")
        assert reply.status_code < 500, (path, query)


def test_errors_do_not_say_where_the_vault_is(signed_in, vault):
    assert str(vault.path) not in signed_in.get("/releases/999").text


def test_large_pages_are_compressed_for_who_can_read_that(signed_in):
    with signed_in.stream("GET", "/ask", headers={"accept-encoding": "gzip"}) as reply:
        raw = b"".join(reply.iter_raw())
    assert b"</html>" in gzip.decompress(raw)
    assert signed_in.get("/ask", headers={"accept-encoding": "identity"}).text.endswith("</html>")


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class TestWhatIsNotThere:
    @pytest.mark.parametrize("path", ["/nowhere", "/releases/999", "/releases/x", "/cube/none", "/users/edit"])
    def test_is_a_page_for_browsers(self, client, token, path):
        client.post("/login", data={"token": token}, headers=HERE)
        reply = client.get(path, headers=BROWSER)
        assert reply.status_code in (404, 405)
        assert reply.headers["content-type"].startswith("text/html")
        assert "That is not possible" in reply.text
        assert "<nav" in reply.text

    @pytest.mark.parametrize("path", ["/nowhere", "/releases/999", "/cube/none", "/api/v1/nowhere"])
    def test_is_json_for_programs(self, client, token, path):
        for accept in (
            {"accept": "application/json"},
            *([{}] if "releases" not in path and "cube" not in path else []),
        ):
            reply = client.get(path, headers={"authorization": f"Bearer {token}", **accept})
            assert reply.status_code == 404
            assert set(reply.json()["error"]) == {"kind", "message"}

    def test_the_api_is_json_for_browsers_too(self, client, token):
        client.post("/login", data={"token": token}, headers=HERE)
        reply = client.get("/api/v1/releases/999", headers=BROWSER)
        assert (reply.status_code, set(reply.json())) == (404, {"error"})

    def test_strangers_are_told_nothing_of_what_is_there(self, client):
        assert client.get("/nowhere", headers=BROWSER).status_code == 303
