"""Counts over buckets: estimated from the two tables, with the spread of what they leave open.

In a bucket of S people, of whom m meet the conditions on quasi-identifiers, with s of the S values that meet the
condition on the sensitive one, m·s/S people meet both, on average over all pairings of people and values [Xiao, Tao,
VLDB 2006]. If all S! pairings are equally likely the number is hypergeometric, with variance
m·s·(S − m)(S − s)/(S²(S − 1)), and buckets are independent. Where conditions mix the two kinds (OR), let A say for each
person and each value whether the pair meets them; the number is Σ A over a random pairing, whose variance is

    (Σ A − Σ_people (row sum)²/S − Σ_values (column sum)²/S + (Σ A)²/S²) / (S − 1)        [Hoeffding 1951]

What the spread leaves out: pairings are not equally likely where sensitive values go with quasi-identifiers. Then an
estimate leans towards independence, and is further off than the spread says; the more so, the larger the buckets.

With fakes, a value that stands alone in a bucket counts for the share of its such listings that are of somebody, and
those of a bucket together for as many as it has people.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.query.query import Count, Group, group_attribute
from discreet.sql.parse import parse
from discreet.sql.question import GroupColumn

if TYPE_CHECKING:
    from discreet.microdata.buckets import Buckets

MOST_GROUPS = 10_000

CAVEAT = (
    "estimated, as if within a bucket values went with nothing; where they go with the columns asked for, the truth "
    "may lie far outside"
)
"""What must stand beside every estimate, wherever it is shown."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Estimated:
    """A count: the estimate, and its standard deviation over all pairings within buckets."""

    value: float
    deviation: float

    def range(self, pairings: float = 0.95) -> tuple[float, float]:
        """Where this share of all pairings within buckets has the count, if it is normal over them. It is no interval
        for the truth: that is one pairing, and where values go with the columns asked for an unusual one."""
        half = NormalDist().inv_cdf((1 + pairings) / 2) * self.deviation
        return max(self.value - half, 0.0), self.value + half


@dataclass(frozen=True)
class EstimatedRows:
    """An answer: a row for each group, with a cell for each output column: a label, or an estimate."""

    columns: tuple[str, ...]
    rows: tuple[tuple["str | Estimated", ...], ...]
    notes: tuple[str, ...]
    pairings: float
    """The share of pairings that each number's range holds."""
    guarantee: str
    caveat: str = CAVEAT

    @property
    def value(self) -> float:
        """The one number of an answer that has one."""
        cells = [cell for row in self.rows for cell in row if isinstance(cell, Estimated)]
        if len(cells) != 1:
            raise UnsupportedQuery(f"this answer has {len(cells)} numbers; look at .rows")
        return cells[0].value

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "rows": [[self._cell(cell) for cell in row] for row in self.rows],
            "pairings": self.pairings,
            "caveat": self.caveat,
            "notes": list(self.notes),
            "guarantee": self.guarantee,
        }

    def _cell(self, cell: "str | Estimated") -> object:
        if isinstance(cell, str):
            return cell
        low, high = cell.range(self.pairings)
        return {"value": cell.value, "deviation": cell.deviation, "low": low, "high": high}


def ask_buckets(buckets: "Buckets", sql: str, pairings: float = 0.95) -> EstimatedRows:
    """Estimate the COUNTs of a SELECT over the published columns and the sensitive one. Public, and free."""
    if not 0 < pairings < 1:
        raise UnsupportedQuery("a share of pairings is a number between 0 and 1, such as 0.95")
    question = parse(sql, buckets.domain)
    attributes = [group_attribute(group, buckets.domain) for group in question.by]
    groups = math.prod(attribute.size for attribute in attributes)
    if groups > MOST_GROUPS:
        raise UnsupportedQuery(f"GROUP BY makes {groups:,} groups; over buckets at most {MOST_GROUPS:,} are estimated")
    for asked in question.aggregates:
        if not isinstance(asked.query, Count):
            raise UnsupportedQuery(f"{asked.name}: buckets are asked for COUNT(*); sums and means need the values")
    rows = []
    sections = [_sections(group, buckets.domain) for group in question.by]
    for codes in product(*(range(attribute.size) for attribute in attributes)):
        named = zip(question.by, attributes, codes, strict=True)
        labels = {group: attribute.label(code) for group, attribute, code in named}
        slab = buckets.domain.everything
        for parts, code in zip(sections, codes, strict=True):
            slab = slab.intersect(parts[code])
        row: list[str | Estimated] = []
        for column in question.columns:
            if isinstance(column, GroupColumn):
                row.append(labels[column.attribute])
            elif isinstance(column.query, Count):
                row.append(estimate(buckets, column.query.where.intersect(slab)))
        rows.append(tuple(row))
    for key in reversed(question.order_by):
        if not isinstance(question.columns[key.column], GroupColumn):
            rows.sort(key=lambda row: _number(row[key.column]), reverse=key.descending)
        elif key.descending:
            rows.reverse()
    last = None if question.limit is None else question.offset + question.limit
    names = tuple(column.name for column in question.columns)
    shown = tuple(rows[question.offset : last])
    return EstimatedRows(names, shown, question.notes, pairings, str(buckets.guarantee))


def _number(cell: "str | Estimated") -> float:
    return cell.value if isinstance(cell, Estimated) else 0.0


def _sections(group: Group, domain: Domain) -> list[Region]:
    """The part of the domain that belongs to each of a column's values, or of an expression's."""
    if not isinstance(group, str):
        return group.sections(domain.everything, domain)
    return [domain.slab(group, code, code) for code in range(domain[group].size)]


def estimate(buckets: "Buckets", region: Region) -> Estimated:
    """The number of people in a region of the published columns and the sensitive one."""
    size = buckets.size_of.astype(np.float64)
    total, columns = np.zeros_like(size), np.zeros_like(size)
    row = np.zeros(len(buckets.bucket))
    for codes, people in _by_sensitive_value(buckets, region):
        listed = buckets.listed_among(codes)
        met = np.bincount(buckets.bucket[people], minlength=len(size))
        row[people] += listed[buckets.bucket[people]]
        total += met * listed
        columns += listed * met.astype(np.float64) ** 2
    rows_squared = np.bincount(buckets.bucket, weights=row**2, minlength=len(size))
    spread = total - rows_squared / size - columns / size + total**2 / size**2
    variance = np.where(size > 1, np.maximum(spread, 0) / np.maximum(size - 1, 1), 0.0)
    return Estimated(float((total / size).sum()), float(np.sqrt(variance.sum())))


def _by_sensitive_value(buckets: "Buckets", region: Region) -> Iterator[tuple[range, NDArray[np.intp]]]:
    """Ranges of sensitive codes, each with the people who meet the conditions that hold for it."""
    axis = buckets.domain.axis(buckets.sensitive)
    cuts = sorted({edge for box in region.boxes for edge in (box.low[axis], box.high[axis] + 1)})
    for low, stop in pairwise(cuts):
        met = np.zeros(len(buckets.bucket), np.bool_)
        for box in region.boxes:
            if box.low[axis] <= low and stop <= box.high[axis] + 1:
                inside = np.ones(len(met), np.bool_)
                for place, attribute in enumerate(buckets.domain.attributes):
                    bounds = box.low[place], box.high[place]
                    if place != axis and bounds != (0, attribute.size - 1):
                        codes = buckets.codes(attribute.name)
                        inside &= (codes >= bounds[0]) & (codes <= bounds[1])
                met |= inside
        if met.any():
            yield range(low, stop), np.flatnonzero(met)
