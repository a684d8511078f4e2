"""Empirical privacy: what a mechanism loses at least, seen from many of its outcomes on two neighbouring inputs.

Whoever promises ε says that no event is more than e^ε times as likely for one of two neighbours as for the other. So
one event with known probabilities p and q bounds ε from below, by ln(p/q); and with p at least and q at most what
Clopper and Pearson's intervals say, it does so with confidence. The runs are divided: on a quarter of them statistics
are fitted that tell the neighbours apart, on another the most telling event of them all is chosen, and on the half that
is left that one event is counted. Nothing about the choice has to be believed: a bad one finds less, never too much.

An audit can only accuse. A bound above what is stated is a broken promise, but for a chance of 10^-5; a bound below it
proves nothing. What it would find is known for the mistakes of tests/trust/test_planted.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.empirical.statistics import Statistic, fitted_statistics
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import GDP, DeltaT, Guarantee, PureDP

ERROR = 1e-5
"""The chance that the bound of a correct mechanism is above what it keeps."""
FITTED_ON, CHOSEN_ON, HELD_OUT = 1, 1, 2
"""How the runs are divided."""
FEWEST_RUNS = 200
THRESHOLDS = 512
"""A statistic is cut at so many places at most."""
ORDERS = 1 + np.geomspace(1e-3, 1e3, 41)
"""Rényi's orders α at which concentrated loss is looked at; any of them gives a valid bound."""
PLAINER = 0.05
"""An event that is harder to read has to find this much more, as a share of what is stated."""

Outcomes = NDArray[np.float64]
"""A row for each run, with the numbers that it released; where a run releases one number, a vector will do."""
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Event:
    """A set of outcomes: a statistic on one side of a threshold."""

    statistic: Statistic
    threshold: float
    above: bool
    """At least the threshold; otherwise below it."""
    of_first: bool
    """Whether it is likelier for the first of the two inputs."""

    def count(self, outcomes: Outcomes) -> int:
        scores = self.statistic.score(outcomes)
        return int(np.count_nonzero(scores >= self.threshold if self.above else scores < self.threshold))

    def __str__(self) -> str:
        return f"{self.statistic.name} {'≥' if self.above else '<'} {self.threshold:.3g}"


@dataclass(frozen=True)
class Evidence:
    """What an audit of one mechanism found: `bound`, in the symbol of what is stated, with confidence 1 − ERROR."""

    symbol: str
    stated: float
    bound: float
    event: Event
    runs: int
    """Of either input, half of which were counted."""
    often: int
    seldom: int
    """How often the event came about in those halves: for the input for which it is likelier, and for the other."""

    @property
    def holds(self) -> bool:
        return self.bound <= self.stated

    def to_json(self) -> dict[str, Any]:
        return {
            "symbol": self.symbol,
            "stated": self.stated,
            "bound": self.bound,
            "event": str(self.event),
            "likelier": "first" if self.event.of_first else "second",
            "often": self.often,
            "seldom": self.seldom,
            "runs": self.runs,
            "holds": self.holds,
        }


def audit(first: Outcomes, second: Outcomes, stated: Guarantee) -> Evidence:
    """Bound from below what a mechanism loses that gave these outcomes for two neighbouring inputs.

    Requires equally many independent runs of either, at least FEWEST_RUNS. Repeatable: there is no chance in here.
    """
    one, other = _as_rows(first), _as_rows(second)
    if one.shape != other.shape or len(one) < FEWEST_RUNS:
        raise UnsupportedQuery(f"an audit takes equally many runs of both inputs, {FEWEST_RUNS} of each or more")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise UnsupportedQuery("outcomes are finite numbers; write one that is missing as a number of its own")
    share = len(one) // (FITTED_ON + CHOSEN_ON + HELD_OUT)
    fitted, chosen = FITTED_ON * share, (FITTED_ON + CHOSEN_ON) * share
    event = _most_telling(
        fitted_statistics(one[:fitted], other[:fitted]), one[fitted:chosen], other[fitted:chosen], stated
    )
    kept = one[chosen:], other[chosen:]
    likelier, rarer = kept if event.of_first else kept[::-1]
    often, seldom = event.count(likelier), event.count(rarer)
    bound = least_loss(lower_limit(often, len(likelier), ERROR / 2), upper_limit(seldom, len(rarer), ERROR / 2), stated)
    symbol, amount = loss_of(stated)
    return Evidence(symbol, amount, max(float(bound), 0.0), event, len(one), often, seldom)


def loss_of(stated: Guarantee) -> tuple[str, float]:
    """The loss that a guarantee admits, with its symbol. (δ, T)-privacy is looked at as (ε, δ) of the same answers."""
    match stated:
        case PureDP(epsilon=epsilon):
            return "ε", float(epsilon)
        case DeltaT(delta=delta):
            return "ε", float(delta)
        case GDP(mu_squared=mu_squared):
            return "μ²", float(mu_squared)
    return "ρ", float(stated.rho)


