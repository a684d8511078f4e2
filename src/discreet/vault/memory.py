"""What a vault remembers of public things, for all who ask it: the statements that it read, and what was released."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from discreet.answer.known import Known
from discreet.answer.others import Others
from discreet.domain.domain import Domain
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.ledger.snapshot import Era
from discreet.release.gate import Gate
from discreet.release.release import Recorded, Release

if TYPE_CHECKING:
    from discreet.cube.public_model import PublicModel
    from discreet.facts.facts import Fact
    from discreet.model.everything import Everything
    from discreet.model.model import Model
    from discreet.sql.question import Question
    from discreet.sql.split import Statement, Stepwise


@dataclass(eq=False)
class Memories:
    """The memory of the domain as it is now: where rows are appended, another one is begun."""

    home: Path
    ledger: Books
    gate: Gate
    facts_of: "Callable[[Gate], tuple[Fact, ...]]"
    _last: "Memory | None" = None

    def of(self, domain: Domain) -> "Memory":
        last = self._last
        if last is None or last.domain.shape != domain.shape:
            gate = self.gate.over(domain)
            facts = partial(self.facts_of, gate)
            last = self._last = Memory(self.home, domain, self.ledger, gate.recall, gate.recorded, facts)
        return last


@dataclass(frozen=True, eq=False)
class Memory:
    """Made of the domain and the journal alone: it can be forgotten at any time, and is the same for everybody."""

    home: Path
    domain: Domain
    ledger: Books
    recall: Callable[[Charge, Record], Release]
    recorded: Callable[[Charge, Record], Recorded]
    facts: "Callable[[], tuple[Fact, ...]]"
    """Those about the table as it is now."""
    making: Lock = field(default_factory=Lock)
    """Held while a model or its replicates are made, which takes long: whoever needs the same waits for them."""

    @cached_property
    def question(self) -> "Callable[[str], Question | Statement | Stepwise]":
        """What a statement asks. Reading SQL takes longer than answering what is known already."""
        # A parser, which whoever makes a vault does not need.
        from discreet.sql.split import read
        from discreet.vault.lookups import lookups_noted, read_lookups
        from discreet.vault.readings import Readings

        return Readings(
            lambda sql, lookups: read(sql, self.domain, lookups),
            lambda: lookups_noted(self.ledger),
            lambda noted: read_lookups(self.home, noted),
        )

    @cached_property
    def known(self) -> Known:
        return Known(self.domain, self.ledger, self.recorded, self.facts)

    def earlier(self) -> list[Known]:
        """The same of the snapshots that people were taken out of, the latest first."""
        eras = self.ledger.eras
        for era in self._of_eras.keys() - set(eras):
            del self._of_eras[era]
        return [self._of_era(era) for era in reversed(eras)]

    def _of_era(self, era: Era) -> Known:
        return self._of_eras.setdefault(era, Known(self.domain, self.ledger, self.recorded, era=era))

    @cached_property
    def _of_eras(self) -> dict[Era, Known]:
        return {}

    @cached_property
    def everything(self) -> "dict[tuple[object, ...], Everything | None]":
        """What the model of everything public is made of, by how far the journal reaches: the last one asked for."""
        return {}

    @cached_property
    def models(self) -> "dict[str, PublicModel]":
        """The model of everything public, by the digest of what it is made of: the last one asked for."""
        return {}

    @cached_property
    def replicates(self) -> "dict[str, tuple[Model, ...]]":
        """Replicates of models: of cubes by their receipts, of everything public by its digest."""
        return {}

    @cached_property
    def others(self) -> Others:
        return Others(self.domain, self.ledger)
