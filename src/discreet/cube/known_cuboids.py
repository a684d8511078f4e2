"""Cuboids that are public facts, as exact sources: no variance, and the published cube agrees with them.

Least squares is diagonal in the residual spaces, one for each subset S of dimensions (see `consistency.py`). A source E
without noise has all the weight in the spaces of its own subsets, and none in the others. So in a cuboid C exactly the
components S ⊆ C ∩ E change, to those of the exact table; together they are C's roll-up to C ∩ E, spread evenly over
the cells that make up each of its own. And these components have no variance left: see `known_variances.py`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.cube.plan import CubePlan
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.facts.contradiction import roll_up
from discreet.facts.facts import CountFact, CuboidFact, Fact
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]
Known = Mapping[int, NDArray[np.int64]]
"""Exact tables by mask, with an axis for each dimension of the mask, in order."""


def known_cuboids(facts: Sequence[Fact], lattice: Lattice, domain: Domain) -> dict[int, int]:
    """What facts tell of a cube: masks, of which none holds another, each with the number of its fact."""
    masks: dict[int, int] = {}
    for fact in facts:
        if isinstance(fact, CuboidFact):
            mask = lattice.mask(*(name for name in fact.by if name in lattice.names))
            masks.setdefault(mask, fact.number)
        elif _is_total(fact, domain):
            masks.setdefault(0, fact.number)
    return {mask: number for mask, number in masks.items() if not any(mask & other == mask != other for other in masks)}


def _is_total(fact: CountFact, domain: Domain) -> bool:
    return fact.terms == ((1, domain.everything),)


def known_tables(plan: CubePlan, facts: Sequence[Fact]) -> dict[int, NDArray[np.int64]]:
    """The exact tables that a plan counts on."""
    by_number = {fact.number: fact for fact in facts}
    tables = {}
    for mask, number in plan.known:
        fact = by_number.get(number)
        if fact is None:
            raise UnsupportedQuery(f"this plan counts on fact {number}, which is not there; plan it with this vault")
        if isinstance(fact, CountFact):
            tables[mask] = np.array(fact.value, np.int64)
            continue
        names = plan.lattice.names_of(mask)
        kept = [name for name in fact.by if name in names]
        tables[mask] = roll_up(fact, kept).transpose([kept.index(str(name)) for name in names])
    return tables


def impose(lattice: Lattice, cuboids: Mapping[int, Cells], known: Known) -> None:
    """Make consistent cuboids agree with exact ones, in place: what least squares gives if those are sources too."""
    for mask, cells in cuboids.items():
        for exact_mask, table in known.items():
            common = mask & exact_mask
            exact = _rolled_up(lattice, np.asarray(table, np.float64), exact_mask, common)
            if common == mask:
                cells[...] = exact
                break
            off = exact - _rolled_up(lattice, cells, mask, common)
            spread = tuple(slice(None) if common >> axis & 1 else None for axis in lattice.axes(mask))
            cells += off[(*spread, ...)] / lattice.cells(mask & ~common)


def _rolled_up(lattice: Lattice, cells: Cells, mask: int, to: int) -> Cells:
    gone = tuple(place for place, axis in enumerate(lattice.axes(mask)) if not to >> axis & 1)
    return np.asarray(cells.sum(axis=gone))
