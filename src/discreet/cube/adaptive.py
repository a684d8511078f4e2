"""Choosing what to measure as one goes, as AIM does [McKenna, Mullins, Sheldon, Miklau 2022].

After the first step, every dimension by itself, come rounds. Each fits a model to all that was measured so far, chooses
one of the cuboids that are left by the exponential mechanism (`release/choice.py`: the further the model is from the
truth, beyond the noise that measuring it would bring, the likelier), and measures it. Where a measurement hardly moved
the model, rounds cost twice as much from then on: what is left to find is smaller than the noise. The last round takes
what is left, where that is less than half a round more, so that the whole budget is spent, to what rounding leaves.

A step is a charge of its own, through the gate. Which step comes next depends on the plan and on what was released, and
on nothing else: whoever reads the journal can go on with a run that was cut off, and pays for nothing twice.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.cube.cube import Cube
from discreet.cube.known_cuboids import Known
from discreet.cube.memory import require_memory
from discreet.cube.modelled import model_of, require_model
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.publish import cube_of, measurements_of
from discreet.domain.domain import Domain
from discreet.ledger.charge import Charge
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.spend import UNITS
from discreet.model.model import Model
from discreet.noise.law import Exponential, Laplace, Noise
from discreet.progress import Progress, silent
from discreet.query.choice import Candidate
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Choice, Count
from discreet.release.release import Release, chosen

ROUNDS_PER_DIMENSION = 2
"""Of the rounds that the budget is shared among at first."""
PARTS = 5
"""One of so many parts of a round pays for the choice, the others for the measurement."""
ALLOWED = Fraction(7, 10)
"""How much of a measurement's expected noise a cuboid's distance has to be beyond: a model smooths the rest away."""
RESOLUTION = 1 << 16
"""Scales of choices are multiples of 1 over this, where they are roots."""


@dataclass(frozen=True, eq=False)
class Bought:
    """A step that was charged, with its answer."""

    charge: Charge
    release: Release

    @property
    def units(self) -> int:
        return self.charge.cost.peak


@dataclass(frozen=True, eq=False)
class AdaptiveRun:
    """The steps of a plan so far, in order: single dimensions, then a choice and what was chosen, again and again."""

    plan: CubePlan
    steps: tuple[Bought, ...] = ()

    @property
    def left(self) -> int:
        """Units that the run may still spend on a row."""
        return self.plan.noise.limit - sum(step.units for step in self.steps)

    @property
    def measured(self) -> dict[int, Bought]:
        """The cuboids that were chosen and measured, by mask, in order."""
        found = {}
        for step in self.steps[1:]:
            query = step.release.only.measurement.query
            if isinstance(query, Count):
                found[self.plan.lattice.mask(*map(str, query.by))] = step
        return found

    @property
    def candidates(self) -> tuple[int, ...]:
        """What is left to choose among."""
        return tuple(mask for mask in self.plan.candidates if mask not in self.measured)

    @property
    def choice(self) -> Bought | None:
        """The last step, where it is a choice: what it chose is not measured yet."""
        last = self.steps[-1] if len(self.steps) > 1 else None
        return last if last and isinstance(last.release.only.measurement.query, Choice) else None

    @property
    def is_finished(self) -> bool:
        return bool(self.steps) and self.choice is None and (not self.candidates or self.left < least_round(self.plan))

    def before(self) -> "AdaptiveRun":
        """The run before the last cuboid was chosen."""
        ends = [place for place, step in enumerate(self.steps) if place and _is_choice(step)]
        return replace(self, steps=self.steps[: ends[-1]] if ends else self.steps[:1])


def _is_choice(step: Bought) -> bool:
    return isinstance(step.release.plan.measurements[0].query, Choice)


def least_round(plan: CubePlan) -> int:
    """Units below which nothing more is bought: a round leaves half of one or more, or what rounding leaves."""
    return max(first_round(plan) // 4, PARTS)


def first_round(plan: CubePlan) -> int:
    """The units of the first round."""
    shared = plan.noise.limit - int(sum(plan.shares) * plan.noise.limit)
    return max(shared // min(ROUNDS_PER_DIMENSION * plan.lattice.dimensions, len(plan.candidates)), PARTS)


def next_step(run: AdaptiveRun, domain: Domain, known: Known | None, fitted: "Fitted") -> Plan | None:
    """What to measure next; None where the run is finished. It sees public numbers only."""
    if not run.steps:
        return measurements_of(run.plan, domain)
    if run.is_finished:
        return None
    if run.choice is not None:
        return _measuring(run, domain, run.plan.lattice.mask(*chosen(run.choice.release.only).by))
    if len(run.candidates) == 1:
        return _measuring(run, domain, run.candidates[0])
    return _choosing(run, domain, fitted(run, known), _round(run, known, fitted))


def _round(run: AdaptiveRun, known: Known | None, fitted: "Fitted") -> int:
    """The units of the round that begins."""
    units = first_round(run.plan)
    if run.measured:
        mask, last = list(run.measured.items())[-1]
        paid = next(step for step in reversed(run.steps) if _is_choice(step)).units
        before, after = fitted(run.before(), known).cuboid(mask), fitted(run, known).cuboid(mask)
        law = last.release.only.measurement.law
        assert not isinstance(law, Exponential), "counts have noise"
        little = float(np.abs(after - before).sum()) <= mean_distance(law) * after.size
        units = PARTS * paid * (2 if little else 1)
    return units if 2 * run.left >= 3 * units else run.left


def _measuring(run: AdaptiveRun, domain: Domain, mask: int) -> Plan:
    """Measure a cuboid with the parts of its round that its choice left; with all that is left, in the last one."""
    units = run.left
    if run.choice is not None and len(run.candidates) > 1:
        own = (PARTS - 1) * run.choice.units
        units = own if 2 * (run.left - own) >= PARTS * run.choice.units else run.left
    law = run.plan.noise.law(share_of(units, run.plan.noise))
    names = tuple(map(str, run.plan.lattice.names_of(mask)))
    return Plan((Measurement(Count(domain.everything, names), law),))


def _choosing(run: AdaptiveRun, domain: Domain, model: Model, units: int) -> Plan:
    """Choose among the candidates by how far the model is from each, beyond what noise would be."""
    lattice, noise = run.plan.lattice, run.plan.noise
    paid = units // PARTS
    off = ALLOWED * Fraction(mean_distance(noise.law(share_of(units - paid, noise))))
    expected = model.cuboids(run.candidates)
    candidates = tuple(
        Candidate(
            tuple(map(str, lattice.names_of(mask))),
            tuple(np.rint(expected[mask]).astype(np.int64).reshape(-1).tolist()),
            round(off * lattice.cells(mask)),
        )
        for mask in run.candidates
    )
    return Plan((Measurement(Choice(candidates, domain.everything), choice_costing(paid, noise)),))


def choice_costing(units: int, noise: NoiseModel) -> Exponential:
    """The sharpest exponential mechanism that costs a row at most so many units."""
    one = noise.budget.loss(Exponential(Fraction(1)), Fraction(1), one_signed=True) * UNITS / units
    if noise.power != 1:
        return Exponential(one)
    # The cost falls with the square of the scale: the least multiple of 1/RESOLUTION whose square is enough.
    return Exponential(Fraction(math.isqrt(math.ceil(one * RESOLUTION**2) - 1) + 1, RESOLUTION))


def share_of(units: int, noise: NoiseModel) -> Fraction:
    """The share of the budget that is so many units for a row."""
    return Fraction(units, UNITS) * noise.factor / noise.amount


def mean_distance(law: Noise) -> float:
    """How far noise puts a number off on the average: about, for a discrete law."""
    return float(law.scale) if isinstance(law, Laplace) else math.sqrt(2 / math.pi) * float(law.scale)


def plan_so_far(run: AdaptiveRun) -> CubePlan:
    """The plan of what a run has measured, as one cube: those cuboids, and all that can be computed from them."""
    plan = run.plan
    measured = {mask: share_of(step.units, plan.noise) for mask, step in run.measured.items()}
    shares = {**dict(zip(plan.source_masks, plan.shares, strict=True)), **measured}
    published = _computable(plan, shares)
    return replace(
        plan,
        published=published,
        weights=(1.0,) * len(published),
        source_masks=tuple(shares),
        shares=tuple(shares.values()),
        candidates=(),
    )


def widest(plan: CubePlan) -> CubePlan:
    """The largest cube that a run can come to: with all candidates. What it needs, every run has enough with."""
    masks = (*plan.source_masks, *plan.candidates)
    published = _computable(plan, masks)
    return replace(
        plan,
        published=published,
        weights=(1.0,) * len(published),
        source_masks=masks,
        shares=(Fraction(1, len(masks)),) * len(masks),
        candidates=(),
    )


def _computable(plan: CubePlan, masks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({part for mask in masks for part in plan.lattice.ancestors(mask)}))


def require_run(plan: CubePlan) -> None:
    """Refuse, before anything is spent, a run whose models do not fit into memory."""
    require_memory(widest(plan))
    require_model(widest(plan))


def cube_of_run(
    run: AdaptiveRun,
    domain: Domain,
    known: Known | None,
    promise: Callable[[int], Guarantee],
    progress: Progress = silent,
) -> Cube:
    """The cube of what a run has measured: made from public numbers alone. What it promises is for all of its steps
    together, choices included."""
    plan, last = plan_so_far(run), run.steps[-1].release
    answers = (*run.steps[0].release.answers, *(step.release.only for step in run.measured.values()))
    guarantee = promise(sum(step.units for step in run.steps))
    release = Release(measurements_of(plan, domain), answers, guarantee, last.charge, last.receipt, last.facts)
    cube = cube_of(plan, domain, release, known=known, progress=progress)
    earlier = tuple(step.charge.id for step in run.steps[:-1])
    return replace(cube, origin=replace(cube.origin, earlier=earlier))


class Fitted:
    """Models of runs, each fitted once."""

    def __init__(self, domain: Domain, progress: Progress = silent) -> None:
        self._domain, self._progress = domain, progress
        self._models: dict[tuple[int, ...], Model] = {}

    def __call__(self, run: AdaptiveRun, known: Known | None) -> Model:
        key = tuple(run.measured)
        if key not in self._models:
            # No release states what this cube promises: it is a step on the way, and nobody sees it.
            cube = cube_of_run(run, self._domain, known, lambda _: run.steps[0].release.guarantee)
            self._models[key] = model_of(cube, self._progress)
        return self._models[key]


def go_on(
    run: AdaptiveRun,
    domain: Domain,
    buy: Callable[[Plan], Bought],
    known: Known | None = None,
    progress: Progress = silent,
) -> AdaptiveRun:
    """Buy the steps of a run that are left."""
    fitted = Fitted(domain)
    whole = run.plan.noise.limit
    while (step := next_step(run, domain, known, fitted)) is not None:
        progress("choosing and measuring", 1 - run.left / whole)
        run = replace(run, steps=(*run.steps, buy(step)))
    progress("choosing and measuring", 1.0)
    return run
