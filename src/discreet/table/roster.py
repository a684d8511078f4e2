"""Rosters: the public list of record ids that a SuLQ database answers about, and which of them a subset names.

A record id counts by its canonical text: whole numbers lose a plus sign, leading zeros, a fraction of zeros and spaces
around them, so that "007", " 7", "+7", 7 and 7.0 are one id; every other text is compared character by character. Its
key is the first 60 bits of the SHA-256 of that text. Nothing here is secret, and no two parties need to talk: equal
rosters have equal keys, and a seed mixed with a key says whether that person is in a subset.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TableError, VaultError
from discreet.native import kernel
from discreet.query.subset import Everyone, Listed, Seeded, Subset
from discreet.table.open import open_source
from discreet.table.source import Source, nobody
from discreet.table.unit import id_texts, require_id

Words = NDArray[np.uint64]
Array = NDArray[np.int64]

WHOLE_NUMBER = re.compile(rb" *[+]?0*([0-9]+)([.]0*)? *")
"""A whole number, and its digits without leading zeros."""
BITS = 64
WHOLE_WORD = np.uint64(2**64 - 1)


def canonical_id(text: bytes) -> bytes:
    """The one text that stands for all spellings of a record id."""
    found = WHOLE_NUMBER.fullmatch(text)
    return text if found is None else found[1]


def key_of(record_id: bytes | str) -> int:
    """The key of a record id: the first 60 bits of the SHA-256 of its canonical text."""
    text = record_id.encode() if isinstance(record_id, str) else record_id
    return int(hashlib.sha256(canonical_id(text)).hexdigest()[:15], 16)


@dataclass(frozen=True)
class Roster:
    """The keys of n people, in order: a person's place among them is their place in every bit vector."""

    keys: Words

    @property
    def people(self) -> int:
        return self.keys.size

    @cached_property
    def fingerprint(self) -> str:
        """The same for two rosters that name the same people, in whatever order and spelling."""
        return hashlib.sha256(self.keys.astype("<u8").tobytes()).hexdigest()

    def places(self, keys: Array) -> Array:
        """The places of these keys, -1 for those that are not on the roster."""
        wanted = keys.astype(np.uint64)
        found = np.minimum(np.searchsorted(self.keys, wanted), self.people - 1)
        return np.where(self.keys[found] == wanted, found, -1)

    def count(self, subsets: Sequence[Subset], bits: Words | None = None) -> Array:
        """How many people of each subset have their bit set; without bits, how many people it has."""
        vector = self.everyone if bits is None else bits
        return np.array([self._count(subset, vector) for subset in subsets], np.int64)

    @cached_property
    def everyone(self) -> Words:
        """A bit for each person, in words of 64; the last word's further bits are 0."""
        vector = np.full(self._padded.size // BITS, WHOLE_WORD)
        if self.people % BITS:
            vector[-1] = np.uint64((1 << self.people % BITS) - 1)
        return vector

    @cached_property
    def _padded(self) -> Words:
        return np.concatenate([self.keys, np.zeros(-self.people % BITS, np.uint64)])

    def _count(self, subset: Subset, vector: Words) -> int:
        match subset:
            case Everyone() | Seeded(rate=1):
                return int(np.bitwise_count(vector).sum())
            case Seeded(seed=seed, rate=rate):
                threshold = np.uint64(rate.numerator * 2**64 // rate.denominator)
                return int(_count_seeded(self._padded, vector, np.uint64(seed), threshold))
            case Listed(ids=ids):
                places = np.unique(self.places(np.array([key_of(text) for text in ids], np.int64)))
                places = places[places >= 0]
                return int(np.count_nonzero(vector[places // BITS] >> (places % BITS).astype(np.uint64) & np.uint64(1)))


@kernel
def _mixed(word: np.uint64) -> np.uint64:
    """A bijection of 64 bits after which no bit remembers another. [Steele, Lea, Flood 2014: SplitMix64]"""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def _count_seeded(keys: Words, bits: Words, seed: np.uint64, threshold: np.uint64) -> int:
    """The set bits of people whose key, mixed with the seed, falls below the threshold."""
    count = 0
    salt = _mixed(seed + np.uint64(0x9E3779B97F4A7C15))
    for i in range(bits.size):
        inside = np.uint64(0)
        for j in range(64):
            inside |= np.uint64(_mixed(keys[64 * i + j] ^ salt) < threshold) << np.uint64(j)
        inside &= bits[i]
        while inside != 0:  # compiled to the processor's own count
            inside &= inside - np.uint64(1)
            count += 1
    return count


def read_roster(table: object, id_column: str) -> Roster:
    """The roster in a file with one column, or with one that is called as the table's ids; or in a frame."""
    source = open_source(table)
    names = list(source.columns)
    if id_column not in names and len(names) != 1:
        raise TableError(f"the roster has columns {', '.join(names)}; it needs one, or one that is called {id_column}")
    column = id_column if id_column in names else names[0]
    keys = np.sort(_keys_in(source, column).astype(np.uint64))
    if not keys.size:
        raise TableError("the roster names nobody; a roster is a file with one column of record ids under a first line")
    if np.any(keys[1:] == keys[:-1]):
        raise TableError("the roster names somebody twice (007, 7 and 7.0 are one id); name each person once")
    return Roster(keys)


def _keys_in(source: Source, column: str) -> Array:
    require_id(column, source.require(column))
    keys = [
        key_of(text)
        for batch in source.read([column], nobody)
        for text in id_texts(batch.column(0))
        if text is not None
    ]
    return np.array(keys, np.int64)


def roster_bytes(roster: Roster) -> bytes:
    """The roster as a vault keeps it: eight bytes a person."""
    return roster.keys.astype("<u8").tobytes()


def load_roster(path: Path, fingerprint: str) -> Roster:
    """The roster that a vault was made with. Raises VaultError where the file is another one, or gone."""
    try:
        roster = Roster(np.fromfile(os.fspath(path), "<u8").astype(np.uint64))
    except OSError:
        raise VaultError(f"{path} cannot be read; restore it from a backup") from None
    if roster.fingerprint != fingerprint:
        raise VaultError(f"{path} is not the roster that the vault was made with; restore it from a backup")
    return roster
