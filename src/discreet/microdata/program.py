"""The integer program whose solutions are bucket settings, and HiGHS, which solves it in floating point.

Variables: b(S), how many buckets of size S, and t(S, i), how many records of value i they hold. Minimise Σ b·(S − 1)²
where t(S, i) ≤ ⌊f'ᵢ·S⌋·b(S), the values fill the buckets, Σᵢ t(S, i) = S·b(S), and all records are held,
Σ_S t(S, i) = oᵢ [buckets, Definition 4; Lemma 2]. Only b need be integers: for fixed integers b, the t are a flow with
integer capacities, and where there is a flow there is one in integers.

What comes back is believed by nobody: `optimal.py` divides the records exactly. Every variable has its bounds, and
cells that can hold nothing are left out: without either, HiGHS's presolve (SciPy 1.17) called feasible programs
infeasible.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from discreet.microdata.demand import Integers

Numbers = NDArray[np.float64]

OUT_OF_TIME = 1


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver says: buckets by size and records by size and value, not always whole, or None where it found
    none; a loss that it holds none to be below; and whether it came to its end in time."""

    buckets: Numbers | None
    records: Numbers | None
    bound: float
    done: bool


@dataclass(frozen=True, eq=False)
class Program:
    """Records by value, sizes, and what each bucket may hold at most, by size and value."""

    counts: Integers
    sizes: Integers
    caps: Integers

    def relaxed(self) -> Solution:
        """With any number of buckets, whole or not: its loss is a bound for all settings."""
        return self._solve(integral=False, gap=0, seconds=np.inf, presolve=True)

    def whole(self, gap: float, seconds: float, presolve: bool = True) -> Solution:
        """With whole buckets, the loss within a relative gap of the least, or what was found in the time."""
        return self._solve(integral=True, gap=gap, seconds=seconds, presolve=presolve)

    def _solve(self, integral: bool, gap: float, seconds: float, presolve: bool) -> Solution:
        many, (size, value) = len(self.sizes), np.nonzero(np.minimum(self.caps, self.counts))
        cells, number = np.arange(len(size)), len(size)
        ones = np.ones(number)
        caps = sparse.csr_array((-self.caps[size, value].astype(np.float64), (cells, size)), shape=(number, many))
        filled = sparse.csr_array((ones, (size, cells)), shape=(many, number))
        held = sparse.csr_array((ones, (value, cells)), shape=(len(self.counts), number))
        none = sparse.csr_array((len(self.counts), many))
        result = milp(
            np.concatenate([(self.sizes - 1.0) ** 2, np.zeros(number)]),
            integrality=np.concatenate([np.full(many, int(integral)), np.zeros(number)]),
            bounds=Bounds(0, np.concatenate([self.counts.sum() // self.sizes, self.counts[value]])),
            constraints=[
                LinearConstraint(sparse.hstack([caps, sparse.eye_array(number)], format="csr"), -np.inf, 0),
                LinearConstraint(
                    sparse.hstack([sparse.diags_array(-self.sizes.astype(np.float64)), filled], format="csr"), 0, 0
                ),
                LinearConstraint(sparse.hstack([none, held], format="csr"), self.counts, self.counts),
            ],
            options={"time_limit": seconds, "mip_rel_gap": gap, "presolve": presolve},
        )
        bound = (result.mip_dual_bound if integral else result.fun) or 0.0
        done = result.status != OUT_OF_TIME
        if result.x is None:
            return Solution(None, None, bound, done)
        records = np.zeros(self.caps.shape)
        records[size, value] = result.x[many:]
        return Solution(result.x[:many], records, bound, done)
