"""Facts: what is public anyway."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.facts.account import AddedFact, FactPreview, FactsReport, add_fact, facts_of, preview_fact, report_facts
from discreet.facts.facts import Fact
from discreet.facts.read import fact_given
from discreet.ledger.books import Books
from discreet.ledger.budget import require_amounts
from discreet.ledger.charge import Charge, Record
from discreet.ledger.ledger import Ledger
from discreet.notebook import FieldsView
from discreet.release.archive import Archive
from discreet.release.extended import extended
from discreet.release.release import Release
from discreet.vault.public import PublicFacts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, repr=False)
class VaultFacts(FieldsView):
    """A vault's facts: they are journalled, lower the limit and refine answers."""

    domain: Domain
    ledger: Ledger
    archive: Archive
    recall: Callable[[Charge, Record], Release]

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
        require_one_table(self.ledger)
        _require_fixed(self.domain)
        fact = fact_given(sql, value, cuboid, values, self.domain)
        return add_fact(fact, self.ledger, self.domain, self.archive, self._released_now(), accept=accept)

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
        require_one_table(self.ledger)
        _require_fixed(self.domain)
        fact = fact_given(sql, value, cuboid, values, self.domain)
        return preview_fact(fact, self.ledger, self.domain, self.archive, self._released_now())

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


def require_one_table(ledger: Books) -> None:
    """Refuse facts where there are several tables: how far apart facts about one leave people in all is not proved."""
    if ledger.table is not None:
        raise UnsupportedQuery(
            "a vault over several tables takes no facts: with them several people change at once, and in how many "
            "tables is not accounted for"
        )


def _require_fixed(domain: Domain) -> None:
    """Raise where rows are still to come: how far apart a fact leaves neighbours is worked out over one whole table."""
    if domain.growing is not None:
        raise UnsupportedQuery(
            "a table that grows takes no facts: what a fact leaves to spend is known of a table that stays as it is. "
            "Ask for the number instead; a noisy answer about closed periods stays true, and free to repeat"
        )
