"""The front desk: the one way in which a user's question reaches the vault, over HTTP and over MySQL alike.

Token, rate limit, fair share, role, audit log, quota and time slots, in this order: what the rate or the role forbids
is refused before it is logged as asked; what is logged is answered in the user's name, within its deadline unless it
was charged; what is measured is recorded, and leaves, when its time slot is over.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from discreet.answer.reply import Explanation
from discreet.deadline import Work, doing
from discreet.ledger.asker import Asker
from discreet.ledger.receipt import Receipt
from discreet.release.slots import Slots
from discreet.server.auth import User, authenticate, require_asking
from discreet.server.log import log_asked, origin
from discreet.server.pace import Bucket
from discreet.server.shares import Shares
from discreet.vault.vault import Vault

T = TypeVar("T")
DEFAULT_SLOT = 0.05
DEFAULT_RATE = 100.0
DEFAULT_DEADLINE = 30.0
"""Seconds."""
MOST_AT_ONCE = 256
"""So many questions are read for, or wait for their slot, at once in one process; the others wait before they are
charged. They have threads of their own, so that nothing else waits behind them."""


@dataclass(frozen=True)
class Turns:
    """How fast users may ask, how many of their requests are worked on at once, and for how long."""

    bucket: Bucket
    shares: Shares
    deadline: float | None

    @asynccontextmanager
    async def at_work(self, user: User, left: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
        """What a user's request does, in their share and until the deadline, or until `left` returns: the client has
        gone. It is given up before it is charged, or done to the end: see `Work`."""
        work = Work(self.deadline)
        watching = asyncio.create_task(_watch(left, work))
        try:
            turn = await self.shares.turn(user.name, self.deadline)
            work.on_rest = turn.give_back
            before = doing.set(work)
            try:
                yield
            finally:
                doing.reset(before)
                turn.end()
        finally:
            watching.cancel()


@dataclass(frozen=True)
class FrontDesk:
    """A vault with its doors: `answer` for whatever may spend, `explain` for what that would cost."""

    vault: Vault
    bucket: Bucket
    slots: Slots = field(default_factory=lambda: Slots(DEFAULT_SLOT))
    deadline: float | None = DEFAULT_DEADLINE
    """Seconds from a request's arrival, after which it is given up unless it was charged."""
    shares: Shares = field(default_factory=Shares)
    _threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(MOST_AT_ONCE))

    def admit(self, token: str) -> User:
        """Whose token this is, if they may ask now. Raises AccessDenied, or TooManyRequests."""
        return self.let_in(authenticate(self.vault.path, token))

    def let_in(self, user: User) -> User:
        """The same for somebody who is known already."""
        self.bucket.take(user.name)
        return user

    @property
    def turns(self) -> Turns:
        return Turns(self.bucket, self.shares, self.deadline)

    async def answer(self, user: User, verb: str, what: Mapping[str, Any], work: Callable[[Vault], T]) -> T:
        """Do work with the vault in a user's name, in a thread. It is done to the end, also where nobody waits for it.

        Whatever it has measured takes a whole number of time slots, or fails after so many: see `Slots`.
        """
        require_asking(user)
        logged = partial(self._logged, user, verb, what, work)
        return await anyio.to_thread.run_sync(logged, limiter=self._threads)

    def at_once(self, user: User, verb: str, what: Mapping[str, Any], known: Callable[[Receipt], T | None]) -> T | None:
        """What is known as long as the journal ends where it does, without a thread; None: go the long way."""
        head = self.vault.ledger.head_at_once()
        found = None if head is None else known(head)
        if found is not None:
            require_asking(user)
            log_asked(self.vault.path, user.name, verb, what)
        return found

    def _logged(self, user: User, verb: str, what: Mapping[str, Any], work: Callable[[Vault], T]) -> T:
        log_asked(self.vault.path, user.name, verb, what)
        asker, come = self.asker(user), origin.get()
        try:
            return work(self.asked_by(asker))
        finally:
            if come is not None:
                come.charges += asker.charges

    def explain(self, user: User, sql: str, wish: Mapping[str, Any]) -> Explanation:
        """What asking would cost this user: their quota counts. For whoever may look, logged as asking is; and it
        spends nothing, for `Vault.explain` is handed nothing that could."""
        self.log_explained(user, sql, wish)
        return self.seen_by(user).explain(sql, **wish)

    def log_explained(self, user: User, sql: str, wish: Mapping[str, Any]) -> None:
        log_asked(self.vault.path, user.name, "explain", {"sql": sql, **wish})

    def seen_by(self, user: User) -> Vault:
        """The vault in a user's name: with what is left of their quota, and with answers on time slots."""
        return self.asked_by(self.asker(user))

    def asked_by(self, asker: Asker) -> Vault:
        """The same for an asker whose charges somebody wants to see."""
        return self.vault.asked_by(asker, self.slots)

    def asker(self, user: User) -> Asker:
        """A user as the ledger knows them."""
        return Asker(user.name, user.quota)


def over_table(vault: Vault, table: str | None) -> Vault:
    """A vault over the table that a request names; the first where it names none."""
    return vault if table is None else vault.table(table)


async def _watch(left: Callable[[], Awaitable[object]], work: Work) -> None:
    await left()
    work.leave()
