"""The journal in a Postgres database: one table for all vaults there, shared by processes on any number of hosts.

A turn is one transaction under an advisory lock of its vault. Postgres writes and syncs a commit to its log before any
other session can see it, and gives the lock free after that; so what is read within a turn is all there is, durably.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from discreet.errors import JournalCorrupt, JournalError
from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.postgres_address import JournalPlace, journal_place

if TYPE_CHECKING:
    import psycopg

PATIENCE = 60
"""Seconds to wait for other writers."""

SILENCE = 30
"""Seconds after which the server ends a turn whose process fell silent in it, so that others need not wait for it."""

BATCH = 1000

CONNECTION = {
    "connect_timeout": "10",
    "client_encoding": "utf8",
    "application_name": "discreet",
    # A network that is gone is noticed within half a minute, not after hours.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}

SCHEMA = """
CREATE TABLE discreet_entries (
    vault_id text NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    charge bigint,
    body text NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (vault_id, seq),
    UNIQUE (vault_id, charge)
);
CREATE FUNCTION discreet_entries_stay() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON discreet_entries
    EXECUTE FUNCTION discreet_entries_stay();
"""

COLUMNS = "seq, kind, charge, body, hash"


class PostgresJournal:
    """A Journal in a database server. One connection a process, under a lock; a forked child makes its own.

    A connection that was lost between two turns is made again unnoticed. One that is lost within a turn ends it.
    """

    def __init__(self, location: str) -> None:
        self.place = journal_place(location)
        self._lock = threading.RLock()
        self._session: psycopg.Connection | None = None
        self._in_turn = False
        self._parents: list[psycopg.Connection] = []
        self._run("SELECT FROM discreet_entries LIMIT 0")
        [[kept]] = self._run("SELECT relpersistence::text FROM pg_class WHERE oid = 'discreet_entries'::regclass")
        if kept != "p":
            self.close()
            raise _forgetful(
                self.place, "discreet_entries is an unlogged table", "ALTER TABLE discreet_entries SET LOGGED"
            )

    @classmethod
    def create(cls, location: str) -> "PostgresJournal":
        """A new, empty journal. Raises JournalError where the vault has one already."""
        place = journal_place(location)
        session = _connect(place)
        try:
            with _in_words(place), session.transaction():
                # Not by IF NOT EXISTS: that asks for rights, and fails where two do it at the same time.
                session.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_key(""),))
                found = session.execute("SELECT to_regclass('discreet_entries')").fetchone()
                if found == (None,):
                    session.execute(SCHEMA.encode())
        finally:
            session.close()
        journal = cls(location)
        if journal.receipt_at(1) is not None:
            journal.close()
            raise JournalError(f"there is a journal of this vault already at {place.where}", "open it, or make another")
        return journal

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock:
            try:
                self._run(self._begin(), prepare=False)
                self._in_turn = True
                yield
                self._commit()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._in_turn = False

    def append(self, entry: Entry) -> None:
        if not self._in_turn:
            raise JournalError("an entry is written within a turn only", "nothing was written")
        self._run(
            f"INSERT INTO discreet_entries (vault_id, {COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s)",
            (self.place.vault_id, entry.seq, entry.kind, entry.charge, entry.body, entry.hash),
        )

    def entries(self, after: int = 0) -> Iterator[Entry]:
        batch = self._select("seq > %s ORDER BY seq LIMIT %s", after, BATCH)
        yield from batch
        while len(batch) == BATCH:
            batch = self._select("seq > %s ORDER BY seq LIMIT %s", batch[-1].seq, BATCH)
            yield from batch

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        # Of the first only the hash is wanted: a checkpoint has a long body.
        columns = "seq, kind, charge, CASE WHEN seq > %s THEN body ELSE '' END, hash"
        query = f"SELECT {columns} FROM discreet_entries WHERE vault_id = %s AND seq >= %s ORDER BY seq LIMIT %s"
        batch = [Entry(*row) for row in self._run(query, (receipt.seq, self.place.vault_id, receipt.seq, BATCH))]
        if not batch or batch[0].receipt != receipt:
            return None
        return chain(batch[1:], self.entries(batch[-1].seq) if len(batch) == BATCH else ())

    def entry(self, seq: int) -> Entry | None:
        return next(iter(self._select("seq = %s", seq)), None)

    def record_of(self, charge: int) -> Entry | None:
        return next(iter(self._select("charge = %s", charge)), None)

    def receipt_at(self, seq: int) -> Receipt | None:
        query = "SELECT seq, hash FROM discreet_entries WHERE vault_id = %s AND seq = %s"
        rows = self._run(query, (self.place.vault_id, seq))
        return Receipt(*rows[0]) if rows else None

    def close(self) -> None:
        with self._lock:
            self._drop()

    def after_fork(self) -> None:
        self._lock = threading.RLock()
        self._in_turn = False
        if self._session is not None:
            # Kept, not closed: closing would say goodbye to the server in the parent's name.
            self._parents.append(self._session)
            self._session = None

    def _begin(self) -> str:
        # The lock is waited for by a statement of its own, and each later one sees all that was committed until then:
        # a stricter isolation would read what there was before the wait.
        return (
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; "
            f"SET LOCAL lock_timeout = '{PATIENCE * 1000:.0f}ms'; "
            f"SET LOCAL idle_in_transaction_session_timeout = '{SILENCE * 1000:.0f}ms'; "
            f"SELECT pg_advisory_xact_lock({_lock_key(self.place.vault_id)})"
        )

    def _commit(self) -> None:
        import psycopg

        if self._session is None:
            raise _lost(self.place)
        try:
            ended = self._session.execute("COMMIT").statusmessage
        except psycopg.Error:
            self._drop()
            raise JournalError(
                f"the connection to the journal at {self.place.where} failed during a commit: whether it was written "
                "is not known",
                "nothing was released; `discreet ledger complete` finishes it if it was",
            ) from None
        if ended != "COMMIT":
            raise JournalError(f"the journal at {self.place.where} undid a turn after an error", "nothing was written")

    def _roll_back(self) -> None:
        import psycopg

        try:
            if self._session is not None and self._session.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self._session.execute("ROLLBACK")
        except psycopg.Error:
            # A connection that cannot even roll back is not used again; the server rolls back what it left.
            self._drop()

    def _select(self, where: str, *values: int) -> list[Entry]:
        query = f"SELECT {COLUMNS} FROM discreet_entries WHERE vault_id = %s AND {where}"
        return [Entry(*row) for row in self._run(query, (self.place.vault_id, *values))]

    def _run(self, sql: str, values: tuple[Any, ...] | None = None, prepare: bool | None = None) -> list[Any]:
        """Run a statement, once more on a new connection where the old one had gone before this turn began."""
        with self._lock:
            known = self._session
            if known is None and self._in_turn:
                raise _lost(self.place)
            session = self._session = known or _connect(self.place)
            try:
                with _in_words(self.place):
                    cursor = session.execute(sql.encode(), values, prepare=prepare)
                    return cursor.fetchall() if cursor.description else []
            except JournalError:
                if not session.closed:
                    raise
                self._drop()
                if known is None or self._in_turn:
                    raise _lost(self.place) from None
            except BaseException:
                self._drop()  # interrupted: the answer may still be on its way
                raise
            return self._run(sql, values, prepare)

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _lock_key(vault_id: str) -> int:
    """The number of a vault's advisory lock. Two vaults that share one would only wait for each other."""
    return int.from_bytes(hashlib.sha256(f"discreet {vault_id}".encode()).digest()[:8], "big", signed=True)


