"""The seam between a vault and where its rows come from: columns by name, and their values in batches of Arrow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from discreet.errors import DomainError, TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.table.declared import Declared
    from discreet.table.live import LiveSource

FRAME = "memory:"
"""The location of a table that Python holds, a data frame for one: it must be handed over again to be read again."""
BATCH_ROWS = 1 << 18
"""Rows that are read and coded together."""

MOST_NAMED = 20
"""Columns that a message names."""

Told = Callable[[float], None]
"""Told which share of a reading is done."""


def nobody(_share: float) -> None:
    """Nobody watches."""


def read_ahead(batches: "Iterator[pa.RecordBatch]", pool: ThreadPoolExecutor) -> "Iterator[pa.RecordBatch]":
    """The same batches; each is read while the one before is worked on."""
    ahead = pool.submit(next, batches, None)
    while (batch := ahead.result()) is not None:
        ahead = pool.submit(next, batches, None)
        yield batch


@dataclass(frozen=True)
class Source:
    """An opened table, before any row of it is read."""

    location: str
    columns: "Mapping[str, pa.DataType]"
    """The columns that can be read, and their types."""
    read: "Callable[[Sequence[str], Told], Iterator[pa.RecordBatch]]"
    """The values of some columns, all rows, in one consistent reading. Raises TableError where it fails half-way."""
    stamp: Callable[[], Any] = lambda: None
    """What can be looked at to tell that the table was written to: JSON, or None where nothing can."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """The other columns: what their type is called, and what to make of it."""
    advice: str = ""
    """What to look at where a column is not there."""
    declared: "Callable[[], Mapping[str, Declared]]" = dict
    """What the table's own description says of some columns. No row is read for it."""
    live: "LiveSource | None" = None
    """Reads the rows where they are, each time; None where the source cannot tell when they change."""

    def require(self, name: str) -> "pa.DataType":
        """The type of a column. Raises DomainError where there is none, or none that is read."""
        if name in self.unread:
            raise DomainError(f"column {name!r} is {self.unread[name]}")
        if name not in self.columns:
            raise DomainError(f"the table has no column {name!r}; {self._columns_near(name)}")
        return self.columns[name]

    def _columns_near(self, name: str) -> str:
        """The columns that there are, those first that are called most alike where there are many."""
        there = [*self.columns, *self.unread]
        by_lower = {column.lower(): column for column in there}
        alike = [by_lower[near] for near in get_close_matches(name.lower().strip(), by_lower, n=3)]
        meant = f"{alike[0]!r} is there; " if alike and alike[0].lower() == name.lower().strip() else ""
        shown = (
            there if len(there) <= MOST_NAMED else [*alike, *(one for one in there if one not in alike)][:MOST_NAMED]
        )
        more = f" and {len(there) - len(shown):,} more" if len(shown) < len(there) else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{meant}its columns are {', '.join(shown)}{more}{advice}"


def unreadable(what: str) -> TableError:
    """The one thing that is ever said of a reading that fails, since a reader's own words may hold data."""
    return TableError(f"{what} cannot be read; is it still there and whole, and have you the right to read it?")
