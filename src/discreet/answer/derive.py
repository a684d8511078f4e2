"""Answers from answers: the best unbiased combination of released measurements that makes up a region.

It goes beyond the paper's compounds: a compound is one such combination, with coefficients ±1; here every way to make
up the region has its share, so that the variance is never above the compound's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import inf

import numpy as np

from discreet.answer.index import Answered, Answers, Corner, corners
from discreet.answer.past import CountBlock, PastAnswer
from discreet.domain.region import Box, Region

MOST_REGIONS = 128
"""At most this many answered regions are combined: those that are the fewest shared corners away from the target."""

DESIGNS = 256
"""Size of the cache of least-squares solutions, keyed by the design matrix."""

ROUNDING = 1e-9
"""Variances this close to each other, relatively, may be equal."""

NEGLIGIBLE = 1e-12
"""A share below this is the arithmetic's rounding of 0."""


@dataclass(frozen=True)
class Derived:
    """An estimate with no bias for the target region. The answers in `terms` are independent."""

    value: float
    variance: float
    terms: tuple[tuple[float, PastAnswer], ...]

    @classmethod
    def of(cls, terms: Sequence[tuple[float, PastAnswer]]) -> "Derived":
        return cls(
            sum(share * answer.value for share, answer in terms),
            sum(share * share * answer.variance for share, answer in terms),
            tuple(terms),
        )


@dataclass(frozen=True, eq=False, slots=True)
class _GroupSum:
    """The sum of those of a GROUP BY's groups that make up a box, as a part to combine."""

    block: CountBlock
    box: Box
    corners: Mapping[Corner, int]
    variance: float

    @property
    def answers(self) -> tuple[PastAnswer, ...]:
        return (self.block.total(self.box),)


_Part = Answered | _GroupSum


def derive(
    target: Region,
    past: Answers,
    known: Sequence[PastAnswer] = (),
    enough: float = inf,
    most_regions: int = MOST_REGIONS,
) -> Derived | None:
    """The least-variance unbiased estimate of a region's count from released answers, or None where none is found.

    Every answer to the region itself has a share in it, every GROUP BY whose groups make up the region, every release
    whose residuals do, and every sum, difference or other linear combination of answered regions and such groups that
    comes to it. `known` are answers that are certainly looked at: given a compound's own, a result is never worse than
    the compound. A variance above `enough` is of no use to the caller: where it is soon seen that counts cannot bring
    it down to that, they are left out.

    What it misses, for the work to be bounded: combinations that need more than `most_regions` regions or a region
    with more than MOST_CORNERS corners, and groups outside the target.
    """
    if not target:
        return Derived.of(())
    # Estimates from one release's residuals are not independent of each other: it has a share once.
    used = {answer.source for answer in known}
    made = [together.total(target) for together in past.residuals if together.source not in used]
    others = [answer for answer in made if answer is not None]
    missing = 1 / enough - sum(1 / answer.variance for answer in others)
    found = _from_counts(target, past, known, 1 / missing if missing > 0 else inf, most_regions)
    return _joined(found, others)


def _joined(found: Derived | None, others: Sequence[PastAnswer]) -> Derived | None:
    """An estimate with further answers to the same region that are independent of it, each by its precision."""
    if found is None:
        return _average(others)
    if not others or not found.variance:
        return found
    precision = 1 / found.variance + sum(1 / answer.variance for answer in others)
    share = 1 / found.variance / precision
    return Derived.of(
        [
            *((share * own, answer) for own, answer in found.terms),
            *((1 / answer.variance / precision, answer) for answer in others),
        ]
    )


def _from_counts(
    target: Region, past: Answers, known: Sequence[PastAnswer], enough: float, most_regions: int
) -> Derived | None:
    """The same from counts alone, those of regions and of groups."""
    turns = corners(target, past.shape)
    if turns is None:
        return _average(_answers_to(target, past))
    given: list[_Part] = [_part_with(answer, past) for answer in (*past.same(target)[:1], *known)]
    if not all(part.corners for part in given):
        return None
    sums = _from_groups(target, past, known, most_regions)
    given += sums
    reached = {corner for part in given for corner in part.corners}
    if not all(corner in reached or past.precision(corner) for corner in turns):
        return None
    if not known and _least_variance(turns, sums, past.precision) > enough:
        return None
    near = past.linked(reached.union(turns), most_regions, useful=True)
    useful = _connected(_peeled([*dict.fromkeys([*given, *near])], turns), turns)
    if all(part.corners == turns for part in useful):
        return _average([answer for part in useful for answer in part.answers])
    if _least_variance(turns, useful) > enough:
        return None
    return _combined(useful, turns)


def _least_variance(
    turns: Mapping[Corner, int], parts: Iterable[_Part], precision: Callable[[Corner], float] = lambda _: 0.0
) -> float:
    """No unbiased combination has less variance than this. `precision` is that of further parts at a corner.

    The shares a of parts with c at a corner come to the target's t there, and t² = (Σ a·c)² is at most Σ a²·variance
    times the precision Σ c²/variance (Cauchy, Schwarz): the poorest corner says the most.
    """
    at = {corner: precision(corner) for corner in turns}
    for part in parts:
        for corner in part.corners.keys() & turns.keys():
            at[corner] += part.corners[corner] ** 2 / part.variance
    return max(turn * turn / at[corner] for corner, turn in turns.items()) * (1 - ROUNDING)


