"""The audit log: who asked what, from where, when, and what became of it; lines of JSON, appended and never changed.

It is files beside the journal, not entries of it: most of what is asked is free, and a synced commit for each would
make the free answers slow. What spends is in the journal as well, durably, in the asker's name. A line is written
before its question is answered: where it cannot be, nothing is answered. What became of it is a line of its own, of the
same `id`; whoever reads the log gets them as one. Who was turned away is in it as well. Lines outlive the process at
once, and a loss of power after a second: so often the file is synced.

A file that is full is set aside under the time when it was; the oldest of those goes when there are too many.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.errors import VaultError
from discreet.noise.bits import Bits
from discreet.private import private_file

LOG = "asked.jsonl"
ASIDE = "asked-*.jsonl"
MOST_BYTES = 4000
"""A longer line is cut: what it says of the question or the path, not who asked, when, and what became of it; it has
the SHA-256 of the whole then."""
FILE_BYTES = 64 << 20
"""A file of this size is full: some 300,000 questions."""
KEPT = 15
"""So many full files are kept, besides the one that is written: a gigabyte."""
SYNC_SECONDS = 1.0
_synced: dict[Path, float] = {}


_names = Bits()


def _new_id() -> str:
    """A name that no other request has, of this process or another."""
    return _names.words(2).tobytes().hex()


@dataclass
class RequestOrigin:
    """Where a request comes from, and the name that its lines in the log have in common."""

    address: str
    id: str = field(default_factory=_new_id)
    is_logged: bool = False
    """Whether anything was asked of the vault by it."""
    charges: list[int] = field(default_factory=list)
    """The numbers in the journal of what was charged for it."""


origin: "ContextVar[RequestOrigin | None]" = ContextVar("origin", default=None)
"""Of what is being done in this context."""


def log_asked(home: Path, user: str, verb: str, what: Mapping[str, Any]) -> None:
    """Append a line. Whole lines of any number of processes follow each other: each is one write to its end."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    said = {key: value for key, value in what.items() if value is not None and value is not False}
    come, head = origin.get(), {"at": at, "user": user, "verb": verb}
    if come is not None:
        come.is_logged = True
        head |= {"id": come.id, "address": come.address}
    line = json.dumps({**head, **said}, ensure_ascii=False, default=str)
    if _size(line) > MOST_BYTES:
        whole = _digest(str(said.get("sql", line)))
        line = json.dumps({**head, "sha256": whole, "cut": _beginning(line, MOST_BYTES)}, ensure_ascii=False)
    _write(home, line)


def log_outcome(home: Path, come: RequestOrigin, outcome: str) -> None:
    """What became of a request that was logged. A disk that is full by now takes nothing back."""
    if come.is_logged:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with suppress(VaultError):
            charged = {"charges": come.charges} if come.charges else {}
            _write(home, json.dumps({"of": come.id, "over": at, "outcome": outcome, **charged}))


def log_denied(home: Path, come: RequestOrigin, user: str | None, outcome: str, what: Mapping[str, Any]) -> None:
    """Somebody who was turned away: by their role, or before anybody knew who they are."""
    head = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "user": user, "verb": "denied", "id": come.id}
    head |= {"address": come.address}
    line = json.dumps({**head, **what, "outcome": outcome}, ensure_ascii=False, default=str)
    if _size(line) > MOST_BYTES:
        each = MOST_BYTES // (len(what) + 1)
        short = {key: _beginning(text, each) if isinstance(text, str) else text for key, text in what.items()}
        whole = {"sha256": _digest(str(what.get("path", line)))}
        line = json.dumps({**head, **short, **whole, "outcome": outcome}, ensure_ascii=False, default=str)
    with suppress(VaultError):
        _write(home, line)


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _beginning(text: str, most: int) -> str:
    """The first characters of a text that take so many bytes."""
    return text.encode(errors="replace")[:most].decode(errors="ignore")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _write(home: Path, line: str) -> None:
    try:
        if _append(home, f"{line}\n".encode()) > FILE_BYTES:
            _set_aside(home)
    except OSError:
        raise VaultError(
            "the audit log cannot be written, so nothing is answered; is there space on the vault's disk?"
        ) from None


def _append(home: Path, text: bytes) -> int:
    """Write at the end of the log, and return how long it is."""
    file = private_file(home / LOG, os.O_WRONLY | os.O_APPEND)
    try:
        if os.write(file, text) != len(text):
            raise OSError
        if time.monotonic() - _synced.get(home, 0.0) > SYNC_SECONDS:
            _synced[home] = time.monotonic()
            os.fdatasync(file)
        return os.fstat(file).st_size
    finally:
        os.close(file)


def _set_aside(home: Path) -> None:
    """Begin another file. Of many processes that find it full one does so; what the others still write is kept."""
    lock = private_file(home / f".{LOG}.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):  # another did it just now
            if (home / LOG).stat().st_size > FILE_BYTES:
                now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
                (home / LOG).rename(home / ASIDE.replace("*", now))
        for old in sorted(home.glob(ASIDE))[:-KEPT]:
            old.unlink(missing_ok=True)
    finally:
        os.close(lock)


def last_asked(home: Path, most: int, user: str | None = None) -> list[dict[str, Any]]:
    """The last lines in order, of one user where named, each with what became of it. A line that was cut off by a full
    disk is left out."""
    return list(islice(_joined(home, user), most))[::-1]


def every_asked(home: Path, user: str | None = None) -> Iterator[dict[str, Any]]:
    """All lines in order, for a copy of the log."""
    return iter(list(_joined(home, user))[::-1])


def _joined(home: Path, user: str | None) -> Iterator[dict[str, Any]]:
    """The lines of a user, or of all, from the last one back: an outcome is met before its question."""
    outcomes: dict[str, dict[str, Any]] = {}
    for line in _backwards(home):
        with suppress(ValueError):
            asked = json.loads(line, parse_constant=str)  # a line of NaN is no JSON to anybody else
            if "of" in asked:
                outcomes[asked.pop("of")] = asked
            elif user is None or asked.get("user") == user:
                yield {**asked, **outcomes.pop(asked.get("id", ""), {})}


def _backwards(home: Path) -> Iterator[str]:
    """Every line from the last to the first, one file in memory at a time."""
    for file in (home / LOG, *sorted(home.glob(ASIDE), reverse=True)):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue  # set aside or dropped since
        except OSError:
            raise VaultError(f"{file} cannot be read; may you read it?") from None
        yield from reversed(text.split("\n"))  # not splitlines: a question may hold other ends of lines
