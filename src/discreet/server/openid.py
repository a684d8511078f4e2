"""OpenID Connect: people sign in with their office's provider, and what it says of them becomes a user with a role.

The authorization code flow with PKCE, state and nonce. The provider is found by its discovery document, asked over TLS
(without it only on this machine), and follows nobody elsewhere; an ID token counts where one of its keys has signed it,
for this client, for this attempt, and now. PyJWT reads tokens and keys. What a provider says otherwise is not repeated.
"""

import hashlib
import hmac
import json
import re
import ssl
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, build_opener

from discreet.errors import AccessDenied, VaultError
from discreet.exact import Number
from discreet.http_json import NoRedirect
from discreet.server.auth import Role, new_token

SECONDS = 10
MOST_BYTES = 1 << 18
"""No document, key set or token reply is longer."""
KEPT_SECONDS = 3600.0
AGAIN_SECONDS = 30.0
"""Keys are fetched anew for an unknown one, and a provider that failed is asked again, at most so often."""
LEEWAY_SECONDS = 60
"""Clocks of two machines may differ by so much."""
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures that only the provider can make."""
NEEDED = ["exp", "iat", "iss", "aud", "sub", "nonce"]
LOOPBACK = ("127.0.0.1", "localhost", "::1")
KEYS = ("issuer", "client_id", "client_secret_file", "claim", "roles", "name", "quota", "label")
Json = dict[str, Any]

_opener = build_opener(NoRedirect)


@dataclass(frozen=True)
class SignIn:
    """`[sign_in]` of vault.toml."""

    issuer: str
    client_id: str
    roles: Mapping[str, Role]
    """What a value of the claim makes of somebody; the first that they have counts."""
    claim: str = "groups"
    name: str = "preferred_username"
    client_secret_file: Path | None = None
    quota: Number | None = None
    label: str = "your office's account"

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> "SignIn":
        """Raises VaultError where it cannot be meant."""
        unknown = sorted(set(settings) - set(KEYS))
        if unknown:
            raise VaultError(f"[sign_in] in vault.toml has no {unknown[0]!r}; it takes {', '.join(KEYS)}")
        roles, texts = settings.get("roles"), {key: settings[key] for key in settings if key not in ("roles", "quota")}
        if not all(isinstance(text, str) and text for text in texts.values()):
            raise VaultError("[sign_in] in vault.toml: what is not a role or a quota is a text")
        if not {"issuer", "client_id"} <= texts.keys() or not isinstance(roles, dict) or not roles:
            raise VaultError("[sign_in] in vault.toml needs issuer, client_id and [sign_in.roles]")
        if not set(roles.values()) <= set(get_args(Role)):
            raise VaultError(f"[sign_in.roles] in vault.toml: a role is one of {', '.join(get_args(Role))}")
        if not _is_safe(texts["issuer"]):
            raise VaultError("[sign_in] in vault.toml: the issuer is an address that begins with https://")
        secret = texts.pop("client_secret_file", None)
        return cls(**texts, roles=roles, quota=settings.get("quota"), client_secret_file=secret and Path(secret))

    def role_of(self, claims: Mapping[str, Any]) -> Role | None:
        """What somebody with these claims is here; None: nobody."""
        found: Any = claims
        for part in self.claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        return next((role for value, role in self.roles.items() if value in values), None)

    def name_of(self, claims: Mapping[str, Any]) -> str:
        """What somebody is called here. Raises AccessDenied where they have no name."""
        given = claims.get(self.name)
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", given if isinstance(given, str) else "").lstrip("._-")[:64]
        if not name:
            raise AccessDenied(f"the provider does not say what you are called ({self.name}); ask the custodian")
        return name


@dataclass(frozen=True)
class SignInAttempt:
    """Somebody on their way to the provider and back: what only their own browser holds."""

    state: str = field(default_factory=new_token)
    nonce: str = field(default_factory=new_token)
    verifier: str = field(default_factory=new_token)

    def __str__(self) -> str:
        return f"{self.state}.{self.nonce}.{self.verifier}"

    @classmethod
    def read(cls, text: str) -> "SignInAttempt":
        """The inverse of str(). Raises AccessDenied where there is none."""
        if not re.fullmatch(r"[0-9a-f]{64}(\.[0-9a-f]{64}){2}", text):
            raise AccessDenied("this sign-in was not begun in this browser, or took too long; begin again")
        return cls(*text.split("."))

    @property
    def challenge(self) -> str:
        return urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class Provider:
    """A provider, as one client of it sees it. Any number of threads may ask; what it says is kept for a while."""

    def __init__(self, settings: SignIn, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self._clock = settings, clock
        self._lock = threading.Lock()
        self._found: dict[str, tuple[float, Json | None]] = {}

    def address(self, attempt: SignInAttempt, back: str) -> str:
        """Where a browser goes to sign in; it comes `back` with a code."""
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": back,
            "scope": "openid profile email",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        place = self._place("authorization_endpoint")
        return f"{place}{'&' if urlsplit(place).query else '?'}{urlencode(asked)}"

    def claims(self, attempt: SignInAttempt, state: str, code: str, back: str) -> Json:
        """What the provider says of whoever came back with a code. Raises AccessDenied unless all of it holds."""
        if not hmac.compare_digest(attempt.state.encode(), state.encode()):
            raise AccessDenied("this sign-in was begun elsewhere; begin again")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": attempt.verifier,
        }
        secret = self._secret()
        if secret is None:
            form["client_id"] = self.settings.client_id
        token = _asked(self._place("token_endpoint"), urlencode(form).encode(), secret).get("id_token")
        claims = self._verified(token if isinstance(token, str) else "")
        if not hmac.compare_digest(str(claims["nonce"]).encode(), attempt.nonce.encode()):
            raise AccessDenied("the provider's answer is for another sign-in; begin again")
        return claims

    def _secret(self) -> str | None:
        """How a client with a secret says who it is (RFC 6749, 2.3.1)."""
        if self.settings.client_secret_file is None:
            return None
        try:
            secret = self.settings.client_secret_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise VaultError("the client's secret cannot be read; see [sign_in] in vault.toml") from None
        both = f"{quote(self.settings.client_id, safe='')}:{quote(secret, safe='')}"
        return f"Basic {b64encode(both.encode()).decode()}"

    def _verified(self, token: str) -> Json:
        """The claims of an ID token (OpenID Connect Core 1.0, 3.1.3.7)."""
        import jwt  # most servers sign nobody in this way

        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            claims: Json = jwt.decode(
                token,
                key,
                ALGORITHMS,
                options={"require": NEEDED},
                audience=self.settings.client_id,
                issuer=self.settings.issuer,
                leeway=LEEWAY_SECONDS,
            )
        except jwt.ExpiredSignatureError:
            raise AccessDenied("the provider's answer has expired; begin again, or see that the clocks agree") from None
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise AccessDenied("the provider's answer is not one that it has signed for this server") from None
        if claims.get("azp", self.settings.client_id) != self.settings.client_id or not isinstance(claims["sub"], str):
            raise AccessDenied("the provider's answer is for another client")
        return claims

    def _key(self, name: Any) -> Any:
        import jwt

        place = self._place("jwks_uri")
        for newer_than in (KEPT_SECONDS, AGAIN_SECONDS):
            keys = [
                key
                for key in jwt.PyJWKSet.from_dict(self._document(place, newer_than)).keys
                if key.key_type != "oct" and key.public_key_use in (None, "sig") and name in (None, key.key_id)
            ]
            if len(keys) == 1:
                return keys[0]
        raise ValueError("no such key")

    def _place(self, what: str) -> str:
        issuer = self.settings.issuer
        found = self._document(f"{issuer.rstrip('/')}/.well-known/openid-configuration", KEPT_SECONDS)
        place = found.get(what)
        if found.get("issuer") != issuer or not isinstance(place, str) or not _is_safe(place):
            raise VaultError("the sign-in provider does not describe itself as [sign_in] in vault.toml says")
        return place

    def _document(self, place: str, newer_than: float) -> Json:
        """What stands at an address: as it was, where it was looked up lately."""
        with self._lock:
            at, found = self._found.get(place, (0.0, None))
            age = self._clock() - at if place in self._found else float("inf")
            if found is None and age < AGAIN_SECONDS:
                raise VaultError("the sign-in provider cannot be reached; try again in a minute")
            if found is None or age >= newer_than:
                self._found[place] = self._clock(), None
                found = _asked(place)
                self._found[place] = self._clock(), found
            return found


def _asked(place: str, form: bytes | None = None, who: str | None = None) -> Json:
    """A JSON object from the provider. Raises AccessDenied where it refuses, VaultError where it cannot be asked."""
    request = Request(place, form, {"Accept": "application/json", **({"Authorization": who} if who else {})})
    try:
        with _opener.open(request, timeout=SECONDS) as reply:
            text = reply.read(MOST_BYTES + 1)
        found = json.loads(text) if len(text) <= MOST_BYTES else None
    except HTTPError as error:
        error.close()
        if form is not None and error.code in (400, 401, 403):
            raise AccessDenied("the provider did not take the code of this sign-in; begin again") from None
        raise VaultError(f"the sign-in provider answers with {error.code}") from None
    except URLError as error:
        why = ": its certificate does not hold" if isinstance(error.reason, ssl.SSLCertVerificationError) else ""
        raise VaultError(f"the sign-in provider cannot be reached{why}") from None
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise VaultError("the sign-in provider does not answer as one does")
    return found


def _is_safe(place: str) -> bool:
    """Whether an address is one of TLS, or of this machine."""
    try:
        parts = urlsplit(place)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))
