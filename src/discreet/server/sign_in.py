"""Whom a provider signs in to which vaults: `[sign_in]` of each says who may come in there, and as what.

In a folder, vaults that name the same client of the same provider share it: somebody signs in once, and is a user of
each of them that has a role for them. What one vault's settings say gives nobody anything in another.
"""

import hashlib
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.errors import AccessDenied, DiscreetError
from discreet.home import sign_in_settings
from discreet.private import SETTINGS
from discreet.server.auth import User, end_subject, know_subject
from discreet.server.folder import VaultFolder
from discreet.server.log import RequestOrigin, log_denied, origin
from discreet.server.openid import Provider, SignIn


def sign_in_of(home: Path) -> SignIn | None:
    """`[sign_in]` of a vault's settings as they are now; None where a provider signs nobody in. Raises VaultError where
    it cannot be meant."""
    try:
        found = (home / SETTINGS).stat()
    except OSError:
        return None
    return _read(home, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=256)
def _read(home: Path, _version: tuple[int, int, int]) -> SignIn | None:
    settings = sign_in_settings(home)
    return None if settings is None else SignIn.parse(settings)


def client_name(settings: SignIn) -> str:
    """What tells one client of a provider from another: whoever has the same can ask for both at once."""
    said = repr((settings.issuer, settings.client_id, settings.client_secret_file))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def user_by(home: Path, settings: SignIn, claims: Mapping[str, Any]) -> User:
    """The user of a vault that somebody is by what its provider says of them. Raises AccessDenied where they have no
    role there; what they had there ends then."""
    subject, role = f"{settings.issuer} {claims['sub']}", settings.role_of(claims)
    if role is None:
        end_subject(home, subject)
        raise AccessDenied("your account has no role here; ask the custodian of the vault")
    return know_subject(home, subject, settings.name_of(claims), role, settings.quota)


@dataclass
class FolderSignIn:
    """The providers that the vaults of a folder name now. Any thread may ask; a provider's keys are kept while a vault
    names it."""

    folder: VaultFolder
    _providers: dict[str, Provider] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def providers(self) -> Mapping[str, Provider]:
        named = {client_name(settings): settings for settings in reversed(self._settings().values())}
        with self._lock:
            kept = {name: self._providers.get(name) or Provider(settings) for name, settings in named.items()}
            for name, settings in named.items():
                kept[name].settings = settings  # what its button says may have changed
            self._providers = kept
        return dict(reversed(kept.items()))

    def users(self, provider: str, claims: Mapping[str, Any]) -> dict[str, User]:
        """The vaults that somebody comes into by what a provider says of them, and as whom. Raises AccessDenied where
        there is none. A vault in whose files nothing can be written is passed over, as one that cannot be opened."""
        found: dict[str, User] = {}
        refused: set[str] = set()
        for name, settings in self._settings().items():
            if client_name(settings) != provider:
                continue
            home = self.folder.home(name)
            try:
                found[name] = user_by(home, settings, claims)
            except AccessDenied as error:
                refused.add(str(error))
                if settings.role_of(claims) is not None:  # its custodian can mend that
                    _tell(home, error)
            except DiscreetError:
                continue
        if not found:
            words = "your account has no role in any vault here; ask a custodian"
            raise AccessDenied(refused.pop() if len(refused) == 1 else words)
        return found

    def _settings(self) -> dict[str, SignIn]:
        """By vault. One whose settings cannot be read lets nobody in by them."""
        found = {}
        for name in self.folder.names():
            with suppress(DiscreetError):
                settings = sign_in_of(self.folder.home(name))
                if settings is not None:
                    found[name] = settings
        return found


def _tell(home: Path, error: AccessDenied) -> None:
    come = origin.get() or RequestOrigin("")
    log_denied(home, come, None, type(error).__name__, {"by": "a provider", "message": str(error)})
