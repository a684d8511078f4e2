"""Small domains, and facts on them."""

from collections.abc import Sequence

import numpy as np

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.facts.facts import CountFact, CuboidFact, count_fact, cuboid_fact
from discreet.query.query import Combination, Count


def small_domain(*sizes: int, total: bool = True) -> Domain:
    """Attributes a, b, c … with so many codes each; `total` has a code for whatever a row holds."""
    outside, null = ("clamp", True) if total else ("drop", False)
    pairs = zip("abcdefgh", sizes, strict=False)
    return Domain(
        "t",
        tuple(
            Integer(name=name, source="test", low=0, high=size - 1 - null, outside=outside, null=null)
            for name, size in pairs
        ),
    )


def cuboid(domain: Domain, by: str, values: object = 0, table: int = 0) -> CuboidFact:
    """The cuboid with these one-letter attributes."""
    shape = tuple(domain[name].size for name in by)
    made = cuboid_fact(tuple(by), np.broadcast_to(np.asarray(values, np.int64), shape), domain)
    return CuboidFact(made.by, made.values, made.text, table=table)


def count(domain: Domain, *terms: tuple[int, Sequence[tuple[int, int]]], value: int = 0, table: int = 0) -> CountFact:
    """Σ times × the count of a box, given as (low, high) for each axis."""
    counts = tuple(
        (times, Count(Region((Box(tuple(low for low, _ in box), tuple(high for _, high in box)),))))
        for times, box in terms
    )
    made = count_fact(Combination(counts), value, domain)
    return CountFact(made.terms, made.value, made.text, table=table)
