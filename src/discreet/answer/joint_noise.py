"""The noise of many numbers at once: which draws they have in common, and what other noise could have been.

Every number is a weighted sum of atoms: single draws of noise in released measurements, each with its law. Numbers that
share a measured cell share its atom, so that a sum and its parts, or a share and its total, are drawn together. What
least squares makes of many releases is not followed back to its draws, and is an atom by itself: such atoms of one
quantity are drawn with the covariance that their errors have.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate
from discreet.answer.grid import Grid, GridNumbers
from discreet.answer.labelled import LabelledBlock, LabelledGrid
from discreet.answer.past import CountBlock, PastAnswer
from discreet.domain.region import Region
from discreet.noise.law import Noise
from discreet.noise.simulate import simulated, simulated_together
from discreet.noise.spread import Mixture, Spread
from discreet.query.marginals import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_CELLS = 4096
"""A number that adds up more measured cells than this has no atom in common with others."""
MOST_TOGETHER = 512
"""Covariances of so many atoms are looked at, which takes the cube of that; more of them are drawn by themselves."""
SAME = 1e-6
"""Variances this close to each other, relatively, are of the same estimate."""


@dataclass
class JointNoise:
    """Estimates as they are added, and the atoms that they are made of."""

    desk: Desk
    _atoms: dict[object, int] = field(default_factory=dict)
    """The first atom of a released table of groups, or the atom of another number."""
    _firsts: list[int] = field(default_factory=list)
    """The first atoms, ascending, with the laws of all atoms up to the next one."""
    _laws: list[Noise | Mixture | Spread] = field(default_factory=list)
    _size: int = 0
    _made: dict[int, Estimate] = field(default_factory=dict)
    """What least squares made, by its atom."""
    _entries: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    """Numbers, atoms and weights."""
    _count: int = 0

    def add(self, estimate: Estimate) -> int:
        """The place of a number among those that are drawn."""
        place, self._count = self._count, self._count + 1
        self._enter(place, estimate)
        return place

    def _enter(self, place: int, estimate: Estimate) -> None:
        parts = [*self._parts(estimate, 1.0)]
        atoms, weights = np.array([atom for atom, _ in parts], np.int64), np.array([weight for _, weight in parts])
        self._entries.append((np.full(len(parts), place), atoms, weights))

    def add_grid(self, numbers: GridNumbers) -> Ints:
        """The places of many numbers of one release."""
        places = np.arange(self._count, self._count + len(numbers))
        self._count += len(numbers)
        for part in numbers.parts or (numbers,):
            if part.one.is_one_draw:
                self._add_atoms(part, places)
            elif len(part) <= MOST_TOGETHER:
                for place, estimate in zip(places.tolist(), part.values(), strict=True):
                    self._enter(place, estimate)
            else:
                self._add_made(part, places)
        return places

    def _add_made(self, numbers: GridNumbers, places: Ints) -> None:
        """Add numbers that least squares made, too many to be drawn together: an atom each."""
        one, grid = numbers.one, numbers.grid
        assert isinstance(grid, Grid), "of groups of expressions only what was measured is in arrays"
        axes = tuple(sorted(grid.axes))
        codes = tuple(grid.codes[:, grid.axes.index(axis)] - grid.box.low[axis] for axis in axes)
        sizes = tuple(grid.box.high[axis] - grid.box.low[axis] + 1 for axis in axes)
        first = self._atom((one.sources, grid.box, axes, one.draws), one.draws, len(numbers))
        atoms = first + np.ravel_multi_index(codes, sizes)
        self._entries.append((places, atoms, np.full(len(places), float(one.grain))))

    def _add_atoms(self, numbers: GridNumbers, places: Ints) -> None:
        """Add numbers of one release to those at some places."""
        [source], [draw], grid = numbers.one.sources, numbers.one.draws, numbers.grid
        if isinstance(grid, LabelledGrid):
            labelled = self.labelled[source]
            atoms = self._first(labelled, draw.law) + labelled.in_values(grid)
        else:
            block = self._block(source, Region((grid.box,)))
            if block is None or not set(block.by) <= set(grid.axes):  # of groups otherwise made: each by its own region
                for place, estimate in zip(places.tolist(), numbers.values(), strict=True):
                    self._enter(place, estimate)
                return
            codes = tuple(grid.codes[:, grid.axes.index(axis)] - block.where.low[axis] for axis in block.by)
            atoms = self._first(block, draw.law) + np.ravel_multi_index(codes, block.values.shape)
        self._entries.append((places, atoms, np.full(len(places), float(numbers.one.grain) * draw.weight)))

    def drawn(self, draws: int, key: int) -> Floats:
        """Errors that the numbers could have had: a row for each number, a column for each draw."""
        found = np.zeros((self._count, draws))
        if not self._entries:
            return found
        rows, chosen, weights = (np.concatenate(column) for column in zip(*self._entries, strict=True))
        used, at = np.unique(chosen, return_inverse=True)
        atoms = self._drawn_atoms(used, draws, key)
        single = np.bincount(rows, minlength=self._count)[rows] == 1
        found[rows[single]] = atoms[at[single]] * weights[single, None]
        if not single.all():
            from scipy import sparse  # takes long to import, and few statements add up so much

            several = (weights[~single], (rows[~single], at[~single]))
            found += sparse.csr_array(several, shape=(self._count, len(used))) @ atoms
        return found

    def _drawn_atoms(self, used: Ints, draws: int, key: int) -> Floats:
        atoms = np.zeros((len(used), draws))
        table = np.searchsorted(self._firsts, used, side="right") - 1
        by_law: dict[Noise | Mixture | Spread, list[int]] = {}
        for number in np.unique(table).tolist():
            by_law.setdefault(self._laws[number], []).append(number)
        for number, (law, tables) in enumerate(by_law.items()):
            places = np.flatnonzero(np.isin(table, tables))
            atoms[places] = simulated(law, len(places), draws, key + number)
        for number, (own, covariance) in enumerate(self._covariances()):
            spreads = [self._made[atom].draws for atom in own]
            atoms[np.searchsorted(used, own)] = simulated_together(covariance, spreads, draws, key + 2**32 + number)
        return atoms

    def _covariances(self) -> Iterator[tuple[list[int], Floats]]:
        """Atoms that least squares made of one quantity, and the covariances of their errors, in grains."""
        left = sorted(self._made)
        for answers in self.desk.known.all() if len(left) > 1 else ():
            sources = answers.joint.sources
            own = [atom for atom in left if self._made[atom].sources <= sources]
            left = [atom for atom in left if atom not in {*own}]
            if not 1 < len(own) <= MOST_TOGETHER:
                continue
            regions = [self._made[atom].answered for atom in own]
            covariance = answers.joint.covariance([tuple((1, box) for box in region.boxes) for region in regions])
            variances = [self._made[atom].variance / float(self._made[atom].grain) ** 2 for atom in own]
            # What is the best for another reason than least squares (`best.py`) is drawn by itself.
            same = np.isclose(np.diagonal(covariance), variances, rtol=SAME, atol=0.0)
            if same.sum() > 1:
                yield [atom for atom, is_same in zip(own, same, strict=True) if is_same], covariance[np.ix_(same, same)]

    def _parts(self, estimate: Estimate, times: float) -> Iterator[tuple[int, float]]:
        weight = times * float(estimate.grain)
        if estimate.parts:
            for factor, part in estimate.parts:
                yield from self._parts(part, weight * factor)
        elif estimate.is_one_draw:
            [source], [draw] = estimate.sources, estimate.draws
            yield self._cell(source, estimate.answered, draw.law), weight * draw.weight
        elif estimate.terms and self._is_small(estimate):
            for share, answer in estimate.terms:
                for atom in self._cells(answer):
                    yield atom, weight * share
        elif estimate.draws:
            atom = self._atom((estimate.sources, estimate.answered, estimate.draws), estimate.draws)
            self._made[atom] = estimate
            yield atom, weight

    def _is_small(self, estimate: Estimate) -> bool:
        """Whether its cells are few, and each of its answers is a sum of whole cells, which residuals are not."""
        cells = 0.0
        for _, answer in estimate.terms:
            law = self.desk.known.noise(answer.source)
            count = answer.variance / law.variance
            if answer.source not in self.blocks and abs(count - 1) > 1e-9:
                return False
            cells += count
        return cells <= MOST_CELLS

    @cached_property
    def blocks(self) -> dict[Source, list[CountBlock]]:
        """Released tables of groups."""
        found: dict[Source, list[CountBlock]] = {}
        for answers in self.desk.known.all():
            for block in answers.groups.blocks:
                found.setdefault(block.source, []).append(block)
        return found

    @cached_property
    def labelled(self) -> dict[Source, LabelledBlock]:
        """The same by expressions."""
        return {block.source: block for answers in self.desk.known.all() for block in answers.labelled}

    def _block(self, source: Source, where: Region) -> CountBlock | None:
        """The table of groups that a region is in."""
        if len(where.boxes) != 1:
            return None
        return next((block for block in self.blocks.get(source, ()) if block.aligned(where.boxes[0])), None)

    def _cells(self, answer: PastAnswer) -> Iterator[int]:
        law = self.desk.known.noise(answer.source)
        for box in answer.where.boxes:
            block = self._block(answer.source, Region((box,)))
            if block is None:
                yield self._cell(answer.source, answer.where, law)
                return
            first = self._first(block, law)
            ranges = [
                range(box.low[axis] - block.where.low[axis], box.high[axis] - block.where.low[axis] + 1)
                for axis in block.by
            ]
            for codes in product(*ranges):
                yield first + int(np.ravel_multi_index(codes, block.values.shape))

    def _cell(self, source: Source, where: Region, law: Noise | Mixture) -> int:
        labelled = self.labelled.get(source)
        if labelled is not None and where in labelled.place_of:
            return self._first(labelled, law) + labelled.place_of[where]
        block = self._block(source, where)
        if block is None:
            return self._atom((source, where), law)
        low = where.boxes[0].low
        codes = tuple(low[axis] - block.where.low[axis] for axis in block.by)
        return self._first(block, law) + int(np.ravel_multi_index(codes, block.values.shape))

    def _first(self, block: CountBlock | LabelledBlock, law: Noise | Mixture) -> int:
        """The first atom of a table of groups."""
        box = block.where if isinstance(block, CountBlock) else block.grid.box
        return self._atom((block.source, box), law, block.values.size)

    def _atom(self, name: object, law: Noise | Mixture | Spread, count: int = 1) -> int:
        found = self._atoms.setdefault(name, self._size)
        if found == self._size:
            self._firsts.append(found)
            self._laws.append(law)
            self._size += count
        return found
