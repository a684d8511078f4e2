"""How much noise to ask for: what the analyst wishes, and what the vault does when nothing is said."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise, UnsupportedQuery, VaultError
from discreet.ledger.budget import Budget
from discreet.noise.confidence import exact_confidence
from discreet.noise.law import Exponential, Gaussian, Noise
from discreet.query.plan import exact_scale
from discreet.release.purchase import NO_LIMITS, QuestionLimits

if TYPE_CHECKING:
    from discreet.answer.compound import Metric

DEFAULT_SHARE = 100
"""Where nothing is said, a question spends one in so many parts of the budget in its region."""
MOST_IN_COMPOUND = 100
"""A question's ξ: each count more is another search through what was released."""
MOST_NAMED = 12
"""Attributes that an error lists."""
SWITCHES = ("relax", "patches", "null_unanswered")
"""Settings of the policy that are true or false."""
SOLVING_STEPS = 12
"""A sum's scale is solved for to one part in 2 to this power."""
FINEST_STEP = 1 << 20
"""Solved scales are multiples of 1 over this: fine enough, and exact."""


@dataclass(frozen=True)
class Policy:
    """`[policy]` of vault.toml: what `ask` does when nothing is said, and what it never does."""

    default_within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    min_scale: Fraction | None = None
    max_per_query: Fraction | None = None
    compound_size: int = 3
    """ξ: at most this many released answers make up a relaxed one."""
    relax: bool = True
    """Whether a region without budget is answered by one nearby, and not at all otherwise."""
    patches: bool = False
    """Whether a relaxed answer may buy counts of other regions, to come nearer to the one that was asked about."""
    null_unanswered: bool = False
    """Whether over MySQL a number that cannot be answered is NULL, with a warning, and not an error."""
    weights: tuple[tuple[str, Fraction], ...] = ()
    """How much it matters that a relaxed answer is off in an attribute; 1 where nothing is said [relaxation, 4.1]."""
    max_relaxation: Fraction | None = None
    """The relaxation error beyond which a region is not nearby, and a question is refused as without `relax`."""

    def metric(self, domain: Domain) -> "Metric":
        """How far regions are from one another, by the weights. Raises VaultError where one is of no attribute."""
        from discreet.answer.compound import Metric  # reading a policy needs no answers

        own = dict(self.weights)
        strangers = sorted(own.keys() - set(domain.names))
        if strangers:
            raise VaultError(f"[policy] weights in vault.toml name {', '.join(strangers)}, which the domain has not")
        return Metric(domain.shape, tuple(float(own.get(name, 1)) for name in domain.names))

    def is_near(self, error: float) -> bool:
        """Whether a region with this relaxation error may be answered for instead of the one asked about."""
        return self.max_relaxation is None or error <= self.max_relaxation

    def for_question(
        self, domain: Domain, relax: bool | None, weights: Mapping[str, object] | None, compound_size: int | None
    ) -> "Policy":
        """The same for a question that says whether and how it may be relaxed: by one nearby or not, nearby by which
        weights, made of how many answers (ξ). Its weights come before the policy's, attribute by attribute. Raises
        UnsupportedQuery."""
        own = {name: exact_scale(weight, f"the weight of {name!r:.40}") for name, weight in (weights or {}).items()}  # type: ignore[arg-type]
        strangers = sorted(own.keys() - set(domain.names))
        if strangers:
            known = ", ".join(domain.names[:MOST_NAMED])
            raise UnsupportedQuery(f"no attribute {strangers[0]!r:.40} to give a weight to; there are {known}")
        if compound_size is not None and not 1 <= compound_size <= MOST_IN_COMPOUND:
            raise UnsupportedQuery(f"a relaxed answer is made of 1 to {MOST_IN_COMPOUND} released ones: compound_size")
        return replace(
            self,
            relax=self.relax if relax is None else relax,
            weights=tuple({**dict(self.weights), **own}.items()),
            compound_size=self.compound_size if compound_size is None else compound_size,
        )

    @property
    def limits(self) -> QuestionLimits:
        """What it never lets a question do."""
        return QuestionLimits(self.min_scale, self.max_per_query)

    @classmethod
    def parse(cls, settings: dict[str, Any]) -> "Policy":
        """From TOML; unknown keys and values that make no sense are refused."""
        known = [field.name for field in fields(cls)]
        values: dict[str, Any] = {}
        for key, value in settings.items():
            if key not in known:
                raise VaultError(f"[policy] in vault.toml has no {key!r}; it takes {', '.join(known)}")
            if key in SWITCHES and not isinstance(value, bool):
                raise VaultError(f"[policy] {key} in vault.toml must be true or false")
            if key == "weights":
                values[key] = _weights(value)
            else:
                values[key] = value if key in (*SWITCHES, "compound_size") else _exact(value, key)
        size = values.get("compound_size", 1)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise VaultError("[policy] compound_size in vault.toml must be a whole number, 1 or more")
        return cls(**values)


def _exact(value: Any, key: str) -> Fraction:
    if key != "confidence":
        return exact_scale(value, key)
    try:
        return exact_confidence(value)
    except InvalidNoise as error:
        raise VaultError(f"[policy] in vault.toml: {error}") from None


def _weights(value: object) -> tuple[tuple[str, Fraction], ...]:
    if not isinstance(value, dict):
        raise VaultError("[policy] weights in vault.toml is a table of numbers by attribute: weights = { age = 2 }")
    return tuple((str(name), exact_scale(weight, "weights")) for name, weight in value.items())


