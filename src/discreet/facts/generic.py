"""Generic differential privacy: how far apart neighbours are among the tables that agree with all facts.

Induced neighbours are two tables that agree with the facts and have no third such table between them [Kifer,
Machanavajjhala 2011; cubes, Definition 5.1.4]. Their difference z, people by point, is in the integer kernel of the
facts' matrix, and no other kernel vector but 0 is a part of it: it is a primitive move (see `moves.py`), and every
primitive move is such a difference. S_Q is the most people that one changes. docs/explain/generic.md has the proofs.

- Points that no fact tells apart are one atom: within it two people change places (2), else only its total matters.
- One exact cuboid: 2. Two: the cells of each are the vertices of a bipartite graph, the atoms its edges, primitive
  moves its cycles, and the longest one has 2·min edges of its smaller side's vertices where every pair of vertices is
  an edge: 2·min{size(C1 − C2), size(C2 − C1)} [cubes, Lemma 5.2.2].
- Anything else: all primitive moves are enumerated. Where these are too many, there is a bound for three cuboids and
  more (see `bound.py`), and other facts are refused. Nothing is guessed.

A person may have up to k rows, and rows in several versions of the table, which facts may be about. Then a kind of
person takes the place of an atom: one multiset of at most k atoms for every version. In a `replace` vault the number of
people is public as well: one more row of ones, over all kinds, those without any row of the population included. For
a vault's limit these count like everybody: they may have rows in a version that no fact is about. Tables of the same
people are to one another as versions of one are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb, prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from discreet.domain.domain import Domain
from discreet.errors import InvalidFact
from discreet.facts.atoms import Atoms, Ints, atoms_of, unique_columns
from discreet.facts.bound import NoBound, bound_of_cuboids
from discreet.facts.facts import CuboidFact, Fact
from discreet.lattice.kernel import coordinates_of, exact_array, independent_parts, kernel_basis
from discreet.lattice.moves import TooManyMoves, primitive_moves
from discreet.ledger.budget import Induced
from discreet.ledger.guarantee import Neighbours

MOST_KINDS = 512
"""The kernel is worked out for at most so many kinds of people that facts tell apart."""

MOST_COMBINED = 1 << 15
"""At most so many combinations of rows are looked through to find these kinds."""

NO_MORE = Induced(2, 2)
"""People of a later table may always be exchanged, whatever is known of an earlier one: no limit is set by less."""


def induced_by(
    facts: Sequence[Fact], domain: Domain, neighbours: Neighbours, max_rows: int = 1, *, dropped: bool = True
) -> Induced:
    """What a vault's limit has to be divided by where these facts are public. Raises InvalidFact where unknown."""
    if not facts:
        return Induced()
    return sensitivity(facts, domain, neighbours, max_rows, dropped=dropped, elsewhere=True).or_more(NO_MORE)


@dataclass(frozen=True)
class FactsOfTable:
    """Facts about one of several tables of the same people, of whom each has at most so many rows there."""

    domain: Domain
    max_rows: int
    facts: tuple[Fact, ...]

    def versions(self) -> list[tuple[Atoms, int]]:
        """What the facts tell apart in each version of the table that they are about."""
        numbers = sorted({fact.table for fact in self.facts})
        of_version = [[fact for fact in self.facts if fact.table == number] for number in numbers]
        return [(atoms_of(facts, self.domain), self.max_rows) for facts in of_version]


def induced_together(tables: Sequence[FactsOfTable], neighbours: Neighbours) -> Induced:
    """The same of facts about several tables of the same people. A kind of person is then one multiset of rows for each
    table that a fact is about: some nobody can be, whose rows are of no parent, and with these S_Q is no less."""
    known = [one for one in tables if one.facts]
    if not known:
        return Induced()
    if len(known) == 1:
        [one] = known
        return induced_by(one.facts, one.domain, neighbours, one.max_rows)
    fixed = neighbours == "replace"
    try:
        kinds = _kinds([version for one in known for version in one.versions()], fixed, absent=fixed)
        matrix, present, several = kinds
        return _largest_move(matrix, present | True, several).or_more(NO_MORE)
    except TooManyMoves as error:
        raise _unknown(str(error)) from None


