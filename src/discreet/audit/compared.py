"""The audit's own account beside the vault's: the spend map, the facts' limits, and what each release promises."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.depth import Field, units_at
from discreet.audit.finding import Check, Findings, counted, skipped
from discreet.audit.load import Depth
from discreet.audit.price import read_box
from discreet.audit.promised import bound_of, understated
from discreet.audit.replay import RESTORE, Replay
from discreet.audit.several import JOINT
from discreet.audit.spending import Spending
from discreet.audit.terms import MOST_UNITS, Terms, Unreadable
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import DiscreetError, InvalidFact, JournalError
from discreet.exact import equals_text
from discreet.facts.account import rows_are_dropped
from discreet.facts.facts import CuboidFact, Fact, fact_from_json
from discreet.facts.generic import FactsOfTable, induced_by, induced_together
from discreet.ledger.budget import Induced
from discreet.ledger.budget_choice import budget_from_json
from discreet.ledger.grid import MAX_POINTS
from discreet.ledger.journal import Entry, Journal
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.release.archive import Archive

NOT_PRIVATE = "not differential privacy"
SPOTS = 200
"""About so many points of a large domain are looked at."""
POINT_BY_POINT = 1 << 22
"""Maps of at most so many points are compared point by point; larger ones by each attribute."""
WRONG_MAP = "the vault would decide wrongly what may be spent: serve it no longer, and report this as a security issue"


@dataclass(frozen=True)
class AsOf:
    """A journal as it was when it had so many entries: what others append meanwhile is not seen, nothing is written."""

    journal: Journal
    last: int

    def entries(self, after: int = 0) -> Iterator[Entry]:
        for entry in self.journal.entries(after):
            if entry.seq > self.last:
                return
            yield entry

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        return self.entries(receipt.seq) if self.receipt_at(receipt.seq) == receipt else None

    def entry(self, seq: int) -> Entry | None:
        return self.journal.entry(seq) if seq <= self.last else None

    def record_of(self, charge: int) -> Entry | None:
        found = self.journal.record_of(charge)
        return None if found is None or found.seq > self.last else found

    def receipt_at(self, seq: int) -> Receipt | None:
        return self.journal.receipt_at(seq) if seq <= self.last else None

    def turn(self) -> AbstractContextManager[None]:
        raise JournalError("an audit writes nothing")

    def append(self, entry: Entry) -> None:
        raise JournalError(f"an audit writes nothing, and no entry {entry.seq}")

    def close(self) -> None:
        """The journal is closed by whoever opened it."""

    def after_fork(self) -> None:
        self.journal.after_fork()


def ledger_of(journal: Journal, read: Replay) -> Ledger | None:
    """The vault's own account of the same entries; None where it refuses them, as it does where they do not follow
    each other. No receipt is kept."""
    if read.domain is None:
        return None
    try:
        account = Ledger(AsOf(journal, read.last), read.domain, budget_from_json(read.header["budget"]))
        account.spent_max  # noqa: B018 -- its map is made when somebody asks
        return account
    except (DiscreetError, LookupError, TypeError, ValueError, ArithmeticError):
        return None


def check_map(ledger: Ledger | None, spending: Spending, read: Replay, by_user: Mapping[str, Depth]) -> Check:
    """The vault's spend map says what the audit's says; the histogram of a large domain never says less."""
    found = Findings()
    title = "The vault's own account agrees"
    if ledger is None and not read.follows:
        return skipped("map", title)
    if ledger is None or ledger.spent_max > MOST_UNITS:
        found.failed("the vault cannot make an account of a journal whose entries follow each other", WRONG_MAP)
        return found.check("map", title, "not compared")
    if spending.domain.points <= MAX_POINTS and spending.grid is not None:
        how, same = _compared(ledger, spending, spending.grid)
    else:
        how, same = _bounded(ledger, spending, found)
    if not same:
        found.failed("the spend map that the vault decides by is not what its charges add up to", WRONG_MAP)
    if sorted(charge.id for charge in ledger.pending()) != sorted(read.waiting):
        found.failed("the vault takes other charges for unanswered than the journal has", WRONG_MAP)
    if not _counts_users(ledger.spent_by(), read, by_user):
        found.failed("the vault counts other amounts for its users than the journal has", WRONG_MAP)
    return found.check("map", title, how)


def _counts_users(kept: Mapping[str, int], read: Replay, by_user: Mapping[str, Depth]) -> bool:
    """Whether every user has spent what the vault counts, or less: it counts who asked about very much coarsely, and at
    most as if all their questions were about the same people."""
    added: dict[str, int] = {}
    for charge in read.charges:
        if charge.by is not None:
            added[charge.by] = added.get(charge.by, 0) + charge.peak
    return kept.keys() == added.keys() and all(by_user[name].least <= kept[name] <= added[name] for name in kept)


def _compared(ledger: Ledger, spending: Spending, grid: Field) -> tuple[str, bool]:
    """What is compared of two maps that are both exact, and whether it is the same."""
    limit, going_on, shape = spending.terms.limit, not spending.overdrawn, spending.domain.shape
    same, level = ledger.spent_max == spending.most, spending.level.most
    if spending.domain.points <= POINT_BY_POINT:
        left = np.maximum(limit - level - grid.dense(), 0) * going_on
        same &= np.array_equal(ledger.left_by(range(len(shape))), left)
        return f"{counted(spending.domain.points, 'point')}, one by one", same
    same &= all(
        np.array_equal(ledger.left_by([axis]), np.maximum(limit - level - grid.by_axis(axis), 0) * going_on)
        for axis in range(len(shape))
    )
    return f"the most at each code of {counted(len(shape), 'attribute')}", same


def _bounded(ledger: Ledger, spending: Spending, found: Findings) -> tuple[str, bool]:
    """Whether the vault's histogram, which may count too much, counts enough. Where the audit's own bound is coarser
    than the vault's, it cannot tell, and says so."""
    terms, claimed = spending.terms, ledger.spent_max
    least, most, kept = (f"{float(terms.amount(units)):.6g}" for units in (spending.least, spending.most, claimed))
    own = most if spending.exact else f"between {least} and {most}"
    looked, enough = _spot_checked(ledger, spending)
    if spending.least <= claimed < spending.most:
        found.warning(
            f"the vault counts {terms.symbol} = {kept} at most at any point, and the audit's own bound is coarser: "
            f"{most}. Some point has {least}",
            "the vault decides by its own bound, which was looked at in some points only; nothing speaks against it",
        )
    how = (
        f"where most was spent: {terms.symbol} = {own} by the audit, {kept} at most by the vault, which keeps an upper "
        f"bound for so large a domain; {counted(looked, 'point')} looked at"
    )
    return how, enough and spending.least <= claimed


