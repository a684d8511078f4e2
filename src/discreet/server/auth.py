"""Who may ask: users of a vault, each with a token of 256 random bits that is shown once and kept as its SHA-256."""

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.errors import AccessDenied, NotFound, VaultError
from discreet.exact import Number, number_text, parse_exact
from discreet.home import declared_budget
from discreet.private import private_file
from discreet.release.archive import sync_folder
from discreet.replies import UserJson

USERS = "users.json"
OVER_MYSQL = "mysql.served"
"""A file that is there from the first time on that a vault is served over MySQL."""
TOKEN_BYTES = 32
Role = Literal["custodian", "analyst", "auditor"]
MAY_ASK: tuple[Role, ...] = ("custodian", "analyst")
"""Auditors look, and spend nothing."""
LIFETIME = re.compile(r"(\d{1,5})([dhm])")
LENGTHS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


@dataclass(frozen=True)
class User:
    """A name with a role. `token` is the SHA-256 of what they were given, never that itself."""

    name: str
    role: Role
    token: str
    at: str
    quota: Fraction | None = None
    """The most of the vault's budget that their own questions may spend on anybody; None: all of it."""
    expires: str | None = None
    """From when on the token opens nothing, in UTC."""
    native: str | None = None
    """SHA-1 of the token's SHA-1, by which MySQL's handshake knows it; kept only where that port was on."""
    subject: str | None = None
    """Who they are at the provider that signs them in, by its address and name for them; None for users of tokens."""

    def to_json(self) -> UserJson:
        """The user without the token's hash."""
        quota = None if self.quota is None else number_text(self.quota)
        return {"name": self.name, "role": self.role, "at": self.at, "quota": quota, "expires": self.expires}

    def is_expired(self, now: datetime) -> bool:
        return self.expires is not None and now >= datetime.fromisoformat(self.expires)


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_hex(TOKEN_BYTES)


def add_user(home: Path, name: str, role: str, *, quota: Number | None = None, expires: str | None = None) -> str:
    """Make a user and return their token. It is not kept, so it cannot be shown again.

    `quota` is in the vault's own currency, or a part of its budget: 10%. `expires` is how long the token is good for,
    as in 30d, 12h or 45m.
    """
    token = new_token()
    _add(home, name, role, quota, expires, (_digest(token), _native(home, token)))
    return token


def share_user(
    home: Path, name: str, role: str, other: Path, *, quota: Number | None = None, expires: str | None = None
) -> None:
    """Make a user whose token is the one that they have in another vault: it opens both, each with the rights that it
    has there, and each vault revokes or replaces it for itself."""
    there = list_users(other)
    known = there[_place_of(other, name, there)]
    _add(home, name, role, quota, expires, (known.token, known.native if (home / OVER_MYSQL).exists() else None))


def _add(
    home: Path,
    name: str,
    role: str,
    quota: Number | None,
    expires: str | None,
    hashes: tuple[str, str | None],
) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise AccessDenied("a user's name has up to 64 letters, digits, dots and dashes, and begins with a letter")
    if role not in get_args(Role):
        raise AccessDenied(f"a role is one of {', '.join(get_args(Role))}")
    most, until = _quota(home, role, quota), _until(expires)
    with _changing(home) as users:
        if any(user.name == name for user in users):
            raise AccessDenied(f"there is a user {name} already; revoke them first, or choose another name")
        since = datetime.now(UTC).isoformat(timespec="seconds")
        users.append(User(name, role, hashes[0], since, most, until, hashes[1]))  # type: ignore[arg-type]


def know_subject(home: Path, subject: str, name: str, role: Role, quota: Number | None) -> User:
    """Somebody whom a provider has signed in: the user that they were before, in the role that they have by now; or a
    new one, with a quota where analysts have one and a token that nobody knows."""
    most = _quota(home, role, quota) if role == "analyst" else None
    with _changing(home) as users:
        for place, user in enumerate(users):
            if user.subject == subject:
                kept = user if user.role == role else replace(user, role=role, quota=most)
                users[place] = kept
                return kept
        if any(user.name == name for user in users):
            raise AccessDenied(f"somebody else is called {name} here; ask the custodian of the vault")
        since = datetime.now(UTC).isoformat(timespec="seconds")
        users.append(User(name, role, _digest(new_token()), since, most, subject=subject))
        return users[-1]


def end_subject(home: Path, subject: str) -> None:
    """Somebody has no role any more: their sessions have ended, and a token that they were given opens nothing."""
    if any(user.subject == subject for user in list_users(home)):
        with _changing(home) as users:
            for place, user in enumerate(users):
                if user.subject == subject:
                    users[place] = replace(user, token=_digest(new_token()), native=None)


def rotate_user(home: Path, name: str) -> str:
    """Give a user another token, and return it: the one before opens nothing from the next request on, and sessions
    that were begun with it have ended. Role, quota and what was spent stay."""
    token = new_token()
    with _changing(home) as users:
        place = _place_of(home, name, users)
        users[place] = replace(users[place], token=_digest(token), native=_native(home, token))
    return token


