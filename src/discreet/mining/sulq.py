"""How many coins SuLQ's noise takes: R for T queries, so that Pr[Δconf > δ] stays under a bound. Proof: sulq.md.

Two calibrations. "paper" is the seed's R = (T/δ²)·log^μ n [SuLQ, Section 4]. "exact" is the least R for which the
T-fold privacy loss of the binomial, composed numerically with every rounding on the safe side, keeps the bound for
every adversary: whatever is known beforehand, whatever statement about a row is at stake, however the queries are
chosen.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidBudget
from discreet.exact import Number
from discreet.ledger.budget import QueryBudget, exact_amount, require_queries
from discreet.noise.deviation import MAX_TRIALS

Calibration = Literal["exact", "paper"]

FAILURE = Fraction(1, 10**6)
"""With which probability a person's odds may move by more than δ, where nothing else is said."""
LEAST_FAILURE = Fraction(1, 10**12)
PAPER_POWER = 6
"""μ: "taking μ = 6 will work" [SuLQ, Section 4]."""

REACH = 10.0
"""Noise beyond so many standard deviations counts as if it gave everything away: T·2·exp(−50), added to the bound."""
CELLS = 1 << 20
FINEST, COARSEST = 64.0, 4.0
"""Losses are put on a grid with so many cells in a standard deviation of one query's loss."""
WINDOW = 14.0
"""The composed loss is followed so many standard deviations to either side of where the bound is decided."""
STEEPEST = 12.0
"""The composed loss is looked at around δ, but no further out than so many standard deviations: nothing is there."""
ROUNDING = 1e-14
"""What floats may be off by, for each query, as a share of Chernoff's bound."""

Floats = NDArray[np.float64]


def query_budget(
    queries: object, delta: Number, people: int, points: int, calibration: Calibration, failure: Number
) -> QueryBudget:
    """The budget of a vault that answers T queries about a roster of n people, and keeps (δ, T)-privacy with them."""
    total, limit, most = require_queries(queries), exact_amount(delta, "δ"), exact_amount(failure, "the failure bound")
    if calibration not in get_args(Calibration):
        raise InvalidBudget(f"a calibration is {' or '.join(get_args(Calibration))}")
    if not LEAST_FAILURE <= most <= Fraction(1, 10):
        raise InvalidBudget("the failure bound lies between 1e-12 and 0.1; it should be far below 1 over the people")
    if not Fraction(1, 1000) <= limit <= 50:
        raise InvalidBudget("δ of a budget of queries lies between 0.001 and 50; e^δ is how far odds may move")
    trials = exact_trials(total, limit, most) if calibration == "exact" else paper_trials(total, limit, people)
    kept = loss_of(trials, total, limit)
    if kept.failure > most:
        raise InvalidBudget(
            f"with so few people the paper's noise keeps a bound of {kept.failure:.2g} only, and {float(most):.2g} is "
            "asked for; take calibration exact"
        )
    stated = most if calibration == "exact" else _stated(kept.failure)
    return QueryBudget(total, limit, trials, calibration, stated, _stated(kept.dp_delta), points)


def paper_trials(queries: int, delta: Fraction, people: int, power: int = PAPER_POWER) -> int:
    """R = (T/δ²)·log^μ n, rounded up to an even number; conf and log are in nats. [SuLQ, Section 4]"""
    return _possible(float(queries / delta**2) * math.log(max(people, 3)) ** power)


