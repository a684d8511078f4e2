"""Buckets: the two tables of published microdata, and the bound of each sensitive value."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, NotFound
from discreet.server.console.page import with_headers
from discreet.server.console.visit import Visit

if TYPE_CHECKING:
    from discreet.microdata.buckets import Buckets

PER_PAGE = 4
"""Buckets on one page."""
LINES = 200
"""And lines of each table at most, however large buckets are."""
MOST_OPEN = 2
"""Published buckets whose tables stay in memory."""


@dataclass(frozen=True)
class ValueBound:
    """A sensitive value: how frequent it is, how sure nobody can be of it, and how sure somebody can."""

    label: str
    people: int
    frequency: float
    limit: float
    reached: float


def show(visit: Visit) -> Response:
    names = visit.shelf.bucket_names()
    if not names and visit.user.role == "custodian":
        return with_headers(RedirectResponse("/buckets/publish", 303))
    if not names:
        raise NotFound("no buckets are published here; `discreet buckets publish` makes them")
    name = visit.first("name") if visit.first("name") in names else names[0]
    buckets = visit.shelf.buckets(name)
    page = visit.number("page", 0, 10**9)
    return visit.page(
        "buckets.html",
        names=names,
        chosen=name,
        about=buckets.describe(),
        buckets=buckets,
        bounds=bounds_of(buckets),
        **_tables(buckets, page),
        **_asked(visit, buckets),
    )


@lru_cache(MOST_OPEN)
def bounds_of(buckets: "Buckets") -> tuple[ValueBound, ...]:
    """Each value with its limit, and the largest share of a bucket that it has."""
    bucket, value = buckets.listing
    values = len(buckets.limits)
    times = np.bincount(bucket * values + value, minlength=len(buckets.size_of) * values).reshape(-1, values)
    reached = (times / np.maximum(times.sum(axis=1, keepdims=True), 1)).max(axis=0)
    total = int(buckets.counts.sum())
    labels = buckets.domain[buckets.sensitive].labels
    return tuple(
        ValueBound(label, int(people), people / total, float(limit), float(most))
        for label, people, limit, most in zip(labels, buckets.counts, buckets.limits, reached, strict=True)
        if people
    )


@lru_cache(MOST_OPEN)
def _both(buckets: "Buckets") -> tuple[Any, Any]:
    """The two tables; they never change."""
    return buckets.qit, buckets.st


def _tables(buckets: "Buckets", page: int) -> dict[str, Any]:
    """The lines of the two tables for the buckets of one page: a bucket's people are beside its values."""
    number, last = buckets.number, len(buckets.size_of)
    first = min(page * PER_PAGE, max(last - 1, 0)) // PER_PAGE * PER_PAGE
    people, values = (
        table.take(np.flatnonzero((numbers >= first) & (numbers < first + PER_PAGE))[:LINES])
        for table, numbers in zip(_both(buckets), (buckets.bucket, buckets.listing[0]), strict=True)
    )
    return {
        "people": people.sort_by(number).to_pylist(),
        "values": values.sort_by(number).to_pylist(),
        "person_columns": [number, *buckets.columns],
        "value_columns": [number, buckets.sensitive],
        "page": first // PER_PAGE,
        "pages": -(-last // PER_PAGE),
        "shown": (first + 1, min(first + PER_PAGE, last)),
        "total": last,
    }


def _asked(visit: Visit, buckets: "Buckets") -> dict[str, Any]:
    """An estimate from the two tables, where a question is in the address: it is public, and free."""
    sql = visit.first("sql")
    try:
        return {"sql": sql, "estimate": buckets.ask(sql) if sql else None, "mistake": None}
    except DiscreetError as error:
        return {"sql": sql, "estimate": None, "mistake": visit.public(error)}
