"""What the entries of a journal add up to, in memory: rebuilt from it, and thrown away at any time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from discreet.domain.domain import Domain
from discreet.errors import JournalCorrupt, Refreshed
from discreet.ledger.asker import Asker, Askers
from discreet.ledger.budget import Budget
from discreet.ledger.charge import read_charge, snapshot_in
from discreet.ledger.journal import ORIGIN, Entry, verified
from discreet.ledger.messages import overdrawn, refused
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost, Refusal, SpendMap
from discreet.ledger.spend_map import spend_map
from discreet.ledger.standing import FactNote, Standing


@dataclass(frozen=True, slots=True)
class _Span:
    """Charges under one limit, of one table: after a refresh the map is levelled first."""

    budget: Budget
    levelled: bool = False
    charges: list[tuple[Cost, str | None]] = field(default_factory=list)


class LedgerState:
    """The spend map, the limits, the facts, the standing, and the charges without an answer, up to entry `head`."""

    def __init__(self, domain: Domain, budget: Budget, header: dict[str, Any]) -> None:
        self.domain, self.own_budget, self.header = domain, budget, header
        self.budget, self.standing = budget, Standing.of(budget)
        self.map: SpendMap = spend_map(domain, budget.limit)
        self.askers = Askers(domain)
        self.notes: dict[str, Any] = {}
        self.facts: list[FactNote] = []
        self.refreshed = 0
        self.snapshot: SnapshotId | None = None
        self.pending: set[int] = set()
        self.closed: set[int] = set()
        self.charges = 0
        self.head = ORIGIN

    def spent_max(self) -> int:
        """The most units spent at any point."""
        return self.map.spent_max

    @property
    def is_overdrawn(self) -> bool:
        """Whether a fact has lowered the limit below what was spent: then nothing more is charged, anywhere."""
        return self.map.overdrawn

    def refusal(self, cost: Cost) -> Refusal | None:
        """What a charge would be refused for; None where it would fit."""
        if self.is_overdrawn:
            return Refusal(0, cost.peak, self.domain.everything.boxes[0])
        return self.map.refusal(cost)

    def require_fit(self, cost: Cost, asker: Asker | None) -> None:
        """Raise what a charge would be refused with."""
        self.askers.require(asker, cost, self.budget)
        refusal = self.refusal(cost)
        if refusal is None:
            return
        if self.is_overdrawn:
            raise overdrawn(self.budget, self.map.spent_max)
        raise refused(self.domain, self.budget, refusal)

    def require_current(self, snapshot: SnapshotId | None) -> None:
        """Raise Refreshed where the vault is over another snapshot than this."""
        if snapshot != self.snapshot:
            raise Refreshed(
                "the vault was refreshed in the meantime, and is over another table; nothing was spent: ask again"
            )

    def absorb(self, entries: Iterator[Entry]) -> None:
        """Count the entries after the last one seen. On any failure the map stays as it was."""
        spans, facts, standing = [_Span(self.budget)], list(self.facts), self.standing
        last = None
        for entry in verified(entries, self.head):
            match entry.kind:
                case "init":
                    self.header = entry.parsed()["content"]
                    self.snapshot = snapshot_in(self.header)
                    standing = standing.after("init", entry.seq, self.header)
                case "charge":
                    charge = read_charge(entry)
                    spans[-1].charges.append((charge.cost, charge.by))
                    self.pending.add(entry.seq)
                case "record" if entry.charge is not None:
                    self.pending.discard(entry.charge)
                case "close" if entry.charge is not None:
                    self.pending.discard(entry.charge)
                    self.closed.add(entry.charge)
                case "refresh":
                    spans.append(_Span(spans[-1].budget, levelled=True))
                    self.notes["refresh"], self.refreshed = entry.parsed()["content"], entry.seq
                    self.snapshot = snapshot_in(entry.parsed()["content"])
                    standing = standing.after("refresh", entry.seq, self.notes["refresh"])
                case "fact":
                    fact = FactNote(entry.seq, self.refreshed, entry.parsed()["content"])
                    standing = standing.after_fact(fact)
                    spans.append(_Span(standing.budget))
                    facts.append(fact)
                    self.notes["fact"] = fact.content
                case note:
                    self.notes[note] = entry.parsed()["content"]
                    standing = standing.after(note, entry.seq, self.notes[note])
            last = entry
        if last is None:
            return
        self._spend(spans)
        self.head, self.facts, self.standing = last.receipt, facts, standing
        self.charges += sum(len(span.charges) for span in spans)

    def _spend(self, spans: list[_Span]) -> None:
        try:
            for span in spans:
                self.budget, self.map.limit = span.budget, span.budget.limit
                if span.levelled:
                    self.map = self.levelled()
                self.map.replay([cost for cost, _ in span.charges])
        except (ValueError, OverflowError):
            raise JournalCorrupt("the journal has charges that its domain cannot have", "restore a backup") from None
        for span in spans:
            if span.levelled:
                self.askers.level()
            for cost, name in span.charges:
                self.askers.add(name, cost)

    def levelled(self) -> SpendMap:
        """A map for the next table: somebody may be at another point of it, so all points start at the most spent."""
        levelled = spend_map(self.domain, self.budget.limit)
        levelled.add(Cost(self.map.spent_max))
        return levelled
