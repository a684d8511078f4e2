"""A public half run over numbers that could have been true: the intervals of what is more than a sum of a line's own
numbers. `halves.py` says why they hold."""

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.each_draw import SharedTree, prepared_for_draws
from discreet.answer.halves import DRAW, DRAWS, Evaluated, PublicHalf, columns_read
from discreet.answer.joint_noise import JointNoise
from discreet.answer.matching import has_lines_apart, same_lines
from discreet.answer.noisy_column import NoisyColumn
from discreet.errors import UnsupportedQuery
from discreet.sql import sandbox
from discreet.sql.sandbox import prepare, run_prepared
from discreet.sql.split import LINE

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_DRAWS = 999
MOST_IN_TURN = 99
"""Draws where each is a query of its own, which takes some milliseconds."""
DRAWN_NUMBERS = 100_000
"""So many numbers are drawn, or as many as the least number of draws needs: of 39 draws the least and the greatest part
those that 95% of all lie between, on the average."""
SURE = Fraction(19, 20)
"""Quantiles are taken at this confidence at most, and the noise stretched to a higher one."""
ABSENT = math.inf
"""Stands in a table of draws for a line that a draw does not have: no number that a query makes is infinite."""
APART = 40
"""Between the keys of two tables' draws, in bits: the laws of one have keys beside one another."""
SMALL = 0.02
"""A little noise: this part of what it is."""


