"""Γ: the pairs (b1, b2) that fill buckets of two sizes with all records, and the search for the best of them.

The pairs of two sizes S1 < S2 are a line: from one to the next, b1 falls by S2/g and b2 rises by S1/g, g their greatest
common divisor, and the loss rises by (S2 − S1)(S1·S2 − 1)/g > 0 [buckets, Lemmas 4 and 5]. So the first valid pair is
the best, and pairs beyond the best loss so far need no look [Lemma 6].

A pair is valid if PC, FC and CC hold [Theorem 3], and each holds on an interval of the line:

- PC(x): min(c1·b1, o) + min(c2·b2, o) ≥ o, where c = ⌊f'·S⌋. As both terms are ≥ 0 that is c1·b1 + c2·b2 ≥ o, linear
  along the line: one division tells from where, or up to where, it holds. (Lemma 8 needs three parts and searches.)
- FC(S): Σ min(c·b, o) ≥ S·b. The left side is concave in b and 0 at 0, so it holds up to some b, which depends on S
  alone [Lemma 7]: found once for a size, not once for a pair of sizes.

With m values, a pair of sizes takes O(m), whatever the number of records.
"""

import math

import numpy as np

from discreet.microdata.demand import Integers
from discreet.native import kernel

NO_PRUNING, LOSS_PRUNING, FULL_PRUNING = 0, 1, 2


@kernel
def line_of_pairs(total: int, small: int, large: int) -> tuple[int, int, int, int, int]:
    """The first pair, what b1 falls and b2 rises by, and the place of the last pair: −1 if there is none."""
    divisor = math.gcd(small, large)
    fall, rise = large // divisor, small // divisor
    for few in range(rise):
        rest = total - few * large
        if rest < 0:
            break
        if rest % small == 0:
            return rest // small, few, fall, rise, rest // small // fall
    return 0, 0, fall, rise, -1


@kernel
def most_buckets(size: int, total: int, counts: Integers, cap: Integers) -> int:
    """The most buckets of a size that the records can fill within their caps: up to there FC holds."""
    low, high = 0, total // size
    while low < high:
        middle = (low + high + 1) // 2
        filled = 0
        for value in range(len(counts)):
            filled += min(cap[value] * middle, counts[value])
        if filled >= size * middle:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def is_valid(
    small: int, b1: int, large: int, b2: int, counts: Integers, small_cap: Integers, large_cap: Integers
) -> bool:
    """PC and FC for one pair, value by value [buckets, Theorem 3, Corollary 2]."""
    small_filled, large_filled = 0, 0
    for value in range(len(counts)):
        most_small, most_large = small_cap[value] * b1, large_cap[value] * b2
        if most_small + most_large < counts[value]:
            return False
        small_filled += min(most_small, counts[value])
        large_filled += min(most_large, counts[value])
    return small_filled >= small * b1 and large_filled >= large * b2


@kernel
def _first_valid(
    b1: int,
    b2: int,
    fall: int,
    rise: int,
    low: int,
    high: int,
    counts: Integers,
    small_cap: Integers,
    large_cap: Integers,
) -> int:
    """The first place from `low` to `high` on a line where PC holds for every value, or −1 [buckets, Theorem 4]."""
    if low > high:
        return -1
    for value in range(len(counts)):
        small, large = small_cap[value], large_cap[value]
        missing = counts[value] - small * b1 - large * b2
        gain = large * rise - small * fall
        if missing > 0:
            if gain <= 0:
                return -1
            low = max(low, (missing + gain - 1) // gain)
        elif gain < 0:
            high = min(high, missing // gain)
        if low > high:
            return -1
    return low


@kernel
def _walk(
    small: int,
    b1: int,
    fall: int,
    large: int,
    b2: int,
    rise: int,
    last: int,
    counts: Integers,
    caps: Integers,
    to_the_end: bool,
) -> int:
    """The first valid place up to `last` on a line, or −1, pair by pair; with `to_the_end` the rest is tested too."""
    first = -1
    for place in range(last + 1):
        here, there = b1 - place * fall, b2 + place * rise
        if is_valid(small, here, large, there, counts, caps[small], caps[large]) and first < 0:
            first = place
            if not to_the_end:
                break
    return first


@kernel
def search_pairs(
    counts: Integers, caps: Integers, smallest: int, largest: int, best: Integers, pruning: int
) -> tuple[int, int, int, int]:
    """The valid (S1, b1, S2, b2) of the least loss below best[0], for smallest ≤ S1 < S2 ≤ largest; zeros if none is.

    [buckets, Algorithm 1.] Without pruning every pair of every line is looked at; with loss pruning a line is followed
    until a pair is valid or its loss reaches the best; with full pruning the first valid pair is computed. `best[0]`
    becomes the least loss.
    """
    total = counts.sum()
    most = np.full(largest + 1, -1)
    found = (0, 0, 0, 0)
    for small in range(smallest, largest):
        # With all records in buckets of this size or larger, the loss is at least total·(S − 1)²/S.
        if pruning != NO_PRUNING and total * (small - 1) ** 2 // small >= best[0]:
            break
        for large in range(small + 1, largest + 1):
            b1, b2, fall, rise, last = line_of_pairs(total, small, large)
            loss = b1 * (small - 1) ** 2 + b2 * (large - 1) ** 2
            step = rise * (large - 1) ** 2 - fall * (small - 1) ** 2
            if pruning != NO_PRUNING:
                last = min(last, (best[0] - loss - 1) // step)
            if last < 0:
                continue
            if pruning != FULL_PRUNING:
                place = _walk(small, b1, fall, large, b2, rise, last, counts, caps, pruning == NO_PRUNING)
            else:
                for size in (small, large):
                    if most[size] < 0:
                        most[size] = most_buckets(size, total, counts, caps[size])
                low = max(0, (b1 - most[small] + fall - 1) // fall)
                high = min(last, (most[large] - b2) // rise)
                place = _first_valid(b1, b2, fall, rise, low, high, counts, caps[small], caps[large])
            if place >= 0 and loss + place * step < best[0]:
                best[0] = loss + place * step
                found = (small, b1 - place * fall, large, b2 + place * rise)
    return found


@kernel
def divide_records(
    counts: Integers, caps: Integers, small: int, b1: int, large: int, b2: int
) -> tuple[Integers, Integers]:
    """How many records of each value go to the small buckets, and how many to the large [buckets, Section 4.3].

    Requires a valid pair. The small buckets first get all that they may hold; what is too much moves to the large ones.
    The seed leaves open what moves: here each value does in proportion to the room that is left for it, so that both
    parts stay mixed. That is what later divisions of a part live on.
    """
    first = np.minimum(caps[small] * b1, counts)
    room = np.minimum(caps[large] * b2, counts) - (counts - first)
    excess, all_room = first.sum() - small * b1, room.sum()
    due, moved = 0, 0
    for value in range(len(counts)):
        due += room[value]
        # The quotients of the running sum: each value's share, rounded so that they add up, and within its room.
        move = due * excess // max(all_room, 1) - moved
        moved += move
        first[value] -= move
    return first, counts - first