def least_loss(often: Floats | float, seldom: Floats | float, stated: Guarantee) -> Floats:
    """The least loss with which an event of probability `seldom` for one input has probability `often` for another.

    Pure: ln(p/q). With a δ beside it: ln((p − δ)/q). Concentrated: whether the event came about is computed from the
    outcome, so its own Rényi divergence is at most α·ρ, for every order α [van Erven, Harremoës 2014, data processing].
    No (ε, δ) that ρ implies could show more, for it holds of any two coins that keep these. Gaussian: normal laws as
    far apart as the event shows, (Φ⁻¹(p) − Φ⁻¹(q))², by the definition.
    """
    p, q = np.asarray(often, np.float64), np.asarray(seldom, np.float64)
    if isinstance(stated, GDP):
        return _least_mu_squared(p, q)
    if loss_of(stated)[0] == "ρ":
        return _least_rho(p, q)
    beside = float(stated.dp_delta) if isinstance(stated, DeltaT) else 0.0
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(p - beside, 0.0)) - np.log(q)
    return np.asarray(ratio)


def _least_mu_squared(p: Floats, q: Floats) -> Floats:
    from scipy.special import ndtri

    with np.errstate(invalid="ignore"):  # where both are 0, or both are 1
        return np.where(p > q, (ndtri(p) - ndtri(q)) ** 2, 0.0)


def _least_rho(p: Floats, q: Floats) -> Floats:
    """The most of D_α(p ‖ q)/α over the orders, for an event that is likelier under p; 0 for any other."""
    order = ORDERS.reshape((-1,) + (1,) * p.ndim)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = order * np.log(p) + (1 - order) * np.log(q)
        without = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
        divergence = np.logaddexp(within, without) / (order - 1)
    return np.where(p > q, np.max(np.nan_to_num(divergence / order, nan=0.0), axis=0), 0.0)


def lower_limit(count: int, runs: int, error: float) -> float:
    """A probability is at least this, but for a chance of `error`, if something came about so often. [Clopper, Pearson
    1934]"""
    return float(_lower_limits(np.array([count]), runs, error)[0])


def upper_limit(count: int, runs: int, error: float) -> float:
    """A probability is at most this, but for a chance of `error`."""
    return 1 - lower_limit(runs - count, runs, error)


def _lower_limits(counts: Counts, runs: int, error: float) -> Floats:
    from scipy.special import betaincinv  # takes a while to import

    return np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 1), runs - counts + 1, error))


@lru_cache(maxsize=8)
def _limits_of_all(runs: int, times: int) -> Floats:
    """The lower limit for each count of 0 … runs, as if there had been so many times as many runs, all alike."""
    return _lower_limits(np.arange(runs + 1) * times, runs * times, ERROR / 2)


def _most_telling(statistics: list[Statistic], one: Outcomes, other: Outcomes, stated: Guarantee) -> Event:
    """The event, among all cuts of all statistics, that promises the largest bound, or hardly less."""
    best, margin = -math.inf, PLAINER * loss_of(stated)[1]
    found = Event(statistics[0], -math.inf, above=True, of_first=True)
    limits = _limits_of_all(len(one), HELD_OUT // CHOSEN_ON)
    for statistic in statistics:
        mine, theirs = np.sort(statistic.score(one)), np.sort(statistic.score(other))
        cuts = _cuts(mine, theirs)
        # Searching in sorted scores counts, for every cut at once, how many lie below it.
        below_one, below_other = np.searchsorted(mine, cuts), np.searchsorted(theirs, cuts)
        for above, of_first, often, seldom in _sides(below_one, below_other, len(one)):
            bounds = least_loss(limits[often], 1 - limits[len(one) - seldom], stated)
            at = int(np.argmax(bounds))
            if bounds[at] > best + margin:
                best, found = float(bounds[at]), Event(statistic, float(cuts[at]), above, of_first)
    return found


def _sides(one: Counts, other: Counts, runs: int) -> Iterator[tuple[bool, bool, Counts, Counts]]:
    yield False, True, one, other
    yield False, False, other, one
    yield True, True, runs - one, runs - other
    yield True, False, runs - other, runs - one


def _cuts(one: Floats, other: Floats) -> Floats:
    """Thresholds that divide the runs in every possible way, or in so many ways about evenly."""
    values = np.unique(np.concatenate([one, other]))
    if values.size <= THRESHOLDS:
        return values
    places = np.linspace(0, one.size - 1, THRESHOLDS // 2).astype(np.int64)
    return np.unique(np.concatenate([one[places], other[places]]))


def _as_rows(outcomes: Outcomes) -> Outcomes:
    array = np.asarray(outcomes, np.float64)
    return array.reshape(len(array), -1)
