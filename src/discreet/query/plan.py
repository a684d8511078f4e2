"""Plans: what to measure and with how much noise. Public: made before the table is touched, and kept in the journal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise
from discreet.exact import Number, parse_exact
from discreet.ledger.budget import Budget
from discreet.ledger.spend import Cost
from discreet.noise.law import Exponential, Law, law_from_json, law_text, law_to_json
from discreet.notebook import NotebookView, Pairs
from discreet.query.query import (
    Choice,
    Count,
    Json,
    Quantile,
    Query,
    Residual,
    group_name,
    groups_from_json,
    groups_to_json,
    query_from_json,
    query_to_json,
)
from discreet.query.sensitivity import spends


@dataclass(frozen=True)
class Measurement:
    """One query with the law of the noise on each number of its answer; of a Quantile or a Choice, of its mechanism."""

    query: Query
    law: Law

    def __post_init__(self) -> None:
        if isinstance(self.query, Quantile | Choice) != isinstance(self.law, Exponential):
            raise InvalidNoise("quantiles and choices are drawn by the exponential mechanism, and nothing else is")


MOST_SHOWN = 6


def cost_of_everything(units: int, domain: Domain) -> Cost:
    """So many units at every point that may be asked about; of a table that grows, at none that comes later."""
    return Cost(units) if domain.growing is None else Cost(0, ((domain.everything.boxes[0], units),))


@dataclass(frozen=True, repr=False)
class Plan(NotebookView):
    """Measurements that are charged, read and recorded together."""

    measurements: tuple[Measurement, ...]

    def _shown(self) -> tuple[str, Pairs]:
        first = [(type(m.query).__name__.lower(), _told(m)) for m in self.measurements[:MOST_SHOWN]]
        more = len(self.measurements) - MOST_SHOWN
        return f"Plan of {len(self.measurements):,} measurement{'s' * (len(self.measurements) != 1)}", [
            *first,
            *([("…", f"{more:,} more")] if more > 0 else []),
        ]

    def cost(self, domain: Domain, budget: Budget) -> Cost:
        """What the plan spends: one number for all that covers the domain, and boxes for the rest. Of a table that
        grows everything is a box too: what comes later is not in it."""
        everywhere, regional = 0, []
        whole = domain.everything.boxes[0] if domain.growing is None else None
        for measurement in self.measurements:
            for box, units in spends(measurement.query, measurement.law, domain, budget):
                if box == whole:
                    everywhere += units
                else:
                    regional.append((box, units))
        return Cost(everywhere, tuple(regional))

    def to_json(self) -> list[Json]:
        return [{"query": query_to_json(m.query), "noise": law_to_json(m.law)} for m in self.measurements]

    def condensed(self) -> list[Json]:
        """The plan as the journal keeps it: counts (or residuals) in a row that differ in groups alone are one line."""
        lines = []
        for _, run in groupby(enumerate(self.measurements), key=_likeness):
            measurements = [measurement for _, measurement in run]
            first = measurements[0]
            query = query_to_json(first.query)
            if len(measurements) > 1:
                [(kind, fields)] = query.items()
                query = {f"{kind}s": {**fields, "by": [groups_to_json(m.query.by) for m in measurements]}}
            lines.append({"query": query, "noise": law_to_json(first.law)})
        return lines

    @classmethod
    def from_json(cls, body: Sequence[Json]) -> "Plan":
        """The inverse of both."""
        return cls(tuple(measurement for line in body for measurement in _measurements(line)))


def _told(measurement: Measurement) -> str:
    query = measurement.query
    boxes, by = len(query.where.boxes), getattr(query, "by", ())
    groups = f" by {', '.join(map(group_name, by))}" if by else ""
    return f"over {boxes:,} box{'es' * (boxes != 1)}{groups}, {law_text(measurement.law)}"


def _likeness(placed: tuple[int, Measurement]) -> tuple[object, ...]:
    """Equal for counts, or residuals, of one region with the same noise; anything else is like itself alone."""
    place, measurement = placed
    query = measurement.query
    return (type(query), query.where, measurement.law) if isinstance(query, Count | Residual) else (place,)


def _measurements(line: Json) -> Iterator[Measurement]:
    law = law_from_json(line["noise"])
    [(kind, fields)] = line["query"].items()
    if kind not in ("counts", "residuals"):
        yield Measurement(query_from_json(line["query"]), law)
        return
    alone = kind.removesuffix("s")
    like = query_from_json({alone: {**fields, "by": ()}})
    for by in fields["by"]:
        groups = groups_from_json(by)
        query = Count(like.where, groups) if alone == "count" else Residual(like.where, tuple(map(group_name, groups)))
        yield Measurement(query, law)


def exact_scale(value: Number, name: str = "scale") -> Fraction:
    """A positive, finite number, exactly: 0.1 as people write it is 1/10, not the double next to it."""
    try:
        scale = value if isinstance(value, Fraction) else parse_exact(str(value))
    except ValueError:
        raise InvalidNoise(f"{name} must be a positive number such as 100 or 1/10") from None
    if scale <= 0:
        raise InvalidNoise(f"{name} must be above 0; the larger, the more noise and the less it spends")
    return scale
