"""Conditions in Python, age=(20, 50), sex="F", → a region: what `vault.count` takes. Analysts write SQL."""

import math
from collections.abc import Collection, Mapping
from fractions import Fraction

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import DomainError


def region_where(domain: Domain, conditions: Mapping[str, object]) -> Region:
    """The points that meet every condition.

    A number or (low, high), both included, for integers; (low, high) at edges, half-open, for bins; a value or a
    collection of values for categories; None, also in a collection, for missing values.
    """
    region = domain.everything
    for name, wanted in conditions.items():
        spans = _spans(domain[name], wanted)
        slabs = [box for low, high in spans for box in domain.slab(name, low, high).boxes]
        region = region.intersect(Region.of(slabs))
    return region


def _spans(attribute: Attribute, wanted: object) -> list[tuple[int, int]]:
    if wanted is None:
        return [(_null_code(attribute),) * 2]
    match attribute:
        case Integer():
            return _integer_span(attribute, wanted)
        case Category():
            values = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Collection) else list(wanted)
            codes = [_null_code(attribute) if value is None else _category_code(attribute, value) for value in values]
            return [(code, code) for code in codes]
        case Bins():
            return [_bins_span(attribute, wanted)]
    raise DomainError(f"{attribute.name} is of a kind that conditions do not know")


def _null_code(attribute: Attribute) -> int:
    if attribute.null_code is None:
        raise DomainError(f"{attribute.name} has no code for missing values")
    return attribute.null_code


def _integer_span(attribute: Integer, wanted: object) -> list[tuple[int, int]]:
    match wanted:
        case int():
            low = high = wanted
        case (int(low), int(high)):
            pass
        case _:
            raise DomainError(f"{attribute.name} takes a whole number, or (low, high), both included")
    low, high = max(low, attribute.low), min(high, attribute.high)
    return [(low - attribute.low, high - attribute.low)] if low <= high else []


def _category_code(attribute: Category, value: object) -> int:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    code = attribute.code(text)
    if code is None:
        raise DomainError(f"{attribute.name} has no value {text!r}; there are {', '.join(attribute.values)}")
    return code


def _bins_span(attribute: Bins, wanted: object) -> tuple[int, int]:
    match wanted:
        case (int() | float() | Fraction() as low, int() | float() | Fraction() as high):
            start = 0 if low == -math.inf else _edge_position(attribute, low)
            stop = attribute.cells if high == math.inf else _edge_position(attribute, high)
            if start < stop:
                return start, stop - 1
    raise DomainError(f"{attribute.name} takes (low, high), two of its edges in order")


def _edge_position(attribute: Bins, value: int | float | Fraction) -> int:
    if isinstance(value, float) and math.isfinite(value):
        value = Fraction(str(value))  # the float 0.1 means the edge that the domain writes as 0.1
    if value not in attribute.edges:
        raise DomainError(f"{attribute.name} has no edge at {value}; its bins are {', '.join(attribute.labels)}")
    return attribute.edges.index(Fraction(value))
