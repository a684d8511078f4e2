"""Section 3.4.3's open problem: how to share a budget among cuboids that are asked for one by one.

A budget of squares (ρ or μ²) is meant, where a share b of it buys a variance of 1/b for each cell of a source, in units
of what the whole buys; sources that compute the same cuboid add up their precisions b/mag. With V_t the least largest
variance that anybody could have given to the first t questions, knowing them (a linear program), `Shares` answers
question t with a variance of at most r·V_t, whatever comes, and never spends more than its budget, for

    r = 2e·(1 + ln q)·(ln m + ln Y),    Y = 1 + that,

if there are q different questions at most, n sources to choose from, and m ≥ n and ≥ q·Σ 1/mag(C, C') over the sources
C' of a cuboid C. That is O(log² |L|) for the variance; the thesis says O(log⁵ |L|), without an algorithm.

*Proof.* Let y ≥ 0 have a number for each source, 1/m at first; r·b = y − 1/m is bought. A question C whose precision
a·(y − 1/m) is below 1/V_t, with a_i = 1/mag(C, C_i), makes y grow by dy_i = a_i·y_i·dτ, until it is not. Look at the
questions t with V ≤ V_t < e·V, for a V of 1, e, e², …, and the best shares x for all questions up to the last of them:
Σx = 1, a·x ≥ 1/(e·V). Then D = Σ x_i·ln(x_i/y_i) falls by a·x·dτ ≥ dτ/(e·V), and Σy grows by a·y·dτ ≤
(1/V_t + Σ a_i/m)·dτ ≤ (2/V)·dτ, as V_t ≤ q: so much equal shares give. D starts at ln m or below, as y ≥ 1/m and
Σ x·ln x ≤ 0, and ends at −ln Y or above, Y being Σy in the end, as ln is concave. So Σy grows by 2e·(ln m + ln Y) at
most for each such V, of which there are at most 1 + ln q. In all by r, of which 1/r is bought. ∎ The growth is the one
of online covering programs [Buchbinder, Naor 2009].

It is about the sources' precisions added up; least squares is never worse. For pure ε it says nothing: there a share
that is bought in parts is worth less than one bought at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from experiments.cubes.plot import write_rows

DIMENSIONS, MOST, QUESTIONS, STEPS = 12, 8, 200, 60
Numbers = NDArray[np.float64]


@dataclass
class Shares:
    """What is bought of each source so far, in units of the budget, for cuboids of yes/no dimensions."""

    sources: NDArray[np.int64]
    ratio: float
    start: float
    bought: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.bought = np.zeros(len(self.sources))

    def ask(self, mask: int, best: float) -> None:
        """Make the cuboid's variance at most `ratio` times `best`."""
        rates, wanted = self.rates(mask), 1 / best
        grown = self.ratio * self.bought
        if rates @ grown >= wanted:
            return
        low, high = 0.0, 1.0
        while rates @ self.after(grown, rates, high) < wanted:
            high *= 2
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if rates @ self.after(grown, rates, middle) < wanted else (low, middle)
        self.bought = self.after(grown, rates, high) / self.ratio

    def after(self, grown: Numbers, rates: Numbers, time: float) -> Numbers:
        return grown + (grown + self.start) * np.expm1(rates * time)

    def rates(self, mask: int) -> Numbers:
        """1/mag for each source that can compute the cuboid, and 0."""
        return np.where(self.sources & mask == mask, 0.5 ** np.bitwise_count(self.sources & ~mask), 0.0)

    @property
    def spent(self) -> float:
        return float(self.bought.sum())


class Own(Shares):
    """The same promise kept by measuring what is asked for, and nothing else."""

    def ask(self, mask: int, best: float) -> None:
        missing = 1 / best - self.ratio * float(self.rates(mask) @ self.bought)
        if missing > 0:
            self.bought[self.place_of[mask]] += missing / self.ratio

    @cached_property
    def place_of(self) -> dict[int, int]:
        return {mask: place for place, mask in enumerate(self.sources.tolist())}


def safe_ratio(questions: int, start: float) -> float:
    """The r of the proof, where y starts at `start`."""
    ratio = 1.0
    for _ in range(STEPS):
        ratio = 2 * math.e * (1 + math.log(questions)) * (math.log(1 / start) + math.log(1 + ratio))
    return ratio


def least_start(sources: Shares, questions: Sequence[int]) -> float:
    return 1 / max(len(sources.sources), *(len(set(questions)) * float(sources.rates(q).sum()) for q in questions))


