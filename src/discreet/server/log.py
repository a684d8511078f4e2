"""The audit log: who asked what, and when; a line of JSON each, appended and never changed.

It is a file beside the journal, not entries of it: most of what is asked is free, and a synced commit for each would
make the free answers slow. What spends is in the journal as well, durably, in the asker's name. A line is written
before its question is answered: where it cannot be, nothing is answered.
"""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.errors import VaultError

LOG = "asked.jsonl"
MOST_BYTES = 4000
"""A longer line is cut: what it says of the question, not who asked and when."""


def log_asked(home: Path, user: str, verb: str, what: Mapping[str, Any]) -> None:
    """Append a line. Whole lines of any number of processes follow each other: each is one write to its end."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    said = {key: value for key, value in what.items() if value not in (None, False)}
    line = json.dumps({"at": at, "user": user, "verb": verb, **said}, ensure_ascii=False, default=str)
    if len(line) > MOST_BYTES:
        line = json.dumps({"at": at, "user": user, "verb": verb, "cut": line[:MOST_BYTES]}, ensure_ascii=False)
    try:
        file = os.open(home / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            text = f"{line}\n".encode()
            if os.write(file, text) != len(text):
                raise OSError
        finally:
            os.close(file)
    except OSError:
        raise VaultError(
            "the audit log cannot be written, so nothing is answered; is there space on the vault's disk?"
        ) from None


def read_log(home: Path, user: str | None = None) -> Iterator[dict[str, Any]]:
    """The lines in order, of one user where named. A line that was cut off by a full disk is left out."""
    try:
        with open(home / LOG, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if user is None or found.get("user") == user:
                    yield found
    except FileNotFoundError:
        return
    except OSError:
        raise VaultError(f"{home / LOG} cannot be read; may you read it?") from None