def _answers_to(target: Region, past: Answers) -> list[PastAnswer]:
    """The answers to a region as a whole: its own, and the sums of one GROUP BY's groups."""
    blocks = past.groups.aligned(target.boxes[0])
    for box in target.boxes[1:]:
        blocks = [block for block in blocks if block.aligned(box)]
    found = list(past.same(target))
    for block in blocks:
        pieces = [block.total(box) for box in target.boxes]
        value, variance = sum(piece.value for piece in pieces), sum(piece.variance for piece in pieces)
        found.append(PastAnswer(target, value, variance, block.source))
    return found


def _from_groups(target: Region, past: Answers, known: Sequence[PastAnswer], most: int) -> list[_GroupSum]:
    """Of every GROUP BY, the groups inside one of the target's boxes, if they make up a box; the largest ones first.

    Sums with groups in common are not independent: whatever overlaps a known sum of the same measurement stays out.
    """
    found = [
        (block, inside)
        for box in target.boxes
        for block, inside in past.groups.within(box)
        if not any(answer.source == block.source and inside.intersect(answer.box) for answer in known)
    ]
    found.sort(key=lambda pair: -pair[1].volume)
    return [
        _GroupSum(block, inside, corners(Region((inside,)), past.shape) or {}, block.variance_of(inside))
        for block, inside in found[:most]
    ]


def _part_with(answer: PastAnswer, past: Answers) -> Answered:
    """All answers to the region of a released one; a sum of groups stays by itself."""
    known = past.answered(answer.where)
    if known is not None and answer in known.answers:
        return known
    return Answered(answer.where, past.shape, (answer,))


def _peeled(parts: Sequence[_Part], turns: Mapping[Corner, int]) -> list[_Part]:
    """The parts that can have a share: again and again without those with a corner that no other part has.

    None at all where the target itself has such a corner.
    """
    left = list(parts)
    while True:
        owners = Counter(chain(turns, *(part.corners for part in left)))
        lonely = {corner for corner, count in owners.items() if count == 1}
        if not lonely.isdisjoint(turns):
            return []
        kept = [part for part in left if lonely.isdisjoint(part.corners)]
        if len(kept) == len(left):
            return left
        left = kept


def _connected(parts: Sequence[_Part], turns: Mapping[Corner, int]) -> list[_Part]:
    """The parts that have corners in common with the target, or with one another and so with it: others have no say."""
    reached, apart, is_near = set(turns), list(parts), set[_Part]()
    while True:
        joining = {part for part in apart if not reached.isdisjoint(part.corners)}
        if not joining:
            return [part for part in parts if part in is_near]
        is_near |= joining
        reached.update(chain.from_iterable(part.corners for part in joining))
        apart = [part for part in apart if part not in joining]


def _average(answers: Sequence[PastAnswer]) -> Derived | None:
    """Independent answers to the same region, each by its precision."""
    if not answers:
        return None
    precision = sum(1 / answer.variance for answer in answers)
    return Derived.of([(1 / answer.variance / precision, answer) for answer in answers])


def _combined(parts: Sequence[_Part], turns: Mapping[Corner, int]) -> Derived | None:
    """The best combination of parts whose corners come to the target's; None where none does."""
    columns: dict[Corner, int] = {}
    for corner in chain(turns, *(part.corners for part in parts)):
        columns.setdefault(corner, len(columns))
    rows = np.repeat(np.arange(len(parts)), [len(part.corners) for part in parts])
    at = [columns[corner] for part in parts for corner in part.corners]
    signs = [sign for part in parts for sign in part.corners.values()]
    design = np.array([rows, at, signs], np.int32)
    variances = np.array([part.variance for part in parts])
    shares = _best_shares(design.tobytes(), variances.tobytes(), tuple(turns.values()), len(columns))
    if shares is None:
        return None
    return Derived.of(
        [
            (share * part.variance / answer.variance, answer)
            for part, share in zip(parts, shares, strict=True)
            if abs(share) > NEGLIGIBLE
            for answer in part.answers
        ]
    )


@lru_cache(DESIGNS)
def _best_shares(design: bytes, variances: bytes, turns: tuple[int, ...], columns: int) -> tuple[float, ...] | None:
    """The shares of parts, of which `design` has (row, column, sign) of each corner; the target has the first columns.

    The groups of a GROUP BY mostly stand alike to what was released, each at its own place: one solution serves them.
    """
    from discreet.refinement.linear import best_estimate  # solvers take long to import, and most answers need none

    rows, at, signs = np.frombuffer(design, np.int32).reshape(3, -1)
    noise = np.frombuffer(variances)
    matrix, target = np.zeros((len(noise), columns)), np.zeros(columns)
    matrix[rows, at], target[: len(turns)] = signs, turns
    estimate = best_estimate(matrix, noise, target)
    return None if estimate is None else tuple(estimate.coefficients.tolist())
