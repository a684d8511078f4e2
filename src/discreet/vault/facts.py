"""Facts: what is public anyway."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.facts.account import AddedFact, FactPreview, FactsReport, add_fact, facts_of, preview_fact, report_facts
from discreet.facts.facts import Fact
from discreet.facts.read import fact_given
from discreet.ledger.books import Books
from discreet.ledger.budget import require_amounts
from discreet.ledger.charge import Charge, Record
from discreet.ledger.declared import tables_in
from discreet.ledger.ledger import Ledger
from discreet.notebook import FieldsView
from discreet.release.archive import Archive
from discreet.release.extended import extended
from discreet.release.release import Release
from discreet.vault.public import PublicFacts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Facts = TypeVar("Facts", bound=PublicFacts)


@dataclass(frozen=True, repr=False)
class VaultFacts(FieldsView):
    """A vault's facts: they are journalled, lower the limit and refine answers."""

    domain: Domain
    ledger: Ledger
    archive: Archive
    recall: Callable[[Charge, Record], Release]
    route: "Callable[[str], tuple[VaultFacts, str]] | None" = None
    """Finds the facts of the table that a statement is about, where there are several, and what it says there."""

    def add(
        self,
        sql: str | None = None,
        value: int | None = None,
        *,
        cuboid: Sequence[str] | None = None,
        values: "ArrayLike | Path | None" = None,
        accept: bool = False,
    ) -> AddedFact:
        """Account for what is public anyway: the exact answer of a COUNT, or of a sum of counts, in SQL; or a whole
        exact cuboid, as an array over the codes of its attributes or as the path of a CSV file.

        The limit is lowered for everything that was and will be spent. A fact is compared with the other facts and with
        what was released, never with the table; and it cannot be taken back: `preview` shows what it would do. One
        that would stop the vault is refused unless you `accept` that.
        """
        require_amounts(self.ledger.budget)
        over, sql = _asked_of(self, sql)
        _require_fixed(self.ledger)
        fact = fact_given(sql, value, cuboid, values, over.domain)
        return add_fact(fact, over.ledger, over.domain, over.archive, over._released_now(), accept=accept)

    def preview(
        self: PublicFacts,
        sql: str | None = None,
        value: int | None = None,
        *,
        cuboid: Sequence[str] | None = None,
        values: "ArrayLike | Path | None" = None,
    ) -> FactPreview:
        """What `add` would do with the same: to limits and accuracy, which releases speak against it, whether it
        would stop the vault, and which rows it is about. Nothing is journalled."""
        require_amounts(self.ledger.budget)
        over, sql = _asked_of(self, sql)
        _require_fixed(self.ledger)
        fact = fact_given(sql, value, cuboid, values, over.domain)
        return preview_fact(fact, over.ledger, over.domain, over.archive, over._released_now())

    def _released_now(self: PublicFacts) -> Iterator[Release]:
        """What was released of the table as it is now."""
        since = self.ledger.refreshed
        return (
            extended(self.recall(charge, record), self.ledger.domain_of(charge.snapshot), self.domain)
            for charge, record in self.ledger.answered(since)
            if charge.id > since
        )

    def current(self: PublicFacts) -> tuple[Fact, ...]:
        """The facts about the table as it is now. Public, and free."""
        now = self.ledger.refreshed
        return tuple(fact for fact in self.of_all_tables() if fact.table == now)

    def of_all_tables(self: PublicFacts) -> tuple[Fact, ...]:
        """Every fact, those about earlier tables too. Public, and free."""
        return facts_of(self.ledger, self.domain, self.archive)

    def report(self: PublicFacts) -> FactsReport:
        """Every fact, those about earlier tables too, with what it does to privacy by itself, and all together."""
        return report_facts(self.ledger, self.domain, self.archive)


def _asked_of(facts: Facts, sql: str | None) -> "tuple[Facts | VaultFacts, str | None]":
    """The facts of the table that a statement is about, and what it says there."""
    return (facts, sql) if sql is None or facts.route is None else facts.route(sql)


def _require_fixed(ledger: Books) -> None:
    """Raise where rows are still to come: how far apart a fact leaves neighbours is worked out over whole tables."""
    if any(one.domain.growing is not None for one in tables_in(ledger.header)):
        raise UnsupportedQuery(
            "a table that grows takes no facts: what a fact leaves to spend is known of a table that stays as it is. "
            "Ask for the number instead; a noisy answer about closed periods stays true, and free to repeat"
        )
