"""Signing in with an office's provider: who gets in, as whom, and everybody and everything that must not."""

import hmac
import json
import time
import urllib.request
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from oidc_provider_mock import User, run_server_in_thread
from starlette.testclient import TestClient

from discreet.errors import AccessDenied, VaultError
from discreet.server.app import create_app
from discreet.server.auth import add_user, edit_user, list_users, rotate_user
from discreet.server.openid import AGAIN_SECONDS, KEPT_SECONDS, Provider, SignIn, SignInAttempt
from tests.server.provider import KEYS, at_provider, office_at_work, public_jwk, settings_of, sign_in_by

BACK = "http://testserver/login/return"


@pytest.fixture
def office():
    with office_at_work() as made:
        yield made


@pytest.fixture
def browser(people, office):
    app = create_app(sign_in_by(people, office), slot=0, rate=0, deadline=None)
    with TestClient(app, follow_redirects=False) as made:
        yield made


def sign_in(browser, onward="/"):
    sent = browser.get("/login/openid", params={"next": onward})
    assert sent.status_code == 303, sent.text
    back = at_provider(sent.headers["location"])
    assert back.startswith(BACK)
    return browser.get(back.removeprefix("http://testserver"))


def provider_of(office, clock=time.monotonic, **more):
    return Provider(SignIn.parse(settings_of(office, **more)), clock)


def claims_of(provider, attempt=None):
    """All of it, without a browser."""
    attempt = attempt or SignInAttempt()
    back = parse_qs(urlsplit(at_provider(provider.address(attempt, BACK))).query)
    return provider.claims(attempt, back["state"][0], back["code"][0], BACK)


class TestGettingIn:
    def test_somebody_is_a_user_by_their_name_with_the_role_of_a_claim(self, people, browser):
        entered = sign_in(browser, "/budget")
        assert entered.status_code == 200
        assert 'href="/budget"' in entered.text, "from a page of this server, for cookies that no other site may send"
        [user] = list_users(people.path)
        assert (user.name, user.role, user.subject.endswith(" 17")) == ("ana", "analyst", True)
        assert browser.get("/budget").status_code == 200
        asked = browser.post("/api/v1/ask", json={"sql": "SELECT COUNT(*) FROM people", "scale": 10},
                             headers={"origin": "http://testserver"})  # fmt: skip
        assert asked.status_code == 200
        assert people.ledger.spent_by().keys() == {"ana"}

    def test_the_login_page_leads_there_and_tokens_still_do(self, people, browser):
        shown = browser.get("/login?next=/budget").text
        assert 'href="/login/openid?next=/budget"' in shown
        assert "your office&#39;s account" in shown
        token = add_user(people.path, "ben", "analyst")
        assert browser.post("/login", data={"token": token}, headers={"origin": "http://testserver"}).status_code == 303

    def test_without_settings_there_is_no_such_way(self, people):
        with TestClient(create_app(people, slot=0, rate=0, deadline=None), follow_redirects=False) as browser:
            assert "Sign in with" not in browser.get("/login").text
            assert browser.get("/login/openid").headers["location"].startswith("/login")

    def test_cookies_are_out_of_reach_and_the_attempt_is_used_once(self, browser):
        sent = browser.get("/login/openid")
        cookie = sent.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=lax" in cookie.lower()
        assert "Path=/login" in cookie
        entered = browser.get(at_provider(sent.headers["location"]).removeprefix("http://testserver"))
        session, attempt = sorted(entered.headers.get_list("set-cookie"), key=len, reverse=True)
        assert "samesite=strict" in session.lower()
        assert "Max-Age=0" in attempt

    def test_a_client_with_a_secret_shows_it_to_the_provider_alone(self, office, tmp_path):
        office.secret = "a:b c"
        (tmp_path / "secret").write_text("a:b c\n")
        with pytest.raises(AccessDenied):
            claims_of(provider_of(office))
        office.secret = "a%3Ab%20c"  # as RFC 6749 has it
        assert claims_of(provider_of(office, client_secret_file=str(tmp_path / "secret")))["sub"] == "17"
        with pytest.raises(VaultError, match="secret cannot be read"):
            claims_of(provider_of(office, client_secret_file=str(tmp_path / "gone")))

    def test_elliptic_keys_and_keys_that_are_new(self, office):
        now = [0.0]
        provider = provider_of(office, lambda: now[0])
        assert claims_of(provider)["sub"] == "17"
        office.key, office.algorithm, office.keys = "second", "ES256", [public_jwk("second", "ES256")]
        with pytest.raises(AccessDenied):
            claims_of(provider)  # asked for a moment ago: an unknown key does not make us ask again and again
        assert office.asked.count("/keys") == 1
        now[0] += AGAIN_SECONDS
        assert claims_of(provider)["sub"] == "17"
        now[0] += KEPT_SECONDS
        assert claims_of(provider)["sub"] == "17"


