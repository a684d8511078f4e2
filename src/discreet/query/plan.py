"""Plans: what to measure and with how much noise. Public: made before the table is touched, and kept in the journal."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise
from discreet.ledger.guarantee import parse_exact
from discreet.ledger.spend import Cost
from discreet.query.query import Json, Query, query_from_json, query_to_json
from discreet.query.sensitivity import spends


@dataclass(frozen=True)
class Measurement:
    """One query with the scale of the noise on each number of its answer (for a Quantile: of its mechanism)."""

    query: Query
    scale: Fraction

    def __post_init__(self) -> None:
        if type(self.scale) is not Fraction or self.scale <= 0:  # an int would divide into a float
            raise InvalidNoise("the scale of a measurement is a Fraction above 0, as exact_scale makes it")


@dataclass(frozen=True)
class Plan:
    """Measurements that are charged, read and recorded together."""

    measurements: tuple[Measurement, ...]

    def cost(self, domain: Domain) -> Cost:
        """What the plan spends: one number for all that covers the domain, and boxes for the rest."""
        everywhere, regional = 0, []
        whole = domain.everything.boxes[0]
        for measurement in self.measurements:
            for box, units in spends(measurement.query, measurement.scale, domain):
                if box == whole:
                    everywhere += units
                else:
                    regional.append((box, units))
        return Cost(everywhere, tuple(regional))

    def to_json(self) -> list[Json]:
        return [{"query": query_to_json(m.query), "scale": str(m.scale)} for m in self.measurements]

    @classmethod
    def from_json(cls, body: Sequence[Json]) -> "Plan":
        return cls(tuple(Measurement(query_from_json(m["query"]), Fraction(m["scale"])) for m in body))


def exact_scale(value: Fraction | int | float | str, name: str = "scale") -> Fraction:
    """A positive, finite number, exactly: 0.1 as people write it is 1/10, not the double next to it."""
    try:
        scale = value if isinstance(value, Fraction) else parse_exact(str(value))
    except (ArithmeticError, ValueError):
        raise InvalidNoise(f"{name} must be a positive number such as 100 or 1/10") from None
    if scale <= 0:
        raise InvalidNoise(f"{name} must be above 0; the larger, the more noise and the less it spends")
    return scale
