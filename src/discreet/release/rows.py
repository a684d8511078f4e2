"""The second reader, and the last: rows themselves, arranged by a mapping, and published with another promise.

What is published here is not noisy and not differentially private. So the journal says so before a row is read, and
every guarantee of the vault says so from then on; a publication that was cut off is never silent. What was refused, or
failed, before its folder was there is noted as well, and said of no guarantee.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, EngineError, JournalError, VaultError
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.noise.bits import Bits, require_production
from discreet.release.own_table import OwnTable
from discreet.table.arrange import held_rows

NOTE = "buckets"

Array = NDArray[np.int64]
Json = dict[str, Any]


class PublisherRows(Protocol):
    """What a publisher may do with rows: count them, have them ordered, numbered and written. See `HeldRows`."""

    @property
    def bits(self) -> Bits:
        """The random bits of this publication, and of no other."""
        ...

    def counts(self, name: str) -> Array: ...

    def distinct(self, name: str) -> int: ...

    def entropy(self, name: str) -> float: ...

    def order(self, by: Sequence[str], reported: str) -> Array: ...

    def deal(self, numbers: NDArray[np.int32], name: str, codes: Array) -> None: ...

    def write(self, names: Sequence[str], number: str, path: Path) -> None: ...

    def sample(self, names: Sequence[str], first_numbers: int) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class RowGate:
    """Binds the table, the ledger and the bits for releases of rows. For the custodian: its errors speak of counts."""

    table: OwnTable
    ledger: Ledger
    bits: Bits

    def publish(
        self, request: Json, names: Sequence[str], write: Callable[[PublisherRows, Receipt], Json], again: bool = False
    ) -> Receipt:
        """Journal the request, read, write, record. `write` makes the folder, or raises and leaves nothing behind; what
        it returns is recorded. A second publication is refused unless it is wanted `again`: limits do not compose."""
        require_production(self.bits)
        before = self.ledger.publications
        if before and not again:
            raise VaultError(
                f"microdata of this vault was published before, or begun (entry {before[-1]}). Limits hold for one "
                "publication: who meets a person in two buckets strikes out what is not in both. Publish it again only "
                "if the first never left your hands (again)"
            )
        snapshot = self.table.snapshot()
        begun = self.ledger.note(NOTE, {"state": "begun", "request": request}, snapshot.id)
        try:
            rows = held_rows(snapshot.rows, names, self.bits.for_release(begun.hash))
            written = write(rows, begun)
        except DiscreetError:
            self._withdraw(begun)
            raise
        except Exception:
            self._withdraw(begun)
            # A library's own words may quote a row.
            raise EngineError(
                "the rows could not be arranged and nothing was published; is there memory and space for them?"
            ) from None
        try:
            return self.ledger.note(NOTE, {"state": "published", "begun": begun.seq, **written})
        except JournalError as error:
            there = "the folder is there and whole, and every guarantee has said so since it was begun"
            raise type(error)(error.what, f"but {there}") from None

    def _withdraw(self, begun: Receipt) -> None:
        """Note that nothing came of it."""
        self.ledger.note(NOTE, {"state": "withdrawn", "begun": begun.seq})
