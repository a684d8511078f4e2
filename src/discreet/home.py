"""A vault's directory: its settings, its key, its journal's place; made whole or not at all."""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.answer.policy import Policy
from discreet.errors import VaultError
from discreet.ledger.ledger import Ledger
from discreet.ledger.postgres_uri import of_vault, parse_place
from discreet.ledger.snapshot import SnapshotId
from discreet.release.archive import sync_folder
from discreet.release.aside import folder_beside
from discreet.release.own_table import SNAPSHOTS, snapshot_folder

SETTINGS, JOURNAL, KEY, RELEASES, ROSTER = "vault.toml", "journal.sqlite", "key", "releases", "roster.bin"


@dataclass(frozen=True)
class Settings:
    """vault.toml: where the table is, where the journal is if not in the vault, and the policy."""

    table: str
    ledger: str | None
    policy: Policy


def require_whole(home: Path) -> None:
    if (home / SETTINGS).is_file():
        return
    if not any((home / name).is_file() for name in (JOURNAL, KEY)):
        raise VaultError(f"{home} is not a vault; make one with `discreet init`")
    raise VaultError(f"{home} has lost its {SETTINGS}; restore it from a backup")


def journal_of(home: Path, kept: str | None, given: str | None) -> Path | str:
    """Where the journal is: in the vault, or where its settings say; `given` is the same with a password."""
    if kept is not None:
        return of_vault(given or kept, parse_place(kept).vault_id)
    if given:
        raise VaultError(f"{home} has its journal in its own folder; open it without ledger=…")
    if not (home / JOURNAL).is_file():
        raise VaultError(f"{home} has lost its {JOURNAL}; restore it from a backup")
    return home / JOURNAL


def read_key(home: Path) -> bytes:
    try:
        return (home / KEY).read_bytes()
    except OSError:
        raise VaultError(
            f"{home / KEY} cannot be read, and without it the table cannot be recognised; restore it from a backup"
        ) from None


@contextmanager
def new_home(home: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name at the end of the block: a vault that is there is whole."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with folder_beside(home) as beside:
            aside = beside / home.name
            aside.mkdir(mode=0o700)
            yield aside
            sync_folder(aside)
            aside.rename(home)
        sync_folder(home.parent)
    except OSError:
        raise VaultError(f"{home} cannot be written; is there space, and may you write there?") from None


def fill_home(
    home: Path, header: dict[str, Any], key: bytes, location: str, ledger: str | None, roster: bytes | None
) -> None:
    """Write the settings, the key, the roster where there is one, and the journal with its first entry."""
    _write_synced(home / SETTINGS, _settings_text(location, ledger and parse_place(ledger).location).encode())
    _write_synced(home / KEY, key, mode=0o600)
    if roster is not None:
        _write_synced(home / ROSTER, roster)
    Ledger.create(ledger or home / JOURNAL, header)


def forget_snapshots(home: Path, before: SnapshotId) -> None:
    """Remove the snapshots that this one took the place of, and others that were to have its number; not a later one,
    which somebody may be about to name in the journal. Whoever still reads one goes on reading it: its files go when
    they are closed."""
    kept = snapshot_folder(home, before)
    for folder in (home / SNAPSHOTS).glob("*"):
        number = folder.name.partition("-")[0]
        if folder != kept and number.isdecimal() and int(number) <= before.number:
            shutil.rmtree(folder, ignore_errors=True)


def forget_snapshot(home: Path, id: SnapshotId) -> None:
    """Remove a snapshot that the journal never named."""
    shutil.rmtree(snapshot_folder(home, id), ignore_errors=True)


def _write_synced(path: Path, content: bytes, mode: int = 0o666) -> None:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settings_text(location: str, ledger: str | None) -> str:
    shared = f"\n[ledger]\nlocation = {json.dumps(ledger, ensure_ascii=False)}\n" if ledger else ""
    return f"""\
# A vault of Discreet. The budget, the neighbours and the domain are in the journal and cannot be changed.
[table]
location = {json.dumps(location, ensure_ascii=False)}
{shared}
[policy]  # what `ask` does when nothing is said, and what it never does
confidence = 0.95
# default_within = 300   # aim for ± this; without it a question spends a hundredth of its region's budget
# min_scale = 10         # never less noise than this on a count
# max_per_query = 0.1    # never more ε than this on one question
# compound_size = 3      # a relaxed answer is made of at most this many released ones
"""


def read_settings(home: Path) -> Settings:
    """What vault.toml says."""
    try:
        settings = tomllib.loads((home / SETTINGS).read_text(encoding="utf-8"), parse_float=str)
        unknown = sorted(set(settings) - {"table", "ledger", "policy"})
        if unknown:
            raise VaultError(f"{home / SETTINGS} has no [{unknown[0]}]; it takes [table], [ledger] and [policy]")
        ledger = str(settings["ledger"]["location"]) if "ledger" in settings else None
        return Settings(str(settings["table"]["location"]), ledger, Policy.parse(settings.get("policy", {})))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        raise VaultError(f"{home / SETTINGS} cannot be read; it needs [table] location = …") from None


def relocate_table(home: Path, location: str) -> None:
    """Change the table's location in vault.toml, and nothing else there."""
    path = home / SETTINGS
    line = f"location = {json.dumps(location, ensure_ascii=False)}"
    text = re.sub(r"(?m)^[ \t]*location[ \t]*=.*$", lambda _: line, path.read_text(encoding="utf-8"), count=1)
    if tomllib.loads(text)["table"]["location"] != location:
        raise VaultError(f"{path} is not laid out as it was made; write [table] and under it {line}")
    aside = path.with_name(f".{SETTINGS}.{os.getpid()}.part")
    try:
        _write_synced(aside, text.encode())
        aside.replace(path)
    except OSError:
        raise VaultError(f"{path} cannot be written; is there space, and may you write there?") from None
    finally:
        aside.unlink(missing_ok=True)
