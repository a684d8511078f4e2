"""Bit vectors over a roster: for each person, whether their row lies in a region. Made once, kept, counted natively.

Somebody who has no row, or none with a code, has the bit 0 for every region, and a row of somebody who is not on the
roster is not in the snapshot: neither is ever told.
"""

import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Region
from discreet.query.query import SubsetCount
from discreet.table.count import CodedRows, in_region
from discreet.table.roster import BITS, Roster, Words

Array = NDArray[np.int64]

VECTOR_BYTES = 1 << 28
"""Vectors of the regions asked about are kept up to so many bytes; the oldest are then made anew when asked for."""


@dataclass
class RosterBits:
    """A roster's people, and the rows of a snapshot by their places on it: at most one row a person."""

    roster: Roster
    rows: CodedRows
    places: Array
    _vectors: dict[Region, Words] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, query: SubsetCount) -> Array:
        """How many people of each subset have their row in the query's region, exactly."""
        return self.roster.count(query.subsets, self.vector(query.where))

    def vector(self, where: Region) -> Words:
        """The bits of a region, in words of 64 people."""
        with self._lock:
            if where not in self._vectors:
                made = self._made(where)
                while self._vectors and (len(self._vectors) + 1) * made.nbytes > VECTOR_BYTES:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[where] = made
            return self._vectors[where]

    def _made(self, where: Region) -> Words:
        flags = np.zeros(self.roster.people + -self.roster.people % BITS, np.bool_)
        flags[self.places] = in_region(where, self.rows)
        return np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64)
