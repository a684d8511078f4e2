"""A bound on S_Q where three exact cuboids or more are public, and their primitive moves are too many to list.

Two proved bounds, of which the smaller one counts; docs/explain/generic.md has the proofs.

- By circuits: a primitive move is a sum of at most n − r circuits of its signs, each less than once, where n atoms are
  counted by r independent numbers. A circuit has the sizes of r-minors, and the sum of the squares of these is at most
  ((r + 1)/n)^r·det, det being that of the lattice of all counts: all atoms are alike, so none can stand out.
- One cuboid after another: a move is a sum of T moves that keep all cuboids but one, and by what they do to that one no
  fewer of them cancel. In one dimension T < 2m where no move does more than m to it; in d dimensions the moves can be
  put in an order in which they never add up to more than d·m, and no sum occurs twice [Grinberg, Sevastyanov 1980].
"""

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import combinations
from math import comb, isqrt, prod

Axes = frozenset[int]

MOST_INDEPENDENT = 4096
"""With more independent counts the bound has hundreds of digits, and no budget is left under it."""


class NoBound(Exception):
    """The bound would be of no use. Says why."""


def bound_of_cuboids(known: Collection[Axes], shape: Sequence[int]) -> int:
    """At least S_Q where the cuboids with these axes are public: equal to it for one or two of them. Raises NoBound."""
    facts = _Cuboids(_apart(known, shape), tuple(shape))
    if len(facts.masks) < 3:
        return facts.longest_cycle
    circuits = facts.circuits
    last = min(facts.masks, key=lambda mask: (facts.added_by(mask), sorted(mask)))
    fewer = bound_of_cuboids(facts.masks - {last}, shape)
    times = _most_moves(facts, last, fewer // 2, circuits)
    return circuits if times is None else min(circuits, times * fewer)


def _apart(known: Collection[Axes], shape: Sequence[int]) -> frozenset[Axes]:
    """The finest cuboids, without axes of one value, and without those in all of them: values of these stand apart."""
    seen = {frozenset(axis for axis in mask if shape[axis] > 1) for mask in known}
    finest = {mask for mask in seen if not any(mask < other for other in seen)}
    common = frozenset.intersection(*finest) if finest else frozenset()
    return frozenset(mask - common for mask in finest)


class _Cuboids:
    """Exact cuboids of which none contains another, and no axis is in all."""

    def __init__(self, masks: frozenset[Axes], shape: tuple[int, ...]) -> None:
        self.masks, self.shape = masks, shape

    @property
    def longest_cycle(self) -> int:
        """S_Q of one cuboid or two [cubes, Lemma 5.2.2]; at least 2, as an exchange of two people is."""
        return 2 * min(map(self._size, self.masks), default=1) if len(self.masks) == 2 else 2

    def _size(self, mask: Axes) -> int:
        return prod(self.shape[axis] for axis in mask)

    @cached_property
    def faces(self) -> frozenset[Axes]:
        """Every cuboid that can be computed."""
        return frozenset(
            frozenset(face) for mask in self.masks for many in range(len(mask) + 1) for face in combinations(mask, many)
        )

    def _own(self, face: Axes) -> int:
        """How many numbers of a cuboid do not follow from smaller ones."""
        return prod(self.shape[axis] - 1 for axis in face)

    def added_by(self, mask: Axes) -> int:
        """How many independent numbers one cuboid has that the others do not tell."""
        return sum(map(self._own, self.new_faces(mask)))

    def new_faces(self, mask: Axes) -> frozenset[Axes]:
        return self.faces - _Cuboids(self.masks - {mask}, self.shape).faces

    @cached_property
    def circuits(self) -> int:
        """(n − r) × the most people that a circuit can move, each rounded down to an even number. Raises NoBound."""
        atoms = prod(self.shape[axis] for axis in frozenset.union(*self.masks))
        rank = sum(map(self._own, self.faces))
        if rank > MOST_INDEPENDENT:
            raise NoBound(
                f"these facts are {rank:,} independent counts, and S_Q is bounded for up to {MOST_INDEPENDENT:,}"
            )
        squared = (rank + 1) ** (rank + 1) * self._determinant() // atoms**rank
        return (atoms - rank) * (isqrt(squared) // 2 * 2)

    def _determinant(self) -> int:
        """det(BBᵀ) for the indicators of all cells of all faces without the first value of each axis."""
        axes = frozenset.union(*self.masks)
        above, below = 1, 1
        for face in self.faces:
            above *= self._size(axes - face) ** self._own(face)
            below *= prod(self.shape[axis] ** (self._own(face) // (self.shape[axis] - 1)) for axis in face)
        return above // below


def _most_moves(facts: _Cuboids, last: Axes, moved: int, enough: int) -> int | None:
    """The most moves of all cuboids but the last one that a primitive move can consist of, where each of them moves up
    to so many people into cells of the last one. None where that is `enough` or more."""
    new = facts.new_faces(last)
    dimensions = facts.added_by(last)
    if dimensions == 1:
        return max(2, 2 * moved - 1)
    if dimensions * (moved.bit_length() - 1) > enough.bit_length():
        return None
    if len(new) == 1 and len(last) == 1:
        return points_of_root_lattice(dimensions, dimensions * moved)
    return int((2 * dimensions * moved + 1) ** dimensions)


def points_of_root_lattice(dimensions: int, people: int) -> int:
    """In how many ways up to so many people can move between dimensions + 1 cells, as far as the counts of these tell:
    the lattice points of the root polytope A_d, enlarged so many times. [Conway, Sloane 1997]"""
    return sum(
        comb(dimensions, place) ** 2 * comb(people - place + dimensions, dimensions)
        for place in range(min(dimensions, people) + 1)
    )
