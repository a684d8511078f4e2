"""What a MySQL port serves: one vault as the schema `discreet`, or each vault of a folder as one of its own name."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from discreet.domain.tables import LinkedTables
from discreet.errors import DiscreetError
from discreet.home import declared_tables
from discreet.server.auth import User, allow_mysql, list_users
from discreet.server.desk import FrontDesk, Turns
from discreet.server.folder import VaultFolder

DATABASE = "discreet"


class Schemas(Protocol):
    """The schemas of a port, each a vault with users of its own."""

    @property
    def default(self) -> str | None:
        """Where a session is that says nothing; None where it has to say."""

    @property
    def turns(self) -> Turns:
        """The rate, the shares and the deadline of whoever asks."""

    @property
    def log_home(self) -> Path:
        """Where it is logged that somebody was not let in."""

    def users(self, username: str) -> dict[str, User]:
        """The users of a name, by schema."""

    def tables(self, schema: str) -> LinkedTables | None:
        """What is public about a schema's tables; None where it cannot be read."""

    def using(self, schema: str) -> AbstractContextManager[FrontDesk]:
        """The desk of a schema's vault, for as long as it is needed."""


@dataclass(frozen=True)
class OneSchema:
    """A vault that is served alone."""

    desk: FrontDesk
    default: str | None = DATABASE

    @property
    def turns(self) -> Turns:
        return self.desk.turns

    @property
    def log_home(self) -> Path:
        return self.desk.vault.path

    def users(self, username: str) -> dict[str, User]:
        found = [user for user in list_users(self.desk.vault.path) if user.name == username]
        return {DATABASE: found[0]} if found else {}

    def tables(self, schema: str) -> LinkedTables | None:  # noqa: ARG002
        return self.desk.vault.linked

    @contextmanager
    def using(self, schema: str) -> Iterator[FrontDesk]:  # noqa: ARG002
        yield self.desk


@dataclass(frozen=True)
class FolderSchemas:
    """The vaults of a folder."""

    folder: VaultFolder
    turns: Turns
    default: str | None = None
    _allowed: set[Path] = field(default_factory=set)

    @property
    def log_home(self) -> Path:
        return self.folder.path

    def users(self, username: str) -> dict[str, User]:
        for name in self.folder.names():
            self._allow(self.folder.home(name))
        return self.folder.called(username)

    def tables(self, schema: str) -> LinkedTables | None:
        try:
            return declared_tables(self.folder.home(schema))
        except DiscreetError:
            return None

    @contextmanager
    def using(self, schema: str) -> Iterator[FrontDesk]:
        with self.folder.using(schema) as vault:
            yield vault.desk

    def _allow(self, home: Path) -> None:
        """Tokens that are made from now on open the port as well, also in a vault that came after it was opened."""
        if home in self._allowed:
            return
        try:
            allow_mysql(home)
            self._allowed.add(home)
        except DiscreetError:
            return  # a vault that cannot be written answers nobody
