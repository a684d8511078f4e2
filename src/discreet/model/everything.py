"""Everything public about a table, as measurements of one model.

What is in, of the table as it is now:

- every released count of rows: cuboids and their residuals, GROUP BYs with any groups and conditions, single counts;
- every released sum of a whole number, or of an expression of codes: a row adds what its codes say;
- every fact, exactly, as long as the joint of all these attributes can be gone through (`size.py`).

What is not: sums of numbers in bins, which codes do not tell; medians, numbers of different values and of people,
counts over subsets, and what was chosen, which are no sums over rows' codes.

Repeats of one question are one measurement, their mean by precision. Numbers that are no table of all codes are kept as
a sparse matrix, which has MOST_SUMMED entries at most: the sharpest come first, of equal ones the earlier, and what
does not fit is left out and counted. All of it follows from the journal, in its order: whoever has that has the same
model.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.facts.facts import CuboidFact, Fact
from discreet.ledger.receipt import Receipt
from discreet.model.measured import Measured, Sums
from discreet.model.released import Drawn, Names, ReleasedNumbers, ReleasedTable, names_in_order, read
from discreet.model.size import is_mixture
from discreet.noise.bits import Bits
from discreet.query.lattice import Lattice
from discreet.query.mesh import Mesh, bounded_by
from discreet.query.query import Count
from discreet.release.release import Release

Cells = NDArray[np.float64]

MOST_SUMMED = 1 << 22
"""Size of the sparse matrix in one model, at most: its entries, and the cells of the tables that it adds up."""


@dataclass(frozen=True, eq=False)
class Everything:
    """Measurements with their noise, and which releases and facts they are."""

    domain: Domain
    lattice: Lattice
    measured: tuple[Measured, ...]
    noises: tuple[tuple[Drawn, ...], ...]
    releases: tuple[int, ...]
    """The charges whose answers are in."""
    all_releases: tuple[int, ...]
    """Those and the others of the table, in order: what is asked next may follow from what was answered before."""
    receipt: Receipt
    """Of the last of these."""
    facts: tuple[int, ...]
    left_out: int
    """Numbers that would have been too many cells to add up."""
    facts_left_out: int

    @property
    def names(self) -> Names:
        return tuple(map(str, self.lattice.names))

    @property
    def has_total(self) -> bool:
        """Whether anything tells how many rows there are."""
        return any(one.is_table or (one.residual and not one.mask) or _is_whole(one) for one in self.measured)

    def is_measured(self, names: Iterable[str]) -> bool:
        """Whether a table of these attributes, and others maybe, was released."""
        mask = self.lattice.mask(*names)
        return any(one.sums is None and not mask & ~one.mask for one in self.measured)

    def noise(self, one: Measured, bits: Bits) -> Cells:
        """A draw of a measurement's noise."""
        blocks = self._noise_of[id(one)]
        return np.concatenate([block.sample(bits) for block in blocks]).reshape(one.values.shape)

    @cached_property
    def _noise_of(self) -> dict[int, tuple[Drawn, ...]]:
        return {id(one): own for one, own in zip(self.measured, self.noises, strict=True)}

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the numbers that the model is made of."""
        found = hashlib.sha256(repr((self.lattice.sizes, self.lattice.names, self.releases, self.facts)).encode())
        for one in self.measured:
            found.update(repr((one.mask, one.variance, one.residual, one.values.shape)).encode())
            arrays: list[NDArray[Any]] = [one.values]
            if one.sums is not None:
                arrays += [one.sums.numbers, one.sums.cells, one.sums.times]
            for array in arrays:
                found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What is in, in public terms."""
        tables = [list(self.lattice.names_of(one.mask)) for one in self.measured if one.sums is None]
        return {
            "attributes": list(self.names),
            "releases": list(self.releases),
            "facts": list(self.facts),
            "tables": tables,
            "other_numbers": sum(one.values.size for one in self.measured if one.sums is not None),
            "left_out": self.left_out,
            "facts_left_out": self.facts_left_out,
        }


def _is_whole(one: Measured) -> bool:
    return one.sums is not None and one.sums.is_whole


def everything(releases: Iterable[Release], facts: Sequence[Fact], domain: Domain) -> Everything | None:
    """The measurements that some releases and facts of one table are; None where nothing tells rows apart."""
    known_releases = list(releases)
    tables, asked = read(known_releases, domain)
    released = {name for own in (*tables, *asked) for name in own.names}
    known = {name for fact in facts for name in _names_of(fact, domain)}
    lattice, exact = _lattice(released | known, domain), facts
    if lattice is not None and is_mixture(lattice):
        lattice, exact = _lattice(released, domain), ()
    if lattice is None or not (tables or asked):
        return None
    made = _Made(domain, lattice, tuple(one.charge for one in known_releases), known_releases[-1].receipt)
    for table in tables:
        made.add_table(table)
    made.add_facts(exact)
    made.add_asked(asked)
    return made.whole(len(facts) - len(exact))


def _lattice(names: set[str], domain: Domain) -> Lattice | None:
    kept = names_in_order(names, domain)
    return Lattice(tuple(domain[name].size for name in kept), kept) if kept else None


def _names_of(fact: Fact, domain: Domain) -> set[str]:
    if isinstance(fact, CuboidFact):
        return {name for name in fact.by if domain[name].size > 1}
    return {name for _, region in fact.terms for name in bounded_by(region, domain)}


