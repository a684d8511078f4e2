"""A vault as one file, and back.

A backup is whole whatever is asked meanwhile: the journal is copied first, by SQLite's own way, and everything that it
names is there already and stays. It holds the rows and the key, so it is its owner's alone.

A vault that comes back from a backup has forgotten what was spent since. The receipts know: the last one that was seen
on this machine, and any that an answer came with. Where one of them is not in the backup, it is refused, unless a
custodian accepts it: that is noted in the journal, and every guarantee counts it. Where nobody here has seen the vault,
nothing can be proved, and that is said.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

from discreet.errors import JournalRolledBack, VaultError
from discreet.home import (
    JOURNAL,
    budget_in,
    journal_of,
    new_home,
    read_settings,
    require_new_place,
    require_whole,
)
from discreet.ledger.declared import domain_in
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import header_of, journal_at
from discreet.ledger.receipt import Receipt, last_receipt
from discreet.ledger.snapshot import SNAPSHOTS, snapshot_folder
from discreet.private import private_file, private_folder, write_private
from discreet.release.archive import sync_folder
from discreet.release.folder_beside import folder_beside

MANIFEST = "backup.json"
FORMAT = 1
LEFT_OUT = ("sessions", SNAPSHOTS)
"""Sessions end with the server; of the snapshots the current one is taken."""
TRIES = 3
"""How often a backup is begun anew where the table was refreshed meanwhile."""
Proof = Literal["complete", "unknown", "accepted"]
"""Whether anything was spent after a backup: nothing that was seen here; nobody here knows; yes, and it is accepted."""


@dataclass(frozen=True)
class Backup:
    """What was copied: a journal up to a receipt."""

    file: Path
    vault_id: str
    receipt: Receipt
    at: str
    in_postgres: bool
    """The journal is in Postgres, and not in the file."""

    def to_json(self) -> dict[str, Any]:
        return {
            "file": str(self.file),
            "vault_id": self.vault_id,
            "receipt": str(self.receipt),
            "at": self.at,
            "journal": "postgres" if self.in_postgres else "copied",
        }


@dataclass(frozen=True)
class Restored:
    """A vault that is back, when it was copied, and what is known of the time since."""

    vault: Path
    vault_id: str
    receipt: Receipt
    at: str
    proof: Proof

    def to_json(self) -> dict[str, Any]:
        return {
            "vault": str(self.vault),
            "vault_id": self.vault_id,
            "receipt": str(self.receipt),
            "at": self.at,
            "proof": self.proof,
            "in_words": self.in_words(),
        }

    def in_words(self) -> str:
        match self.proof:
            case "complete":
                return (
                    "No receipt that was seen here is missing from it: as far as this machine knows, nothing was lost."
                )
            case "accepted":
                return (
                    "What was spent after the backup is not in its journal. That was accepted, is noted there, and "
                    "every guarantee counts it from now on."
                )
        return (
            f"Nobody has used this vault on this machine, so nothing shows whether it was asked after {self.at}. If it "
            "was, what was spent since is forgotten and could be spent again: give the last receipt that anybody has "
            "to `discreet ledger check --receipt` before anybody asks."
        )


def backup_vault(home: Path, file: Path) -> Backup:
    """Copy a vault into one new file, while it may be asked. Raises VaultError where that cannot be done."""
    require_whole(home)
    if os.path.lexists(file):
        raise VaultError(f"{file} is already there, and no backup is written over; choose another name")
    if not file.absolute().parent.is_dir():
        raise VaultError(f"{file} cannot be written: there is no folder {file.parent}")
    for _ in range(TRIES):
        try:
            with folder_beside(file) as beside:
                made = _written(home, file, beside / "journal", beside / "backup")
                os.rename(beside / "backup", file)
            sync_folder(file.absolute().parent)
        except FileNotFoundError:
            continue  # the table was refreshed, and the snapshot that the journal named is gone
        except (OSError, sqlite3.Error):
            raise VaultError(f"{file} cannot be written; is there space, and may you write there?") from None
        return made
    raise VaultError(f"{home} changes while it is copied, or has lost its snapshot; see `discreet describe {home}`")


def _written(home: Path, file: Path, journal: Path, aside: Path) -> Backup:
    settings, at = read_settings(home), datetime.now(UTC).isoformat(timespec="seconds")
    place = journal_of(home, settings.ledger, None)
    if settings.ledger is None:
        _copy_journal(home / JOURNAL, journal)
        place = journal
    header = header_of(place)
    with closing(Ledger(journal_at(place), domain_in(header), budget_in(header))) as ledger:
        head, vault_id, snapshot = ledger.head, ledger.vault_id, ledger.snapshot
    files = [*_files(home)]
    if snapshot is not None:
        files += _below(snapshot_folder(home, snapshot))
    digests: dict[str, str] = {}
    with os.fdopen(private_file(aside, os.O_WRONLY | os.O_EXCL), "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path in files:
                digests[str(path.relative_to(home))] = _added(archive, path, str(path.relative_to(home)))
            if settings.ledger is None:
                digests[JOURNAL] = _added(archive, journal, JOURNAL)
            about = {"format": FORMAT, "vault_id": vault_id, "receipt": str(head), "at": at, "files": digests}
            aside_about = aside.with_name(MANIFEST)
            write_private(aside_about, json.dumps(about, indent=1).encode())
            _added(archive, aside_about, MANIFEST)
        out.flush()
        os.fsync(out.fileno())
    return Backup(file, vault_id, head, at, settings.ledger is not None)


def _copy_journal(journal: Path, copy: Path) -> None:
    """The journal as it was at one moment, however many write to it."""
    os.close(private_file(copy, os.O_RDWR | os.O_EXCL))
    with closing(sqlite3.connect(journal)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    for log in ("-wal", "-shm"):
        Path(f"{copy}{log}").unlink(missing_ok=True)


def _files(home: Path) -> Iterator[Path]:
    """What a vault keeps besides its journal and its snapshot. What is being written has a name with a dot."""
    for path in sorted(home.iterdir()):
        if path.name.startswith((".", JOURNAL)) or path.name in LEFT_OUT:
            continue
        yield from _below(path)


def _below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for inner in sorted(path.iterdir()):
        if not inner.name.startswith("."):
            yield from _below(inner)


def _added(archive: tarfile.TarFile, path: Path, name: str) -> str:
    """Append a file as long as it is now: the log may grow meanwhile. Returns its SHA-256."""
    with open(path, "rb") as stream:
        info = archive.gettarinfo(arcname=name, fileobj=stream)
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        read = _Digesting(stream)
        archive.addfile(info, read)
    return read.digest.hexdigest()


class _Digesting:
    """A stream whose content is digested as it is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.digest = stream, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        part = self.stream.read(size)
        self.digest.update(part)
        return part


