"""What a vault remembers of public things, for all who ask it: the statements that it read, and what was released."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from discreet.answer.known import Known
from discreet.answer.others import Others
from discreet.domain.domain import Domain
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.release.release import Release
from discreet.sql.parse import parse
from discreet.sql.question import Question

QUESTIONS = 256
"""Size of the cache of parsed SQL statements."""


@dataclass(frozen=True, eq=False)
class Memory:
    """Made of the domain and the journal alone: it can be forgotten at any time, and is the same for everybody."""

    domain: Domain
    ledger: Books
    recall: Callable[[Charge, Record], Release]

    @cached_property
    def question(self) -> Callable[[str], Question]:
        """Reading SQL takes longer than answering what is known already."""
        return lru_cache(QUESTIONS)(lambda sql: parse(sql, self.domain))

    @cached_property
    def known(self) -> Known:
        return Known(self.domain, self.ledger, self.recall)

    @cached_property
    def others(self) -> Others:
        return Others(self.domain, self.ledger)
