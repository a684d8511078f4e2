"""The copy that is attacked: an unspent vault of the same promise and policy, over made-up people, gone afterwards.

An attack has to know the truth in order to say how often it was right, and how often it is right about real people
would be a statistic of them that nobody has paid for. So not one row of the vault's own table is read: what is attacked
is the promise, the policy, the accountant and the noise, and these are the vault's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any

import pyarrow as pa

from discreet.empirical.copies import vault_over
from discreet.errors import UnsupportedQuery
from discreet.exact import parse_exact
from discreet.ledger.spend import units_up
from discreet.noise.law import Laplace
from discreet.vault.vault import Vault

FINEST_STEP = 1 << 20
NOT_SQL = (
    "this attack asks SQL, and this vault has a budget of queries: it answers counts over subsets of its roster. What "
    "T of them let anybody conclude is in its guarantee; see `discreet describe`"
)


def require_sql(vault: Vault) -> None:
    """Raise UnsupportedQuery for a vault that answers no SQL, or is over several tables: people are made up of one."""
    if vault.ledger.budget.by_queries:
        raise UnsupportedQuery(NOT_SQL)
    if len(vault.tables) > 1:
        raise UnsupportedQuery(
            f"attacks play against a vault over one table, and this one is over {', '.join(vault.tables)}; make a "
            "vault over one of them for that"
        )


@contextmanager
def stand_in(vault: Vault, people: pa.Table) -> Iterator[Vault]:
    """A vault with the budget, neighbours, unit, facts and policy of another, over these people."""
    require_sql(vault)
    header = vault.ledger.header
    unit = header["unit"]
    settings = _currency(vault) | ({} if unit is None else {"id": unit["id"], "max_rows": unit["max_rows"]})
    with vault_over(people, header["domain"], settings) as copy:
        for fact in vault.ledger.facts:
            copy.ledger.note_fact(fact.content, copy.ledger.head.seq)
        yield replace(copy, policy=vault.policy)


def _currency(vault: Vault) -> dict[str, Any]:
    """The budget as `init` takes it: of ε, of ε and δ, of ρ, or of μ. Of a ρ that keeps (ε, δ), the ρ; where values
    were found, the μ that was left for questions."""
    budget = vault.ledger.header["budget"]
    names = ("rho",) if "rho" in budget else ("epsilon", "delta")
    stated = {} if "discovering" in budget else budget.get("implies", budget)
    chosen = {name: stated[name] for name in names if name in stated}
    if not chosen:
        square = parse_exact(budget["mu_squared"])
        root = isqrt(square.numerator * square.denominator * FINEST_STEP**2)
        chosen = {"mu": Fraction(root, square.denominator * FINEST_STEP)}
    return {"neighbours": budget["neighbours"], **chosen}


def sharpest(vault: Vault, questions: int) -> tuple[Fraction, int]:
    """The least scale with which so many counts of a region fit the budget together, or that the policy allows; and
    how many counts with that scale the budget takes."""
    budget, policy = vault.ledger.budget, vault.policy
    units = max(budget.limit // questions, 1)
    if policy.max_per_query is not None:
        units = min(units, max(int(policy.max_per_query / budget.amount_of(1)), 1))
    noise = budget.noise_costing(budget.amount_of(units))
    if isinstance(noise, Laplace):
        scale = noise.scale
    else:
        scale = Fraction(isqrt(int(FINEST_STEP**2 * noise.scale_squared)) + 1, FINEST_STEP)
    scale = max(scale, policy.min_scale or scale)
    spent = units_up(budget.loss(budget.noise_of_scale(scale), Fraction(1), one_signed=True))
    return scale, budget.limit // spent
