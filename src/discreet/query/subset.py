"""Subsets of a public roster: the q of SuLQ's queries (q, g). Nothing in here depends on a table.

A seed and a rate name the same people wherever the roster is the same, so two parties share a subset by sharing two
numbers; no list travels. Which people that are is computed in `table/roster.py`, from their record ids alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import UnsupportedQuery
from discreet.exact import Number, parse_exact

LARGEST_SEED = 2**64 - 1
MOST_SUBSETS = 1 << 20
"""One query names at most so many subsets, and a list at most so many people."""
SHAPES = '"everyone", a pair (seed, rate) such as (7, "1/2"), or a list of record ids'


@dataclass(frozen=True, slots=True)
class Everyone:
    """The whole roster."""

    def __str__(self) -> str:
        return "everyone"


@dataclass(frozen=True, slots=True)
class Seeded:
    """Each person of the roster with probability `rate`, by a public mix of the seed and the record id."""

    seed: int
    rate: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LARGEST_SEED:
            raise UnsupportedQuery("a subset's seed is a whole number from 0 to 2^64 − 1")
        if not 0 < self.rate <= 1:
            raise UnsupportedQuery("a subset's rate is a share of the roster, above 0 and at most 1, as in 1/2")

    def __str__(self) -> str:
        return f"seed {self.seed}, rate {self.rate}"


@dataclass(frozen=True, slots=True)
class Listed:
    """These people, by their record ids; ids outside the roster are nobody's, and count 0."""

    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.ids) > MOST_SUBSETS:
            raise UnsupportedQuery(f"a list names at most {MOST_SUBSETS:,} people; name more by a seed and a rate")

    def __str__(self) -> str:
        return f"a list of {len(self.ids):,}"


Subset = Everyone | Seeded | Listed


def subset_of(subset: object) -> Subset:
    """The subset that somebody means: SHAPES says how. Raises UnsupportedQuery where it is none of them."""
    match subset:
        case Everyone() | Seeded() | Listed():
            return subset
        case "everyone":
            return Everyone()
        case (seed, rate) if isinstance(subset, tuple):
            return Seeded(_seed(seed), _rate(rate))
        case list() | set() | frozenset() | range():
            return Listed(tuple(_ids(subset)))
    raise UnsupportedQuery(f"a subset is {SHAPES}")


def subset_to_json(subset: Subset) -> Any:
    match subset:
        case Everyone():
            return "everyone"
        case Seeded():
            return {"seed": subset.seed, "rate": str(subset.rate)}
        case Listed():
            return {"ids": list(subset.ids)}


def subset_from_json(body: object) -> Subset:
    """The inverse of `subset_to_json`; raises UnsupportedQuery where it is none."""
    match body:
        case "everyone":
            return Everyone()
        case {"seed": seed, **more} if isinstance(body, Mapping) and set(more) <= {"rate"}:
            return Seeded(_seed(seed), _rate(more.get("rate", "1/2")))
        case {"ids": list(ids), **more} if not more:
            return Listed(tuple(_ids(ids)))
    raise UnsupportedQuery('a subset is "everyone", {"seed": 7, "rate": "1/2"} or {"ids": […]}')


def _seed(value: object) -> int:
    if type(value) is not int:
        raise UnsupportedQuery("a subset's seed is a whole number from 0 to 2^64 − 1")
    return value


def _rate(value: object) -> Fraction:
    try:
        if isinstance(value, Fraction):
            return value
        if not isinstance(value, Number) or isinstance(value, bool) or len(str(value)) > 100:
            raise ValueError
        return parse_exact(str(value))
    except ValueError:
        raise UnsupportedQuery("a subset's rate is a share of the roster, above 0 and at most 1, as in 1/2") from None


def _ids(values: Iterable[object]) -> Iterable[str]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise UnsupportedQuery("a record id is a text or a whole number")
        yield str(value)
