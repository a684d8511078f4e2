"""The front desk: the one way in which a user's question reaches the vault, over HTTP and over MySQL alike.

Token, rate limit, role, audit log, quota and time slots, in this order: what the rate or the role forbids is refused
before it is logged as asked; what is logged is answered in the user's name; what was measured leaves on the grid.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from discreet.answer.reply import Explanation
from discreet.ledger.asker import Asker
from discreet.ledger.receipt import Receipt
from discreet.server.auth import User, authenticate, require_asking
from discreet.server.log import log_asked
from discreet.server.pace import Bucket, until_slot
from discreet.vault import Vault

T = TypeVar("T")
DEFAULT_SLOT = 0.05
DEFAULT_RATE = 100.0


@dataclass(frozen=True)
class FrontDesk:
    """A vault with its doors: `answer` for whatever may spend, `explain` for what that would cost."""

    vault: Vault
    bucket: Bucket
    slot: float = DEFAULT_SLOT
    """Seconds; 0 is no grid."""

    def admit(self, token: str) -> User:
        """Whose token this is, if they may ask now. Raises AccessDenied, or TooManyRequests."""
        user = authenticate(self.vault.path, token)
        self.bucket.take(user.name)
        return user

    async def answer(self, user: User, verb: str, what: Mapping[str, Any], work: Callable[[Vault], T]) -> T:
        """Do work with the vault in a user's name, in a thread. It is done to the end, also where nobody waits for it.

        Where anything was charged the answer, or the failure, waits for the end of a time slot: only then does how long
        it took depend on the table.
        """
        require_asking(user)
        start, asker = time.monotonic(), self.asker(user)
        try:
            return await anyio.to_thread.run_sync(partial(self._logged, user, verb, what, asker, work))
        finally:
            if asker.charges:
                await anyio.sleep(until_slot(time.monotonic() - start, self.slot))

    def at_once(self, user: User, verb: str, what: Mapping[str, Any], known: Callable[[Receipt], T | None]) -> T | None:
        """What is known as long as the journal ends where it does, without a thread; None: go the long way."""
        head = self.vault.ledger.head_at_once()
        found = None if head is None else known(head)
        if found is not None:
            require_asking(user)
            log_asked(self.vault.path, user.name, verb, what)
        return found

    def _logged(self, user: User, verb: str, what: Mapping[str, Any], asker: Asker, work: Callable[[Vault], T]) -> T:
        log_asked(self.vault.path, user.name, verb, what)
        return work(self.vault.asked_by(asker))

    def explain(self, user: User, sql: str, wish: Mapping[str, Any]) -> Explanation:
        """What asking would cost this user: their quota counts. For whoever may look, logged as asking is; and it
        spends nothing, for `Vault.explain` is handed nothing that could."""
        log_asked(self.vault.path, user.name, "explain", {"sql": sql, **wish})
        return self.vault.asked_by(self.asker(user)).explain(sql, **wish)

    def asker(self, user: User) -> Asker:
        """A user as the ledger knows them."""
        return Asker(user.name, user.quota)
