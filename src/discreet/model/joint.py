"""Marginals of a log-linear distribution over the whole joint domain, one pass at a time, without writing it down.

The distribution is p(x) ∝ exp(Σ_c θ_c(x_c)): a table of potentials for each cuboid c. The joint's axes are put in an
order: small ones first, the largest ones last. The last few are the *block*, a vector that is worked on at once; the
others are the *prefix*, through which the pass goes like an odometer. At every depth of the prefix the vector so far is
multiplied by the factors exp(θ_c) of those cuboids whose last prefix axis is there, so that most of them are multiplied
once for very many cells; and on the way back sums are added to the parents, and to those cuboids' marginals. A pass
takes a few operations a cell, whatever the number of cuboids of two attributes is, and needs memory for the measured
tables only.

Factors are divided by their table's largest, so that no product is above 1; and the pass starts at e^HEADROOM, so that
products may become as small as e^-1300 of that before they are 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, prod

import numpy as np
from numpy.typing import NDArray

from discreet.cores import on_all_cores
from discreet.native import kernel
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]
Ints = NDArray[np.int64]
Tables = Mapping[int, Cells]
"""A table for each cuboid, by mask, with an axis for each of its dimensions."""

BLOCK = 512
"""A block has at most so many cells, or one axis: its vectors stay in the processor's nearest cache."""

HEADROOM = 600.0
PARTS = 4
"""A pass adds up so many parts, each by itself: on two or four cores they are worked on at once. The number is fixed,
so that a sum does not depend on the machine's cores."""


@dataclass(frozen=True)
class _Table:
    """A factor of the pass: its prefix axes, and whether it has the block's axes as well."""

    prefix: tuple[int, ...]
    has_block: bool


@dataclass(frozen=True)
class Joint:
    """The joint domain of a lattice, with an order for passes over it, and the cuboids that have potentials."""

    lattice: Lattice
    masks: tuple[int, ...]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The axes: ascending by size, those of the block last."""
        sizes = self.lattice.sizes
        return tuple(sorted(range(len(sizes)), key=lambda axis: (sizes[axis], -axis)))

    @cached_property
    def split(self) -> int:
        """How many axes of the order are prefix."""
        place = len(self.order) - 1
        size = self.lattice.sizes[self.order[place]]
        while place and size * self.lattice.sizes[self.order[place - 1]] <= BLOCK:
            place -= 1
            size *= self.lattice.sizes[self.order[place]]
        return place

    @cached_property
    def cells(self) -> int:
        return prod(self.lattice.sizes)

    @cached_property
    def _layout(self) -> "_Layout":
        return _Layout.of(self)

    @property
    def table_cells(self) -> int:
        """The numbers that a pass keeps in memory for each part."""
        return self._layout.length

    def marginals(self, potentials: Tables) -> tuple[float, dict[int, Cells]]:
        """log Z, and the marginal probabilities of every cuboid with potentials. (inf, …) where Z is out of range.

        A potential may be −∞: there is nobody.
        """
        layout = self._layout
        factors, shift = layout.factors(potentials)
        sums = np.zeros((PARTS, layout.length))
        edges = [layout.leaves * part // PARTS for part in range(PARTS + 1)]
        totals = np.zeros(PARTS)

        def work(first: int, last: int) -> None:
            for part in range(first, last):
                totals[part] = _pass(
                    factors, sums[part], layout.sizes, *layout.arrays, layout.block, edges[part], edges[part + 1]
                )

        on_all_cores(work, PARTS, self.cells // PARTS)
        total = float(totals.sum())
        if not total > 0:
            return inf, {}
        summed = sums[0]
        for part in sums[1:]:
            summed += part
        summed /= total
        return log(total) - HEADROOM + shift, layout.folded(summed)

    def probabilities(self, potentials: Tables, log_z: float) -> Cells:
        """The joint itself, its axes in the lattice's order. Needs a number for each cell."""
        layout = self._layout
        factors, shift = layout.factors(potentials)
        cells = np.empty((layout.leaves, layout.block))
        on_all_cores(
            lambda first, last: _write(
                factors, cells[first:last], layout.sizes, *layout.arrays, layout.block, first, last
            ),
            layout.leaves,
            layout.block,
        )
        cells *= exp(shift - HEADROOM - log_z)
        shape = [self.lattice.sizes[axis] for axis in self.order]
        return np.ascontiguousarray(cells.reshape(shape).transpose(np.argsort(self.order)))


