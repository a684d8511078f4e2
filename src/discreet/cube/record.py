"""A cube plan as the journal and a cube's folder keep it: exactly, and readable without a vault."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.cube.noise_model import GaussianNoise, LaplaceNoise
from discreet.cube.plan import CubePlan
from discreet.errors import ArchiveError, DiscreetError
from discreet.query.lattice import Lattice

Json = dict[str, Any]


def plan_record(plan: CubePlan) -> Json:
    """Everything that makes the plan what it is; shares are exact."""
    noise, lattice = plan.noise, plan.lattice
    everything = len(plan.published) == 1 << lattice.dimensions
    even = set(plan.weights) == {1.0}
    return {
        "planner": plan.planner,
        "dimensions": [[str(name), size] for name, size in zip(lattice.names, lattice.sizes, strict=True)],
        noise.currency: str(noise.budget),
        "neighbours": noise.neighbours,
        "max_rows": noise.max_rows,
        "cuboids": "all" if everything else [list(lattice.names_of(mask)) for mask in plan.published],
        "weights": None if even else list(plan.weights),
        "sources": [
            {"dimensions": list(names), "share": str(share)}
            for names, share in zip(plan.sources, plan.shares, strict=True)
        ],
    }


def plan_of(record: Mapping[str, Any]) -> CubePlan:
    """The plan that was recorded. Raises ArchiveError where the record makes no sense."""
    try:
        names, sizes = zip(*record["dimensions"], strict=True)
        lattice = Lattice(sizes, names)
        model = LaplaceNoise if LaplaceNoise.currency in record else GaussianNoise
        noise = model(Fraction(record[model.currency]), record["neighbours"], record["max_rows"])
        published = lattice.choose(record["cuboids"])
        shares = {lattice.mask(*source["dimensions"]): Fraction(source["share"]) for source in record["sources"]}
        return CubePlan(
            planner=str(record["planner"]),
            lattice=lattice,
            published=published,
            weights=tuple(record["weights"] or (1.0,) * len(published)),
            noise=noise,
            source_masks=tuple(shares),
            shares=tuple(shares.values()),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, DiscreetError):
        raise ArchiveError(
            "the description of the cube's plan is damaged; restore it from a copy: it is public"
        ) from None
