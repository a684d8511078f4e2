"""One estimate from everything that is public: all released answers, and facts, which are exact.

`derive` looks for a combination that is sharp enough; here every answer and every fact has its best share. Groups of a
GROUP BY or a cuboid that nothing else tells apart have the same share, so that their sum serves: that loses nothing,
and keeps the system small.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.answer.grid import Grid, Ints, Terms
from discreet.answer.index import Answered, Answers, corners
from discreet.answer.past import Block, Source
from discreet.answer.residuals import Axes, ReleasedResidual
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.facts.facts import CuboidFact, Fact
from discreet.refinement.linear import DENSE_ENTRIES, LinearEstimate, best_estimates, separate

MOST_REGIONS = 512
"""Of more answered regions than this, those nearest to what is asked are combined."""

MOST_LABELS = 1 << 24
"""At most so many cells of the grid, over all that is combined."""

MOST_ALONE = 16
"""So many targets that do not fit into one system are solved one after another: each may take seconds."""

MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, odd: labels in a row, taken for digits in this base, hardly ever make the same number."""

SHARE = 1e-8
"""A smaller share than this is what exact measurements leave to noisy ones, for rounding."""


@dataclass(frozen=True)
class Combined:
    """The best estimate of a sum of counts, and what it is made of: measurements, and facts by their numbers.

    `draws` are those of noise in it: a weight, the measurement, and how many of its numbers have this weight.
    `complete` says whether every released answer was looked at.
    """

    value: float
    variance: float
    sources: frozenset[Source]
    facts: frozenset[int]
    draws: tuple[tuple[float, Source, int], ...]
    complete: bool = True


@dataclass(frozen=True, eq=False)
class _Told:
    """What a release or a fact says of a grid's cells: `grouped`, a sum over the cells with each label from 1 on; else
    one sum over all cells, where labels say how often a cell counts."""

    labels: Ints
    grouped: bool
    values: NDArray[np.float64]
    variances: NDArray[np.float64]
    draws: Ints
    """How many draws of noise are in each sum."""
    made_of: tuple[tuple[Source, float], ...] = ()
    """The measurements in each sum, with their weights."""
    facts: frozenset[int] = frozenset()
    mixing: NDArray[np.float64] | None = None
    """What is measured of those sums: a row for each number; where there is none, the sums themselves."""

    @property
    def sources(self) -> frozenset[Source]:
        return frozenset(source for source, _ in self.made_of)

    def draws_in(self, shares: NDArray[np.float64]) -> Iterator[tuple[float, Source, int]]:
        """The draws of noise in these shares of the sums."""
        counts = self.draws // max(len(self.made_of), 1)
        for at in np.flatnonzero(np.abs(shares) > SHARE):
            for source, weight in self.made_of:
                yield float(shares[at]) * weight, source, int(counts[at])

    def rows(self, atoms: NDArray[np.intp]) -> sparse.csr_array:
        """A row for each sum, a column for each atom; `atoms` are cells, one of each kind."""
        labels = self.labels[atoms]
        inside = np.flatnonzero(labels)
        rows = labels[inside] - 1 if self.grouped else np.zeros_like(inside)
        times = np.ones(len(inside)) if self.grouped else labels[inside].astype(np.float64)
        sums = sparse.csr_array((times, (rows, inside)), shape=(len(self.values), len(atoms)))
        return sums if self.mixing is None else sparse.csr_array(self.mixing @ sums.toarray())


