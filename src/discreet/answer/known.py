"""Everything that was released, ready to answer from: the journal's records, indexed by what they measured."""

import gc
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

from discreet.answer.best import Best, best
from discreet.answer.index import Answers
from discreet.answer.joint import Terms
from discreet.answer.labelled import LabelledBlock, labelled_grid
from discreet.answer.past import PastAnswer, groups_of, past_answers
from discreet.answer.residuals import ReleasedResidual, ResidualRelease
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.ledger.snapshot import Era, SnapshotId
from discreet.noise.law import Noise
from discreet.query.cells import Amount
from discreet.query.marginals import Source
from discreet.query.profiles import PersonGroup
from discreet.query.query import Choice, Count, Distinct, People, ProfileSum, Quantile, Residual, SubsetCount, Sum
from discreet.release.extended import extended
from discreet.release.release import Noisy, Recorded

if TYPE_CHECKING:
    from discreet.facts.facts import Fact

OfItself = Distinct | People | ProfileSum
"""What follows from nothing but itself."""
Single = tuple[OfItself, tuple[int, ...]]
"""One such number: without its groups, but for those of people's profiles, of which it is a code."""


@dataclass
class Known:
    """Released answers by quantity: counts, and sums of each attribute in whole grains. Grows with the journal."""

    domain: Domain
    ledger: Books
    recall: Callable[[Charge, Record], Recorded]
    facts: "Callable[[], tuple[Fact, ...]]" = tuple
    """The facts about the table as it is now."""
    era: Era | None = None
    """Where it is of an earlier snapshot, and of nothing that came after."""
    _by_quantity: dict[str | Amount | None, Answers] = field(default_factory=dict)
    _noises: dict[Source, Noise] = field(default_factory=dict)
    _quantiles: dict[Quantile, tuple[Fraction, int]] = field(default_factory=dict)
    _distincts: dict[Single, PastAnswer] = field(default_factory=dict)
    _upto: int = 0
    snapshot: SnapshotId | None = None
    """What all of it is about."""
    _since: int = 0
    """The entry since when the vault is over it: those that took no snapshots tell their tables apart by that alone."""
    _facts: "tuple[Fact, ...]" = ()
    _noted: tuple[SnapshotId | None, int, tuple[int, ...]] | None = None
    """Of which table, and which entries, the facts are."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def refresh(self) -> None:
        """Take in what was released since the last look, by whoever it was."""
        with self._lock:
            snapshot, since, last = self._reach()
            if (snapshot, since) != (self.snapshot, self._since):
                # What was released of an earlier snapshot says nothing about this one, whenever it was recorded; and
                # what was released of this one may have been passed over, when the look before was at the other.
                # The noises stay: whoever is in the middle of an answer may still look them up.
                self._by_quantity, self._quantiles, self._distincts = {}, {}, {}
                self.snapshot, self._since, self._upto = snapshot, since, since
            if last > self._upto:
                self._take_in(since)
            self._upto = max(self._upto, last)
            if self._facts:
                self.of(Count(self.domain.everything)).know(self._facts, self.domain)

    def _take_in(self, since: int) -> None:
        """What was released of the vault's table since the last look."""
        with _nothing_thrown_away():
            for charge, record in self.ledger.answered(self._upto):
                if self.era is not None and record.receipt.seq > self.era.until:
                    break
                if charge.id > since:
                    self._take(charge, record)
                self._upto = record.receipt.seq

    def _take(self, charge: Charge, record: Record) -> None:
        """Take in a release. Of a table that grows, what is about periods that came after this domain is passed over:
        whoever looks up something here asked about none of them."""
        before = self.ledger.domain_of(charge.snapshot)
        if all(map(operator.le, before.shape, self.domain.shape)):
            self._add(extended(self.recall(charge, record), before, self.domain))

    def _reach(self) -> tuple[SnapshotId | None, int, int]:
        """What the vault is over, since when, and up to which entry to look; with the facts of that table. Reading
        facts may count more of the journal, so that the end is asked for after it."""
        if self.era is not None:
            return self.era.snapshot, self.era.since, self.era.until
        snapshot, since, last = self.ledger.reach
        noted = (snapshot, since, self.ledger.facts_before(last + 1))
        if noted != self._noted:
            self._facts = self.facts() if noted[-1] else ()
            self._noted = noted
            return self.ledger.reach if noted[-1] else (snapshot, since, last)
        return snapshot, since, last

    @property
    def has_facts(self) -> bool:
        """Whether anything is known exactly of the table as it is now."""
        return bool(self._facts)

    def best(self, query: Count | Sum, regions: Sequence[Region], enough: float = inf) -> list[Best | None]:
        """The one public number for each region, in grains; None where there is none, or none that is sharp enough."""
        return best([_terms((1, region)) for region in regions], self.of(query), self.noise, enough)

    def best_sum(self, query: Count | Sum, *terms: tuple[int, Region]) -> Best | None:
        """The same for a sum of regions of one quantity, each times a whole number."""
        return best([_terms(*terms)], self.of(query), self.noise)[0]

    @property
    def seen(self) -> tuple[SnapshotId | None, int]:
        """Which snapshot's answers these are, and up to which entry of the journal: what is looked up from now on has
        at least those in it."""
        return self.snapshot, self._upto

    def of(self, query: Count | Residual | Sum) -> Answers:
        """The released answers to queries of this quantity."""
        quantity = query.quantity
        known = self._by_quantity.get(quantity)
        return self._by_quantity.setdefault(quantity, Answers(self.domain.shape)) if known is None else known

    def all(self) -> list[Answers]:
        """The released answers of every quantity."""
        return list(self._by_quantity.values())

    def noise(self, source: Source) -> Noise:
        """The noise in each number of a released measurement, in whole grains."""
        return self._noises[source]

    def quantile(self, query: Quantile) -> tuple[Fraction, int] | None:
        """The scale and code of a released quantile without groups; the sharpest one."""
        return self._quantiles.get(query)

    def quantile_regions(self, query: Quantile) -> list[Region]:
        """The regions of which the same quantile was released."""
        return [one.where for one in self._quantiles if (one.of, one.level) == (query.of, query.level)]

    def distinct(self, query: OfItself, codes: tuple[int, ...], region: Region) -> PastAnswer | None:
        """The sharpest number of different values, of people or of their lines, that was released of a group with this
        region."""
        return self._distincts.get(_single(query, codes, region))

    def _add(self, release: Recorded) -> None:
        together = ResidualRelease(self.domain.shape)
        self._note_cube(release)
        for place, noisy in enumerate(release.answers):
            query, law = noisy.measurement.query, noisy.measurement.law
            if isinstance(query, Quantile):
                scale = Fraction(law.scale)
                for one, code in _single_quantiles(query, noisy.units.reshape(-1).tolist(), self.domain):
                    if one not in self._quantiles or scale < self._quantiles[one][0]:
                        self._quantiles[one] = (scale, code)
                continue
            if isinstance(query, SubsetCount | Choice):
                continue  # about a roster's people, or about what to measure: not about a region's rows
            source = release.charge, place
            self._noises[source] = noisy.noise
            if isinstance(query, OfItself):
                for codes, region in groups_of(query.by, query.where, self.domain):
                    single = _single(query, codes, region)
                    found = PastAnswer(region, int(noisy.units[codes]), noisy.noise.variance, source)
                    self._distincts[single] = min(
                        found, self._distincts.get(single, found), key=lambda past: past.variance
                    )
                continue
            answers = self.of(query)
            if isinstance(query, Residual):
                if query.where == self.domain.everything:
                    together.tables[_axes(query, self.domain)] = _table(query, noisy, source, self.domain)
                continue
            grid = labelled_grid(query.by, query.where, self.domain)
            if grid is not None:
                answers.add(LabelledBlock(grid, noisy.units, noisy.noise.variance, source))
                continue
            for answer in past_answers(query, noisy.units, noisy.noise.variance, source, self.domain):
                answers.add(answer)
        if together.tables:
            self.of(Count(self.domain.everything)).add(together)

    def _note_cube(self, release: Recorded) -> None:
        """Where several tables of everything were measured at once."""
        if len(release.answers) < 2:
            return
        tables: dict[str | Amount | None, int] = {}
        for noisy in release.answers:
            query = noisy.measurement.query
            if isinstance(query, Count | Sum | Residual) and query.where == self.domain.everything:
                quantity = query.quantity
                tables[quantity] = tables.get(quantity, 0) + 1
                if tables[quantity] > 1:
                    self.of(query).cubes.add(release.charge)


