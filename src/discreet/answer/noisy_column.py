"""A column of a block, drawn again and again as it could have been, or at the ends of its numbers' intervals."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import Estimate, Ratio
from discreet.answer.halves import BlockAnswer, PublicHalf
from discreet.answer.joint_noise import JointNoise
from discreet.answer.reply import Row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NoisyColumn:
    """A column of a block, and where its errors are among those that are drawn: that of each number itself, or those of
    an average's sum and count; −1 for none."""

    answer: BlockAnswer
    place: int
    numbers: Floats
    """As they came out, not cut to what the domain allows."""
    first: Ints
    second: Ints
    totals: Floats
    counts: Floats

    @property
    def table(self) -> str:
        return self.answer.block.table

    @classmethod
    def of(cls, answer: BlockAnswer, place: int, noise: JointNoise) -> "NoisyColumn":
        columns, numbers = answer.columns, answer.values[place]
        none, nan = np.full(answer.count, -1), np.full(answer.count, np.nan)
        if columns is not None:
            added = [noise.add_grid(part) for part in columns[place].alike]
            if not columns[place].is_average:
                return cls(answer, place, numbers, added[0], none, nan, nan)
            totals, counts = (part.numbers for part in columns[place].parts)
            return cls(answer, place, numbers, added[0], added[1], totals, counts)
        found = cls(answer, place, numbers.copy(), none, none.copy(), nan, nan.copy())
        for line, (_, rows) in enumerate(answer.lines):
            match rows[place].source:
                case Estimate() as estimate:
                    found.first[line], found.numbers[line] = noise.add(estimate), estimate.value
                case Ratio(total=total, count=count):
                    found.first[line], found.second[line] = noise.add(total), noise.add(count)
                    found.totals[line], found.counts[line] = total.value, count.value
        return found

    def within(self, half: PublicHalf, draws: Floats) -> Floats:
        """Draws cut to what the domain has the numbers, whatever their noise says."""
        own = half.range_of_number(self.answer, self.answer.numbers[self.place])
        if self.answer.columns is not None:
            return np.clip(draws, own.low, own.high)
        known = [rows[self.place].bounds or (own.low, own.high) for _, rows in self.answer.lines]
        least, most = np.array(known, np.float64).reshape(-1, 2).T
        return np.clip(draws, least, most)

    def drawn(self, errors: Floats, times: float) -> Floats:
        """What the column could have been, with each error times a number: draw by line."""
        draws = errors.shape[1]
        plain, ratio = (self.first >= 0) & (self.second < 0), self.second >= 0
        if plain.all():
            return np.asarray(self.numbers - times * errors[self.first].T)
        found = np.tile(self.numbers, (draws, 1))
        found[:, plain] -= times * errors[self.first[plain]].T
        if ratio.any():
            total = self.totals[ratio] - times * errors[self.first[ratio]].T
            count = self.counts[ratio] - times * errors[self.second[ratio]].T
            with np.errstate(divide="ignore", invalid="ignore"):
                found[:, ratio] = np.where(count > 0, total / count, np.nan)
        for line in np.flatnonzero(self.first < 0).tolist():
            row = self.answer.lines[line][1][self.place]
            if row.low is not None and row.high is not None:
                # A quantile: which values it may have is known, and not how likely they are.
                found[:, line] = np.where(np.arange(draws) % 2, row.low, row.high)
        return found

    def corners(self, confidence: Fraction) -> Floats:
        """The column at the lower ends of intervals with this confidence, and at the upper ones."""
        columns = self.answer.columns
        if columns is not None and not columns[self.place].is_average:
            width = columns[self.place].alike[0].one.halfwidth(confidence)
            values = self.answer.values[self.place]
            return np.array([values - width, values + width])
        both = [_at_ends(rows[self.place], confidence) for _, rows in self.answer.lines]
        return np.array(both, np.float64).reshape(-1, 2).T


def _at_ends(row: Row, confidence: Fraction) -> tuple[float, float]:
    if row.value is None:
        return math.nan, math.nan
    if isinstance(row.source, Estimate):
        width = row.source.halfwidth(confidence)
        least, most = row.bounds or (-math.inf, math.inf)
        return max(row.value - width, least), min(row.value + width, most)
    return row.value if row.low is None else row.low, row.value if row.high is None else row.high
