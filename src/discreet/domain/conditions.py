"""Conditions in Python, age=(20, 50), sex="F", → a region: what `vault.count` takes. Analysts write SQL."""

import math
from collections.abc import Collection, Mapping
from datetime import date
from fractions import Fraction

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import ISO, Date, day_of
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.domain.spelled import spelled, whole
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
        case Date():
            return _date_spans(attribute, wanted)
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
    ends = [whole(one) for one in wanted] if isinstance(wanted, tuple) and len(wanted) == 2 else [whole(wanted)] * 2
    low, high = ends
    if low is None or high is None:
        raise DomainError(f"{attribute.name} takes a whole number, or (low, high), both included")
    low, high = max(low, attribute.low), min(high, attribute.high)
    return [(low - attribute.low, high - attribute.low)] if low <= high else []


def _category_code(attribute: Category, value: object) -> int:
    text = spelled(value)
    code = attribute.code(text)
    if code is None:
        raise DomainError(f"{attribute.name} has no value {text!r}; there are {', '.join(attribute.values)}")
    return code


def _date_spans(attribute: Date, wanted: object) -> list[tuple[int, int]]:
    """A day or a period's name, several in a list, or (first day, last day), both included, at the ends of periods."""
    match wanted:
        case (str() | date() as low, str() | date() as high):
            first, last = _day(attribute, low), _day(attribute, high) + 1
            if first not in attribute.edges_in_days or last not in attribute.edges_in_days or first >= last:
                raise DomainError(f"{attribute.name} takes (first day, last day) of its {attribute.period}s, in order")
            return [(attribute.edges_in_days.index(first), attribute.edges_in_days.index(last) - 1)]
        case list() | set() | frozenset():
            return [span for one in wanted for span in _spans(attribute, one)]
        case str() | date() if (code := attribute.code(str(wanted))) is not None:
            return [(code, code)]
    raise DomainError(f"{attribute.name} has no day {wanted}; it has {attribute.low} to {attribute.high}")


def _day(attribute: Date, value: str | date) -> int:
    day = day_of(str(value), ISO)
    if day is None:
        raise DomainError(f"{attribute.name} takes days, as 2026-01-31, not {value}")
    return day


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
