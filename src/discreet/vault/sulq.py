"""SuLQ: counts over subsets of a roster, and the statistics that are published of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.answer.policy import Policy
from discreet.answer.subsets import SubsetAnswer, ask_subsets
from discreet.domain.domain import Domain
from discreet.ledger.budget import QueryBudget, no_subsets
from discreet.ledger.ledger import Ledger
from discreet.mining.party import Party
from discreet.mining.publish import boolean_attributes, note_plan, noted_plan, parse_attributes, statistics_of
from discreet.mining.statistics import Statistics, StatisticsPlan, plan_statistics
from discreet.notebook import FieldsView
from discreet.query.subset import subset_of
from discreet.release.gate import Gate
from discreet.release.own_table import OwnTable
from discreet.release.purchase import Purchase
from discreet.vault.charged import charge_at, release_of


@dataclass(frozen=True, repr=False)
class VaultSulq(FieldsView):
    """A vault with a budget of T queries: each count over a subset is one of them."""

    path: Path
    domain: Domain
    ledger: Ledger
    gate: Gate
    own: OwnTable
    policy: Policy
    party: Callable[[], Party]
    """The vault as a miner sees it."""

    def ask(self, subset: object, predicate: str) -> SubsetAnswer:
        """How many people of a subset of the roster meet a predicate, with noise: one of the vault's T queries.

        A subset is a pair (seed, rate), a list of record ids, or "everyone"; a predicate is as after WHERE.
        """
        return self.ask_all([subset], predicate)

    def ask_all(self, subsets: Sequence[object], predicate: str) -> SubsetAnswer:
        """The same for many subsets in one charge: as many queries as subsets, or none where so many are not left."""
        named, budget = [subset_of(subset) for subset in subsets], self.ledger.budget
        roster = self.own.roster
        if not isinstance(budget, QueryBudget) or roster is None:
            raise no_subsets(budget)
        count = roster().count
        purchase = Purchase(self.gate, self.policy.limits)
        return ask_subsets(named, predicate, self.domain, self.ledger, budget.law, purchase, count)

    def plan(
        self,
        attributes: Sequence[str] | None = None,
        *,
        arity: int | None = None,
        subsets: int | None = None,
        error: float = 0.1,
        confidence: float = 0.95,
    ) -> StatisticsPlan:
        """How many counts to publish, so that any Boolean function of 2·arity attributes can be learnt. Spends nothing.

        An attribute is a column with two values, or a name and a condition: "old: age > 50"; all columns with two
        values where nothing is said. `subsets`, or else as many as functions within ±error take, whatever the data;
        without `arity` as large a one as the queries that are left allow.
        """
        chosen = boolean_attributes(self.domain) if attributes is None else parse_attributes(attributes, self.domain)
        party = self.party()
        return plan_statistics(chosen, party, arity=arity, subsets=subsets, error=error, confidence=confidence)

    def publish(self, plan: StatisticsPlan | int) -> Statistics:
        """Count every conjunction of a plan on every subset, in one charge of plan.queries queries.

        With the number of a charge, the statistics of a publish that was interrupted: nothing more is spent.
        """
        party, roster = self.party(), self.own.roster
        assert roster is not None  # every party has one
        if isinstance(plan, int):
            charge = charge_at(plan, self.ledger, self.path)
            planned = noted_plan(charge, self.domain, self.ledger)
            release = release_of(charge, self.gate)
        else:
            planned = plan
            release = self.gate.measure(note_plan(plan, self.domain, self.ledger, party))
        return statistics_of(planned, release, roster().count, party.roster)
