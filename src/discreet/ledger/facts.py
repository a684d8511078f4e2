"""Facts as the journal has them: what is public anyway, and how far it lowers the limit."""

from dataclasses import dataclass
from typing import Any

from discreet.errors import JournalCorrupt
from discreet.ledger.budget import Budget, Induced


@dataclass(frozen=True, slots=True)
class FactNote:
    """The number of a fact's entry, that of the entry that accepted the table it is about (0 for the first table), and
    its content."""

    number: int
    table: int
    content: Any

    @property
    def words(self) -> str:
        """What a guarantee calls it."""
        try:
            fact = self.content["fact"]
            return str(fact["text"]) or f"cuboid {', '.join(fact['by'])}"
        except (LookupError, TypeError):
            return f"fact {self.number}"

    def lowered(self, own: Budget, before: Budget) -> Budget:
        """The vault's own budget once the fact is public: the limit is never above the one before it."""
        try:
            people, squares = self.content["induced"]
            induced = Induced(int(people), int(squares))
        except (LookupError, TypeError, ValueError):
            raise JournalCorrupt(f"entry {self.number} of the journal is no fact", "restore it from a backup") from None
        return own.under(induced.or_more(before.induced))
