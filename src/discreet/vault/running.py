"""Running totals: planned, set aside for, and published period by period."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.cube.noise_model import noise_model
from discreet.cube.running import RunningPlan, RunningTotals, plan_running
from discreet.domain.domain import Domain
from discreet.exact import Number
from discreet.ledger.budget import require_amounts
from discreet.ledger.ledger import Ledger
from discreet.ledger.reserve import KIND
from discreet.notebook import FieldsView
from discreet.query.query import answer_shape
from discreet.release.archive import Array
from discreet.release.gate import Gate
from discreet.vault.charged import release_of
from discreet.vault.set_aside import SetAside, charges_of, reached, set_aside_again, set_aside_for, the_one

RUNNING = "running"
"""The key of what a reserve is for, where that is running totals."""


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
        return plan_running(self.ledger.horizon, each, noise, names, first, last)

    def declare(self, plan: RunningPlan) -> RunningTotals:
        """Set aside what a plan costs, for all of its periods: it is spent from now on, and nothing else can spend it.
        Declared again, it is the one that there is."""
        content = plan.to_json()
        with self.gate.underway.alone({KIND: content}):
            number = set_aside_again(content, RUNNING, self.ledger)
            if number is None:
                number = self.gate.set_aside(plan.measurements(self.ledger.horizon), content).seq
        return self.show(number)

    def publish(self, number: int | None = None, *, through: str | None = None) -> RunningTotals:
        """Measure the periods up to one, which has ended, that were not measured before: what was set aside pays for
        them. What was published stays as it is. `number` is that of the declaration, where there are several. Of a
        table that grows, those that are closed have ended, and every append publishes them."""
        found = self._of(number).number
        plan = RunningPlan.from_json(self._of(found).content)
        end = reached(plan.within, through, self.ledger)
        with self.gate.underway.alone({KIND: found}):
            for charge in charges_of(found, self.ledger):
                release_of(charge, self.gate)  # one that was cut off is finished first
            done = len(self._measured(found, plan)[0])
            for place in range(done, end + 1):
                self.gate.measure(plan.measurement(place, self.domain), reserve=found)
        return self.show(found)

    def show(self, number: int | None = None) -> RunningTotals:
        """Running totals as far as they were published. Reads no rows, and is free."""
        found = self._of(number)
        plan, horizon = RunningPlan.from_json(found.content), self.ledger.horizon
        measured, charges = self._measured(found.number, plan)
        shape = answer_shape(plan.measurement(0, horizon).measurements[0].query, horizon)
        return RunningTotals(
            plan,
            found.number,
            self.ledger.reserved(found.number) is not None,
            plan.within.labels(horizon),
            np.array(measured, np.int64).reshape(len(measured), *shape),
            tuple(charges),
            self.ledger.promise(found.cost.peak),
            tuple(tuple(horizon[name].labels) for name in plan.by),
        )

    def declared(self) -> list[int]:
        """The numbers of all running totals that were declared, of every snapshot."""
        return [one.number for one in set_aside_for(RUNNING, self.ledger)]

    def _of(self, number: int | None) -> SetAside:
        return the_one(number, RUNNING, "running totals", self.ledger, self.path)

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
