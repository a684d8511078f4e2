"""Guarantees: what a release promises, and to whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

from discreet.domain.attribute import equals_text

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


@dataclass(frozen=True)
class PureDP:
    """ε-differential privacy for people with at most `max_rows` rows each.

    `remarks`, here and in every guarantee, is what else holds in the vault by now: see `Ledger.remarks`.
    """

    symbol: ClassVar[str] = "ε"
    epsilon: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    remarks: tuple[str, ...] = ()

    @property
    def amount(self) -> Fraction:
        return self.epsilon

    def __str__(self) -> str:
        whose = _whose(self.neighbours, self.max_rows)
        return f"differential privacy, ε = {self.epsilon}, {whose}{_added(self.remarks)}"

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
    """(ε, δ)-differential privacy, kept by way of ρ-zCDP."""

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

    def __str__(self) -> str:
        return (
            f"differential privacy, ε = {self.epsilon}, δ = {float(self.delta):g} (by ρ {equals_text(self.rho)} of "
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


Guarantee: TypeAlias = PureDP | ZCDP | ApproxDP
"""What a release promises; every currency of a vault adds its own class."""


def guarantee_from_json(guarantee: Mapping[str, Any]) -> Guarantee:
    whom = guarantee["neighbours"], guarantee["max_rows"], tuple(guarantee.get("remarks", ()))
    match guarantee["kind"]:
        case "pure":
            return PureDP(Fraction(guarantee["epsilon"]), *whom)
        case "zcdp":
            return ZCDP(Fraction(guarantee["rho"]), *whom)
        case "approximate":
            epsilon, delta, rho = (Fraction(guarantee[key]) for key in ("epsilon", "delta", "rho"))
            return ApproxDP(epsilon, delta, rho, *whom)
    raise ValueError(f"a guarantee of kind {guarantee['kind']!r}; this version does not know it")
