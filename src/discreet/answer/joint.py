"""One estimate from all that is public: least squares over marginals of the whole table, single counts, and facts.

The marginals by themselves are solved in closed form (`marginals.py`): an estimate with known errors in every space
that they tell of, nothing in the others. A part is any other sum of boxes that was measured, or that is a fact. With
shares w of parts A, measured as y with noise D, the target t is estimated as

    marginals(t − Σ wᵢAᵢ) + Σ wᵢyᵢ,     with the variance  (t − Σ wᵢAᵢ)ᵀ K (t − Σ wᵢAᵢ) + Σ wᵢ²Dᵢ,

K being the covariance of what marginals say. It has no bias where t − Σ wᵢAᵢ lies in the spaces that marginals tell of.
Differenced along every axis (`index.corners`), a function of the axes C alone is 0 except at points with the code 0
on all other axes: so that is one equation for each corner with codes above 0 on axes that no marginal has together. The
w of least variance that meet these equations make the best linear unbiased estimate from marginals and parts together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import inf

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box
from discreet.query.marginals import MOST_TABLES, Floats, Marginals, Source, Weights, subsets

Terms = tuple[tuple[int, Box], ...]
"""Whole numbers, each times the count of a box."""
Corner = tuple[int, ...]
Parts = tuple[int, ...]
"""Some parts of a system, by their places."""
NOBODY: frozenset[Source] = frozenset()
Corners = Mapping[Corner, int]

BIAS = 1e-9
"""No corner of an estimate is further than this from what it has to be."""
RANK = 1e-10
"""Directions below this share of the longest are linear dependence."""
NEGLIGIBLE = 1e-9
"""A share of the variance, or of a part, below this is the arithmetic's rounding of 0."""
MOST_WRITTEN = 16
"""Estimates with more weights than this say their variance and which laws are in them, not each draw."""
MOST_CORNERS = 64
"""A sum with more corners than this, that marginals do not tell of, is not looked for."""
AT_ONCE = 1024
"""So many targets are estimated at a time: memory is bounded."""


@dataclass(frozen=True, eq=False)
class Part:
    """A sum of boxes that was measured, with its noise's variance and the draws in it; or a fact, by its number."""

    terms: Terms
    value: float
    variance: float
    draws: Weights = ()
    fact: int | None = None
    is_count: bool = False
    """Whether it was asked for by itself, and not as a group."""
    is_small: bool = False
    """Whether it is known to have few corners."""


