"""A folder of vaults, served as they come and go: each is opened when it is first needed, so many at a time.

The folder is looked at whenever somebody asks: a vault is there from the moment its name is, and gone when that goes.
What is under way then is done to the end with the vault as it was opened; a name that comes to stand for another vault
is opened anew. One that cannot be opened says why, and the others go on.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fastapi import FastAPI

from discreet.errors import DiscreetError, NotFound, VaultError
from discreet.http_json import API
from discreet.private import SETTINGS, is_vault
from discreet.server.auth import User, authenticate, list_users
from discreet.server.desk import FrontDesk
from discreet.server.shelf import NAME
from discreet.vault.vault import Vault

MOST_OPEN = 16
"""So many vaults are kept open in one process; the longest unused gives way, unless it is in use."""
AGAIN_SECONDS = 5.0
"""A vault that could not be opened is tried again so much later, or when its settings change."""
VAULTS_ROUTE = f"{API}/vaults"
VAULTS = "/v"
"""Below it each vault has its addresses: /v/NAME."""
RESERVED = ("discreet", "information_schema", "mysql", "performance_schema", "sys")
"""Names that SQL clients know as something else."""
Identity = tuple[int, int, int]


@dataclass
class OpenVault:
    """A vault at work: its desk, and its pages and API once somebody comes for them."""

    name: str
    desk: FrontDesk
    make_app: Callable[[FrontDesk, str], FastAPI]
    identity: Identity
    in_use: int = 0

    @cached_property
    def app(self) -> FastAPI:
        return self.make_app(self.desk, self.name)


@dataclass(frozen=True)
class CannotOpen:
    """What was wrong the last time, and with which vault of that name."""

    words: str
    identity: Identity
    at: float


@dataclass
class VaultFolder:
    """The vaults of a folder. Any thread may ask for any of them."""

    path: Path
    make_desk: Callable[[Vault], FrontDesk]
    make_app: Callable[[FrontDesk, str], FastAPI]
    most_open: int = MOST_OPEN
    clock: Callable[[], float] = time.monotonic
    _open: "OrderedDict[str, OpenVault]" = field(default_factory=OrderedDict)
    _failed: dict[str, CannotOpen] = field(default_factory=dict)
    _known: dict[str, Identity] = field(default_factory=dict)
    """Vaults that could be opened, by what they were then."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _opening: dict[str, threading.Lock] = field(default_factory=dict)

    def names(self) -> list[str]:
        """The vaults that are there now, by name."""
        return names_of_vaults(self.path)

    def home(self, name: str) -> Path:
        """Where a vault of a name is, or would be. What may be no name is nowhere: it leads out of no folder."""
        if not is_served_name(name):
            raise NotFound(f"there is no vault of that name here; see GET {VAULTS_ROUTE}")
        return self.path / name

    def opened_by(self, token: str) -> dict[str, User]:
        """The vaults that a token opens, and as whom. Each vault has users of its own."""
        found = {}
        for name in self.names():
            with suppress(DiscreetError):  # unknown there, or expired, or nobody can tell
                found[name] = authenticate(self.home(name), token)
        return found

    def called(self, username: str) -> dict[str, User]:
        """The vaults that have a user of this name."""
        found = {}
        for name in self.names():
            with suppress(DiscreetError):
                for user in list_users(self.home(name)):
                    if user.name == username:
                        found[name] = user
        return found

    def why_not(self, name: str) -> DiscreetError | None:
        """Why a vault cannot be opened; None where it can. It is tried where nobody did yet."""
        try:
            if self._known.get(name) != self._identity(name):
                with self.using(name):
                    pass
        except DiscreetError as error:
            return error
        return None

    def cannot_open(self, name: str, error: DiscreetError) -> VaultError:
        """The same in the words of whoever asks from outside: without the vault's place on the server's disk."""
        return VaultError(f"{name} cannot be opened now: {_without_folder(str(error), self.home(name))}")

    @contextmanager
    def using(self, name: str) -> Iterator[OpenVault]:
        """A vault to work with, which stays open meanwhile. Raises NotFound where there is none, and what was wrong
        where it cannot be opened."""
        vault = self._opened(name)
        try:
            yield vault
        finally:
            with self._lock:
                vault.in_use -= 1
                self._let_go()

    def _opened(self, name: str) -> OpenVault:
        """An open vault that counts as in use."""
        with self._lock:
            if (found := self._current(name)) is not None:
                return found
            turn = self._opening.setdefault(name, threading.Lock())
        with turn:  # the others are not waited for
            with self._lock:
                if (found := self._current(name)) is not None:
                    return found
            made = self._open_anew(name)
            with self._lock:
                self._open[name] = made
                self._known[name] = made.identity
                self._failed.pop(name, None)
                made.in_use += 1
                self._let_go()
            return made

    def _current(self, name: str) -> OpenVault | None:
        """The vault that is open by this name, if it is still the one that has it."""
        now, found = self._identity(name), self._open.get(name)
        if found is None or found.identity != now:
            self._open.pop(name, None)  # whoever works with it goes on
            return None
        self._open.move_to_end(name)
        found.in_use += 1
        return found

    def _open_anew(self, name: str) -> OpenVault:
        identity, failed = self._identity(name), self._failed.get(name)
        if failed is not None and failed.identity == identity and self.clock() - failed.at < AGAIN_SECONDS:
            raise VaultError(failed.words)
        try:
            # By its own place: a link to it may be taken away while somebody is answered.
            vault = Vault.open(self.home(name).resolve())
            vault.gate.warm()
            desk = self.make_desk(vault)
        except DiscreetError as error:
            said = self.cannot_open(name, error)
            with self._lock:
                self._failed[name] = CannotOpen(str(said), identity, self.clock())
            raise said from None
        return OpenVault(name, desk, self.make_app, identity)

    def _identity(self, name: str) -> Identity:
        """What tells a vault from another that has its name later."""
        try:
            found = (self.home(name) / SETTINGS).stat()
        except OSError:
            with self._lock:
                for kept in (self._open, self._failed, self._known):
                    kept.pop(name, None)
            raise NotFound(f"there is no vault {name} here; see GET {VAULTS_ROUTE}") from None
        return found.st_dev, found.st_ino, found.st_ctime_ns

    def _let_go(self) -> None:
        """Close the longest unused of too many. One in use stays; jobs open the journal again where they need it."""
        idle = [name for name, vault in self._open.items() if not vault.in_use]
        for name in idle[: max(len(self._open) - self.most_open, 0)]:
            self._open.pop(name).desk.vault.ledger.close()


def is_served_name(name: str) -> bool:
    """Whether a folder of this name is served: a part of an address, and a name of a MySQL schema."""
    return NAME.fullmatch(name) is not None and name.lower() not in RESERVED


def names_of_vaults(folder: Path) -> list[str]:
    """The vaults of a folder that are served, by name. Of names that differ by case alone the first is: to SQL clients
    they are one."""
    served: dict[str, str] = {}
    for name in _vaults_in(folder):
        if is_served_name(name):
            served.setdefault(name.lower(), name)
    return list(served.values())


def unserved(folder: Path) -> list[str]:
    """Vaults of a folder whose names cannot be served, for whoever starts the server."""
    served = set(names_of_vaults(folder))
    return [name for name in _vaults_in(folder) if name not in served]


def _vaults_in(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if is_vault(path))
    except OSError:
        raise VaultError("the folder of vaults cannot be read; is it there, and may the server read it?") from None


def _without_folder(text: str, home: Path) -> str:
    """A message without the vault's place on the server's disk."""
    for place in (str(home.resolve()), str(home)):
        text = text.replace(place, home.name)
    return text
