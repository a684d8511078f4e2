"""The differential inference theorem on a vault's own answers: noise hides a person, not a rule.

For a rule "people in this group have that value", let x people be in the group and y of them have the value. A vault
answers X and Y, with noise of known variance, and anybody divides: [buckets, Theorem 2]

    E[Y/X]   ≈ y/x · (1 + var[X]/x²) − cov[X, Y]/x²
    var[Y/X] ≈ var[Y]/x² − 2·y·cov[X, Y]/x³ + y²·var[X]/x⁴

by a Taylor expansion at (x, y). (The seed has + cov; it assumes cov = 0, which does not hold where X is the sum of the
answers that Y is one of.) The exact mean of Y/X does not exist, as X may be 0; so what is concluded of y/x is stated as
an interval, Fieller's: the θ for which Y − θ·X could be noise around 0.

Only what was released is looked at. Differential privacy does not promise to prevent this: it promises that the rule
would be as plain without any one person.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.answer.policy import deviations
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.exact import parse_exact
from discreet.query.query import Count
from discreet.release.release import Noisy, Release
from discreet.sql.where_text import where_text

MOST_CELLS = 200_000
"""Released numbers that are looked at; of more, the first."""
MOST_DRAWN = 20
LEAST_CONFIDENCE = 1e-9


def ratio_moments(
    x: float, y: float, variance_x: float, variance_y: float, covariance: float = 0.0
) -> tuple[float, float]:
    """The mean and the variance of Y/X, to second order around (x, y). Requires x ≠ 0. [buckets, Theorem 2]"""
    mean = y / x * (1 + variance_x / x**2) - covariance / x**2
    variance = variance_y / x**2 - 2 * y * covariance / x**3 + y**2 * variance_x / x**4
    return mean, variance


def ratio_interval(
    x: float, y: float, variance_x: float, variance_y: float, covariance: float, confidence: Fraction
) -> tuple[float, float]:
    """Where y/x lies, between 0 and 1: the θ with (Y − θX)² ≤ k²·var[Y − θX]. Everything where X may be 0. [Fieller]"""
    k = deviations(confidence) ** 2
    a = x * x - k * variance_x
    b = x * y - k * covariance
    c = y * y - k * variance_y
    root = b * b - a * c
    if a <= 0 or root < 0 or x <= 0:
        return 0.0, 1.0
    low, high = (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


@dataclass(frozen=True)
class ReleasedCount:
    """A released count of a box."""

    box: Box
    value: float
    variance: float
    draw: tuple[int, int]
    """The charge, and which of its measurements: other draws are independent."""


@dataclass(frozen=True)
class Rule:
    """People of `group` have a value of `attribute` among `codes`: what the answers X and Y say of it."""

    group: Box
    attribute: str
    codes: tuple[int, int]
    x: float
    y: float
    moments: tuple[float, float]
    """The mean and the variance of Y/X, by Theorem 2 with X and Y for x and y."""
    interval: tuple[float, float]

    @property
    def share(self) -> float:
        return min(max(self.y / self.x, 0.0), 1.0)


@dataclass(frozen=True)
class InferenceAttack:
    """The rules that a vault's answers let anybody state, those that surely hold for most people first."""

    rules: tuple[Rule, ...]
    threshold: float
    confidence: float
    domain: Domain
    cells: int

    @property
    def above(self) -> tuple[Rule, ...]:
        """The rules whose share is above the threshold, at the confidence."""
        return tuple(rule for rule in self.rules if rule.interval[0] >= self.threshold)

    @property
    def warns(self) -> bool:
        return bool(self.above)

    def words(self, rule: Rule) -> tuple[str, str]:
        """The group and the value of a rule, as conditions."""
        group = Region((rule.group,))
        value = self.domain.slab(rule.attribute, *rule.codes)
        everybody = group == self.domain.everything
        return "everybody" if everybody else where_text(group, self.domain), where_text(value, self.domain)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "inference",
            "threshold": self.threshold,
            "confidence": self.confidence,
            "released": self.cells,
            "above": len(self.above),
            "rules": [
                {
                    "group": self.words(rule)[0],
                    "value": self.words(rule)[1],
                    "x": rule.x,
                    "y": rule.y,
                    "share": rule.share,
                    "low": rule.interval[0],
                    "high": rule.interval[1],
                    "mean": rule.moments[0],
                    "variance": rule.moments[1],
                }
                for rule in self.rules
            ],
        }

    def plot(self, path: str | Path) -> None:
        """Draw the strongest rules with their intervals."""
        from discreet.picture.curves import intervals_picture
        from discreet.picture.save import save_picture

        drawn = self.rules[:MOST_DRAWN]
        picture = intervals_picture(
            [" → ".join(self.words(rule)) for rule in drawn],
            [rule.share for rule in drawn],
            [rule.interval for rule in drawn],
            self.threshold,
            f"Rules from the answers of {self.domain.name}",
            f"intervals at {self.confidence:.0%}",
        )
        save_picture(picture, path)


