"""An estimate with the interval that it stands in."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from discreet.errors import InvalidNoise


@dataclass(frozen=True)
class IntervalEstimate:
    """A number and bounds that hold the true one with the confidence that was asked for."""

    value: float
    low: float
    high: float

    @property
    def halfwidth(self) -> float:
        """The larger of the two distances to a bound."""
        return max(self.value - self.low, self.high - self.value)

    def clipped(self, least: float, most: float) -> "IntervalEstimate":
        """The same for a quantity that cannot leave [least, most]."""
        return IntervalEstimate(*(min(max(number, least), most) for number in (self.value, self.low, self.high)))

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high}


def deviations(confidence: float) -> float:
    """Within how many standard deviations a normal number stays with this probability: 1.96 for 0.95."""
    if not 0 < confidence < 1 - 1e-12:
        raise InvalidNoise("confidence must lie between 0 and 1, as in 0.95")
    return NormalDist().inv_cdf(0.5 + confidence / 2)
