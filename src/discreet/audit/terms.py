"""A vault's budget as its first entry states it, read by the audit's own arithmetic: what a row may cost, and what a
measurement costs it. The reasons are in docs/explain/privacy.md; nothing is shared with the ledger that is audited.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from discreet.exact import parse_exact

UNITS = 720_720_000_000
"""Whole units in 1, as docs/reference/journal-format.md fixes them."""

SENSES = {"add-remove": 1, "replace": 2}
MOST_UNITS = 2**62
ONE = Fraction(1)
MOST_COINS = 10**12


class Unreadable(Exception):
    """The journal says something that has no meaning; in words."""


@dataclass(frozen=True)
class Terms:
    """What the vault promises in all; `people` and `squares` are how far apart public facts put neighbours."""

    currency: Literal["epsilon", "rho", "mu_squared", "queries"]
    total: Fraction
    neighbours: str
    max_rows: int
    trials: int = 0
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    people: int = 0
    squares: int = 0
    found: tuple[Fraction, Fraction, Fraction] = (Fraction(0),) * 3
    """ε, μ² and δ of finding values, before anything was asked."""
    of_person: bool = False
    """Where there are several tables, a unit is what a person loses who has `max_rows` in the table that is asked."""

    @property
    def symbol(self) -> str:
        return {"epsilon": "ε", "rho": "ρ", "mu_squared": "μ²", "queries": "T"}[self.currency]

    @property
    def factor(self) -> int:
        """What a person costs, as a multiple of one row added or removed."""
        if self.currency == "queries":
            return 1
        own, rows = SENSES[self.neighbours], 1 if self.of_person else self.max_rows
        if self.currency == "epsilon":
            return rows * max(own, self.people)
        moved = self.people**2 if self.neighbours == "add-remove" else self.squares
        return rows**2 * max(own, moved)

    @property
    def limit(self) -> int:
        """The most units that may be spent at any point."""
        return int(self.total) if self.currency == "queries" else math.floor(UNITS * self.total / self.factor)

    def amount(self, units: int) -> Fraction:
        """What so many units at a point cost one person, in the vault's currency."""
        return Fraction(units) if self.currency == "queries" else Fraction(units * self.factor, UNITS)

    def under(self, people: int, squares: int) -> "Terms":
        """The same once a fact is public: neighbours never come closer again."""
        return replace(self, people=max(self.people, people), squares=max(self.squares, squares))

    def keeps(self, amount: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether an amount of the vault's currency is known to imply (ε, δ)."""
        if self.currency == "rho":
            return rho_keeps(amount, epsilon, delta)
        own_epsilon, own_square, own_delta = self.found
        if epsilon <= own_epsilon or delta <= own_delta:
            return False
        return mu_keeps(amount + own_square, epsilon - own_epsilon, delta - own_delta)

    def units(self, law: str, parameter: Fraction, squared: Fraction, one_signed: bool, grain: Fraction = ONE) -> int:
        """Units at a point whose row moves the measured numbers by a squared length of `squared` at most, rounded up.

        Laplace noise and the exponential mechanism lose move/scale; as ρ half its square; as μ² 11/7 of it, and 11/28
        of it. Gaussian noise has no pure loss, and as ρ squared/(2σ²); as μ², of whole grains, what `_least_gaussian`
        finds. Where a person is replaced, two rows may work together: twice, unless they cannot.
        """
        if self.currency == "queries" or law == "binomial":
            raise Unreadable(f"noise of kind {law} has no price in {self.symbol}")
        if self.currency == "epsilon" and law == "gaussian":
            raise Unreadable("Gaussian noise, which a budget of ε cannot pay for")
        apart = self.neighbours == "replace" and not (law == "gaussian" and one_signed)
        moved = squared * (self.max_rows if self.of_person else 1) ** 2
        return _units(self.currency, law, parameter, moved, grain, 2 if apart else 1)


@lru_cache(maxsize=4096)
def _units(currency: str, law: str, parameter: Fraction, squared: Fraction, grain: Fraction, times: int) -> int:
    if currency == "epsilon":
        move = Fraction(math.isqrt(squared.numerator), math.isqrt(squared.denominator))
        return math.ceil(UNITS * move / parameter)
    if law == "gaussian" and currency == "mu_squared":
        return _least_gaussian(parameter / grain**2, times * squared / grain**2)
    if law == "gaussian":
        return math.ceil(UNITS * times * squared / (2 * parameter))
    share = Fraction(1, 2) if currency == "rho" else {"laplace": Fraction(11, 7), "exponential": Fraction(11, 28)}[law]
    return math.ceil(UNITS * times * share * squared / parameter**2)


def _least_gaussian(sigma_squared: Fraction, squared: Fraction) -> int:
    """The least units u that a number costs in μ² which moves by this squared length under discrete Gaussian noise: for
    d = u/(UNITS·squared), d − d²/12 ≥ 1/σ² from σ² = 25/48 on; below that, at σ² or at 1/2, N(0, 1) lies within √d/2
    of 0 as often as the noise is 0; below σ² = 1/100, d ≥ 4/σ². Found by halving."""
    whole = UNITS * squared
    if 100 * sigma_squared < 1:
        return math.ceil(4 * whole / sigma_squared)
    enough = _smooth_enough if 48 * sigma_squared >= 25 else _little_enough
    low, high = math.floor(whole / sigma_squared) - 1, math.ceil(4 * whole / sigma_squared)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle / whole, sigma_squared) else (middle, high)
    return high


