"""Cubes: plan them, publish them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.cube.adaptive import Bought, cube_of_run, go_on, require_run
from discreet.cube.affordable import Affordable, affordable, require_affordable
from discreet.cube.cube import Cube
from discreet.cube.journal import note_plan, noted_plan, require_plan_for
from discreet.cube.known_cuboids import Known, known_cuboids, known_tables
from discreet.cube.measure import parse_measure
from discreet.cube.memory import require_memory
from discreet.cube.modelled import require_model
from discreet.cube.noise_model import noise_model
from discreet.cube.plan import CubePlan, Objective
from discreet.cube.planners.adaptive import plan_first_step
from discreet.cube.planning import plan_cube
from discreet.cube.publish import cube_of, measurements_of, publish_cube, require_consistent
from discreet.cube.record import plan_record
from discreet.cube.relative import mean_squares
from discreet.cube.reshape import require_shape
from discreet.cube.runs import begin_run, charges_of, note_step, read_plan, read_run, run_holding, run_of_plan
from discreet.cube.shape import Counts, Norm
from discreet.cube.small_budget import can_choose, is_small
from discreet.domain.domain import Domain
from discreet.errors import InvalidBudget, Refreshed, UnsupportedQuery
from discreet.exact import Number
from discreet.ledger.budget import require_amounts
from discreet.ledger.ledger import Ledger
from discreet.notebook import FieldsView
from discreet.progress import Progress, silent
from discreet.query.lattice import Cuboids, Label, Lattice, Weights
from discreet.query.plan import Plan, cost_of_everything
from discreet.release.gate import Gate
from discreet.release.release import Release
from discreet.vault.charged import bought_before, charge_at, release_of
from discreet.vault.facts import VaultFacts
from discreet.vault.models import note_model
from discreet.vault.public import PublicCubes
from discreet.vault.public_rows import public_rows

if TYPE_CHECKING:
    from discreet.vault.standing import VaultStanding


RUN_ENDED = (
    "the run ended here: the vault went over to another snapshot while it was under way, and its steps are of one. "
    "What they bought is released, and answers questions about the snapshot that it is of; nothing was spent on this "
    "step. Plan the cube anew, and publish that"
)


@dataclass(frozen=True, repr=False)
class VaultCubes(FieldsView):
    """A vault's cubes: planned and published, in agreement with its facts where that is asked for."""

    path: Path
    domain: Domain
    ledger: Ledger
    gate: Gate
    facts: VaultFacts

    def plan(
        self: PublicCubes,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mu_squared: Number | None = None,
        cuboids: Cuboids = "all",
        planner: str = "optimal",
        objective: Objective = "max",
        measure: str = "count",
        dimensions: Sequence[str] | None = None,
        weights: Weights | None = None,
        bound: float | None = None,
        expected: Mapping[tuple[Label, ...] | str, float] | None = None,
        estimate: Cube | str | Path | None = None,
        facts: Literal["vault"] | None = None,
    ) -> CubePlan:
        """Which cuboids to measure, with what shares of `epsilon` (or `rho` or `mu_squared`, by the vault's budget),
        and how exact every cuboid will be. Spends nothing.

        `cuboids` is "all", a number (all cuboids of at most so many dimensions), or a list of cuboids by their
        dimensions. `dimensions` are all attributes of two values and more where nothing is said. Noise is always what
        the vault's facts need; with `facts="vault"` those that are cuboids are used as well, and the cube will agree
        with them. `measure` is "count", or "sum(income)": the sum of an attribute with declared bounds.

        `expected` has the variance that you expect of each cuboid, `"others"` for all that are not named: what is made
        small is then the ratio of the two. `estimate` is a cube that was published before: with it that ratio is the
        relative error, as far as that cube can tell.

        The planner model measures all pairs or triples; where that would be mostly noise, for as many rows as facts or
        answers say there are, it is the planner adaptive instead. With a number of `cuboids` it stays as it is.
        """
        require_amounts(self.ledger.budget)
        # An attribute with one value tells nobody apart.
        usual = [one.name for one in self.domain.attributes if one.size > 1]
        names = tuple(self.domain[name].name for name in dimensions or usual or self.domain.names)
        lattice = Lattice(tuple(self.domain[name].size for name in names), names)
        if facts not in (None, "vault"):
            raise UnsupportedQuery('facts is "vault", or left out')
        measured = parse_measure(measure, self.domain)
        if facts and measured.of is not None:
            raise UnsupportedQuery("facts are counts: a cube of sums cannot agree with them")
        known = known_cuboids(self.facts.current(), lattice, self.domain) if facts else {}
        plan = plan_cube(
            lattice,
            noise_model(epsilon, rho, mu_squared, self.ledger.budget, measured),
            cuboids=cuboids,
            planner=planner,
            objective=objective,
            weights=weights,
            bound=bound,
            expected=expected if estimate is None else _mean_squares(estimate, expected, lattice, cuboids),
        )
        known_plan = replace(plan, known=tuple(known.items()))
        may_choose = cuboids == "all" and can_choose(known_plan) and not (weights or plan.expected)
        return self._for_small_budget(known_plan) if may_choose else known_plan

    def _for_small_budget(self: PublicCubes, fixed: CubePlan) -> CubePlan:
        """A plan for models, or rounds where its budget is small. What was begun is gone on with: planned again after
        it was published, a plan is the same."""
        if bought_before(measurements_of(fixed, self.domain), self.ledger) is not None:
            return fixed
        try:
            rounds = replace(plan_first_step(fixed.lattice, fixed.noise, "all"), known=fixed.known)
        except (InvalidBudget, UnsupportedQuery):
            return fixed
        if run_of_plan(rounds, self.ledger) is not None:
            return rounds
        rows = public_rows(self.facts)
        return rounds if rows is not None and is_small(fixed, rows) else fixed

    def affordable(self, plan: CubePlan) -> Affordable:
        """Whether a plan can be published now, and what one may spend at most. What was bought before is free."""
        found = affordable(plan, self.ledger, self.gate.asker)
        if found.fits or plan.noise.continuous:
            return found
        if plan.candidates:
            begun = run_of_plan(plan, self.ledger)
            paid = [] if begun is None else charges_of(begun, self.ledger)
            left = cost_of_everything(plan.noise.limit - sum(charge.cost.peak for charge in paid), self.domain)
            return replace(found, fits=bool(paid) and self.ledger.fits(left, self.gate.asker))
        return replace(found, fits=bought_before(measurements_of(plan, self.domain), self.ledger) is not None)

    @property
    def standing(self) -> "VaultStanding":
        """A cube of each period, paid for at once: `standing.declare(plan, "month")`, `standing.publish(through=…)`."""
        from discreet.vault.standing import VaultStanding

        return VaultStanding(self.path, self.domain, self.ledger, self.gate)

    def publish(
        self,
        plan: CubePlan | int,
        *,
        consistent: bool = True,
        norm: Norm = "l2",
        counts: Counts = "real",
        estimate: Literal["least-squares", "modelled"] = "least-squares",
        again: bool = False,
        progress: Progress = silent,
    ) -> Cube:
        """Measure a plan's sources in one release, and compute its cuboids from them.

        Where the very same was measured of the table as it is now, by this or anybody's publish, that is handed out and
        nothing is spent; `again` buys new noise. With the number of a charge, the cube of a publish that was
        interrupted, or lost since: nothing more is spent.
        Not `consistent`: each cuboid by itself from its best source, so that roll-ups do not quite fit. `norm` and
        `counts` as in `Cube.reshaped`. With `estimate="modelled"` a model is fitted to the same measurements and kept
        beside least squares: see `Cube.modelled`; the journal notes it.

        A plan by the planner adaptive is a run of rounds, each charged by itself; published again, or by the number of
        any of its charges, it goes on where it was cut off, and spends no more than what is left of its budget.
        """
        charge = charge_at(plan, self.ledger, self.path) if isinstance(plan, int) else None
        domain = self.domain if charge is None else self.ledger.domain_of(charge.snapshot)
        begun = None if charge is None else run_holding(charge, self.ledger)
        if begun is not None:
            planned = read_plan(begun, self.ledger)
        else:
            planned = plan if charge is None else noted_plan(charge, domain, self.ledger)  # type: ignore[assignment]
        assert not isinstance(planned, int), "a number is that of a charge"
        if charge is None:
            require_plan_for(planned, self.domain, self.ledger)
        require_memory(planned)
        require_consistent(planned, consistent)
        require_shape(planned, norm, counts, consistent)
        if estimate not in ("least-squares", "modelled"):
            raise UnsupportedQuery(f"an estimate is least-squares or modelled, not {estimate!r}")
        if estimate == "modelled":
            require_model(planned)
        known = known_tables(planned, self.facts.of_all_tables())

        def finished(cube: Cube) -> Cube:
            shaped = cube.reshaped(norm=norm, counts=counts)
            if estimate != "modelled":
                return shaped
            modelled = shaped.with_model(progress)
            note_model(modelled, self.ledger)
            return modelled

        if planned.candidates:
            require_run(planned)
            return finished(self._run(planned, domain, begun, known, again, progress))
        if charge is None and not again:
            charge = bought_before(measurements_of(planned, self.domain), self.ledger)
        if charge is not None:
            release = release_of(charge, self.gate)
            cube = cube_of(planned, domain, release, consistent=consistent, known=known, progress=progress)
            return finished(cube)
        require_affordable(planned, self.ledger, self.gate.asker)
        note_plan(planned, self.domain, self.ledger)
        measure = self._measure_alone
        cube = publish_cube(planned, self.domain, measure, consistent=consistent, known=known, progress=progress)
        return finished(cube)

    def _run(
        self, plan: CubePlan, domain: Domain, begun: int | None, known: Known, again: bool, progress: Progress
    ) -> Cube:
        """The cube of a run: one that was begun, in the domain of that time, as far as it came and then on, or a new
        one."""
        with self.gate.underway.alone({"run": plan_record(plan)}):
            over = self.ledger.snapshot
            found = begun if begun is not None or again else run_of_plan(plan, self.ledger)
            if found is None:
                require_affordable(plan, self.ledger, self.gate.asker)
                found = begin_run(plan, self.ledger, over)
            number = found
            run = read_run(number, self.ledger, lambda charge: release_of(charge, self.gate))
            over = run.steps[0].charge.snapshot if run.steps else over

            def buy(step: Plan) -> Bought:
                try:
                    note_step(number, step, self.ledger, over)
                    with self.gate.underway.alone(step.condensed()):
                        release = self.gate.measure(step, over)
                except Refreshed:
                    raise Refreshed(RUN_ENDED) from None  # asked again, it would be refused again
                return Bought(charge_at(release.charge, self.ledger, self.path), release)

            run = go_on(run, domain, buy, known, progress)
        return cube_of_run(run, domain, known, self.ledger.promise, progress)

    def _measure_alone(self, plan: Plan) -> Release:
        """Measure a plan. Whoever asks meanwhile for a number of it waits for it, and is not charged."""
        with self.gate.underway.alone(plan.condensed()):
            return self.gate.measure(plan)


def _mean_squares(
    estimate: Cube | str | Path, expected: object, lattice: Lattice, cuboids: Cuboids
) -> dict[tuple[Label, ...] | str, float]:
    if expected:
        raise UnsupportedQuery("expected variances are given, or estimated from a cube; not both")
    cube = estimate if isinstance(estimate, Cube) else Cube.load(estimate)
    return mean_squares(cube, lattice, lattice.choose(cuboids))
