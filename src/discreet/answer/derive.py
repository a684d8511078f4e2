"""Answers from answers: the best unbiased combination of released measurements that makes up a region.

It goes beyond the paper's compounds: a compound is one such combination, with coefficients ±1; here every way to make
up the region has its share, so that the variance is never above the compound's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.answer.index import Answered, Answers, Corner, corners
from discreet.answer.past import PastAnswer
from discreet.domain.region import Region

MOST_REGIONS = 128
"""At most this many answered regions are combined: those that are the fewest shared corners away from the target."""

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


def derive(
    target: Region, past: Answers, known: Sequence[PastAnswer] = (), most_regions: int = MOST_REGIONS
) -> Derived | None:
    """The least-variance unbiased estimate of a region's count from released answers, or None where none is found.

    Every answer to the region itself has a share in it, every GROUP BY whose groups make up the region, and every
    sum, difference or other linear combination of answered regions and such groups that comes to it. `known` are
    answers that are certainly looked at: given a compound's own, a result is never worse than the compound.

    What it misses, for the work to be bounded: combinations that need more than `most_regions` regions or a region
    with more than MOST_CORNERS corners, and groups outside the target.
    """
    if not target:
        return Derived.of(())
    turns = corners(target, past.shape)
    if turns is None:
        return _average(_answers_to(target, past))
    given = [_part_with(answer, past) for answer in (*past.same(target)[:1], *known)]
    if not all(part.corners for part in given):
        return None
    given += _from_groups(target, past, known, most_regions)
    reached = {corner for part in given for corner in part.corners}
    if not all(corner in reached or past.crowd(corner) for corner in turns):
        return None
    near = linked(reached.union(turns), past, most_regions)
    useful = _peeled([*dict.fromkeys([*given, *near])], turns)
    if all(part.corners == turns for part in useful):
        return _average([answer for part in useful for answer in part.answers])
    return _combined(useful, turns)


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


def _from_groups(target: Region, past: Answers, known: Sequence[PastAnswer], most: int) -> list[Answered]:
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
    return [_single(block.total(inside), past) for block, inside in found[:most]]


def _part_with(answer: PastAnswer, past: Answers) -> Answered:
    """All answers to the region of a released one; a sum of groups stays by itself."""
    known = past.answered(answer.where)
    return known if known is not None and answer in known.answers else _single(answer, past)


def _single(answer: PastAnswer, past: Answers) -> Answered:
    return Answered(answer.where, corners(answer.where, past.shape) or {}, (answer,))


def linked(start: set[Corner], past: Answers, most: int) -> list[Answered]:
    """Answered regions that have corners in common with the start, or with one another, nearest first.

    Of many at the same distance, those on the corners with the fewest regions come first: there is the least choice. A
    region with a corner that nothing else has is left out: nothing could cancel it.
    """
    found: list[Answered] = []
    met: set[Answered] = set()
    seen, frontier = set(start), start
    while frontier and len(found) < most:
        links = Counter[Answered]()
        for corner in sorted(frontier, key=past.crowd):
            links.update(part for part in past.at(corner, most) if part not in met)
            if len(links) >= most:
                break
        met.update(links)
        before = len(found)
        for part, _ in links.most_common():
            if len(found) < most and all(corner in start or past.crowd(corner) > 1 for corner in part.corners):
                found.append(part)
        frontier = {corner for part in found[before:] for corner in part.corners} - seen
        seen |= frontier
    return found


def _peeled(parts: Sequence[Answered], turns: Mapping[Corner, int]) -> list[Answered]:
    """The parts that can have a share: again and again without those with a corner that no other part has.

    None at all where the target itself has such a corner.
    """
    owners = dict.fromkeys(turns, 1)
    for part in parts:
        for corner in part.corners:
            owners[corner] = owners.get(corner, 0) + 1
    left = list(parts)
    while True:
        lonely = {part for part in left if any(owners[corner] == 1 for corner in part.corners)}
        if not lonely:
            return left if all(owners[corner] > 1 for corner in turns) else []
        for part in lonely:
            for corner in part.corners:
                owners[corner] -= 1
        left = [part for part in left if part not in lonely]


def _average(answers: Sequence[PastAnswer]) -> Derived | None:
    """Independent answers to the same region, each by its precision."""
    if not answers:
        return None
    precision = sum(1 / answer.variance for answer in answers)
    return Derived.of([(1 / answer.variance / precision, answer) for answer in answers])


def _combined(parts: Sequence[Answered], turns: Mapping[Corner, int]) -> Derived | None:
    """The best combination of parts whose corners come to the target's; None where none does."""
    from scipy import sparse  # solvers take long to import, and most answers need none

    from discreet.facts.linear import best_estimate

    columns: dict[Corner, int] = {}
    for corner in (*turns, *(corner for part in parts for corner in part.corners)):
        columns.setdefault(corner, len(columns))
    entries = [(row, columns[corner], sign) for row, part in enumerate(parts) for corner, sign in part.corners.items()]
    rows, at, signs = zip(*entries, strict=True)
    matrix = sparse.csr_array((np.array(signs, dtype=np.float64), (rows, at)), shape=(len(parts), len(columns)))
    target = np.zeros(len(columns))
    target[: len(turns)] = list(turns.values())
    estimate = best_estimate(matrix, np.array([part.variance for part in parts]), target)
    if estimate is None:
        return None
    return Derived.of(
        [
            (float(share) * part.variance / answer.variance, answer)
            for part, share in zip(parts, estimate.coefficients, strict=True)
            if abs(share) > NEGLIGIBLE
            for answer in part.answers
        ]
    )
