"""Sessions of the console: what a browser holds instead of a token.

A session is 256 random bits in a cookie. On the server's disk it is a file by the name of its SHA-256, for its owner
alone: any worker finds it there, a sign-out removes it, and nobody gets a session out of a copy of the vault. It ends
by itself after LIFE, and with the token that it was begun with: when that is revoked, replaced or expired.
"""

import hashlib
import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from discreet.errors import AccessDenied, VaultError
from discreet.private import private_file, private_folder
from discreet.server.auth import User, list_users

FOLDER = "sessions"
ID_BYTES = 32
LIFE = timedelta(hours=12)
ENDED = "this session has ended; sign in again"


def new_session() -> str:
    """The name of a session, which nobody can guess."""
    return secrets.token_hex(ID_BYTES)


def begin_session(home: Path, user: User, id: str | None = None) -> str:
    """A new session of somebody who has just shown their token; by an `id` where several vaults have it in common.
    Clears away those that have ended."""
    id = id or new_session()
    began = {"user": user.name, "token": user.token, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    try:
        private_folder(home / FOLDER)
        _forget_ended(home)
        with os.fdopen(private_file(_place(home, id), os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8") as file:
            json.dump(began, file)
    except OSError:
        raise VaultError("no session can be begun; is there space on the vault's disk?") from None
    return id


def user_in(home: Path, id: str) -> User:
    """Whose session this is. Raises AccessDenied where it has ended, or never was."""
    try:
        began = json.loads(_place(home, id).read_text(encoding="utf-8"))
        user = next(user for user in list_users(home) if (user.name, user.token) == (began["user"], began["token"]))
        age = datetime.now(UTC) - datetime.fromisoformat(began["at"])
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        raise AccessDenied(ENDED) from None
    # A clock that was set back must not make it last.
    if not timedelta(minutes=-1) <= age < LIFE or user.is_expired(datetime.now(UTC)):
        end_session(home, id)
        raise AccessDenied(ENDED)
    return user


def end_session(home: Path, id: str) -> None:
    """Sign out: from now on nobody is signed in by it, wherever it was copied to."""
    with suppress(OSError):
        _place(home, id).unlink()


def _place(home: Path, id: str) -> Path:
    return home / FOLDER / hashlib.sha256(id.encode()).hexdigest()


def _forget_ended(home: Path) -> None:
    oldest = (datetime.now(UTC) - LIFE).timestamp()
    for file in (home / FOLDER).iterdir():
        with suppress(OSError):  # another process was faster
            if file.stat().st_mtime < oldest:
                file.unlink()