class TestRoles:
    @pytest.mark.parametrize(("groups", "role"), [
        (["court", "chiefs"], "custodian"), ("court", "auditor"), (["x"], None), ([], None), (None, None),
        ({"chiefs": 1}, None), (["CHIEFS"], None), ([["chiefs"]], None),
    ])  # fmt: skip
    def test_the_first_role_that_somebody_has_counts(self, office, groups, role):
        assert SignIn.parse(settings_of(office)).role_of({"groups": groups}) == role

    def test_claims_within_claims(self, office):
        settings = SignIn.parse(settings_of(office, claim="realm_access.roles"))
        assert settings.role_of({"realm_access": {"roles": ["court"]}}) == "auditor"
        assert settings.role_of({"realm_access": "court"}) is None

    def test_a_role_follows_the_provider_and_ends_with_it(self, people, office, browser):
        sign_in(browser)
        old = browser.cookies["discreet"]
        office.person["groups"] = ["court"]
        sign_in(browser)
        assert [user.role for user in list_users(people.path)] == ["auditor"], "in all sessions at once"
        token = rotate_user(people.path, "ana")
        office.person["groups"] = []
        refused = sign_in(browser)
        assert (refused.status_code, "has no role here" in refused.text) == (401, True)
        browser.cookies.clear()
        browser.cookies.set("discreet", old)
        assert browser.get("/budget").status_code == 303, "sessions from before have ended"
        assert browser.get("/api/v1/budget", headers={"authorization": f"Bearer {token}"}).status_code == 401

    def test_quotas_are_those_of_settings_until_a_custodian_says_otherwise(self, people, office):
        with TestClient(
            create_app(sign_in_by(people, office, quota="10%"), slot=0, deadline=None), follow_redirects=False
        ) as browser:
            sign_in(browser)
            [user] = list_users(people.path)
            assert user.quota == people.ledger.budget.total / 10
            edit_user(people.path, "ana", quota="20%")
            sign_in(browser)
            assert list_users(people.path)[0].quota == people.ledger.budget.total / 5

    def test_nobody_becomes_another_by_their_name(self, people, office, browser):
        add_user(people.path, "ana", "custodian")
        refused = sign_in(browser)
        assert (refused.status_code, "somebody else is called ana" in refused.text) == (401, True)
        office.person |= {"sub": "18", "preferred_username": "Ben O'Neill <x>@office.example"}
        assert sign_in(browser).status_code == 200
        office.person |= {"preferred_username": "ana"}  # renamed: they stay who they are
        assert sign_in(browser).status_code == 200
        assert [user.name for user in list_users(people.path)] == ["ana", "Ben-O-Neill-x-office.example"]
        office.person |= {"sub": "19", "preferred_username": "../"}
        assert sign_in(browser).status_code == 401


def forged(said, key, algorithm, nonce):
    """A token that anybody can make; libraries refuse to."""
    head = {"alg": algorithm, "kid": "first", "typ": "JWT"}
    parts = [urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, {**said, "nonce": nonce})]
    seal = hmac.digest(key, b".".join(parts), "sha256") if key else b""
    return b".".join([*parts, urlsafe_b64encode(seal).rstrip(b"=")]).decode()


