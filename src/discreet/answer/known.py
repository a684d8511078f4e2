"""Everything that was released, ready to answer from: the journal's records, indexed by what they measured."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock

from discreet.answer.index import Answers
from discreet.answer.past import PastAnswer, Source, groups_of, past_answers
from discreet.answer.residuals import ReleasedResidual, ResidualRelease
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.ledger.snapshot import SnapshotId
from discreet.noise.law import Noise
from discreet.query.query import Count, Quantile, Residual, SubsetCount, Sum
from discreet.release.release import Noisy, Release


@dataclass
class Known:
    """Released answers by quantity: counts, and sums of each attribute in whole grains. Grows with the journal."""

    domain: Domain
    ledger: Books
    recall: Callable[[Charge, Record], Release]
    _by_quantity: dict[str | None, Answers] = field(default_factory=dict)
    _noises: dict[Source, Noise] = field(default_factory=dict)
    _quantiles: dict[Quantile, tuple[Fraction, int]] = field(default_factory=dict)
    _upto: int = 0
    snapshot: SnapshotId | None = None
    """What all of it is about."""
    _since: int = 0
    """The entry since when the vault is over it: those that took no snapshots tell their tables apart by that alone."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def refresh(self) -> None:
        """Take in what was released since the last look, by whoever it was."""
        with self._lock:
            snapshot, since, last = self.ledger.reach
            if (snapshot, since) != (self.snapshot, self._since):
                # What was released of an earlier snapshot says nothing about this one, whenever it was recorded; and
                # what was released of this one may have been passed over, when the look before was at the other.
                # The noises stay: whoever is in the middle of an answer may still look them up.
                self._by_quantity, self._quantiles = {}, {}
                self.snapshot, self._since, self._upto = snapshot, since, since
            for charge, record in self.ledger.answered(self._upto) if last > self._upto else ():
                if charge.snapshot == snapshot and charge.id > since:
                    self._add(self.recall(charge, record))
                self._upto = record.receipt.seq
            self._upto = max(self._upto, last)

    @property
    def seen(self) -> tuple[SnapshotId | None, int]:
        """Which snapshot's answers these are, and up to which entry of the journal: what is looked up from now on has
        at least those in it."""
        return self.snapshot, self._upto

    def of(self, query: Count | Residual | Sum) -> Answers:
        """The released answers to queries of this quantity."""
        quantity = query.of if isinstance(query, Sum) else None
        known = self._by_quantity.get(quantity)
        return self._by_quantity.setdefault(quantity, Answers(self.domain.shape)) if known is None else known

    def noise(self, source: Source) -> Noise:
        """The noise in each number of a released measurement, in whole grains."""
        return self._noises[source]

    def quantile(self, query: Quantile) -> tuple[Fraction, int] | None:
        """The scale and code of a released quantile without groups; the sharpest one."""
        return self._quantiles.get(query)

    def same(self, query: Count | Sum, region: Region) -> PastAnswer | None:
        """The sharpest single measurement of exactly this region."""
        answers = self.of(query)
        found = list(answers.same(region)[:1])
        if len(region.boxes) == 1:
            box = region.boxes[0]
            found += [
                block.total(box)
                for block in answers.groups.aligned(box)
                if all(box.low[axis] == box.high[axis] for axis in block.by)
            ]
        return min(found, key=lambda answer: answer.variance, default=None)

    def _add(self, release: Release) -> None:
        together = ResidualRelease(self.domain.shape)
        for place, noisy in enumerate(release.answers):
            query, law = noisy.measurement.query, noisy.measurement.law
            if isinstance(query, Quantile):
                scale = Fraction(law.scale)
                for one, code in _single_quantiles(query, noisy.units.reshape(-1).tolist(), self.domain):
                    if one not in self._quantiles or scale < self._quantiles[one][0]:
                        self._quantiles[one] = (scale, code)
                continue
            if isinstance(query, SubsetCount):
                continue  # about a roster's people, not about a region's rows
            answers, source = self.of(query), (release.charge, place)
            self._noises[source] = noisy.noise
            if isinstance(query, Residual):
                if query.where == self.domain.everything:
                    together.tables[_axes(query, self.domain)] = _table(query, noisy, source, self.domain)
                continue
            for answer in past_answers(query, noisy.units, noisy.noise.variance, source, self.domain):
                answers.add(answer)
        if together.tables:
            self.of(Count(self.domain.everything)).add(together)


def _axes(query: Residual, domain: Domain) -> tuple[int, ...]:
    return tuple(sorted(domain.axis(name) for name in query.by))


def _table(query: Residual, noisy: Noisy, source: Source, domain: Domain) -> ReleasedResidual:
    """A residual with its axes in the domain's order."""
    axes = [domain.axis(name) for name in query.by]
    units = noisy.units.transpose([axes.index(axis) for axis in sorted(axes)])
    return ReleasedResidual(units, noisy.noise.variance, source)


def _single_quantiles(query: Quantile, codes: list[int], domain: Domain) -> Iterator[tuple[Quantile, int]]:
    """The quantile of each group, as a question of its own."""
    for (_, region), code in zip(groups_of(query.by, query.where, domain, everyone=True), codes, strict=True):
        if region:
            yield Quantile(query.of, query.level, region), code
