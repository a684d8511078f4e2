"""Atoms: the points of a domain that no fact tells apart, taken together. However large the domain, there are few."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import InvalidFact
from discreet.facts.facts import CuboidFact, Fact

Ints = NDArray[np.int64]

MOST_CELLS = 1 << 20
"""Where the facts' edges cut the domain into more boxes than this, the atoms are not worked out."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """`labels` has a row for each fact and a column for each atom: which cell of a cuboid it is in (cells are numbered
    in row-major order), or how often it counts in a count. `several`: whether an atom has more than one point."""

    facts: tuple[Fact, ...]
    labels: Ints
    several: NDArray[np.bool_]

    def without(self, dropped: set[int]) -> "Atoms":
        """The atoms of fewer facts: those that are alike now become one."""
        kept = [place for place in range(len(self.facts)) if place not in dropped]
        labels, atom_of = unique_columns(self.labels[kept])
        # Two atoms that become one have two points, whatever they had before.
        points = np.bincount(atom_of, weights=1 + self.several)
        return Atoms(tuple(self.facts[place] for place in kept), labels, points > 1)

    def matrix(self) -> tuple[Ints, Ints, list[int]]:
        """A·x = b over the atoms: A, b, and which fact each row is of."""
        rows, values, owners = [], [], []
        for place, fact in enumerate(self.facts):
            if isinstance(fact, CuboidFact):
                cells = np.unique(self.labels[place])
                rows.append((self.labels[place] == cells[:, None]).astype(np.int64))
                values.append(fact.values.reshape(-1)[cells])
            else:
                rows.append(self.labels[place][None, :])
                values.append(np.array([fact.value], np.int64))
            owners += [place] * len(values[-1])
        empty = np.zeros((0, self.labels.shape[1]), np.int64)
        return np.concatenate([empty, *rows]), np.concatenate([np.zeros(0, np.int64), *values]), owners


def atoms_of(facts: Sequence[Fact], domain: Domain) -> Atoms:
    """Cut the domain at every edge that a fact has, and put together what all facts see alike. Raises InvalidFact."""
    every = {axis: _starts(facts, domain, axis) for axis in range(len(domain.shape))}
    starts = {axis: start for axis, start in every.items() if len(start) > 1}  # hundreds of others need no place
    boxes = prod(map(len, starts.values()))
    if boxes > MOST_CELLS:
        raise InvalidFact(
            f"the facts cut the domain into {boxes:,} boxes, and at most {MOST_CELLS:,} are looked at; give "
            "coarser facts, or fewer"
        )
    seen = np.stack([_seen_by(fact, domain, starts).reshape(-1) for fact in facts])
    labels, atom_of = unique_columns(seen)
    points = np.full(1, 1.0 + any(size > 1 for axis, size in enumerate(domain.shape) if axis not in starts))
    for axis, start in starts.items():
        points = np.multiply.outer(points, np.diff([*start, domain.shape[axis]])).reshape(-1)
    return Atoms(tuple(facts), labels, np.bincount(atom_of, weights=points) > 1)


def _starts(facts: Sequence[Fact], domain: Domain, axis: int) -> list[int]:
    """Where the intervals of an axis start that no fact divides."""
    starts = {0}
    for fact in facts:
        if isinstance(fact, CuboidFact):
            if axis in fact.axes(domain):
                return list(range(domain.shape[axis]))
        else:
            boxes = [box for _, region in fact.terms for box in region.boxes]
            starts.update(edge for box in boxes for edge in (box.low[axis], box.high[axis] + 1))
    return sorted(starts - {domain.shape[axis]})


def _seen_by(fact: Fact, domain: Domain, starts: Mapping[int, Sequence[int]]) -> Ints:
    """A fact's label for every box of the cut domain."""
    shape = tuple(map(len, starts.values()))
    if isinstance(fact, CuboidFact):
        axes = fact.axes(domain)
        cells = np.arange(fact.values.size).reshape([len(starts[axis]) if axis in axes else 1 for axis in starts])
        return np.broadcast_to(cells, shape).astype(np.int64)
    seen = np.zeros(shape, np.int64)
    for times, region in fact.terms:
        for box in region.boxes:
            low = [np.searchsorted(start, box.low[axis]) for axis, start in starts.items()]
            high = [np.searchsorted(start, box.high[axis], "right") for axis, start in starts.items()]
            seen[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] += times
    return seen


def unique_columns(columns: Ints) -> tuple[Ints, Ints]:
    """The different columns, and which of them each one is."""
    if not len(columns):
        return np.zeros((0, 1), np.int64), np.zeros(columns.shape[1], np.int64)
    # One number for each column, fact by fact: sorting numbers is far quicker than sorting columns.
    which = np.zeros(columns.shape[1], np.int64)
    for row in columns:
        _, seen = np.unique(row, return_inverse=True)
        _, which = np.unique(which * (seen.max(initial=0) + 1) + seen, return_inverse=True)
    _, first = np.unique(which, return_index=True)
    return columns[:, first], which
