"""The public, growing set of released answers, with an index for each way in which they are looked for."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

from discreet.answer.groups import Groups
from discreet.answer.joint import JointSystem, Part
from discreet.answer.labelled import LabelledBlock
from discreet.answer.links import Links
from discreet.answer.nearest import NearestBoxes
from discreet.answer.parts import MOST_SORTED, exact_marginals, is_everything, joint_of, marginals_in, part_of
from discreet.answer.past import CountBlock, PastAnswer
from discreet.answer.residuals import ResidualRelease
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.marginals import Marginals

if TYPE_CHECKING:
    from discreet.facts.facts import Fact

Corner = int
"""A point by its place in the domain, the last axis running fastest: much quicker to look up than its codes."""

MOST_CORNERS = 64
"""A region with more corners than this is found as a whole, not as a part of another one."""


def corners(region: Region, shape: tuple[int, ...]) -> dict[Corner, int] | None:
    """A region's indicator, differenced once along every axis: where it is not 0, and what it is there.

    Differencing can be undone, so regions combine into another one exactly where their corners do. An interval
    low … high of an axis has +1 at low and −1 at high+1, which falls off the end where high is the last code: so a box
    has at most 2^k corners, k the number of axes that restrict it. None where its boxes have more than MOST_CORNERS.
    """
    found: dict[Corner, int] = {}
    left = MOST_CORNERS
    for box in region.boxes:
        turns = _corners_of(box, shape, left)
        if turns is None:
            return None
        if len(region.boxes) == 1:
            return dict(turns)
        left -= len(turns)
        for at, turn in turns:
            found[at] = found.get(at, 0) + turn
    return {corner: amount for corner, amount in found.items() if amount}


def _corners_of(box: Box, shape: tuple[int, ...], most: int) -> list[tuple[Corner, int]] | None:
    """Those of one box, from its first point on; None where they are more than `most`."""
    first, widths, stride = 0, [], 1
    for low, high, size in zip(reversed(box.low), reversed(box.high), reversed(shape), strict=True):
        first += low * stride
        if high + 1 < size:
            widths.append((high + 1 - low) * stride)
        stride *= size
    if 1 << len(widths) > most:
        return None
    turns = [(first, 1)]
    for width in reversed(widths):
        turns += [(at + width, -turn) for at, turn in turns]
    return turns


@dataclass(eq=False, slots=True)
class Answered:
    """A region and all independent answers to it, least variance first; they act as their average.

    There are very many in a vault with a long history, and few of them are looked at: the rest is made for those.
    """

    where: Region
    shape: tuple[int, ...]
    answers: tuple[PastAnswer, ...]
    number: int = -1
    """In the order in which regions were first answered; of what is not among them, none."""
    _corners: Mapping[Corner, int] | None = None
    _averaged: tuple[tuple[PastAnswer, ...], float] = ((), inf)
    """Some answers, and the variance of their average."""

    @property
    def corners(self) -> Mapping[Corner, int]:
        """Of the region; none where they are too many."""
        if self._corners is None:
            self._corners = corners(self.where, self.shape) or {}
        return self._corners

    @property
    def variance(self) -> float:
        """Of the average by precision."""
        answers, variance = self._averaged
        if answers is not self.answers:
            answers = self.answers
            variance = 1 / sum(1 / answer.variance for answer in answers)
            self._averaged = answers, variance
        return variance

    def add(self, answer: PastAnswer) -> None:
        """One more answer, behind those that are as sharp."""
        place = bisect_right(self.answers, answer.variance, key=lambda other: other.variance)
        self.answers = (*self.answers[:place], answer, *self.answers[place:])


class Answers:
    """Released answers over a domain of this shape. They are added one at a time, and found without a scan.

    Every index only ever grows, and an answer enters it complete: readers need no lock, and see each answer whole or
    not at all.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.groups = Groups(len(shape))
        self.residuals: list[ResidualRelease] = []
        self.cubes: set[int] = set()
        """Charges that measured several tables of everything at once."""
        self.labelled: list[LabelledBlock] = []
        """Tables of groups of expressions. Their numbers are among the regions too, from when those are looked at."""
        self._waiting: list[LabelledBlock] = []
        self.has_single_regions = False
        """Whether there are others than those of tables of groups."""
        self._writing = Lock()
        self._answered: dict[Region, Answered] = {}
        self._boxes: list[Box] = []
        self._in_lines = 0
        """So many of them are among the next two."""
        self._starting: dict[tuple[int, ...], list[Box]] = defaultdict(list)
        self._ending: dict[tuple[int, ...], list[Box]] = defaultdict(list)
        self._numbered: list[Answered] = []
        self._sharpest: list[tuple[float, int]] = []
        """Variances and numbers of the first regions that are not everything, the least variance first."""
        self._parts: dict[int, Part] = {}
        self._changed: set[int] = set()
        """The numbers of those regions that were answered since the last two were made."""
        self._links = Links()
        self._precision: dict[Corner, float] = defaultdict(float)
        self._nearest: dict[tuple[float, ...], NearestBoxes] = {}
        self._marginals = Marginals(shape)
        self._facts: tuple[Fact, ...] = ()
        self._joint: JointSystem | None = None
        self._simpler: tuple[JointSystem, list[JointSystem]] | None = None

    def know(self, facts: "tuple[Fact, ...]", domain: Domain) -> None:
        """Take these for all facts that there are."""
        with self._writing:
            if [fact.number for fact in facts] != [fact.number for fact in self._facts]:
                self._facts, self._joint = facts, None
                noisy = [table for table in self._marginals.tables if table.variance]
                self._marginals = Marginals(self.shape).joined(*noisy, *exact_marginals(facts, domain))

    @property
    def joint(self) -> JointSystem:
        """Everything that is public about this quantity, ready for estimates. Made again when there is more."""
        self._spread()
        joint = self._joint
        if joint is None:
            with self._writing:
                self._sort_in_changed()
                asked, sharpest = len(self._sharpest), (self._parts[number] for _, number in self._sharpest)
                joint = self._joint = joint_of(self._marginals, asked, sharpest, self.groups.blocks, self._facts)
        return joint

    @property
    def simpler(self) -> list[JointSystem]:
        """Each cube with nothing but facts, where there is more: its numbers were published with their widths."""
        joint = self.joint
        if self._simpler is None or self._simpler[0] is not joint:
            exact, tables = joint.marginals.exact, joint.marginals.tables
            found = []
            for charge in sorted(self.cubes):
                own = tuple(table for table in tables if table.source[0] == charge and table.variance)
                if own and (joint.parts or len(own) + len(exact) < len(tables)):
                    found.append(JointSystem(Marginals(self.shape, (*own, *exact)), ()))
            self._simpler = joint, found
        return self._simpler[1]

    def add(self, released: PastAnswer | CountBlock | LabelledBlock | ResidualRelease) -> None:
        """Requires an answer that was released: from here on it may be shown to anybody."""
        with self._writing:
            if isinstance(released, LabelledBlock):
                self._joint = None
                self.labelled.append(released)
                self._waiting.append(released)
                return
            self._spread_now()  # in the order in which they were released
            self._join(released)
            if isinstance(released, ResidualRelease):
                self.residuals.append(released)
            elif isinstance(released, CountBlock):
                self.groups.add(released)
            else:
                self.has_single_regions = True
                self._add_region(released)

    def _spread(self) -> None:
        """Have the numbers of all tables among the regions."""
        if self._waiting:
            with self._writing:
                self._spread_now()

    def _spread_now(self) -> None:
        for block in self._waiting:
            for answer in block.answers():
                self._join(answer)
                self._add_region(answer)
        self._waiting = []  # whoever finds it empty finds all of them

    def _add_region(self, released: PastAnswer) -> None:
        known = self._answered.get(released.where)
        if known is None:
            self._index(released)
            return
        self._weigh(known.corners, released)
        known.add(released)
        self._note_change(known)

    def _note_change(self, answered: Answered) -> None:
        if answered.number < MOST_SORTED:
            self._changed.add(answered.number)

    def _sort_in_changed(self) -> None:
        """Among those that estimates are made of, as what they say by now."""
        for number in self._changed:
            answered, before = self._numbered[number], self._parts.pop(number, None)
            if before is not None:
                del self._sharpest[bisect_left(self._sharpest, (before.variance, number))]
            if not is_everything(answered.where, self._marginals):
                insort(self._sharpest, (answered.variance, number))
                self._parts[number] = part_of(answered, self._marginals)
        self._changed = set()

    def _join(self, released: PastAnswer | CountBlock | ResidualRelease) -> None:
        """Into the marginals, where it is of everything."""
        self._joint = None
        found = list(marginals_in(released, self.shape))
        if found:
            self._marginals = self._marginals.joined(*found)

    def _weigh(self, at: Mapping[Corner, int], answer: PastAnswer) -> None:
        """Before it can be found: readers see too much precision rather than too little."""
        for corner, turn in at.items():
            self._precision[corner] += turn * turn / answer.variance

    def _index(self, answer: PastAnswer) -> None:
        where, at = answer.where, corners(answer.where, self.shape) or {}
        answered = Answered(where, self.shape, (answer,), len(self._numbered))
        self._weigh(at, answer)
        self._answered[where] = answered
        self._numbered.append(answered)
        self._note_change(answered)
        self._links.add(at)
        if len(where.boxes) == 1:
            self._index_box(where.boxes[0])

    def _index_box(self, box: Box) -> None:
        self._boxes.append(box)
        for nearest in self._nearest.values():
            nearest.add(box)

    @property
    def regions(self) -> list[Answered]:
        """Every region that was answered as a whole, in the order in which they were first answered."""
        self._spread()
        return list(self._answered.values())

    def answered(self, where: Region) -> Answered | None:
        self._spread()
        return self._answered.get(where)

    def same(self, where: Region) -> tuple[PastAnswer, ...]:
        """The answers to this very region, least variance first."""
        self._spread()
        known = self._answered.get(where)
        return () if known is None else known.answers

    def measured(self, where: Region) -> PastAnswer | None:
        """The sharpest number that was asked for as this very region, alone or as a group; none of a cube's, whose
        cells were not asked for one by one."""
        found = list(self.same(where)[:1])
        if len(where.boxes) == 1:
            box = where.boxes[0]
            found += [
                block.total(box)
                for block in self.groups.aligned(box)
                if block.source[0] not in self.cubes and all(box.low[axis] == box.high[axis] for axis in block.by)
            ]
        return min(found, key=lambda answer: answer.variance, default=None)

    def precision(self, corner: Corner) -> float:
        """1/variance of all answers to regions with a corner here, times the squares of what they have there; 0 where
        there are none."""
        self._spread()
        return self._precision.get(corner, 0.0)

    def linked(self, start: Iterable[Corner], most: int, useful: bool = False) -> list[Answered]:
        """Answered regions that hang together with some corners, nearest first: see `Links`."""
        self._spread()
        return [self._numbered[number] for number in self._links.linked(start, most, useful)]

    def nearest(self, asked: Box, step: tuple[float, ...], count: int = 1) -> list[PastAnswer]:
        """The answers whose boxes are nearest: |low − low'| + |high − high'| times the axis's step, over all axes.

        Nearest first, one for each box; ties go to the lower variance. The nearest sum of a GROUP BY's groups is an
        answer too, and what a release's residuals make.
        """
        self._spread()
        found = list(self.same(Region((asked,)))[:1])
        if not found:
            found = [self._best(self._boxes[number]) for number in self._nearest_by(step).closest(asked, count)]
        from_groups = self.groups.nearest(asked, step)
        made = (from_groups, *(together.nearest(asked, step) for together in self.residuals))
        found += [answer for answer in made if answer is not None]
        return sorted(found, key=lambda answer: (distance(asked, answer.box, step), answer.variance))[:count]

    def beside(self, box: Box) -> Iterator[PastAnswer]:
        """Counts that share a whole face with a box, from outside or from inside: the only ones that can patch it.

        On every axis but one they have the box's own interval, so that the face is a key: at most as many answers are
        seen for a face as its axis has codes.
        """
        self._spread()
        self._line_up()
        for axis, (low, high) in enumerate(zip(box.low, box.high, strict=True)):
            for lines, end in (
                (self._starting, high + 1),
                (self._ending, low - 1),
                (self._starting, low),
                (self._ending, high),
            ):
                for neighbour in lines.get(_line(box, axis, end), ()):
                    yield self._best(neighbour)

    def _line_up(self) -> None:
        """Have the faces of all boxes, which are many and of use to those alone who look for what lies beside one."""
        if self._in_lines == len(self._boxes):
            return
        with self._writing:
            for box in self._boxes[self._in_lines :]:
                for axis, size in enumerate(self.shape):
                    # As wide as the domain on this axis, it lies neither beside another box there nor strictly inside.
                    if box.high[axis] - box.low[axis] + 1 < size:
                        self._starting[_line(box, axis, box.low[axis])].append(box)
                        self._ending[_line(box, axis, box.high[axis])].append(box)
            self._in_lines = len(self._boxes)

    def _best(self, box: Box) -> PastAnswer:
        return self._answered[Region((box,))].answers[0]

    def _nearest_by(self, step: tuple[float, ...]) -> NearestBoxes:
        if step not in self._nearest:
            with self._writing:
                nearest = NearestBoxes(step)
                for box in self._boxes:
                    nearest.add(box)
                self._nearest.setdefault(step, nearest)
        return self._nearest[step]


def distance(one: Box, two: Box, step: tuple[float, ...]) -> float:
    """How far apart the faces of two boxes are, each axis times its step."""
    return sum(
        unit * (abs(a - c) + abs(b - d))
        for unit, a, b, c, d in zip(step, one.low, one.high, two.low, two.high, strict=True)
    )


def _line(box: Box, axis: int, end: int) -> tuple[int, ...]:
    """An end on one axis, and the box's intervals on all others."""
    return (axis, end, *box.low[:axis], *box.low[axis + 1 :], *box.high[:axis], *box.high[axis + 1 :])
