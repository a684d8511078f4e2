"""Each spelling in a column of bytes once, and which one each row has: Arrow's dictionaries, made in less time.

Most texts of a table are short: eight bytes are looked at as one number.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.native import kernel

WORD = 8
"""Bytes that are looked at together."""
FIRST_SLOTS = 1 << 10
SCATTER = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio: its multiples are far apart. [Knuth, The Art of Computer Programming 3, 6.4]"""
ONE, THREE, SEVEN, EIGHT, HALF, SIXTY_THREE = (np.uint64(number) for number in (1, 3, 7, WORD, 32, 63))
EVERY_BIT = np.uint64(2**64 - 1)
VALUES_A_STEP = 32
"""Values that Arrow makes a dictionary of while Python takes one step of a kernel."""

Words = NDArray[np.uint64]
Offsets = NDArray[np.int32]
Places = NDArray[np.int32]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
"""One for each row; none where no row is missing."""


class SpellingSlots(NamedTuple):
    """An open hash table of spellings: the number of each, -1 where there is none, and the text that it stands for."""

    place: Places
    scattered: Words
    first_word: Words
    start: Words
    length: Words


def by_spelling(column: pa.Array) -> pa.Array:
    """The same column of bytes with each of its spellings once, in the order in which they come. Null stays null."""
    if not len(column):
        return column.dictionary_encode()
    _, starts, data = column.buffers()
    offsets = np.frombuffer(starts, np.int32)[column.offset : column.offset + len(column) + 1]
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else np.zeros(0, np.bool_)
    words = _words(data, int(offsets[-1]))
    places, firsts = _spellings.sized(len(column) // VALUES_A_STEP)(offsets, words, missing)
    indices = pa.array(places, mask=missing) if missing.size else pa.array(places)
    return pa.DictionaryArray.from_arrays(indices, column.take(pa.array(firsts)))


def _words(data: pa.Buffer | None, length: int) -> Words:
    """Bytes as words, and one more behind the last."""
    words = np.zeros(length // WORD + 2, np.uint64)
    if data is not None:
        words.view(np.uint8)[:length] = np.frombuffer(data, np.uint8, length)
    return words


def _spellings_by_arrow(offsets: Offsets, words: Words, missing: Flags) -> tuple[Places, Rows]:
    rows = offsets.size - 1
    texts = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(words)], 0)
    there = np.flatnonzero(~missing) if missing.size else np.arange(rows)
    found = texts.take(pa.array(there)).dictionary_encode()
    places, firsts = np.zeros(rows, np.int32), np.empty(len(found.dictionary), np.int64)
    places[there] = found.indices.to_numpy()
    firsts[places[there[::-1]]] = there[::-1]
    return places, firsts


@kernel(plain=_spellings_by_arrow)
def _spellings(offsets: Offsets, words: Words, missing: Flags) -> tuple[Places, Rows]:
    """Which spelling each row has, by number, and the first row that has each. Where one is missing it is number 0."""
    rows, row, number = offsets.size - 1, 0, 0
    places, firsts, slots = np.empty(rows, np.int32), np.empty(rows, np.int64), _empty(FIRST_SLOTS)
    while row < rows:
        row, number = _number_rows(offsets, words, missing, row, number, places, firsts, slots)
        if row < rows:
            slots = _widened(slots)
    return places, firsts[:number].copy()


@kernel
def _empty(size: int) -> SpellingSlots:
    return SpellingSlots(
        np.full(size, -1, np.int32),
        np.empty(size, np.uint64),
        np.empty(size, np.uint64),
        np.empty(size, np.uint64),
        np.empty(size, np.uint64),
    )


@kernel
def _widened(slots: SpellingSlots) -> SpellingSlots:
    """Four times as many slots, with what was in these."""
    wider = _empty(4 * slots.place.size)
    last = np.uint64(wider.place.size - 1)
    for old in np.flatnonzero(slots.place >= 0):
        slot = slots.scattered[old] >> HALF & last
        while wider.place[slot] >= 0:
            slot = slot + ONE & last
        wider.place[slot], wider.scattered[slot] = slots.place[old], slots.scattered[old]
        wider.first_word[slot] = slots.first_word[old]
        wider.start[slot], wider.length[slot] = slots.start[old], slots.length[old]
    return wider


@kernel
def _number_rows(
    offsets: Offsets,
    words: Words,
    missing: Flags,
    first: int,
    number: int,
    places: Places,
    firsts: Rows,
    slots: SpellingSlots,
) -> tuple[int, int]:
    """Go on from a row to the end, or until half of the slots are taken: the row that is next, and how many spellings
    there are by then."""
    last = np.uint64(slots.place.size - 1)
    for row in range(first, places.size):
        if missing.size and missing[row]:
            places[row] = 0
            continue
        start = np.uint64(offsets[row])
        length = np.uint64(offsets[row + 1]) - start
        word = _word(words, start, length)
        scattered = _scattered(words, start, length, word)
        slot = scattered >> HALF & last
        place = slots.place[slot]
        while place >= 0:
            alike = slots.first_word[slot] == word and slots.length[slot] == length
            if alike and (length <= EIGHT or _ends_alike(words, start, slots.start[slot], length)):
                break
            slot = slot + ONE & last
            place = slots.place[slot]
        if place < 0:
            if 2 * number > slots.place.size:
                return row, number
            place = np.int32(number)
            slots.place[slot], slots.scattered[slot], slots.first_word[slot] = place, scattered, word
            slots.start[slot], slots.length[slot] = start, length
            firsts[number] = row
            number += 1
        places[row] = place
    return places.size, number


@kernel(inline="always")
def _word(words: Words, start: np.uint64, length: np.uint64) -> np.uint64:
    """Up to eight bytes from `start` on as one number."""
    at, shift = start >> THREE, (start & SEVEN) << THREE
    both: np.uint64 = words[at] >> shift | words[at + ONE] << ONE << (SIXTY_THREE - shift)
    return both if length >= EIGHT else both & ~(EVERY_BIT << (length << THREE))


@kernel(inline="always")
def _scattered(words: Words, start: np.uint64, length: np.uint64, word: np.uint64) -> np.uint64:
    """A number that hardly two texts have in common."""
    mixed, done = (length ^ word) * SCATTER, EIGHT
    while done < length:
        mixed = (mixed ^ mixed >> HALF ^ _word(words, start + done, length - done)) * SCATTER
        done += EIGHT
    return mixed


@kernel(inline="always")
def _ends_alike(words: Words, start: np.uint64, other: np.uint64, length: np.uint64) -> bool:
    """Whether two texts of one length, whose first words are the same, are the same."""
    done = EIGHT
    while done < length:
        if _word(words, start + done, length - done) != _word(words, other + done, length - done):
            return False
        done += EIGHT
    return True
