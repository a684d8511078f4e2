"""Running totals: planned, set aside for, and published period by period."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.cube.noise_model import noise_model
from discreet.cube.running import RunningPlan, RunningTotals, date_called, period_code, plan_running
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery, VaultError
from discreet.exact import Number
from discreet.ledger.books import Books
from discreet.ledger.budget import require_amounts
from discreet.ledger.charge import Charge, read_charge
from discreet.ledger.journal import canonical
from discreet.ledger.ledger import Ledger
from discreet.ledger.reserve import FROM, KIND, read_reserve
from discreet.ledger.spend import Cost
from discreet.notebook import FieldsView
from discreet.query.plan import Plan
from discreet.query.query import answer_shape
from discreet.release.archive import Array
from discreet.release.gate import Gate
from discreet.vault.charged import release_of

RUNNING = "running"
"""The key of what a reserve is for, where that is running totals."""


@dataclass(frozen=True)
class DeclaredTotals:
    """Running totals as the journal has them."""

    number: int
    plan: RunningPlan
    cost: Cost


@dataclass(frozen=True, repr=False)
class VaultRunning(FieldsView):
    """A vault's running totals. What all of one's periods cost is set aside when it is declared."""

    path: Path
    domain: Domain
    ledger: Ledger
    gate: Gate

    def plan(
        self,
        each: str,
        *,
        by: str | Sequence[str] = (),
        first: str | None = None,
        last: str | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mu_squared: Number | None = None,
    ) -> RunningPlan:
        """What to measure at the end of each period, and with how much noise, so that all totals together cost so much.
        Spends nothing.

        `each` is a date attribute, or what its periods are called ("month"); `first` and `last` are periods of it: all
        that the domain has where nothing is said.
        """
        require_amounts(self.ledger.budget)
        noise = noise_model(epsilon, rho, mu_squared, self.ledger.budget)
        names = (by,) if isinstance(by, str) else tuple(by)
        return plan_running(self.domain, each, noise, names, first, last)

    def declare(self, plan: RunningPlan) -> RunningTotals:
        """Set aside what a plan costs, for all of its periods: it is spent from now on, and nothing else can spend it.
        DeclaredTotals again, it is the one that there is."""
        with self.gate.underway.alone({KIND: plan.to_json()}):
            wanted = canonical(plan.to_json())
            for one in self._declared():
                if canonical(one.plan.to_json()) == wanted and self.ledger.reserved(one.number) is not None:
                    return self.show(one.number)
            return self.show(self.gate.set_aside(plan.measurements(self.domain), plan.to_json()).seq)

    def publish(self, number: int | None = None, *, through: str) -> RunningTotals:
        """Measure the periods up to one, which has ended, that were not measured before: what was set aside pays for
        them. What was published stays as it is. `number` is that of the declaration, where there are several."""
        found, plan = (declared := self._of(number)).number, declared.plan
        end = period_code(through, date_called(plan.each, self.domain)) - plan.first
        if not 0 <= end < plan.periods:
            raise UnsupportedQuery(
                f"{through} is not one of the {plan.periods:,} periods that running totals {found} are of: "
                f"{' to '.join(self.labels(plan)[:: max(plan.periods - 1, 1)])}"
            )
        with self.gate.underway.alone({KIND: found}):
            for charge in charges_of(found, self.ledger):
                release_of(charge, self.gate)  # one that was cut off is finished first
            done = len(self._measured(found, plan)[0])
            missing = [plan.measurement(place, self.domain) for place in range(done, end + 1)]
            if missing:
                together = Plan(tuple(measurement for one in missing for measurement in one.measurements))
                self.gate.measure(together, reserve=found)
        return self.show(found)

    def show(self, number: int | None = None) -> RunningTotals:
        """Running totals as far as they were published. Reads no rows, and is free."""
        found = self._of(number)
        plan = found.plan
        measured, charges = self._measured(found.number, plan)
        shape = answer_shape(plan.measurement(0, self.domain).measurements[0].query, self.domain)
        return RunningTotals(
            plan,
            found.number,
            self.ledger.reserved(found.number) is not None,
            self.labels(plan),
            np.array(measured, np.int64).reshape(len(measured), *shape),
            tuple(charges),
            self.ledger.promise(found.cost.peak),
            tuple(tuple(self.domain[name].labels) for name in plan.by),
        )

    def declared(self) -> list[int]:
        """The numbers of all running totals that were declared, of every table."""
        return [one.number for one in self._declared()]

    def _declared(self) -> Iterator[DeclaredTotals]:
        for entry in self.ledger.entries():
            if entry.kind == KIND and RUNNING in (content := entry.parsed()["content"]):
                yield DeclaredTotals(entry.seq, RunningPlan.from_json(content), read_reserve(entry).cost)

    def _of(self, number: int | None) -> DeclaredTotals:
        found = {one.number: one for one in self._declared()}
        if number is not None and number in found:
            return found[number]
        now = [one for one in found.values() if self.ledger.reserved(one.number) is not None] or list(found.values())
        if number is None and len(now) == 1:
            return now[0]
        if not found:
            raise VaultError(f"no running totals were declared: `discreet running declare {self.path} --each …` does")
        named = ", ".join(map(str, found))
        raise VaultError(f"say which running totals: {named}" if number is None else f"{number} is none of: {named}")

    def labels(self, plan: RunningPlan) -> tuple[str, ...]:
        """What the periods of a plan are called."""
        return tuple(self.domain[plan.each].label(plan.first + place) for place in range(plan.periods))

    def _measured(self, number: int, plan: RunningPlan) -> tuple[list[Array], list[int]]:
        """What was measured, from the first period on, and the charges that were answered with it."""
        found: dict[int, Array] = {}
        charges = []
        for charge in charges_of(number, self.ledger):
            record = self.ledger.recorded(charge.id)
            if record is None:
                continue
            charges.append(charge.id)
            for noisy in self.gate.recall(charge, record).answers:
                found.setdefault(plan.place_of(noisy.measurement, self.domain), noisy.units)
        known = next((place for place in range(plan.periods) if place not in found), plan.periods)
        return [found[place] for place in range(known)], charges


def charges_of(number: int, books: Books) -> list[Charge]:
    """The charges that were drawn on a reserve, in order, answered or not."""
    mark = f'"{FROM}":{number},'
    drawn = (read_charge(entry) for entry in books.entries(number) if entry.kind == "charge" and mark in entry.body)
    return [charge for charge in drawn if charge.reserve == number]