def _connect(place: JournalPlace) -> "psycopg.Connection":
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError:
        raise JournalError("a ledger in Postgres needs its driver: pip install 'discreet[postgres]'") from None
    if not place.vault_id:
        raise JournalError(
            f"the ledger at {place.where} needs ?vault=ID after its address, as `discreet init` wrote it"
        )
    try:
        session = psycopg.connect(make_conninfo(**CONNECTION, **place.parameters), autocommit=True)
    except psycopg.Error as error:
        raise _unreachable(place.where, getattr(error, "pgconn", None)) from None
    try:
        with _in_words(place):
            synced = session.execute("SHOW fsync").fetchone() == ("on",)
        if not synced:
            way_out = "set fsync = on in postgresql.conf, then SELECT pg_reload_conf()"
            raise _forgetful(place, "the server runs with fsync off", way_out)
    except BaseException:
        session.close()
        raise
    return session


def _forgetful(place: JournalPlace, why: str, way_out: str) -> JournalError:
    """A server that may lose what it has committed is refused: an answer would be out, and its charge gone."""
    return JournalError(
        f"the journal at {place.where} would not survive a crash, and what it forgets could be spent again: {why}",
        f"nothing was written: {way_out}",
    )


def _unreachable(where: str, connection: Any) -> JournalError:
    """What may be wrong, as far as it can be told without the server's own words."""
    if connection is not None and connection.needs_password:
        return JournalError(f"the journal at {where} asks for a password", "set PGPASSWORD, or write it to ~/.pgpass")
    if connection is not None and connection.used_password:
        return JournalError(
            f"the journal at {where} cannot be opened: the server refuses this user with this password, has no such "
            "database, or takes no more connections",
            "nothing was written",
        )
    return JournalError(
        f"the journal at {where} cannot be reached",
        "nothing was written: is the server running, and are host, database and user right?",
    )


def _lost(place: JournalPlace) -> JournalError:
    return JournalError(f"the connection to the journal at {place.where} was lost", "nothing was written: ask again")


WORDS = {
    "25006": ("it is read-only", "nothing was written: use the primary server, or a user who may write"),
    "53100": ("the server's disk is full", "nothing was written: free some space and ask again"),
    "55P03": (f"another process has kept it busy for {PATIENCE} seconds", "nothing was written: ask again"),
    "42501": (
        "this user may not use it",
        "nothing was written: make tables in the user's schema possible for `discreet "
        "init`, or GRANT SELECT, INSERT ON discreet_entries",
    ),
    "42P01": ("it is not there", "check the location in vault.toml, or restore it from a backup"),
    "23505": ("somebody wrote to it out of turn", "nothing was written: ask again"),
}
DAMAGED = ("22", "42703", "42804", "42883", "XX001", "XX002")
"""Statements and their values are fixed, so that a column is another, or a page is broken."""


@contextmanager
def _in_words(place: JournalPlace) -> Iterator[None]:
    """Every error of the driver becomes one of ours: the server's words may quote what is stored."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ("22" if isinstance(error, psycopg.DataError) else "")
        if state.startswith(DAMAGED):
            raise JournalCorrupt(f"the journal at {place.where} is damaged", "restore it from a backup") from None
        what, advice = WORDS.get(
            state, ("Postgres refused", "nothing was written: ask again, or look into the server's log")
        )
        raise JournalError(f"the journal at {place.where} failed: {what}", advice) from None
