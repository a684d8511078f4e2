"""The journal: entries that are only ever appended, each synced before it counts and hash-chained to the one before."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.errors import JournalCorrupt, JournalError
from discreet.ledger.receipt import Receipt

VERSION = 1
"""The version of the bodies' format, in each body as "v"."""

NOTES = ("buckets", "cube", "lookups", "model", "round", "rollback-accepted", "rows", "statistics")
"""Kinds that spend nothing. Each of the others is written and counted in its own way, and one that is neither was
written by a later version, and is refused."""

ORIGIN = Receipt(0, bytes(32))
"""What the first entry is chained to."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal. A record has the number of the charge that it completes in `charge`."""

    seq: int
    kind: str
    charge: int | None
    body: str
    hash: bytes

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.seq, self.hash)

    def parsed(self) -> dict[str, Any]:
        """The body. A body of a later version is refused, not guessed at."""
        try:
            body = json.loads(self.body)
            version, is_whole = body["v"], "content" in body
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._unreadable() from None
        if version != VERSION:
            raise JournalError(f"entry {self.seq} of the journal has format {version!r}", "upgrade Discreet to read it")
        if not is_whole:
            raise self._unreadable()
        return dict(body)

    def unknown(self) -> JournalError:
        """What to say of a kind that this version does not know: it may be about what was spent."""
        return JournalError(
            f"entry {self.seq} of the journal is of a kind that this version of Discreet does not know "
            f"({self.kind!r:.40}): what was spent cannot be told without it, so that nothing is answered",
            "upgrade Discreet to read it",
        )

    def _unreadable(self) -> JournalCorrupt:
        return JournalCorrupt(f"entry {self.seq} of the journal cannot be read", "restore it from a backup")


def chained(before: Receipt, kind: str, charge: int | None, body: str) -> Entry:
    """The entry that follows a receipt. Its hash covers everything in it and, by the chain, everything before it."""
    seq = before.seq + 1
    return Entry(seq, kind, charge, body, _digest(before.hash, seq, kind, charge, body))


def _digest(before: bytes, seq: int, kind: str, charge: int | None, body: str) -> bytes:
    line = f"{seq}\n{kind}\n{'' if charge is None else charge}\n{body}"
    return hashlib.sha256(before + line.encode()).digest()


def verified(entries: Iterable[Entry], before: Receipt) -> Iterator[Entry]:
    """The same entries, each checked to follow the one before; the first must follow the given receipt."""
    seq, digest = before.seq, before.hash
    for entry in entries:
        seq += 1
        digest = _digest(digest, seq, entry.kind, entry.charge, entry.body)
        if entry.seq != seq or entry.hash != digest:
            raise JournalCorrupt(
                f"the journal is damaged or was edited at entry {seq}",
                "nothing was spent: restore it from a backup that is not older than the last receipt",
            )
        yield entry


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(body: dict[str, Any]) -> str:
    """JSON with one spelling for one value. Raises ValueError or TypeError where it is not JSON."""
    return _CANONICAL.encode(body)


class Journal(Protocol):
    """Durable, shared by any number of threads and processes. Every failure is a JournalError with what to do."""

    def turn(self) -> AbstractContextManager[None]:
        """Wait to be the only writer; at the end commit and sync, or roll back after an exception."""
        ...

    def append(self, entry: Entry) -> None:
        """Write an entry. Requires a turn: the entry counts once the turn has ended without an exception."""
        ...

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Entries in order, in bounded memory."""
        ...

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        """The entries after that of a receipt, in one look; None where the journal does not hold it."""
        ...

    def entry(self, seq: int) -> Entry | None: ...

    def receipt_at(self, seq: int) -> Receipt | None:
        """The receipt of an entry, without reading its body."""
        ...

    def record_of(self, charge: int) -> Entry | None:
        """The entry that completes a charge; None while there is none."""
        ...

    def close(self) -> None: ...

    def after_fork(self) -> None:
        """Called in a forked child: what was open stays the parent's, to be neither used nor closed."""
        ...
