"""The integer program whose solutions are bucket settings, and HiGHS, which solves it in floating point.

Variables: b(S), how many buckets of size S, and t(S, i), how many records of value i they hold. Minimise Σ b·(S − 1)²
where t(S, i) ≤ ⌊f'ᵢ·S⌋·b(S), the values fill the buckets, Σᵢ t(S, i) = S·b(S), and all records are held,
Σ_S t(S, i) = oᵢ [buckets, Definition 4; Lemma 2]. Only b need be integers: for fixed integers b, the t are a flow with
integer capacities, and where there is a flow there is one in integers.

What comes back is believed by nobody: records are divided exactly (`flow.py`), and bounds proved (`prices.py`). In the
program with whole numbers every variable has its bounds, and cells that can hold nothing are left out: without either,
HiGHS's presolve (SciPy 1.17) called feasible programs infeasible.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from discreet.microdata.demand import Demand, Integers
from discreet.microdata.quiet import ASIDE

Numbers = NDArray[np.float64]

OUT_OF_TIME = 1


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver says: buckets by size, not always whole, or None where it found none; a loss that it holds none
    to be below; and whether it came to its end in time."""

    buckets: Numbers | None
    bound: float
    done: bool


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Without whole numbers: buckets by size, records by size and value, and what one more record of a value costs."""

    buckets: Numbers
    records: Numbers
    prices: Numbers


@dataclass(frozen=True, eq=False)
class Program:
    """Records by value, sizes, and what each bucket may hold at most, by size and value."""

    counts: Integers
    sizes: Integers
    caps: Integers

    @classmethod
    def of(cls, demand: Demand, smallest: int, largest: int) -> "Program":
        counts = np.array(demand.counts, np.int64)
        return cls(counts, np.arange(smallest, largest + 1), demand.caps(largest)[smallest:])

    @cached_property
    def most(self) -> Integers:
        """What one bucket can hold at most of the records that there are, by size and value."""
        return np.minimum(self.caps, self.counts)

    def relaxed(self) -> LinearSolution | None:
        """The least loss with any number of buckets, whole or not; None where the solver finds nothing."""
        size, value = self._cells
        limits, filled, held = self._rows
        result = linprog(
            self._losses,
            A_ub=limits,
            b_ub=np.zeros(len(size)),
            A_eq=sparse.vstack([filled, held], format="csr"),
            b_eq=np.concatenate([np.zeros(len(self.sizes)), self.counts]),
            method="highs",
        )
        if result.status:
            return None
        records = np.zeros(self.caps.shape)
        records[size, value] = result.x[len(self.sizes) :]
        return LinearSolution(result.x[: len(self.sizes)], records, result.eqlin.marginals[len(self.sizes) :])

    def whole(self, gap: float, seconds: float, presolve: bool = True, nodes: int | None = None) -> Solution:
        """With whole buckets, the loss within a relative gap of the least, or what was found in the time and nodes."""
        size, value = self._cells
        limits, filled, held = self._rows
        most = np.concatenate([self.counts.sum() // self.sizes, self.counts[value]])
        options = {"time_limit": seconds, "mip_rel_gap": gap, "presolve": presolve}
        with ASIDE.output():
            result = milp(
                self._losses,
                integrality=np.concatenate([np.ones(len(self.sizes)), np.zeros(len(size))]),
                bounds=Bounds(0, most),
                constraints=[
                    LinearConstraint(limits, -np.inf, 0),
                    LinearConstraint(filled, 0, 0),
                    LinearConstraint(held, self.counts, self.counts),
                ],
                options=options if nodes is None else options | {"node_limit": nodes},
            )
        buckets = None if result.x is None else result.x[: len(self.sizes)]
        return Solution(buckets, result.mip_dual_bound or 0.0, result.status != OUT_OF_TIME)

    @cached_property
    def _cells(self) -> tuple[Integers, Integers]:
        """Sizes and values, side by side, where a bucket can hold something."""
        size, value = np.nonzero(self.most)
        return size, value

    @cached_property
    def _losses(self) -> Numbers:
        return np.concatenate([(self.sizes - 1.0) ** 2, np.zeros(len(self._cells[0]))])

    @cached_property
    def _rows(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """What is at most 0: records less room. What is 0: records less those that fill a size. All records held."""
        many, (size, value) = len(self.sizes), self._cells
        cells, number = np.arange(len(size)), len(size)
        ones = np.ones(number)
        room = sparse.csr_array((-self.caps[size, value].astype(np.float64), (cells, size)), shape=(number, many))
        filled = sparse.csr_array((ones, (size, cells)), shape=(many, number))
        held = sparse.csr_array((ones, (value, cells)), shape=(len(self.counts), number))
        none = sparse.csr_array((len(self.counts), many))
        return (
            sparse.hstack([room, sparse.eye_array(number)], format="csr"),
            sparse.hstack([sparse.diags_array(-self.sizes.astype(np.float64)), filled], format="csr"),
            sparse.hstack([none, held], format="csr"),
        )
