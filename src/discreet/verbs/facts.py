"""Facts: what is public anyway."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.verbs.parts import VaultParts
from discreet.verbs.public import Public, PublicFacts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.facts.account import AddedFact, FactPreview, FactsReport
    from discreet.facts.facts import Fact
    from discreet.release.release import Release


class FactVerbs(VaultParts):
    """What a vault does with facts: they are journalled, lower the limit and refine answers."""

    def add_fact(
        self,
        sql: str | None = None,
        value: int | None = None,
        *,
        cuboid: Sequence[str] | None = None,
        values: "ArrayLike | Path | None" = None,
        accept: bool = False,
    ) -> "AddedFact":
        """Account for what is public anyway: the exact answer of a COUNT, or of a sum of counts, in SQL; or a whole
        exact cuboid, as an array over the codes of its attributes or as the path of a CSV file.

        The limit is lowered for everything that was and will be spent. A fact is compared with the other facts and with
        what was released, never with the table; and it cannot be taken back: `preview_fact` shows what it would do. One
        that would stop the vault is refused unless you `accept` that.
        """
        from discreet.facts.account import add_fact
        from discreet.facts.read import fact_given

        self._require_amounts()
        fact = fact_given(sql, value, cuboid, values, self.domain)
        return add_fact(fact, self.ledger, self.domain, self._archive, self._released_now(), accept=accept)

    def preview_fact(
        self: PublicFacts,
        sql: str | None = None,
        value: int | None = None,
        *,
        cuboid: Sequence[str] | None = None,
        values: "ArrayLike | Path | None" = None,
    ) -> "FactPreview":
        """What `add_fact` would do with the same: to limits and accuracy, which releases speak against it, whether it
        would stop the vault, and which rows it is about. Nothing is journalled."""
        from discreet.facts.account import preview_fact
        from discreet.facts.read import fact_given

        self._require_amounts()
        fact = fact_given(sql, value, cuboid, values, self.domain)
        return preview_fact(fact, self.ledger, self.domain, self._archive, self._released_now())

    def _released_now(self: Public) -> "Iterator[Release]":
        """What was released of the table as it is now."""
        now, since, _ = self.ledger.reach
        return (
            self._recall(charge, record)
            for charge, record in self.ledger.answered(since)
            if charge.snapshot == now and charge.id > since
        )

    def facts(self: PublicFacts) -> "tuple[Fact, ...]":
        """The facts about the table as it is now. Public, and free."""
        now = self.ledger.refreshed
        return tuple(fact for fact in self._all_facts() if fact.table == now)

    def _all_facts(self: Public) -> "tuple[Fact, ...]":
        if not self.ledger.facts:
            return ()
        from discreet.facts.account import facts_of

        return facts_of(self.ledger, self.domain, self._archive)

    def list_facts(self: Public) -> "FactsReport":
        """Every fact, those about earlier tables too, with what it does to privacy by itself, and all together."""
        from discreet.facts.account import report_facts

        return report_facts(self.ledger, self.domain, self._archive)
