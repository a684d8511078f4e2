"""THE GATE: the one place where sensitive rows are read: charge → read → noise → (time slot) → record → return."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.deadline import keep_working
from discreet.domain.domain import Domain
from discreet.errors import (
    ArchiveError,
    DiscreetError,
    EngineError,
    JournalCorrupt,
    JournalError,
    Refreshed,
    TableError,
    UnsupportedQuery,
)
from discreet.ledger.asker import Asker
from discreet.ledger.charge import Charge, Record
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost
from discreet.noise.bits import Bits, require_production
from discreet.noise.law import Noise
from discreet.query.plan import Measurement, Plan
from discreet.query.query import (
    Choice,
    Count,
    Distinct,
    People,
    ProfileSum,
    Quantile,
    Query,
    Residual,
    SubsetCount,
    Sum,
    answer_shape,
    require_in_domain,
)
from discreet.query.residual import require_residual, residual_of
from discreet.release.archive import Archive, Array
from discreet.release.choice import counts_for, draw_choice, require_choosable
from discreet.release.quantile import draw_quantiles, histogram_of, require_drawable
from discreet.release.release import Noisy, Recorded, Release, noise_in_grains
from discreet.release.slots import Slots
from discreet.release.underway import FILE, Underway

if TYPE_CHECKING:
    from discreet.release.own_table import Table

RELEASE_CELLS = 1 << 29
"""A plan with more numbers than this is refused before anything is spent."""

DISTINCT_CELLS = 1 << 26
"""At most so many combinations of codes are looked for at once."""


@dataclass(frozen=True)
class Gate:
    """Binds table, ledger, bits and archive. `measure` is the reader; nothing else in Discreet reads rows."""

    domain: Domain
    _table: "Callable[[], Table]"
    """Opens what the journal says that the vault is over; called before anything is charged."""
    ledger: Ledger
    archive: Archive
    bits: Bits
    asker: Asker | None = None
    """Whom charges are for, where a vault has several users."""
    slots: Slots = field(default_factory=Slots)
    """When answers are recorded; from then on they are everybody's, and not before."""

    def over(self, domain: Domain) -> "Gate":
        """The same, in the domain as it is now."""
        return self if domain is self.domain else replace(self, domain=domain)

    @property
    def underway(self) -> Underway:
        """Who measures what on this machine now."""
        return Underway(self.archive.folder.parent / FILE, self.slots.ending)

    def measure(self, plan: Plan, decided_on: SnapshotId | None = None, reserve: int | None = None) -> Release:
        """Charge the plan, read the table, add noise, record, return. A failure after the charge keeps the charge.

        Whether it is refused depends on the domain, the plan and the ledger only. A plan that was made from what is
        known of a snapshot is measured on that one, or raises Refreshed and spends nothing. With the number of a
        reserve it is drawn on that, and nothing more is charged.
        """
        require_production(self.bits)
        self._require_measurable(plan)
        table = self._ready(plan)
        if decided_on is not None and decided_on != table.id:
            raise Refreshed(
                "the vault went over to another snapshot in the meantime; nothing was spent on this: ask again"
            )
        if self.ledger.domain_of(table.id).shape != self.domain.shape:
            raise Refreshed("rows were appended in the meantime; nothing was spent on this: ask again")
        cost = plan.cost(self.domain, self.ledger.budget)
        if reserve is None:
            charge = self.ledger.charge(cost, plan.condensed(), self.asker, table.id)
        else:
            charge = self.ledger.draw(reserve, cost, plan.condensed(), table.id)
        return self._answer(charge, plan, table)

    def set_aside(self, plans: Sequence[Plan], content: Any) -> Receipt:
        """Have what these plans cost together set aside for them, so that they can be measured later. They are about
        all periods that can come. Reads nothing."""
        require_production(self.bits)
        horizon = self.over(self.ledger.horizon)
        for plan in plans:
            horizon._require_measurable(plan)
        whole = Plan(tuple(measurement for plan in plans for measurement in plan.measurements))
        cost = whole.cost(horizon.domain, self.ledger.budget)
        return self.ledger.reserve(cost + Cost(), content, self.ledger.snapshot)  # added, boxes come once

    def complete(self, charge: Charge) -> Release:
        """Finish a charge whose answer was never recorded, with the same plan and no further charge.

        Only one that paid for the table as it is now, or before rows were appended to it: those that it paid for are as
        they were. Others raise Refreshed, and `close` closes them.
        """
        require_production(self.bits)
        plan = Plan.from_json(charge.plan)
        table = self._ready(plan)
        if charge.snapshot != table.id and self.ledger.is_of_table(charge):
            table = table.until(self.ledger.domain_of(charge.snapshot))
        elif charge.snapshot != table.id:
            raise Refreshed(
                f"charge {charge.id} paid for a table that the vault is no longer over; it is not answered, and what "
                "it spent stays spent: ask anew"
            )
        return self._answer(charge, plan, table)

    def _ready(self, plan: Plan) -> "Table":
        """The table, opened and found as the journal knows it. Nothing is charged yet, and no row is looked at."""
        while True:
            table = self._table()
            try:
                table.require(_reads(plan))
                return table
            except TableError:
                if self.ledger.snapshot == table.id:
                    raise
                # Somebody refreshed the vault meanwhile, and removed what was being opened.
            except DiscreetError:
                raise
            except Exception:
                raise EngineError("the table could not be opened; nothing was spent: is there memory for it?") from None

    def warm(self) -> None:
        """Open the table, so that nobody waits for that later."""
        self._table()

    def settle(self) -> None:
        """Remove draws that were never released and whose charge has its answer, or was closed without one: a process
        was killed over them."""
        for number in self.ledger.closed():
            self.archive.discard(number)
        for number in self.archive.unsettled():
            recorded = self.ledger.recorded(number)
            if recorded is not None:
                self.archive.settle(number, recorded.body)

    def recall(self, charge: Charge, record: Record) -> Release:
        """A release as it was recorded. Reads no rows."""
        return self._released(charge, self.recorded(charge, record), record)

    def recorded(self, charge: Charge, record: Record) -> Recorded:
        """The same without what it promises by now, which nobody asks of very many."""
        try:
            plan, domain = Plan.from_json(charge.plan), self.ledger.domain_of(charge.snapshot)
            units = self.archive.load(record.body, [answer_shape(m.query, domain) for m in plan.measurements])
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise JournalCorrupt(
                f"the journal's release of charge {charge.id} cannot be read", "restore it from a backup"
            ) from None
        return self._recorded(charge, plan, units)

    def _answer(self, charge: Charge, plan: Plan, table: "Table") -> Release:
        keep_working()  # whatever is charged is answered, however long that takes
        with self._in_slot(charge):
            units = self._draw(plan, table, charge)
            try:
                mine = self.archive.save(charge.id, units)
            except ArchiveError:
                # Whoever completed the charge in the meantime has cleared this draw away: theirs is the answer.
                recorded = self.ledger.recorded(charge.id)
                if recorded is None:
                    raise
                return self.recall(charge, recorded)
        try:
            record = self.ledger.record(charge.id, mine)
        except Refreshed:
            self.archive.discard(charge.id)  # somebody has closed the charge: the vault is over another table by now
            raise
        except JournalError as error:
            # Its advice is for what was not charged.
            raise type(error)(error.what, f"the answer was not recorded: {_stands(charge)}") from None
        self.archive.settle(charge.id, record.body)
        # Somebody else may have completed the same charge first: that answer is the only one.
        if record.body != mine:
            return self.recall(charge, record)
        return self._released(charge, self._recorded(charge, plan, units), record)

    @contextmanager
    def _in_slot(self, charge: Charge) -> Iterator[None]:
        """What is done in here, and what goes wrong, is seen after a whole number of slots since the charge."""
        since = self.slots.clock()
        try:
            yield
        finally:
            if not self.slots.wait(since):
                raise EngineError(f"the server is ending before the answer's time slot is over; {_stands(charge)}")

    def _recorded(self, charge: Charge, plan: Plan, units: list[Array]) -> Recorded:
        answers = [
            Noisy(measurement, measurement.query.grain(self.domain), array)
            for measurement, array in zip(plan.measurements, units, strict=True)
        ]
        return Recorded(charge.id, plan, tuple(answers))

    def _released(self, charge: Charge, recorded: Recorded, record: Record) -> Release:
        promise, facts = self.ledger.promise(charge.cost.peak), self.ledger.facts_before(charge.id)
        return Release(recorded.plan, recorded.answers, promise, charge.id, record.receipt, facts, charge.table)

    def _draw(self, plan: Plan, table: "Table", charge: Charge) -> list[Array]:
        """Exact answers with noise on them. Whatever goes wrong in here looks the same from outside."""
        try:
            exact = iter(table.evaluate(_reads(plan)))
            read = [[next(exact) for _ in _reads_for(each.query)] for each in plan.measurements]
            domain, bits = self.ledger.domain_of(charge.snapshot), self.bits.for_release(charge.receipt.hash)
            return self.over(domain)._noisy(plan.measurements, read, bits)
        except Exception:
            raise EngineError(f"the answer could not be computed; {_stands(charge)}") from None

    def _noisy(self, measurements: Sequence[Measurement], read: Sequence[list[Array]], bits: Bits) -> list[Array]:
        """The answers with noise. Those of one law draw it together: a wide cube has thousands of small tables."""
        answers: dict[int, Array] = {}
        of_law: dict[Noise, list[int]] = defaultdict(list)
        for place, measurement in enumerate(measurements):
            query, law = measurement.query, measurement.law
            if isinstance(query, Quantile):
                answers[place] = draw_quantiles(query, Fraction(law.scale), read[place][0], self.domain, bits)
            elif isinstance(query, Choice):
                answers[place] = draw_choice(query, Fraction(law.scale), read[place], bits)
            else:
                of_law[noise_in_grains(measurement, self.domain)].append(place)
        for noise, places in of_law.items():
            answers_of = [_answer_to(measurements[place].query, read[place][0]) for place in places]
            sizes = [answer.size for answer in answers_of]
            draws = np.split(noise.sample(sum(sizes), bits), np.cumsum(sizes)[:-1])
            for place, answer, drawn in zip(places, answers_of, draws, strict=True):
                shaped = drawn.reshape(answer.shape)
                answers[place] = np.add(answer, shaped, out=shaped)
        return [answers[place] for place in range(len(measurements))]

    def _require_measurable(self, plan: Plan) -> None:
        """Refuse, before anything is charged, what could only fail later."""
        if not plan.measurements:
            raise UnsupportedQuery("a plan needs at least one query")
        for measurement in plan.measurements:
            require_in_domain(measurement.query, self.domain)
            if isinstance(measurement.query, Quantile):
                require_drawable(measurement.query, self.domain)
            elif isinstance(measurement.query, Choice):
                require_choosable(measurement.query, self.domain)
            else:
                noise_in_grains(measurement, self.domain)
            if isinstance(measurement.query, Distinct):
                _require_few(measurement.query, self.domain)
            if isinstance(measurement.query, Residual):
                require_residual(answer_shape(measurement.query, self.domain))
        cells = sum(prod(answer_shape(m.query, self.domain)) for m in plan.measurements)
        if cells > RELEASE_CELLS:
            raise UnsupportedQuery(f"the answer would have {cells:,} cells; at most {RELEASE_CELLS:,} are released")


