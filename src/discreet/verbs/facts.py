"""Facts: what is public anyway."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.verbs.held import Held
from discreet.verbs.public import Public, PublicFacts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.facts.account import AddedFact, FactsReport
    from discreet.facts.facts import Fact


class Facts(Held):
    """Facts are journalled; they lower the limit and refine answers."""

    def add_fact(
        self,
        sql: str | None = None,
        value: int | None = None,
        *,
        cuboid: Sequence[str] | None = None,
        values: "ArrayLike | Path | None" = None,
    ) -> "AddedFact":
        """Account for what is public anyway: the exact answer of a COUNT, or of a sum of counts, in SQL; or a whole
        exact cuboid, as an array over the codes of its attributes or as the path of a CSV file.

        The limit is lowered for everything that was and will be spent. A fact is compared with the other facts and with
        what was released, never with the table; and it cannot be taken back.
        """
        from discreet.facts.account import add_fact
        from discreet.facts.read import fact_given

        self._require_amounts()
        fact = fact_given(sql, value, cuboid, values, self.domain)
        now, since, _ = self.ledger.reach
        released = (
            self.gate.recall(charge, record)
            for charge, record in self.ledger.answered(since)
            if charge.snapshot == now and charge.id > since
        )
        return add_fact(fact, self.ledger, self.domain, self.gate.archive, released)

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