def _spot_checked(ledger: Ledger, spending: Spending) -> tuple[int, bool]:
    """How many points were looked at, a corner of a charge each, and whether the vault counts enough in all of them."""
    every = max(1, len(spending.loads) // SPOTS)
    points = np.zeros((len(spending.loads[::every]), len(spending.domain.shape)), np.int64)
    for point, load in zip(points, spending.loads[::every], strict=True):
        for axis, low, _ in load.boxes[0]:
            point[axis] = low
    spent = spending.level.least + units_at(points, spending.loads)
    left = [ledger.left(Region((Box(codes, codes),))) for codes in map(tuple, points.tolist())]
    limit = spending.terms.limit
    return len(left), all(there <= max(limit - at, 0) for there, at in zip(left, spent.tolist(), strict=True))


def check_guarantees(ledger: Ledger | None, spending: Spending, read: Replay) -> Check:
    """What the vault says that a release promises is what it cost one person; and so it is with the vault itself."""
    found, terms, title = Findings(), spending.terms, "Releases state what they spent"
    if ledger is None:
        return skipped("guarantees", title)
    answered = [charge for charge in read.charges if charge.seq in read.records]
    for charge in answered:
        stated, holds = ledger.promise(charge.peak), terms.amount(charge.peak)
        if stated.amount < holds or stated.neighbours != terms.neighbours or stated.max_rows != terms.max_rows:
            found.failed(f"release {charge.seq} states less than it spent", WRONG_MAP, charge.seq)
    stated_whole = ledger.guarantee
    for what in understated(stated_whole.to_json(), read, spending):
        found.failed(what, WRONG_MAP)
    for unsaid in _unsaid(stated_whole.remarks, read):
        found.failed(unsaid, RESTORE)
    bound = f"{terms.symbol} {equals_text(bound_of(read, spending))}"
    detail = f"{counted(len(answered), 'release')}; all ever released: {bound}"
    return found.check("guarantees", title, detail)


def _unsaid(remarks: Sequence[str], read: Replay) -> Iterator[str]:
    """What every guarantee of this vault has to say, and does not."""
    if {"begun", "published"} & set(read.rows.values()) and not any(NOT_PRIVATE in remark for remark in remarks):
        yield "rows were published in buckets, and the vault's guarantees do not say so"
    people = 0 if read.terms is None else read.terms.people
    said = [int(number) for remark in remarks for number in re.findall(r"S_Q = (\d{1,9}):", remark)]
    if read.facts and max(said, default=-1) < people:
        yield f"facts are public under which {people} people can change together, and guarantees do not say so"
    if read.lost and not any("an older journal was accepted" in remark for remark in remarks):
        yield "an older journal was accepted, and guarantees do not say so"
    if read.tables and not any(JOINT in remark for remark in remarks):
        yield "there are several tables, and guarantees do not say that they have one budget together"
    if read.live and not any("the table is live" in remark for remark in remarks):
        yield "the table stayed in its engine, and guarantees do not say so"


def check_facts(ledger: Ledger | None, read: Replay, folder: Archive) -> Check:
    """Every fact lowered the limit as far as all facts until then need it. S_Q is computed as `fact add` does it."""
    found, facts, title = Findings(), list[tuple[str | None, Fact]](), "Facts lower the limit far enough"
    if ledger is None or read.own_terms is None:
        return skipped("facts", title)
    told = "whoever knows them can tell more than is promised: answer nothing more, and add them to a new vault"
    induced = Induced()
    for number, table, content in read.facts:
        about = content.get("table")
        try:
            facts.append((about, _fact(content["fact"], number, table, _domain_of(about, read), folder)))
        except (DiscreetError, Unreadable, LookupError, TypeError, ValueError, ArithmeticError):
            found.failed(f"the fact of entry {number} cannot be read, or its file is gone", RESTORE, number)
            continue
        try:
            induced = _induced(facts, read, read.own_terms, rows_are_dropped(ledger)).or_more(induced)
        except InvalidFact:
            found.warning(f"what the fact of entry {number} does is not known", "report this as a bug", number)
            continue
        people, squares = content["induced"]
        if people < induced.people or squares < induced.squares:
            found.failed(
                f"the fact of entry {number} lowered the limit for {people} people at once, and {induced.people} can "
                "change together",
                told,
                number,
            )
    detail = counted(len(read.facts), "fact") if read.facts else "there are none"
    return found.check("facts", title, detail)


def _induced(facts: Sequence[tuple[str | None, Fact]], read: Replay, terms: Terms, dropped: bool) -> Induced:
    """What facts need, each with the table that it is about where there are several."""
    neighbours: Any = terms.neighbours
    if not read.tables:
        assert read.domain is not None, "facts are read after the header"
        return induced_by([fact for _, fact in facts], read.domain, neighbours, terms.max_rows, dropped=dropped)
    groups = [
        FactsOfTable(table.domain, table.rows, tuple(fact for about, fact in facts if about == name))
        for name, table in read.tables.items()
    ]
    return induced_together(groups, neighbours)


def _domain_of(about: object, read: Replay) -> Domain:
    """What a fact is about. Raises LookupError where there is no such table."""
    assert read.domain is not None, "facts are read after the header"
    return read.tables[str(about)].domain if read.tables else read.domain


def _fact(body: Mapping[str, Any], number: int, table: int, domain: Domain, folder: Archive) -> Fact:
    if body["kind"] == CuboidFact.kind:
        shape = tuple(domain[name].size for name in body["by"])
        body = {**body, "values": folder.load(body["values"], [shape])[0]}
    else:
        for _, boxes in body["terms"]:
            for box in boxes:
                read_box(box, domain)
    return fact_from_json(body, number, table)
