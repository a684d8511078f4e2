"""Questions that users keep, each with a name and a note: a file of each user in the vault's folder, its owner's alone.

Only their own user reads them, by the name that the ledger knows them by too. A question is kept as its address, not
with its answer: what opens it sees what it may see then.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from discreet.errors import UnsupportedQuery, VaultError
from discreet.private import private_file, private_folder

FOLDER = "questions"
MOST = 200
"""Questions of one user."""
NAME_LETTERS, NOTE_LETTERS, ADDRESS_LETTERS = 80, 2000, 20_000


@dataclass(frozen=True)
class SavedQuestion:
    """A question by its name. `query` is what stands behind the ? of its address."""

    name: str
    note: str
    query: str


def saved_questions(home: Path, user: str) -> list[SavedQuestion]:
    """What a user has kept, by name. Raises VaultError where their file is damaged."""
    try:
        found = json.loads(_place(home, user).read_text(encoding="utf-8"))
        return [SavedQuestion(str(each["name"]), str(each["note"]), str(each["query"])) for each in found]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError):
        raise VaultError(
            f"the kept questions of {user} cannot be read; restore {FOLDER}/{user}.json from a copy"
        ) from None


def save_question(home: Path, user: str, question: SavedQuestion) -> None:
    """Keep a question. One of the same name gives way."""
    if not question.name or len(question.name) > NAME_LETTERS or not question.name.isprintable():
        raise UnsupportedQuery(f"a kept question has a name of up to {NAME_LETTERS} letters")
    if len(question.note) > NOTE_LETTERS or len(question.query) > ADDRESS_LETTERS:
        raise UnsupportedQuery(f"a note has at most {NOTE_LETTERS} letters, and a question {ADDRESS_LETTERS}")
    with _changed(home, user) as kept:
        kept[question.name] = question
        if len(kept) > MOST:
            raise UnsupportedQuery(f"{MOST} questions are kept at most; forget one first")


def forget_question(home: Path, user: str, name: str) -> None:
    """Keep it no longer."""
    with _changed(home, user) as kept:
        kept.pop(name, None)


@contextmanager
def _changed(home: Path, user: str) -> Iterator[dict[str, SavedQuestion]]:
    """The questions of a user, to be changed by one process at a time; written aside and renamed."""
    place = _place(home, user)
    try:
        private_folder(home / FOLDER)
        lock = private_file(home / FOLDER / f".{user}.lock", os.O_RDWR)
    except OSError:
        raise VaultError("no question can be kept; is there space on the vault's disk?") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = {each.name: each for each in saved_questions(home, user)}
        yield kept
        aside = home / FOLDER / f".{user}.new"
        with os.fdopen(private_file(aside, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
            json.dump([asdict(kept[name]) for name in sorted(kept)], file, ensure_ascii=False)
        os.replace(aside, place)
    except OSError:
        raise VaultError("the question cannot be kept; is there space on the vault's disk?") from None
    finally:
        os.close(lock)


def _place(home: Path, user: str) -> Path:
    return home / FOLDER / f"{user}.json"