@dataclass
class _Stack:
    """Numbers over cells of one cuboid, each divided by the standard deviation of its noise."""

    values: list[Cells] = field(default_factory=list)
    sums: list[Sums] = field(default_factory=list)
    noises: list[Drawn] = field(default_factory=list)

    def joined(self) -> Sums:
        starts = np.cumsum([0, *(own.size for own in self.sums[:-1])]).tolist()
        return Sums(
            self.sums[0].shape,
            sum(own.size for own in self.sums),
            np.concatenate([start + own.numbers for start, own in zip(starts, self.sums, strict=True)]),
            np.concatenate([own.cells for own in self.sums]),
            np.concatenate([own.times for own in self.sums]),
        )


@dataclass
class _Made:
    """What was taken in so far."""

    domain: Domain
    lattice: Lattice
    all_releases: tuple[int, ...]
    receipt: Receipt
    measured: list[Measured] = field(default_factory=list)
    noises: list[tuple[Drawn, ...]] = field(default_factory=list)
    releases: set[int] = field(default_factory=set)
    facts: list[int] = field(default_factory=list)
    left_out: int = 0
    facts_left_out: int = 0
    _summed: int = 0

    def add_table(self, table: ReleasedTable) -> None:
        values, variance, drawn = table.mean()
        self._add(Measured(self.lattice.mask(*table.names), values, variance, table.residual), drawn)
        self.releases.update(table.charges)

    def add_facts(self, facts: Sequence[Fact]) -> None:
        """Of tables the finest: coarser ones are in them."""
        tables: dict[int, tuple[Cells, int]] = {}
        for fact in facts:
            names = names_in_order(_names_of(fact, self.domain), self.domain)
            if isinstance(fact, CuboidFact) or fact.terms == ((1, self.domain.everything),):
                values = np.asarray(fact.values if isinstance(fact, CuboidFact) else fact.value, np.float64)
                mask = self.lattice.mask(*names)
                tables.setdefault(mask, (values.reshape(self.lattice.shape(mask)), fact.number))
            elif self._fits(names, 0):
                mesh = Mesh(self.domain, names)
                times: Cells = np.zeros(mesh.shape)
                for own, region in fact.terms:
                    times = times + own * mesh.inside(region)
                self._take(names, int(np.count_nonzero(times)))
                value = np.array([float(fact.value)])
                mask = self.lattice.mask(*names)
                self._add(Measured(mask, value, 0.0, sums=_sums(np.zeros(times.shape, np.int64), times)), Drawn(1, ()))
                self.facts.append(fact.number)
            else:
                self.facts_left_out += 1
        for mask, (values, number) in tables.items():
            self.facts.append(number)
            if not any(mask & other == mask != other for other in tables):
                self._add(Measured(mask, values, 0.0), Drawn(values.size, ()))

    def add_asked(self, asked: Sequence[ReleasedNumbers]) -> None:
        stacks: dict[Names, _Stack] = {}
        for one in sorted(asked, key=lambda own: (own.sharpness, own.charges[0])):
            mesh = Mesh(self.domain, one.names)
            if not self._fits(one.names, 0):
                self.left_out += one.size
                continue
            weights, groups = mesh.weights(one.query), mesh.groups(one.query.by)
            counted = np.flatnonzero(weights)
            present, places = np.unique(groups.reshape(-1)[counted], return_inverse=True)
            if not present.size:
                continue  # nobody can be there
            if not self._fits(one.names, counted.size):
                self.left_out += present.size
                continue
            self._take(one.names, counted.size)
            self.releases.update(one.charges)
            values, variance, drawn = one.mean(present)
            everybody = isinstance(one.query, Count) and one.query.where == self.domain.everything
            sums = Sums(mesh.shape, present.size, places.reshape(-1), counted, weights.reshape(-1)[counted], everybody)
            if everybody:
                self._add(Measured(self.lattice.mask(*one.names), values, variance, sums=sums), drawn)
                continue
            stack, deviation = stacks.setdefault(one.names, _Stack()), variance**0.5
            stack.values.append(values / deviation)
            stack.sums.append(replace(sums, times=sums.times / deviation))
            stack.noises.append(drawn.divided(deviation))
        for names, stack in stacks.items():
            values = np.concatenate(stack.values)
            self._add(Measured(self.lattice.mask(*names), values, 1.0, sums=stack.joined()), *stack.noises)

    def whole(self, facts_left_out: int) -> Everything:
        return Everything(
            self.domain,
            self.lattice,
            tuple(self.measured),
            tuple(self.noises),
            tuple(sorted(self.releases)),
            self.all_releases,
            self.receipt,
            tuple(sorted(self.facts)),
            self.left_out,
            self.facts_left_out + facts_left_out,
        )

    def _add(self, one: Measured, *noises: Drawn) -> None:
        self.measured.append(one)
        self.noises.append(noises)

    def _fits(self, names: Names, entries: int) -> bool:
        """Whether there is room for so many entries, with the table of the attributes."""
        return self._summed + entries + self._table(names) <= MOST_SUMMED

    def _take(self, names: Names, entries: int) -> None:
        self._summed += entries + self._table(names)

    def _table(self, names: Names) -> int:
        """The cells of the attributes' table; none where there is one already."""
        mask = self.lattice.mask(*names)
        return 0 if any(one.mask == mask for one in self.measured) else prod(self.lattice.shape(mask))


def _sums(numbers: NDArray[np.int64], times: Cells) -> Sums:
    """The one matrix with a cell's number and times."""
    counted = np.flatnonzero(times)
    return Sums(times.shape, 1, numbers.reshape(-1)[counted], counted, times.reshape(-1)[counted])