def _require_few(query: Distinct, domain: Domain) -> None:
    """Raise where more combinations would have to be looked for than fit into memory."""
    cells = prod(answer_shape(Count(query.where, (*query.by, *query.of)), domain))
    if cells > DISTINCT_CELLS:
        raise UnsupportedQuery(
            f"COUNT(DISTINCT …) looks for {cells:,} combinations, and at most {DISTINCT_CELLS:,} are looked for; "
            "group by less"
        )


def _stands(charge: Charge) -> str:
    return f"charge {charge.id} stands, and `discreet ledger complete` finishes it without a further charge"


def _reads(plan: Plan) -> list[Count | Sum | People | ProfileSum | SubsetCount]:
    return [read for measurement in plan.measurements for read in _reads_for(measurement.query)]


def _reads_for(query: Query) -> Sequence[Count | Sum | People | ProfileSum | SubsetCount]:
    """What is read exactly, in order to answer a query."""
    match query:
        case Residual():
            return [Count(query.where, query.by)]
        case Distinct():
            return [Count(query.where, (*query.by, *query.of))]
        case Quantile():
            return [histogram_of(query)]
        case Choice():
            return counts_for(query)
    return [query]


def _answer_to(query: Query, read: Array) -> Array:
    """The exact answer to a query, from what was read for it."""
    if isinstance(query, Distinct):
        found: Array = np.count_nonzero(read, axis=tuple(range(len(query.by), read.ndim)))
        return np.asarray(found, np.int64)
    return residual_of(read) if isinstance(query, Residual) else read
