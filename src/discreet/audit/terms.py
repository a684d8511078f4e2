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
MOST_COINS = 10**12


class Unreadable(Exception):
    """The journal says something that has no meaning; in words."""


@dataclass(frozen=True)
class Terms:
    """What the vault promises in all; `people` and `squares` are how far apart public facts put neighbours."""

    currency: Literal["epsilon", "rho", "queries"]
    total: Fraction
    neighbours: str
    max_rows: int
    trials: int = 0
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    people: int = 0
    squares: int = 0

    @property
    def symbol(self) -> str:
        return {"epsilon": "ε", "rho": "ρ", "queries": "T"}[self.currency]

    @property
    def factor(self) -> int:
        """What a person costs, as a multiple of one row added or removed."""
        if self.currency == "queries":
            return 1
        own = SENSES[self.neighbours]
        if self.currency == "epsilon":
            return self.max_rows * max(own, self.people)
        moved = self.people**2 if self.neighbours == "add-remove" else self.squares
        return self.max_rows**2 * max(own, moved)

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

    def units(self, law: str, parameter: Fraction, move: Fraction, one_signed: bool) -> int:
        """Units at a point whose row moves the measured numbers by at most `move`, rounded up.

        Laplace noise and the exponential mechanism lose move/scale; as ρ half its square. Gaussian noise has no pure
        loss, and move²/(2σ²) as ρ. Where a person is replaced, two rows may work together: twice, unless they cannot.
        """
        if self.currency == "queries" or law == "binomial":
            raise Unreadable(f"noise of kind {law} has no price in {self.symbol}")
        if self.currency == "epsilon" and law == "gaussian":
            raise Unreadable("Gaussian noise, which a budget of ε cannot pay for")
        apart = self.neighbours == "replace" and not (law == "gaussian" and one_signed)
        return _units(self.currency, law, parameter, move, apart)


@lru_cache(maxsize=4096)
def _units(currency: str, law: str, parameter: Fraction, move: Fraction, apart: bool) -> int:
    if currency == "epsilon":
        return math.ceil(UNITS * move / parameter)
    rho = move**2 / (2 * parameter) if law == "gaussian" else (move / parameter) ** 2 / 2
    return math.ceil(UNITS * (2 * rho if apart else rho))


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
        currency: Literal["epsilon", "rho"] = "rho" if "rho" in budget else "epsilon"
        terms = Terms(currency, parse_exact(budget[currency]), budget["neighbours"], budget["max_rows"])
        if "delta" in budget:
            terms = replace(terms, epsilon=parse_exact(budget["epsilon"]), delta=parse_exact(budget["delta"]))
        if type(terms.max_rows) is not int or terms.max_rows < 1 or terms.neighbours not in SENSES:
            raise ValueError
        if not 0 < terms.limit < MOST_UNITS:
            raise ValueError
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise Unreadable("its budget makes no sense") from None
    return terms


def unkept(header: Mapping[str, Any], terms: Terms, points: int) -> str:
    """Why a budget does not keep what the header promises for a domain of so many points; nothing where it does."""
    unit = header.get("unit")
    rows = unit.get("max_rows") if isinstance(unit, Mapping) else 1
    if rows != terms.max_rows:
        return f"the rows of a person that count are {rows} at most, and the budget is for {terms.max_rows}"
    if terms.epsilon is not None and terms.delta is not None and not rho_keeps(terms.total, terms.epsilon, terms.delta):
        return f"its budget of ρ does not imply the ε = {terms.epsilon}, δ = {float(terms.delta):g} that it promises"
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
