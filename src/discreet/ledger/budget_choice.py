"""Which budget a vault has: as a custodian chose it, and as a journal states it."""

from collections.abc import Mapping
from typing import Any, get_args

from discreet.errors import InvalidBudget
from discreet.exact import Number, parse_exact
from discreet.ledger.budget import Budget, PureBudget, QueryBudget, exact_amount
from discreet.ledger.discovering import NOTHING_FOUND, Discovering
from discreet.ledger.guarantee import Neighbours
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget


def budget_of(
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    mu: Number | None,
    neighbours: Neighbours | None,
    max_rows: int,
) -> Budget:
    """The budget that a custodian chose: by ε, by ε with δ, by ρ, or by μ."""
    if neighbours is None:
        raise InvalidBudget(f"neighbours is one of {', '.join(get_args(Neighbours))}; it has to be chosen")
    chosen = [amount for amount in (epsilon, rho, mu) if amount is not None]
    if len(chosen) != 1 or (epsilon is None and delta is not None):
        raise InvalidBudget("a vault has one currency: epsilon, epsilon with delta, rho, mu, or queries with delta")
    if rho is not None:
        return ConcentratedBudget(exact_amount(rho, "ρ"), neighbours, max_rows)
    if mu is not None:
        return GaussianBudget(exact_amount(mu, "μ") ** 2, neighbours, max_rows)
    total = exact_amount(epsilon or 0)
    if delta is None:
        return PureBudget(total, neighbours, max_rows)
    return GaussianBudget.of(total, exact_amount(delta, "δ"), neighbours, max_rows)


def budget_from_json(body: Mapping[str, Any]) -> Budget:
    if "queries" in body:
        fractions = {key: parse_exact(body[key]) for key in ("delta", "failure", "dp_delta")}
        return QueryBudget(**{**body, **fractions})
    neighbours, max_rows, of_person = body["neighbours"], int(body["max_rows"]), body.get("person") is True
    implied = body.get("implies", {}) if "mu_squared" in body else body
    epsilon, delta = (parse_exact(implied[key]) if key in implied else None for key in ("epsilon", "delta"))
    if "mu_squared" in body:
        found = Discovering.from_json(body["discovering"]) if "discovering" in body else NOTHING_FOUND
        amount = parse_exact(body["mu_squared"])
        return GaussianBudget(amount, neighbours, max_rows, epsilon, delta, of_person=of_person, discovering=found)
    if "rho" in body:
        return ConcentratedBudget(parse_exact(body["rho"]), neighbours, max_rows, epsilon, delta, of_person=of_person)
    return PureBudget(parse_exact(body["epsilon"]), neighbours, max_rows, of_person=of_person)
