"""A connection that nothing a client sends can hang, crash or talk past its token.

mysql-mimic speaks the protocol. What is bounded or refused here, it does not bound or refuse: the size of a packet, a
packet that ends within a name (it would read on for ever), commands after a failed handshake, prepared statements
without end, and an exception's words in a reply.
"""

import asyncio
import io
from datetime import UTC, datetime
from typing import Any

from mysql_mimic import packets
from mysql_mimic.auth import AuthPlugin, IdentityProvider, NativePasswordAuthPlugin
from mysql_mimic.auth import User as Identity
from mysql_mimic.charset import CharacterSet
from mysql_mimic.connection import Connection
from mysql_mimic.errors import ErrorCode, MysqlError
from mysql_mimic.prepared import PreparedStatement
from mysql_mimic.stream import ConnectionClosed
from mysql_mimic.types import ServerStatus, uint_len

from discreet.errors import DiscreetError
from discreet.server.auth import User
from discreet.server.log import RequestOrigin, log_denied
from discreet.server.mysql.catalogue import INFORMATION
from discreet.server.mysql.session import MySession, MysqlRefusal
from discreet.server.mysql.text import TokenList, read_statement
from discreet.server.mysql.variables import MOST_BYTES

UNSUPPORTED, NO_PLAIN = 1047, 3159
NOT_UNDERSTOOD = "the packet was not understood; is this a MySQL client?"
NO_ENTRY = (
    "access denied: the password is a token of `discreet user add`, made since this vault was first served over MySQL; "
    "`discreet user rotate` gives another"
)
MOST_PREPARED = 256
MOST_PARAMETERS = 256
HANDSHAKE_SECONDS = 10
EXECUTE_HEAD = 9
"""Bytes of an execution before its parameters: the statement, flags, a count that is always 1."""
OVER_MYSQL = {"method": "MySQL", "path": "sign in"}
NOBODY = "00" * 20
"""A hash that no password is known for: whoever may not enter is told so at the same point as a wrong password."""


class Tokens(IdentityProvider):  # type: ignore[misc]
    """The users of the schema that a client asks for, or of all where it names none; passwords are their tokens.
    `known` are those of the name that knocks, `found` is the one whose token it was."""

    def __init__(self, session: MySession) -> None:
        self.session = session
        self.wanted: str | None = None
        self.known: list[User] = []
        self.found: User | None = None

    def get_plugins(self) -> list[AuthPlugin]:
        return [AnyOfThem(self)]

    async def get_user(self, username: str) -> Identity:
        users, now = await asyncio.to_thread(self.session.schemas.users, username), datetime.now(UTC)
        self.known = [
            user
            for schema, user in users.items()
            if user.native and not user.is_expired(now) and self._is_wanted(schema)
        ]
        return Identity(username, auth_string=NOBODY)

    def _is_wanted(self, schema: str) -> bool:
        wanted = (self.wanted or "").lower()
        return wanted in ("", INFORMATION, schema.lower())


