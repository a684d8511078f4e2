"""A vault's directory: its settings, its key, its journal's place; made whole or not at all."""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.domain.tables import LinkedTables
from discreet.errors import JournalCorrupt, VaultError
from discreet.ledger.declared import tables_in
from discreet.ledger.places import header_of
from discreet.ledger.snapshot import SNAPSHOTS, SnapshotId, snapshot_folder
from discreet.postgres_address import journal_place, of_vault
from discreet.private import SETTINGS, private_folder, write_private
from discreet.release.folder_beside import folder_beside

if TYPE_CHECKING:
    from discreet.answer.policy import Policy
    from discreet.ledger.budget import Budget

Declared = TypeVar("Declared")

JOURNAL, KEY, RELEASES, ROSTER = "journal.sqlite", "key", "releases", "roster.bin"


@dataclass(frozen=True)
class Settings:
    """vault.toml: where the table is, or each of several, where the journal is if not in the vault, and the policy."""

    table: str | dict[str, str]
    ledger: str | None
    policy: "Policy"


def require_whole(home: Path) -> None:
    if (home / SETTINGS).is_file():
        return
    if not any((home / name).is_file() for name in (JOURNAL, KEY)):
        raise VaultError(f"{home} is not a vault; make one with `discreet init`")
    raise VaultError(f"{home} has lost its {SETTINGS}; restore it from a backup")


def journal_of(home: Path, kept: str | None, given: str | None) -> Path | str:
    """Where the journal is: in the vault, or where its settings say; `given` is the same with a password."""
    if kept is not None:
        return of_vault(given or kept, journal_place(kept).vault_id)
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


def require_new_place(home: Path) -> None:
    """Raise where something is already there, whatever it is: nothing is ever overwritten."""
    if not os.path.lexists(home):
        return
    if (home / SETTINGS).is_file():
        raise VaultError(f"{home} is already there; open it, or choose another place")
    what = "a folder with other things in it, and no vault" if home.is_dir() else "no vault"
    with suppress(OSError):
        if not any(home.iterdir()):
            what = "an empty folder"
    inside = f", as {home / 'vault'}" if home.is_dir() else ""
    raise VaultError(
        f"{home} is already there: {what}. A vault makes a folder of its own, and nothing was touched; give a place "
        f"that is not there yet{inside}"
    )