@contextmanager
def _nothing_thrown_away() -> Iterator[None]:
    """While very much is made and all of it is kept: looking for garbage among it again and again takes a fifth of the
    time. Of threads that are in here together the first ends it, and to the others that is no harm."""
    was_looking = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_looking:
            gc.enable()


def _terms(*terms: tuple[int, Region]) -> Terms:
    return tuple((times, box) for times, region in terms for box in region.boxes)


def _axes(query: Residual, domain: Domain) -> tuple[int, ...]:
    return tuple(sorted(domain.axis(name) for name in query.by))


def _table(query: Residual, noisy: Noisy, source: Source, domain: Domain) -> ReleasedResidual:
    """A residual with its axes in the domain's order."""
    axes = [domain.axis(name) for name in query.by]
    units = noisy.units.transpose([axes.index(axis) for axis in sorted(axes)])
    return ReleasedResidual(units, noisy.noise.variance, source)


def _single(query: OfItself, codes: tuple[int, ...], region: Region) -> Single:
    """One group of a query as a question of its own."""
    kept = [(group, code) for group, code in zip(query.by, codes, strict=True) if isinstance(group, PersonGroup)]
    return replace(query, where=region, by=tuple(group for group, _ in kept)), tuple(code for _, code in kept)


def _single_quantiles(query: Quantile, codes: list[int], domain: Domain) -> Iterator[tuple[Quantile, int]]:
    """The quantile of each group, as a question of its own."""
    for (_, region), code in zip(groups_of(query.by, query.where, domain, everyone=True), codes, strict=True):
        if region:
            yield Quantile(query.of, query.level, region), code
