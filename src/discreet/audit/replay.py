"""The journal, read once more by a reader of its own: small, slow and obvious.

It follows docs/reference/journal-format.md and shares no arithmetic with the ledger: the chain is hashed again, each
charge priced again from its plan, each answer looked at for what it must be. What the entries say is gathered here;
what they add up to is found by `spending.py`. It reads no rows, and changes nothing.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from discreet.audit.bodies import Bodies
from discreet.audit.checkpoints import UNTRUE, differing
from discreet.audit.depth import Field, deepest, load_of
from discreet.audit.discovered import unpaid
from discreet.audit.finding import Check, Findings, counted
from discreet.audit.load import NOTHING, Depth, Load, Sides
from discreet.audit.price import Mispriced, expected_answers, mispriced, read_cost, read_plan
from discreet.audit.several import AuditedTable, audited_tables, found_in, unjoint
from discreet.audit.terms import MOST_UNITS, Terms, Unreadable, read_terms, unkept
from discreet.domain.domain import Domain
from discreet.domain.read_tables import parse_tables
from discreet.errors import DiscreetError, JournalError
from discreet.ledger.journal import Entry, Journal

RESTORE = "restore the journal from a backup that is not older than the last receipt, and find out who wrote to it"
spelt = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""JSON as Discreet writes it."""
UNPAID = "count it besides what is spent: answer nothing more, and find out which version wrote it"
NOTES = ("round", "cube", "model", "rows", "statistics", "rollback-accepted", "lookups")
STATES = ("begun", "published")
"""Of publications of rows that were not withdrawn."""


@dataclass(frozen=True)
class Charged:
    """A charge: when, for whom, and what it cost: everywhere, and by region. A reserve is charged and answers nothing;
    a draw is answered, and a reserve has paid for it."""

    seq: int
    at: str
    by: str | None
    everywhere: int
    load: Load
    kind: Literal["charge", "reserve", "draw"] = "charge"
    table: str | None = None
    """Which of several tables it is of."""

    @property
    def peak(self) -> int:
        """The most of it at any one point."""
        return self.everywhere + self.load.peak


@dataclass(frozen=True)
class Lowered:
    """A fact: from this entry on, other terms hold."""

    seq: int
    at: str
    terms: Terms


@dataclass(frozen=True)
class TableRefresh:
    """Another table: from this entry on, every point counts as spent what the most spent one was."""

    seq: int
    at: str


Event = Charged | Lowered | TableRefresh
Named = tuple[int, str]
"""A snapshot by its number and digest."""


@dataclass
class Rounds:
    """A run of rounds so far: the digests of what its last notes said that it would measure, and its charges."""

    table: str | None
    """Which of several tables it is of."""
    noted: set[str] = field(default_factory=set)
    charges: list[int] = field(default_factory=list)


