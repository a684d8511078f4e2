"""Packets over a socket: of a bounded size, and encrypted from where the client asks for it."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mysql_mimic.errors import ErrorCode, MysqlError
from mysql_mimic.stream import ConnectionClosed, MysqlStream

from discreet.server.mysql.variables import MOST_BYTES

TOO_LARGE = 1153
HANDSHAKE_HEAD = 32
"""Bytes of a handshake before the user's name; a request for TLS ends there."""
MOST_SCRAMBLE = 250
"""Longer ones have lengths of several bytes; a token's has 20."""
ENDS = 4
LINGER_SECONDS = 1
LOOK_SECONDS = 0.5
"""How often it is looked whether the client of a statement is still there."""
PACKET_SECONDS = 30.0
"""A packet whose head has come has so long to come as a whole."""
SENDING_SECONDS, STEP = 30.0, 1 << 16
"""A client reads at least so many bytes of a reply in so many seconds."""


class Plain:
    """A socket as a reader and a writer that never take more than was asked for.

    asyncio's own would swallow the first bytes of TLS together with the packet before them.
    """

    def __init__(self, client: socket.socket) -> None:
        self.client, self._pending = client, bytearray()

    async def readexactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = await asyncio.get_running_loop().sock_recv(self.client, min(size - len(data), 1 << 16))
            if not piece:
                raise ConnectionClosed
            data += piece
        return bytes(data)

    def write(self, data: bytes) -> None:
        self._pending += data

    async def drain(self) -> None:
        data, self._pending = memoryview(self._pending), bytearray()
        for start in range(0, len(data), STEP):
            async with asyncio.timeout(SENDING_SECONDS):
                await asyncio.get_running_loop().sock_sendall(self.client, data[start : start + STEP])

    def close(self) -> None:
        self.client.close()


class Encrypted(asyncio.StreamWriter):
    """asyncio's writer, which does not wait for ever for a client to read."""

    async def drain(self) -> None:
        steps = 1 + self.transport.get_write_buffer_size() // STEP
        async with asyncio.timeout(SENDING_SECONDS * steps):
            await super().drain()


class Stream:
    """What a connection of mysql-mimic reads from and writes to."""

    def __init__(self, client: socket.socket, idle_seconds: Callable[[], float]) -> None:
        self.client, self.idle_seconds = client, idle_seconds
        self.reader: Any = Plain(client)
        self.writer: Any = self.reader
        self.is_encrypted = False
        self.in_handshake = True
        self._inner = MysqlStream(self.reader, self.writer)
        self.seq, self.reset_seq = self._inner.seq, self._inner.reset_seq
        self.write, self.drain = self._inner.write, self._inner.drain
        self.write_many, self.write_text_rows = self._inner.write_many, self._inner.write_text_rows

    async def read(self) -> bytes:
        """The next packet. One that is too large is refused before it is read."""
        try:
            # The whole handshake has a time of its own.
            async with asyncio.timeout(None if self.in_handshake else self.idle_seconds()):
                head = await self.reader.readexactly(4)
            length, number = int.from_bytes(head[:3], "little"), head[3]
            if number != next(self.seq):
                raise MysqlError("the packets are out of order", ErrorCode.MALFORMED_PACKET)
            if length > MOST_BYTES:
                raise MysqlError(f"a packet has at most {MOST_BYTES:,} bytes", TOO_LARGE)
            async with asyncio.timeout(PACKET_SECONDS):
                data = bytes(await self.reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):  # a TimeoutError is one
            raise ConnectionClosed from None
        return _complete(data) if self.in_handshake and length > HANDSHAKE_HEAD else data

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Encrypt from here on."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, self.client, ssl=context)
        except OSError:
            raise ConnectionClosed from None
        writer = Encrypted(transport, protocol, reader, loop)
        self.reader, self.writer, self.is_encrypted = reader, writer, True
        self._inner.reader, self._inner.writer = reader, writer

    async def left(self) -> None:
        """Wait until the client has gone, while nothing is read from it."""
        while not self._is_at_end():
            await asyncio.sleep(LOOK_SECONDS)

    def _is_at_end(self) -> bool:
        if self.is_encrypted:
            return bool(self.reader.at_eof())
        try:
            return not self.client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def linger(self) -> None:
        """Take what the client still sends, for a moment: a socket closed before would take the last word back."""
        if self.is_encrypted:
            return
        self.client.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while await asyncio.get_running_loop().sock_recv(self.client, 1 << 16):
                    pass

    def close(self) -> None:
        self.writer.close()


def _complete(handshake: bytes) -> bytes:
    """A handshake in which every name ends: mysql-mimic looks for the zero at its end for ever.

    After the head come a name with a zero, a password's scramble with its length before it, and names with zeros.
    """
    name_end = handshake.find(b"\0", HANDSHAKE_HEAD)
    scramble = name_end + 2
    if name_end < 0 or scramble > len(handshake) or scramble + handshake[scramble - 1] > len(handshake):
        raise MysqlError("the handshake is cut short", ErrorCode.MALFORMED_PACKET)
    if handshake[scramble - 1] > MOST_SCRAMBLE:
        raise MysqlError("the handshake's password is too long", ErrorCode.MALFORMED_PACKET)
    return handshake + bytes(ENDS)