class AnyOfThem(NativePasswordAuthPlugin):  # type: ignore[misc]
    """MySQL's native passwords, where one name may have a token of its own in each schema."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def password_matches(self, user: Identity, scramble: bytes, nonce: bytes) -> bool:
        """Each is tried, whichever fits; one at least, so that a name that there is none of takes as long."""
        self.verify_scramble(user.auth_string, scramble, nonce)
        for known in self.tokens.known:
            if self.verify_scramble(known.native, scramble, nonce):
                self.tokens.found = known
        return self.tokens.found is not None


class GuardedConnection(Connection):  # type: ignore[misc]
    """One client. `session` is always a MySession, `stream` a Stream, `identity_provider` the session's Tokens."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.parameter_types: dict[int, bytes] = {}

    async def serve(self) -> None:
        """Speak with the client until either ends it. Nothing is raised but a cancellation."""
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await self.connection_phase()
            await self.command_phase()
        except (ConnectionClosed, OSError, TimeoutError):
            return
        except Exception as error:
            await self._last_word(error)

    async def _last_word(self, error: Exception) -> None:
        known = isinstance(error, MysqlError)
        code = error.code if known else ErrorCode.HANDSHAKE_ERROR  # type: ignore[attr-defined]
        try:
            await self.stream.write(self.error(msg=error.msg if known else error, code=code))  # type: ignore[attr-defined]
            await self.stream.linger()
        except (OSError, RuntimeError):
            return  # nobody listens any more

    @property
    def status_flags(self) -> ServerStatus:
        """Whether the session commits by itself, as far as its client has said so: here there is nothing to commit."""
        commits = self.session.variables.get_variable("autocommit")
        return ServerStatus.SERVER_STATUS_AUTOCOMMIT if commits else ServerStatus(0)

    @status_flags.setter
    def status_flags(self, _: ServerStatus) -> None:
        """mysql-mimic begins with none."""

    @property
    def server_charset(self) -> CharacterSet:
        """Results are UTF-8, whatever a client says: every label and every message can be written in it."""
        return CharacterSet.utf8mb4

    def error(self, *, msg: Any, code: int = ErrorCode.UNKNOWN_ERROR) -> bytes:
        """An exception's own words are not for clients, nor whether a user exists."""
        if code == ErrorCode.ACCESS_DENIED_ERROR:
            msg = NO_ENTRY
            log_denied(
                self.session.schemas.log_home, RequestOrigin(self.session.address), None, "AccessDenied", OVER_MYSQL
            )
        return bytes(super().error(msg=NOT_UNDERSTOOD if isinstance(msg, Exception) else msg, code=code))

    def ok(self, **kwargs: Any) -> bytes:
        """The first one lets a client in, unless they have too many sessions."""
        if self.stream.in_handshake:
            self.session.sit_down()
        return bytes(super().ok(**kwargs))

    def ok_or_eof(self, **kwargs: Any) -> bytes:
        """The number of notes goes with every result: see SHOW WARNINGS."""
        # The number of rows is no number of affected rows, which some drivers take it for.
        said = {"warnings": min(len(self.session.notes), 2**16 - 1), **kwargs, "affected_rows": 0}
        return bytes(super().ok_or_eof(**said))

    async def authenticate(self, **kwargs: Any) -> None:
        """Let somebody in, or end the connection."""
        if self.ssl is not None and not self.stream.is_encrypted:
            raise MysqlError("this server speaks TLS only; connect with it", NO_PLAIN)
        schemas, wanted = self.session.schemas, self.session.database
        if schemas.default is not None:
            await self.session.use(wanted or schemas.default)
        self.identity_provider.wanted = wanted if schemas.default is None else None
        await super().authenticate(**kwargs)
        found = self.identity_provider.found
        if self.session.username is None or found is None:
            raise ConnectionClosed
        self.session.token, self.session.connection_id = found.token, self.connection_id
        self.stream.in_handshake = False
        if schemas.default is None and wanted:
            await self.session.use(wanted)  # to whoever has no token for it there is no such schema

    async def handle_change_user(self, data: bytes) -> None:  # noqa: ARG002
        raise MysqlError("changing the user is not supported; connect again", UNSUPPORTED)

    async def handle_reset_connection(self, data: bytes) -> None:
        await self.session.reset()
        self.prepared_stmts.clear()
        self.parameter_types.clear()
        await super().handle_reset_connection(data)

    async def handle_field_list(self, data: bytes) -> None:
        """The columns of a table, a packet each: older clients complete names with them."""
        table = self.client_charset.decode(data.partition(b"\0")[0])
        try:
            async with self.session.within():
                columns = self.session.catalogue.columns_of(table)
        except DiscreetError as error:
            raise MysqlRefusal(error) from None
        for listed in columns:
            column = listed.sampled
            await self.stream.write(
                packets.make_column_definition_41(
                    self.server_charset, table=table, name=column.name, column_type=column.type, is_com_field_list=True
                ),
                drain=False,
            )
        await self.stream.write(self.ok_or_eof())

    async def handle_stmt_prepare(self, data: bytes) -> None:
        sql = self.client_charset.decode(data)
        try:
            marks = sum(token.is_sign("?") for token in read_statement(sql).written)
        except DiscreetError as error:
            raise MysqlRefusal(error) from None
        if marks > MOST_PARAMETERS or len(self.prepared_stmts) >= MOST_PREPARED:
            raise MysqlError(
                f"at most {MOST_PREPARED} prepared statements are kept, of at most {MOST_PARAMETERS} parameters each",
                ErrorCode.NOT_SUPPORTED_YET,
            )
        statement = PreparedStatement(stmt_id=next(self.prepared_stmt_seq), sql=sql, num_params=marks)
        self.prepared_stmts[statement.stmt_id] = statement
        for packet in self.com_stmt_prepare_response(statement):
            await self.stream.write(packet, drain=False)
        await self.stream.drain()

    async def handle_stmt_send_long_data(self, data: bytes) -> None:
        """Nobody waits for a reply to this: a statement that grows too large is forgotten, and its execution fails."""
        statement = self.prepared_stmts.get(int.from_bytes(data[:4], "little"))
        if statement is None:
            return
        if len(data) + sum(map(len, (statement.param_buffers or {}).values())) > MOST_BYTES:
            del self.prepared_stmts[statement.stmt_id]
            return
        await super().handle_stmt_send_long_data(data)

    async def handle_stmt_execute(self, data: bytes) -> None:
        """Run a prepared statement. All rows are sent at once, also to clients that would fetch them in parts."""
        statement = self.get_stmt(int.from_bytes(data[:4], "little"))
        result = await self.query(_filled(read_statement(statement.sql), self._values(statement, data)), {})
        if not result:
            await self.stream.write(self.ok())
            return
        await self.stream.write(uint_len(len(result.columns)), drain=False)
        for column in result.columns:
            definition = packets.make_column_definition_41(
                self.server_charset, name=column.name, column_type=column.type, character_set=column.character_set
            )
            await self.stream.write(definition, drain=False)
        if not self.deprecate_eof():
            await self.stream.write(self.eof(), drain=False)
        for row in result.rows:
            await self.stream.write(packets.make_binary_resultrow(row, result.columns), drain=False)
        await self.stream.write(self.ok_or_eof())

    def _values(self, statement: PreparedStatement, data: bytes) -> list[Any]:
        """The parameters of an execution. Clients send their types the first time only."""
        count, buffers = statement.num_params, statement.param_buffers
        statement.param_buffers = None
        if not count:
            return []
        types_at = EXECUTE_HEAD + (count + 7) // 8 + 1
        bitmap, values_at = data[EXECUTE_HEAD : types_at - 1], types_at
        if data[types_at - 1]:
            values_at = types_at + 2 * count
            self.parameter_types[statement.stmt_id] = data[types_at:values_at]
        types = self.parameter_types.get(statement.stmt_id, b"")
        reader = io.BytesIO(bitmap + b"\x01" + types + data[values_at:])
        return [v for _, v in packets._read_params(self.capabilities, self.client_charset, reader, count, buffers)]

    async def handle_stmt_close(self, data: bytes) -> None:
        self.parameter_types.pop(int.from_bytes(data[:4], "little"), None)
        await super().handle_stmt_close(data)

    async def handle_stmt_fetch(self, data: bytes) -> None:  # noqa: ARG002
        raise MysqlError("all rows were sent when the statement was executed", UNSUPPORTED)


def _filled(statement: TokenList, values: list[Any]) -> str:
    """The text of a statement with its parameters in it, as MySQL would write them."""
    left = iter(values)
    return "".join(_literal(next(left)) if token.is_sign("?") else token.text for token in statement.written)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return repr(value)
