"""Look-up tables: public code lists that questions may join with."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.domain.domain import Domain
from discreet.errors import VaultError
from discreet.ledger.books import Books
from discreet.ledger.declared import tables_in
from discreet.ledger.ledger import Ledger
from discreet.notebook import FieldsView
from discreet.private import private_folder, write_private
from discreet.sql.lookup import Lookup, read_lookup

LOOKUPS = "lookups"
"""The kind of a journal's note that names all of them, and the folder that has their files."""


@dataclass(frozen=True, repr=False)
class VaultLookups(FieldsView):
    """A vault's look-up tables: they are journalled with their digests, and are public."""

    home: Path
    domain: Domain
    ledger: Ledger

    def add(self, path: str | Path, *, name: str, key: str) -> Lookup:
        """Add a public table from a CSV file with a header: each key in it once. It cannot be changed afterwards."""
        content = _content(Path(path))
        lookup = read_lookup(content, name, key, str(path))
        if lookup.name.startswith("discreet_"):
            raise VaultError("names that begin with discreet_ are Discreet's own; choose another")
        if tables_in(self.ledger.header).find(lookup.name) is not None:
            raise VaultError(f"{name} is the name of the vault's table; choose another")
        own = {"key": lookup.key, "sha256": hashlib.sha256(content).hexdigest()}
        while not self._is_noted(lookup.name, own):
            private_folder(self.home / LOOKUPS)
            file = _file(self.home, lookup.name, own["sha256"])
            if not file.exists():
                write_private(file, content)
            last = self.ledger.last_of(LOOKUPS)
            noted = lookups_noted(self.ledger)  # and again, where somebody adds another one meanwhile
            if lookup.name not in noted and self.ledger.note_after(last, LOOKUPS, {**noted, lookup.name: own}):
                break
        return lookup

    def _is_noted(self, name: str, own: dict[str, str]) -> bool:
        """Whether it was added already. Raises VaultError where another one of that name was."""
        noted = lookups_noted(self.ledger)
        if name in noted and noted[name] != own:
            raise VaultError(
                f"there is a look-up table {name} already, and what was asked with it stays; choose another"
            )
        return name in noted

    def current(self) -> dict[str, Lookup]:
        """The look-up tables by their names. A file that is not the one that was added raises VaultError."""
        return read_lookups(self.home, lookups_noted(self.ledger))


def lookups_noted(ledger: Books) -> Mapping[str, Any]:
    """The look-up tables that a journal names: the key and the digest of each."""
    noted: dict[str, Any] = ledger.latest(LOOKUPS) or {}
    return noted


def read_lookups(home: Path, noted: Mapping[str, Any]) -> dict[str, Lookup]:
    """The look-up tables that were noted."""
    return {name: _read(home, name, about) for name, about in noted.items()}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise VaultError(f"{path} cannot be read") from None


def _file(home: Path, name: str, digest: str) -> Path:
    return home / LOOKUPS / f"{name}-{digest[:16]}.csv"


def _read(home: Path, name: str, about: dict[str, Any]) -> Lookup:
    file = _file(home, name, about["sha256"])
    content = _content(file)
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise VaultError(f"the file of the look-up table {name} is not the one that was added; put that one back")
    return read_lookup(content, name, about["key"], str(file))
