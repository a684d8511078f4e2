"""The MySQL port against packets that no honest client sends: it says so, or hangs up, and goes on."""

import contextlib
import random
import socket
import struct

import pymysql
import pytest
from pymysql.constants import COMMAND

from discreet.server import wire
from discreet.server.auth import add_user
from discreet.server.mysql import connection as guarded
from discreet.server.mysql import seats, stream
from tests.patience import PATIENCE, wait_until
from tests.server.conftest import hung_up_on
from tests.server.mysql_clients import rows, served_over_mysql

CAPABILITIES = 0x000FA685  # 4.1, secure connection, plugins
PLUGIN = b"mysql_native_password\0"
PONG = b"\x07\x00\x00\x01" + bytes(7)  # OK
COUNTS = "SELECT COUNT(*) AS n FROM people WHERE age < 60"


@pytest.fixture
def server(folder):
    with served_over_mysql(folder) as found:
        yield found


def packet(payload, number=0):
    return struct.pack("<I", len(payload) | number << 24) + payload


def head(capabilities=CAPABILITIES, collation=45):
    return struct.pack("<IIB", capabilities, 1 << 24, collation) + bytes(23)


def replies(server, sent):
    """Everything that the server says to these bytes after its greeting, until it hangs up."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
        greeting = client.recv(4, socket.MSG_WAITALL)
        client.recv(int.from_bytes(greeting[:3], "little"), socket.MSG_WAITALL)
        return conversation(client, sent)


def conversation(client, sent):
    said = b""
    with contextlib.suppress(OSError):  # who has heard enough may hang up first, and has said why
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
    with contextlib.suppress(OSError):
        while piece := client.recv(65_536):
            said += piece
    return said


BEFORE_ENTRY = {
    "nothing": b"",
    "half a header": b"\x05\x00",
    "a packet that ends early": packet(b"abc" * 20, 1)[:30],
    "no packet at all": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an empty packet": packet(b"", 1),
    "out of order": packet(head() + b"ada\0", 7),
    "larger than allowed": struct.pack("<I", 0xFFFFFF | 1 << 24) + b"x" * 100,
    "a name without an end": packet(head() + b"ada" * 50, 1),
    "a database without an end": packet(head(CAPABILITIES | 8) + b"ada\0\x14" + b"x" * 20 + b"disc", 1),
    "a collation that is none": packet(head(collation=0) + b"ada\0\0", 1),
    "TLS where there is none": packet(head(CAPABILITIES | 0x800), 1) + b"\x16\x03\x01" + b"x" * 100,
    "a name that is no text": packet(head() + b"\xff\xfe\xfd\0\0", 1),
    "a password longer than the packet": packet(head(CAPABILITIES | 8) + b"ada\0\xf0discreet\0", 1),
    "a password of many bytes": packet(head(CAPABILITIES | 8 | 1 << 21) + b"ada\0\xfe" + b"\xff" * 8 + b"\0", 1),
    "attributes without end": packet(
        head(CAPABILITIES | 1 << 20) + b"ada\0\0mysql_native_password\0\xfe" + b"\xff" * 8, 1
    ),
    "an answer of the wrong length": packet(head() + b"ada\0\x03abc" + PLUGIN, 1),
}


def test_what_is_no_handshake_is_refused_and_the_next_client_is_served(server):
    for name, sent in BEFORE_ENTRY.items():
        said = replies(server, sent)
        assert b"Traceback" not in said, name
        assert said == b"" or said[4] in (0xFF, 0xFE), name  # an error, or another plugin's turn
    with server.connect() as ada:
        assert rows(ada, "SELECT 1")[0] == [(1,)]


def test_a_command_after_a_failed_handshake_is_not_heard(server):
    response = packet(head() + b"ada\0\x14" + b"x" * 20 + PLUGIN, 1)
    said = replies(server, response + packet(b"\x03SHOW TABLES"))
    assert b"access denied" in said
    assert b"people" not in said


def test_a_client_that_says_nothing_is_hung_up_on(server, monkeypatch):
    monkeypatch.setattr(guarded, "HANDSHAKE_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
        while client.recv(65_536):
            pass


def let_in(server):
    with contextlib.suppress(pymysql.Error), server.connect() as again:
        return rows(again, "SELECT 1")[0]
    return None


def test_one_client_too_many_is_told_so_and_room_is_made_by_who_leaves(folder, monkeypatch):
    monkeypatch.setattr(wire, "places_by_descriptors", lambda: (1, 1))
    with served_over_mysql(folder) as server:
        with server.connect() as ada:
            with pytest.raises(pymysql.Error, match="too many connections"):
                server.connect()
            assert rows(ada, "SELECT 1")[0] == [(1,)]
        assert wait_until(lambda: let_in(server)) == [(1,)]


def test_sockets_that_say_nothing_keep_nobody_out(folder, monkeypatch):
    monkeypatch.setattr(wire, "places_by_descriptors", lambda: (8, 8))
    with served_over_mysql(folder) as server, contextlib.ExitStack() as silent:
        for _ in range(30):
            silent.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        with server.connect() as ada:
            assert rows(ada, "SELECT 1")[0] == [(1,)]


def test_one_user_has_so_many_sessions_and_others_have_theirs(server, monkeypatch):
    monkeypatch.setattr(seats, "MOST_OF_ONE", 2)
    bob = add_user(server.vault.path, "bob", "analyst")
    with server.connect(), server.connect():
        with pytest.raises(pymysql.Error, match="ada has 2 sessions open") as refused:
            server.connect()
        assert refused.value.args[0] == 1203
        with server.connect("bob", bob) as other:
            assert rows(other, "SELECT 1")[0] == [(1,)]
    assert wait_until(lambda: let_in(server)) == [(1,)]


def test_a_session_that_sleeps_is_closed_and_nobody_sleeps_longer_than_the_server_lets_them(server):
    with server.connect() as ada:
        rows(ada, "SET wait_timeout = 100000")
        assert rows(ada, "SELECT @@wait_timeout")[0] == [(600,)]
        rows(ada, "SET wait_timeout = 1")
        ada._sock.settimeout(PATIENCE)
        assert ada._sock.recv(1) == b""
    assert let_in(server) == [(1,)]


def test_a_packet_that_never_ends_and_a_reply_that_is_never_read_end_the_session(server, monkeypatch):
    with server.connect() as ada, monkeypatch.context() as hurried:
        hurried.setattr(stream, "PACKET_SECONDS", 0.1)
        ada._sock.sendall(struct.pack("<I", 100) + b"\x03SELECT")
        ada._sock.settimeout(PATIENCE)
        assert ada._sock.recv(1) == b""
    with server.connect() as ada:
        monkeypatch.setattr(stream, "SENDING_SECONDS", 0.1)
        asked = packet(b"\x03SELECT * FROM information_schema.columns, information_schema.collations, "
                       b"information_schema.columns AS b, information_schema.columns AS c")  # fmt: skip
        assert hung_up_on(ada._sock, asked * 100)


COMMANDS = {
    "an empty packet": (b"", b"was not understood"),
    "an unknown command": (b"\x7fx", b"Unsupported Command"),
    "a query that is no text": (b"\x03\xff\xfe\xfd", b"was not understood"),
    "another user": (b"\x11bob\0\0\0", b"connect again"),
    "an unknown statement": (b"\x17" + bytes(9), b"Unknown statement"),
    "a statement cut short": (b"\x17\x01", b"Unknown statement"),
    "fetching from nothing": (b"\x1c" + bytes(8), b"all rows were sent"),
    "the columns of no table": (b"\x04others", b"there is no table"),
    "no database": (b"\x02elsewhere", b"there is no database"),
}


def test_a_command_that_is_malformed_is_answered_with_an_error_and_the_connection_goes_on(server):
    for name, (sent, words) in COMMANDS.items():
        with server.connect() as ada:
            said = conversation(ada._sock, packet(sent) + packet(b"\x0e"))
            assert words in said, name
            assert said.endswith(PONG), name


def test_a_packet_that_is_too_large_is_refused_before_it_is_sent_whole(server):
    with server.connect() as ada, pytest.raises(pymysql.Error, match="a packet has at most 1,048,576 bytes"):
        rows(ada, "SELECT '" + "x" * (3 << 20) + "'")
    with server.connect() as ada:
        assert b"1,048,576 bytes" in conversation(ada._sock, struct.pack("<I", 2 << 20) + b"\x03")


def test_columns_of_a_table_come_a_packet_each(server):
    with server.connect() as ada:
        ada._execute_command(COMMAND.COM_FIELD_LIST, b"people\0")
        said = [bytes(ada._read_packet()._data) for _ in range(4)]
    assert [name in packet for name, packet in zip((b"age", b"sex", b"income"), said, strict=False)] == [True] * 3
    assert said[3][0] == 0xFE


def execute(connection, sql, *values):
    """A prepared statement with text parameters, over the binary protocol; the raw rows."""
    connection._execute_command(COMMAND.COM_STMT_PREPARE, sql)
    prepared = connection._read_packet()._data
    number, parameters = struct.unpack_from("<IHH", prepared, 1)[0], struct.unpack_from("<H", prepared, 7)[0]
    for _ in range(parameters + bool(parameters)):
        connection._read_packet()
    body, types = struct.pack("<IBI", number, 1, 1), b"\xfe\x00" * len(values)
    if not values:
        return run(connection, body)
    nulls, given = bytes((len(values) + 7) // 8), b"".join(bytes([len(value)]) + value for value in values)
    first = run(connection, body + nulls + b"\x01" + types + given)
    assert run(connection, body + nulls + b"\x00" + given) == first  # types are sent once
    return first


def run(connection, body):
    connection._execute_command(COMMAND.COM_STMT_EXECUTE, body)
    columns = connection._read_packet()._data[0]
    for _ in range(columns + 1):  # PyMySQL wants an end after the columns
        connection._read_packet()
    found = []
    while (data := connection._read_packet()._data)[0] != 0xFE:
        found.append(bytes(data))
    return found


def test_prepared_statements_take_parameters_whatever_quotes_they_hold(server):
    with server.connect() as ada:
        [(n,)], _ = rows(ada, "SELECT COUNT(*) AS n FROM people WHERE sex = 'F'")
        [row] = execute(ada, "SELECT COUNT(*) AS n FROM people WHERE sex = ?", b"F")
        assert struct.unpack("<q", row[-8:])[0] == n
        [row] = execute(ada, "SELECT ? AS it, '?' AS mark", b'it\'s \\ a ? "test"')
        assert row.endswith(b'it\'s \\ a ? "test"\x01?')
        with pytest.raises(pymysql.Error, match="no declared value"):
            execute(ada, "SELECT COUNT(*) FROM people WHERE sex = ?", b"F' OR sex = 'M")
        assert execute(ada, "SELECT * FROM people WHERE age > ?", b"3") == []


def test_prepared_statements_do_not_pile_up(server):
    with server.connect() as ada:
        for _ in range(guarded.MOST_PREPARED):
            ada._execute_command(COMMAND.COM_STMT_PREPARE, "SELECT 1")
            ada._read_packet()
        ada._execute_command(COMMAND.COM_STMT_PREPARE, "SELECT 1")
        with pytest.raises(pymysql.Error, match="at most 256 prepared"):
            ada._read_packet()
        ada._execute_command(COMMAND.COM_STMT_PREPARE, "SELECT " + "?," * 30_000)
        with pytest.raises(pymysql.Error, match="at most"):
            ada._read_packet()


def test_what_a_client_asked_that_left_is_bought_once_whether_it_was_stopped_or_not(server):
    with server.connect() as ada:
        ada._execute_command(COMMAND.COM_QUERY, COUNTS)
        ada._force_close()
    with server.connect() as again:
        rows(again, COUNTS)
        rows(again, COUNTS)
        assert rows(again, "SHOW WARNINGS")[0][-1][2] == "spent nothing"
    assert len(list(server.vault.releases())) == 1


def mutated(draw, text):
    data = bytearray(text)
    for _ in range(draw.randrange(1, 6)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(3):
            case 0:
                data[place:place] = draw.randbytes(draw.randrange(1, 9))
            case 1:
                del data[place : place + draw.randrange(1, 9)]
            case _:
                data[place : place + 1] = draw.randbytes(1)
    return bytes(data)


SEEDS = [
    b"\x03SHOW TABLES",
    b"\x03SELECT `a`, 'b' FROM dual -- c",
    b"\x03SET discreet_within = 30, sql_mode = ''",
    b"\x03DESCRIBE people",
    b"\x03SHOW VARIABLES LIKE '%'",
    b"\x16SELECT ?",
    b"\x17" + bytes(4) + b"\x01\x01" + bytes(4) + b"\x01\xfe\x00\x01a",
    b"\x18" + bytes(6) + b"abc",
    b"\x02discreet",
    b"\x04people\0",
    b"\x0e",
    b"\x1f",
    b"\x1a" + bytes(4),
]


def test_random_packets_crash_nothing_and_spend_nothing(server):
    draw, entries = random.Random(20261115), server.entries
    handshake = head(CAPABILITIES | 8) + b"ada\0\x14" + b"x" * 20 + b"discreet\0" + PLUGIN
    for _ in range(150):
        replies(server, mutated(draw, packet(handshake, 1)))
        replies(server, packet(mutated(draw, handshake), 1))
    for _ in range(30):
        with server.connect() as ada:
            sent = b"".join(packet(mutated(draw, draw.choice(SEEDS))) for _ in range(20))
            conversation(ada._sock, sent)
    with server.connect() as ada:
        assert rows(ada, "SELECT 1")[0] == [(1,)]
    assert server.entries == entries