@contextmanager
def new_home(home: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name at the end of the block: a vault that is there is whole."""
    from discreet.release.archive import sync_folder

    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with folder_beside(home) as beside:
            aside = beside / home.name
            private_folder(aside)
            yield aside
            sync_folder(aside)
            aside.rename(home)
        sync_folder(home.parent)
    except OSError:
        raise VaultError(f"{home} cannot be written; is there space, and may you write there?") from None


def fill_home(
    home: Path,
    header: dict[str, Any],
    key: bytes,
    location: str | Mapping[str, str],
    ledger: str | None,
    roster: bytes | None,
) -> None:
    """Write the settings, the key, the roster where there is one, and the journal with its first entry."""
    from discreet.ledger.ledger import Ledger

    write_private(home / SETTINGS, _settings_text(location, ledger and journal_place(ledger).location).encode())
    write_private(home / KEY, key)
    if roster is not None:
        write_private(home / ROSTER, roster)
    Ledger.create(ledger or home / JOURNAL, header)


def forget_snapshots(home: Path, current: SnapshotId | None) -> None:
    """Remove every snapshot up to the current one but it. Later ones are of somebody who has yet to journal one.

    Whoever still reads a snapshot goes on reading it: its files go when they are closed.
    """
    for folder in left_behind(home, current):
        shutil.rmtree(folder, ignore_errors=True)


def left_behind(home: Path, current: SnapshotId | None) -> list[Path]:
    """The folders of snapshots up to the current one, but it."""
    if current is None:
        return []
    kept, found = snapshot_folder(home, current), list[Path]()
    for folder in (home / SNAPSHOTS).glob("*-*"):
        number = folder.name.partition("-")[0]
        if folder != kept and number.isdigit() and int(number) <= current.number:
            found.append(folder)
    return found


def forget_snapshot(home: Path, id: SnapshotId) -> None:
    """Remove a snapshot that the journal never named."""
    shutil.rmtree(snapshot_folder(home, id), ignore_errors=True)


def _settings_text(location: str | Mapping[str, str], ledger: str | None) -> str:
    section, places = ("table", {"location": location}) if isinstance(location, str) else ("tables", location)
    lines = "\n".join(f"{name} = {json.dumps(place, ensure_ascii=False)}" for name, place in places.items())
    shared = f"\n[ledger]\nlocation = {json.dumps(ledger, ensure_ascii=False)}\n" if ledger else ""
    return f"""\
# A vault of Discreet. The budget, the neighbours and the domain are in the journal and cannot be changed.
[{section}]
{lines}
{shared}
[policy]  # what `ask` does when nothing is said, and what it never does
confidence = 0.95
# default_within = 300   # aim for ± this; without it a question spends a hundredth of its region's budget
# min_scale = 10         # never less noise than this on a count
# max_per_query = 0.1    # never more ε than this on one question
# compound_size = 3      # a relaxed answer is made of at most this many released ones
# null_unanswered = true # over MySQL: NULL and a warning where too little is left, not an error
"""


def read_settings(home: Path) -> Settings:
    """What vault.toml says."""
    from discreet.answer.policy import Policy

    settings = _read_toml(home)
    try:
        policy = Policy.parse(settings.get("policy", {}))
        several = {str(name): str(place) for name, place in settings.get("tables", {}).items()}
        return Settings(several or str(settings["table"]["location"]), _ledger_in(settings), policy)
    except (KeyError, TypeError, AttributeError):
        raise _unreadable(home) from None


def sign_in_settings(home: Path) -> dict[str, Any] | None:
    """`[sign_in]` of vault.toml, as it stands there; None where a provider signs nobody in."""
    settings = _read_toml(home).get("sign_in")
    if settings is not None and not isinstance(settings, dict):
        raise VaultError("[sign_in] in vault.toml is a table")
    return settings


def declared_tables(home: Path) -> LinkedTables:
    """The tables that a vault was made with: enough to read a question, and for a server to say what is asked."""
    return tables_in(_header(home))


def declared_budget(home: Path) -> "Budget":
    """The budget that a vault was made with: enough to know its currency."""
    return budget_in(_header(home))


def _header(home: Path) -> dict[str, Any]:
    """The first entry of a vault's journal."""
    require_whole(home)
    try:
        ledger = _ledger_in(_read_toml(home))
    except (KeyError, TypeError):
        raise _unreadable(home) from None
    return header_of(journal_of(home, ledger, None))


def budget_in(header: dict[str, Any]) -> "Budget":
    """The budget that a journal's first entry holds."""
    from discreet.ledger.budget_choice import budget_from_json  # most commands that read a domain alone need none

    return _held(lambda: budget_from_json(header["budget"]))


def _held(read: Callable[[], Declared]) -> Declared:
    try:
        return read()
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise JournalCorrupt("the journal's first entry cannot be read", "restore it from a backup") from None


def _read_toml(home: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads((home / SETTINGS).read_text(encoding="utf-8"), parse_float=str)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise _unreadable(home) from None
    unknown = sorted(set(settings) - {"table", "tables", "ledger", "policy", "sign_in"})
    if unknown:
        raise VaultError(f"{home / SETTINGS} has no [{unknown[0]}]; it takes [table], [ledger], [policy] and [sign_in]")
    return settings


def _ledger_in(settings: dict[str, Any]) -> str | None:
    return str(settings["ledger"]["location"]) if "ledger" in settings else None


def _unreadable(home: Path) -> VaultError:
    return VaultError(f"{home / SETTINGS} cannot be read; it needs [table] location = …")


def relocate_table(home: Path, location: str, table: str | None = None) -> None:
    """Change the table's location in vault.toml, or that of one of several, and nothing else there."""
    path = home / SETTINGS
    section, name = ("table", "location") if table is None else ("tables", table)
    line = f"{name} = {json.dumps(location, ensure_ascii=False)}"
    text = re.sub(rf"(?m)^[ \t]*{name}[ \t]*=.*$", lambda _: line, path.read_text(encoding="utf-8"), count=1)
    if tomllib.loads(text)[section][name] != location:
        raise VaultError(f"{path} is not laid out as it was made; write [{section}] and under it {line}")
    aside = path.with_name(f".{SETTINGS}.{os.getpid()}.part")
    try:
        write_private(aside, text.encode())
        aside.replace(path)
    except OSError:
        raise VaultError(f"{path} cannot be written; is there space, and may you write there?") from None
    finally:
        aside.unlink(missing_ok=True)
