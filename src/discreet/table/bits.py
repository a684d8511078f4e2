"""Bit vectors over a roster: for each person, whether their row lies in a region. Read once, kept, counted natively.

The engine codes the rows and hashes their ids; the codes are kept here by the person's place on the roster, those of an
attribute from when it is first asked about. Somebody who has no row, or none with a code, has the bit 0 for every
region, and a row of somebody who is not on the roster is passed over: neither is ever told.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.query import SubsetCount
from discreet.table.roster import BITS, Roster, Words

Array = NDArray[np.int64]
Flags = NDArray[np.bool_]

VECTOR_BYTES = 1 << 28
"""Vectors of the regions asked about are kept up to so many bytes; the oldest are then made anew when asked for."""


@dataclass
class RosterBits:
    """The rows of a roster's people. `read` streams keys and the codes of some attributes, one row a person."""

    domain: Domain
    roster: Roster
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    _codes: dict[str, NDArray[np.signedinteger]] = field(default_factory=dict, repr=False)
    _present: Flags | None = field(default=None, repr=False)
    _vectors: dict[Region, Words] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, query: SubsetCount) -> Array:
        """How many people of each subset have their row in the query's region, exactly."""
        return self.roster.count(query.subsets, self.vector(query.where))

    def vector(self, where: Region) -> Words:
        """The bits of a region, in words of 64 people."""
        with self._lock:
            if where not in self._vectors:
                made = _packed(self._inside(where))
                while self._vectors and (len(self._vectors) + 1) * made.nbytes > VECTOR_BYTES:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[where] = made
            return self._vectors[where]

    def _inside(self, where: Region) -> Flags:
        whole = self.domain.everything.boxes[0]
        axes = [
            axis
            for axis in range(len(self.domain.attributes))
            if any((box.low[axis], box.high[axis]) != (whole.low[axis], whole.high[axis]) for box in where.boxes)
        ]
        present = self._load([self.domain.names[axis] for axis in axes])
        inside = np.zeros(self.roster.people, np.bool_)
        for box in where.boxes:
            inside |= self._in_box(box, axes)
        return inside & present

    def _in_box(self, box: Box, axes: Sequence[int]) -> Flags:
        inside = np.ones(self.roster.people, np.bool_)
        for axis in axes:
            codes = self._codes[self.domain.names[axis]]
            inside &= (codes >= box.low[axis]) & (codes <= box.high[axis])
        return inside

    def _load(self, names: Sequence[str]) -> Flags:
        """Read what is not here yet; who has a row."""
        missing = [name for name in names if name not in self._codes]
        if self._present is not None and not missing:
            return self._present
        present = np.zeros(self.roster.people, np.bool_)
        codes = {name: np.zeros(self.roster.people, _narrow(self.domain[name].size)) for name in missing}
        for batch in self.read(missing):
            keys, *columns = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            places = self.roster.places(keys)
            on_roster = places >= 0
            present[places[on_roster]] = True
            for name, column in zip(missing, columns, strict=True):
                codes[name][places[on_roster]] = column[on_roster]
        self._codes |= codes
        self._present = present
        return present


def _packed(flags: Flags) -> Words:
    padded = np.concatenate([flags, np.zeros(-flags.size % BITS, np.bool_)])
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)


def _narrow(codes: int) -> type[np.signedinteger]:
    return np.int8 if codes <= 2**7 else np.int16 if codes <= 2**15 else np.int64
