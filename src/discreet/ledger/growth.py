"""How far a table that grows goes: which periods are closed, and since which snapshot.

The spend map is over the whole domain, to its horizon: a period that is appended has spent nothing, and what is asked
is about closed periods alone, in words of its region. So an append changes what may be asked, and no number of the map.
Proof: docs/explain/growing.md.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.domain.domain import Domain
from discreet.errors import JournalCorrupt
from discreet.ledger.charge import snapshot_in
from discreet.ledger.snapshot import SnapshotId

CLOSED = "closed"
"""The key of the last period that is closed, in the first entry and in appends."""


@dataclass(frozen=True)
class Growth:
    """The last closed period since each snapshot that closed one, by its number. Empty where nothing grows."""

    whole: Domain
    closed: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, domain: Domain, header: Mapping[str, Any]) -> "Growth":
        """A vault that was just made; nothing yet where its first entry is not read."""
        if domain.growing is None or not header:
            return cls(domain)
        return cls(domain).appended(1, header)

    def appended(self, entry: int, content: Any) -> "Growth":
        """The same after more periods. Raises JournalCorrupt where they are none, or not later ones."""
        try:
            period, snapshot = content[CLOSED], snapshot_in(content)
            if self.whole.growing is None or snapshot is None or not self.is_later(period):
                raise ValueError
        except (LookupError, TypeError, ValueError):
            raise JournalCorrupt(f"entry {entry} of the journal does not say which periods are closed") from None
        return Growth(self.whole, (*self.closed, (snapshot.number, period)))

    def is_later(self, period: Any) -> bool:
        """Whether a period of the domain comes after all that are closed."""
        growing = self.whole.growing
        code = growing.named_code(period) if growing is not None and isinstance(period, str) else None
        return code is not None and (self.last is None or code > self._code_of(self.last))

    @property
    def last(self) -> str | None:
        """The last closed period; None where nothing grows."""
        return self.closed[-1][1] if self.closed else None

    def _code_of(self, period: str) -> int:
        code = None if self.whole.growing is None else self.whole.growing.named_code(period)
        assert code is not None, "only periods of the domain are closed"
        return code

    def so_far(self, domain: Domain) -> Domain:
        """What may be asked about by now: of all there is, or of one of several tables, which may not grow."""
        return domain if self.last is None or domain.growing is None else domain.until(self.last)

    def cut(self, domain: Domain, snapshot: SnapshotId | None) -> Domain:
        """What could be asked about when a snapshot was the last: of all there is, or of one of several tables."""
        if snapshot is None or not self.closed or domain.growing is None:
            return domain
        place = bisect_right(self.closed, snapshot.number, key=lambda since: since[0]) - 1
        return domain.until(self.closed[max(place, 0)][1])

    def to_json(self) -> list[list[Any]]:
        return [list(since) for since in self.closed]

    def restored(self, stated: Sequence[Sequence[Any]]) -> "Growth":
        """What a checkpoint states."""
        return Growth(self.whole, tuple((int(number), str(period)) for number, period in stated))
