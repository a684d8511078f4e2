"""What holds for everything that a vault ever released, worked out from the journal alone, by arithmetic of the audit's
own; and whether the vault states it.

Each branch of the journal that was given up kept the limit that the vault was made with. So it cost a person as much as
that limit costs by now, which facts may have made more; and this journal costs what it was to, or what it has spent
where facts came too late. docs/explain/privacy.md has the reasons.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.audit.replay import Replay
from discreet.audit.spending import Spending
from discreet.audit.terms import Terms
from discreet.exact import equals_text, parse_exact


def bound_of(read: Replay, spending: Spending) -> Fraction:
    """ε, ρ, μ² or the number of queries that bounds all that was released. Requires a header that was understood."""
    return _with_lost(read, spending, spending.most)


def _certain(read: Replay, spending: Spending) -> Fraction:
    """The same as far as it is certain: no bound below it holds."""
    return _with_lost(read, spending, spending.least)


def _with_lost(read: Replay, spending: Spending, spent: int) -> Fraction:
    assert read.own_terms is not None, "the header was read"
    terms, own = spending.terms, read.own_terms
    here = terms.amount(spent) if spent > terms.limit else terms.total
    return here + len(read.lost) * (own.total / own.factor) * terms.factor


def understated(stated: Mapping[str, Any], read: Replay, spending: Spending) -> Iterator[str]:
    """Why a vault states less than what holds: nothing where it does not. `stated` is its guarantee, as JSON."""
    terms, bound = spending.terms, _certain(read, spending)
    branches = 1 + len(read.lost)
    of_lost = f", with {branches - 1} accepted rollback{'s' * (branches > 2)}" if read.lost else ""
    holds = f"and {terms.symbol} {equals_text(bound)} is what its journal can keep{of_lost}"
    if terms.currency == "queries":
        made = read.header["budget"]
        for key in ("queries", "delta", "failure", "dp_delta"):
            if parse_exact(str(stated[key])) < min(branches * parse_exact(str(made[key])), _most(key)):
                yield f"the vault promises {key} = {stated[key]} for all queries together, {holds}"
        # A person has a row in each version of the table; that 2^50 rows are not told apart says nothing of anybody.
        rows = made["points"] ** min(1 + read.kinds["refresh"], 50)
        if stated["points"] < min(rows, max(made["points"], 10**15)):
            yield f"the vault counts {stated['points']:,} rows that a person can have; refreshes make them more"
        return
    amount = parse_exact(stated[terms.currency])
    if amount < bound:
        yield f"the vault promises {terms.symbol} {equals_text(amount)}, {holds}"
    if terms.delta is not None and not _keeps(stated, bound, terms):
        yield f"the vault promises ε and δ that a {terms.symbol} {equals_text(bound)} does not keep{of_lost}"


def _most(key: str) -> Fraction:
    """A probability is at most 1, whatever bounds add up to."""
    return Fraction(1 if key in ("failure", "dp_delta") else 10**60)


def _keeps(stated: Mapping[str, Any], bound: Fraction, terms: Terms) -> bool:
    return parse_exact(stated.get("delta", "1")) == terms.delta and terms.keeps(
        bound, parse_exact(stated["epsilon"]), parse_exact(stated["delta"])
    )