def combine(targets: Sequence[Terms], past: Answers, facts: Sequence[Fact], domain: Domain) -> list[Combined | None]:
    """The least-variance unbiased estimate of each target; None where nothing that is public determines it.

    Raises UnsupportedQuery where that would take too long, which depends on what was asked alone.
    """
    if not targets:
        return []
    chosen = _nearest(targets, past)
    while True:
        told = _told(targets, chosen, past, facts, domain)
        found = None if told is None else _solved(targets, *told)
        if found is not None:
            complete = len(chosen) == len(past.regions)
            return [one and replace(one, complete=complete) for one in found]
        if len(targets) > MOST_ALONE:
            raise UnsupportedQuery(
                f"so much was released that at most {MOST_ALONE} groups are refined at once, and these are "
                f"{len(targets):,}; ask for fewer of them with a WHERE"
            )
        if len(targets) > 1:
            return [one for target in targets for one in combine([target], past, facts, domain)]
        if not chosen:
            return [None]
        chosen = chosen[: len(chosen) // 2]


def _nearest(targets: Sequence[Terms], past: Answers) -> Sequence[Answered]:
    """All answered regions, or where they are too many those linked to the targets."""
    if len(past.regions) <= MOST_REGIONS:
        return past.regions
    start = {at for terms in targets for _, region in terms for at in corners(region, past.shape) or {}}
    return past.linked(start, MOST_REGIONS)


def _told(
    targets: Sequence[Terms],
    regions: Sequence[Answered],
    past: Answers,
    facts: Sequence[Fact],
    domain: Domain,
) -> tuple[Grid, list[_Told]] | None:
    """The grid and what is said of its cells; None where that is too much."""
    blocks = past.groups.blocks
    sums: list[Terms] = [*targets, *(((1, part.where),) for part in regions)]
    sums += [fact.terms for fact in facts if not isinstance(fact, CuboidFact)]
    boxes = [box for terms in sums for _, region in terms for box in region.boxes]
    grid = Grid.of([*boxes, *(block.where for block in blocks)], domain.shape)
    cut = {axis for axis, intervals in enumerate(grid.shape) if intervals > 1}
    # Where the grid does not cut one of its axes, a residual adds up to 0.
    residuals = [one for together in past.residuals for one in together.within(cut)]
    if grid.cells * (len(sums) + len(blocks) + len(residuals) + len(facts)) > MOST_LABELS:
        return None
    told = [_by_region(part, grid) for part in regions]
    told += [_by_block(block, grid) for block in blocks]
    told += [_by_residual(axes, table, grid, domain) for axes, table in residuals]
    told += [_by_fact(fact, grid, domain) for fact in facts]
    return grid, told


def _by_region(part: Answered, grid: Grid) -> _Told:
    average = sum(answer.value / answer.variance for answer in part.answers) * part.variance
    made_of = tuple((answer.source, part.variance / answer.variance) for answer in part.answers)
    labels, draws = grid.times(((1, part.where),)), np.array([len(part.answers)])
    return _Told(labels, False, np.array([average]), np.array([part.variance]), draws, made_of)


def _by_block(block: Block, grid: Grid) -> _Told:
    labels, sums, counts = grid.groups(block.where, block.by, block.values)
    variances = np.float64(block.variance) * counts
    return _Told(labels, True, sums.astype(np.float64), variances, counts, ((block.source, 1.0),))


def _by_residual(axes: Axes, table: ReleasedResidual, grid: Grid, domain: Domain) -> _Told:
    """The sums of a residual's numbers over the grid's intervals: each tells of all sums of counts over these."""
    labels, sums, counts = grid.groups(domain.everything.boxes[0], axes, table.units)
    mixing: NDArray[np.float64] = np.ones((1, 1))
    for axis in axes:
        lengths = np.diff(np.append(grid.starts[axis], grid.sizes[axis]))
        along = grid.sizes[axis] * np.eye(len(lengths)) - lengths[:, None]
        mixing = np.asarray(np.kron(mixing, along), np.float64)
    variances, made_of = np.float64(table.variance) * counts, ((table.source, 1.0),)
    return _Told(labels, True, sums.astype(np.float64), variances, counts, made_of, mixing=mixing)


def _by_fact(fact: Fact, grid: Grid, domain: Domain) -> _Told:
    number = frozenset({fact.number})
    if isinstance(fact, CuboidFact):
        labels, sums, _ = grid.groups(domain.everything.boxes[0], fact.axes(domain), fact.values)
        none = np.zeros_like(sums)
        return _Told(labels, True, sums.astype(np.float64), none.astype(np.float64), none, facts=number)
    value, none = np.array([float(fact.value)]), np.zeros(1, np.int64)
    return _Told(grid.times(fact.terms), False, value, np.zeros(1), none, facts=number)


def _solved(targets: Sequence[Terms], grid: Grid, told: Sequence[_Told]) -> list[Combined | None] | None:
    """None where the system is too large for its solver."""
    wanted = np.array([grid.times(terms) for terms in targets])
    atoms = one_of_each([*wanted, *(one.labels for one in told)])
    rows = sum(len(one.values) for one in told)
    # Residuals connect everything, in dense rows.
    connected = any(one.mixing is not None for one in told)
    if len(targets) * rows > MOST_LABELS or (connected and rows * len(atoms) > DENSE_ENTRIES):
        return None
    empty = sparse.csr_array((0, len(atoms)))
    matrix = sparse.vstack([empty, *(one.rows(atoms) for one in told)], format="csr")
    variances = np.concatenate([np.zeros(0), *(one.variances for one in told)])
    asked = wanted[:, atoms].astype(np.float64)
    if any(len(part) * len(over) > DENSE_ENTRIES for part, over in separate(matrix, asked)):
        return None
    estimates = best_estimates(matrix, variances, asked)
    return [None if estimate is None else _combined(estimate, told) for estimate in estimates]


def one_of_each(rows: Sequence[Ints]) -> NDArray[np.intp]:
    """A cell of each kind: those that no row tells apart are one.

    To sort cells by all their labels takes long: they are sorted by one number that is made of them, and compared.
    """
    key = np.zeros(len(rows[0]), np.uint64)
    for row in rows:
        key = key * MIX + row.astype(np.uint64)
    _, atoms, kind = np.unique(key, return_index=True, return_inverse=True)
    if all(np.array_equal(row[atoms][kind], row) for row in rows):
        return atoms
    return np.unique(np.vstack(rows), axis=1, return_index=True)[1]


def _combined(estimate: LinearEstimate, told: Sequence[_Told]) -> Combined:
    ends = np.cumsum([0, *(len(one.values) for one in told)])
    shares = [(told[at], estimate.coefficients[ends[at] : ends[at + 1]]) for at in _taking_part(estimate, ends)]
    value = sum(float(share @ one.values) for one, share in shares)
    used = [(one, share) for one, share in shares if np.any(np.abs(share) > SHARE)]
    noisy = [one for one, share in used if one.sources] if estimate.variance else []
    draws = tuple(draw for one, share in used for draw in one.draws_in(share)) if estimate.variance else ()
    return Combined(
        round(value) if not estimate.variance or _is_single(draws) else value,
        estimate.variance,
        frozenset[Source]().union(*(one.sources for one in noisy)),
        frozenset[int]().union(*(one.facts for one, _ in used)),
        draws,
    )


def _taking_part(estimate: LinearEstimate, ends: Ints) -> NDArray[np.intp]:
    """Which of all that is told has a share, of those that end where `ends` say: of very much, mostly little."""
    return np.unique(np.searchsorted(ends, np.flatnonzero(estimate.coefficients), "right") - 1)


def _is_single(draws: Sequence[tuple[float, Source, int]]) -> bool:
    """Whether there is one draw alone, taken once."""
    return len(draws) == 1 and draws[0][2] == 1 and abs(abs(draws[0][0]) - 1) <= SHARE
