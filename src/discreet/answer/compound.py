"""Compounds: sums and differences of released counts that add up to the count of one box [relaxation, Section 4]."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from discreet.answer.index import distance
from discreet.answer.past import PastAnswer
from discreet.domain.region import Box

Side = Literal["plus", "minus"]


@dataclass(frozen=True)
class Metric:
    """How far an answered box is from the asked one, by the weight of each axis [relaxation, Definition 8]."""

    shape: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.shape) or not all(0 < weight < float("inf") for weight in self.weights):
            raise ValueError(f"{len(self.shape)} axes need as many weights, each a positive number")

    @classmethod
    def even(cls, shape: tuple[int, ...]) -> "Metric":
        return cls(shape, (1.0,) * len(shape))

    @cached_property
    def step(self) -> tuple[float, ...]:
        """The error of one face that is one code off. An axis with a single code has nothing to be off by."""
        return tuple(
            weight / (len(self.shape) * (size - 1)) if size > 1 else 0.0
            for weight, size in zip(self.weights, self.shape, strict=True)
        )

    def error(self, asked: Box, answered: Box) -> float:
        """The relaxation error [relaxation, Equation 13]."""
        return distance(asked, answered, self.step)


@dataclass(frozen=True)
class Compound:
    """Released counts to add and to subtract: over every point of `difference` they come to 1, elsewhere to 0.

    No measurement takes part twice, so that their noises are independent [relaxation, Definition 7, Lemma 4].
    """

    plus: tuple[PastAnswer, ...]
    minus: tuple[PastAnswer, ...]
    difference: Box

    @classmethod
    def of(cls, answer: PastAnswer) -> "Compound":
        return cls((answer,), (), answer.box)

    @property
    def size(self) -> int:
        return len(self.plus) + len(self.minus)

    @property
    def terms(self) -> tuple[tuple[float, PastAnswer], ...]:
        return (*((1.0, answer) for answer in self.plus), *((-1.0, answer) for answer in self.minus))

    @property
    def value(self) -> float:
        """The synthetic answer: no bias for the count of `difference` [relaxation, Equation 12]."""
        return sum(answer.value for answer in self.plus) - sum(answer.value for answer in self.minus)

    @property
    def variance(self) -> float:
        return sum(answer.variance for answer in (*self.plus, *self.minus))

    def patched(self, answer: PastAnswer, side: Side, difference: Box) -> "Compound":
        if side == "plus":
            return Compound((*self.plus, answer), self.minus, difference)
        return Compound(self.plus, (*self.minus, answer), difference)


def patch_check(difference: Box, patch: Box, asked: Box, metric: Metric) -> tuple[Side, Box] | None:
    """On which side a count of `patch` brings a compound nearer to the asked box, and its new difference region.

    None where it is no patch. [relaxation, Figure 6]
    """
    if (grown := joined(difference, patch)) is not None:
        side: Side = "plus"
        after = grown
    elif (shrunk := without(difference, patch)) is not None:
        side, after = "minus", shrunk
    else:
        return None
    return (side, after) if metric.error(asked, after) < metric.error(asked, difference) else None


def joined(one: Box, two: Box) -> Box | None:
    """The union of two disjoint boxes, where it is a box: they touch along one axis and agree on the others."""
    axis = _odd_axis(one, two)
    if axis is None or (one.high[axis] + 1 != two.low[axis] and two.high[axis] + 1 != one.low[axis]):
        return None
    return Box(tuple(map(min, one.low, two.low)), tuple(map(max, one.high, two.high)))


def without(whole: Box, part: Box) -> Box | None:
    """What is left of a box without a part of it, where it is a box: the part reaches one end of one axis."""
    axis = _odd_axis(whole, part)
    if axis is None or not whole.covers(part):
        return None
    if part.low[axis] == whole.low[axis]:
        return Box((*whole.low[:axis], part.high[axis] + 1, *whole.low[axis + 1 :]), whole.high)
    if part.high[axis] == whole.high[axis]:
        return Box(whole.low, (*whole.high[:axis], part.low[axis] - 1, *whole.high[axis + 1 :]))
    return None


def _odd_axis(one: Box, two: Box) -> int | None:
    """The only axis on which two boxes differ."""
    odd = [
        axis
        for axis, (a, b, c, d) in enumerate(zip(one.low, one.high, two.low, two.high, strict=True))
        if a != c or b != d
    ]
    return odd[0] if len(odd) == 1 else None
