"""Budgets: what a vault may ever spend, in one currency, and what a mechanism costs in it.

Pure: a row at point p changes the odds of everything released by at most exp(spend at p). Adding or removing one
person, who has up to k rows, therefore costs k times the map's maximum M; replacing one person's rows takes k rows
away and adds k: 2·k·M. So M ≤ ε/(k·S), with S = 1 or 2, is ε-differential privacy.
[relaxation, Lemma 2, with noise per query]

Concentrated: Gaussian noise of variance σ² on numbers that one row at p moves by f(p) costs ρ = f(p)²/(2σ²), and a
mechanism with a pure loss of ε costs ε²/2 [Bun, Steinke 2016, Proposition 1.4]. A person's k rows move a number by at
most the sum of k such moves, whose square is at most k times the sum of their squares: over all measurements k²·M. For
a person replaced, let r and a be what the rows taken away and added move a number by. Where all moves have one sign,
(a − r)² ≤ a² + r², hence 2k²·M; otherwise, and for pure mechanisms, (|a| + |r|)² ≤ 2a² + 2r², hence 4k²·M. So
M ≤ ρ/(k²·S) is ρ-zCDP, where in a `replace` vault everything but one-signed Gaussian numbers is charged twice.

Gaussian: the same sums of squares, of μ instead of √(2ρ): discrete Gaussian noise on a whole number that one row at p
moves by m costs m²·d(σ²), where d is hardly above 1/σ², and a mechanism whose privacy loss stays within an interval of
length r costs (π/8)·r²: `gaussian_price.py`. Rows that move a number together add up their moves, as above, so
M ≤ μ²/(k²·S) is μ-Gaussian differential privacy. A ρ is never converted into it: zCDP implies no μ.
[Dong, Roth, Su 2022; the filter: Smith, Thakurta 2022]

Facts: where exact statistics are public, neighbours are tables that agree with them and have no such table between them
[cubes, Definition 5.1.4], and several people change at once: see `Induced`. If their rows at p number g(p), k for each
of S_Q people, the odds change by at most exp(Σ g(p)·spend at p) ≤ exp(k·S_Q·M); and a number moves by at most
Σ g(p)·f(p), whose square is at most k·S_Q·Σ g(p)·f(p)²: over all measurements (k·S_Q)²·M. For one-signed numbers the
rows added and those removed work against each other, which leaves the larger of two such bounds, hence at most their
sum, k²·(added² + removed²)·M; and twice that is at least (k·S_Q)²·M for the others, which `replace` charges twice.

Queries: T answers with binomial noise of R coins, a number of them and not an amount; every answer is one for
everybody. What R keeps the T answers (δ, T)-private is found in `mining/sulq.py`, once, when the vault is made.
[SuLQ, Section 4]

Several tables of the same people: units are what a person loses, with the k rows, or k², of the table that is asked in
each price; the map is over all that a person may be in them together, and its maximum is the person's: `factor` has S
alone. docs/explain/several-tables.md has the proof.

Queries are chosen in the light of earlier answers; whether one is charged depends on the public history alone, so the
map is a privacy filter [Feldman, Zrnic 2021]: docs/explain/privacy.md has the proof.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, get_args

from discreet.errors import InvalidBudget, InvalidNoise, UnsupportedQuery
from discreet.exact import Number, parse_exact
from discreet.ledger.guarantee import SENSES, Neighbours
from discreet.ledger.spend import MAX_UNITS, UNITS, units_down
from discreet.noise.law import Binomial, Gaussian, Laplace, Law, Noise

MAX_QUERIES = 10**7
NOT_PURE = "Gaussian noise has no pure guarantee; a vault made with --rho, --mu or --delta takes it"
BY_QUERIES = "binomial noise is accounted for by a budget of queries alone; see `discreet init --queries`"
SUBSETS_ONLY = (
    "this vault has a budget of queries: it answers counts over subsets of its roster, and nothing else; ask with "
    "`discreet sulq ask`, or make another vault with --epsilon for SQL, cubes and buckets"
)


@dataclass(frozen=True)
class Induced:
    """How far apart the neighbours are that public facts induce: the most people who change (S_Q), and the most of
    added² + removed², over all such neighbours. Without facts both are 0: the vault's own neighbours decide. Where they
    are not `exact`, they are proved to be at most that."""

    people: int = 0
    squares: int = 0
    exact: bool = True

    def or_more(self, other: "Induced") -> "Induced":
        exact = self.exact and other.exact
        return Induced(max(self.people, other.people), max(self.squares, other.squares), exact)


NO_FACTS = Induced()


class Budget(ABC):
    """A total for everything that a vault will ever release. Raises InvalidBudget where that makes no sense."""

    symbol: ClassVar[str]
    option: ClassVar[str]
    """What a part of it is given as, in Python and on the command line."""
    power: ClassVar[int]
    """With b times as much spent on a number, the variance of its noise is 1/b to this power of what it was."""
    by_queries: ClassVar[bool] = False
    """Whether it answers so many counts over subsets of a roster, and nothing else."""
    neighbours: Neighbours
    max_rows: int
    induced: Induced = NO_FACTS
    of_person: bool = False
    """Where several tables are of the same people, units are what a *person* loses, and not a row: of a table with
    `max_rows` of one; of all tables together, that is their sum."""

    def __post_init__(self) -> None:
        if self.neighbours not in get_args(Neighbours):
            raise InvalidBudget(f"neighbours is one of {', '.join(get_args(Neighbours))}; it has to be chosen")
        if self.max_rows < 1:
            raise InvalidBudget("a person has at least one row: max_rows is 1 or more")
        if self.total <= 0:
            raise InvalidBudget(f"{self.symbol} must be above 0")
        if self.limit > MAX_UNITS:
            most = Fraction(MAX_UNITS * self.factor, UNITS)
            raise InvalidBudget(f"{self.symbol} is at most {int(most)} here; beyond it nothing is private anyway")
        if self.limit < 1:
            raise InvalidBudget(f"{self.symbol} is below what the ledger counts; give at least {self.amount_of(1)}")

    @property
    @abstractmethod
    def total(self) -> Fraction:
        """The whole budget, in its currency."""

    @property
    @abstractmethod
    def factor(self) -> int:
        """What one person costs, as a multiple of what one row costs that is added or removed."""

    @property
    def rows_after(self) -> int:
        """By how many rows of a person units are multiplied once they are added up."""
        return 1 if self.of_person else self.max_rows

    @property
    def rows_before(self) -> int:
        """By how many they are multiplied before that, when a measurement is priced."""
        return self.max_rows if self.of_person else 1

    def over(self, rows: int) -> Self:
        """The same budget with units of a person, for a table with at most so many rows of one."""
        return replace(self, max_rows=rows, of_person=True)  # type: ignore[type-var]  # every budget is a dataclass

    @property
    def limit(self) -> int:
        """The most units that may be spent at any point: ⌊UNITS·total/factor⌋."""
        return units_down(self.total / self.factor)

    def amount_of(self, units: int) -> Fraction:
        """What so many units at a point cost one person."""
        return Fraction(units * self.factor, UNITS)

    @property
    def currency(self) -> str:
        """What people give quotas in: the symbol, or ε where the vault promises ε and δ."""
        return self.symbol

    def in_words(self, amount: Fraction) -> str:
        """An amount for people, with what it is of: "ε 0.0617 of 1 · 6%"."""
        return f"{self.symbol} {float(amount):.4g} of {float(self.total):.4g} · {self.share(amount)}"

    def share(self, amount: Fraction) -> str:
        """An amount as a part of the whole budget."""
        percent = float(100 * amount / self.total)
        if percent >= 99.5 and amount < self.amount_of(self.limit):
            return f"{min(percent, 99.9):.3g}%"  # all is spent only where nothing is left
        return f"{percent:.0f}%" if percent >= 10 else f"{percent:.2g}%"

    def quota(self, asked: Number) -> Fraction:
        """The amount that a quota means which is given in the vault's own currency, or as a part of the budget: 10%."""
        text = str(asked).strip()
        if text.endswith("%"):
            percent = exact_amount(text[:-1], "a quota")
            if percent > 100:
                raise InvalidBudget(f"a quota of {text} is more than there is: 100% is the whole budget")
            return self.total * percent / 100
        return exact_amount(asked, "a quota")

    def under(self, induced: Induced) -> Self:  # noqa: ARG002
        """The same total where public facts induce neighbours so far apart. Raises where that is not accounted for."""
        raise UnsupportedQuery(
            f"a vault with a budget of {self.symbol} takes no facts; make one with --epsilon, --rho or --mu"
        )

    @abstractmethod
    def loss(self, law: Law, move: Fraction, one_signed: bool, grain: Fraction = Fraction(1)) -> Fraction:
        """What a mechanism costs a row that moves its number by at most `move`, before the factor. Noise is drawn in
        whole grains."""

    @abstractmethod
    def vector_loss(self, law: Gaussian, squared_length: Fraction) -> Fraction:
        """What Gaussian noise on each of some whole numbers costs a row that moves them by this squared length in all,
        before the factor."""

    @abstractmethod
    def shared(self, loss: Fraction, rows: int) -> Fraction:
        """What each of a person's k rows is charged where all of them together move a number no further than so many
        rows do: wherever they are, so that it is charged everywhere."""

    def signs(self, one_signed: bool) -> int:  # noqa: ARG002
        """How often a number is charged for that rows move in one direction only, or in both."""
        return 1

    @abstractmethod
    def noise_of_scale(self, scale: Fraction) -> Noise:
        """The noise that a scale means here."""

    @abstractmethod
    def noise_costing(
        self,
        amount: Fraction,
        move: Fraction = Fraction(1),
        one_signed: bool = True,
        grain: Fraction = Fraction(1),
    ) -> Noise:
        """The noise, drawn in whole grains, with which a number that a row moves by at most `move` costs a person this
        much; or the least that there is which costs less."""

    @abstractmethod
    def part(self, amount: Fraction) -> "Budget":
        """A budget of this much for the same people."""

    def units_of_queries(self, queries: int, law: Law) -> int:  # noqa: ARG002
        """What so many counts over subsets of a roster cost everybody. Raises where the vault does not answer them."""
        raise no_subsets(self)

    @abstractmethod
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class PureBudget(Budget):
    """A total of ε."""

    symbol: ClassVar[str] = "ε"
    option: ClassVar[str] = "epsilon"
    power: ClassVar[int] = 2
    epsilon: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    induced: Induced = NO_FACTS
    of_person: bool = False

    @property
    def total(self) -> Fraction:
        return self.epsilon

    @property
    def factor(self) -> int:
        return self.rows_after * max(SENSES[self.neighbours], self.induced.people)

    def under(self, induced: Induced) -> Self:
        return replace(self, induced=induced)

    def loss(self, law: Law, move: Fraction, one_signed: bool, grain: Fraction = Fraction(1)) -> Fraction:  # noqa: ARG002
        if isinstance(law, Gaussian):
            raise InvalidNoise(NOT_PURE)
        if isinstance(law, Binomial):
            raise InvalidNoise(BY_QUERIES)
        return self.rows_before * move / law.scale

    def vector_loss(self, law: Gaussian, squared_length: Fraction) -> Fraction:  # noqa: ARG002
        raise InvalidNoise(NOT_PURE)

    def shared(self, loss: Fraction, rows: int) -> Fraction:
        return loss * rows / self.max_rows

    def noise_of_scale(self, scale: Fraction) -> Noise:
        return Laplace(scale)

    def noise_costing(
        self,
        amount: Fraction,
        move: Fraction = Fraction(1),
        one_signed: bool = True,  # noqa: ARG002
        grain: Fraction = Fraction(1),  # noqa: ARG002
    ) -> Noise:
        return Laplace(self.factor * self.rows_before * move / amount)

    def part(self, amount: Fraction) -> "PureBudget":
        return replace(self, epsilon=amount)

    def to_json(self) -> dict[str, Any]:
        whose = {"neighbours": self.neighbours, "max_rows": self.max_rows, **said_of_person(self)}
        return {"epsilon": str(self.epsilon), **whose}


