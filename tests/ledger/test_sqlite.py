"""What can happen to the file: each accident gives a clear error, and spends nothing."""

import os
import resource
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.errors import BudgetExceeded, JournalCorrupt, JournalError, JournalRolledBack
from discreet.ledger import sqlite
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import last_receipt
from discreet.ledger.spend import UNITS, Cost
from tests.power_cut import power_may_go

TENTH = Cost(UNITS // 10)


def edit(path: Path, *statements: str) -> None:
    """Change the file behind the journal's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_only_the_owner_can_read_the_journal(path: Path, ledger: Ledger) -> None:
    ledger.charge(TENTH, {})
    files = [path, path.with_name("journal.db-wal"), path.with_name("journal.db-shm")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3


def test_a_new_journal_is_found_by_its_name_after_a_power_cut(tmp_path: Path) -> None:
    with power_may_go(tmp_path) as disk:
        sqlite.SQLiteJournal.create(tmp_path / "new.db")
        assert disk.keeps_name(tmp_path / "new.db")


def test_a_journal_whose_name_cannot_be_synced_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_directory: Path) -> None:
        raise OSError("the disk failed")

    monkeypatch.setattr(sqlite, "_sync_directory", fails)
    with pytest.raises(OSError, match="the disk failed"):
        sqlite.SQLiteJournal.create(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_closed_journal_keeps_nothing_open_and_opens_again(path: Path) -> None:
    journal = sqlite.SQLiteJournal(path)
    connection = journal._connection
    assert connection is not None
    head = journal.receipt_at(1)
    journal.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    assert journal.receipt_at(1) == head
    journal.close()
    journal.close()


def test_a_forked_process_opens_the_journal_for_itself_and_leaves_the_parent_s_connection_alone(path: Path) -> None:
    journal = sqlite.SQLiteJournal(path)
    of_the_parent = journal._connection
    assert of_the_parent is not None
    journal.after_fork()
    assert journal._connection is None
    journal.after_fork()
    assert journal.receipt_at(1) is not None
    assert journal._connection is not of_the_parent
    assert of_the_parent.execute("SELECT 1").fetchone() == (1,)


def test_every_commit_is_synced_in_full(path: Path) -> None:
    with closing(sqlite._opened(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize("statement", ["UPDATE entries SET body = '{}'", "DELETE FROM entries"])
def test_entries_can_be_neither_changed_nor_removed(path: Path, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        edit(path, statement)


def test_a_journal_is_never_made_over_another_file(path: Path) -> None:
    with pytest.raises(JournalError, match="already"):
        Ledger.create(path, {"vault_id": "other-vault"})
    with pytest.raises(JournalError, match="No such file"):
        Ledger.create(path.parent / "missing" / "journal.db", {"vault_id": "other-vault"})


def test_a_missing_journal_is_not_made_up(tmp_path: Path, domain: Domain, budget: PureBudget) -> None:
    with pytest.raises(JournalError, match="there is no journal at"):
        Ledger.open(tmp_path / "journal.db", domain, budget)
    assert list(tmp_path.iterdir()) == []


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: os.truncate(path, 0),
    "cut short": lambda path: os.truncate(path, 5000),
    "cut to a header": lambda path: os.truncate(path, 100),
    "overwritten": lambda path: path.write_bytes(b"not a database at all" * 1000),
    "another database": lambda path: (path.unlink(), edit(path, "CREATE TABLE t (x)")),
    "zeroed in the middle": lambda path: path.write_bytes(path.read_bytes()[:4096] + bytes(path.stat().st_size - 4096)),
    "table dropped": lambda path: edit(path, "DROP TABLE entries"),
    "an entry edited": lambda path: edit(
        path, "DROP TRIGGER entries_stay", "UPDATE entries SET body = replace(body, 'plan', 'plot') WHERE seq = 2"
    ),
    "an amount lowered": lambda path: edit(
        path, "DROP TRIGGER entries_stay", "UPDATE entries SET body = replace(body, '7207', '0720') WHERE seq = 2"
    ),
    "an entry removed": lambda path: edit(path, "DROP TRIGGER entries_last", "DELETE FROM entries WHERE seq = 3"),
    "the first entry removed": lambda path: edit(
        path, "DROP TRIGGER entries_last", "DELETE FROM entries WHERE seq = 1"
    ),
    "all entries removed": lambda path: edit(path, "DROP TRIGGER entries_last", "DELETE FROM entries"),
    "the schema not UTF-8": lambda path: path.write_bytes(
        path.read_bytes().replace(b"CREATE TRIGGER entries_stay BEFORE", b"CREATE TR\xa0GGER entries_stay BEF\xa0RE")
    ),
    "not UTF-8": lambda path: path.write_bytes(path.read_bytes().replace(b'"plan"', b'"pl\xff\xfe"')),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_or_edited_journal_is_refused_without_quoting_it(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger, damage: Callable[[Path], object]
) -> None:
    for _ in range(5):
        ledger.charge(TENTH, "plan")
    ledger.close()
    damage(path)
    with pytest.raises(JournalCorrupt) as refused:
        Ledger.open(path, domain, budget)
    assert "plan" not in str(refused.value)
    assert any(advice in str(refused.value) for advice in ("restore", "make it again"))


def test_an_edit_while_the_ledger_is_open_is_met_with_the_next_charge(path: Path, ledger: Ledger) -> None:
    ledger.charge(TENTH, "plan")
    edit(path, "INSERT INTO entries VALUES (3, 'charge', NULL, '{}', x'00')")
    with pytest.raises(JournalCorrupt, match="entry 3"):
        ledger.charge(TENTH, "plan")


def test_an_older_copy_put_back_is_refused_until_a_custodian_accepts_it(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    ledger.charge(TENTH, {})
    ledger.close()
    old = shutil.copy(path, path.with_name("backup"))
    ledger = Ledger.open(path, domain, budget)
    lost = ledger.charge(TENTH, {})
    ledger.close()
    shutil.copy(old, path)
    with pytest.raises(JournalRolledBack, match=r"entry 3 as it was seen.*--accept-rollback"):
        Ledger.open(path, domain, budget)
    accepted = Ledger.open(path, domain, budget, accept_rollback=True)
    assert accepted.latest("rollback-accepted") == {"seen": str(lost.receipt)}
    assert accepted.spent_max == UNITS // 10
    Ledger.open(path, domain, budget)


def test_a_journal_that_went_another_way_after_a_backup_is_refused(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.close()
    twin = shutil.copy(path, path.with_name("twin"))
    ledger = Ledger.open(path, domain, budget)
    ledger.charge(TENTH, "here")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(path.parent / "somebody else's"))
        other = Ledger(sqlite.SQLiteJournal(Path(twin)), domain, budget)
        other.charge(TENTH, "there")
        other.charge(TENTH, "there")
        other.close()
    with pytest.raises(JournalRolledBack, match="entry 2 as it was seen"):
        Ledger.open(Path(twin), domain, budget)


def test_who_reads_what_others_wrote_remembers_how_far_the_journal_came(
    path: Path, domain: Domain, budget: PureBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Ledger.open(path, domain, budget)
    monkeypatch.setenv("XDG_STATE_HOME", str(path.parent / "the reader's"))
    reader = Ledger.open(path, domain, budget)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(path.parent / "the writer's"))
        for _ in range(2):
            writer.charge(TENTH, {})
    assert last_receipt("test-vault") != writer.head
    assert reader.charges == 2
    assert last_receipt("test-vault") == writer.head


def test_of_two_journals_that_went_on_from_one_backup_only_the_first_is_answered_from(
    path: Path, domain: Domain, budget: PureBudget
) -> None:
    """Both were opened before either went on, so that neither looked behind when it was opened."""
    twin = shutil.copy(path, path.with_name("twin"))
    first, second = Ledger.open(path, domain, budget), Ledger.open(Path(twin), domain, budget)
    first.charge(TENTH, "here")
    for _ in range(2):
        with pytest.raises(JournalRolledBack, match="entry 2 as it was seen"):
            second.charge(TENTH, "there")
    assert last_receipt("test-vault") == first.head


def test_a_journal_replaced_under_an_open_ledger_is_noticed_before_the_next_charge(path: Path, ledger: Ledger) -> None:
    ledger.charge(TENTH, {})
    path.with_name("copy").write_bytes(path.read_bytes())
    os.replace(path.with_name("copy"), path)
    with pytest.raises(JournalRolledBack, match="replaced or removed while it was open"):
        ledger.charge(TENTH, {})


def test_a_rollback_under_an_open_ledger_is_noticed_before_the_next_charge(path: Path, ledger: Ledger) -> None:
    ledger.charge(TENTH, {})
    ledger.charge(TENTH, {})
    edit(path, "DROP TRIGGER entries_last", "DELETE FROM entries WHERE seq = 3")
    with pytest.raises(JournalRolledBack, match="entry 3"):
        ledger.charge(TENTH, {})


def test_a_full_disk_spends_nothing_and_loses_nothing(ledger: Ledger) -> None:
    ledger.charge(TENTH, {})
    before = ledger.head
    connection = ledger._followed.journal._connection  # type: ignore[attr-defined]
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match=r"the disk is full; nothing was written: free some space"):
        ledger.charge(TENTH, "x" * 100_000)
    assert (ledger.head, ledger.spent_max) == (before, UNITS // 10)
    connection.execute("PRAGMA max_page_count = 1000000")
    ledger.charge(TENTH, "x" * 100_000)
    assert ledger.spent_max == UNITS // 5


def test_a_write_that_fails_half_way_spends_nothing(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    ledger.charge(TENTH, {})
    before = ledger.head
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("journal.db-wal").stat().st_size + 5000, limits[1]))
    try:
        with pytest.raises(JournalError, match="failed: the disk"):
            ledger.charge(TENTH, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (ledger.head, ledger.spent_max) == (before, UNITS // 10)
    ledger.charge(TENTH, {})
    assert Ledger.open(path, domain, budget).spent_max == UNITS // 5


def test_a_journal_that_another_process_keeps_locked_is_an_error_after_a_while(
    path: Path, domain: Domain, budget: PureBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    ledger = Ledger.open(path, domain, budget)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match=r"busy for .* seconds; nothing was written"):
            ledger.charge(TENTH, {})
        assert ledger.spent_max == 0
    ledger.charge(TENTH, {})


def test_what_cannot_fit_is_refused_while_another_process_writes(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    other = Ledger.open(path, domain, budget)
    other.charge(Cost(UNITS), {})
    with pytest.raises(BudgetExceeded):
        ledger.charge(TENTH, {})  # seen for the first time
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(BudgetExceeded):
            ledger.charge(TENTH, {})


def test_a_journal_that_may_not_be_written_says_so(ledger: Ledger) -> None:
    ledger._followed.journal._connection.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
    with pytest.raises(JournalError, match="it is read-only; nothing was written: make the vault's directory writable"):
        ledger.charge(TENTH, {})
    assert ledger.spent_max == 0


def test_a_home_that_cannot_be_written_costs_no_answer(
    path: Path, domain: Domain, budget: PureBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    ledger = Ledger.open(path, domain, budget)
    ledger.record(ledger.charge(TENTH, {}).id, {})
    assert last_receipt("test-vault") is None


def test_a_journal_without_its_first_entry_says_that_its_vault_was_never_finished(
    tmp_path: Path, domain: Domain, budget: PureBudget
) -> None:
    sqlite.SQLiteJournal.create(tmp_path / "journal.db").close()
    with pytest.raises(JournalCorrupt, match="never finished; make it again"):
        Ledger.open(tmp_path / "journal.db", domain, budget)