def sensitivity(
    facts: Sequence[Fact],
    domain: Domain,
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
    *,
    dropped: bool = True,
    elsewhere: bool = False,
) -> Induced:
    """S_Q, the most people that change between neighbours induced by the facts; and the most of added² + removed². Not
    `exact`, but proved, where cuboids have too many primitive moves to look through. Raises InvalidFact for other facts
    that have.

    `dropped`: somebody's row may be left out of the population, for its values or for want of an id. `elsewhere`:
    somebody without a row in the tables that the facts are about may have one in another version, and changes too.
    """
    if not facts:
        return Induced(2, 2) if neighbours == "replace" else Induced(1, 1)
    versions = sorted({fact.table for fact in facts})
    finest = _finest_cuboids(facts, domain) if max_rows == 1 and len(versions) == 1 else None
    if finest is not None and len(finest) <= 2:
        return _of_cuboids(finest, domain)
    try:
        parts = FactsOfTable(domain, max_rows, tuple(facts)).versions()
        atoms = parts[0][0]
        fixed = neighbours == "replace"
        whole = not dropped and not elsewhere and max_rows == len(versions) == 1
        if max_rows == 1 and len(versions) == 1:
            known = _of_partitions(atoms, n_known=fixed and whole)
            if known is not None:
                return known
            finest = _finest_cuboids(atoms.without(_implied(atoms)).facts, domain)
        matrix, present, several = _kinds(parts, fixed, absent=fixed and not whole)
        return _largest_move(matrix, present | elsewhere, several)
    except TooManyMoves as error:
        try:
            if finest is not None:
                return replace(_exchanged(bound_of_cuboids(finest, domain.shape)), exact=False)
            why = str(error)
        except NoBound as none:
            why = f"{error}; and {none}"
        raise _unknown(why) from None


def _unknown(why: str) -> InvalidFact:
    return InvalidFact(
        f"how far these facts reach cannot be worked out: of the moves that keep all of them, {why}. Give fewer facts, "
        "or coarser ones"
    )


