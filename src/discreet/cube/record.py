"""A cube plan as the journal and a cube's folder keep it: exactly, and readable without a vault."""

import math
from fractions import Fraction
from itertools import groupby
from typing import Any, get_args

from discreet.cube.measure import COUNT, Measure
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import Basis, CubePlan
from discreet.cube.within import Within
from discreet.errors import ArchiveError, DiscreetError
from discreet.exact import parse_exact
from discreet.ledger.budget import Induced, said_of_person
from discreet.ledger.budget_choice import budget_from_json
from discreet.query.lattice import MAX_DIMENSIONS, Label, Lattice

Json = dict[str, Any]


def plan_record(plan: CubePlan) -> Json:
    """Everything that makes the plan what it is; shares are exact."""
    noise, lattice = plan.noise, plan.lattice
    even = set(plan.weights) == {1.0}
    return {
        "planner": plan.planner,
        **({"basis": plan.basis} if plan.basis != "cuboids" else {}),
        "dimensions": [[str(name), size] for name, size in zip(lattice.names, lattice.sizes, strict=True)],
        noise.budget.option: str(noise.amount),
        "neighbours": noise.neighbours,
        "max_rows": noise.budget.max_rows,
        **said_of_person(noise.budget),
        **_measure(plan.noise.measure),
        "cuboids": _chosen(plan),
        "weights": None if even else list(plan.weights),
        "sources": _sources(plan),
        **({"expected": list(plan.expected)} if plan.expected else {}),
        **({"bound": plan.bound} if plan.bound else {}),
        **_facts(plan),
        **({"within": plan.within.to_json()} if plan.within else {}),
        **({"candidates": [list(lattice.names_of(mask)) for mask in plan.candidates]} if plan.candidates else {}),
    }


def _measure(measure: Measure) -> Json:
    """What is summed, and how far a row can move it; nothing for counts."""
    if measure.of is None:
        return {}
    return {
        "sum": {
            "of": measure.of,
            "move": str(measure.move),
            "grain": str(measure.grain),
            "one_signed": measure.one_signed,
            "complete": measure.complete,
        }
    }


def _measure_of(record: Json) -> Measure:
    if "sum" not in record:
        return COUNT
    summed = record["sum"]
    move, grain = parse_exact(summed["move"]), parse_exact(summed["grain"])
    return Measure(str(summed["of"]), move, grain, summed["one_signed"], summed["complete"])


def _facts(plan: CubePlan) -> Json:
    """What public facts make of the plan; nothing where there are none."""
    induced = plan.noise.budget.induced
    known = [{"dimensions": list(plan.lattice.names_of(mask)), "fact": number} for mask, number in plan.known]
    return {
        **({"induced": [induced.people, induced.squares]} if induced.people else {}),
        **({"known": known} if known else {}),
    }


def _chosen(plan: CubePlan) -> str | int | list[list[Label]]:
    """What is published, in the words of whoever chose it, as far as they can be told."""
    lattice, most = plan.lattice, max(mask.bit_count() for mask in plan.published)
    if len(plan.published) == sum(math.comb(lattice.dimensions, count) for count in range(most + 1)):
        return "all" if most == lattice.dimensions else most
    return [list(lattice.names_of(mask)) for mask in plan.published]


def _sources(plan: CubePlan) -> list[Json]:
    """The sources with their shares, in order; in a wide cube those in a row with one share are one line."""
    if plan.lattice.dimensions <= MAX_DIMENSIONS:
        return [
            {"dimensions": list(names), "share": str(share), "variance": plan.source_variances[mask]}
            for mask, names, share in zip(plan.source_masks, plan.sources, plan.shares, strict=True)
        ]
    lines = []
    for share, run in groupby(plan.source_masks, key=plan.share_of):
        masks = list(run)
        cuboids = [list(plan.lattice.names_of(mask)) for mask in masks]
        lines.append({"share": str(share), "variance": plan.source_variances[masks[0]], "cuboids": cuboids})
    return lines


def _basis(record: Json) -> Basis:
    basis: Basis = record.get("basis", "cuboids")
    if basis not in get_args(Basis):
        raise ValueError
    return basis


def _shares(record: Json, lattice: Lattice) -> dict[int, Fraction]:
    return {
        lattice.mask(*names): parse_exact(source["share"])
        for source in record["sources"]
        for names in (source["cuboids"] if "cuboids" in source else [source["dimensions"]])
    }


def plan_of(record: Json) -> CubePlan:
    """The plan that was recorded. Raises ArchiveError where the record makes no sense."""
    try:
        names, sizes = zip(*record["dimensions"], strict=True)
        lattice = Lattice(sizes, names)
        budget = budget_from_json(record).under(Induced(*record.get("induced", ())))
        published = lattice.choose(record["cuboids"])
        shares = _shares(record, lattice)
        return CubePlan(
            planner=str(record["planner"]),
            lattice=lattice,
            published=published,
            weights=tuple(record["weights"] or (1.0,) * len(published)),
            noise=NoiseModel(budget, _measure_of(record)),
            source_masks=tuple(shares),
            shares=tuple(shares.values()),
            expected=tuple(record.get("expected", ())),
            bound=record.get("bound"),
            basis=_basis(record),
            candidates=tuple(lattice.mask(*names) for names in record.get("candidates", ())),
            within=Within(**record["within"]) if "within" in record else None,
            known=tuple((lattice.mask(*known["dimensions"]), known["fact"]) for known in record.get("known", ())),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, DiscreetError):
        raise ArchiveError(
            "the description of the cube's plan is damaged; restore it from a copy: it is public"
        ) from None
