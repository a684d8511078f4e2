"""The one table that a vault reads: opened when it is first needed, and recognised before each reading."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.domain.domain import Domain
from discreet.errors import TableError
from discreet.ledger.ledger import Ledger
from discreet.table.open import FRAME
from discreet.table.table import Table, open_table


@dataclass
class OwnTable:
    """Opens the table that the journal knows by its fingerprint, and again after a refresh, whoever made it."""

    locate: Callable[[], object]
    domain: Domain
    ledger: Ledger
    key: Callable[[], bytes]
    _opened: Table | None = None
    _accepted: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def verified(self) -> Table:
        """The table, if it is the one that the vault was made for or that was accepted since."""
        accepted = str((self.ledger.latest("refresh") or self.ledger.header)["fingerprint"])
        with self._lock:
            if self._opened is None or self._accepted != accepted:
                self._opened, self._accepted = self.open(), accepted
            opened = self._opened
        opened.verify(accepted, self.key())
        return opened

    def open(self) -> Table:
        """The table as it is now, whether it was accepted or not."""
        table = self.locate()
        if isinstance(table, str) and table == FRAME:
            raise TableError("this vault's table is a data frame; hand it over: Vault.open(path, table=frame)")
        return open_table(table, self.domain)
