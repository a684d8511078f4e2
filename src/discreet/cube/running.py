"""Running totals of periods: planned ahead for all of them, measured one by one, each for good.

A plan says which combination of periods is measured at the end of each (`refinement/running_totals.py`), and with how
much noise. What all of that costs is set aside at once (`ledger/reserve.py`), so that nothing else can spend it. Totals
are computed from what was measured, and that of a period never changes.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.noise_model import NoiseModel
from discreet.cube.within import Within, within_periods
from discreet.domain.domain import Domain
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.noise.confidence import exact_confidence
from discreet.noise.law import Gaussian, Laplace, Noise, law_from_json, law_to_json
from discreet.noise.spread import Draws, Mixture, halfwidth
from discreet.notebook import FieldsView
from discreet.query.cells import Amount, CellTable
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Sum
from discreet.refinement.running_totals import GRAINS, RunningStrategy, best_strategy, block_strategy

if TYPE_CHECKING:
    from discreet.replies import RunningTotalsJson

GRAIN = Fraction(1, GRAINS)
FORM = 1
FINE = 1 << 30
"""Roots are rounded up to multiples of 1 over this."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunningPlan:
    """What is measured at the end of each of some periods in a row."""

    within: Within
    by: tuple[str, ...]
    law: Noise
    strategy: RunningStrategy = field(repr=False)

    @property
    def periods(self) -> int:
        return self.strategy.periods

    @property
    def law_in_grains(self) -> Noise:
        return self.law.times(1 / GRAIN)

    def measurement(self, place: int, domain: Domain) -> Plan:
        """What is measured at the end of a period: the weighted sum of all up to it."""
        attribute, first = domain[self.within.of], self.within.first
        weights = np.zeros(attribute.size, np.int64)
        weights[first : first + place + 1] = self.strategy.weights[place, : place + 1]
        table = CellTable.of((attribute.name,), (np.arange(attribute.size),), weights)
        text = f"weight of {attribute.name} in the running total to {attribute.label(first + place)}"
        where = replace(self.within, last=first + place).region(domain)
        return Plan((Measurement(Sum(Amount(text, table, GRAIN), where, self.by), self.law),))

    def measurements(self, domain: Domain) -> list[Plan]:
        return [self.measurement(place, domain) for place in range(self.periods)]

    def place_of(self, measurement: Measurement, domain: Domain) -> int:
        """Which of its periods a measurement of this plan ends with."""
        return measurement.query.where.boxes[0].high[domain.axis(self.within.of)] - self.within.first

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of each total."""
        return np.asarray(np.sqrt(self.strategy.variances * self.law_in_grains.variance))

    def halfwidth(self, place: int, confidence: float = 0.95) -> float:
        """A total is within ± this of the truth, with at least this probability."""
        own, law = self.strategy.combinations[place, : place + 1], self.law_in_grains
        if isinstance(law, Gaussian) and law.sigma_squared >= 1:
            # As good as a normal number, whatever the weights are: nobody writes out hundreds of laws.
            longest = float(np.abs(own).max())
            draws = [Draws(longest, Mixture(float((own**2).sum()) / longest**2 * law.variance, law))]
        else:
            draws = [Draws(float(weight), law) for weight in own]
        return halfwidth(draws, exact_confidence(confidence))

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it."""
        rows = [row[: place + 1].tolist() for place, row in enumerate(self.strategy.weights)]
        return {
            "running": FORM,
            "within": self.within.to_json(),
            "by": list(self.by),
            "noise": law_to_json(self.law),
            "weights": rows,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "RunningPlan":
        """The inverse. Raises LookupError, TypeError or ValueError where that is no plan."""
        if body["running"] != FORM:
            raise ValueError("running totals of another form")
        rows = body["weights"]
        weights = np.zeros((len(rows), len(rows)), np.int64)
        for place, row in enumerate(rows):
            weights[place, : place + 1] = row
        law: Any = law_from_json(body["noise"])
        return cls(Within(**body["within"]), tuple(body["by"]), law, RunningStrategy(weights))


def plan_running(
    domain: Domain,
    each: str,
    noise: NoiseModel,
    by: tuple[str, ...] = (),
    first: str | None = None,
    last: str | None = None,
) -> RunningPlan:
    """Running totals of the periods from `first` to `last`, all that there are where nothing is said, that cost a
    person at most what the noise model has. Reads nothing and spends nothing."""
    within = within_periods(each, first, last, domain)
    names = tuple(domain[name].name for name in by)
    if within.of in names or len(set(names)) < len(names):
        raise UnsupportedQuery("running totals are grouped by other attributes than their periods, each once")
    squared = noise.budget.power == 1
    strategy = (best_strategy if squared else block_strategy)(within.periods)
    return RunningPlan(within, names, _law(strategy, noise, squared), strategy)


def _law(strategy: RunningStrategy, noise: NoiseModel, squared: bool) -> Noise:
    """The least noise with which no row costs more than the budget: each measurement is rounded up to whole units."""
    units = noise.limit - strategy.periods
    if units < 1:
        raise InvalidBudget("so little is less than the ledger counts; give the running totals more")
    if squared:
        length = max(strategy.squared_columns) * FINE**2
        move = Fraction(math.isqrt(length - 1) + 1, FINE * GRAINS)
    else:
        move = Fraction(max(strategy.summed_columns), GRAINS)
    law = noise.budget.noise_costing(noise.budget.amount_of(units), move, True, GRAIN).times(1 / GRAIN)
    match law:  # rounded up to a whole number, so that the journal keeps no long fraction
        case Gaussian(sigma_squared=square):
            return Gaussian(Fraction(math.ceil(square))).times(GRAIN)
        case Laplace(scale=scale):
            return Laplace(Fraction(math.ceil(scale))).times(GRAIN)
    raise AssertionError(law)


@dataclass(frozen=True, eq=False, repr=False)
class RunningTotals(FieldsView):
    """The running totals up to the last period that was published, with what they promise together: `guarantee` is of
    all that was set aside, and holds for those that are still to come as well."""

    plan: RunningPlan
    number: int
    """Of the entry that set aside what they cost."""
    open: bool
    """Whether more can be published: the vault is over the table that it was set aside for."""
    labels: tuple[str, ...]
    """Of all the periods, also of those to come."""
    measured: NDArray[np.int64] = field(repr=False)
    """One measurement after the other, in whole grains: along its first axis, by `plan.by` along the others."""
    charges: tuple[int, ...]
    guarantee: Guarantee
    groups: tuple[tuple[str, ...], ...] = field(repr=False, default=())
    """The labels of each attribute of `plan.by`."""

    @property
    def values(self) -> Floats:
        """The total at the end of each period that was published."""
        many = len(self.measured)
        return np.tensordot(self.plan.strategy.combinations[:many, :many], self.measured.astype(np.float64), 1)

    def halfwidths(self, confidence: float = 0.95) -> Floats:
        return np.array([self.plan.halfwidth(place, confidence) for place in range(len(self.measured))])

    def rows(self, confidence: float = 0.95) -> Iterator[tuple[str, tuple[str, ...], float, float, float]]:
        """Period, group, total, and the ends of its interval: one for each group of each period."""
        widths = self.halfwidths(confidence)
        for place, values in enumerate(self.values):
            for cell in np.ndindex(values.shape):
                group = tuple(labels[code] for labels, code in zip(self.groups, cell, strict=True))
                value, width = float(values[cell]), float(widths[place])
                yield self.labels[place], group, value, value - width, value + width

    def to_json(self, confidence: float = 0.95) -> "RunningTotalsJson":
        return {
            "number": self.number,
            "open": self.open,
            "each": self.plan.within.of,
            "by": list(self.plan.by),
            "periods": list(self.labels),
            "published": len(self.measured),
            "confidence": confidence,
            "rows": [
                {"period": period, "group": list(group), "value": value, "low": low, "high": high}
                for period, group, value, low, high in self.rows(confidence)
            ],
            "charges": list(self.charges),
            "guarantee": self.guarantee.to_json(),
        }
