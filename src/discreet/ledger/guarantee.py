"""Guarantees: what a release promises, and to whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

from discreet.exact import equals_text, number_text, parse_exact
from discreet.ledger.discovering import NOTHING_FOUND, Discovering

Neighbours = Literal["add-remove", "replace"]

SENSES: Mapping[Neighbours, int] = {"add-remove": 1, "replace": 2}
"""S: how many times one person's rows count when the table becomes a neighbour."""


def _whose(neighbours: Neighbours, max_rows: int) -> str:
    rows = "row" if max_rows == 1 else f"up to {max_rows} rows"
    verb = {
        "add-remove": "is added or removed" if max_rows == 1 else "are added or removed",
        "replace": "changes" if max_rows == 1 else "change",
    }[neighbours]
    return f"neighbours: {neighbours} (one person's {rows} {verb})"


def _added(remarks: tuple[str, ...]) -> str:
    return "".join(f"; {remark}" for remark in remarks)


def _remarked(remarks: tuple[str, ...]) -> dict[str, Any]:
    return {"remarks": list(remarks)} if remarks else {}


MOST_DIGITS = 12
"""Longer fractions are told by their first digits; `to_json` has them exactly."""


@dataclass(frozen=True)
class PureDP:
    """ε-differential privacy for people with at most `max_rows` rows each.

    `remarks`, here and in every guarantee, is what else holds in the vault by now: see `standing.py`. `brief` is the
    number alone, for people.
    """

    symbol: ClassVar[str] = "ε"
    epsilon: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    remarks: tuple[str, ...] = ()

    @property
    def amount(self) -> Fraction:
        return self.epsilon

    @property
    def brief(self) -> str:
        return f"ε {equals_text(self.epsilon)}"

    def __str__(self) -> str:
        whose = _whose(self.neighbours, self.max_rows)
        exact = str(self.epsilon)
        epsilon = f"= {exact}" if len(exact) <= MOST_DIGITS else equals_text(self.epsilon)
        return f"differential privacy, ε {epsilon}, {whose}{_added(self.remarks)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "pure",
            "epsilon": str(self.epsilon),
            "neighbours": self.neighbours,
            "max_rows": self.max_rows,
            **_remarked(self.remarks),
        }


@dataclass(frozen=True)
class ZCDP:
    """ρ-zero-concentrated differential privacy. [Bun, Steinke 2016]"""

    symbol: ClassVar[str] = "ρ"
    rho: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    remarks: tuple[str, ...] = ()

    @property
    def amount(self) -> Fraction:
        return self.rho

    @property
    def brief(self) -> str:
        return f"ρ {equals_text(self.rho)}"

    def __str__(self) -> str:
        whose = _whose(self.neighbours, self.max_rows)
        return f"zero-concentrated differential privacy, ρ {equals_text(self.rho)}, {whose}{_added(self.remarks)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "zcdp",
            "rho": str(self.rho),
            "neighbours": self.neighbours,
            "max_rows": self.max_rows,
            **_remarked(self.remarks),
        }


@dataclass(frozen=True)
class ApproxDP:
    """(ε, δ)-differential privacy, kept by way of ρ-zCDP: of vaults made before it was kept by way of μ."""

    symbol: ClassVar[str] = "ρ"
    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    remarks: tuple[str, ...] = ()

    @property
    def amount(self) -> Fraction:
        return self.rho

    @property
    def brief(self) -> str:
        return f"ε {equals_text(self.epsilon)}, δ = {float(self.delta):g}"

    def __str__(self) -> str:
        return (
            f"differential privacy, {self.brief} (by ρ {equals_text(self.rho)} of "
            f"zCDP), {_whose(self.neighbours, self.max_rows)}{_added(self.remarks)}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "approximate",
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "rho": str(self.rho),
            "neighbours": self.neighbours,
            "max_rows": self.max_rows,
            **_remarked(self.remarks),
        }


