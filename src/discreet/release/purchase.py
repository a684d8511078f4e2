"""Purchases: the one way from a question to the gate, and the place where a policy's limits on questions are kept.

A question may buy in several steps: a first count to solve for an average's noise, its own plan, patches of a relaxed
answer. All of them go through one `Purchase`, which adds up their costs point by point. What it refuses was not spent.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.domain.domain import Domain
from discreet.errors import BudgetExceeded, DiscreetError, InvalidNoise, QuotaExceeded, Refreshed
from discreet.exact import equals_text, number_text
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost
from discreet.noise.law import Law
from discreet.query.plan import Plan
from discreet.query.query import Query
from discreet.query.sensitivity import largest_move
from discreet.release.gate import Gate
from discreet.release.release import Release


@dataclass(frozen=True)
class QuestionLimits:
    """What one question may do, whoever asks it: with how little noise, and how much it may spend at any point."""

    min_scale: Fraction | None = None
    """Of the noise on a count; on a sum, times the largest value of a row."""
    max_per_query: Fraction | None = None
    """As ε, ρ or T."""

    def require_noise(self, query: Query, law: Law, domain: Domain) -> None:
        """Raise InvalidNoise where a quantity would have less noise than the least."""
        if self.min_scale is None:
            return
        if law.scale_squared < (self.min_scale * largest_move(query, domain)) ** 2:
            least = number_text(self.min_scale)
            raise InvalidNoise(f"this vault adds noise of scale {least} at least; ask for less accuracy")

    def require(self, plan: Plan, domain: Domain, budget: Budget, bought: Cost | None = None) -> None:
        """Raise where a question that has `bought` so much may not buy a plan as well: InvalidNoise for its noise,
        BudgetExceeded for its cost. Depends on these alone, and decides exactly."""
        for measurement in plan.measurements:
            self.require_noise(measurement.query, measurement.law, domain)
        if self.max_per_query is None:
            return
        reached = budget.amount_of(_peak_with(bought or Cost(), plan.cost(domain, budget)))
        if reached > self.max_per_query:
            raise BudgetExceeded(
                f"a question may spend {budget.symbol} {equals_text(self.max_per_query)} here, and this one needs "
                f"{budget.symbol} {equals_text(reached)}; ask for less accuracy, or for less at once"
            )


NO_LIMITS = QuestionLimits()


def _peak_with(bought: Cost, more: Cost) -> int:
    """The most units at any point that `more` reaches, of both together; at the others nothing changes."""
    if more.everywhere:
        return (bought + more).peak
    near = tuple(piece for piece in bought.regional if any(piece[0].meets(box) for box, _ in more.regional))
    return (Cost(bought.everywhere, near) + more).peak


@dataclass
class Purchase:
    """Everything that one question buys. Whoever is not handed one cannot spend.

    No plan is charged that takes the question beyond its `limits`, nor beyond what the vault and its asker's quota
    have left: these the ledger decides, in the journal's turn.
    """

    _gate: Gate = field(repr=False)
    limits: QuestionLimits
    bought: Cost = field(default_factory=Cost)
    """What was charged so far. A charge whose answer failed counts: it stands."""
    snapshot: SnapshotId | None = None
    """What all of it is measured on; a vault that was refreshed in between raises Refreshed."""
    releases: list[Release] = field(default_factory=list)

    def require(self, plan: Plan) -> None:
        """Raise where the limits do not let the question buy a plan, besides what it has bought."""
        self.limits.require(plan, self._gate.domain, self._gate.ledger.budget, self.bought)

    def measure(self, plan: Plan) -> Release:
        """Buy a plan: what `Gate.measure` does, within the limits. What is refused was not spent."""
        self.require(plan)
        before = self.bought
        self.bought += self._cost(plan)
        try:
            release = self._gate.measure(plan, self.snapshot)
        except (BudgetExceeded, QuotaExceeded, Refreshed):
            self.bought = before
            raise
        self.releases.append(release)
        return release

    def measure_once(self, plan: Plan, is_needed: Callable[[], bool]) -> Release | None:
        """Measure a plan that nobody else on this machine measures meanwhile; None, and nothing is charged, where it is
        needed no more when it is this one's turn."""
        with self._gate.underway.alone(plan.condensed()):
            return self.measure(plan) if is_needed() else None

    def wait(self, charge: Charge) -> bool:
        """Wait for whoever is getting the answer of a charge on this machine; False, at once, where nobody is."""
        return self._gate.underway.wait(charge.plan)

    def finish(self, charge: Charge) -> None:
        """Have a charge answered that lost its answer. Nothing is charged."""
        with self._gate.underway.alone(charge.plan):
            if self._gate.ledger.recorded(charge.id) is None:
                self._gate.complete(charge)

    def told(self, error: DiscreetError) -> DiscreetError:
        """An error that ends the question, with what was spent before it."""
        if not self.releases:
            return error
        budget, charges = self._gate.ledger.budget, ", ".join(str(release.charge) for release in self.releases)
        spent = sum((self._cost(release.plan) for release in self.releases), Cost())
        rest = "all of it is" if isinstance(error, Refreshed) else "only the rest is"
        which = " of the table before" if isinstance(error, Refreshed) else ""
        return type(error)(
            f"{error}; before that this question spent {budget.symbol} {equals_text(budget.amount_of(spent.peak))} "
            f"(charge {charges}), and what that bought is public{which}: asked again, {rest} needed, as explain says"
        )

    def _cost(self, plan: Plan) -> Cost:
        return plan.cost(self._gate.domain, self._gate.ledger.budget)
