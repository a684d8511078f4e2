"""The questions that the gate can measure, and the two that are made of them.

`where` is a region of the domain; `by` names the attributes whose codes group the answer: an answer is an array over
their codes, in that order (a single number without any). A marginal, or cuboid, is a Count of everything `by` its
dimensions.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery

Json = dict[str, Any]


@dataclass(frozen=True)
class Count:
    """How many rows lie in `where`."""

    where: Region
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sum:
    """The sum of a numeric attribute over the rows in `where`; missing and other values add nothing."""

    of: str
    where: Region
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quantile:
    """The value of an attribute below which a share `level` of the rows in `where` lies; 0 is MIN, 1 is MAX."""

    of: str
    level: Fraction
    where: Region
    by: tuple[str, ...] = ()


Query = Count | Sum | Quantile


@dataclass(frozen=True)
class Mean:
    """Sum over Count, both measured: AVG."""

    of: str
    where: Region
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Combination:
    """A sum of Counts or of Sums, each times a whole number."""

    terms: tuple[tuple[int, Count | Sum], ...]


def grain_of(attribute: Attribute) -> Fraction:
    """The unit in which an attribute is summed: every row adds a whole number of it."""
    match attribute:
        case Integer():
            return Fraction(1)
        case Bins(grain=None):
            raise UnsupportedQuery(
                f"SUM and AVG of {attribute.name} need a `grain` in the domain: the unit to round to"
            )
        case Bins(grain=grain) if not attribute.open and grain is not None:
            return grain
        case Bins():
            raise UnsupportedQuery(f"{attribute.name} has an open bin, so a sum has no bound; COUNT and quantiles work")
    raise UnsupportedQuery(f"{attribute.name} is a category: it can be counted, not summed")


def query_to_json(query: Query) -> Json:
    """The query as the journal keeps it: codes, not labels."""
    body: Json = {"where": [[list(box.low), list(box.high)] for box in query.where.boxes], "by": list(query.by)}
    match query:
        case Count():
            return {"count": body}
        case Sum():
            return {"sum": {**body, "of": query.of}}
        case Quantile():
            return {"quantile": {**body, "of": query.of, "level": str(query.level)}}


def query_from_json(body: Json) -> Query:
    [(kind, fields)] = body.items()
    where = Region(tuple(Box(tuple(low), tuple(high)) for low, high in fields["where"]))
    by = tuple(fields["by"])
    match kind:
        case "count":
            return Count(where, by)
        case "sum":
            return Sum(fields["of"], where, by)
        case "quantile":
            return Quantile(fields["of"], Fraction(fields["level"]), where, by)
    raise UnsupportedQuery(f"a query of kind {kind!r}; this version knows count, sum and quantile")


def answer_shape(query: Query, domain: Domain) -> tuple[int, ...]:
    """The shape of the query's answer: one axis for each attribute of `by`."""
    return tuple(domain[name].size for name in query.by)


def require_in_domain(query: Query, domain: Domain) -> None:
    """Raise unless the query's attributes and its region are the domain's own."""
    for name in query.by if isinstance(query, Count) else (*query.by, query.of):
        domain.axis(name)
    if len(set(query.by)) < len(query.by):
        raise UnsupportedQuery("an attribute groups an answer once")
    whole = domain.everything.boxes[0]
    if not all(len(box.low) == len(whole.low) and whole.covers(box) for box in query.where.boxes):
        raise UnsupportedQuery(f"a region reaches out of the domain {domain.name}; make it from the domain itself")
