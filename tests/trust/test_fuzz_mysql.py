"""Packets that no client sends, to the MySQL port's own reader, without a socket: a reply, or the end of the talk."""

import asyncio
import logging
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

import pytest
from mysql_mimic.control import LocalControl
from mysql_mimic.stream import ConnectionClosed

from discreet.release.slots import Slots
from discreet.server.auth import add_user, allow_mysql, list_users
from discreet.server.desk import FrontDesk
from discreet.server.mysql import stream as streaming
from discreet.server.mysql.connection import GuardedConnection, Tokens
from discreet.server.mysql.schemas import OneSchema
from discreet.server.mysql.session import FAILED, MySession
from discreet.server.pace import Bucket
from discreet.server.wire import CAPABILITIES
from discreet.vault import Vault
from tests.trust.fuzzing import DRIVERS_WORDS, Loose, fuzz, mutated
from tests.trust.sql_grammar import statement

SHARDS = 4
CLIENT = 0x000FA685  # 4.1, secure connection, plugins
PLUGIN = b"mysql_native_password\0"
HANDSHAKE = struct.pack("<IIB", CLIENT | 8, 1 << 24, 45) + bytes(23) + b"ada\0\x14" + b"x" * 20 + b"discreet\0" + PLUGIN
COMMANDS = [
    b"\x03SHOW TABLES",
    b"\x03SHOW FULL COLUMNS FROM people",
    b"\x03SHOW VARIABLES LIKE '%sql%'",
    b"\x03SHOW WARNINGS",
    b"\x03SELECT `a`, 'b', \"c\" FROM dual -- c",
    b"\x03SELECT @@version, DATABASE(), 1 + 1, NOW()",
    b"\x03SELECT table_name FROM information_schema.tables WHERE table_schema = 'discreet'",
    b"\x03SELECT * FROM people LIMIT 3, 7",
    b"\x03SET discreet_within = 30, sql_mode = 'ANSI_QUOTES', @@session.discreet_scale = NULL",
    b"\x03DESCRIBE people",
    b"\x03EXPLAIN SELECT COUNT(*) FROM people WHERE age < 30",
    b"\x03SELECT COUNT(*) FROM discreet.people WHERE age < 30 AND sex = 'F'",
    b"\x03USE discreet",
    b"\x16SELECT COUNT(*) FROM people WHERE age < ? AND sex = ?",
    b"\x16SELECT ?",
    b"\x17" + struct.pack("<IBI", 1, 0, 1) + b"\x00\x01\x08\x00\xfe\x00" + bytes(8) + b"\x01F",
    b"\x17" + struct.pack("<IBI", 2, 0, 1) + b"\x01\x01\xfe\x00",
    b"\x18" + struct.pack("<IH", 1, 0) + b"abc",
    b"\x19" + struct.pack("<I", 1),
    b"\x1a" + struct.pack("<I", 1),
    b"\x1c" + struct.pack("<II", 1, 9),
    b"\x02discreet",
    b"\x04people\0",
    b"\x0e",
    b"\x11bob\0\0",
    b"\x1f",
]
VOCABULARY = "SELECT FROM people ? ; -- /* */ ' \" ` \\ @@ = ( ) , LIKE NULL 0x00 \0 LIMIT SET SHOW"
WORDS = [word.encode() for word in VOCABULARY.split(" ")]
WORDS += [b"\xff" * 9, b"\xfe" + b"\xff" * 8, b"\xfc\xff\xff", b"(" * 500, b"?," * 300]


class Tape:
    """What a client sent, and what it is told: a reader and a writer without a socket."""

    def __init__(self, sent: bytes) -> None:
        self.sent, self.place, self.told = sent, 0, bytearray()

    async def readexactly(self, size: int) -> bytes:
        piece = self.sent[self.place : self.place + size]
        self.place += size
        if len(piece) < size:
            raise ConnectionClosed
        return piece

    def write(self, data: bytes) -> None:
        self.told += data

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        self.place = len(self.sent)


class Taped(streaming.Stream):
    """A stream over a tape; nobody is there to linger for."""

    async def linger(self) -> None:
        return


