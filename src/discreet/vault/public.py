"""What a vault shows to the verbs that promise to spend nothing.

Such a verb takes itself as one of these: a vault, or a thing of it, without its gate and its table, and with books in
which nothing can be written. The type checker refuses one that reaches for more.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.answer.desk import Desk
from discreet.answer.policy import Policy
from discreet.domain.domain import Domain
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, Record
from discreet.release.archive import Archive
from discreet.release.release import Release
from discreet.vault.memory import Memory

if TYPE_CHECKING:
    from discreet.cube.plan import CubePlan
    from discreet.facts.facts import Fact
    from discreet.vault.facts import VaultFacts


class PublicFacts(Protocol):
    """The facts of a vault."""

    @property
    def domain(self) -> Domain: ...
    @property
    def ledger(self) -> Books: ...
    @property
    def archive(self) -> Archive: ...
    @property
    def recall(self) -> Callable[[Charge, Record], Release]: ...
    @property
    def route(self) -> "Callable[[str], tuple[VaultFacts, str]] | None": ...

    def current(self) -> "tuple[Fact, ...]": ...
    def of_all_tables(self) -> "tuple[Fact, ...]": ...
    def _released_now(self) -> Iterator[Release]: ...


class PublicCubes(Protocol):
    """The cubes of a vault, as long as they are planned."""

    @property
    def domain(self) -> Domain: ...
    @property
    def ledger(self) -> Books: ...
    @property
    def facts(self) -> PublicFacts: ...

    def _for_small_budget(self, fixed: "CubePlan") -> "CubePlan": ...


class Public(Protocol):
    """The parts of a vault that are public."""

    path: Path
    location: str
    policy: Policy

    @property
    def domain(self) -> Domain: ...
    @property
    def ledger(self) -> Books: ...
    @property
    def facts(self) -> PublicFacts: ...
    @property
    def _memory(self) -> Memory: ...
    def table(self, name: str) -> "Public": ...
    def of_charge(self, charge: Charge) -> "Public": ...


class PublicDesk(Public, Protocol):
    """With what answers questions from public things."""

    @property
    def _desk(self) -> Desk: ...
    def _desk_of(self, memory: Memory) -> Desk: ...
    def asked_of(self, sql: str) -> "tuple[tuple[PublicDesk, ...], str]": ...
