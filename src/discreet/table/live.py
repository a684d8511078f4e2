"""Rows that stay where they are, for tables too large to copy: coded and counted as a snapshot is, at each reading.

A live source is a plain table whose changes its engine can tell. Its rows have a digest when a vault is made over
them, which takes the place of a snapshot's; each reading holds the engine to it. Values go through the same coders and
counters as everywhere (`coding.py`, `count.py`), in this process or in the engine's own workers.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import DomainError, TableError, UnsupportedQuery
from discreet.ledger.snapshot import SnapshotId
from discreet.progress import Progress, silent
from discreet.query.query import Count, People, ProfileSum, SubsetCount, Sum, answer_shape
from discreet.table.coding import coders
from discreet.table.count import HALF, LOW_HALF, CodedRows, Measured, Total, amounts, attributes_read, cell_of_rows
from discreet.table.layout import code_type
from discreet.table.source import Source

Array = NDArray[np.int64]
Parts = tuple[Array, Array, Array]
"""Cells of an answer, and the high and low halves of what was added up in each."""


class LiveSource(Protocol):
    """Reads rows where they are. Every reading is of one moment."""

    def digest(self, names: Sequence[str], key: bytes) -> str:
        """A keyed hash of what the rows hold in some columns, whatever their order."""

    def parts(self, count: "Counter", names: Sequence[str], key: bytes, digest: str) -> Iterator[list[Parts]]:
        """What `count` makes of the rows, in pieces. Raises TableError where they do not have this digest any more.

        `count` is given batches of the columns that it names; it may run in other processes.
        """


def require_live(source: Source, domain: Domain, unit: object, roster: object) -> None:
    """Raise unless this source can be read live by this domain."""
    if source.live is None:
        raise TableError(
            "only a plain table of Postgres, or Parquet files read by Spark, can be read live: nothing tells when "
            "another source changes. Leave out --live, and a snapshot is taken"
        )
    if unit is not None or roster is not None:
        raise DomainError("people with several rows are counted from a snapshot; leave out --live, or --id")
    coders(source.require, domain)


def live_digest(source: Source, domain: Domain, key: bytes, number: int, progress: Progress = silent) -> str:
    """What the journal knows the rows by, salted by the number."""
    assert source.live is not None
    progress("reading the table", 0.0)
    return _salted(source.live.digest(domain.names, key), key, number)


def _salted(rows: str, key: bytes, number: int) -> str:
    salt = number.to_bytes(16, "big")
    return hashlib.blake2b(rows.encode(), key=key, salt=salt, person=b"discreet live", digest_size=32).hexdigest()


@dataclass
class LiveTable:
    """A table that is read where it is. Every answer is exact: whoever holds one can read the data."""

    id: SnapshotId
    domain: Domain
    source: Source
    live: LiveSource
    key: bytes = field(repr=False)
    _rows: str = ""

    def until(self, domain: Domain) -> "LiveTable":
        """A table that is read live does not grow: there is nothing that it was before."""
        assert domain.shape == self.domain.shape
        return self

    def require(self, queries: Sequence[Count | Sum | People | ProfileSum | SubsetCount]) -> None:
        """Raise TableError unless the rows are those that the journal knows."""
        if any(isinstance(query, SubsetCount) for query in queries):
            raise UnsupportedQuery("counts over a roster come from a snapshot")
        if any(isinstance(query, People | ProfileSum) for query in queries):
            raise UnsupportedQuery("people are counted in a snapshot; rows that are read live do not tell them apart")
        rows = self.live.digest(self.domain.names, self.key)
        if _salted(rows, self.key, self.id.number) != self.id.digest:
            raise changed()
        self._rows = rows

    def evaluate(self, queries: Sequence[Count | Sum | People | ProfileSum | SubsetCount]) -> list[Array]:
        """The exact answers, from rows that are still those that were looked at before the charge."""
        measured = [query for query in queries if isinstance(query, Count | Sum)]
        read = {name for query in measured for name in attributes_read(query, self.domain)}
        names = [name for name in self.domain.names if name in read or not self.domain[name].total]
        counter = Counter(self.domain, {name: self.source.require(name) for name in names}, tuple(measured))
        shapes = [answer_shape(query, self.domain) for query in measured]
        totals = [Total(np.zeros(prod(shape), np.int64), np.zeros(prod(shape), np.int64)) for shape in shapes]
        for piece in self.live.parts(counter, self.domain.names, self.key, self._rows):
            for total, (cells, high, low) in zip(totals, piece, strict=True):
                assert total.high is not None
                np.add.at(total.high, cells, high)
                np.add.at(total.low, cells, low)
        return [total.reshaped(shape).whole() for total, shape in zip(totals, shapes, strict=True)]


@dataclass(frozen=True)
class Counter:
    """Codes a batch and counts it for every query. Plain data, so that an engine's workers can be handed one."""

    domain: Domain
    types: dict[str, pa.DataType]
    queries: tuple[Measured, ...]

    def __call__(self, batch: pa.RecordBatch, copies: Array | None = None) -> list[Parts]:
        """What the rows of a batch add to each answer. A row may stand for several equal ones: `copies` says how many.

        Low halves are below 2^32, so that 2^31 batches can be added up.
        """
        read = tuple(attribute for attribute in self.domain.attributes if attribute.name in self.types)
        code = coders(self.types.__getitem__, Domain(self.domain.name, read))
        coded = {name: code[name](batch.column(name)) for name in code}
        everyone = np.ones(batch.num_rows, np.bool_)
        kept = np.logical_and.reduce([everyone, *(column.codes >= 0 for column in coded.values())])
        codes = {name: column.codes[kept].astype(code_type(self.domain[name])) for name, column in coded.items()}
        units = {name: column.units[kept] for name, column in coded.items() if column.units is not None}
        rows = CodedRows(self.domain, int(np.count_nonzero(kept)), codes.__getitem__, units.__getitem__)
        weights = np.ones(rows.size, np.int64) if copies is None else copies[kept]
        return [self._part(query, rows, weights) for query in self.queries]

    def _part(self, query: Measured, rows: CodedRows, copies: Array) -> Parts:
        everyone = slice(0, rows.size)
        cells, places = np.unique(cell_of_rows(query, rows, everyone), return_inverse=True)
        high, low = _times(amounts(query, rows, everyone), copies)
        added = [np.zeros(cells.size, np.int64) for _ in range(2)]
        for total, half in zip(added, (high, low), strict=True):
            np.add.at(total, places, half)
        inside = cells < prod(answer_shape(query, self.domain))
        return cells[inside], (added[0] + (added[1] >> HALF))[inside], (added[1] & LOW_HALF)[inside]


def _times(units: Array, copies: Array) -> tuple[Array, Array]:
    """units · copies in two halves, for amounts up to 2^53 of up to 2^41 rows; what is carried goes to the high one."""
    low = (units & LOW_HALF) * (copies & (LOW_HALF >> 1))
    middle = (units & LOW_HALF) * (copies >> (HALF - 1))
    high = (units >> HALF) * copies + (middle >> 1) + (low >> HALF)
    return high, (low & LOW_HALF) + ((middle & 1) << (HALF - 1))


def changed() -> TableError:
    return TableError(
        "the table has changed since the vault was made, or last refreshed: put the old one back, or accept the new "
        "one with `discreet refresh`, which keeps all spending"
    )
