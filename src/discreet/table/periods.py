"""Which rows of a source are taken, where a table grows period by period."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.errors import TableError
from discreet.table.snapshot import Snapshot

Codes = NDArray[np.integer]


@dataclass(frozen=True)
class Periods:
    """Those up to the last that is closed; and, where rows are appended, after those that a snapshot has already.

    A row is of one period, whatever else it says: whether it is taken depends on that row alone.
    """

    domain: Domain
    """With all periods that can come."""
    closed: str
    onto: Snapshot | None = None
    elsewhere: bool = False
    """Whether they are read from another source than the rows before."""

    @cached_property
    def attribute(self) -> Date:
        growing = self.domain.growing
        assert growing is not None, "periods are of a table that grows"
        return growing

    @property
    def first(self) -> int:
        """The code of the first period that is taken."""
        before = None if self.onto is None else self.onto.domain.growing
        return 0 if before is None else before.cells

    @property
    def last(self) -> int:
        code = self.attribute.named_code(self.closed)
        assert code is not None
        return code

    def late(self, codes: Codes) -> NDArray[np.bool_]:
        """Rows of periods that were closed before. Raises TableError where the domain refuses them."""
        return self.left_out((codes >= 0) & (codes < self.first))

    def left_out(self, late: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The same of rows that are known to be of them by what they belong to."""
        if self.attribute.late == "refuse" and late.any():
            closed = self.attribute.label(self.first - 1)
            raise TableError(
                f"the table has rows of {self.attribute.name} up to {closed}, which are closed, and its domain refuses "
                "them (late): leave them out, or `discreet refresh` with the whole table, which levels all spending"
            )
        return late

    def to_come(self, codes: Codes) -> NDArray[np.bool_]:
        """Rows of periods that are not closed yet: a later append takes them."""
        found: NDArray[np.bool_] = codes > self.last
        return found

    @property
    def rows_before(self) -> dict[str, int]:
        """How many rows there were up to each period that an append closed."""
        return {} if self.onto is None else dict(self.onto.manifest["grown"])