@dataclass(frozen=True)
class QueryBudget(Budget):
    """A total of T queries, with noise of `trials` coins. A unit is a query; what else is in it is stated, not kept.

    `calibration` says where the trials come from, `failure` and `dp_delta` what they keep: see DeltaT.
    """

    symbol: ClassVar[str] = "T"
    option: ClassVar[str] = "queries"
    power: ClassVar[int] = 0
    by_queries: ClassVar[bool] = True
    queries: int
    delta: Fraction
    trials: int
    calibration: str
    failure: Fraction
    dp_delta: Fraction
    points: int
    neighbours: Neighbours = "replace"
    max_rows: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_queries(self.queries)
        Binomial(self.trials)

    @property
    def total(self) -> Fraction:
        return Fraction(self.queries)

    @property
    def factor(self) -> int:
        return 1

    @property
    def limit(self) -> int:
        return self.queries

    def amount_of(self, units: int) -> Fraction:
        return Fraction(units)

    def loss(self, law: Law, move: Fraction, one_signed: bool, grain: Fraction = Fraction(1)) -> Fraction:  # noqa: ARG002
        raise UnsupportedQuery(SUBSETS_ONLY)

    def vector_loss(self, law: Gaussian, squared_length: Fraction) -> Fraction:  # noqa: ARG002
        raise UnsupportedQuery(SUBSETS_ONLY)

    def shared(self, loss: Fraction, rows: int) -> Fraction:  # noqa: ARG002
        raise UnsupportedQuery(SUBSETS_ONLY)

    def noise_of_scale(self, scale: Fraction) -> Noise:  # noqa: ARG002
        raise UnsupportedQuery(SUBSETS_ONLY)

    def noise_costing(
        self,
        amount: Fraction,  # noqa: ARG002
        move: Fraction = Fraction(1),  # noqa: ARG002
        one_signed: bool = True,  # noqa: ARG002
        grain: Fraction = Fraction(1),  # noqa: ARG002
    ) -> Noise:
        """The noise of every answer."""
        return self.law

    def part(self, amount: Fraction) -> "QueryBudget":
        return replace(self, queries=int(amount))

    def units_of_queries(self, queries: int, law: Law) -> int:
        if law != self.law:
            raise InvalidNoise(f"every answer of this vault has the noise of {self.trials:,} coins, no other")
        return queries

    @property
    def law(self) -> Binomial:
        """The noise of every answer."""
        return Binomial(self.trials)

    def to_json(self) -> dict[str, Any]:
        return {
            "queries": self.queries,
            "delta": str(self.delta),
            "trials": self.trials,
            "calibration": self.calibration,
            "failure": str(self.failure),
            "dp_delta": str(self.dp_delta),
            "points": self.points,
        }


