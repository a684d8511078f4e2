"""A cube plan as the journal and a cube's folder keep it: exactly, and readable without a vault."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.cube.noise_model import LaplaceNoise
from discreet.cube.plan import CubePlan
from discreet.errors import ArchiveError, DiscreetError, UnsupportedQuery
from discreet.query.lattice import Lattice

Json = dict[str, Any]


def laplace_of(plan: CubePlan) -> LaplaceNoise:
    """The plan's noise, if it is the one that the gate draws."""
    if not isinstance(plan.noise, LaplaceNoise):
        raise UnsupportedQuery(
            "this plan is for Gaussian noise; a vault with a budget of ε publishes with Laplace noise"
        )
    return plan.noise


def plan_record(plan: CubePlan) -> Json:
    """Everything that makes the plan what it is; scales are exact."""
    noise, lattice = laplace_of(plan), plan.lattice
    everything = len(plan.published) == 1 << lattice.dimensions
    even = set(plan.weights) == {1.0}
    return {
        "planner": plan.planner,
        "dimensions": [[str(name), size] for name, size in zip(lattice.names, lattice.sizes, strict=True)],
        "epsilon": str(noise.budget),
        "neighbours": noise.neighbours,
        "max_rows": noise.max_rows,
        "cuboids": "all" if everything else [list(lattice.names_of(mask)) for mask in plan.published],
        "weights": None if even else list(plan.weights),
        "sources": [
            {"dimensions": list(names), "scale": str(noise.scale(share))}
            for names, share in zip(plan.sources, plan.shares, strict=True)
        ],
    }


def plan_of(record: Mapping[str, Any]) -> CubePlan:
    """The plan that was recorded. Raises ArchiveError where the record makes no sense."""
    try:
        names, sizes = zip(*record["dimensions"], strict=True)
        lattice = Lattice(sizes, names)
        noise = LaplaceNoise(Fraction(record["epsilon"]), record["neighbours"], record["max_rows"])
        published = lattice.choose(record["cuboids"])
        scales = {lattice.mask(*source["dimensions"]): Fraction(source["scale"]) for source in record["sources"]}
        return CubePlan(
            planner=str(record["planner"]),
            lattice=lattice,
            published=published,
            weights=tuple(record["weights"] or (1.0,) * len(published)),
            noise=noise,
            source_masks=tuple(scales),
            shares=tuple(noise.factor / (noise.budget * scale) for scale in scales.values()),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, DiscreetError):
        raise ArchiveError(
            "the description of the cube's plan is damaged; restore it from a copy: it is public"
        ) from None
