"""The HTTP socket: connections are taken, watched and closed in time, whatever their clients do or leave undone.

uvicorn speaks HTTP over a connection once it is there. What it does not bound is bounded here: how many there are (see
`Places`), how long a handshake, a head and a body may take, and for how long a reply may lie unread. It gets here by
the event loop, whose `create_server` is ours.
"""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from discreet.server.places import Places, places_by_descriptors

log = logging.getLogger("discreet.server")
HANDSHAKE_SECONDS = 10.0
"""TLS."""
SWEEP_SECONDS = 1.0
BREATH = 0.1
"""Seconds to wait before accepting again, where the system is out of sockets."""
Phase = Literal["head", "body", "answering", "sending"]
SECONDS: dict[Phase, float | None] = {"head": 10.0, "body": 30.0, "answering": None, "sending": 30.0}
"""How long a connection may stay in a phase. A request's own deadline bounds its answering."""
STEP = 1 << 16
"""A reply that is read by so many bytes at a time is being read: its client has `sending` seconds for each."""
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    b'{"error":{"kind":"TooManyRequests","message":"too many connections are busy; wait a second and try again"}}'
)


class PatientProtocol(H11Protocol):
    """A connection over HTTP that knows how far its client is."""

    address = ""
    handshake: "asyncio.Task[None] | None" = None
    left: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seen: tuple[Phase, object] = ("head", None)
        self._since = self.loop.time()

    def phase(self) -> tuple[Phase, object]:
        """Where the connection is, and what has to change for its client to have done something."""
        flow, cycle = self._flow, self._cycle
        if flow is not None and flow.write_paused:
            return "sending", self.transport.get_write_buffer_size() // STEP
        if cycle is None or cycle.response_complete:
            return "head", cycle
        return ("body" if cycle.more_body else "answering"), cycle

    # uvicorn leaves both empty until there is one.
    @property
    def _flow(self) -> FlowControl | None:
        return self.flow

    @property
    def _cycle(self) -> RequestResponseCycle | None:
        return self.cycle

    def overdue(self, now: float) -> Phase | None:
        """The phase that has taken too long by a time of the loop's; None while there is time."""
        phase = self.phase()
        if phase != self._seen:
            self._seen, self._since = phase, now
        most = SECONDS[phase[0]]
        return phase[0] if most is not None and now - self._since > most else None

    def waits(self) -> tuple[bool, float] | None:
        phase, _ = self.phase()
        return None if phase == "answering" else (phase == "head" and self._cycle is not None, self._since)

    def drop(self) -> None:
        if self.handshake is not None:
            self.handshake.cancel()
        elif self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.left()


class Listening:
    """A listening socket with its guests: as much of asyncio's `Server` as uvicorn uses."""

    def __init__(
        self, make: Callable[[], PatientProtocol], listening: socket.socket, tls: ssl.SSLContext | None, most: int
    ) -> None:
        self.make, self.listening, self.tls = make, listening, tls
        proxies = make().config.forwarded_allow_ips
        self.places: Places[PatientProtocol] = Places(most, proxies if isinstance(proxies, list) else ())
        loop = asyncio.get_running_loop()
        self._tasks = {loop.create_task(self._take()), loop.create_task(self._watch())}

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, address = await loop.sock_accept(self.listening)
            except OSError as error:
                spared = self.places.make_room(self.places)
                log.warning("a connection could not be taken: %s%s", error, "; an idle one is closed" * spared)
                await asyncio.sleep(BREATH)
                continue
            task = loop.create_task(self._welcome(client, str(address[0])))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _welcome(self, client: socket.socket, address: str) -> None:
        guest = self.make()
        guest.address = address
        if not self.places.enter(guest):
            with suppress(OSError):
                client.send(FULL)
            client.close()
            return
        loop = asyncio.get_running_loop()
        guest.left = lambda: self.places.leave(guest)
        guest.handshake = asyncio.current_task()
        try:
            # A client that has gone already, or speaks no TLS, is nobody's error.
            with suppress(OSError, TimeoutError):
                patience = None if self.tls is None else HANDSHAKE_SECONDS
                await loop.connect_accepted_socket(lambda: guest, client, ssl=self.tls, ssl_handshake_timeout=patience)
        finally:
            guest.handshake = None
            if guest.transport is None:
                guest.left()
                client.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep(asyncio.get_running_loop().time())

    def sweep(self, now: float) -> None:
        """Close what has taken too long, and say so in a line."""
        late: Counter[Phase] = Counter()
        for guest in self.places:
            if guest.handshake is None and (phase := guest.overdue(now)) is not None:
                late[phase] += 1
                guest.drop()
        if late:
            told = ", ".join(f"{count} in their {phase}" for phase, count in sorted(late.items()))
            log.warning("closed connections that took too long: %s", told)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Loop(asyncio.SelectorEventLoop):
    """The event loop of a worker, which takes connections with care."""

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Any, *, sock: socket.socket, ssl: ssl.SSLContext | None = None, **_: Any
    ) -> Listening:
        """A server of uvicorn's."""
        sock.setblocking(False)
        return Listening(protocol_factory, sock, ssl, places_by_descriptors()[0])