@dataclass(frozen=True)
class Joined:
    """An estimate of a target, and what it is made of. `draws` are None where they are not listed one by one: then
    they are some of `sources`, and none has more variance than `largest`."""

    value: float
    variance: float
    draws: Weights | None
    largest: float
    sources: frozenset[Source]
    facts: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Solver:
    """The shares of some parts with the least variance."""

    parts: NDArray[np.intp]
    equations: Mapping[Corner, int]
    matrix: Floats
    pseudo_inverse: Floats
    free: Floats
    """The directions in which shares are not bound by equations."""
    covariance: Floats
    """Of the parts, their own noise included."""
    curvature: Floats
    """The pseudo-inverse of the covariance along free directions."""
    noise: Floats

    @cached_property
    def projected(self) -> Floats:
        """The curvature in the space of all shares."""
        return np.asarray(self.free @ self.curvature @ self.free.T)

    def wanted(self, untold: Sequence[Corners]) -> Floats:
        """The right sides of the equations for targets with these corners, a row each."""
        found = np.zeros((len(untold), len(self.equations)))
        for place, corners in enumerate(untold):
            for corner, turn in corners.items():
                found[place, self.equations[corner]] = turn
        return found

    def shares(self, wanted: Floats, with_target: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """For each target, a row each: the shares of parts, and whether they meet its equations."""
        if not wanted.any():  # marginals tell all of them, and parts but sharpen it
            return with_target @ self.projected, np.ones(len(wanted), np.bool_)
        least = wanted @ self.pseudo_inverse.T
        least = least + (wanted - least @ self.matrix.T) @ self.pseudo_inverse.T
        found = least - (least @ self.covariance - with_target) @ self.projected
        is_met = (np.abs(found @ self.matrix.T - wanted) <= BIAS).all(axis=1)
        return found, np.asarray(is_met)


@dataclass(frozen=True, eq=False)
class JointSystem:
    """Marginals and parts, ready for targets. It never changes."""

    marginals: Marginals
    parts: tuple[Part, ...]
    is_whole: bool = True
    """Whether all that was released is in it."""
    left_out: frozenset[Source] = frozenset()
    """GROUP BYs that are not in it."""
    _solvers: dict[tuple[int, ...], _Solver] = field(default_factory=dict, repr=False)

    @cached_property
    def is_trivial(self) -> bool:
        """Whether single counts alone are in it: their combinations are found without it."""
        return all(part.is_count for part in self.parts) and not any(
            table.axes or not table.variance for table in self.marginals.tables
        )

    def estimates(self, targets: Sequence[Terms]) -> list[Joined | None]:
        """The best estimate of each target; None where nothing that is public determines it."""
        untold = [self._untold(terms) if few_corners(terms, self.marginals) else None for terms in targets]
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, corners in enumerate(untold):
            chosen = None if corners is None else self._helping(corners)
            if chosen is not None:
                groups.setdefault(chosen, []).append(place)
        found: list[Joined | None] = [None] * len(targets)
        together = _solved_together([*groups])
        for chosen, places in groups.items():
            for start in range(0, len(places), AT_ONCE):
                some = places[start : start + AT_ONCE]
                corners_of = [untold[place] or {} for place in some]
                solved = self._solved(chosen, together[chosen], [targets[place] for place in some], corners_of)
                for place, one in zip(some, solved, strict=True):
                    found[place] = one
        return found

    def covariance(self, targets: Sequence[Terms]) -> Floats:
        """Of the errors of all estimates; nan for targets without one."""
        boxes = _Boxes.of(targets)
        found = self._kernel(boxes, boxes)
        if not self.parts:
            return found
        untold = [self._untold(terms) for terms in targets]
        with_parts = self._kernel(boxes, self._boxes)
        shares = np.zeros(with_parts.shape)
        helping = [self._helping(corners) for corners in untold]
        together = _solved_together([chosen for chosen in dict.fromkeys(helping) if chosen])
        for place, (corners, chosen) in enumerate(zip(untold, helping, strict=True)):
            if chosen:
                solver = self._solver(together[chosen])
                own, is_met = solver.shares(solver.wanted([corners]), with_parts[[place]][:, solver.parts])
                shares[place, solver.parts] = own[0] if is_met[0] else np.nan
            elif corners:
                shares[place] = np.nan
        noise = np.diag([part.variance for part in self.parts])
        return found - shares @ with_parts.T - with_parts @ shares.T + shares @ (self._covariance + noise) @ shares.T

    @cached_property
    def without_parts(self) -> "JointSystem":
        """Its marginals alone."""
        return replace(self, parts=(), is_whole=False, _solvers={})

    @property
    def sources(self) -> frozenset[Source]:
        """Of all that is in it."""
        return self._sources | {source for part in self.parts for _, source, _ in part.draws}

    def _untold(self, terms: Terms) -> Corners:
        """The corners of a sum of boxes that marginals tell nothing of."""
        found: dict[Corner, int] = {}
        sizes, told = self.marginals.sizes, self.marginals.precisions
        for times, box in terms:
            cut = self.marginals.cut(box)
            if self.marginals.determine(cut):
                continue
            turns: list[tuple[Corner, int]] = [((), times)]
            for low, high, size in zip(box.low, box.high, sizes, strict=True):
                closing = [((*at, high + 1), -turn) for at, turn in turns] if high + 1 < size else []
                turns = [((*at, low), turn) for at, turn in turns] + closing
            for at, turn in turns:
                if tuple(axis for axis, code in enumerate(at) if code) not in told:
                    found[at] = found.get(at, 0) + turn
        return {at: turn for at, turn in found.items() if turn}

    @cached_property
    def _corners(self) -> tuple[Corners, ...]:
        return tuple(self._untold(part.terms) for part in self.parts)

    @cached_property
    def _owners(self) -> Counter[Corner]:
        return Counter(chain.from_iterable(self._corners))

    @cached_property
    def _told_alone(self) -> tuple[int, ...]:
        return self._peeled({})

    @property
    def helping_parts(self) -> tuple[Part, ...]:
        """The parts that have a share in what marginals tell of."""
        return tuple(self.parts[part] for part in self._told_alone)

    def moves(self, targets: Sequence[Terms]) -> Floats:
        """What parts add to what marginals say of each target. Requires that marginals tell of all of them."""
        if not self._told_alone:
            return np.zeros(len(targets))
        solver = self._solver(self._told_alone)
        found = []
        for start in range(0, len(targets), AT_ONCE):
            some = _Boxes.of(targets[start : start + AT_ONCE])
            with_target = self._kernel(some, self._boxes)[:, solver.parts]
            shares, _ = solver.shares(np.zeros((len(with_target), len(solver.equations))), with_target)
            found.append(shares @ self._surplus(solver))
        return np.concatenate(found)

    @property
    def corners_of_parts(self) -> Iterable[Corner]:
        """The corners of parts that marginals tell nothing of."""
        return self._owners

    def _helping(self, corners: Corners) -> tuple[int, ...] | None:
        """The parts that may have a share in a target with these corners; None where it cannot be made up."""
        if not corners:
            return self._told_alone
        if any(corner not in self._owners for corner in corners):
            return None
        found = self._peeled(corners)
        reached = {corner for part in found for corner in self._corners[part]}
        return found if reached.issuperset(corners) else None

    def _peeled(self, corners: Corners) -> tuple[int, ...]:
        """All parts, again and again without those that have a corner to themselves: nothing could cancel it."""
        owners = dict(self._owners)
        for corner in corners:
            owners[corner] = owners.get(corner, 0) + 1
        left = set(range(len(self.parts)))
        alone = [corner for corner in self._alone if owners[corner] == 1]
        while alone:
            for part in self._parts_at[alone.pop()]:
                if part in left:
                    left.remove(part)
                    for corner in self._corners[part]:
                        owners[corner] -= 1
                        if owners[corner] == 1 and corner not in corners:
                            alone.append(corner)
        return tuple(sorted(left))

    @cached_property
    def _parts_at(self) -> dict[Corner, list[int]]:
        """The parts that have each corner."""
        found: dict[Corner, list[int]] = {}
        for part, corners in enumerate(self._corners):
            for corner in corners:
                found.setdefault(corner, []).append(part)
        return found

    @cached_property
    def _alone(self) -> list[Corner]:
        """The corners that one part alone has."""
        return [corner for corner, count in self._owners.items() if count == 1]

    @cached_property
    def _boxes(self) -> "_Boxes":
        return _Boxes.of([part.terms for part in self.parts])

    @cached_property
    def _covariance(self) -> Floats:
        return self._kernel(self._boxes, self._boxes)

    @cached_property
    def _said(self) -> Floats:
        """What marginals say of each part."""
        return np.array([self._value(part.terms) for part in self.parts])

    def _value(self, terms: Terms) -> float:
        return sum(times * self.marginals.value(box) for times, box in terms)

    def _solver(self, chosen: Parts) -> _Solver:
        if chosen not in self._solvers:
            parts = np.array(chosen, np.intp)
            equations: dict[Corner, int] = {}
            for part in chosen:
                for corner in self._corners[part]:
                    equations.setdefault(corner, len(equations))
            matrix = np.zeros((len(equations), len(parts)))
            for place, part in enumerate(chosen):
                for corner, turn in self._corners[part].items():
                    matrix[equations[corner], place] = turn
            noise = np.array([self.parts[part].variance for part in chosen])
            covariance = self._covariance[np.ix_(parts, parts)] + np.diag(noise)
            inverse, free = _solved_equations(matrix)
            curvature = _pseudo_inverse(free.T @ covariance @ free)
            self._solvers[chosen] = _Solver(parts, equations, matrix, inverse, free, covariance, curvature, noise)
        return self._solvers[chosen]

    def _solved(
        self, chosen: Parts, together: Parts, targets: Sequence[Terms], untold: Sequence[Corners]
    ) -> list[Joined | None]:
        """The estimates of targets that some parts help, by the shares of those and of others that do not."""
        said = np.array([self._value(terms) for terms in targets])
        own = np.array([self._own_variance(terms) for terms in targets])
        if not chosen:
            return [
                None if corners else self._joined(terms, float(value), float(variance), 0.0, np.zeros(0), None, NOBODY)
                for terms, corners, value, variance in zip(targets, untold, said, own, strict=True)
            ]
        solver, noise = self._solver(together), self._solver(together).noise
        sources = frozenset(source for part in chosen for _, source, _ in self.parts[part].draws)
        with_target = self._kernel(_Boxes.of(targets), self._boxes)[:, solver.parts]
        shares, is_met = solver.shares(solver.wanted(untold), with_target)
        of_parts = shares**2 @ noise
        between = shares @ (solver.covariance - np.diag(noise))
        of_marginals = np.maximum(own - 2 * (shares * with_target).sum(axis=1) + (between * shares).sum(axis=1), 0.0)
        # What is left where all of it cancels is rounding.
        of_marginals[of_marginals <= NEGLIGIBLE * own] = 0.0
        estimates = said + shares @ self._surplus(solver)
        return [
            self._joined(
                terms, float(estimates[i]), float(of_marginals[i]), float(of_parts[i]), shares[i], solver, sources
            )
            if is_met[i]
            else None
            for i, terms in enumerate(targets)
        ]

    def _surplus(self, solver: _Solver) -> Floats:
        """By how much parts were measured to be more than marginals say of them."""
        return np.array([self.parts[part].value for part in solver.parts]) - self._said[solver.parts]

    def _own_variance(self, terms: Terms) -> float:
        """Of what marginals say of a sum of boxes, in the spaces that they tell of."""
        if len(terms) == 1 and self.marginals.determine(self.marginals.cut(terms[0][1])):
            return terms[0][0] ** 2 * self.marginals.variance(terms[0][1])
        boxes = _Boxes.of([terms])
        return float(self._kernel(boxes, boxes)[0, 0])

    @cached_property
    def _least_noise(self) -> float:
        return min((part.variance for part in self.parts if part.variance), default=1.0)

    @cached_property
    def _sources(self) -> frozenset[Source]:
        """Of all noisy marginals."""
        return frozenset(table.source for table in self.marginals.tables if table.variance)

    def _joined(
        self,
        terms: Terms,
        value: float,
        of_marginals: float,
        of_parts: float,
        shares: Floats,
        chosen: _Solver | None,
        helping: frozenset[Source],
    ) -> Joined:
        """An estimate with these variances; what it is made of is told from them."""
        if of_parts <= NEGLIGIBLE * self._least_noise:
            of_parts = 0.0
            shares = shares if chosen is None else np.where(chosen.noise > 0, 0.0, shares)
        facts = frozenset(self._facts(terms)) if chosen is None else self._facts_in(terms, shares, chosen)
        variance = of_marginals + of_parts
        if not variance:
            return Joined(float(round(value)), 0.0, (), 0.0, frozenset(), facts)
        draws = self._draws(terms, of_marginals, shares, chosen)
        if draws is not None and len(draws) <= MOST_WRITTEN:
            sources = frozenset(source for _, source, _ in draws)
            value = float(round(value)) if _is_one(draws) else value
            return Joined(value, variance, draws, variance, sources, facts)
        sources = self._sources | helping
        own = 0.0 if chosen is None else float((shares**2 * chosen.noise).max(initial=0.0))
        largest = max(own, min(self._largest_draw(terms, shares, chosen), of_marginals))
        return Joined(value, variance, None, largest, sources, facts)

    def _facts_in(self, terms: Terms, shares: Floats, chosen: _Solver) -> frozenset[int]:
        if not self._has_facts:
            return frozenset(self._facts(terms))
        helping = (self.parts[chosen.parts[place]] for place in np.flatnonzero(np.abs(shares) > NEGLIGIBLE))
        return frozenset(part.fact for part in helping if part.fact is not None) | self._facts(terms)

    @cached_property
    def _has_facts(self) -> bool:
        return any(part.fact is not None for part in self.parts)

    def _largest_draw(self, terms: Terms, shares: Floats, chosen: _Solver | None) -> float:
        """At most so much variance has a single draw of the marginals in an estimate."""
        if len(self.marginals.tables) > MOST_TABLES:
            return inf
        weights = self._largest_weights(terms)
        if chosen is not None:
            weights = weights + np.abs(shares) @ self._of_parts[chosen.parts]
        return float((weights**2 * self.marginals.variances).max(initial=0.0))

    def _largest_weights(self, terms: Terms) -> Floats:
        found = np.zeros(len(self.marginals.tables))
        for times, box in terms:
            found += abs(times) * self.marginals.largest_weights(box)
        return found

    @cached_property
    def _of_parts(self) -> Floats:
        """The largest weights of marginals in what they say of each part."""
        return np.array([self._largest_weights(part.terms) for part in self.parts])

    def _draws(self, terms: Terms, of_marginals: float, shares: Floats, chosen: _Solver | None) -> Weights | None:
        """One by one, where they are of parts alone, or of a few tables."""
        places = np.flatnonzero(np.abs(shares) > NEGLIGIBLE)
        if of_marginals:
            if len(places) or len(terms) > 1:
                return None
            [(times, box)] = terms
            weights = self.marginals.weights(box)
            return weights and tuple((times * weight, source, count) for weight, source, count in weights)
        assert chosen is not None, "what has noise is of parts or of marginals"
        return tuple(
            (float(shares[place]) * weight, source, count)
            for place in places
            for weight, source, count in self.parts[chosen.parts[place]].draws
        )

    def _facts(self, terms: Terms) -> set[int]:
        """The facts among marginals that tell of a target."""
        exact = self.marginals.exact
        if not exact:
            return set()
        spaces = {space for _, box in terms for space in subsets(self.marginals.cut(box))}
        return {table.source[1] for table in exact if any(table.tells(space) for space in spaces)}

    def _kernel(self, one: "_Boxes", other: "_Boxes") -> Floats:
        """The covariances of what marginals say of sums of boxes, in the spaces that they tell of."""
        sizes, precisions = self.marginals.sizes, self.marginals.precisions
        axes = [axis for axis, size in enumerate(sizes) if one.cuts(axis, size) or other.cuts(axis, size)]
        inside, outside = {}, {}
        for axis in axes:
            size = sizes[axis]
            overlap = np.minimum.outer(one.high[:, axis], other.high[:, axis])
            overlap = np.maximum(overlap - np.maximum.outer(one.low[:, axis], other.low[:, axis]) + 1, 0)
            both = np.multiply.outer(one.lengths(axis), other.lengths(axis))
            inside[axis], outside[axis] = overlap - both / size, both / size**2
        shared = {axis for axis in axes if one.cuts(axis, sizes[axis]) and other.cuts(axis, sizes[axis])}
        total = np.zeros((len(one.low), len(other.low)))
        for space, precision in precisions.items():
            if np.isfinite(precision) and shared.issuperset(space):
                factors = [inside[axis] if axis in space else outside[axis] for axis in axes]
                total += np.multiply.reduce(factors) / precision if factors else 1 / precision
        return one.added_up(other.added_up(total.T).T)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """The boxes of some sums, one after the other, with their factors."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    times: Floats
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, sums: Sequence[Terms]) -> "_Boxes":
        terms = [term for one in sums for term in one]
        starts = np.cumsum([0, *(len(one) for one in sums)])[:-1]
        low, high = (np.array([getattr(box, end) for _, box in terms], np.int64) for end in ("low", "high"))
        return cls(low, high, np.array([times for times, _ in terms], np.float64), starts)

    def lengths(self, axis: int) -> Floats:
        return (self.high[:, axis] - self.low[:, axis] + 1).astype(np.float64)

    def cuts(self, axis: int, size: int) -> bool:
        return bool((self.high[:, axis] - self.low[:, axis] + 1 < size).any())

    def added_up(self, rows: Floats) -> Floats:
        """Rows of boxes as rows of sums."""
        return np.add.reduceat(rows * self.times[:, None], self.starts, axis=0)


def _is_one(draws: Weights) -> bool:
    """Whether there is one draw alone, taken once."""
    return len(draws) == 1 and draws[0][2] == 1 and abs(abs(draws[0][0]) - 1) <= NEGLIGIBLE


def is_small(terms: Terms, marginals: Marginals) -> bool:
    """Whether a sum of boxes has few corners, whatever the marginals determine."""
    return sum(1 << len(marginals.cut(box)) for _, box in terms) <= MOST_CORNERS


def few_corners(terms: Terms, marginals: Marginals) -> bool:
    """Whether a sum of boxes has few enough corners to be looked for as a combination of others."""
    corners = 0
    for _, box in terms:
        if not marginals.determine(marginals.cut(box)):
            corners += 1 << sum(high + 1 < size for high, size in zip(box.high, marginals.sizes, strict=True))
    return corners <= MOST_CORNERS


def _solved_together(several: Sequence[Parts]) -> dict[Parts, Parts]:
    """For each of several sets of parts the set by which it is solved: all of them in one go, where that takes fewer
    steps than one after the other. A part that does not help a target has a corner that nothing else cancels, so that
    its share there is 0 whichever parts stand beside it."""
    union = tuple(sorted(set().union(*several)))
    if len(union) ** 3 > sum(len(one) ** 3 for one in several):
        return {one: one for one in several}
    return dict.fromkeys(several, union)


def _solved_equations(matrix: Floats) -> tuple[Floats, Floats]:
    """The pseudo-inverse of some equations, and a basis of what they leave free."""
    rows, columns = matrix.shape
    if not rows:
        return np.zeros((columns, 0)), np.eye(columns)
    left, lengths, right = np.linalg.svd(matrix, full_matrices=rows < columns)  # all of right, and not all of left
    rank = int(np.count_nonzero(lengths > RANK * lengths[0]))
    inverse = right[:rank].T @ (left[:, :rank] / lengths[:rank]).T
    return inverse, right[rank:].T


def _pseudo_inverse(covariance: Floats) -> Floats:
    """Of a covariance, scaled to ones on its diagonal; what is exact twice over counts once."""
    spread = np.sqrt(np.diagonal(covariance))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    scales = np.multiply.outer(scale, scale)
    return np.asarray(np.linalg.pinv(covariance * scales, RANK, hermitian=True) * scales, np.float64)
