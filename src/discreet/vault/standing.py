"""Standing cubes: one for every period, by one plan, paid for when they are declared and published as periods end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.cube.cube import Cube
from discreet.cube.memory import require_memory
from discreet.cube.plan import CubePlan
from discreet.cube.publish import cube_of, measurements_of
from discreet.cube.record import plan_of, plan_record
from discreet.cube.within import Within, within_periods
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.ledger.charge import Charge
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.ledger import Ledger
from discreet.ledger.reserve import KIND
from discreet.notebook import FieldsView
from discreet.query.plan import Plan
from discreet.release.gate import Gate
from discreet.vault.charged import release_of
from discreet.vault.set_aside import SetAside, charges_of, reached, set_aside_again, set_aside_for, the_one

CUBE = "cube"
"""The key of what a reserve is for, where that is standing cubes: their plan, within all of their periods."""


@dataclass(frozen=True, eq=False, repr=False)
class StandingCubes(FieldsView):
    """A cube for each period that was published. No person has a row in two of them but who has rows in both periods:
    `guarantee` is of all together, also those to come."""

    number: int
    """Of the entry that set aside what they cost."""
    open: bool
    """Whether more can be published: the vault is over the table that it was set aside for."""
    periods: tuple[str, ...]
    """All of them, also those to come."""
    cubes: Mapping[str, Cube]
    guarantee: Guarantee


@dataclass(frozen=True, repr=False)
class VaultStanding(FieldsView):
    """A vault's standing cubes: `vault.cubes.standing`."""

    path: Path
    domain: Domain
    ledger: Ledger
    gate: Gate

    def declare(self, plan: CubePlan, each: str, *, first: str | None = None, last: str | None = None) -> StandingCubes:
        """Set aside what a plan costs in every period: it is spent from now on, and nothing else can spend it. A row is
        in one period, and pays for one cube. Declared again, it is the one that there is.

        `each` is a date attribute, or what its periods are called ("month"); `first` and `last` are periods of it.
        """
        standing = self._each(plan, within_periods(each, first, last, self.ledger.horizon))
        content = _content(standing)
        with self.gate.underway.alone({KIND: content}):
            number = set_aside_again(content, CUBE, self.ledger)
            if number is None:
                number = self.gate.set_aside([measurements_of(standing, self.ledger.horizon)], content).seq
        return self.show(number)

    def require_declarable(
        self,
        plan: CubePlan,
        each: str,
        *,
        first: str | None = None,
        last: str | None = None,
        through: str | None = None,
    ) -> int | None:
        """The number of the very same that were declared, or none. Raises where `declare`, or then `publish`, could
        only refuse: for whoever does both, and would have paid for nothing."""
        within = within_periods(each, first, last, self.ledger.horizon)
        reached(within, through, self.ledger)
        return set_aside_again(_content(self._each(plan, within)), CUBE, self.ledger)

    def _each(self, plan: CubePlan, within: Within) -> CubePlan:
        if within.of in map(str, plan.lattice.names):
            raise UnsupportedQuery(f"a cube of each {within.of} has other dimensions: leave it out of the plan's")
        if plan.candidates or plan.known:
            raise UnsupportedQuery("a standing cube has a fixed plan: choose another planner, and plan without facts")
        require_memory(plan)
        return replace(plan, within=within)

    def publish(self, number: int | None = None, *, through: str | None = None) -> StandingCubes:
        """Measure the cubes of all periods up to one, which has ended, that were not measured before: what was set
        aside pays for them. Those that were published stay as they are. Of a table that grows, those that are closed
        have ended, and every append publishes them."""
        found = self._of(number)
        plan = _Standing(found, self.ledger.horizon)
        end = reached(plan.within, through, self.ledger)
        with self.gate.underway.alone({KIND: found.number}):
            charges = self._charges(plan)
            for charge in charges.values():
                release_of(charge, self.gate)  # one that was cut off is finished first
            for place in range(end + 1):
                if place not in charges:
                    own = plan.of_period(place)
                    self.ledger.note(CUBE, plan_record(own), of_table=True)
                    self.gate.measure(measurements_of(own, self.domain), reserve=found.number)
        return self.show(found.number)

    def show(self, number: int | None = None) -> StandingCubes:
        """The cubes that were published. Reads no rows, and is free."""
        found = self._of(number)
        plan = _Standing(found, self.ledger.horizon)
        labels, cubes = plan.within.labels(self.ledger.horizon), {}
        for place, charge in sorted(self._charges(plan).items()):
            record = self.ledger.recorded(charge.id)
            if record is not None:
                release = self.gate.recall(charge, record)
                cubes[labels[place]] = cube_of(plan.of_period(place), self.domain, release)
        is_open = self.ledger.reserved(found.number) is not None
        return StandingCubes(found.number, is_open, labels, cubes, self.ledger.promise(found.cost.peak))

    def declared(self) -> list[int]:
        """The numbers of all standing cubes that were declared, of every snapshot."""
        return [one.number for one in set_aside_for(CUBE, self.ledger)]

    def _of(self, number: int | None) -> SetAside:
        return the_one(number, CUBE, "standing cubes", self.ledger, self.path)

    def _charges(self, plan: "_Standing") -> dict[int, Charge]:
        """The charge of each period that was bought, answered or cut off, by its place."""
        axis, found = self.domain.axis(plan.within.of), dict[int, Charge]()
        for charge in charges_of(plan.found.number, self.ledger):
            [box] = Plan.from_json(charge.plan).measurements[0].query.where.boxes
            found.setdefault(box.low[axis] - plan.within.first, charge)
        return found


def _content(standing: CubePlan) -> dict[str, Any]:
    """What a reserve says that it is for."""
    assert standing.within is not None, "standing cubes are of periods"
    return {CUBE: plan_record(standing), "within": standing.within.to_json()}


@dataclass(frozen=True)
class _Standing:
    """The plan of standing cubes, and of each of them."""

    found: SetAside
    domain: Domain

    @cached_property
    def whole(self) -> CubePlan:
        return plan_of(self.found.content[CUBE])

    @property
    def within(self) -> Within:
        assert self.whole.within is not None, "standing cubes are of periods"
        return self.whole.within

    def of_period(self, place: int) -> CubePlan:
        return replace(self.whole, within=self.within.only(self.within.first + place, self.domain))
