"""Subsets of a roster: what a SuLQ database answers, and what is published from it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.errors import PartyError
from discreet.ledger.budget import QueryBudget, no_subsets
from discreet.query.subset import subset_of
from discreet.release.purchase import Purchase
from discreet.verbs.parts import VaultParts

if TYPE_CHECKING:
    from discreet.answer.subsets import SubsetAnswer
    from discreet.mining.party import Party
    from discreet.mining.statistics import Statistics, StatisticsPlan


class SubsetVerbs(VaultParts):
    """Each count over a subset is one of T."""

    def ask_subset(self, subset: object, predicate: str) -> "SubsetAnswer":
        """How many people of a subset of the roster meet a predicate, with noise: one of the vault's T queries.

        A subset is a pair (seed, rate), a list of record ids, or "everyone"; a predicate is as after WHERE.
        """
        return self.ask_subsets([subset], predicate)

    def ask_subsets(self, subsets: Sequence[object], predicate: str) -> "SubsetAnswer":
        """The same for many subsets in one charge: as many queries as subsets, or none where so many are not left."""
        from discreet.answer.subsets import ask_subsets

        named, budget = [subset_of(subset) for subset in subsets], self.ledger.budget
        roster = self._own.roster
        if not isinstance(budget, QueryBudget) or roster is None:
            raise no_subsets(budget)
        count = roster().count
        purchase = Purchase(self.gate, self.policy.limits)
        return ask_subsets(named, predicate, self.domain, self.ledger, budget.law, purchase, count)

    def party(self) -> "Party":
        """This vault as a party of a mining task: what `discreet serve` shows of it, without the server."""
        from discreet.mining.local import LocalParty

        budget, roster = self.ledger.budget, self.ledger.header.get("roster")
        if not isinstance(budget, QueryBudget) or roster is None:
            raise PartyError(f"{self.path} has no budget of queries; make a party with `discreet init --queries …`")
        return LocalParty(roster["people"], roster["fingerprint"], budget, self.ledger, self.ask_subsets)

    def plan_statistics(
        self,
        attributes: Sequence[str] | None = None,
        *,
        arity: int | None = None,
        subsets: int | None = None,
        error: float = 0.1,
        confidence: float = 0.95,
    ) -> "StatisticsPlan":
        """How many counts to publish, so that any Boolean function of 2·arity attributes can be learnt. Spends nothing.

        An attribute is a column with two values, or a name and a condition: "old: age > 50"; all columns with two
        values where nothing is said. `subsets`, or else as many as functions within ±error take, whatever the data;
        without `arity` as large a one as the queries that are left allow.
        """
        from discreet.mining.publish import boolean_attributes, parse_attributes
        from discreet.mining.statistics import plan_statistics

        chosen = boolean_attributes(self.domain) if attributes is None else parse_attributes(attributes, self.domain)
        return plan_statistics(chosen, self.party(), arity=arity, subsets=subsets, error=error, confidence=confidence)

    def publish_statistics(self, plan: "StatisticsPlan | int") -> "Statistics":
        """Count every conjunction of a plan on every subset, in one charge of plan.queries queries.

        With the number of a charge, the statistics of a publish that was interrupted: nothing more is spent.
        """
        from discreet.mining.publish import note_plan, noted_plan, statistics_of

        party, roster = self.party(), self._own.roster
        assert roster is not None  # every party has one
        if isinstance(plan, int):
            charge = self._charge(plan)
            planned, record = noted_plan(charge, self.domain, self.ledger), self.ledger.recorded(charge.id)
            release = self.gate.complete(charge) if record is None else self.gate.recall(charge, record)
        else:
            planned = plan
            release = self.gate.measure(note_plan(plan, self.domain, self.ledger, party))
        return statistics_of(planned, release, roster().count, party.roster)
