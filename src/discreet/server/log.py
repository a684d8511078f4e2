"""The audit log: who asked what, and when; a line of JSON each, appended and never changed.

It is files beside the journal, not entries of it: most of what is asked is free, and a synced commit for each would
make the free answers slow. What spends is in the journal as well, durably, in the asker's name. A line is written
before its question is answered: where it cannot be, nothing is answered. Lines outlive the process at once, and a loss
of power after a second: so often the file is synced.

A file that is full is set aside under the time when it was; the oldest of those goes when there are too many.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.errors import VaultError
from discreet.private import private_file

LOG = "asked.jsonl"
ASIDE = "asked-*.jsonl"
MOST_BYTES = 4000
"""A longer line is cut: what it says of the question, not who asked and when."""
FILE_BYTES = 64 << 20
"""A file of this size is full: some 300,000 questions."""
KEPT = 15
"""So many full files are kept, besides the one that is written: a gigabyte."""
SYNC_SECONDS = 1.0
_synced: dict[Path, float] = {}


def log_asked(home: Path, user: str, verb: str, what: Mapping[str, Any]) -> None:
    """Append a line. Whole lines of any number of processes follow each other: each is one write to its end."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    said = {key: value for key, value in what.items() if value not in (None, False)}
    line = json.dumps({"at": at, "user": user, "verb": verb, **said}, ensure_ascii=False, default=str)
    if len(line) > MOST_BYTES:
        line = json.dumps({"at": at, "user": user, "verb": verb, "cut": line[:MOST_BYTES]}, ensure_ascii=False)
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
    """The last lines in order, of one user where named. A line that was cut off by a full disk is left out."""
    found: list[dict[str, Any]] = []
    for line in _backwards(home):
        with suppress(ValueError):
            asked = json.loads(line, parse_constant=str)  # a line of NaN is no JSON to anybody else
            if user is None or asked.get("user") == user:
                found.append(asked)
                if len(found) == most:
                    break
    return found[::-1]


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
