"""The one table that a vault reads: opened when it is first needed, and recognised before each reading."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.domain.domain import Domain
from discreet.errors import TableError
from discreet.ledger.ledger import Ledger
from discreet.progress import Progress, silent

if TYPE_CHECKING:
    from discreet.table.roster import Roster
    from discreet.table.table import Table


@dataclass
class OwnTable:
    """Opens the table that the journal knows by its fingerprint, and again after a refresh, whoever made it."""

    locate: Callable[[], object]
    domain: Domain
    ledger: Ledger
    key: Callable[[], bytes]
    progress: Progress = silent
    roster: "Callable[[], Roster] | None" = None
    """Where the vault answers about a roster."""
    _opened: "Table | None" = None
    _accepted: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def verified(self) -> "Table":
        """The table, if it is the one that the vault was made for or that was accepted since."""
        accepted = str((self.ledger.latest("refresh") or self.ledger.header)["fingerprint"])
        with self._lock:
            if self._opened is not None and self._accepted == accepted:
                with suppress(TableError):  # it may have moved since, and be in its new place unchanged
                    self._opened.verify(accepted, self.key())
                    return self._opened
            opened = self.open()
            opened.verify(accepted, self.key())
            self._opened, self._accepted = opened, accepted
            return opened

    def open(self) -> "Table":
        """The table as it is now, whether it was accepted or not."""
        from discreet.table.engine import FRAME  # engines take long to import, and what is public needs none
        from discreet.table.table import open_table
        from discreet.table.unit import Unit

        table = self.locate()
        if isinstance(table, str) and table == FRAME:
            raise TableError("this vault's table is a data frame; hand it over: Vault.open(path, table=frame)")
        unit = self.ledger.header.get("unit")
        roster = None if self.roster is None else self.roster()
        return open_table(table, self.domain, unit and Unit.from_json(unit), self.key(), self.progress, roster)