@dataclass(frozen=True)
class GDP:
    """μ-Gaussian differential privacy: neighbours are as hard to tell apart as N(0, 1) and N(μ, 1), or harder.
    [Dong, Roth, Su 2022]

    With `epsilon` and `delta`, the (ε, δ)-differential privacy that it implies, and that was promised; together with
    what finding values cost, where some were found: `discovering`.
    """

    symbol: ClassVar[str] = "μ²"
    mu_squared: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    remarks: tuple[str, ...] = ()
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    discovering: Discovering = NOTHING_FOUND

    @property
    def amount(self) -> Fraction:
        return self.mu_squared

    @property
    def brief(self) -> str:
        if self.epsilon is None or self.delta is None:
            return f"μ² {equals_text(self.mu_squared)}"
        return f"ε {equals_text(self.epsilon)}, δ = {float(self.delta):g}"

    def __str__(self) -> str:
        whose = f"{_whose(self.neighbours, self.max_rows)}{_added(self.remarks)}"
        if self.epsilon is None:
            return f"Gaussian differential privacy, {self.brief}, {whose}"
        found = f", and {self.discovering} for finding values" if self.discovering else ""
        return (
            f"differential privacy, {self.brief} (by μ² {equals_text(self.mu_squared)} of Gaussian DP{found}), {whose}"
        )

    def to_json(self) -> dict[str, Any]:
        implied = {} if self.epsilon is None else {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        return {
            "kind": "gaussian",
            **implied,
            "mu_squared": str(self.mu_squared),
            **({"discovering": self.discovering.to_json()} if self.discovering else {}),
            "neighbours": self.neighbours,
            "max_rows": self.max_rows,
            **_remarked(self.remarks),
        }


@dataclass(frozen=True)
class DeltaT:
    """(δ, T)-privacy: T answers move the log-odds of a statement about one person by more than δ with probability at
    most `failure`, whichever statement it is, whoever asks, however the queries are chosen. [SuLQ, Definition 1]

    `points` is how many rows a person can have, none at all included: all statements at once move by at most 2δ, but
    for a probability of points·failure [SuLQ, Proposition 2]. `dp_delta` states the same answers as (ε, δ)-differential
    privacy, with ε = δ here. `asked` is how many of the T queries a release is; None for all of them.
    """

    symbol: ClassVar[str] = "T"
    neighbours: ClassVar[Neighbours] = "replace"
    max_rows: ClassVar[int] = 1
    queries: int
    delta: Fraction
    failure: Fraction
    dp_delta: Fraction
    trials: int
    points: int
    asked: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def amount(self) -> Fraction:
        return Fraction(self.queries if self.asked is None else self.asked)

    @property
    def brief(self) -> str:
        return f"δ {equals_text(self.delta)} for T = {self.queries:,} queries"

    @property
    def failure_of_all(self) -> Fraction:
        """With which probability some statement, of all that there are, moves by more than 2δ."""
        return min(self.points * self.failure, Fraction(1))

    def __str__(self) -> str:
        part = "" if self.asked is None else f"{self.asked:,} of "
        every = (
            f" (all statements at once by more than {number_text(2 * self.delta)}: {float(self.failure_of_all):.2g})"
        )
        return (
            f"(δ, T)-privacy, δ {equals_text(self.delta)}, {part}T = {self.queries:,} queries: all together they move "
            f"the log-odds of a statement about one person by more than {number_text(self.delta)} with probability "
            f"{float(self.failure):.2g} at most{every if self.failure_of_all < 1 else ''}; differential privacy, ε "
            f"{equals_text(self.delta)}, δ = {float(self.dp_delta):.2g}; somebody in two such databases faces 2δ"
            f"{_added(self.remarks)}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "queries",
            "queries": self.queries,
            "delta": str(self.delta),
            "failure": str(self.failure),
            "dp_delta": str(self.dp_delta),
            "trials": self.trials,
            "points": self.points,
            "asked": self.asked,
            **_remarked(self.remarks),
        }


@dataclass(frozen=True)
class FPrivacy:
    """From the published tables alone, nobody can be more sure that a person has a value than the value's limit says.

    No currency of a vault: nothing is spent on it, and it composes with nothing. [buckets, Definition 2]
    """

    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"F'-privacy; not differential privacy{_added(self.remarks)}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": "f-prime", "words": str(self)}


Guarantee: TypeAlias = PureDP | ZCDP | ApproxDP | GDP | DeltaT
"""What a release promises; every currency of a vault adds its own class."""


def guarantee_from_json(guarantee: Mapping[str, Any]) -> Guarantee:
    remarks = tuple(guarantee.get("remarks", ()))
    if guarantee["kind"] == "queries":
        delta, failure, dp_delta = (parse_exact(guarantee[key]) for key in ("delta", "failure", "dp_delta"))
        numbers = guarantee["trials"], guarantee["points"], guarantee["asked"]
        return DeltaT(guarantee["queries"], delta, failure, dp_delta, *numbers, remarks)
    whom = guarantee["neighbours"], guarantee["max_rows"], remarks
    match guarantee["kind"]:
        case "pure":
            return PureDP(parse_exact(guarantee["epsilon"]), *whom)
        case "zcdp":
            return ZCDP(parse_exact(guarantee["rho"]), *whom)
        case "approximate":
            epsilon, delta, rho = (parse_exact(guarantee[key]) for key in ("epsilon", "delta", "rho"))
            return ApproxDP(epsilon, delta, rho, *whom)
        case "gaussian":
            kept = [parse_exact(guarantee[key]) if key in guarantee else None for key in ("epsilon", "delta")]
            found = Discovering.from_json(guarantee["discovering"]) if "discovering" in guarantee else NOTHING_FOUND
            return GDP(parse_exact(guarantee["mu_squared"]), *whom, kept[0], kept[1], found)
    raise ValueError(f"a guarantee of kind {guarantee['kind']!r:.40}; this version does not know it")
