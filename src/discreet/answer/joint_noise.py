"""The noise of many numbers at once: which draws they have in common, and what other noise could have been.

Every number is a weighted sum of atoms: single draws of noise in released measurements, each with its law. Numbers that
share a measured cell share its atom, so that a sum and its parts, or a share and its total, are drawn together. What
least squares makes of many releases is not followed back to its draws: such a number is drawn on its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.answer.answer import Desk
from discreet.answer.estimate import Estimate
from discreet.answer.past import PastAnswer
from discreet.domain.region import Region
from discreet.noise.law import Noise
from discreet.noise.simulate import simulated
from discreet.noise.spread import Mixture
from discreet.query.marginals import Source

Floats = NDArray[np.float64]
MOST_CELLS = 4096
"""A number that adds up more measured cells than this is drawn on its own, with no atom in common with others."""


@dataclass
class JointNoise:
    """Estimates as they are added, and the atoms that they are made of."""

    desk: Desk
    _atoms: dict[object, int] = field(default_factory=dict)
    _laws: list[Noise | Mixture] = field(default_factory=list)
    _entries: list[tuple[int, int, float]] = field(default_factory=list)
    _count: int = 0
    _axes: dict[Source, tuple[int, ...]] | None = None

    def add(self, estimate: Estimate) -> int:
        """The place of a number among those that are drawn."""
        place, self._count = self._count, self._count + 1
        self._entries += [(place, atom, weight) for atom, weight in self._parts(estimate, 1.0)]
        return place

    def drawn(self, draws: int, key: int) -> Floats:
        """Errors that the numbers could have had: a row for each number, a column for each draw."""
        found = np.zeros((self._count, draws))
        atoms = np.zeros((len(self._laws), draws))
        by_law: dict[Noise | Mixture, list[int]] = {}
        for atom, law in enumerate(self._laws):
            by_law.setdefault(law, []).append(atom)
        for number, (law, places) in enumerate(by_law.items()):
            atoms[places] = simulated(law, len(places), draws, key + number)
        if not self._entries:
            return found
        rows, chosen, weights = (np.array(column) for column in zip(*self._entries, strict=True))
        single = np.bincount(rows, minlength=self._count)[rows] == 1
        found[rows[single]] = atoms[chosen[single]] * weights[single, None]
        for row, atom, weight in zip(
            rows[~single].tolist(), chosen[~single].tolist(), weights[~single].tolist(), strict=True
        ):
            found[row] += weight * atoms[atom]
        return found

    def _parts(self, estimate: Estimate, times: float) -> Iterator[tuple[int, float]]:
        weight = times * float(estimate.grain)
        if estimate.parts:
            for factor, part in estimate.parts:
                yield from self._parts(part, weight * factor)
        elif estimate.is_one_draw:
            [source], [draw] = estimate.sources, estimate.draws
            yield self._atom(self._cell(source, estimate.answered), draw.law), weight * draw.weight
        elif estimate.terms and self._is_small(estimate):
            for share, answer in estimate.terms:
                law = self.desk.known.noise(answer.source)
                for cell in self._cells(answer):
                    yield self._atom(cell, law), weight * share
        else:
            for number, draw in enumerate(estimate.draws):
                for one in range(draw.count):
                    yield self._atom((id(estimate), number, one), draw.law), weight * draw.weight

    def _is_small(self, estimate: Estimate) -> bool:
        """Whether its cells are few, and each of its answers is a sum of whole cells, which residuals are not."""
        cells = 0.0
        for _, answer in estimate.terms:
            law = self.desk.known.noise(answer.source)
            count = answer.variance / law.variance
            if answer.source not in self.axes and abs(count - 1) > 1e-9:
                return False
            cells += count
        return cells <= MOST_CELLS

    @property
    def axes(self) -> dict[Source, tuple[int, ...]]:
        """The axes that released GROUP BYs are grouped by."""
        if self._axes is None:
            self._axes = {
                block.source: block.by for answers in self.desk.known.all() for block in answers.groups.blocks
            }
        return self._axes

    def _cells(self, answer: PastAnswer) -> Iterator[object]:
        by = self.axes.get(answer.source)
        if by is None:
            yield answer.source, answer.where
            return
        for box in answer.where.boxes:
            for codes in product(*(range(box.low[axis], box.high[axis] + 1) for axis in by)):
                yield answer.source, codes

    def _cell(self, source: Source, where: Region) -> object:
        by = self.axes.get(source)
        if by is None or not where.boxes:
            return source, where
        return source, tuple(where.boxes[0].low[axis] for axis in by)

    def _atom(self, cell: object, law: Noise | Mixture) -> int:
        found = self._atoms.setdefault(cell, len(self._laws))
        if found == len(self._laws):
            self._laws.append(law)
        return found
