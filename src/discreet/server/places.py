"""Who is connected: so many at once, of them so many from one address, and nobody who keeps the others out.

A connection that has no request under way holds its place only as long as nobody else needs it: where all places are
taken, a new connection gets that of the one that has waited longest. So half-open and idle sockets lock nobody out,
however many there are; a connection whose request is being answered is never closed for another.
"""

import ipaddress
import resource
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

MOST_PLACES, MOST_SESSIONS = 1024, 256
"""Connections over HTTP in one process, and over MySQL in all."""
OWN_DESCRIPTORS = 96
"""Descriptors that a process keeps for the journal, the table, the log, pipes and libraries."""
FEWEST = 8
PARTS_OF_ONE = 4
"""One address has at most a fourth of all places."""


class Guest(Protocol):
    """Somebody who is connected."""

    address: str

    def waits(self) -> tuple[bool, float] | None:
        """Whether they were answered before, and since when they have had nothing under way; None: they have."""

    def drop(self) -> None:
        """Close the connection at once."""


G = TypeVar("G", bound=Guest)


@dataclass
class Places(Generic[G]):
    """Places for guests, for one event loop. `proxies` are addresses, or networks, that speak for many clients: all
    their places are theirs to share."""

    most: int
    proxies: Sequence[str] = ()
    _guests: dict[str, set[G]] = field(default_factory=dict)
    _taken: int = 0

    @property
    def most_of_one(self) -> int:
        return max(self.most // PARTS_OF_ONE, FEWEST)

    def __len__(self) -> int:
        return self._taken

    def __iter__(self) -> Iterator[G]:
        return iter([guest for own in self._guests.values() for guest in own])

    def enter(self, guest: G) -> bool:
        """Take a place, another's if it must be. False where everybody else has something under way."""
        own = self._guests.get(guest.address, set())
        crowded = len(own) >= self.most_of_one and not self._is_proxy(guest.address)
        if crowded and not self.make_room(own):
            return False
        if self._taken >= self.most and not self.make_room(self):
            return False
        self._guests.setdefault(guest.address, set()).add(guest)
        self._taken += 1
        return True

    def leave(self, guest: G) -> None:
        """Give the place back; nothing where it was taken away before."""
        own = self._guests.get(guest.address, set())
        if guest not in own:
            return
        own.remove(guest)
        self._taken -= 1
        if not own:
            del self._guests[guest.address]

    def make_room(self, among: Iterable[G]) -> bool:
        """Close the connection that can best be spared: one that was never answered before one that was, one of an
        address with many before one with few, and the oldest of those."""
        waiting = [(guest, waits) for guest in among if (waits := guest.waits()) is not None]
        if not waiting:
            return False
        spared, _ = min(waiting, key=lambda one: (one[1][0], -len(self._guests[one[0].address]), one[1][1]))
        self.leave(spared)
        spared.drop()
        return True

    def _is_proxy(self, address: str) -> bool:
        return any(ipaddress.ip_address(address) in ipaddress.ip_network(proxy) for proxy in self.proxies)


def places_by_descriptors() -> tuple[int, int]:
    """How many connections over HTTP and over MySQL fit into the descriptors of this process: of what it may have at
    most, which it takes, three parts and one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    if soft == resource.RLIM_INFINITY:
        return MOST_PLACES, MOST_SESSIONS
    left = max(soft - OWN_DESCRIPTORS, 0)
    return min(max(left * 3 // 4, FEWEST), MOST_PLACES), min(max(left // 4, FEWEST), MOST_SESSIONS)