def _smooth_enough(price: Fraction, sigma_squared: Fraction) -> bool:
    return price >= 6 or sigma_squared * price * (12 - price) >= 12


def _little_enough(price: Fraction, sigma_squared: Fraction) -> bool:
    from mpmath import mp  # few journals need it

    with mp.workdps(60):
        least = min(sigma_squared, Fraction(1, 2))
        whole = mp.jtheta(3, 0, mp.exp(-mp.mpf(least.denominator) / (2 * least.numerator)))
        return bool(mp.erfc(mp.sqrt(mp.mpf(price.numerator) / (8 * price.denominator))) <= 1 - 1 / whole)


def read_terms(budget: Mapping[str, Any]) -> Terms:
    """The budget of a header. Raises Unreadable where it makes no sense."""
    try:
        if "queries" in budget:
            queries, trials, points = (budget[key] for key in ("queries", "trials", "points"))
            if (
                not all(type(number) is int and number > 0 for number in (queries, trials, points))
                or trials > MOST_COINS
            ):
                raise ValueError
            return Terms("queries", Fraction(queries), "replace", 1, trials)
        currency: Literal["epsilon", "rho", "mu_squared"] = (
            "mu_squared" if "mu_squared" in budget else "rho" if "rho" in budget else "epsilon"
        )
        terms = Terms(currency, parse_exact(budget[currency]), budget["neighbours"], budget["max_rows"])
        terms = replace(terms, of_person=budget.get("person") is True)
        if (currency == "epsilon" and "delta" in budget) or {"rho", "mu_squared"} <= set(budget):
            raise ValueError
        implied = budget.get("implies", {}) if currency == "mu_squared" else budget
        if "delta" in implied:
            terms = replace(terms, epsilon=parse_exact(implied["epsilon"]), delta=parse_exact(implied["delta"]))
        if "discovering" in budget:
            own, square, delta = (parse_exact(budget["discovering"][key]) for key in ("epsilon", "mu_squared", "delta"))
            if currency != "mu_squared" or terms.delta is None or min(own, square, delta) < 0:
                raise ValueError
            terms = replace(terms, found=(own, square, delta))
        if type(terms.max_rows) is not int or terms.max_rows < 1 or terms.neighbours not in SENSES:
            raise ValueError
        if not 0 < terms.limit < MOST_UNITS:
            raise ValueError
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise Unreadable("its budget makes no sense") from None
    return terms


def unkept(header: Mapping[str, Any], terms: Terms, points: int, rows: int | None = None) -> str:
    """Why a budget does not keep what the header promises for a domain of so many points; nothing where it does. `rows`
    are those of a person in all of several tables."""
    unit = header.get("unit")
    if rows is None:
        rows = unit.get("max_rows") if isinstance(unit, Mapping) else 1
    if rows != terms.max_rows:
        return f"the rows of a person that count are {rows} at most, and the budget is for {terms.max_rows}"
    if (
        terms.epsilon is not None
        and terms.delta is not None
        and not terms.keeps(terms.total, terms.epsilon, terms.delta)
    ):
        return (
            f"its budget of {terms.symbol} does not imply the ε = {terms.epsilon}, δ = {float(terms.delta):g} that it "
            "promises"
        )
    if terms.currency == "queries" and not _coins_keep(header["budget"], terms):
        return f"noise of {terms.trials:,} coins does not keep what it promises for {int(terms.total):,} queries"
    # A person's row is a point of the domain, or there is none.
    if terms.currency == "queries" and header["budget"]["points"] < points + 1:
        return f"it counts {header['budget']['points']:,} rows that a person can have, and there are {points + 1:,}"
    return ""


def _coins_keep(budget: Mapping[str, Any], terms: Terms) -> bool:
    """Whether so many coins keep the bounds that are stated: worked out again, as `init` did it."""
    from discreet.mining.sulq import loss_of

    try:
        delta, failure, dp_delta = (parse_exact(budget[key]) for key in ("delta", "failure", "dp_delta"))
        kept = loss_of(terms.trials, int(terms.total), delta)
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError):
        return False
    return kept.failure <= failure and kept.dp_delta <= dp_delta


def rho_keeps(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether ρ-zCDP is known to imply (ε, δ): any order α > 1 gives a valid δ, so it is enough to find one.
    [Canonne, Kamath, Steinke 2020, Proposition 12]"""
    r, e = float(rho), float(epsilon)
    middle = (e + r) / (2 * r)
    orders = (1 + (middle - 1) * step / 1000 for step in range(1, 4000) if middle > 1)
    found = min(
        ((a - 1) * (a * r - e) - math.log(a - 1) + a * math.log1p(-1 / a) for a in orders),
        default=math.inf,
    )
    return found <= math.log(delta) * (1 - 1e-6)


def mu_keeps(mu_squared: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether Gaussian differential privacy of μ² implies (ε, δ): what N(0, 1) and N(μ, 1) lose, by many digits.
    [Balle, Wang 2018, Theorem 8]"""
    from mpmath import mp  # few journals need it

    with mp.workdps(60):
        mu = mp.sqrt(mp.mpf(mu_squared.numerator) / mu_squared.denominator)
        apart = mp.mpf(epsilon.numerator) / epsilon.denominator / mu
        lost = (
            mp.erfc((apart - mu / 2) / mp.sqrt(2)) / 2 - mp.exp(apart * mu) * mp.erfc((apart + mu / 2) / mp.sqrt(2)) / 2
        )
        return bool(lost * delta.denominator <= delta.numerator)
