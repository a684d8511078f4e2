"""The journal as one SQLite file: write-ahead log, a full sync with each commit.

A commit that another connection can see was synced before: SQLite syncs the log and only then publishes its end.
"""

import ctypes
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.errors import JournalCorrupt, JournalError, JournalRolledBack
from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.private import private_file

APPLICATION = 0x44697363
"""SQLite's application_id of a journal: "Disc"."""

PATIENCE = 60
"""Seconds to wait for other writers."""

BATCH = 1000

SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = 1;
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    charge INTEGER UNIQUE,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER entries_last BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
"""

COLUMNS = "seq, kind, charge, body, hash"


class SQLiteJournal:
    """A Journal in a local file. One connection a process, under a lock; a forked child opens its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        with self._lock, _in_words(self.path):
            self._connected()

    @classmethod
    def create(cls, path: Path) -> "SQLiteJournal":
        """A new, empty journal that only its owner can read. Raises JournalError where there is a file already."""
        try:
            os.close(private_file(path, os.O_RDWR | os.O_EXCL))  # SQLite gives its log the mode of the journal
        except FileExistsError:
            raise JournalError(f"there is a journal already at {path}", "open it, or choose another place") from None
        except OSError as error:
            raise JournalError(f"no journal can be made at {path}: {os.strerror(error.errno or 0)}") from None
        try:
            with _in_words(path), closing(_connect(path)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(SCHEMA)
            _sync_directory(path.parent)
        except BaseException:
            path.unlink()
            raise
        return cls(path)

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock, _in_words(self.path):
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_place()
                yield
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise

    def append(self, entry: Entry) -> None:
        self._run(
            f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?)",
            (entry.seq, entry.kind, entry.charge, entry.body, entry.hash),
        )

    def entries(self, after: int = 0) -> Iterator[Entry]:
        batch = self._select("WHERE seq > ? ORDER BY seq LIMIT ?", after, BATCH)
        yield from batch
        while len(batch) == BATCH:
            batch = self._select("WHERE seq > ? ORDER BY seq LIMIT ?", batch[-1].seq, BATCH)
            yield from batch

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        # Of the first only the hash is wanted: a checkpoint has a long body.
        bodiless = "seq, kind, charge, iif(seq > ?, body, ''), hash"
        query = f"SELECT {bodiless} FROM entries WHERE seq >= ? ORDER BY seq LIMIT ?"
        batch = [Entry(*row) for row in self._run(query, (receipt.seq, receipt.seq, BATCH))]
        if not batch or batch[0].receipt != receipt:
            return None
        return chain(batch[1:], self.entries(batch[-1].seq) if len(batch) == BATCH else ())

    def entry(self, seq: int) -> Entry | None:
        return next(iter(self._select("WHERE seq = ?", seq)), None)

    def record_of(self, charge: int) -> Entry | None:
        # By its number, so that what is read is the row and not the index that led to it.
        return next(iter(self._select("WHERE seq = (SELECT seq FROM entries WHERE charge = ?)", charge)), None)

    def receipt_at(self, seq: int) -> Receipt | None:
        rows = self._run("SELECT seq, hash FROM entries WHERE seq = ?", (seq,))
        return Receipt(*rows[0]) if rows else None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def after_fork(self) -> None:
        self._lock = threading.RLock()
        if self._connection is not None:
            # Never closed: closing would end what the parent still uses.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None

    def _select(self, where: str, *values: int) -> list[Entry]:
        return [Entry(*row) for row in self._run(f"SELECT {COLUMNS} FROM entries {where}", values)]

    def _run(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connected().execute(statement, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise _worded(self.path, error) from None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _opened(self.path)
            self._inode = os.stat(self.path).st_ino
        return self._connection

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            # A connection that cannot even roll back is not used again; the file itself recovers when opened.
            self._connection = None
            connection.close()

    def _check_place(self) -> None:
        """A file that was moved away under us still takes writes, and nobody would ever read them."""
        try:
            same = os.stat(self.path).st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise JournalRolledBack(
                f"the journal at {self.path} was replaced or removed while it was open",
                "nothing was written: put it back, and open the vault again",
            )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: a plain sync stops at the disk's cache
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}", "check the path, or make a vault with `discreet init`")
    connection = _connect(path)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    except BaseException:
        connection.close()
        raise
    if application != APPLICATION or mode != "wal":
        connection.close()
        raise JournalCorrupt(f"{path} is not a journal of Discreet, or was truncated", "restore it from a backup")
    return connection


def _sync_directory(directory: Path) -> None:
    """Make a new file's name as durable as its content."""
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


WORDS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "nothing was written: free some space and ask again"),
    sqlite3.SQLITE_READONLY: ("it is read-only", "nothing was written: make the vault's directory writable"),
    sqlite3.SQLITE_PERM: (
        "it may not be written",
        "nothing was written: check the permissions of the vault's directory",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened: check the permissions of the vault's directory, and that its disk is not read-only",
        "",
    ),
    sqlite3.SQLITE_BUSY: (f"another process has kept it busy for {PATIENCE} seconds", "nothing was written: ask again"),
    sqlite3.SQLITE_LOCKED: (
        f"another process has kept it busy for {PATIENCE} seconds",
        "nothing was written: ask again",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk is full or failed, or a limit on file sizes was met",
        "nothing was released: look after the disk, then open the vault again to see what was written",
    ),
}
DAMAGED = {
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_ERROR,  # the statements are fixed, so a table or a column is missing
}
UNDECODABLE = sqlite3.SQLITE_CORRUPT
"""Python gives no code to an error of its own: a text that is not UTF-8."""


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _worded(path, error) from None


def _worded(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> JournalError:
    """An error of SQLite as one of ours: the engine's words may quote what is stored."""
    if isinstance(error, UnicodeDecodeError):  # Python cannot read SQLite's words where they quote a broken schema
        return _damaged(path)
    code = getattr(error, "sqlite_errorcode", UNDECODABLE) & 0xFF
    if code in DAMAGED and not isinstance(error, sqlite3.ProgrammingError):
        return _damaged(path)
    what, advice = WORDS.get(
        code, ("SQLite refused", "nothing was released: open the vault again, or restore a backup")
    )
    return JournalError(f"the journal at {path} failed: {what}", advice)


def _damaged(path: Path) -> JournalCorrupt:
    return JournalCorrupt(f"the journal at {path} is damaged", "restore it from a backup")
