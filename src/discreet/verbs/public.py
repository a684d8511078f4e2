"""What a vault shows to the verbs that promise to spend nothing.

Such a verb takes itself as `Public`: a vault without its gate and its table, and with books in which nothing can be
written. The type checker refuses one that reaches for more.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.answer.answer import Desk
from discreet.answer.known import Known
from discreet.answer.others import Others
from discreet.answer.policy import Policy
from discreet.domain.domain import Domain
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.ledger import Charge, Record
from discreet.release.archive import Archive
from discreet.release.release import Release
from discreet.sql.lookup import Lookup
from discreet.sql.question import Question
from discreet.sql.split import Statement, Stepwise

if TYPE_CHECKING:
    from discreet.facts.facts import Fact


class Public(Protocol):
    """The parts of a vault that are public."""

    path: Path
    domain: Domain
    location: str
    policy: Policy

    @property
    def ledger(self) -> Books: ...
    @property
    def _archive(self) -> Archive: ...
    @property
    def _asker(self) -> Asker | None: ...
    @property
    def _recall(self) -> Callable[[Charge, Record], Release]: ...

    def _require_amounts(self) -> None: ...


class PublicFacts(Public, Protocol):
    """With the facts that were added to it."""

    def facts(self) -> "tuple[Fact, ...]": ...
    def _all_facts(self) -> "tuple[Fact, ...]": ...
    def _released_now(self) -> Iterator[Release]: ...


class PublicDesk(PublicFacts, Protocol):
    """With what reads questions, and what answers them from public things."""

    def lookups(self) -> "dict[str, Lookup]": ...
    @property
    def _desk(self) -> Desk: ...
    @property
    def _known(self) -> Known: ...
    @property
    def _others(self) -> Others: ...
    @property
    def _question(self) -> Callable[[str], Question | Statement | Stepwise]: ...