class TestNotGettingIn:
    @pytest.mark.parametrize("lie", [
        {"nonce": "0" * 64}, {"nonce": None}, {"aud": "another"}, {"aud": ["another"]}, {"iss": "https://evil.example"},
        {"exp": -3600}, {"exp": None}, {"exp": "soon"}, {"iat": 3600}, {"nbf": 3600}, {"iat": None},
        {"sub": None}, {"sub": ["17"]}, {"aud": ["discreet", "b"], "azp": "b"}, {"iss": None}, {"exp": 1e400},
    ], ids=str)  # fmt: skip
    def test_a_token_that_is_not_for_this_sign_in(self, people, office, browser, lie):
        now = int(time.time())
        office.claims = {key: now + value if isinstance(value, int) else value for key, value in lie.items()}
        try:
            refused = sign_in(browser)
        except ValueError:
            pytest.skip("no such token can be made")
        assert refused.status_code == 401
        assert "discreet=" not in refused.headers.get("set-cookie", "")
        assert not list_users(people.path)

    def test_clocks_may_differ_by_a_minute(self, office):
        office.claims = {"exp": int(time.time()) - 20, "iat": int(time.time()) + 20}
        assert claims_of(provider_of(office))["sub"] == "17"

    def test_a_token_signed_by_nobody_or_with_what_everybody_knows(self, office, monkeypatch):
        now = int(time.time())
        said = {"iss": office.issuer, "aud": "discreet", "sub": "17", "iat": now, "exp": now + 999}
        encoding, kind = serialization.Encoding, serialization.PublicFormat.SubjectPublicKeyInfo
        public = [KEYS["RS256"].public_key().public_bytes(encoded, kind) for encoded in (encoding.PEM, encoding.DER)]
        for key, algorithm in ((b"", "none"), (b"x" * 32, "HS256"), *((key, "HS256") for key in public)):
            signed = partial(forged, said, key, algorithm)
            monkeypatch.setattr(office, "signed", signed)
            with pytest.raises(AccessDenied, match="not one that it has signed"):
                claims_of(provider_of(office))
        office.keys = [{"kty": "oct", "kid": "first", "k": "eHh4"}]
        with pytest.raises(AccessDenied):
            claims_of(provider_of(office))

    def test_a_key_of_somebody_else(self, office):
        office.keys = [public_jwk("first", "ES256")]
        with pytest.raises(AccessDenied):
            claims_of(provider_of(office))

    def test_another_browser_s_attempt_and_none_at_all(self, people, browser):
        sent = browser.get("/login/openid")
        back = at_provider(sent.headers["location"]).removeprefix("http://testserver")
        begun = browser.cookies["discreet_sign_in"]
        for cookie in (None, "", "x", f"{SignInAttempt()}.%2F", begun.swapcase(), "." * 300):
            browser.cookies.clear()
            if cookie is not None:
                browser.cookies.set("discreet_sign_in", cookie, path="/login")
            refused = browser.get(back)
            assert refused.status_code == 401
            assert "discreet" not in browser.cookies
        assert not list_users(people.path)

    def test_a_code_counts_once_and_for_its_own_attempt(self, office):
        provider, attempt = provider_of(office), SignInAttempt()
        back = parse_qs(urlsplit(at_provider(provider.address(attempt, BACK))).query)
        state, code = back["state"][0], back["code"][0]
        with pytest.raises(AccessDenied, match="did not take the code"):
            provider.claims(SignInAttempt(state=attempt.state), state, code, BACK)
        with pytest.raises(AccessDenied, match="did not take the code"):
            provider.claims(attempt, state, code, BACK)

    def test_what_a_provider_says_is_not_repeated(self, browser):
        browser.get("/login/openid")
        for error in ("access_denied", "<script>", "x" * 50):
            refused = browser.get("/login/return", params={"error": error, "error_description": "<b>hello"})
            assert refused.status_code == 401
            assert "<script>" not in refused.text.replace('<script type="module"', "")
            assert "hello" not in refused.text

    def test_nobody_is_led_to_another_server(self, browser):
        for onward in ("https://evil.example", "//evil.example", "/\\evil.example"):
            assert 'href="/"' in sign_in(browser, onward).text


def bodies():
    said = st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["issuer", "keys", "id_token", "kid", "kty", "n", "e", "token_endpoint", "x"]), inner
        ),
        max_leaves=9,
    )  # fmt: skip
    return st.binary(max_size=60) | said.map(lambda body: json.dumps(body).encode()) | st.just(b"[" * 100_000)


class TestStrangeProviders:
    @pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token"])
    def test_whatever_it_replies_is_a_refusal_in_our_words(self, path):
        with office_at_work() as office:

            @given(st.sampled_from([200, 200, 200, 204, 302, 400, 401, 404, 500]), bodies())
            def replied(status, body):
                office.replies = {path: (status, b"" if status == 204 else body)}
                provider, attempt = provider_of(office), SignInAttempt()
                with pytest.raises((AccessDenied, VaultError), match="provider"):
                    provider.claims(attempt, attempt.state, "a code", BACK)

            replied()
            assert "/elsewhere" not in office.asked, "nobody is followed elsewhere"

    @given(st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: raw.hex() + "." + raw.hex() + ".x"))
    def test_whatever_stands_for_a_token(self, token):
        provider = Provider(SignIn("https://a.example", "discreet", {"a": "analyst"}))
        provider._found = {
            "https://a.example/.well-known/openid-configuration": (
                time.monotonic(), {"issuer": "https://a.example", "jwks_uri": "https://a.example/keys"}
            ),
            "https://a.example/keys": (time.monotonic(), {"keys": [public_jwk("first", "RS256")]}),
        }  # fmt: skip
        with pytest.raises(AccessDenied):
            provider._verified(token)

    def test_a_description_of_another_place_and_ways_without_tls(self, office):
        for said in ({"issuer": "https://evil.example"}, {"authorization_endpoint": "http://evil.example/a"},
                     {"authorization_endpoint": "javascript:alert(1)"}, {"authorization_endpoint": None}):  # fmt: skip
            office.document = said
            with pytest.raises(VaultError, match="does not describe itself"):
                provider_of(office).address(SignInAttempt(), BACK)

    def test_one_that_is_away_is_not_asked_by_everybody(self, people, office, browser):
        office.replies = {"/.well-known/openid-configuration": (500, b"")}
        shown = [browser.get("/login/openid") for _ in range(5)]
        assert [reply.status_code for reply in shown] == [503] * 5
        assert len(office.asked) == 1
        token = add_user(people.path, "ben", "analyst")
        assert browser.post("/login", data={"token": token}, headers={"origin": "http://testserver"}).status_code == 303


