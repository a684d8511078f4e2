"""Differencing and trackers: a count of one person is never asked for, it is the difference of large ones.

Everybody less everybody but one. Databases that withhold small counts are not safe from it: Denning, Denning and
Schwartz's *general tracker* T makes any small count C out of large ones,

    count(C) = count(C ∪ T) + count(C ∪ ¬T) − count(T) − count(¬T),

without knowing on which side of T the people of C are [The Tracker, ACM TODS 4(1), 1979]. A vault answers all of these,
with noise, and charges everyone who is counted.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet.attacks.guesses import Attempt, BitAttack, Chart, Guesses
from discreet.attacks.questions import Floats, Rehearsal, ask_blocks
from discreet.attacks.stage import Counts, Stage, coins
from discreet.attacks.stand_in import sharpest
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent
from discreet.vault.vault import Vault

TRIALS = 500
WIDTH = 8
CROWD = 5
"""At least so many people at every cell but the target's."""
WITHHELD = 5
"""Counts below this are not answered where small counts are withheld."""


DIFFERENCE, TRACKER = "everybody less all but one", "by a tracker"


@dataclass(frozen=True)
class SumOfCounts:
    """A person's count as a sum of large counts: a sign and the cells of a block for each."""

    name: str
    terms: tuple[tuple[int, list[int]], ...]

    @property
    def most(self) -> int:
        """How many of the counts have a cell in common, at most: so often somebody is charged."""
        return max(Counter(cell for _, cells in self.terms for cell in cells).values())

    def value(self, count: Callable[[list[int]], Floats]) -> Floats:
        return np.asarray(np.sum([sign * count(cells) for sign, cells in self.terms], axis=0))


def attack_by_differencing(
    vault: Vault,
    trials: int = TRIALS,
    confidence: float = 0.95,
    bits: Bits | None = None,
    progress: Progress = silent,
) -> BitAttack:
    """Guess bits from sums and differences of large counts. Reads no row of the vault's table, spends nothing."""
    rehearsal = Rehearsal.of(vault, WIDTH, 1, trials, confidence, bits, progress)
    plays = [_Play(formula, rehearsal) for formula in formulas(rehearsal.stage)]
    first, last = plays[0], plays[-1]
    nothing = np.zeros_like(first.truth)
    attempts = [
        Attempt("exact answers", first.guessed(first.exact), len(first.formula.terms)),
        Attempt("small ones withheld, asked directly", Guesses.of_bits(nothing, first.truth), 1),
        Attempt(f"small ones withheld, {last.formula.name}", last.guessed(last.exact), len(last.formula.terms)),
        *(
            Attempt(f"vault, {play.formula.name}", play.guessed(play.asked), len(play.formula.terms), True, play.kinds)
            for play in plays
        ),
    ]
    chart = Chart(
        f"What the vault says: {DIFFERENCE}", "difference of the counts, in people", "share of people at or below",
        {"of those whose bit is 0": first.spread(False), "of those whose bit is 1": first.spread(True)},
    )  # fmt: skip
    return rehearsal.found("differencing", tuple(attempts), chart)


class _Play:
    """One formula, asked about everybody: from a table that is not protected, and from the vault."""

    def __init__(self, formula: SumOfCounts, rehearsal: Rehearsal) -> None:
        stage, target = rehearsal.stage, targets(rehearsal.stage)
        scale, _ = sharpest(rehearsal.vault, formula.most)
        truths, exact, asked = [], [], []
        self.formula, self.kinds = formula, Counter[str]()
        for ones, copy in rehearsal.play(lambda: crowded(stage, rehearsal.bits)):
            truths.append(ones[:, :, target].sum(axis=2) > 0)
            exact.append(formula.value(partial(_counted, ones)))
            ask = partial(ask_blocks, copy, stage, scale=scale, kinds=self.kinds)
            asked.append(formula.value(ask) / rehearsal.rows_each)
        self.truth = np.concatenate(truths).ravel()
        self.exact, self.asked = np.concatenate(exact).ravel(), np.concatenate(asked).ravel()

    def guessed(self, differences: Floats) -> Guesses:
        return Guesses.of_bits(differences >= 0.5, self.truth)

    def spread(self, bit: bool) -> tuple[Floats, Floats]:
        """The differences of people with this bit in order, and which share of them is no larger."""
        told = np.sort(self.asked[(self.truth == bit) & ~np.isnan(self.asked)])
        values = np.unique(told)
        return values, np.searchsorted(told, values, side="right") / max(len(told), 1)


def targets(stage: Stage) -> list[int]:
    """The cells of a block at one of which its target is, and nobody else; the attacker does not know at which."""
    return [0, 1] if stage.width >= 4 else [0]


def formulas(stage: Stage) -> list[SumOfCounts]:
    """The difference; and the general tracker, where a block has room for one."""
    everybody, target = set(range(stage.width)), set(targets(stage))
    found = [SumOfCounts(DIFFERENCE, ((1, sorted(everybody)), (-1, sorted(everybody - target))))]
    if len(target) == 2:
        tracker = set(range(1, stage.width // 2 + 1))
        sides = tracker, everybody - tracker
        terms = [(1, sorted(target | side)) for side in sides] + [(-1, sorted(side)) for side in sides]
        found.append(SumOfCounts(TRACKER, tuple(terms)))
    return found


def crowded(stage: Stage, bits: Bits) -> tuple[Counts, Counts]:
    """A target in every block, at one of its cells, and a crowd everywhere else."""
    ones = CROWD + coins(stage.shape, bits).astype(np.int64)
    zeros = coins(stage.shape, bits).astype(np.int64)
    truth, second = coins((2, stage.runs, stage.groups), bits)
    for place, cell in enumerate(targets(stage)):
        here = second == (place == 1) if stage.width >= 4 else np.ones_like(second)
        ones[:, :, cell], zeros[:, :, cell] = truth & here, ~truth & here
    return ones, zeros


def _counted(ones: Counts, cells: list[int]) -> Floats:
    return withheld(ones[:, :, cells].sum(axis=2))


def withheld(counts: Counts) -> Floats:
    """Counts of a table whose small ones are not answered."""
    return np.where(counts < WITHHELD, np.nan, counts.astype(np.float64))
