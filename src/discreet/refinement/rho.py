"""ρ on refinement: how far apart the refined numbers of neighbouring tables can be told, where an analyst refines with
constants that differ between them. Why this is no breach of post-processing: docs/explain/facts.md.

With Laplace noise of scale σ in each response, and outputs A·x + D·c + h: for a set Ω of outputs, d = A_Ω·(μ − μ′) +
D_Ω·(c − c′) is how far they move from one table to the other, and the density ratio of what is published of Ω is at
most exp(ρ_Ω) with ρ_Ω = min{‖t‖₁ : A_Ω·t = d}/σ: shifting the noise by t turns one table's outputs into the other's.
The ratio comes as near as one likes, for outputs far out along d. [refinement, Theorem 2: as printed, its A* depends on
the signs of an SVD, and the sign of its difference is wrong.]

Where no t does it the two tables' outputs never coincide: whoever knows the constants tells the tables apart with
certainty, by the constants themselves and not by what was published. Definition 5 does not count such Ω, nor is it
counted here; `told_apart` says that there are any.

Which Ω to look at. If Ω ⊂ Ω′ both count, ρ_Ω ≤ ρ_Ω′, since t for Ω′ does for Ω. So only the largest sets that count
matter. Ω counts exactly where (0, 1) is not in the span of the rows (A_i, d_i), i ∈ Ω; the largest such sets are the
hyperplanes of that row matroid without (0, 1), and each is determined by a basis of A's rows: t is known up to A's
kernel by d on the basis, and the outputs that this t gets right are the set. So it is enough to go through the bases;
if d is in A's range, one does.

It covers linear refinements. Nearest points under order, range and signs cost nothing where what is known is the same
for both tables, and have no finite ρ where it is not: docs/explain/facts.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.optimize import linprog

from discreet.errors import InvalidFact, InvalidNoise
from discreet.ledger.guarantee import Neighbours
from discreet.refinement.constraints import Floats, vector
from discreet.refinement.linear_refinement import LinearRefinement

Pair = tuple[ArrayLike, ArrayLike]
"""Of two neighbouring tables: the difference of their true responses, and that of their constants."""

MOST_PAIRS = 100_000
"""At most so many pairs of neighbours are looked at."""

MOST_CHOICES = 20_000
"""At most so many bases of outputs, over all pairs that constants tell apart."""

NEAR = 1e-9
"""What differs by less than this share is rounding."""


@dataclass(frozen=True, eq=False)
class Rho:
    """The largest ρ over neighbours and sets of outputs, and where it is reached.

    `epsilon` is what the responses alone promise. With a `scale` of 1 both are in units of 1/scale: the shift that the
    noise has to hide.
    """

    value: float
    epsilon: float
    outputs: tuple[int, ...]
    responses_differ: Floats
    constants_differ: Floats
    told_apart: bool
    """Whether some neighbours differ in the constants so that these alone tell them apart."""

    @property
    def factor(self) -> float:
        """ρ as a multiple of ε."""
        return self.value / self.epsilon if self.epsilon else inf if self.value else 1.0


def rho(refinement: LinearRefinement, neighbours: Neighbours | Sequence[Pair], scale: ArrayLike = 1.0) -> Rho:
    """The ρ of a refinement of responses with Laplace noise of this scale, one for all or one for each.

    `neighbours` is "add-remove" or "replace", for which the refinement says what a row of the table adds to responses
    (`queries`) and constants (`constraints`); or the pairs themselves. Raises InvalidFact where more sets of outputs
    would have to be looked at than MOST_CHOICES: take fewer outputs, or give the pairs that matter.
    """
    scales = _scales(scale, refinement.on_responses.shape[1])
    pairs = _pairs(refinement, neighbours)
    outputs = _Outputs.of(refinement.on_responses * scales)
    worst = Rho(0.0, max(float(np.sum(np.abs(moved) / scales)) for moved, _ in pairs), (), *pairs[0], told_apart=False)
    apart = 0
    for moved, constants in pairs:
        target = _difference(refinement, moved, constants)
        apart += not outputs.hides(target)
        if apart * outputs.bases > MOST_CHOICES:
            raise InvalidFact(
                f"{len(target)} outputs have {outputs.bases:,} bases for each of {len(pairs):,} pairs of neighbours, "
                "too many to look at; take fewer outputs with .only(…), or give the pairs that matter"
            )
        for chosen, shift in outputs.largest_sets(target):
            value = outputs.least_shift(shift, worst.value)
            if value > worst.value:
                worst = replace(worst, value=value, outputs=chosen, responses_differ=moved, constants_differ=constants)
    return replace(worst, told_apart=apart > 0)


def _difference(refinement: LinearRefinement, moved: Floats, constants: Floats) -> Floats:
    """How far the outputs move from one table to its neighbour, without the rounding of what cancels out."""
    a, d = refinement.on_responses, refinement.on_constants
    target = a @ moved + d @ constants
    sizes = np.abs(a) @ np.abs(moved) + np.abs(d) @ np.abs(constants)
    return np.where(np.abs(target) <= NEAR * sizes, 0.0, target)


@dataclass(frozen=True, eq=False)
class _Outputs:
    """What noise can do to the outputs: `reach · reduced` is A times the scales; the columns of `reach` are
    orthonormal."""

    reach: Floats
    reduced: Floats

    @classmethod
    def of(cls, scaled: Floats) -> "_Outputs":
        left, sizes, right = linalg.svd(scaled, full_matrices=False)
        rank = int(np.count_nonzero(sizes > NEAR * sizes.max(initial=0.0)))
        return cls(left[:, :rank], sizes[:rank, None] * right[:rank])

    @property
    def bases(self) -> int:
        return comb(*self.reach.shape)

    @cached_property
    def _inverse(self) -> Floats:
        return np.linalg.pinv(self.reduced).astype(np.float64)

    def hides(self, target: Floats) -> bool:
        """Whether noise can make up for the whole difference."""
        return _near(self.reach @ (self.reach.T @ target), target).all().item()

    def largest_sets(self, target: Floats) -> Iterator[tuple[tuple[int, ...], Floats]]:
        """The largest sets of outputs whose difference noise can make up for, and what it then makes."""
        if self.hides(target):
            yield tuple(range(len(target))), self.reach.T @ target
            return
        seen: set[tuple[int, ...]] = set()
        count, rank = self.reach.shape
        for basis in map(list, combinations(range(count), rank)):
            rows = self.reach[basis]
            if rank and np.linalg.svd(rows, compute_uv=False)[-1] < NEAR:
                continue
            made = np.linalg.solve(rows, target[basis]).astype(np.float64)
            chosen = tuple(np.flatnonzero(_near(self.reach @ made, target)).tolist())
            if chosen not in seen:
                seen.add(chosen)
                yield chosen, made

    def least_shift(self, made: Floats, enough: float) -> float:
        """The least ‖t‖₁ that makes this difference, or something below `enough` where it is below that.

        The result is the norm of a t that does it: never too small, and by duality not too large.
        """
        unit = float(np.abs(self._inverse @ made).sum())
        if unit <= enough:
            return 0.0
        count, wanted = self.reduced.shape[1], made / unit
        program = linprog(np.ones(2 * count), A_eq=np.hstack([self.reduced, -self.reduced]), b_eq=wanted)
        if program.status == 0:
            shift = program.x[:count] - program.x[count:]
            shift += self._inverse @ (wanted - self.reduced @ shift)
            norm, prices = float(np.abs(shift).sum()), program.eqlin.marginals
            least = float(wanted @ prices) / max(1.0, float(np.abs(self.reduced.T @ prices).max()))
            if norm <= least * (1 + 1e-6):
                return norm * unit
        raise InvalidFact("ρ could not be computed: the refinement's coefficients differ too much in size")


def _near(found: Floats, target: Floats) -> NDArray[np.bool_]:
    return np.abs(found - target) <= 1e-7 * max(1e-300, float(np.abs(target).max(initial=0.0)))


def calibrate(
    refinement: LinearRefinement, epsilon: Fraction | float | str, neighbours: Neighbours | Sequence[Pair]
) -> float:
    """The least scale of Laplace noise in every response that keeps both ε of the responses and ρ within epsilon."""
    try:
        amount = float(Fraction(str(epsilon)))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidNoise(f"epsilon must be a number above 0, not {epsilon!r}") from None
    if not 0 < amount < inf:
        raise InvalidNoise(f"epsilon must be a number above 0, not {epsilon!r}")
    found = rho(refinement, neighbours)
    # Upward, so that rounding never takes away from the noise.
    return max(found.value, found.epsilon) / amount * (1 + NEAR)


def _scales(scale: ArrayLike, responses: int) -> Floats:
    scales = vector(np.broadcast_to(scale, (responses,)) if np.ndim(scale) == 0 else scale, "scale")
    if len(scales) != responses or not np.all(scales > 0):
        raise InvalidNoise(f"scale must be a number above 0, or one for each of {responses} responses")
    return scales


def _pairs(refinement: LinearRefinement, neighbours: Neighbours | Sequence[Pair]) -> list[tuple[Floats, Floats]]:
    """The pairs up to their sign, which changes nothing."""
    if not isinstance(neighbours, str):
        return _given_pairs(neighbours, refinement.on_responses.shape[1], refinement.on_constants.shape[1])
    if neighbours not in ("add-remove", "replace"):
        raise InvalidFact(f'neighbours are "add-remove", "replace" or pairs of differences, not {neighbours!r}')
    if refinement.constraints is None:
        raise InvalidFact("how constants differ is not known: give the refinement its constraints, or give pairs")
    rows = np.eye(refinement.on_responses.shape[1]) if refinement.queries is None else refinement.queries.T
    rows = np.unique(rows, axis=0)
    count = comb(len(rows), 2) if neighbours == "replace" else len(rows)
    if count > MOST_PAIRS:
        raise InvalidFact(f"there are {count:,} pairs of neighbours, too many to look at; give those that matter")
    if neighbours == "replace":
        rows = np.array([one - other for one, other in combinations(rows, 2)] or [0 * rows[0]])
    return [(moved, refinement.constraints @ moved) for moved in rows]


def _given_pairs(pairs: Sequence[Pair], responses: int, constants: int) -> list[tuple[Floats, Floats]]:
    given = [
        (vector(moved, "responses' differences"), vector(known, "constants' differences")) for moved, known in pairs
    ]
    if not given or any((len(moved), len(known)) != (responses, constants) for moved, known in given):
        raise InvalidFact(
            f"give at least one pair of neighbours: {responses} differences of responses and {constants} of constants"
        )
    return given