def edit_user(home: Path, name: str, *, quota: Number | None = None, expires: str | None = None) -> User:
    """Change what is given of a user: their quota ("none": no quota of their own), or from now on how long the token
    is good for ("never": until it is revoked)."""
    with _changing(home) as users:
        place = _place_of(home, name, users)
        user = users[place]
        if quota is not None:
            user = replace(user, quota=None if quota == "none" else _quota(home, user.role, quota))
        if expires is not None:
            user = replace(user, expires=None if expires == "never" else _until(expires))
        users[place] = user
    return user


def _place_of(home: Path, name: str, users: list[User]) -> int:
    places = [place for place, user in enumerate(users) if user.name == name]
    if not places:
        raise NotFound(f"there is no user {name}; see `discreet user list {home}`")
    return places[0]


def _quota(home: Path, role: str, quota: Number | None) -> Fraction | None:
    if quota is None:
        return None
    if role != "analyst":
        raise AccessDenied(f"a quota is for analysts, and this is a{'n' * (role == 'auditor')} {role}")
    return declared_budget(home).quota(quota)


def _until(expires: str | None) -> str | None:
    return None if expires is None else (datetime.now(UTC) + _lifetime(expires)).isoformat(timespec="seconds")


def _lifetime(text: str) -> timedelta:
    found = LIFETIME.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise AccessDenied(f"{text!r} is no length of time; say 30d, 12h or 45m")
    return int(found[1]) * LENGTHS[found[2]]


def revoke_user(home: Path, name: str) -> None:
    """Forget a user: their token opens nothing from the next request on. What they spent stays spent in their name."""
    with _changing(home) as users:
        del users[_place_of(home, name, users)]


def list_users(home: Path) -> list[User]:
    """The users of a vault, as they are on disk now."""
    path = home / USERS
    try:
        found = path.stat()
        # The file is replaced as a whole when it changes, so that another content has another inode or time.
        return list(_read(path, (found.st_ino, found.st_mtime_ns, found.st_size)))
    except FileNotFoundError:
        return []
    except OSError:
        raise VaultError(f"{path} cannot be read; may you read it?") from None


@lru_cache(maxsize=256)
def _read(path: Path, _version: tuple[int, int, int]) -> tuple[User, ...]:
    text = path.read_text(encoding="utf-8")
    try:
        return tuple(_user(user) for user in json.loads(text)["users"])
    except (ValueError, KeyError, TypeError, ArithmeticError):
        raise VaultError(f"{path} is damaged; restore it from a backup, or remove it and add users") from None


def _user(body: dict[str, Any]) -> User:
    quota, expires = body.get("quota"), body.get("expires")
    if expires is not None:
        datetime.fromisoformat(expires)
    return User(**{**body, "quota": None if quota is None else parse_exact(quota)})


def authenticate(home: Path, token: str) -> User:
    """The user whose token this is. It takes as long for a wrong one, wherever it differs."""
    digest = _digest(token)
    found = None
    for user in list_users(home):
        if hmac.compare_digest(user.token, digest):
            found = user
    if found is None:
        raise AccessDenied("this token is not known here; ask the custodian for one: `discreet user add`")
    if found.is_expired(datetime.now(UTC)):
        raise AccessDenied(f"this token of {found.name} expired on {found.expires}; ask the custodian for another")
    return found


def require_asking(user: User) -> None:
    """Raise unless the user may spend queries."""
    if user.role not in MAY_ASK:
        raise AccessDenied(f"{user.name} is an {user.role}, and may look but not ask")


def require_custodian(user: User, what: str) -> None:
    """Raise unless the user may do what only custodians do."""
    if user.role != "custodian":
        article = "an" if user.role[0] == "a" else "a"
        raise AccessDenied(f"{user.name} is {article} {user.role}, and only a custodian may {what}")


def allow_mysql(home: Path) -> list[str]:
    """From now on new tokens open the MySQL port as well. Returns the names of users whose tokens do not."""
    try:
        os.close(private_file(home / OVER_MYSQL, os.O_WRONLY))
    except OSError:
        raise VaultError(f"{home} cannot be written; is it a vault, and may you write there?") from None
    return [user.name for user in list_users(home) if user.native is None]


def _native(home: Path, token: str) -> str | None:
    if not (home / OVER_MYSQL).exists():
        return None
    return hashlib.sha1(hashlib.sha1(token.encode()).digest()).hexdigest()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@contextmanager
def _changing(home: Path) -> Iterator[list[User]]:
    """The users, to be changed by one process at a time; written aside and renamed, readable by the owner only."""
    try:
        lock = private_file(home / f".{USERS}.lock", os.O_RDWR)
    except OSError:
        raise VaultError(f"{home} cannot be written; is it a vault, and may you write there?") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        users = list_users(home)
        yield users
        aside = home / f".{USERS}.part"
        with os.fdopen(private_file(aside, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
            json.dump({"users": [asdict(user) for user in users]}, file, indent=2, default=str)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(home / USERS)
        sync_folder(home)
    except OSError:
        raise VaultError(f"{home / USERS} cannot be written; is there space?") from None
    finally:
        os.close(lock)
