"""A spend map that is made when somebody has to know it: most charges fit by far, and most commands charge nothing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.ledger.boxes import Ints, require_inside
from discreet.ledger.spend import MAX_UNITS, Cost, Refusal, SpendMap

MOST_WAITING = 256
"""So many charges that were added one by one are counted, even if nobody looks."""

MOST_REPLAYED = 100_000
"""… and so many that were added in bulk: those of a journal that is read from its start would fill the memory."""


class Deferred:
    """The same as another SpendMap, which counts charges, in their order, when it is asked.

    The units of all charges that wait, added up, are no less than any point has of them: what fits with that much spent
    everywhere fits, and the map need not be asked.
    """

    def __init__(self, counted: SpendMap, domain: Domain) -> None:
        self._counted = counted
        self._shape = domain.shape
        self._waiting: list[Cost] = []
        self._waiting_units = 0

    @property
    def limit(self) -> int:
        return self._counted.limit

    @limit.setter
    def limit(self, limit: int) -> None:
        if limit != self._counted.limit:
            self.exact().limit = limit  # a map may count by the limit that held

    def exact(self) -> SpendMap:
        """The map itself, with everything counted."""
        if self._waiting:
            waiting, self._waiting, self._waiting_units = self._waiting, [], 0
            self._counted.replay(waiting)
        return self._counted

    @property
    def spent_max(self) -> int:
        return self.exact().spent_max

    @property
    def overdrawn(self) -> bool:
        return self._spent_at_most > self.limit and self.exact().overdrawn

    @property
    def _spent_at_most(self) -> int:
        return self._counted.spent_max + self._waiting_units

    def left(self, region: Region) -> int:
        return self.exact().left(region)

    def refusal(self, cost: Cost) -> Refusal | None:
        if self._spent_at_most + _units(cost) > self.limit:
            return self.exact().refusal(cost)
        require_inside(self._shape, (box for box, _ in cost.regional))
        return None

    def add(self, cost: Cost) -> None:
        self.replay([cost])
        if len(self._waiting) >= MOST_WAITING:
            self.exact()

    def replay(self, costs: Iterable[Cost]) -> None:
        listed = list(costs)
        require_inside(self._shape, (box for cost in listed for box, _ in cost.regional))
        self._waiting += listed
        self._waiting_units += sum(map(_units, listed))
        if self._spent_at_most > MAX_UNITS or len(self._waiting) > MOST_REPLAYED:
            self.exact()  # what cannot be is seen at once

    def left_by(self, axes: Sequence[int]) -> Ints:
        return self.exact().left_by(axes)

    def stated(self) -> dict[str, Any]:
        return self.exact().stated()

    def restore(self, stated: Mapping[str, Any]) -> None:
        self._waiting, self._waiting_units = [], 0
        self._counted.restore(stated)


def _units(cost: Cost) -> int:
    return cost.everywhere + sum(units for _, units in cost.regional)