@dataclass(frozen=True)
class Wish:
    """What an analyst asks for: a scale, or to be within so much of the truth with some confidence, or nothing."""

    scale: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)

    @classmethod
    def of(cls, policy: Policy, scale: object, within: object, confidence: object) -> "Wish":
        if scale is not None and within is not None:
            raise InvalidNoise("say scale or within, not both")
        wanted = policy.confidence if confidence is None else exact_confidence(confidence)  # type: ignore[arg-type]
        if scale is not None:
            return cls(scale=exact_scale(scale), confidence=wanted)  # type: ignore[arg-type]
        if within is not None:
            return cls(within=exact_scale(within, "within"), confidence=wanted)  # type: ignore[arg-type]
        return cls(within=policy.default_within, confidence=wanted)


def noise_affordable(
    left: Fraction, shares: int, budget: Budget, limits: QuestionLimits, part: Fraction = Fraction(1)
) -> Noise | None:
    """The least noise of so many counts, each, that what is left in their region, and the limits, let a question buy;
    None for none. `part` as in `usual_noise`."""
    most = left if limits.max_per_query is None else min(left, limits.max_per_query)
    if most <= 0:
        return None
    sharpest = budget.noise_costing(most / shares, part)
    return sharpest if limits.min_scale is None else _noisier(sharpest, budget.noise_of_scale(limits.min_scale))


def usual_noise(budget: Budget, limits: QuestionLimits = NO_LIMITS, part: Fraction = Fraction(1)) -> Noise:
    """The noise of a count that spends its default share of the budget in its region; never below the least allowed. Of
    what a person moves by a `part` of what their rows would, so much less of it."""
    usual = budget.noise_costing(budget.total / DEFAULT_SHARE, part)
    return usual if limits.min_scale is None else _noisier(usual, budget.noise_of_scale(limits.min_scale))


def first_noise(budget: Budget, limits: QuestionLimits, averages: int) -> Noise:
    """The noise of the count that each of some averages may need before its own noise can be solved for: the usual one,
    or more, so that all these counts leave half of what a question may spend for the averages themselves."""
    usual = usual_noise(budget, limits)
    if limits.max_per_query is None:
        return usual
    return _noisier(usual, budget.noise_costing(limits.max_per_query / (2 * averages)))


def _noisier(one: Noise, other: Noise) -> Noise:
    return max(one, other, key=lambda noise: noise.scale_squared)


def exponential_like(noise: Noise, budget: Budget) -> Exponential:
    """The exponential mechanism that costs as much as a count with this noise, or hardly less."""
    if not isinstance(noise, Gaussian):
        return Exponential(Fraction(noise.scale))
    one = Fraction(1)
    equal = math.sqrt(float(budget.loss(Exponential(one), one, True) / budget.loss(noise, one, True)))
    return Exponential(stepped(equal) + Fraction(1, FINEST_STEP))


def deviations(confidence: Fraction) -> float:
    """Within how many standard deviations noise stays, with at least this probability.

    It holds for every combination of independent Laplace draws, and for Gaussian ones: noise/spread.md has the proof.
    """
    from discreet.noise.spread import mixture_deviations

    return mixture_deviations(float(confidence))


def noise_within(within: Fraction, confidence: Fraction, budget: Budget, grain: Fraction = Fraction(1)) -> Noise:
    """The most noise (by steps of its scale) that, in whole grains, stays within ±`within` with this confidence."""
    grains = math.floor(within / grain)
    if grains < 1:
        raise InvalidNoise(f"answers come in steps of {grain}, so within must be at least {grain}")
    # A discrete law of the solved scale stays within w or w + 1 times what the continuous one of scale 1 stays within.
    unit = budget.noise_of_scale(Fraction(1)).continuous_halfwidth(confidence)
    low, high = stepped(grains / unit / 2), stepped((grains + 1) / unit) + Fraction(1, FINEST_STEP)
    while high - low > Fraction(1, FINEST_STEP):
        middle = stepped(float(low + high) / 2)
        if middle in (low, high):
            break
        fits = budget.noise_of_scale(middle).halfwidth(confidence) <= grains
        low, high = (middle, high) if fits else (low, middle)
    return budget.noise_of_scale(low).times(grain)


def noise_of_sum_within(
    within: Fraction, confidence: Fraction, budget: Budget, factors: Sequence[tuple[int, Fraction]]
) -> Noise:
    """The noise (by steps of its scale) of each number of a sum, all alike, with which the sum stays within ±`within`
    with this confidence. Each has its factor, and the grain in which it is measured."""
    from discreet.noise.spread import Draws, halfwidth

    def fits(scale: Fraction) -> bool:
        noise = budget.noise_of_scale(scale)
        draws = [Draws(times * float(grain), noise.times(1 / grain)) for times, grain in factors]
        return halfwidth(draws, confidence) <= within

    size = math.sqrt(sum(times * times for times, _ in factors))
    if not size:
        return budget.noise_of_scale(stepped(float(within)))  # 0 times whatever it is
    high = stepped(2 * float(within) / (deviations(confidence) * size))
    low = high
    while not fits(low):
        low, high = stepped(float(low) / 2), low
        if low == high:
            raise InvalidNoise("within is smaller than the steps in which such a sum is answered")
    for _ in range(SOLVING_STEPS):
        middle = stepped(float(low + high) / 2)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return budget.noise_of_scale(low)


def stepped(value: float) -> Fraction:
    """A scale as an exact number, rounded down to a step."""
    return Fraction(max(math.floor(value * FINEST_STEP), 1), FINEST_STEP)