def said_of_person(budget: Budget) -> dict[str, bool]:
    """What a header says of a budget whose units are of a person."""
    return {"person": True} if budget.of_person else {}


def require_amounts(budget: Budget) -> None:
    """Refuse what a vault with a budget of queries does not do."""
    if isinstance(budget, QueryBudget):
        raise UnsupportedQuery(SUBSETS_ONLY)


def no_subsets(budget: Budget) -> UnsupportedQuery:
    """The refusal of counts over subsets where the budget is another."""
    return UnsupportedQuery(
        f"this vault has a budget of {budget.symbol}, and counts over subsets are answered by one with a budget of "
        "queries; make it with `discreet init --roster … --queries … --delta …`"
    )


def require_queries(queries: object) -> int:
    """A number of queries that a vault can have; otherwise InvalidBudget."""
    if type(queries) is not int or not 1 <= queries <= MAX_QUERIES:
        raise InvalidBudget(f"a budget of queries is a whole number from 1 to {MAX_QUERIES:,}")
    return queries


def exact_amount(value: Number, symbol: str = "ε") -> Fraction:
    """The number that a person means: 0.1 and "0.1" are 1/10. Raises InvalidBudget where it is no finite number > 0."""
    try:
        amount = value if isinstance(value, Fraction) else parse_exact(str(value))
    except ValueError:
        raise InvalidBudget(f"{symbol} must be a finite number above 0, as in 1, 0.5 or 1/3") from None
    if amount <= 0:
        raise InvalidBudget(f"{symbol} must be above 0")
    return amount
