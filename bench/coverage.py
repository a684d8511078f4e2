"""How often intervals at 95% hold, and how wide they are beside the best known: 20,000 seeded draws of each kind.

The best known is the least width that holds 95% of 400,000 draws of the same noise, for whoever knows its law: for an
average, divided by the true count; for a quantile, the values that are left when the same noise is around true counts;
for chosen lines, the width that holds all lines at once exactly, which they have where their noises are independent.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bench.figure import Figure
from discreet.answer.best import best
from discreet.answer.chosen import at_once
from discreet.answer.compound import Compound
from discreet.answer.derive import derive
from discreet.answer.estimate import Estimate, released
from discreet.answer.fieller import ratio
from discreet.answer.index import Answers
from discreet.answer.past import CountBlock, PastAnswer
from discreet.answer.quantiles import Histogram, codes_within
from discreet.cube.interval import CellError, difference_halfwidth
from discreet.domain.region import Box, Region
from discreet.noise.bits import SeededBits
from discreet.noise.fieller import bounds, table
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws, Spread, gathered, halfwidth

SCALES = ("3/10", "1", "20", "500")
RUNS = 20_000
MANY = 400_000
SURE = Fraction(19, 20)
LARGEST = 99
"""The largest value that a row can add to a sum."""
CODES = 401
LINES, SHOWN = 500, 5
EVERYBODY = Region((Box((0,), (7,)),))


@dataclass(frozen=True)
class Coverage:
    """How often intervals held, and at most should: as often as the shortest ones in whole numbers that reach 95%, or
    98%. Their mean width, and the best known one."""

    held: float
    most: float
    width: float
    best: float


def drawn(draws: Spread, runs: int, bits: SeededBits) -> np.ndarray:
    """So many sums of these draws."""
    return sum(d.weight * d.law.sample(runs * d.count, bits).reshape(runs, -1).sum(axis=1) for d in draws)


def least(errors: np.ndarray) -> tuple[float, float]:
    """The least width that holds 95% of some errors, and how many the whole one above it holds."""
    width = float(np.sort(np.abs(errors))[math.ceil(0.95 * len(errors)) - 1])
    return width, max(0.98, float(np.mean(np.abs(errors) <= math.ceil(width - 1e-9) + 1e-9)))


def _of(draws: Spread, runs: int, bits: SeededBits) -> Coverage:
    best, most = least(drawn(draws, MANY, bits))
    half = halfwidth(draws, SURE)
    return Coverage(float(np.mean(np.abs(drawn(draws, runs, bits)) <= half)), most, half, best)


def measured(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    return _of((Draws(1.0, Laplace(scale)),), runs, bits)


def _past(scale: Fraction) -> tuple[Answers, dict[tuple[int, int], Laplace], list[PastAnswer]]:
    """Counts of everybody, of two halves and of a part of one, with different noise."""
    past, laws, answers = Answers((8,)), {}, []
    for charge, (low, high, times) in enumerate([(0, 7, "3/2"), (0, 3, "1"), (4, 7, "1"), (6, 7, "4/5")]):
        source, law = (charge, 0), Laplace(scale * Fraction(times))
        laws[source] = law
        answers.append(PastAnswer(Region((Box((low,), (high,)),)), 0.0, law.variance, source))
        past.add(answers[-1])
    return past, laws, answers


def derived(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    """Everybody, from their own count and from the sum of two halves."""
    past, laws, _ = _past(scale)
    found = derive(EVERYBODY, past)
    assert found is not None
    return _of(released(found.terms, "derived", EVERYBODY, past, laws.__getitem__).draws, runs, bits)


def relaxed(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    """A compound: two halves less a part."""
    past, laws, (_, first, second, part) = _past(scale)
    compound = Compound((first, second), (part,), Box((0,), (5,)))
    answered = Region((compound.difference,))
    return _of(released(compound.terms, "relaxed", answered, past, laws.__getitem__).draws, runs, bits)


def _people(scale: Fraction) -> tuple[int, int]:
    """Of an average: how many there are, and the sum of their values."""
    rows = 100 + round(40 * scale)
    return rows, rows * LARGEST * 2 // 5


def averages(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    """AVG: a measured sum over a measured count."""
    rows, total = _people(scale)
    laws = Laplace(scale * LARGEST), Laplace(scale)
    sums, counts = total + laws[0].sample(runs, bits), rows + laws[1].sample(runs, bits)
    place = Region((Box((0,), (0,)),))
    found = [
        ratio(
            Estimate(value, laws[0].variance, "measured", place, (Draws(1.0, laws[0]),)),
            Estimate(count, laws[1].variance, "measured", place, (Draws(1.0, laws[1]),)),
            SURE,
            0.0,
            float(LARGEST),
        )
        for value, count in zip(sums.tolist(), counts.tolist(), strict=True)
    ]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    return _of_average(low, high, rows, total, ((Draws(1.0, laws[0]),), (Draws(1.0, laws[1]),)), bits)


def _of_average(
    low: np.ndarray, high: np.ndarray, rows: int, total: int, draws: tuple[Spread, Spread], bits: SeededBits
) -> Coverage:
    mean = total / rows
    best, most = least(drawn(draws[0], MANY, bits) - mean * drawn(draws[1], MANY, bits))
    held = np.mean((low <= mean) & (mean <= high))
    return Coverage(float(held), most, float(np.mean(high - low)) / 2, best / rows)


def ratios(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    """The averages of two cubes, whose cells are sums of four draws."""
    rows, total = _people(scale)
    draws = (Draws(1.0, Laplace(scale * LARGEST), 4),), (Draws(1.0, Laplace(scale), 4),)
    errors = [CellError(one[0].variance, Fraction(one[0].law.scale), Fraction(1), one) for one in draws]
    entries = table(-LARGEST, LARGEST, lambda mean: difference_halfwidth(errors[0], errors[1], mean, 0.95), 1.0)
    sums, counts = (start + drawn(one, runs, bits) for start, one in zip((total, rows), draws, strict=True))
    low, high = bounds(sums, counts, counts - halfwidth(draws[1], SURE), *entries)
    return _of_average(low, high, rows, total, draws, bits)


def medians(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    """A median of values, from released counts by value, each about as large as the noise."""
    level, law, one = Fraction(1, 2), Laplace(scale), np.ones(CODES, np.int64)
    counts = np.full(CODES, max(round(scale), 1))
    true = CODES // 2
    found = np.array(
        [
            codes_within(level, Histogram(counts + noise, one, law), SURE)
            for noise in law.sample(runs * CODES, bits).reshape(runs, CODES)
        ]
    )
    first, last = codes_within(level, Histogram(counts, one, law), SURE)
    held = np.mean((found[:, 0] <= true) & (true <= found[:, 1]))
    return Coverage(float(held), 0.98, float(np.mean(found[:, 1] - found[:, 0] + 1)), last - first + 1)


def chosen(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
    """ORDER BY n DESC LIMIT 5 of 500 lines, most of them empty: all five at once."""
    law = Laplace(scale)
    true = np.where(np.arange(LINES) % 20 == 0, round(3 * scale), 0)
    half, best = law.halfwidth(at_once(SURE, LINES)), law.halfwidth(Fraction(0.95 ** (1 / LINES)))
    held = 0
    for part in np.array_split(np.arange(runs), max(runs // 1000, 1)):
        noise = law.sample(len(part) * LINES, bits).reshape(-1, LINES)
        top = np.argpartition(-(true + noise), SHOWN, axis=1)[:, :SHOWN]
        held += int((np.abs(np.take_along_axis(noise, top, axis=1)) <= half).all(axis=1).sum())
    return Coverage(held / runs, 1.0, half, best)


SIDES = (4, 6)
"""Codes of two attributes in the table that a cube is published of."""


def _released(scale: Fraction, parts: bool) -> tuple[Answers, dict[tuple[int, int], Laplace]]:
    """A cube of two attributes, all of its cuboids measured; with `parts`, answers to questions with a WHERE too."""
    past, laws = Answers(SIDES), {}
    whole = Box((0, 0), (3, 5))
    for place, by in enumerate([(), (0,), (1,), (0, 1)]):
        laws[1, place] = law = Laplace(scale * (1 + place))
        if by:
            past.add(CountBlock(whole, by, np.zeros([SIDES[axis] for axis in by], np.int64), law.variance, (1, place)))
        else:
            past.add(PastAnswer(Region((whole,)), 0.0, law.variance, (1, place)))
    past.cubes.add(1)
    for charge, box in enumerate([Box((0, 0), (1, 3)), Box((1, 2), (2, 5))] if parts else [], 2):
        laws[charge, 0] = law = Laplace(scale * 2)
        past.add(PastAnswer(Region((box,)), 0.0, law.variance, (charge, 0)))
    return past, laws


def _weights(target: Box, past: Answers, laws: dict[tuple[int, int], Laplace]) -> tuple[Spread, Spread]:
    """The draws in the public number of a box, one by one: what it becomes when one released number is 1 and all others
    are 0; and how its interval is made."""

    def number(values: list[np.ndarray]) -> float:
        again = Answers(SIDES)
        for one, own in zip(listed, values, strict=True):
            again.add(replace(one, values=own) if isinstance(one, CountBlock) else replace(one, value=float(own)))
        again.cubes |= past.cubes
        [found] = best([((1, target),)], again, laws.__getitem__)
        assert found is not None
        return found.value

    listed = [*past.groups.blocks, *(answer for one in past.regions for answer in one.answers)]
    zeros = [np.zeros(one.values.shape if isinstance(one, CountBlock) else (), np.int64) for one in listed]
    draws = []
    for place, one in enumerate(listed):
        for cell in np.ndindex(zeros[place].shape):
            values = [own.copy() for own in zeros]
            values[place][cell] = 1
            draws.append(Draws(number(values), laws[one.source]))
    [found] = best([((1, target),)], past, laws.__getitem__)
    assert found is not None
    return gathered(draws), found.draws


def _after_a_cube(target: Box, parts: bool) -> Callable[[Fraction, int, SeededBits], Coverage]:
    def coverage(scale: Fraction, runs: int, bits: SeededBits) -> Coverage:
        past, laws = _released(scale, parts)
        draws, said = _weights(target, past, laws)
        best_known, most = least(drawn(draws, MANY // 4, bits))
        half = halfwidth(said, SURE)
        return Coverage(float(np.mean(np.abs(drawn(draws, runs, bits)) <= half)), most, half, best_known)

    return coverage


KINDS: dict[str, Callable[[Fraction, int, SeededBits], Coverage]] = {
    "measured": measured,
    "derived": derived,
    "relaxed": relaxed,
    "averages": averages,
    "ratios": ratios,
    "medians": medians,
    "after a cube, a cell": _after_a_cube(Box((1, 2), (1, 2)), False),
    "after a cube, a line": _after_a_cube(Box((1, 0), (1, 5)), False),
    "after a cube and answers, a cell": _after_a_cube(Box((1, 2), (1, 2)), True),
    "after a cube and answers, a box": _after_a_cube(Box((0, 1), (1, 3)), True),
    "chosen lines": chosen,
}


def covered(kind: str, scale: str, runs: int = RUNS) -> Coverage:
    return KINDS[kind](Fraction(scale), runs, SeededBits(18))


def figures() -> Iterator[Figure]:
    for kind in KINDS:
        found = {float(Fraction(scale)): covered(kind, scale) for scale in SCALES}
        held = ", ".join(f"{one.held:.2%} at {scale:g}" for scale, one in found.items())
        yield Figure(f"{kind}: least coverage", min(one.held for one in found.values()), 0.945, "higher", "", held)
        over = max(one.held - one.most for one in found.values())
        most = ", ".join(f"{one.most:.2%} at {scale:g}" for scale, one in found.items())
        if kind != "chosen lines":
            yield Figure(f"{kind}: coverage above the most", over, 0.0, "lower", "", f"the most: {most}")
        wide = max(one.width / one.best if one.best else 1.0 + one.width for one in found.values())
        widths = ", ".join(f"{one.width:.4g} / {one.best:.4g}" for one in found.values())
        yield Figure(f"{kind}: width", wide, 1.1, "lower", "× best known", widths)