def exact_trials(queries: int, delta: Fraction, failure: Fraction) -> int:
    """The least even R, to one part in a million, with `loss_of(R).failure` at most the bound."""

    def keeps(trials: int) -> bool:
        return loss_of(trials, queries, delta).failure <= failure

    # Where the loss is Gaussian, Chernoff's bound is kept by R/4 = 2·T·ln(1/failure)/δ²: a little more than the least.
    enough = _possible(8 * queries * math.log(1 / failure) / float(delta) ** 2)
    while not keeps(enough):
        enough = _possible(1.1 * enough)
    short = enough
    while short > 2 and keeps(short):
        enough, short = short, max(2, int(short / 1.1) // 2 * 2)
    if keeps(short):
        return short
    while enough - short > max(2, enough >> 20):
        middle = (enough + short) // 4 * 2
        enough, short = (middle, short) if keeps(middle) else (enough, middle)
    return enough


@dataclass(frozen=True)
class Loss:
    """What T queries may tell: `failure` bounds Pr[Δconf > δ], and they are (δ, `dp_delta`)-differentially private."""

    failure: float
    dp_delta: float


def loss_of(trials: int, queries: int, delta: Fraction) -> Loss:
    """Both bounds for T queries with noise of so many trials. Never too small; see sulq.md."""
    composed = _composed(_loss_of_one(trials, queries), queries, float(delta))
    odds = math.exp(delta)
    with_row = composed.allowance + np.cumsum(composed.masses)
    without = np.cumsum(composed.masses * np.exp(-composed.losses))
    # Events on which the answers are e^δ times as likely with this row as without it: p* is the likeliest of them.
    surplus = with_row - odds * without
    best = int(np.argmax(surplus))
    below = np.flatnonzero(surplus[best:] < 0)
    dp_delta = min(1.0, max(float(surplus[best]), 0.0))
    if not below.size:
        return Loss(1.0, dp_delta)
    at = best + int(below[0])
    # A coin decides on the last cell: the event's share of it is where the surplus is used up.
    unused = 0.0 if at == best else surplus[at] / (surplus[at] - surplus[at - 1])
    event = with_row[at] - unused * composed.masses[at]
    return Loss(min(1.0, float(event) * (1 + 1 / odds)), dp_delta)


def failure_for_all(trials: int, queries: int, delta: Fraction, rows: int) -> float:
    """Bounds the probability that Δconf > δ for *some* statement about a row that can have so many values: of k bits
    2^k, and 2^2^k statements. [SuLQ, Section 7; proved in sulq.md]"""
    return min(1.0, (rows - 1) * loss_of(trials, queries, delta / 2).failure)


def trials_for_all(queries: int, delta: Fraction, failure: Fraction, rows: int) -> int:
    """R for which all statements about a row keep δ at once, but for this probability."""
    return exact_trials(queries, delta / 2, failure / (rows - 1))


def failure_if_linked(trials: int, queries: int, delta: Fraction, linked: int) -> float:
    """Bounds Pr[Δconf > δ] for a statement about one row where rows depend on each other in groups of at most so many,
    for who knows all other groups. [SuLQ, Section 7; proved in sulq.md]"""
    step = delta / (2 * linked)
    together = loss_of(trials, queries, step).dp_delta * sum(math.exp(place * step) for place in range(linked))
    return min(1.0, (1 + math.exp(-delta)) * together / (1 - math.exp(-delta / 2)))


def heaviest_share(share: float, delta: Fraction, failure: float, people: int) -> float:
    """How many of the rows of any set that is chosen in the light of all answers are expected to have what a share of
    all rows has, at most: nobody finds a very heavy set. [SuLQ, Section 3; proved in sulq.md]"""
    odds = share / (1 - share) * math.exp(delta)
    return min(1.0, odds / (1 + odds) + people * failure)


@dataclass(frozen=True)
class _OneLoss:
    """The loss ln(b(k)/b(k−1)) of one query on a grid: `masses[i]` at (first + i)·step, and what counts as infinite."""

    step: float
    first: int
    masses: Floats
    given_away: float

    @property
    def losses(self) -> Floats:
        return self.step * (self.first + np.arange(self.masses.size, dtype=np.float64))


def _loss_of_one(trials: int, queries: int) -> _OneLoss:
    """Each loss between two grid points is split between them, so that both laws keep their mass: somebody who is told
    which of the two it was knows more than from the answer. [Doroshenko et al. 2022, "connect the dots"]"""
    half, centre, deviation = trials // 2, (trials + 1) / 2, math.sqrt(trials) / 2
    reach = min(half, math.ceil(REACH * deviation))
    decline = -2 * np.cumsum(np.arctanh((np.arange(1, reach + 1) - 0.5) / centre))  # ln b(k)/b(0): binomial.md
    weights = np.exp(np.concatenate([decline[::-1], [0.0], decline]))
    masses = weights / weights.sum()
    beyond = 0.0 if reach == half else 2 * math.exp(-2 * (reach + 1) ** 2 / trials)  # Hoeffding
    noise = np.arange(-reach, reach + 1)
    if reach == half:  # the least number of heads cannot be had with one head less
        beyond, noise, masses = float(masses[0]), noise[1:], masses[1:]
    losses = -2 * np.arctanh((noise - 0.5) / centre)
    fineness = min(max(CELLS / (2 * WINDOW * math.sqrt(queries)), COARSEST), FINEST)
    step = 1 / (fineness * deviation)
    cells = np.floor(losses / step).astype(np.int64)
    upper = np.expm1(cells * step - losses) / math.expm1(-step)
    first = int(cells.min())
    split = np.zeros(int(cells.max()) - first + 2)
    split += np.bincount(cells - first, masses * (1 - upper), split.size)
    split += np.bincount(cells - first + 1, masses * upper, split.size)
    return _OneLoss(step, first, split, beyond)


@dataclass(frozen=True)
class _Composed:
    """The loss of all queries, from the largest down: its masses, and what to allow for all that is not in them."""

    losses: Floats
    masses: Floats
    allowance: Floats


def _composed(one: _OneLoss, queries: int, delta: float) -> _Composed:
    """T-fold, by one Fourier transform of the law tilted to where δ is its mean: small tails keep their digits."""
    losses = one.losses
    tilt = _tilt(one, queries, delta)
    exponents = np.log(np.maximum(one.masses, 1e-300)) + tilt * losses
    log_moment = float(np.logaddexp.reduce(exponents))
    tilted = np.exp(exponents - log_moment)
    mean = float(tilted @ losses)
    deviation = math.sqrt(queries * max(float(tilted @ (losses - mean) ** 2), one.step**2))
    whole = queries * (one.masses.size - 1) + 1
    wanted = 2 * WINDOW * deviation / one.step + one.masses.size + 2
    cells = 1 << math.ceil(math.log2(whole if whole <= CELLS else min(whole, wanted)))
    folded = np.fft.irfft(np.fft.rfft(tilted, cells) ** queries, cells)
    top = queries * one.first + cells - 1 if cells >= whole else round(queries * mean / one.step) + cells // 2
    places = top - np.arange(cells)
    sums = (places * one.step).astype(np.float64)
    further = queries * log_moment - tilt * sums
    masses = np.maximum(folded[(places - queries * one.first) % cells], 0.0) * np.exp(np.minimum(further, 50.0))
    chernoff = np.exp(np.minimum(further, 0.0))
    above = 0.0 if cells >= whole else float(chernoff[0])  # at least the mass beyond the window's upper end
    return _Composed(sums, masses, queries * one.given_away + above + ROUNDING * (queries + 1e4) * chernoff)


def _tilt(one: _OneLoss, queries: int, delta: float) -> float:
    """The θ for which the T-fold law tilted by e^(θ·loss) has mean δ; at most so steep that floats can follow."""
    losses = one.losses

    def mean(tilt: float) -> float:
        weights = one.masses * np.exp(tilt * (losses - losses[-1]))
        return queries * float(weights @ losses / weights.sum())

    low, high = 0.0, STEEPEST / math.sqrt(queries * float(one.masses @ losses**2))
    if mean(low) >= delta:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < delta else (low, middle)
    return high


def _possible(trials: float) -> int:
    """An even number of trials, rounded up, that the sampler takes."""
    if not trials <= MAX_TRIALS:
        raise InvalidBudget(
            f"this takes noise of {trials:.2g} coins, and at most {MAX_TRIALS:.0e} are drawn here; ask for fewer "
            "queries, a larger δ, or calibration exact"
        )
    return max(2, 2 * math.ceil(trials / 2))


def _stated(probability: float) -> Fraction:
    """A probability as it is stated: two digits, rounded up."""
    exponent = math.floor(math.log10(max(probability, 1e-30))) - 1
    return Fraction(math.ceil(Fraction(max(probability, 1e-30)) / Fraction(10) ** exponent)) * Fraction(10) ** exponent
