"""What the entries of a journal add up to, in memory: rebuilt from it, and thrown away at any time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from discreet.domain.domain import Domain
from discreet.errors import BudgetExceeded, JournalCorrupt, Refreshed
from discreet.ledger import checkpoint
from discreet.ledger.asker import Asker, Askers
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge, read_charge, snapshot_in
from discreet.ledger.growth import Growth
from discreet.ledger.journal import NOTES, ORIGIN, Entry, verified
from discreet.ledger.messages import overdrawn, refused
from discreet.ledger.receipt import Receipt
from discreet.ledger.reserve import KIND as RESERVE
from discreet.ledger.reserve import Reserve, read_reserve
from discreet.ledger.snapshot import SUCCESSIONS, Era, SnapshotId
from discreet.ledger.spend import Cost, Refusal, SpendMap
from discreet.ledger.spend_map import spend_map
from discreet.ledger.standing import FactNote, Standing, is_each_period

AT_ONCE = 100_000
"""So many entries are read before they are counted: their charges are in memory."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Charges under one limit, of one table: after a refresh the map is levelled first."""

    budget: Budget
    levelled: bool = False
    charges: list[tuple[Cost, str | None]] = field(default_factory=list)
    """With what was set aside; without what was drawn on that."""


class LedgerState:
    """The spend map, the limits, the facts, the standing, and the charges without an answer, up to entry `head`."""

    def __init__(self, domain: Domain, budget: Budget, header: dict[str, Any]) -> None:
        self.domain, self.own_budget, self.header = domain, budget, header
        self.growth = Growth.of(domain, header)
        self.budget, self.standing = budget, Standing.of(budget)
        self.map: SpendMap = spend_map(domain, budget.limit)
        self.askers = Askers(domain)
        self.notes: dict[str, Any] = {}
        self.facts: list[FactNote] = []
        self.refreshed = 0
        self.snapshot: SnapshotId | None = None
        self.pending: set[int] = set()
        self.closed: set[int] = set()
        self.reserves: dict[int, Reserve] = {}
        """What was set aside for the table as it is now, by the numbers of the entries."""
        self.eras: tuple[Era, ...] = ()
        """The snapshots since the last refresh that people were taken out of, in order."""
        self.charges = 0
        self.head = ORIGIN
        self.noted: dict[str, Receipt] = {}
        """The last entry of each kind but charges and what completes them."""
        self.checkpoint, self.begun_at = ORIGIN, ORIGIN
        """The last checkpoint that was compared with the entries before it, and the one that counting began at."""
        self.untrue: list[int] = []
        """Checkpoints that state something else than the entries before them add up to: nobody goes by them."""
        self._fact_receipts: list[Receipt] = []
        self._stated_at = self._stated_size = self._size_since = 0

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

    def require_reserved(self, number: int, cost: Cost) -> None:
        """Raise what a draw on a reserve would be refused with."""
        if number not in self.reserves:
            raise BudgetExceeded(
                f"entry {number} sets nothing aside for the table as it is now: a refresh ends what was set aside "
                "before it, and so does an erasure; nothing was spent: set it aside anew"
            )
        if not self.reserves[number].has(cost, self.domain):
            raise BudgetExceeded(
                f"what entry {number} set aside was drawn already, or is for something else; nothing was spent"
            )

    def require_current(self, snapshot: SnapshotId | None) -> None:
        """Raise Refreshed where the vault is over another snapshot than this."""
        if snapshot != self.snapshot:
            raise Refreshed("the vault went over to another snapshot in the meantime; nothing was spent: ask again")

    def is_of_table(self, charge: Charge) -> bool:
        """Whether what a charge pays for can be read: its snapshot is the current one, or was only appended to."""
        return charge.snapshot == self.snapshot or (charge.snapshot is not None and charge.id > self.refreshed)

    def absorb(self, entries: Iterator[Entry]) -> None:
        """Count the entries after the last one seen. On any failure the map stays as it was at the entry `head`."""
        following = verified(entries, self.head)
        while self._absorb(following):
            pass

    def _absorb(self, entries: Iterator[Entry]) -> bool:
        """Count entries up to a checkpoint, or so many as are counted at once; whether there were any."""
        spans, facts, standing = [_Span(self.budget)], list(self.facts), self.standing
        fact_receipts, reserves, eras = list(self._fact_receipts), dict(self.reserves), self.eras
        size = charges = 0
        last = stated = None
        for entry in islice(entries, AT_ONCE):
            match entry.kind:
                case "init":
                    self.header = entry.parsed()["content"]
                    self.snapshot, self.growth = snapshot_in(self.header), Growth.of(self.domain, self.header)
                    standing = standing.after("init", entry.seq, self.header)
                case "charge":
                    charge, charges = read_charge(entry), charges + 1
                    if charge.reserve is None:
                        spans[-1].charges.append((charge.cost, charge.by))
                    else:
                        _draw(reserves, charge)
                    self.pending.add(entry.seq)
                case "record" if entry.charge is not None:
                    self.pending.discard(entry.charge)
                case "close" if entry.charge is not None:
                    self.pending.discard(entry.charge)
                    self.closed.add(entry.charge)
                case kind if kind == RESERVE:
                    reserves[entry.seq] = read_reserve(entry)
                    spans[-1].charges.append((reserves[entry.seq].cost, None))
                    self.notes[kind] = entry.parsed()["content"]
                case kind if kind in SUCCESSIONS:
                    reserves, eras = {}, self._eras_after(eras, entry)
                    if kind == "refresh":
                        spans.append(_Span(spans[-1].budget, levelled=True))
                    self.notes[kind], self.refreshed = entry.parsed()["content"], entry.seq
                    self.snapshot = snapshot_in(self.notes[kind])
                    standing = standing.after(kind, entry.seq, self.notes[kind])
                case "append":
                    # Old rows are as they were and new periods have spent nothing: the map stays as it is.
                    self.notes["append"] = entry.parsed()["content"]
                    self.snapshot = snapshot_in(self.notes["append"])
                    self.growth = self.growth.appended(entry.seq, self.notes["append"])
                case "fact":
                    fact = FactNote(entry.seq, self.refreshed, entry.parsed()["content"])
                    standing = standing.after_fact(fact)
                    spans.append(_Span(standing.budget))
                    facts.append(fact)
                    fact_receipts.append(entry.receipt)
                    self.notes["fact"] = fact.content
                case checkpoint.KIND:
                    stated = entry
                    break
                case note if note in NOTES:
                    self.notes[note] = entry.parsed()["content"]
                    standing = standing.after(note, entry.seq, self.notes[note])
                case _:
                    raise entry.unknown()
            if entry.kind != "charge" and not (entry.kind in ("record", "close") and entry.charge is not None):
                self.noted[entry.kind] = entry.receipt
            size += len(entry.body)
            last = entry
        if last is not None:
            self._spend(spans)
            self.head, self.facts, self.standing = last.receipt, facts, standing
            self._fact_receipts, self.reserves, self.eras = fact_receipts, reserves, eras
            self._size_since += size
            self.charges += charges
        if stated is not None:
            self._pass(stated)
        return last is not None or stated is not None

    def _eras_after(self, eras: tuple[Era, ...], entry: Entry) -> tuple[Era, ...]:
        """A refresh takes another table; an erasure ends a snapshot of this one."""
        if entry.kind == "refresh" or self.snapshot is None:
            return ()
        return (*eras, Era(self.refreshed, entry.seq, self.snapshot))

    # Checkpoints.

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether there are enough entries since the last checkpoint for another."""
        return self.head.seq - self._stated_at >= checkpoint.EVERY and self._size_since >= self._stated_size

    def stated(self) -> dict[str, Any]:
        """All that the entries so far add up to, as a checkpoint states it. Of entries that say more themselves, it has
        the receipts: these prove what they say."""
        standing = self.standing
        return {
            "form": checkpoint.FORM,
            "charges": self.charges,
            "pending": np.array(sorted(self.pending), np.int64),
            "closed": np.array(sorted(self.closed), np.int64),
            "noted": {kind: str(receipt) for kind, receipt in self.noted.items()},
            "facts": [
                [str(receipt), fact.table] for receipt, fact in zip(self._fact_receipts, self.facts, strict=True)
            ],
            "live": standing.live,
            "versions": standing.versions,
            "lost": sorted(standing.lost),
            "begun": sorted(standing.begun),
            "published": sorted(standing.published),
            **({} if self.domain.growing is None else {"growth": self.growth.to_json()}),
            "spent": self.map.stated(),
            "askers": self.askers.stated(),
            **self._stated_where_there_are(),
        }

    def _stated_where_there_are(self) -> dict[str, Any]:
        """Nothing of what there is none of: so it was before there were any."""
        reserves = [[number, *one.stated()] for number, one in self.reserves.items()]
        eras = [era.to_json() for era in self.eras]
        return {**({"reserves": reserves} if reserves else {}), **({"eras": eras} if eras else {})}

    def _pass(self, entry: Entry) -> None:
        """Compare a checkpoint with what the entries before it add up to, and go on from these."""
        content = entry.parsed()["content"]
        if not isinstance(content, dict) or content.get("form") == checkpoint.FORM:
            if checkpoint.says(content, self.stated()):
                self.checkpoint = entry.receipt
            else:
                self.untrue.append(entry.seq)
        self.head, self._stated_at, self._stated_size, self._size_since = entry.receipt, entry.seq, len(entry.body), 0

    def restored(self, entry: Entry, content_of: Callable[[Receipt], Any]) -> "LedgerState":
        """What a checkpoint states, of the same domain and budget. Requires one that was compared with the entries
        before it, by this user. `content_of` finds what other entries say by their receipts; it, and a checkpoint of
        another domain or form, raise ValueError, LookupError, TypeError or JournalCorrupt."""
        stated = checkpoint.unpacked(entry.parsed()["content"])
        if stated["form"] != checkpoint.FORM:
            raise ValueError("a checkpoint of another form")
        noted = {kind: Receipt.parse(receipt) for kind, receipt in stated["noted"].items()}
        state = LedgerState(self.domain, self.own_budget, content_of(noted["init"]))
        state.notes = {kind: content_of(receipt) for kind, receipt in noted.items() if kind != "init"}
        state.noted, state.snapshot = noted, snapshot_in(state.header)
        for kind in SUCCESSIONS:
            if kind in noted and noted[kind].seq > state.refreshed:
                state.refreshed, state.snapshot = noted[kind].seq, snapshot_in(state.notes[kind])
        state.standing = state.standing.after("init", noted["init"].seq, state.header)
        if "append" in noted and noted["append"].seq > state.refreshed:
            state.snapshot = snapshot_in(state.notes["append"])
        if self.domain.growing is not None:
            state.growth = state.growth.restored(stated["growth"])
        state._state_facts([(Receipt.parse(receipt), table) for receipt, table in stated["facts"]], content_of)
        state.standing = replace(
            state.standing,
            live=stated["live"],
            each_period=is_each_period(state.header),
            versions=stated["versions"],
            lost=frozenset(stated["lost"]),
            begun=frozenset(stated["begun"]),
            published=frozenset(stated["published"]),
        )
        state.map.restore(stated["spent"])
        state.askers.restore(stated["askers"])
        state.reserves = {number: Reserve.restored(*rest) for number, *rest in stated.get("reserves", ())}
        state.eras = tuple(Era.stated(*era) for era in stated.get("eras", ()))
        state.charges = stated["charges"]
        state.pending, state.closed = set(stated["pending"].tolist()), set(stated["closed"].tolist())
        state.head = state.checkpoint = state.begun_at = entry.receipt
        state._stated_at, state._stated_size = entry.seq, len(entry.body)
        return state

    def _state_facts(self, facts: list[tuple[Receipt, int]], content_of: Callable[[Receipt], Any]) -> None:
        for receipt, table in facts:
            fact = FactNote(receipt.seq, table, content_of(receipt))
            self.facts.append(fact)
            self._fact_receipts.append(receipt)
            self.standing = self.standing.after_fact(fact)
        self.budget, self.map.limit = self.standing.budget, self.standing.budget.limit

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


def _draw(reserves: dict[int, Reserve], charge: Charge) -> None:
    """Count a draw. One on what is not there was never written by a ledger."""
    if charge.reserve not in reserves:
        raise JournalCorrupt(f"charge {charge.id} draws on what was not set aside", "restore it from a backup")
    reserves[charge.reserve] = reserves[charge.reserve].after(charge.cost)
