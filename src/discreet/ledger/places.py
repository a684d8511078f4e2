"""Where a journal is: a file, or a Postgres database; and what it was made with."""

from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.errors import JournalCorrupt
from discreet.ledger.journal import ORIGIN, Journal, verified
from discreet.ledger.sqlite import SQLiteJournal
from discreet.postgres_address import is_postgres, of_vault


def journal_at(location: Path | str) -> Journal:
    """The journal in a file, or in Postgres by a URI that names the vault."""
    if is_postgres(location):
        from discreet.ledger.postgres import PostgresJournal

        return PostgresJournal(str(location))
    return SQLiteJournal(Path(location))


def new_journal(location: Path | str, vault_id: str) -> Journal:
    """An empty journal in a file that is not there yet, or in Postgres."""
    if is_postgres(location):
        from discreet.ledger.postgres import PostgresJournal

        return PostgresJournal.create(of_vault(str(location), vault_id))
    return SQLiteJournal.create(Path(location))


def header_of(location: Path | str) -> dict[str, Any]:
    """The header that a journal was created with: it holds what is needed to open the ledger. Nothing else is read."""
    with closing(journal_at(location)) as journal:
        first = journal.entry(1)
    if first is None or first.kind != "init":
        raise JournalCorrupt("the journal has no first entry: its vault was never finished", "make it again")
    header = next(verified([first], ORIGIN)).parsed()["content"]
    if not isinstance(header, dict):
        raise JournalCorrupt("the journal's first entry cannot be read", "restore it from a backup")
    return header