@dataclass(frozen=True)
class _Layout:
    """Where each factor lies in one long array, and at which depth of the prefix it is multiplied."""

    joint: Joint
    tables: tuple[_Table, ...]
    starts: tuple[int, ...]
    length: int
    sizes: Ints
    block: int
    leaves: int
    arrays: tuple[Ints, Ints, Ints, Ints, Ints]
    """Of each depth its first table; of each table its start, width and first member; of members (axis, stride)."""

    @classmethod
    def of(cls, joint: Joint) -> "_Layout":
        sizes = tuple(joint.lattice.sizes[axis] for axis in joint.order)
        split, block = joint.split, prod(sizes[joint.split :])
        found: dict[tuple[int, ...], bool] = {}
        for mask in joint.masks:
            places = _places(joint, mask)
            prefix = tuple(place for place in places if place < split)
            found[prefix] = found.get(prefix, False) or len(prefix) < len(places)
        tables = [_Table(prefix, has_block) for prefix, has_block in found.items()]
        tables.sort(key=lambda table: (table.prefix[-1] + 1 if table.prefix else 0, table.prefix))
        starts, length = [], 0
        members: list[tuple[int, int]] = []
        first_member = [0]
        depths = [table.prefix[-1] + 1 if table.prefix else 0 for table in tables]
        for table in tables:
            starts.append(length)
            stride = block if table.has_block else 1
            own = []
            for place in reversed(table.prefix):
                own.append((place, stride))
                stride *= sizes[place]
            members += own
            first_member.append(len(members))
            length += stride
        first_table = np.searchsorted(depths, np.arange(split + 2)).astype(np.int64)
        widths = np.array([block if table.has_block else 1 for table in tables], np.int64)
        return cls(
            joint,
            tuple(tables),
            tuple(starts),
            length,
            np.array(sizes[:split], np.int64),
            block,
            prod(sizes[:split]),
            (
                first_table,
                np.array(starts, np.int64),
                widths,
                np.array(first_member, np.int64),
                np.array(members, np.int64).reshape(-1, 2),
            ),
        )

    @cached_property
    def _homes(self) -> dict[int, tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """Of each cuboid: its table, the order of its axes there, its shape there, and the table's shape."""
        joint = self.joint
        sizes = [joint.lattice.sizes[axis] for axis in joint.order]
        number = {table.prefix: place for place, table in enumerate(self.tables)}
        homes = {}
        for mask in joint.masks:
            places = _places(joint, mask)
            axes = joint.lattice.axes(mask)
            order = tuple(axes.index(joint.order[place]) for place in places)
            prefix = tuple(place for place in places if place < joint.split)
            table = self.tables[number[prefix]]
            full = (*prefix, *(range(joint.split, len(sizes)) if table.has_block else ()))
            shape = tuple(sizes[place] if place in places else 1 for place in full)
            homes[mask] = (number[prefix], order, shape, tuple(sizes[place] for place in full))
        return homes

    def _view(self, array: Cells, table: int, shape: tuple[int, ...]) -> Cells:
        return array[self.starts[table] : self.starts[table] + prod(shape)].reshape(shape)

    def factors(self, potentials: Tables) -> tuple[Cells, float]:
        """The factors of every table, each divided by its largest; and the logarithm of what they were divided by."""
        logs = np.zeros(self.length)
        for mask, (table, order, shape, full) in self._homes.items():
            self._view(logs, table, full)[...] += potentials[mask].transpose(order).reshape(shape)
        shift = 0.0
        for start, end in zip(self.starts, (*self.starts[1:], self.length), strict=True):
            largest = float(logs[start:end].max())
            if largest > -inf:
                logs[start:end] -= largest
                shift += largest
        return np.exp(logs, out=logs), shift

    def folded(self, sums: Cells) -> dict[int, Cells]:
        """Each cuboid's own sums, out of its table's."""
        folded = {}
        for mask, (table, order, shape, full) in self._homes.items():
            gone = tuple(axis for axis, size in enumerate(shape) if size == 1 and full[axis] > 1)
            own = self._view(sums, table, full).sum(axis=gone) if gone else self._view(sums, table, full)
            axes = self.joint.lattice.axes(mask)
            in_order = [self.joint.lattice.sizes[axes[place]] for place in order]
            folded[mask] = own.reshape(in_order).transpose(np.argsort(order))
        return folded


def _places(joint: Joint, mask: int) -> tuple[int, ...]:
    """The axes of a cuboid, as places in the joint's order."""
    return tuple(place for place, axis in enumerate(joint.order) if mask >> axis & 1)


@kernel
def _codes_at(leaf: int, sizes: Ints) -> Ints:
    """The codes of a leaf of the prefix, and a place beside them for the root's."""
    codes = np.zeros(sizes.size + 1, np.int64)
    for axis in range(sizes.size - 1, -1, -1):
        codes[axis] = leaf % sizes[axis]
        leaf //= sizes[axis]
    return codes


@kernel(fastmath=True)
def _open(
    factors: Cells,
    vectors: Cells,
    depth: int,
    codes: Ints,
    first_table: Ints,
    starts: Ints,
    widths: Ints,
    first_member: Ints,
    members: Ints,
    indices: Ints,
) -> None:
    """The vector of a node: its parent's, times the factors of the tables at its depth. Their places are kept."""
    own = vectors[depth]
    if depth:
        own[:] = vectors[depth - 1]
    scalar = 1.0
    for table in range(first_table[depth], first_table[depth + 1]):
        index = starts[table]
        for member in range(first_member[table], first_member[table + 1]):
            index += codes[members[member, 0]] * members[member, 1]
        indices[table] = index
        if widths[table] == 1:
            scalar *= factors[index]
        else:
            for place in range(own.size):
                own[place] *= factors[index + place]
    if scalar != 1.0:
        own *= scalar


@kernel(fastmath=True)
def _close(sums: Cells, sums_of: Cells, depth: int, first_table: Ints, widths: Ints, indices: Ints) -> None:
    """Add what is below a node to its tables' marginals and to its parent."""
    own = sums_of[depth]
    total = own.sum()
    for table in range(first_table[depth], first_table[depth + 1]):
        index = indices[table]
        if widths[table] == 1:
            sums[index] += total
        else:
            for place in range(own.size):
                sums[index + place] += own[place]
    if depth:
        sums_of[depth - 1] += own
        own[:] = 0.0


@kernel(fastmath=True)
def _pass(
    factors: Cells,
    sums: Cells,
    sizes: Ints,
    first_table: Ints,
    starts: Ints,
    widths: Ints,
    first_member: Ints,
    members: Ints,
    block: int,
    first: int,
    last: int,
) -> float:
    """Go through leaves first … last−1 of the prefix, and add up every table's marginals; the total of the cells."""
    depths = sizes.size
    vectors, sums_of = np.empty((depths + 1, block)), np.zeros((depths + 1, block))
    indices, codes = np.zeros(starts.size, np.int64), _codes_at(first, sizes)
    vectors[0, :] = np.exp(HEADROOM)
    changed = 0
    for _ in range(first, last):
        for depth in range(changed, depths + 1):
            _open(factors, vectors, depth, codes, first_table, starts, widths, first_member, members, indices)
        sums_of[depths] += vectors[depths]
        axis = depths - 1
        while axis >= 0 and codes[axis] + 1 == sizes[axis]:
            _close(sums, sums_of, axis + 1, first_table, widths, indices)
            codes[axis] = 0
            axis -= 1
        if axis >= 0:
            _close(sums, sums_of, axis + 1, first_table, widths, indices)
            codes[axis] += 1
        changed = axis + 1
    # Still open are those above the axis that changed last; the root always.
    for depth in range(max(changed - 1, 0), -1, -1):
        _close(sums, sums_of, depth, first_table, widths, indices)
    return float(sums_of[0].sum())


@kernel(fastmath=True)
def _write(
    factors: Cells,
    cells: Cells,
    sizes: Ints,
    first_table: Ints,
    starts: Ints,
    widths: Ints,
    first_member: Ints,
    members: Ints,
    block: int,
    first: int,
    last: int,
) -> None:
    """Write down the cells of leaves first … last−1."""
    depths = sizes.size
    vectors = np.empty((depths + 1, block))
    indices, codes = np.zeros(starts.size, np.int64), _codes_at(first, sizes)
    vectors[0, :] = np.exp(HEADROOM)
    changed = 0
    for leaf in range(last - first):
        for depth in range(changed, depths + 1):
            _open(factors, vectors, depth, codes, first_table, starts, widths, first_member, members, indices)
        cells[leaf] = vectors[depths]
        axis = depths - 1
        while axis >= 0 and codes[axis] + 1 == sizes[axis]:
            codes[axis] = 0
            axis -= 1
        if axis >= 0:
            codes[axis] += 1
        changed = axis + 1