@dataclass(frozen=True)
class Conversation:
    """Packets of one client, before its handshake or after it."""

    entered: bool
    sent: bytes


@pytest.fixture
def desk(folder):
    logging.getLogger("mysql_mimic").setLevel(logging.CRITICAL + 1)
    vault = Vault.init(folder / "vault", table=folder / "people.parquet", domain=folder / "people.toml", epsilon="1/2",
                       neighbours="replace")  # fmt: skip
    allow_mysql(vault.path)
    add_user(vault.path, "ada", "analyst")
    return FrontDesk(vault, Bucket(0), slots=Slots(), deadline=None)


def packet(payload: bytes, number: int = 0) -> bytes:
    return struct.pack("<I", len(payload) & 0xFFFFFF | (number & 0xFF) << 24) + payload


def conversations(draw: Random, number: int) -> Iterator[Conversation]:
    """A third before the handshake; the others a few commands, with bytes changed within packets, or anywhere."""
    for turn in range(number):
        if turn % 3 == 0:
            changed = mutated(draw, HANDSHAKE, (b"\0", b"\xfc\xff\xff", b"\xff" * 9), 3)
            yield Conversation(False, packet(changed, 1) if turn % 2 else mutated(draw, packet(HANDSHAKE, 1), (), 2))
            continue
        commands = [draw.choice(COMMANDS) for _ in range(draw.randrange(1, 5))]
        if draw.random() < 0.2:
            commands.append(b"\x03" + statement(draw).replace("education", "sex").replace("wealth", "income").encode())
        if turn % 3 == 1:
            yield Conversation(True, b"".join(packet(mutated(draw, command, WORDS, 3)) for command in commands))
        else:
            yield Conversation(True, mutated(draw, b"".join(map(packet, commands)), WORDS, 2))


def served(
    desk: FrontDesk, loop: asyncio.AbstractEventLoop, secrets: tuple[str, ...]
) -> Callable[[Conversation], None]:
    numbers, control = count(1), LocalControl()
    [ada] = list_users(desk.vault.path)

    async def serve(said: Conversation) -> bytes:
        session, tape = MySession(OneSchema(desk)), Tape(said.sent)
        stream = Taped(tape, lambda: 60.0)
        connection = GuardedConnection(stream, session, control, Tokens(session), CAPABILITIES, None)
        connection.connection_id = next(numbers) % 2**32

        async def enter() -> None:
            session.username, session.token, session.database = ada.name, ada.token, "discreet"
            connection.capabilities, stream.in_handshake = CAPABILITIES, False

        if said.entered:
            connection.connection_phase = enter
        await connection.serve()
        return bytes(tape.told)

    def feed(said: Conversation) -> None:
        told = loop.run_until_complete(serve(said))
        for number, payload in enumerate(_packets(told)):
            text = payload.decode("utf-8", "replace")
            leak = next((word for word in (FAILED, *DRIVERS_WORDS, *secrets) if word in text), None)
            if payload[:1] == b"\xff" and leak is not None:
                raise Loose(f"packet {number}: {text[:500]}")

    return feed


def _packets(told: bytes) -> Iterator[bytes]:
    """What was told, packet by packet. Raises where it is no row of whole packets."""
    place = 0
    while place < len(told):
        length = int.from_bytes(told[place : place + 3], "little")
        payload = told[place + 4 : place + 4 + length]
        if len(payload) != length:
            raise Loose("the server told half a packet")
        yield payload
        place += 4 + length


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_packet_crashes_hangs_or_tells(shard, desk, monkeypatch, amount, counted):
    monkeypatch.setattr(streaming, "Plain", lambda tape: tape)
    secrets = (str(desk.vault.path), "people.parquet")
    with asyncio.Runner() as runner:
        feed = served(desk, runner.get_loop(), secrets)
        ended = fuzz(conversations(Random(shard), amount(150, 25_000)), feed)
    counted(conversations=ended.total(), crashes=0, hangs=0)
    assert ended["taken"] == ended.total()
    assert desk.vault.ledger.spent_max <= desk.vault.ledger.budget.limit
