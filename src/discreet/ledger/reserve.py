"""Reserves: what is set aside for measurements that will be made later, so that no other question can spend it.

A reserve is charged when it is made, as a charge is; what is drawn on it later is not charged again. Nothing is read
for it, and whatever is drawn adds up to no more than it at any point, so that it is enough to count the reserve:
docs/explain/privacy.md has the proof. A refresh ends it, since somebody may then be at another point of the domain; so
does an erasure, since what is drawn on one reserve is put together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.domain.domain import Domain
from discreet.errors import JournalCorrupt
from discreet.ledger.journal import Entry
from discreet.ledger.spend import Cost, most_beyond

KIND = "reserve"
FROM = "from"
"""The key of a charge that is drawn on a reserve: the number of its entry."""


@dataclass(frozen=True)
class Reserve:
    """What was set aside, and what was drawn on it so far."""

    cost: Cost
    drawn: Cost = field(default_factory=Cost)

    def has(self, cost: Cost, domain: Domain) -> bool:
        """Whether so much is left of it at every point."""
        return most_beyond(self.drawn + cost, self.cost, domain.everything.boxes[0]) <= 0

    def after(self, cost: Cost) -> "Reserve":
        """The same once so much more was drawn."""
        return replace(self, drawn=self.drawn + cost)

    def stated(self) -> list[Any]:
        return [self.cost.to_json(), self.drawn.to_json()]

    @classmethod
    def restored(cls, cost: Mapping[str, Any], drawn: Mapping[str, Any]) -> "Reserve":
        """The inverse of `stated`."""
        return cls(Cost.from_json(cost), Cost.from_json(drawn))


def read_reserve(entry: Entry) -> Reserve:
    """What an entry sets aside. Raises JournalCorrupt where it is no reserve."""
    try:
        return Reserve(Cost.from_json(entry.parsed()["cost"]))
    except (LookupError, TypeError, ValueError):
        raise JournalCorrupt(f"entry {entry.seq} of the journal is no reserve", "restore it from a backup") from None