class DrawnIntervals:
    """The query run over numbers that could have been true."""

    def __init__(self, half: PublicHalf, found: Evaluated) -> None:
        self.half, self.found = half, found
        lines = sum(answer.count for answer in self.half.answers)
        self.level = min(self.half.confidence, SURE)
        least = math.ceil(2 / (1 - float(self.level))) - 1
        most = MOST_IN_TURN if self._is_in_turn else MOST_DRAWS
        self.draws = max(min(DRAWN_NUMBERS // max(lines, 1), most), least)
        noise: dict[str, JointNoise] = {}  # numbers of different tables share no draw
        self.noisy = []
        for answer in self.half.answers:
            own = noise.setdefault(answer.block.table, JointNoise(self.half.desk_of(answer.block)))
            self.noisy.append([NoisyColumn.of(answer, place, own) for place in range(len(answer.numbers))])
        keys = {table: self._key() + (place << APART) for place, table in enumerate(noise)}
        self.errors = {table: own.drawn(self.draws, keys[table]) for table, own in noise.items()}

    def _key(self) -> int:
        digest = hashlib.blake2b(self.half.statement.text.encode(), digest_size=8)
        for answer in self.half.answers:
            for values in answer.values:
                digest.update(values.tobytes())
        return int.from_bytes(digest.digest(), "big")

    def ends(self) -> dict[str, tuple[Floats, Floats]]:
        half = self.half
        if not half.lineage.is_chosen:
            return self._quantiles(self._matched(self._run(half.tree, self._stretch(half.confidence))))
        stretch = self._stretch(self.half.confidence_of_each)
        if half.is_direct and not half.lineage.deep:
            return self._quantiles(self._matched(self._run(half.unchosen, stretch)))
        return self._hull(stretch)

    def _stretch(self, confidence: Fraction) -> float:
        """How much further noise reaches with another confidence than with that of the quantiles: a few draws tell
        nothing of what happens once in a million."""
        noise = self.half.desk.ledger.budget.noise_of_scale(Fraction(1000))
        return float(noise.halfwidth(confidence) / noise.halfwidth(self.level))

    def _hull(self, stretch: float) -> dict[str, tuple[Floats, Floats]]:
        """A draw in which a line was not chosen says nothing of it."""
        half = self.half
        tree = half.tree
        whole = self._matched(self._run(tree, self._stretch(half.confidence)), ABSENT)
        drawn = self._quantiles(whole)
        little = self._matched(self._run(tree, SMALL), ABSENT)
        confidence = self.half.confidence_of_each
        corners = self._matched(
            self._run_over(tree, [[one.corners(confidence) for one in own] for own in self.noisy], 2), np.nan
        )
        found = {}
        for name in self.found.numbers:
            value = self.found.floats(name)
            moved, leapt = (
                np.where(one[name] == ABSENT, ABSENT, np.abs(one[name] - value[:, None])) for one in (little, whole)
            )
            # A number that leaps (a count of groups) moves by all or nothing with a little noise: with all of it, less.
            width = stretch * np.fmin(
                _quantile(moved, float(self.level), 0.0) / SMALL, _quantile(leapt, float(self.level), 0.0)
            )
            low, high = drawn[name]
            every = np.column_stack([low, value - width, corners[name], value])
            above = np.column_stack([high, value + width, corners[name], value])
            found[name] = np.nanmin(every, axis=1), np.nanmax(above, axis=1)
        return found

    def _run(self, tree: exp.Query, times: float) -> tuple["pa.Table", int]:
        """Run a query for every draw, each error times a number."""
        drawn = [[one.drawn(self.errors[one.table], times) for one in own] for own in self.noisy]
        if self._is_of_single_numbers:
            pairs = [zip(own, draws, strict=True) for own, draws in zip(self.noisy, drawn, strict=True)]
            drawn = [[one.within(self.half, draws) for one, draws in own] for own in pairs]
        return self._run_over(tree, drawn, self.draws)

    @cached_property
    def _is_of_single_numbers(self) -> bool:
        """Whether every output is made of one noisy number of its line. Draws are cut for those alone: of several, each
        at the end of its domain, all cut draws would miss to one side, and that adds up."""
        half = self.half
        if not half.is_direct or any(half.statement.public.find_all(exp.Window, exp.Subquery)):
            return False
        noisy = {column.name for answer in half.answers for column in answer.numbers}
        outputs = half.statement.public.selects
        return all(len(noisy & {column.name for column in one.find_all(exp.Column)}) <= 1 for one in outputs)

    @cached_property
    def _is_in_turn(self) -> bool:
        """Whether every draw is a query of its own: where no label tells some lines of the result apart."""
        return not self.half.is_direct and not has_lines_apart(self.found.table, self.found.labels)

    def _run_over(self, tree: exp.Query, numbers: Sequence[Sequence[Floats]], draws: int) -> tuple["pa.Table", int]:
        """Run a query for several sets of numbers."""
        import pyarrow as pa

        names = tuple(answer.block.name for answer in self.half.answers)
        if self._is_in_turn:
            return self._run_in_turn(tree, numbers, draws), draws
        kept = (*self.found.numbers, LINE) if self.half.is_direct else None
        query, read = prepared_for_draws(SharedTree(tree), names, tuple(self.half.lookups), kept)
        tables = {DRAWS: pa.table({DRAW: np.arange(draws, dtype=np.int16)}), **self.half.lookups}
        for answer, own in zip(self.half.answers, numbers, strict=True):
            tables[answer.block.name] = self.half.table(answer, own, read, draws)
        return run_prepared(query, tables), draws

    def _run_in_turn(self, tree: exp.Query, numbers: Sequence[Sequence[Floats]], draws: int) -> "pa.Table":
        """The same, one query a draw: run for all at once, a draw's lines come in any order, and lines that no label
        tells apart are known by theirs. Each alone is the query that made the result, over tables of the same form.
        All together have the time of one."""
        import pyarrow as pa

        names = tuple(answer.block.name for answer in self.half.answers)
        query, read = prepare(tree, (*names, *self.half.lookups)), columns_read(tree)
        seconds = sandbox.SECONDS
        ran, until = [], time.monotonic() + seconds
        for draw in range(draws):
            alone = [[one[draw] for one in own] for own in numbers]
            blocks = zip(self.half.answers, alone, strict=True)
            tables = {answer.block.name: self.half.table(answer, own, read) for answer, own in blocks}
            found = run_prepared(query, tables | self.half.lookups)
            if time.monotonic() > until:
                raise UnsupportedQuery(f"the statement takes longer than {seconds:g} seconds; ask for less at once")
            ran.append(found.append_column(DRAW, pa.array(np.full(found.num_rows, draw, np.int16))))
        return pa.concat_tables(ran)

    def _matched(self, ran: tuple["pa.Table", int], absent: float = np.nan) -> dict[str, Floats]:
        """Line by draw, for the lines of the result: nan where a draw has NULL in it, `absent` where it has no such
        line."""
        table, draws = ran
        draw = np.asarray(table.column(DRAW).to_numpy(), np.int64)
        index = self._lines(table, draw)
        keep = slice(None) if (index >= 0).all() else index >= 0
        places = (index * draws + draw)[keep]
        found = {}
        for name in self.found.numbers:
            column = np.asarray(table.column(name).cast("float64").to_numpy(zero_copy_only=False), float)
            column = np.where(np.isfinite(column), column, np.nan)
            matrix = np.full(self.found.count * draws, absent)
            matrix[places] = column[keep]
            found[name] = matrix.reshape(self.found.count, draws)
        return found

    def _lines(self, table: "pa.Table", draw: Ints) -> Ints:
        """For each line of a table of draws, which line of the result it is; −1 for none."""
        if not self.half.is_direct:
            return same_lines(self.found.table, table, self.found.labels, draw)
        place_of = np.full(self.half.candidates, -1, np.int64)
        place_of[self.found.lines] = np.arange(self.found.count)
        return np.asarray(place_of[table.column(LINE).to_numpy()])

    def _quantiles(self, drawn: Mapping[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
        """What is not a number in some draws may be anything there."""
        allowed = 1 - float(self.level)
        found = {}
        for name, matrix in drawn.items():
            found[name] = _quantile(matrix, allowed / 2, -math.inf), _quantile(matrix, 1 - allowed / 2, math.inf)
        return found


def _quantile(matrix: Floats, level: float, unknown: float) -> Floats:
    """Of each line; expected, of so many draws, to leave the level's share on its side. Of a line that is absent from
    some draws, of the others; nan of one that is in none."""
    is_absent = matrix == ABSENT
    if is_absent.any():
        found = np.full(len(matrix), np.nan)
        for line, there in enumerate(~is_absent):
            if there.any():
                [found[line]] = _quantile(matrix[line, there][None, :], level, unknown)
        return found
    draws = matrix.shape[1]
    filled = np.where(np.isnan(matrix), unknown, matrix)
    at = min(max((draws + 1) * level - 1, 0.0), draws - 1.0)
    below, above = math.floor(at), math.ceil(at)
    parted = np.partition(filled, [below, above], axis=1)
    first, second = parted[:, below], parted[:, above]
    with np.errstate(invalid="ignore"):
        return np.where(first == second, first, first + (at - below) * (second - first))