def _exchanged(people: int) -> Induced:
    """A move that adds as many people as it removes."""
    return Induced(people, people * people // 2)


def _finest_cuboids(facts: Sequence[Fact], domain: Domain) -> list[frozenset[int]] | None:
    """The axes of the cuboids that are not contained in others. None where there is anything but cuboids."""
    masks = set()
    for fact in facts:
        if isinstance(fact, CuboidFact):
            masks.add(frozenset(fact.axes(domain)))
        elif [region for _, region in fact.terms] == [domain.everything]:
            masks.add(frozenset())
        else:
            return None
    return [mask for mask in masks if not any(mask < other for other in masks)]


def _of_cuboids(finest: Sequence[frozenset[int]], domain: Domain) -> Induced:
    """S_Q of one cuboid, or of two of which none contains the other."""
    shape = domain.shape
    unseen = prod(size for axis, size in enumerate(shape) if not any(axis in mask for mask in finest))
    sides = [prod(shape[axis] for axis in mask - other) for mask in finest for other in finest if mask != other]
    cycle = min(sides, default=1)
    return _exchanged(max(2 * cycle if cycle > 1 else 0, 2 if unseen > 1 else 0))


def _of_partitions(atoms: Atoms, n_known: bool) -> Induced | None:
    """S_Q where each fact tells how the same people are parted, and two of them tell all: cycles of a bipartite graph.

    None where it is not so, or where the longest cycle does not show.
    """
    if not (n_known or any(isinstance(fact, CuboidFact) or _is_total(row) for fact, row in _labelled(atoms))):
        return None
    left = atoms.without(_implied(atoms))
    if len(left.facts) > 2 or not all(_parts(fact, row) for fact, row in _labelled(left)):
        return None
    swap = 2 if left.several.any() else 0
    if len(left.facts) < 2:
        return _exchanged(swap)
    cycle = _longest_cycle(*left.labels)
    return None if cycle is None else _exchanged(max(cycle, swap))


def _labelled(atoms: Atoms) -> list[tuple[Fact, Ints]]:
    return list(zip(atoms.facts, atoms.labels, strict=True))


def _is_total(labels: Ints) -> bool:
    """Whether a count is a multiple of n. (Counts that cancel each other, 0 for everybody, tell nothing.)"""
    return bool(labels.any()) and np.ptp(labels) == 0


def _parts(fact: Fact, labels: Ints) -> bool:
    """Whether a fact tells how many people there are with each label, once it is known how many there are in all."""
    return isinstance(fact, CuboidFact) or len(np.unique(labels)) <= 2


def _implied(atoms: Atoms) -> set[int]:
    """Facts that follow from another one that parts the people: their labels are a function of its own."""
    implied: set[int] = set()
    for place, row in enumerate(atoms.labels):
        for other, (fact, finer) in enumerate(_labelled(atoms)):
            if other == place or other in implied or not _parts(fact, finer):
                continue
            pairs = np.unique(np.stack([finer, row]), axis=1)
            if pairs.shape[1] == len(np.unique(finer)):
                implied.add(place)
                break
    return implied


def _longest_cycle(ones: Ints, others: Ints) -> int | None:
    """The longest cycle, 0 where there is none, of the bipartite graph with these edges; None where it is not plain."""
    _, left = np.unique(ones, return_inverse=True)
    _, right = np.unique(others, return_inverse=True)
    width = left.max() + 1
    size = width + right.max() + 1
    graph = coo_array((np.ones(left.size), (left, right + width)), shape=(size, size))
    count, component = connected_components(graph, directed=False)
    longest = 0
    for part in range(count):
        a, b = np.count_nonzero(component[:width] == part), np.count_nonzero(component[width:] == part)
        edges = np.count_nonzero(component[left] == part)
        if edges == a + b - 1:  # a tree
            continue
        if edges != a * b and min(a, b) > 2:
            return None
        longest = max(longest, 2 * min(int(a), int(b)))
    return longest


def _kinds(
    versions: Sequence[tuple[Atoms, int]], fixed: bool, absent: bool
) -> tuple[Ints, NDArray[np.bool_], NDArray[np.bool_]]:
    """The matrix over the kinds of people that the facts tell apart, who have at most so many rows in each version of a
    table; which of these have rows of the population; and which are of several sorts."""
    columns, rows, several = np.zeros((0, 1), np.int64), np.zeros(1, np.int64), np.zeros(1, np.bool_)
    for atoms, max_rows in versions:
        added, added_rows, added_several = _multisets(atoms, max_rows)
        old, new = columns.shape[1], added.shape[1]
        if old * new > MOST_COMBINED:
            raise TooManyMoves("people who are in several versions of the table are of too many kinds")
        columns = np.concatenate([np.repeat(columns, new, axis=1), np.tile(added, old)])
        rows = np.repeat(rows, new) + np.tile(added_rows, old)
        several = np.repeat(several, new) | np.tile(added_several, old)
    kept = (rows > 0) | absent
    distinct, which = unique_columns(columns[:, kept])
    if distinct.shape[1] > MOST_KINDS:
        raise TooManyMoves(f"there are {distinct.shape[1]:,} kinds of people, and at most {MOST_KINDS} are looked at")
    sorts = np.bincount(which, weights=(rows[kept] > 0) * (1 + several[kept]))
    if fixed:
        distinct = np.concatenate([distinct, np.ones((1, distinct.shape[1]), np.int64)])
    return distinct, sorts > 0, sorts > 1


def _multisets(atoms: Atoms, most: int) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Every kind of person with 0 to `most` rows: what the facts see of them, how many rows they have, and whether some
    row may be at several points."""
    size = atoms.labels.shape[1]
    if size > MOST_KINDS or comb(size + most, most) > MOST_COMBINED:  # each by itself is a kind of person
        raise TooManyMoves(f"{size:,} kinds of rows make too many kinds of people with up to {most} rows")
    matrix, _, _ = atoms.matrix()
    chosen = [list(rows) for number in range(most + 1) for rows in combinations_with_replacement(range(size), number)]
    columns = np.stack([matrix[:, rows].sum(axis=1) for rows in chosen], axis=1).astype(np.int64)
    return columns, np.array(list(map(len, chosen))), np.array([atoms.several[rows].any() for rows in chosen])


def _largest_move(matrix: Ints, moved: NDArray[np.bool_], several: NDArray[np.bool_]) -> Induced:
    """The largest primitive move: of the matrix, or of two people whom the facts see, but not apart."""
    largest = _exchanged(2) if (several & matrix.any(axis=0)).any() else Induced()
    basis = coordinates_of(kernel_basis(exact_array(matrix)))
    own = basis.basis[:, : matrix.shape[1]]
    seen = set()
    for part, columns in independent_parts(own):
        weights = moved[columns].astype(np.int64)
        alike = (part.astype(np.int64).tobytes(), weights.tobytes())
        if alike in seen:
            continue
        seen.add(alike)
        moves = primitive_moves(part)
        added, removed = np.maximum(moves, 0) @ weights, np.maximum(-moves, 0) @ weights
        largest = largest.or_more(Induced(int((added + removed).max()), int((added**2 + removed**2).max())))
    return largest


def sensitivity_of_cuboid(facts: Sequence[Fact], domain: Domain, by: Sequence[str]) -> int:
    """S_Q(C): by how much the cells of one cuboid can change, in all, between neighbours induced by the facts. At most
    S_Q, and equal to it where C has an attribute that no fact looks at [cubes, Lemma 5.2.4]. Raises InvalidFact."""
    axes = sorted(domain.axis(name) for name in by)
    seen = CuboidFact(
        tuple(domain.names[axis] for axis in axes), np.zeros([domain.shape[axis] for axis in axes], np.int64)
    )
    atoms = atoms_of([*facts, seen], domain)
    cells, known = atoms.labels[-1], Atoms(atoms.facts[:-1], atoms.labels[:-1], atoms.several)
    matrix, _, _ = known.matrix()
    try:
        moves = [
            (primitive_moves(part), columns) for part, columns in independent_parts(kernel_basis(exact_array(matrix)))
        ]
    except TooManyMoves as error:
        raise InvalidFact(f"how far these facts reach cannot be worked out: {error}") from None
    largest = 0
    for part, columns in moves:
        rolled = part @ (cells[columns][:, None] == np.unique(cells)).astype(np.int64)
        largest = max(largest, int(np.abs(rolled).sum(axis=1).max()))
    return largest
