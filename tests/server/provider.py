"""A provider of OpenID Connect, as small as may be: it signs with real keys, and checks what a provider has to check.

What it says can be bent, for whoever must not believe it.
"""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

KEYS = {"RS256": rsa.generate_private_key(65537, 2048), "ES256": ec.generate_private_key(ec.SECP256R1())}


def public_jwk(name: str, algorithm: str) -> dict[str, Any]:
    kind = jwt.algorithms.RSAAlgorithm if algorithm == "RS256" else jwt.algorithms.ECAlgorithm
    key = kind.to_jwk(KEYS[algorithm].public_key(), as_dict=True)
    return {**key, "kid": name, "use": "sig", "alg": algorithm}


@dataclass
class Office:
    """Whom it knows, what it says of them, and how it may lie."""

    issuer: str = ""
    client: str = "discreet"
    secret: str | None = None
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "17", "preferred_username": "ana", "groups": ["statistics"]}
    )
    claims: dict[str, Any] = field(default_factory=dict)
    """In the place of what a token should say; None: left out."""
    key: str = "first"
    algorithm: str = "RS256"
    keys: list[dict[str, Any]] = field(default_factory=lambda: [public_jwk("first", "RS256")])
    document: dict[str, Any] = field(default_factory=dict)
    replies: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """By path: what is said there whatever is asked."""
    asked: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    names_itself: bool = True
    """Whether what it answers a browser with says whose answer it is (RFC 9207)."""

    def discovery(self) -> dict[str, Any]:
        places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        return {"issuer": self.issuer, **{name: self.issuer + path for name, path in places.items()}, **self.document}

    def authorized(self, query: dict[str, str]) -> str:
        """Where a browser is sent back to. It has signed in long ago."""
        assert query["response_type"] == "code"
        assert query["client_id"] == self.client
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = secrets.token_hex(8)
        self.codes[code] = query
        itself = {"iss": self.issuer} if self.names_itself else {}
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], **itself})}"

    def token(self, form: dict[str, str], authorization: str | None) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        knows = base64.b64encode(f"{self.client}:{self.secret}".encode()).decode()
        if self.secret is not None and authorization != f"Basic {knows}":
            return 401, {"error": "invalid_client"}
        if (
            asked is None
            or challenge.rstrip(b"=").decode() != asked["code_challenge"]
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": self.signed(asked.get("nonce"))}

    def signed(self, nonce: str | None) -> str:
        now = int(time.time())
        said = {"iss": self.issuer, "aud": self.client, "iat": now, "exp": now + 300, "nonce": nonce}
        said = {**said, **self.person, **self.claims}
        said = {key: value for key, value in said.items() if value is not None}
        return jwt.encode(said, KEYS[self.algorithm], self.algorithm, {"kid": self.key})


class _Handler(BaseHTTPRequestHandler):
    office: Office

    def log_message(self, *_: object) -> None:
        pass

    def _say(self, status: int, text: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.office.asked.append(parts.path)
        if parts.path in self.office.replies:
            self._say(*self.office.replies[parts.path], Location="/elsewhere")
        elif parts.path == "/authorize":
            query = {name: value for name, [value] in parse_qs(parts.query).items()}
            self._say(303, b"", Location=self.office.authorized(query))
        elif parts.path == "/keys":
            self._say(200, json.dumps({"keys": self.office.keys}).encode())
        else:
            self._say(200, json.dumps(self.office.discovery()).encode())

    def do_POST(self) -> None:
        self.office.asked.append(self.path)
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        if self.path in self.office.replies:
            self._say(*self.office.replies[self.path])
            return
        fields = {name: value for name, [value] in form.items()}
        status, said = self.office.token(fields, self.headers.get("Authorization"))
        self._say(status, json.dumps(said).encode())


@contextmanager
def office_at_work(certificate: Path | None = None, key: Path | None = None):
    """A provider on a port of this machine, with TLS where it has a certificate."""
    office = Office()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"office": office}))
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket, scheme = context.wrap_socket(server.socket, server_side=True), "https"
    office.issuer = f"{scheme}://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield office
    finally:
        server.shutdown()
        server.server_close()


def settings_of(office, **more):
    roles = {"chiefs": "custodian", "statistics": "analyst", "court": "auditor"}
    return {"issuer": office.issuer, "client_id": office.client, "roles": roles, **more}


def sign_in_by(vault, office, **more):
    """A vault whose settings name the provider."""
    settings = settings_of(office, **more)
    roles = settings.pop("roles")
    lines = [f"{key} = {json.dumps(str(value))}" for key, value in settings.items()]
    lines += ["[sign_in.roles]", *(f"{json.dumps(value)} = {json.dumps(role)}" for value, role in roles.items())]
    path = vault.path / "vault.toml"
    path.write_text("\n".join([path.read_text(), "[sign_in]", *lines, ""]))
    return vault


def at_provider(address):
    """What the provider does with a browser: it is sent back."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname, parts.port)
    connection.request("GET", f"{parts.path}?{parts.query}")
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.getheader("Location")