def best_variances(questions: Sequence[int]) -> list[float]:
    """V_t for each t: by a linear program over the unions of what was asked, which are enough."""
    found: list[float] = []
    unions: set[int] = set()
    asked: list[int] = []
    for mask in questions:
        if mask not in asked:
            asked.append(mask)
            unions |= {mask} | {u for old in unions if (u := old | mask).bit_count() <= MOST}
        found.append(_best_variance(asked, unions) if len(asked) > (len(set(questions[: len(found)]))) else found[-1])
    return found


def _best_variance(asked: Sequence[int], unions: set[int]) -> float:
    """Largest z with Σ b/mag ≥ z for each cuboid that was asked for, and Σ b = 1; 1/z."""
    places = np.array(sorted(unions))
    table = [np.where(places & q == q, 0.5 ** np.bitwise_count(places & ~q), 0.0) for q in asked]
    rows = csr_matrix(np.column_stack([-np.array(table), np.ones(len(asked))]))
    total = np.append(np.ones(len(places)), 0.0)[None]
    goal = np.append(np.zeros(len(places)), -1.0)
    solved = linprog(goal, A_ub=rows, b_ub=np.zeros(len(asked)), A_eq=csr_matrix(total), b_eq=[1.0], method="highs")
    return float(-1 / solved.fun)


def least_ratio(
    kind: type[Shares], sources: NDArray[np.int64], start: float, asked: Sequence[tuple[int, float]]
) -> float:
    """The least r for which the budget is enough for these questions."""
    low, high = 1.0, 1024.0
    while high / low > 1.002:
        shares = kind(sources, math.sqrt(low * high), start)
        for mask, best in asked:
            shares.ask(mask, best)
        low, high = (low, shares.ratio) if shares.spent <= 1 else (shares.ratio, high)
    return high


def fixed_variance(questions: Sequence[int]) -> float:
    """The least variance v such that measuring with it whatever released cuboids do not tell within v is paid for: what
    `ask` does for somebody who knows all the questions, and so the right v."""
    measured: list[int] = []
    low, high = 1.0, float(len(questions))
    while high / low > 1.002:
        v, measured = math.sqrt(low * high), []
        for mask in questions:
            if sum(0.5 ** (m & ~mask).bit_count() for m in measured if m & mask == mask) < 1:
                measured.append(mask)
        low, high = (low, v) if len(measured) <= v else (v, high)
    return high


def workloads() -> dict[str, list[int]]:
    """Popular items more often; all pairs; every set of some items, from coarse to fine and from fine to coarse."""
    rng = np.random.default_rng(20)
    weights = 1 / np.arange(1, DIMENSIONS + 1)
    counts = rng.choice([1, 2, 3, 4], QUESTIONS, p=[0.3, 0.4, 0.2, 0.1])
    popular = [
        sum(1 << int(k) for k in rng.choice(DIMENSIONS, count, replace=False, p=weights / weights.sum()))
        for count in counts
    ]
    pairs = [1 << i | 1 << j for i, j in combinations(range(DIMENSIONS), 2)]
    within = sorted(range(1, 1 << MOST), key=int.bit_count)
    return {
        "200 of one to four items, popular ones more often": popular,
        "all 66 pairs": pairs,
        "all 255 sets of eight items, coarse ones first": within,
        "all 255 sets of eight items, fine ones first": within[::-1],
    }


def candidates(dimensions: int = DIMENSIONS, most: int = MOST) -> NDArray[np.int64]:
    """All cuboids of at most so many dimensions."""
    return np.array([mask for mask in range(1 << dimensions) if mask.bit_count() <= most])


def draw() -> None:
    sources = candidates()
    rows = []
    for name, questions in workloads().items():
        best = best_variances(questions)
        asked = list(zip(questions, best, strict=True))
        start = least_start(Shares(sources, 1.0, 1.0), questions)
        ratios = [least_ratio(kind, sources, start, asked) for kind in (Own, Shares)]
        ratios = [fixed_variance(questions) / best[-1], *ratios, safe_ratio(len(set(questions)), start)]
        rows.append((name, len(set(questions)), f"{best[-1]:.1f}", *(f"{ratio:.1f}" for ratio in ratios)))
    header = ("questions", "cuboids", "best", "one variance known beforehand", "own", "shared", "proved")
    write_rows("online_shares", header, rows)
