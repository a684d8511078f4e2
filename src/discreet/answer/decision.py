"""A decision: how each number of a question is to be had."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import FROM_WORST, Estimate, Kind, Picked, worst
from discreet.answer.grid import AnyGrid, Cell, Cells, Codes, Numbers
from discreet.answer.relax import Draft
from discreet.domain.region import Box, Region
from discreet.ledger.snapshot import SnapshotId
from discreet.noise.law import Law
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Query, Sum


@dataclass(frozen=True)
class Decision:
    """How each number of a question is to be had. Public: it depends on the journal and the domain."""

    free: Cells[Estimate | Picked]
    buy: Cells[Region]
    relax: Cells[Region]
    laws: dict[Query, Law]
    drafts: dict[Cell, tuple[Draft, ...]] = field(default_factory=dict)
    """How those are relaxed that can be: a box each, in whose place they are answered."""
    patches: dict[Query, Law] = field(default_factory=dict)
    """Counts and sums of single boxes that the drafts need measured."""
    afresh: frozenset[Cell] = frozenset()
    """Numbers that are measured although something public makes them: not as sharply as was asked for."""
    seen: tuple[SnapshotId | None, int] = (None, 0)
    """How far the journal was when it was made: `Known.seen`."""
    groups: dict[Query, int] = field(default_factory=dict)
    """How many groups each quantity has in all."""

    def only(self, query: Query) -> "Decision":
        """What it says of one of its quantities."""
        return replace(
            self,
            free=self.free.only(query),
            buy=self.buy.only(query),
            relax=self.relax.only(query),
            laws={query: self.laws[query]},
            drafts={cell: drafts for cell, drafts in self.drafts.items() if cell[0] == query},
            patches={},
            groups={query: self.groups[query]},
        )

    def plan(self) -> Plan:
        """What to measure: each quantity once, over the groups that need it; and patches."""
        bought = plan_of(self.buy, self.laws, self.groups)
        return Plan((*bought.measurements, *(Measurement(query, law) for query, law in self.patches.items())))

    def plan_of_all(self) -> Plan:
        """What to measure to have none of its numbers relaxed."""
        return plan_of(self.buy.plus(self.relax), self.laws)

    def patched(self, query: Count | Sum, law: Law, *boxes: Box) -> "Decision":
        """The same with more to be measured: a quantity of some boxes."""
        more: dict[Query, Law] = {replace(query, where=Region((box,)), by=()): law for box in boxes}
        return replace(self, patches=self.patches | more)

    def kinds(self, parts: Collection[Query]) -> Counter[Kind]:
        """Of how many groups a number comes from where, that is made of these quantities."""
        own: list[tuple[Mapping[Codes, object], Kind | None]] = [
            *((self.free.by_query[query], None) for query in parts if query in self.free.by_query),
            *((self.buy.by_query[query], "measured") for query in parts if query in self.buy.by_query),
            *((self.relax.by_query[query], "relaxed") for query in parts if query in self.relax.by_query),
        ]
        grids = [_grid_and_kinds(found, kind) for found, kind in own]
        alike = [one for one in grids if one is not None]
        if own and len(alike) == len(own) and all(alike[0][0].is_like(grid) for grid, _ in alike):
            return _counted(np.minimum.reduce([kinds for _, kinds in alike]))
        kinds: dict[Codes, set[Kind]] = {}
        for found, kind in own:
            for codes, number in found.items():
                kinds.setdefault(codes, set()).add(kind or number.kind)  # type: ignore[attr-defined]
        return Counter(map(worst, kinds.values()))

    @property
    def missing(self) -> dict[Cell, tuple[Region, Law]]:
        """Every number that is not there yet, with the noise it is to have."""
        wanted = self.buy.plus(self.relax)
        asked = {cell: (region, self.laws[cell[0]]) for cell, region in wanted.items()}
        return asked | {(query, ()): (query.where, law) for query, law in self.patches.items()}


def plan_of(cells: Cells[Region], laws: Mapping[Query, Law], groups: Mapping[Query, int] | None = None) -> Plan:
    """Measure each quantity once, over the groups that need it: all of its region, where those are all its `groups`."""
    return Plan(
        tuple(
            Measurement(
                query if groups and groups.get(query) == len(regions) else _within(query, [*regions.values()]),
                laws[query],
            )
            for query, regions in cells.by_query.items()
        )
    )


def _within(query: Query, regions: list[Region]) -> Query:
    """A query over some of its groups; the query itself where that is all of its region."""
    if sum(region.volume for region in regions) == query.where.volume:
        return query
    return replace(query, where=Region.of(box for region in regions for box in region.boxes))


def _grid_and_kinds(found: Mapping[Codes, object], kind: Kind | None) -> tuple[AnyGrid, NDArray[np.int64]] | None:
    """The groups of numbers that are in arrays, and how each is had: its place in `FROM_WORST`."""
    if isinstance(found, Numbers):
        return found.grid, found.kinds
    if not isinstance(found, AnyGrid) or kind is None:
        return None
    return found, np.full(len(found), FROM_WORST.index(kind))


def _counted(kinds: NDArray[np.int64]) -> Counter[Kind]:
    """How many there are of each kind, in the order in which they come first."""
    found, firsts, counts = np.unique(kinds, return_index=True, return_counts=True)
    return Counter({FROM_WORST[found[place]]: int(counts[place]) for place in np.argsort(firsts)})
