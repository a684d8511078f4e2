"""Cubes: plan them, publish them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.errors import UnsupportedQuery
from discreet.exact import Number
from discreet.progress import Progress, silent
from discreet.query.lattice import Cuboids, Label, Lattice
from discreet.verbs.facts import FactVerbs
from discreet.verbs.public import PublicFacts

if TYPE_CHECKING:
    from discreet.cube.cube import Counts, Cube, Norm
    from discreet.cube.plan import CubePlan, Objective


class CubeVerbs(FactVerbs):
    """What a vault does with cubes: plan and publish them, in agreement with its facts where that is asked for."""

    def plan_cube(
        self: PublicFacts,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        cuboids: Cuboids = "all",
        planner: str = "optimal",
        objective: "Objective" = "max",
        measure: str = "count",
        dimensions: Sequence[str] | None = None,
        weights: Mapping[tuple[Label, ...], float] | None = None,
        bound: float | None = None,
        expected: Mapping[tuple[Label, ...] | str, float] | None = None,
        estimate: "Cube | str | Path | None" = None,
        facts: Literal["vault"] | None = None,
    ) -> "CubePlan":
        """Which cuboids to measure, with what shares of `epsilon` (or `rho`, by the vault's budget), and how exact
        every cuboid will be. Spends nothing.

        `cuboids` is "all", a number (all cuboids of at most so many dimensions), or a list of cuboids by their
        dimensions. `dimensions` are all attributes where nothing is said. Noise is always what the vault's facts need;
        with `facts="vault"` those that are cuboids are used as well, and the cube will agree with them. `measure` is
        "count", or "sum(income)": the sum of an attribute with declared bounds.

        `expected` has the variance that you expect of each cuboid, `"others"` for all that are not named: what is made
        small is then the ratio of the two. `estimate` is a cube that was published before: with it that ratio is the
        relative error, as far as that cube can tell.
        """
        from discreet.cube.known_cuboids import known_cuboids
        from discreet.cube.measure import parse_measure
        from discreet.cube.noise_model import noise_model  # planning brings compiled code that asking does not need
        from discreet.cube.planning import plan_cube

        self._require_amounts()
        names = tuple(self.domain[name].name for name in dimensions or self.domain.names)
        lattice = Lattice(tuple(self.domain[name].size for name in names), names)
        if facts not in (None, "vault"):
            raise UnsupportedQuery('facts is "vault", or left out')
        measured = parse_measure(measure, self.domain)
        if facts and measured.of is not None:
            raise UnsupportedQuery("facts are counts: a cube of sums cannot agree with them")
        known = known_cuboids(self.facts(), lattice, self.domain) if facts else {}
        plan = plan_cube(
            lattice,
            noise_model(epsilon, rho, self.ledger.budget, measured),
            cuboids=cuboids,
            planner=planner,
            objective=objective,
            weights=weights,
            bound=bound,
            expected=expected if estimate is None else _mean_squares(estimate, expected, lattice, cuboids),
        )
        return replace(plan, known=tuple(known.items()))

    def publish_cube(
        self,
        plan: "CubePlan | int",
        *,
        consistent: bool = True,
        norm: "Norm" = "l2",
        counts: "Counts" = "real",
        estimate: Literal["least-squares", "modelled"] = "least-squares",
        again: bool = False,
        progress: Progress = silent,
    ) -> "Cube":
        """Measure a plan's sources in one release, and compute its cuboids from them.

        Where the very same was measured of the table as it is now, by this or anybody's publish, that is handed out and
        nothing is spent; `again` buys new noise. With the number of a charge, the cube of a publish that was
        interrupted, or lost since: nothing more is spent.
        Not `consistent`: each cuboid by itself from its best source, so that roll-ups do not quite fit. `norm` and
        `counts` as in `Cube.reshaped`. With `estimate="modelled"` a model is fitted to the same measurements and kept
        beside least squares: see `Cube.modelled`.
        """
        from discreet.cube.journal import note_plan, noted_plan, require_plan_for
        from discreet.cube.known_cuboids import known_tables
        from discreet.cube.memory import require_memory
        from discreet.cube.publish import cube_of, measurements_of, publish_cube, require_consistent
        from discreet.cube.reshape import require_shape

        charge = self._charge(plan) if isinstance(plan, int) else None
        planned = plan if charge is None else noted_plan(charge, self.domain, self.ledger)
        assert not isinstance(planned, int), "a number is that of a charge"
        if charge is None:
            require_plan_for(planned, self.domain, self.ledger)
        require_memory(planned)
        require_consistent(planned, consistent)
        require_shape(planned, norm, counts, consistent)
        if estimate not in ("least-squares", "modelled"):
            raise UnsupportedQuery(f"an estimate is least-squares or modelled, not {estimate!r}")
        if estimate == "modelled":
            from discreet.cube.modelled import require_model

            require_model(planned)
        known = known_tables(planned, self._all_facts())

        def finished(cube: "Cube") -> "Cube":
            shaped = cube.reshaped(norm=norm, counts=counts)
            return shaped.with_model(progress) if estimate == "modelled" else shaped

        if charge is None and not again:
            charge = self._bought(measurements_of(planned, self.domain))
        if charge is not None:
            record = self.ledger.recorded(charge.id)
            release = self.gate.complete(charge) if record is None else self.gate.recall(charge, record)
            cube = cube_of(planned, self.domain, release, consistent=consistent, known=known, progress=progress)
            return finished(cube)
        note_plan(planned, self.domain, self.ledger)
        measure = self._measure_alone
        cube = publish_cube(planned, self.domain, measure, consistent=consistent, known=known, progress=progress)
        return finished(cube)


def _mean_squares(
    estimate: "Cube | str | Path", expected: object, lattice: Lattice, cuboids: Cuboids
) -> dict[tuple[Label, ...] | str, float]:
    from discreet.cube.cube import Cube
    from discreet.cube.relative import mean_squares

    if expected:
        raise UnsupportedQuery("expected variances are given, or estimated from a cube; not both")
    cube = estimate if isinstance(estimate, Cube) else Cube.load(estimate)
    return mean_squares(cube, lattice, lattice.choose(cuboids))