def attack_by_inference(
    releases: Iterable[Release],
    domain: Domain,
    sensitive: str | None = None,
    threshold: float = 0.5,
    confidence: float = 0.95,
) -> InferenceAttack:
    """Every rule "group → value of an attribute" that released counts of the two speak of, strongest first.

    The attribute is `sensitive`, or any. X is a count that was released for the group, or the sum of a GROUP BY over
    the attribute, whichever is the more exact. Requires releases of one table.
    """
    if not (0 < threshold <= 1 and LEAST_CONFIDENCE <= confidence < 1):
        raise UnsupportedQuery("a threshold lies between 0 and 1, and so does a confidence, as in 0.95")
    axes = [domain.axis(sensitive)] if sensitive is not None else list(range(len(domain.attributes)))
    known: dict[Box, ReleasedCount] = {}
    sums: dict[Box, ReleasedCount] = {}
    cells = 0
    for release in releases:
        for place, noisy in enumerate(release.answers):
            draw = (release.charge, place)
            if not isinstance(noisy.measurement.query, Count) or cells > MOST_CELLS:
                continue
            for answered in _answers(noisy, draw, domain):
                cells += 1
                _keep(known, answered)
            for total in _sums(noisy, draw, domain, axes):
                _keep(sums, total)
    exact = parse_exact(str(confidence))
    rules = [
        rule
        for answered in known.values()
        for axis in axes
        for rule in _rules(answered, axis, known, sums, domain, exact)
    ]
    rules.sort(key=lambda rule: (-rule.interval[0], -rule.share))
    return InferenceAttack(tuple(rules), threshold, confidence, domain, cells)


def _keep(known: dict[Box, ReleasedCount], answered: ReleasedCount) -> None:
    """Of several answers for one box, the most exact."""
    if answered.box not in known or answered.variance < known[answered.box].variance:
        known[answered.box] = answered


def _answers(noisy: Noisy, draw: tuple[int, int], domain: Domain) -> Iterator[ReleasedCount]:
    """Each released number as the count of a box; regions of several boxes are no rules."""
    query = noisy.measurement.query
    if len(query.where.boxes) != 1:
        return
    [box] = query.where.boxes
    axes = [domain.axis(name) for name in query.by]
    values, variance = noisy.values, noisy.variance
    for cell in np.ndindex(values.shape):
        low, high = list(box.low), list(box.high)
        if all(low[axis] <= code <= high[axis] for axis, code in zip(axes, cell, strict=True)):
            for axis, code in zip(axes, cell, strict=True):
                low[axis] = high[axis] = code
            yield ReleasedCount(Box(tuple(low), tuple(high)), float(values[cell]), variance, draw)


def _sums(noisy: Noisy, draw: tuple[int, int], domain: Domain, axes: list[int]) -> Iterator[ReleasedCount]:
    """The counts that come of adding up a GROUP BY along one of the attributes."""
    query = noisy.measurement.query
    for axis in axes:
        if domain.attributes[axis].name not in query.by or len(query.where.boxes) != 1:
            continue
        place = query.by.index(domain.attributes[axis].name)
        [box] = query.where.boxes
        if (box.low[axis], box.high[axis]) != (0, domain.shape[axis] - 1):
            continue
        rest = tuple(name for name in query.by if name != domain.attributes[axis].name)
        added = replace(noisy, measurement=replace(noisy.measurement, query=Count(query.where, rest)))
        units = noisy.units.sum(axis=place)
        for answered in _answers(replace(added, units=units), draw, domain):
            yield replace(answered, variance=noisy.variance * noisy.units.shape[place])


def _rules(
    answered: ReleasedCount,
    axis: int,
    known: dict[Box, ReleasedCount],
    sums: dict[Box, ReleasedCount],
    domain: Domain,
    confidence: Fraction,
) -> Iterator[Rule]:
    box = answered.box
    codes, whole = (box.low[axis], box.high[axis]), (0, domain.shape[axis] - 1)
    if codes == whole:
        return
    group = Box(
        (*box.low[:axis], whole[0], *box.low[axis + 1 :]),
        (*box.high[:axis], whole[1], *box.high[axis + 1 :]),
    )
    alone, added = known.get(group), sums.get(group)
    counted = min((found for found in (alone, added) if found is not None), key=lambda a: a.variance, default=None)
    if counted is None or counted.value <= 0:
        return
    # A sum has the answer that is divided by it among its terms.
    shared = answered.variance if counted is added and answered.draw == counted.draw else 0.0
    about = (counted.value, answered.value, counted.variance, answered.variance, shared)
    yield Rule(
        group,
        domain.attributes[axis].name,
        codes,
        counted.value,
        answered.value,
        ratio_moments(*about),
        ratio_interval(*about, confidence),
    )
