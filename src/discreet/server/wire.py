"""The MySQL port: the same SQL and the same budget, for BI tools and every client that speaks MySQL.

It lives in a thread with an event loop of its own, in one process of however many serve the vault.
"""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from mysql_mimic.control import LocalControl
from mysql_mimic.errors import ErrorCode
from mysql_mimic.types import Capabilities

from discreet.errors import VaultError
from discreet.server.desk import FrontDesk
from discreet.server.mysql.connection import GuardedConnection, Tokens
from discreet.server.mysql.schemas import OneSchema, Schemas
from discreet.server.mysql.seats import Seats
from discreet.server.mysql.session import MySession
from discreet.server.mysql.stream import Stream
from discreet.server.places import Places, places_by_descriptors

START_SECONDS, STOP_SECONDS = 30, 1
BREATH = 0.1
"""Seconds to wait before accepting again, where the system is out of sockets."""
CAPABILITIES = (
    Capabilities.CLIENT_PROTOCOL_41
    | Capabilities.CLIENT_DEPRECATE_EOF
    | Capabilities.CLIENT_CONNECT_WITH_DB
    | Capabilities.CLIENT_PLUGIN_AUTH
    | Capabilities.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
    | Capabilities.CLIENT_SECURE_CONNECTION
    | Capabilities.CLIENT_LONG_PASSWORD
    | Capabilities.CLIENT_ODBC
    | Capabilities.CLIENT_INTERACTIVE
    | Capabilities.CLIENT_IGNORE_SPACE
    | Capabilities.CLIENT_TRANSACTIONS
)
"""No attributes of connections or queries: mysql-mimic reads as many of them as a packet claims to hold."""


class Caller:
    """A client of the port. One who has not shown a token yet gives way to others; a session does not."""

    def __init__(self, address: str, session: MySession) -> None:
        self.address, self.session = address, session
        self.since = asyncio.get_running_loop().time()
        self.task: asyncio.Task[None] | None = None

    def waits(self) -> tuple[bool, float] | None:
        return None if self.session.seated_as is not None else (False, self.since)

    def drop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Port:
    """Clients of one listening socket, each with a session of its own."""

    def __init__(self, schemas: Schemas, tls: ssl.SSLContext | None) -> None:
        self.schemas, self.tls = schemas, tls
        self.clients: set[asyncio.Task[None]] = set()
        self.numbers, self.control = count(1), LocalControl()
        self.places: Places[Caller] = Places(places_by_descriptors()[1])
        self.seats = Seats()

    async def welcome(self, client: socket.socket, address: str) -> None:
        """Serve one client to the end. What goes wrong with it stays with it."""
        session = MySession(self.schemas, address=address, seats=self.seats)
        caller, stream = Caller(address, session), Stream(client, session.idle_seconds)
        caller.task, session.left = asyncio.current_task(), stream.left
        connection = GuardedConnection(stream, session, self.control, Tokens(session), CAPABILITIES, self.tls)
        connection.connection_id = next(self.numbers) % 2**32
        try:
            if not self.places.enter(caller):
                await stream.write(connection.error(msg="too many connections", code=ErrorCode.CON_COUNT_ERROR))
            else:
                await connection.serve()
        except (asyncio.CancelledError, OSError):
            return
        finally:
            session.stand_up()
            self.places.leave(caller)
            stream.close()

    async def run(self, listening: socket.socket, ready: "Future[Callable[[], object]]") -> None:
        """Take clients until what `ready` holds is called, from any thread."""
        over = asyncio.Event()
        listening.setblocking(False)
        taking = asyncio.create_task(self._take(listening))
        ready.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, over.set))
        await over.wait()
        for task in (taking, *self.clients):
            task.cancel()
        await asyncio.gather(taking, *self.clients, return_exceptions=True)
        listening.close()

    async def _take(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, address = await loop.sock_accept(listening)
            except OSError:
                self.places.make_room(self.places)
                await asyncio.sleep(BREATH)  # out of file descriptors, say: those who leave free some
                continue
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = loop.create_task(self.welcome(client, str(address[0])))
            self.clients.add(task)
            task.add_done_callback(self.clients.discard)


def tls_context(certfile: Path | None, keyfile: Path | None) -> ssl.SSLContext | None:
    """With a certificate every client has to encrypt; without one none can."""
    if certfile is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certfile, keyfile)
    except (OSError, ssl.SSLError):
        raise VaultError(f"{certfile} and {keyfile} are no certificate and its key") from None
    return context


@contextmanager
def serving_mysql(
    served: FrontDesk | Schemas, listening: socket.socket, tls: ssl.SSLContext | None = None
) -> Iterator[None]:
    """Serve MySQL on a listening socket while the context lasts: one vault by its desk, or the schemas of many."""
    # It logs each refusal as an error, and exceptions with their words: clients are told what is for them.
    logging.getLogger("mysql_mimic").setLevel(logging.CRITICAL + 1)
    ready: Future[Callable[[], object]] = Future()
    port = Port(OneSchema(served) if isinstance(served, FrontDesk) else served, tls)
    thread = threading.Thread(target=lambda: asyncio.run(port.run(listening, ready)), name="mysql", daemon=True)
    thread.start()
    stop = ready.result(timeout=START_SECONDS)
    try:
        yield
    finally:
        stop()
        thread.join(timeout=STOP_SECONDS)
