"""What answers are made with: the domain, the books, what was released, and the policy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from discreet.answer.compound import Metric
from discreet.answer.known import Known
from discreet.answer.others import Others
from discreet.answer.policy import Policy
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import BudgetExceeded, InvalidNoise
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost
from discreet.noise.law import Exponential, Law
from discreet.query.plan import Plan
from discreet.query.query import Query


@dataclass(frozen=True)
class Desk:
    """What answers are made with. All of it is public and none of it can spend: what can is a `Purchase`."""

    domain: Domain
    ledger: Books
    known: Known
    policy: Policy
    others: Others
    """Charges whose answers are on their way: worth waiting for."""
    asker: Asker | None = None
    """For whom; their quota bounds what may be bought."""

    def __post_init__(self) -> None:
        self.policy.metric(self.domain)  # weights of no attribute are refused before anything is asked

    @cached_property
    def metric(self) -> Metric:
        """How far regions are from one another, as the policy weighs it."""
        return self.policy.metric(self.domain)

    @property
    def snapshot(self) -> SnapshotId | None:
        """What its answers are about: what the vault is over, or the earlier snapshot that is repeated."""
        return self.ledger.snapshot if self.known.era is None else self.known.era.snapshot

    def relaxing(
        self,
        relax: bool | None,
        weights: Mapping[str, object] | None = None,
        compound_size: int | None = None,
    ) -> "Desk":
        """The same for a question that says whether and how it may be relaxed; None where it does not."""
        if relax is None and not weights and compound_size is None:
            return self
        return replace(self, policy=self.policy.for_question(self.domain, relax, weights, compound_size))

    def fits(self, plan: Plan) -> bool:
        """Whether the vault's budget and the asker's quota have room for a plan now."""
        return self.ledger.fits(self.cost(plan), self.asker)

    def left(self, region: Region) -> Fraction:
        """The least that the vault's budget and the asker's quota leave at any point of a region."""
        left = self.ledger.budget.amount_of(self.ledger.left(region))
        own = None if self.asker is None else self.ledger.quota_left(self.asker, region)
        return left if own is None else min(left, own)

    def may_buy(self, plan: Plan, bought: Cost) -> bool:
        """Whether a question that has `bought` so much could buy a plan now: by the policy's limits too."""
        try:
            self.policy.limits.require(plan, self.domain, self.ledger.budget, bought)
        except (InvalidNoise, BudgetExceeded):
            return False
        return self.fits(plan)

    def cost(self, plan: Plan) -> Cost:
        return plan.cost(self.domain, self.ledger.budget)

    def grain(self, query: Query) -> Fraction:
        return query.grain(self.domain)

    def in_grains(self, query: Query, law: Law) -> Law:
        """The noise of a quantity in units of its grain."""
        return law if isinstance(law, Exponential) else law.times(1 / self.grain(query))