def restore_vault(file: Path, home: Path, *, receipt: str | None = None, accept_rollback: bool = False) -> Restored:
    """Make a vault of a backup, at a place where nothing is: whole, or not at all.

    Raises JournalRolledBack where the last receipt seen here, or the one given, is not in it: something was spent since
    that it does not know of. `accept_rollback` goes on without, and notes so in the journal.
    """
    require_new_place(home)
    given = _parsed(receipt)
    with new_home(home) as aside:
        about = _unpacked(file, aside)
        head, seen = Receipt.parse(about["receipt"]), last_receipt(about["vault_id"])
        proof = _joined(aside, about, given, seen, accept_rollback)
    return Restored(home, about["vault_id"], head, about["at"], proof)


def _parsed(receipt: str | None) -> Receipt | None:
    try:
        return None if receipt is None else Receipt.parse(receipt)
    except ValueError as error:
        raise VaultError(str(error)) from None


def _joined(
    home: Path, about: dict[str, Any], given: Receipt | None, seen: Receipt | None, accept_rollback: bool
) -> Proof:
    """Open the journal that was restored, and compare it with what was seen of it."""
    place = journal_of(home, read_settings(home).ledger, None)
    header = header_of(place)
    domain, budget = domain_in(header), budget_in(header)
    with closing(Ledger(journal_at(place), domain, budget)) as restored:
        missing = [one for one in (seen, given) if one is not None and not _holds(restored, one)]
    if missing and not accept_rollback:
        raise _older(about, max(missing, key=lambda one: one.seq))
    with closing(Ledger.open(place, domain, budget, accept_rollback=accept_rollback and seen in missing)) as ledger:
        if given in missing and given != seen:
            ledger.accept_lost(given)
    if missing:
        return "accepted"
    return "unknown" if seen is None and given is None else "complete"


def _holds(ledger: Ledger, receipt: Receipt) -> bool:
    try:
        ledger.check_receipt(receipt)
    except JournalRolledBack:
        return False
    return True


def _older(about: dict[str, Any], seen: Receipt) -> JournalRolledBack:
    head = Receipt.parse(about["receipt"])
    return JournalRolledBack(
        f"this backup is of {about['at']} and ends with entry {head.seq}; entry {seen.seq} of another journal of this "
        "vault was seen since. What was spent in between is not in it, and would be spent again. Restore a later "
        "backup. If there is none, a custodian may go on with --accept-rollback: the journal notes it, and every "
        "guarantee counts one budget more"
    )


def _unpacked(file: Path, home: Path) -> dict[str, Any]:
    """Write the files of a backup into a new folder, and check each. Returns what it says of itself."""
    found: dict[str, str] = {}
    try:
        with tarfile.open(file, "r:") as archive:
            for info in archive:
                stream = archive.extractfile(info) if info.isfile() else None
                if stream is None or not _is_inside(info.name):
                    raise _damaged(file)
                if info.name != MANIFEST:
                    found[info.name] = _extracted(stream, home / info.name, home)
                    continue
                about: dict[str, Any] = json.loads(stream.read())
                if about["files"] != found or about["format"] != FORMAT:
                    raise _damaged(file)
                Receipt.parse(about["receipt"])
                return {**about, "vault_id": str(about["vault_id"]), "at": str(about["at"])}
    except FileNotFoundError:
        raise VaultError(f"there is no file {file}; a backup is made by `discreet backup`") from None
    except (tarfile.TarError, EOFError, ValueError, LookupError, TypeError):
        raise _damaged(file) from None
    raise _damaged(file)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and bool(path.parts)


def _extracted(stream: IO[bytes], path: Path, home: Path) -> str:
    for folder in reversed([parent for parent in path.parents if home in parent.parents]):
        private_folder(folder)
    read = _Digesting(stream)
    with os.fdopen(private_file(path, os.O_WRONLY | os.O_EXCL), "wb") as out:
        shutil.copyfileobj(read, out)
        out.flush()
        os.fsync(out.fileno())
    return read.digest.hexdigest()


def _damaged(file: Path) -> VaultError:
    return VaultError(f"{file} is no backup of a vault, or was damaged: nothing was restored; use another copy")