@dataclass
class Replay:
    """What the journal says, entry by entry, and what is wrong with it."""

    bodies: Bodies
    header: dict[str, Any] = field(default_factory=dict)
    domain: Domain | None = None
    """What the spend map is over."""
    tables: dict[str, AuditedTable] = field(default_factory=dict)
    """Where there are several: then the map is over a person's points."""
    so_far: Domain | None = None
    """Of a table that grows, what may be asked about by now: the periods that are closed."""
    own_terms: Terms | None = None
    terms: Terms | None = None
    events: list[Event] = field(default_factory=list)
    facts: list[tuple[int, int, Any]] = field(default_factory=list)
    """Each fact with its number, that of the entry that accepted the table it is about, and its content."""
    buckets: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    """Publications of rows by the number of the entry that began them: "begun", "published" or "withdrawn"."""
    rollbacks: list[int] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    """The last receipts that anybody saw of the branches that were given up in rollbacks."""
    live: bool = False
    """Whether the rows of any version stayed in their engine."""
    kinds: Counter[str] = field(default_factory=Counter)
    waiting: dict[int, Any] = field(default_factory=dict)
    """Charges without an answer so far, with what the answer must look like."""
    records: dict[int, int] = field(default_factory=dict)
    """The number of the record of each answered charge."""
    closed: dict[int, int] = field(default_factory=dict)
    """The number of the entry that closed each charge which will never be answered."""
    checkpoints: list[int] = field(default_factory=list)
    unlike: Findings = field(default_factory=Findings)
    """Checkpoints that state other numbers than were counted here."""
    runs: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    """Of each charge that is a step of a run of rounds: the run's charges before it; one list for each run it is of."""
    hashes: dict[int, bytes] = field(default_factory=dict)
    """The hash of every entry, by its number."""
    last: int = 0
    """The number of the last entry."""
    first_at: str = ""
    last_at: str = ""
    _reserves: dict[int, Counter[Sides]] = field(default_factory=dict)
    """What was drawn on each reserve of the table as it is now, less what was set aside, by region."""
    _rounds: dict[int, Rounds] = field(default_factory=dict)
    """Runs of rounds, by the number of the entry that has their plan."""
    _people: int | None = None
    """How many are on the roster, where there is one."""
    _refreshed: int = 0
    _backwards: int = 0
    _closed: str = ""
    """The last closed period, where tables grow."""
    _snapshot: Named | None = None
    """What the vault is over, so far: none where it was made by a version that took no snapshots."""
    _paid_for: dict[int, Named | None] = field(default_factory=dict)
    """The snapshot that each charge names."""
    _chain: Findings = field(default_factory=Findings)
    _header: Findings = field(default_factory=Findings)
    _costs: Findings = field(default_factory=Findings)
    _snapshots: Findings = field(default_factory=Findings)

    @property
    def charges(self) -> list[Charged]:
        return [event for event in self.events if isinstance(event, Charged) and event.kind != "reserve"]

    @property
    def names(self) -> tuple[str, ...]:
        """What its tables are called."""
        return tuple(self.tables) or (() if self.domain is None else (self.domain.name,))

    @property
    def follows(self) -> bool:
        """Whether every entry follows the one before it."""
        return not self._chain

    @property
    def head(self) -> str:
        """The receipt of the last entry."""
        return f"{self.last}:{self.hashes[self.last].hex()}" if self.hashes else ""

    def spent_by(self, claimed: Mapping[str, int]) -> dict[str, Depth]:
        """The most units that each user's charges spent at any point. With another table everybody may be at another
        point: what was spent on each is added up. `claimed` is what the vault says of each."""
        spent: dict[str, Depth] = {}
        charged: dict[str, list[Charged]] = {}
        for event in (*self.events, TableRefresh(0, "")):
            if isinstance(event, Charged) and event.by is not None:
                charged.setdefault(event.by, []).append(event)
            elif isinstance(event, TableRefresh):
                for name, charges in charged.items():
                    before = spent.get(name, NOTHING)
                    spent[name] = self._most(charges, before, claimed.get(name, 0), len(charged))
                charged = {}
        return dict(sorted(spent.items()))

    def _most(self, charges: list[Charged], before: Depth, claimed: int, users: int) -> Depth:
        shape = () if self.domain is None else self.domain.shape
        everywhere = sum(charge.everywhere for charge in charges)
        least, most = before.least + everywhere, before.most + everywhere
        found = deepest([charge.load for charge in charges], shape, max(claimed - most, 0), users)
        return Depth(least + found.least, most + found.most)

    def take(self, entry: Entry) -> None:
        """Look at the next entry."""
        body = self._linked(entry)
        if body is None:
            return
        self.kinds[entry.kind] += 1
        at = str(body["at"])
        self._backwards += at < self.last_at
        self.first_at, self.last_at = self.first_at or at, at
        if entry.kind == "init":
            self._begin(entry, body["content"])
        elif self.domain is None or self.so_far is None or self.terms is None:
            return
        elif entry.kind == "charge":
            self._charge(entry, body, self.so_far, self.domain, self.terms)
        elif entry.kind == "reserve":
            self._pay(entry.seq, body)
            reserve = self._costing(entry.seq, body, self.domain, "reserve")
            if reserve is not None:
                self._reserves[entry.seq] = Counter()
                self._reserves[entry.seq].subtract(_by_region(reserve))
        elif entry.kind == "record":
            self._record(entry, body["content"])
        elif entry.kind == "close":
            self._close(entry)
        else:
            self._note(entry, at, body, self.terms)

    def _linked(self, entry: Entry) -> dict[str, Any] | None:
        """Hash an entry to the one before, and read its body."""
        number, before = self.last + 1, self.hashes.get(self.last, bytes(32))
        charge = "" if entry.charge is None else entry.charge
        line = f"{entry.seq}\n{entry.kind}\n{charge}\n{entry.body}"
        digest = hashlib.sha256(before + line.encode()).digest()
        if entry.seq != number or entry.hash != digest:
            missing = f"; {counted(entry.seq - number, 'entry', 'entries')} before it missing" * (entry.seq > number)
            self._chain.failed(f"entry {entry.seq} does not follow the one before it{missing}", RESTORE, entry.seq)
        # What comes after a break is looked at as if nothing had happened before.
        self.hashes[entry.seq], self.last = entry.hash, entry.seq
        try:
            body = json.loads(entry.body)
            if body["v"] != 1 or "content" not in body or datetime.fromisoformat(body["at"]).tzinfo is None:
                raise ValueError
        except (ValueError, TypeError, LookupError):
            self._chain.failed(f"entry {entry.seq} cannot be read", RESTORE, entry.seq)
            return None
        if spelt(body) != entry.body:
            self._chain.failed(f"entry {entry.seq} is not spelt as Discreet writes", RESTORE, entry.seq)
        return dict(body)

    def _begin(self, entry: Entry, header: Any) -> None:
        if entry.seq != 1 or self.header:
            self._header.failed(f"entry {entry.seq} makes the vault a second time", RESTORE, entry.seq)
            return
        try:
            self.header = dict(header)
            tables = parse_tables(str(self.header["domain"]))
            self.domain = tables.tables[0].domain
            found: Mapping[str, Sequence[str]] = self.domain.found
            if len(tables) > 1:
                self.domain, self.tables = audited_tables(tables)
                found = found_in(tables)
            roster = self.header.get("roster")
            self._people = None if roster is None else len(range(roster["people"]))
            self.terms = self.own_terms = read_terms(self.header["budget"])
            self.live = bool(self.header.get("live"))
            self.so_far = self._until(self.header, self.domain)
        except (LookupError, TypeError, ValueError, DiscreetError, Unreadable):
            self._header.failed("the first entry does not say what the vault promises, and over what", RESTORE, 1)
            return
        rows = self.domain.max_rows if self.tables else None
        problem = (
            unkept(self.header, self.terms, self.domain.points, rows)
            or unpaid(self.header, self.terms, found)
            or (unjoint(self.header, self.terms, self.tables) if self.tables else "")
        )
        if problem:
            self._header.failed(problem, "answer nothing more; tell whoever holds releases what they really promise", 1)
        self._go_over(entry.seq, self.header)

    def _until(self, content: Any, domain: Domain) -> Domain:
        """The domain up to the last closed period. Raises where a table that grows does not say which, or goes back."""
        if domain.growing is None:
            return domain
        closed = str(content["closed"])
        until = domain.until(closed)
        if self.so_far is not None and until.points <= self.so_far.points:
            raise ValueError("no later period is closed")
        self._closed = closed
        return until

    def _append(self, seq: int, content: Any) -> None:
        """Rows of later periods came in. Nothing is levelled: what was charged before was of none of them."""
        self._go_over(seq, content)
        try:
            if self.domain is None or self.domain.growing is None:
                raise ValueError("this table does not grow")
            self.so_far = self._until(content, self.domain)
        except (LookupError, TypeError, ValueError, DiscreetError):
            what = f"entry {seq} appends rows of no later period, or to a table that does not grow"
            self._snapshots.failed(what, RESTORE, seq)

    def _go_over(self, seq: int, content: Any) -> None:
        """From this entry on the vault is over another snapshot: the one after the last, or the first. A version that
        took none named none."""
        before, self._snapshot = self._snapshot, _named(content)
        if self._snapshot is None:
            if before is not None or (isinstance(content, dict) and "snapshot" in content):
                self._snapshots.failed(f"entry {seq} does not say which snapshot the vault is over", RESTORE, seq)
            return
        expected = 1 if before is None else before[0] + 1
        if self._snapshot[0] != expected:
            what = f"entry {seq} is of snapshot {self._snapshot[0]}, and the next one was {expected}"
            self._snapshots.failed(what, RESTORE, seq)

    def _charge(self, entry: Entry, body: dict[str, Any], domain: Domain, horizon: Domain, terms: Terms) -> None:
        """A charge is of what could be asked about, and counts on the map of all that can come."""
        self.waiting[entry.seq] = None
        self._pay(entry.seq, body)
        self._step(entry.seq, body)
        charged = self._costing(entry.seq, body, horizon, "draw" if "from" in body else "charge")
        if charged is None:
            return
        if charged.kind == "draw":
            self._draw(charged, body["from"])
        try:
            cost = read_cost(body["cost"], horizon if self.tables else domain)
            if self.tables:
                table = self.tables.get(body.get("table", ""))
                if table is None:
                    raise Unreadable("it does not say which table it is for")
                cost, terms = table.own(cost, horizon), table.terms(terms)
                domain = table.domain if table.domain.growing is None else table.domain.until(self._closed)
            plan = read_plan(body["content"], domain)
            self.waiting[entry.seq] = list(expected_answers(plan, domain, self._people))
            problem = mispriced(plan, cost, domain, terms)
        except Unreadable as unreadable:
            problem = Mispriced(str(unreadable))
        if problem is None:
            return
        if problem.overpaid:
            self._costs.warning(
                f"charge {entry.seq}: {problem.what}", "it harms nobody; find out which version wrote it", entry.seq
            )
        else:
            self._costs.failed(
                f"charge {entry.seq}: {problem.what}",
                f"somebody rewrote the journal, or a version of Discreet was wrong: answer nothing more, and {RESTORE}",
                entry.seq,
            )

    def _costing(
        self, seq: int, body: dict[str, Any], domain: Domain, kind: Literal["charge", "reserve", "draw"]
    ) -> Charged | None:
        """Count what an entry costs; None where that cannot be read."""
        try:
            cost = read_cost(body.get("cost"), domain)
            if cost.everywhere + sum(units for _, _, units in cost.pieces) > MOST_UNITS:
                raise Unreadable("it costs more than any limit allows")
        except Unreadable as unreadable:
            self._costs.failed(f"{'reserve' if kind == 'reserve' else 'charge'} {seq}: {unreadable}", RESTORE, seq)
            return None
        load = load_of(cost.pieces, domain.shape)
        at, by, table = str(body["at"]), body.get("by"), body.get("table")
        charged = Charged(seq, at, by, cost.everywhere, load, kind, table)
        self.events.append(charged)
        return charged

    def _draw(self, draw: Charged, number: Any) -> None:
        """A draw is one on a reserve of the table as it is now, which has as much left at every point."""
        drawn = self._reserves.get(number) if type(number) is int else None
        if drawn is None:
            self._costs.failed(f"charge {draw.seq} draws on what was not set aside", UNPAID, draw.seq)
            return
        drawn.update(_by_region(draw))
        assert self.domain is not None, "the header was read"
        if is_above_zero(drawn, self.domain.shape):
            self._costs.failed(f"charge {draw.seq} draws more than was left of entry {number}", UNPAID, draw.seq)

    def _step(self, seq: int, body: dict[str, Any]) -> None:
        """A charge for what the last notes of a run said that it would measure, of its table, is the run's next."""
        digest = hashlib.sha256(spelt({"content": body["content"]}).encode()).hexdigest() if self._rounds else ""
        for run in self._rounds.values():
            if digest in run.noted and run.table == body.get("table"):
                self.runs.setdefault(seq, []).append(tuple(run.charges))
                run.charges.append(seq)
                run.noted.clear()

    def _pay(self, seq: int, body: dict[str, Any]) -> None:
        """A charge pays for the snapshot that the vault is over when it is made, and for no other."""
        named = self._paid_for[seq] = _named(body)
        if named != self._snapshot or (named is None and "snapshot" in body):
            self._snapshots.failed(
                f"charge {seq} pays for {_called(named)}, and the vault was over {_called(self._snapshot)}",
                "what it answered was not counted where the rows were: count it for everybody besides what is spent, "
                "and find out which version wrote it",
                seq,
            )

    def _close(self, entry: Entry) -> None:
        """A charge is closed where it was not answered, and cannot be: the vault is over another snapshot by then."""
        charge = entry.charge
        if charge is None or charge not in self.waiting:
            self._chain.failed(
                f"entry {entry.seq} closes charge {charge}, which {self._settled(charge)}", RESTORE, entry.seq
            )
            return
        if self._snapshot is not None and charge > self._refreshed:
            what = f"entry {entry.seq} closes charge {charge}, whose snapshot the vault was still over"
            self._snapshots.failed(what, RESTORE, entry.seq)
        del self.waiting[charge]
        self.closed[charge] = entry.seq

    def _settled(self, charge: int | None) -> str:
        """Why nothing can become of a charge any more."""
        if charge in self.records:
            return "has its answer already"
        return "was closed without one" if charge in self.closed else "is not there"

    def _record(self, entry: Entry, content: Any) -> None:
        charge = entry.charge
        if charge is None or charge not in self.waiting:
            self._chain.failed(
                f"entry {entry.seq} answers charge {charge}, which {self._settled(charge)}", RESTORE, entry.seq
            )
            return
        self.records[charge] = entry.seq
        self.bodies.look(entry.seq, charge, content, self.waiting.pop(charge))

    def _note(self, entry: Entry, at: str, body: dict[str, Any], terms: Terms) -> None:
        content = body["content"]
        match entry.kind:
            case "refresh":
                self._reserves.clear()
                self.events.append(TableRefresh(entry.seq, at))
                self._refreshed = entry.seq
                self._go_over(entry.seq, content)
                self.live |= isinstance(content, dict) and bool(content.get("live"))
            case "append":
                self._append(entry.seq, content)
            case "erase":  # nobody else's rows moved: what was spent stays where it was
                self._reserves.clear()
                self._refreshed = entry.seq
                self._go_over(entry.seq, content)
            case "fact":
                if not _is_fact(content):
                    self._chain.failed(f"entry {entry.seq} is no fact", RESTORE, entry.seq)
                    return
                self.terms = terms.under(*content["induced"])
                self.facts.append((entry.seq, self._refreshed, content))
                self.events.append(Lowered(entry.seq, at, self.terms))
            case "buckets":
                self._publication(entry, content)
            case "rollback-accepted":
                self._rollback(entry, content)
            case "checkpoint":
                self._checkpoint(entry.seq, content)
            case "round":
                if not isinstance(content, dict) or type(content.get("run")) is not int:
                    self._chain.failed(f"entry {entry.seq} is no step of a run", RESTORE, entry.seq)
                    return
                run = self._rounds.setdefault(content["run"], Rounds(body.get("table")))
                run.noted.add(str(content.get("plan")))
            case kind if kind not in NOTES:
                self._chain.failed(
                    f"entry {entry.seq} is of a kind that this version does not know ({kind!r})",
                    "audit it with the version that wrote it: what was spent cannot be told without it",
                    entry.seq,
                )

    def _rollback(self, entry: Entry, content: Any) -> None:
        """An older journal was put back: `seen` is the last receipt of what was lost, `also` those of what was lost in
        there."""
        also = content.get("also", []) if isinstance(content, dict) else None
        if not isinstance(also, list) or not isinstance(content.get("seen"), str):
            self._chain.failed(f"entry {entry.seq} does not say what was lost", RESTORE, entry.seq)
            return
        self.rollbacks.append(entry.seq)
        self.lost |= {content["seen"], *map(str, also)}

    def _checkpoint(self, seq: int, content: Any) -> None:
        """What a checkpoint states, beside what the entries before it say."""
        states = {state: sorted(began for began, now in self.rows.items() if now == state) for state in STATES}
        own = {
            "charges": self.kinds["charge"],
            "pending": sorted(self.waiting),
            "closed": sorted(self.closed),
            "facts": [[f"{number}:{self.hashes[number].hex()}", table] for number, table, _ in self.facts],
            "versions": 1 + self.kinds["refresh"],
            "live": self.live,
            "lost": sorted(self.lost),
            **states,
        }
        self.checkpoints.append(seq)
        other = differing(content, own)
        if other:
            what = f"entry {seq} is a checkpoint, and the entries before it say otherwise: {', '.join(other)}"
            self.unlike.failed(what, UNTRUE, seq)

    def _publication(self, entry: Entry, content: Any) -> None:
        """Rows in buckets: begun, and then either published or withdrawn, once. What is out cannot be taken back."""
        if not _is_publication(content):
            self._chain.failed(f"entry {entry.seq} is no publication", RESTORE, entry.seq)
        elif content["state"] == "begun":
            self.rows[entry.seq] = "begun"
            self.buckets.append((entry.seq, content))
        elif self.rows.get(content["begun"]) == "begun":
            self.rows[content["begun"]] = content["state"]
            self.buckets.append((entry.seq, content))
        else:
            self._chain.failed(
                f"entry {entry.seq} says that rows were {content['state']} whose publication was not under way",
                RESTORE,
                entry.seq,
            )

    def look_up(self, journal: Journal) -> None:
        """Whether the journal also finds each answer by its charge, as a vault does: by an index, and an index can be
        damaged while all entries are whole."""
        for charge, record in self.records.items():
            try:
                found = journal.record_of(charge)
            except JournalError as error:
                self._chain.failed(str(error), RESTORE, record)
                return
            if found is None or found.seq != record:
                what = f"entry {record} has the answer of charge {charge}, and the journal does not find it by that"
                self._chain.failed(what, RESTORE, record)

    def checks(self) -> tuple[Check, Check, Check, Check]:
        """The chain, the header, the costs, and the snapshots."""
        if not self.header and not self._header:
            self._header.failed("the journal has no first entry", RESTORE)
        clock = f"; the clock went back {counted(self._backwards, 'time')}" if self._backwards else ""
        entries, charges = counted(len(self.hashes), "entry", "entries"), counted(len(self.charges), "charge")
        return (
            self._chain.check("chain", "The journal is whole", f"{entries}, hashed again{clock}"),
            self._header.check("header", "Its first entry is sound", "budget and domain"),
            self._costs.check("costs", "Charges cost what plans need", f"{charges}, priced again"),
            self._snapshots.check("snapshots", "Charges name their snapshot", self._said_of_snapshots()),
        )

    def _said_of_snapshots(self) -> str:
        number = 0 if self._snapshot is None else self._snapshot[0]
        said = counted(number, "snapshot") if number else "none was taken yet"
        return said + (f"; {counted(len(self.closed), 'charge')} closed unanswered" if self.closed else "")


