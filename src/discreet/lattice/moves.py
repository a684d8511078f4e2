"""Primitive moves: the Graver basis of an integer matrix, by project-and-lift. [Hemmecke 2003]

u ⊑ z where u has nowhere another sign than z, and nowhere a larger size: u is a part of z. A kernel vector z ≠ 0 is
primitive where no other kernel vector but 0 is a part of it. There are finitely many, and every kernel vector is a sum
of primitive ones that are parts of it [Graver 1975].

The kernel is a lattice of some dimension d. Seen through d columns that can take any whole numbers, its primitive
members are the unit vectors. Then columns are looked at one by one. Let the members that are primitive on the columns J
be known, and let c come next. Every member is a sum of these that are its parts on J; among all such sums, one with
the least Σ|values in c| has no two members f, g with opposite signs in c, if only f + g is always a sum of its own
parts on J ∪ {c}: for replacing f + g by these would make it less. So it is enough to add such sums f + g, f and g of no
opposite signs on J and of opposite signs in c, where they are not such a sum already. In the order of their size on J
it is enough to look for one part: what is left of f + g without it is smaller, and known to be a sum of its parts. The
result is every member that is primitive on J ∪ {c}, and nothing else.

Members are kept up to their sign.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.lattice.kernel import Coordinates, Exact, coordinates_of
from discreet.native import kernel

Ints = NDArray[np.int64]
Masks = NDArray[np.uint64]

MOST_COLUMNS = 63
"""Signs of a member are kept in one word."""

MOST_MOVES = 100_000
MOST_COMPARISONS = 300_000_000_000
"""About half a minute of work: most comparisons end at the first word of signs."""

LARGEST = 2**31
FULL, TIRED, HUGE, DONE = -1, -2, -3, 0


class TooManyMoves(Exception):
    """The primitive moves are beyond the stated bounds. Says which."""


@dataclass
class _Members:
    """Members of the lattice up to sign, with the masks of the columns in which they are above and below 0."""

    vectors: Ints
    positive: Masks
    negative: Masks
    count: int

    @classmethod
    def of(cls, basis: Ints) -> "_Members":
        members = cls(
            np.zeros((MOST_MOVES, basis.shape[1]), np.int64),
            np.zeros(MOST_MOVES, np.uint64),
            np.zeros(MOST_MOVES, np.uint64),
            len(basis),
        )
        members.vectors[: len(basis)] = basis
        bits = np.uint64(1) << np.arange(basis.shape[1], dtype=np.uint64)
        members.positive[: len(basis)] = ((basis > 0) * bits).sum(axis=1, dtype=np.uint64)
        members.negative[: len(basis)] = ((basis < 0) * bits).sum(axis=1, dtype=np.uint64)
        return members


def primitive_moves(basis: Exact) -> Ints:
    """Every primitive member, up to its sign, of the lattice that the rows of `basis` generate.

    Raises TooManyMoves beyond MOST_COLUMNS, MOST_MOVES or MOST_COMPARISONS: then nothing is known.
    """
    if len(basis) == 0:
        return np.zeros((0, basis.shape[1]), np.int64)
    coordinates = coordinates_of(basis)
    columns = coordinates.basis.shape[1]
    if columns > MOST_COLUMNS:
        raise TooManyMoves(f"{columns} kinds of rows hang together; at most {MOST_COLUMNS} are looked at")
    if any(abs(int(number)) >= LARGEST for number in coordinates.basis.flat):
        raise TooManyMoves("the numbers in them are beyond 2^31")
    members = _Members.of(coordinates.basis.astype(np.int64))
    _lift(members, coordinates)
    own = members.vectors[: members.count, : columns - coordinates.extra]
    return _without_decomposable(own) if coordinates.extra else own.copy()


def _lift(members: _Members, coordinates: Coordinates) -> None:
    active = np.uint64(sum(1 << column for column in coordinates.free))
    waiting = set(range(members.vectors.shape[1])) - set(coordinates.free)
    left = np.array([MOST_COMPARISONS], np.int64)
    while waiting:
        vectors = members.vectors[: members.count]
        # Fewest pairs first: what is added early is paired with ever after.
        column = min(waiting, key=lambda c: (np.count_nonzero(vectors[:, c]), c))
        found = _lift_column(members.vectors, members.positive, members.negative, members.count, column, active, left)
        if found < 0:
            raise TooManyMoves(_reason(found))
        members.count = found
        active |= np.uint64(1 << column)
        waiting.remove(column)


def _reason(failure: int) -> str:
    return {
        FULL: f"there are more than {MOST_MOVES:,}",
        TIRED: f"finding them takes more than {MOST_COMPARISONS:.0e} comparisons",
        HUGE: "the numbers in them are beyond 2^31",
    }[failure]


def _without_decomposable(vectors: Ints) -> Ints:
    """Without the added columns, parts may show that were none with them."""
    unique = np.unique(np.where(_leading_sign(vectors)[:, None] < 0, -vectors, vectors), axis=0)
    unique = unique[np.abs(unique).any(axis=1)]
    kept: Ints = unique[[row for row in range(len(unique)) if not _has_part(unique, row)]]
    return kept


def _leading_sign(vectors: Ints) -> Ints:
    first = (vectors != 0).argmax(axis=1)
    signs: Ints = np.sign(vectors[np.arange(len(vectors)), first])
    return signs


def _has_part(vectors: Ints, row: int) -> bool:
    whole = vectors[row]
    for signed in (vectors, -vectors):
        parts = ((signed * whole >= 0) & (np.abs(signed) <= np.abs(whole))).all(axis=1)
        parts[row] = False
        if parts.any():
            return True
    return False


@kernel
def _lift_column(
    vectors: Ints, positive: Masks, negative: Masks, count: int, column: int, active: np.uint64, left: Ints
) -> int:
    """Add every member that is primitive on `active` and `column` but not on `active` alone: the new number of them."""
    bit = np.uint64(1) << np.uint64(column)
    looked = active | bit
    sizes = np.zeros(vectors.shape[0], np.int64)
    for i in range(count):
        if vectors[i, column] < 0:
            _turn(vectors, positive, negative, i)
        sizes[i] = _size(vectors[i], active)
    # Chains of members of the same size, so that what is found joins in its place.
    longest = 2 * sizes[:count].max() + 1
    head, following = np.full(longest + 1, -1, np.int64), np.full(vectors.shape[0], -1, np.int64)
    for i in range(count):
        following[i], head[sizes[i]] = head[sizes[i]], i
    largest = sizes[:count].max()
    total = 2
    whole = np.empty(vectors.shape[1], np.int64)
    while total <= 2 * largest:
        if total >= head.size:
            longer = np.full(2 * total + 1, -1, np.int64)
            longer[: head.size] = head
            head = longer
        for size in range(1, total // 2 + 1):
            i = head[size]
            while i >= 0:
                j = head[total - size] if vectors[i, column] > 0 else -1
                while j >= 0:
                    # f and −g have no opposite signs where f and g have no equal ones.
                    alike = (positive[i] & positive[j]) | (negative[i] & negative[j])
                    if vectors[j, column] > 0 and (alike & active) == 0 and (size < total - size or i > j):
                        for k in range(whole.size):
                            whole[k] = vectors[i, k] - vectors[j, k]
                        above, below = _signs(whole)
                        left[0] -= count
                        if left[0] < 0:
                            return TIRED
                        if not _decomposes(
                            vectors, positive, negative, head, following, whole, above, below, looked, total
                        ):
                            if count == vectors.shape[0]:
                                return FULL
                            if np.abs(whole).max() >= LARGEST:
                                return HUGE
                            vectors[count], positive[count], negative[count] = whole, above, below
                            if whole[column] < 0:
                                _turn(vectors, positive, negative, count)
                            sizes[count] = total
                            following[count], head[total] = head[total], count
                            largest = max(largest, total)
                            count += 1
                    j = following[j]
                i = following[i]
        total += 1
    return count


@kernel
def _decomposes(
    vectors: Ints,
    positive: Masks,
    negative: Masks,
    head: Ints,
    following: Ints,
    whole: Ints,
    above: np.uint64,
    below: np.uint64,
    looked: np.uint64,
    total: int,
) -> bool:
    """Whether some member, or its opposite, is a part of the whole on the columns that are looked at."""
    for size in range(1, total + 1):
        i = head[size]
        while i >= 0:
            up, down = positive[i] & looked, negative[i] & looked
            if (up & ~above) == 0 and (down & ~below) == 0 and _fits(vectors[i], whole, looked):
                return True
            if (up & ~below) == 0 and (down & ~above) == 0 and _fits(vectors[i], whole, looked):
                return True
            i = following[i]
    return False


@kernel
def _fits(part: Ints, whole: Ints, looked: np.uint64) -> bool:
    for k in range(part.size):  # noqa: SIM110 (Numba takes no generator)
        if (looked >> np.uint64(k)) & np.uint64(1) and abs(part[k]) > abs(whole[k]):
            return False
    return True


@kernel
def _turn(vectors: Ints, positive: Masks, negative: Masks, i: int) -> None:
    for k in range(vectors.shape[1]):
        vectors[i, k] = -vectors[i, k]
    positive[i], negative[i] = negative[i], positive[i]


@kernel
def _signs(vector: Ints) -> tuple[np.uint64, np.uint64]:
    above, below = np.uint64(0), np.uint64(0)
    for k in range(vector.size):
        if vector[k] > 0:
            above |= np.uint64(1) << np.uint64(k)
        elif vector[k] < 0:
            below |= np.uint64(1) << np.uint64(k)
    return above, below


@kernel
def _size(vector: Ints, active: np.uint64) -> int:
    size = 0
    for k in range(vector.size):
        if (active >> np.uint64(k)) & np.uint64(1):
            size += abs(vector[k])
    return size
