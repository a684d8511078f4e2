"""A cube plan: which cuboids are measured, with what share of the budget, and how exact every cuboid will be."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.cube.known_variances import variances_given
from discreet.cube.noise_model import NoiseModel
from discreet.cube.variances import Exactness, OverResiduals, exactness_of
from discreet.cube.within import Within
from discreet.errors import UnsupportedQuery
from discreet.notebook import NotebookView, Pairs
from discreet.query.lattice import Label, Lattice
from discreet.query.marginals import Marginal, Marginals
from discreet.query.residual import squared_move

if TYPE_CHECKING:
    from discreet.replies import CubePlanJson

Objective = Literal["max", "mean", "weighted", "mean-std", "most"]
"""max: the largest weight × ratio of a published cuboid, a ratio being its variance / the expected one: its variance,
where none is expected. mean and mean-std: the weighted mean of their ratios, and of the roots of these. weighted: the
mean, where weights have to be given. most: the weight of those whose ratio is within a bound, to be made large."""


Basis = Literal["cuboids", "residuals"]
"""What is measured of a source: its counts, or their residual, which tells nothing of coarser cuboids."""


MOST_NAMED = 12


@dataclass(frozen=True, repr=False)
class CubePlan(NotebookView):
    """The sources and their shares of one budget; public, and made before anything is spent.

    Variances are per cell and exact: those of the noise that will be drawn, not an estimate.
    Raises UnsupportedQuery where the shares overspend, or a published cuboid cannot be computed from any source.
    """

    planner: str
    lattice: Lattice
    published: tuple[int, ...]
    weights: tuple[float, ...]
    noise: NoiseModel
    source_masks: tuple[int, ...]
    shares: tuple[Fraction, ...]
    known: tuple[tuple[int, int], ...] = ()
    """Cuboids that are public facts, by mask, with the journal's number of the fact: sources without noise, and for
    nothing. Only consistent cubes use them."""
    expected: tuple[float, ...] = ()
    """The variance that is expected of each published cuboid, where one is. [cubes, Problem 6]"""
    bound: float | None = None
    """The ratio up to which a cuboid counts as precise, where that was to be."""
    basis: Basis = "cuboids"
    candidates: tuple[int, ...] = ()
    """Of a plan whose cuboids are chosen as one goes: what is chosen among, by mask, after its sources are measured.
    The shares are then those of the first step alone."""
    within: Within | None = None
    """The periods whose rows it is of; None for all rows."""

    def __post_init__(self) -> None:
        if len(set(self.source_masks)) != len(self.source_masks):
            raise UnsupportedQuery("a cuboid is measured once: it is given twice among the sources")
        if min(self.shares, default=Fraction()) <= 0 or sum(self.shares) > 1:
            raise UnsupportedQuery("shares of the budget are above 0, and together at most 1")
        if self.basis == "residuals" and (self.noise.power != 1 or self.noise.measure.of is not None):
            raise UnsupportedQuery("residuals are measured of counts, and with Gaussian noise")
        missing = np.flatnonzero(np.isinf(self.variances(consistent=False)))
        if len(missing):
            raise self._unreachable(self.published[missing[0]])

    def _shown(self) -> tuple[str, Pairs]:
        sizes = [f"{name} {size}" for name, size in zip(self.lattice.names, self.lattice.sizes, strict=True)]
        more = [f"and {len(sizes) - MOST_NAMED} more"] if len(sizes) > MOST_NAMED else []
        return f"Plan of a cube, by {self.planner}", [
            ("dimensions", " ".join([" × ".join(sizes[:MOST_NAMED]), *more])),
            ("measures", f"{len(self.source_masks):,} cuboids"),
            *([("then chooses", f"among {len(self.candidates):,} cuboids")] if self.candidates else []),
            ("publishes", f"{len(self.published):,} cuboids"),
            ("worst cell", f"σ = {self.max_variance_consistent**0.5:,.4g}"),
        ]

    @property
    def sources(self) -> tuple[tuple[Label, ...], ...]:
        return tuple(self.lattice.names_of(mask) for mask in self.source_masks)

    def share_of(self, source: int) -> Fraction:
        """The share of a source, by its mask."""
        return self._shares[source]

    @cached_property
    def _shares(self) -> dict[int, Fraction]:
        return dict(zip(self.source_masks, self.shares, strict=True))

    @cached_property
    def largest_share(self) -> Fraction:
        return max(self.shares)

    @cached_property
    def cell_shares(self) -> dict[int, Fraction]:
        """The share that buys a count the noise of each source's numbers: a cuboid's own; a residual's over the squared
        length that a row moves it by."""
        if self.basis == "cuboids":
            return self._shares
        kinds = {mask: (self.lattice.shape(mask), share) for mask, share in self._shares.items()}
        bought = {
            (shape, share): share / squared_move(shape, self.noise.neighbours) for shape, share in set(kinds.values())
        }
        return {mask: bought[kind] for mask, kind in kinds.items()}

    @cached_property
    def source_variances(self) -> dict[int, float]:
        """The variance of the noise on each number of each source, by its mask."""
        of_share = {share: self.noise.variance(share) for share in set(self.cell_shares.values())}
        return {mask: of_share[share] for mask, share in self.cell_shares.items()}

    @cached_property
    def marginals(self) -> Marginals:
        """Its sources, and what it knows exactly, without their numbers."""
        lattice, variances = self.lattice, self.source_variances
        residual = self.basis == "residuals"
        exact = [(mask, 0.0) for mask, _ in self.known]
        tables = [
            Marginal(
                lattice.axes(mask), lattice.shape(mask), variance, (0, place), is_residual=residual and variance > 0
            )
            for place, (mask, variance) in enumerate([*variances.items(), *exact])
        ]
        return Marginals(lattice.sizes, tuple(tables))

    @cached_property
    def _exactness(self) -> Exactness:
        if self.basis == "residuals":
            return OverResiduals(self.lattice, self.source_variances)
        return exactness_of(self.lattice, self.source_variances)

    def variances(self, consistent: bool = True) -> NDArray[np.float64]:
        """The variance of a cell of each published cuboid, in their order."""
        return self._variances(self.published, consistent)

    def _variances(self, masks: Sequence[int], consistent: bool) -> NDArray[np.float64]:
        if not (consistent and self.known):
            return self._exactness.variances(masks, consistent)
        known = [mask for mask, _ in self.known]
        return variances_given(self.lattice, known, masks, lambda some: self._exactness.variances(some, True))

    def variance(self, *names: Label, consistent: bool = True) -> float:
        """The variance of a cell of one cuboid, published or computable: as `publish_cube` gives it, or, where not
        `consistent`, of the cuboid rolled up from its best source."""
        mask = self.lattice.mask(*names)
        [variance] = self._variances((mask,), consistent).tolist()
        if variance == np.inf:
            raise self._unreachable(mask)
        return float(variance)

    def best_source(self, mask: int) -> int:
        """The source from which a cuboid is rolled up with the least variance. [cubes, 3.3]"""
        source = self._exactness.best_source(mask)
        if source is None:
            raise self._unreachable(mask)
        return source

    def _unreachable(self, mask: int) -> UnsupportedQuery:
        return UnsupportedQuery(f"{self.lattice.words(mask)} cannot be computed from the sources of this plan")

    @property
    def max_variance(self) -> float:
        return float(self.variances(consistent=False).max())

    @property
    def mean_variance(self) -> float:
        return float(self.variances(consistent=False).mean())

    @property
    def max_variance_consistent(self) -> float:
        return float(self.variances().max())

    @property
    def mean_variance_consistent(self) -> float:
        return float(self.variances().mean())

    def score(self, objective: Objective, consistent: bool = True) -> float:
        """What a planner with that objective makes small, weights included."""
        return score(self.ratios(consistent), self.weights, objective)

    def ratios(self, consistent: bool = True) -> NDArray[np.float64]:
        """Variance / expected variance of each published cuboid; its variance, where none is expected."""
        ratios: NDArray[np.float64] = self.variances(consistent) / np.array(self.expected or 1.0)
        return ratios

    def precise_weight(self, consistent: bool = True) -> float | None:
        """The weight of the published cuboids whose ratio is within the bound; None where there is no bound."""
        if self.bound is None:
            return None
        return float(np.array(self.weights)[self.ratios(consistent) <= self.bound * ROUNDING].sum())

    def to_json(self) -> "CubePlanJson":
        """The plan as `cube plan --json` prints it; what was expected, bounded or known, where there is such."""
        found: CubePlanJson = {
            "planner": self.planner,
            "sources": [list(names) for names in self.sources],
            "shares": [float(share) for share in self.shares],
            "max_variance": self.max_variance,
            "mean_variance": self.mean_variance,
            "max_variance_consistent": self.max_variance_consistent,
            "mean_variance_consistent": self.mean_variance_consistent,
        }
        if self.basis != "cuboids":
            found["basis"] = self.basis
        if self.expected:
            found["max_ratio"] = float(self.ratios(False).max())
            found["max_ratio_consistent"] = float(self.ratios().max())
        if self.bound:
            found["bound"] = self.bound
            found["precise_weight"] = self.precise_weight(False)
            found["precise_weight_consistent"] = self.precise_weight()
        if self.candidates:
            found["candidates"] = [list(self.lattice.names_of(mask)) for mask in self.candidates]
        if self.known:
            found["known"] = [list(self.lattice.names_of(mask)) for mask, _ in self.known]
        return found


ROUNDING = 1 + 1e-9
"""A bound that is reached exactly is kept."""


def score(variances: NDArray[np.float64], weights: Sequence[float], objective: Objective) -> float:
    """An objective's value for the variances, or the ratios, of the published cuboids."""
    match objective:
        case "max":
            return float((variances * np.asarray(weights)).max())
        case "mean" | "weighted":
            return float(np.average(variances, weights=weights))
        case "mean-std":
            return float(np.average(np.sqrt(variances), weights=weights))
    raise UnsupportedQuery(f"an objective is max, mean, weighted or mean-std, not {objective!r}")