def certificate_for(tmp_path, name, until):
    """A certificate of an authority of its own for this machine, good until then."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder().subject_name(who).issuer_name(who).public_key(key.public_key())
        .serial_number(1).not_valid_before(datetime.now(UTC) - timedelta(days=30)).not_valid_after(until)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
    )  # fmt: skip
    certificate, kept = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    kept.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()))  # fmt: skip
    return certificate, kept


class TestCertificates:
    @pytest.fixture(autouse=True)
    def trusting(self, tmp_path, monkeypatch):
        """This machine trusts both authorities, as an office's machines do its own."""
        now = datetime.now(UTC)
        self.good = certificate_for(tmp_path, "good", now + timedelta(days=1))
        self.expired = certificate_for(tmp_path, "expired", now - timedelta(days=1))
        (tmp_path / "all.pem").write_bytes(self.good[0].read_bytes() + self.expired[0].read_bytes())
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "all.pem"))
        monkeypatch.setattr("discreet.server.openid._opener", urllib.request.build_opener())

    def test_one_that_holds_is_believed(self):
        with office_at_work(*self.good) as office:
            assert provider_of(office)._place("token_endpoint") == f"{office.issuer}/token"

    def test_one_that_has_expired_is_not(self):
        with office_at_work(*self.expired) as office, pytest.raises(VaultError, match="certificate does not hold"):
            provider_of(office)._place("token_endpoint")

    def test_one_of_nobody_is_not(self, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", str(self.expired[0]))
        with office_at_work(*self.good) as office, pytest.raises(VaultError, match="certificate does not hold"):
            provider_of(office)._place("token_endpoint")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_provider_of_somebody_else(people, tmp_path):
    """oidc-provider-mock, on Authlib and Flask: its discovery, consent, client secret, PKCE, keys and signatures."""
    (tmp_path / "secret").write_text("any")
    claims = {"preferred_username": "ana", "groups": ["statistics"]}
    with run_server_in_thread(user_claims=[User(sub="ana@office", claims=claims)]) as server:
        issuer = SimpleNamespace(issuer=f"http://localhost:{server.server_port}", client="discreet")
        vault = sign_in_by(people, issuer, client_secret_file=tmp_path / "secret")
        with TestClient(create_app(vault, slot=0, deadline=None), follow_redirects=False) as browser:
            sent = urlsplit(browser.get("/login/openid").headers["location"])
            connection = HTTPConnection(sent.hostname, sent.port)
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", f"{sent.path}?{sent.query}", "sub=ana%40office", form)
            back = connection.getresponse().getheader("Location")
            connection.close()
            assert browser.get(back.removeprefix("http://testserver")).status_code == 200
            assert browser.get("/budget").status_code == 200
    assert [(user.name, user.role) for user in list_users(people.path)] == [("ana", "analyst")]


@pytest.mark.parametrize(("change", "words"), [
    ({"issuer": "http://login.example"}, "begins with https://"), ({"roles": {}}, "needs issuer"),
    ({"roles": {"a": "king"}}, "a role is one of"), ({"color": "red"}, "has no 'color'"), ({"claim": 3}, "is a text"),
    ({"client_id": ""}, "is a text"), ({"issuer": "https://["}, "begins with https://"), ({"roles": ["a"]}, "needs"),
])  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(change, words):
    given = {"issuer": "https://login.example", "client_id": "discreet", "roles": {"a": "analyst"}}
    assert SignIn.parse(given).claim == "groups"
    with pytest.raises(VaultError, match=words):
        SignIn.parse({**given, **change})