def _by_region(charged: Charged) -> dict[Sides, int]:
    """The units of a charge by where they are; no sides are everywhere."""
    units = dict(zip(charged.load.boxes, charged.load.units, strict=True))
    return {**units, (): units.get((), 0) + charged.everywhere}


def is_above_zero(units: Mapping[Sides, int], shape: Sequence[int]) -> bool:
    """Whether units of both signs add up to more than 0 at any point."""
    loads = [Load((sides,), (own,)) for sides, own in units.items() if own]
    field = Field(shape, loads)
    field.add(loads)
    return field.most > 0


def _named(content: Any) -> Named | None:
    """The snapshot that a header, a charge, or an entry that goes over to one names; None where it names none, or none
    that makes sense."""
    named = content.get("snapshot") if isinstance(content, dict) else None
    number, digest = (named.get("number"), named.get("digest")) if isinstance(named, dict) else (None, None)
    return (number, digest) if type(number) is int and number >= 1 and isinstance(digest, str) else None


def _called(snapshot: Named | None) -> str:
    return "no snapshot" if snapshot is None else f"snapshot {snapshot[0]}"


def _is_fact(content: Any) -> bool:
    induced = content.get("induced") if isinstance(content, dict) else None
    return isinstance(induced, list) and len(induced) == 2 and all(type(number) is int for number in induced)


def _is_publication(content: Any) -> bool:
    if not isinstance(content, dict) or content.get("state") not in ("begun", "published", "withdrawn"):
        return False
    return content["state"] == "begun" or type(content.get("begun")) is int


def replay(entries: Iterable[Entry], bodies: Bodies, told: Callable[[int], None] = lambda _: None) -> Replay:
    """Read all entries, in order. `told` hears how many there were so far."""
    read = Replay(bodies)
    for entry in entries:
        read.take(entry)
        if not entry.seq % 256:
            told(entry.seq)
    return read
