"""One client's session: each statement is answered from the session, from the catalogue, or by the vault.

Only the last can spend. It goes over the same front desk as HTTP: role, rate, quota, audit log and time slots.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import anyio.to_thread
from mysql_mimic import ResultSet
from mysql_mimic.errors import MysqlError
from mysql_mimic.session import BaseSession

from discreet.answer.grid_rows import samples
from discreet.answer.reply import Answer, Explanation
from discreet.answer.view import LabelKind
from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTables
from discreet.errors import (
    AccessDenied,
    BudgetExceeded,
    DeadlinePassed,
    DiscreetError,
    DomainError,
    InvalidNoise,
    QuotaExceeded,
    TooManyRequests,
    UnknownTable,
    UnsupportedQuery,
)
from discreet.plain import plain
from discreet.query.query import Count, group_attribute
from discreet.server.auth import User
from discreet.server.desk import FrontDesk
from discreet.server.log import RequestOrigin, log_outcome, origin
from discreet.server.mysql.catalogue import BESIDE, INFORMATION, Catalogue, information_schema, show_server
from discreet.server.mysql.columns import (
    Cell,
    ClientRows,
    label_cell,
    label_column,
    number_column,
    text_column,
    whole_column,
)
from discreet.server.mysql.dates import standard_text
from discreet.server.mysql.ends import AskedEnd, with_ends, without_ends
from discreet.server.mysql.keys import key_columns
from discreet.server.mysql.probe import Tables, evaluate
from discreet.server.mysql.sample import REMEMBERED, look
from discreet.server.mysql.schemas import Schemas
from discreet.server.mysql.seats import Seats
from discreet.server.mysql.text import Token, TokenList, read_statement, renamed, schemas_named
from discreet.server.mysql.variables import VERSION, fresh_variables, set_variables, value_of, wish_of
from discreet.sql.parse import parse
from discreet.sql.question import GroupColumn, Question
from discreet.sql.tokens import shown
from discreet.vault.vault import Vault

CODES: dict[type[DiscreetError], int] = {
    AccessDenied: 1142,  # ER_TABLEACCESS_DENIED_ERROR
    UnknownTable: 1146,  # ER_NO_SUCH_TABLE
    UnsupportedQuery: 1235,  # ER_NOT_SUPPORTED_YET
    DomainError: 1054,  # ER_BAD_FIELD_ERROR
    InvalidNoise: 1231,  # ER_WRONG_VALUE_FOR_VAR
    BudgetExceeded: 1226,  # ER_USER_LIMIT_REACHED
    QuotaExceeded: 1226,
    TooManyRequests: 1226,
    DeadlinePassed: 3024,  # ER_QUERY_TIMEOUT
}
"""MySQL's numbers for what is refused; everything else is no fault of who asks: 1105."""
FAILED = "the server failed; what was charged stands, see `discreet ledger show`"
NOTHING_TO_DO = ("begin", "start", "commit", "rollback", "savepoint", "release", "lock", "unlock", "flush")
"""Of transactions and locks: everything here is read, and every answer is final."""
NO_DATABASE, NO_ACCESS = 1046, 1044
SYSTEM = ("information_schema", "mysql", "performance_schema", "sys", "dual")


class MysqlRefusal(MysqlError):  # type: ignore[misc]
    """An error of ours in the same words, under MySQL's number."""

    def __init__(self, error: DiscreetError) -> None:
        self.kind = type(error).__name__
        code = next((number for kind, number in CODES.items() if isinstance(error, kind)), 1105)
        super().__init__(f"{self.kind}: {error}", code)


async def _never() -> None:
    await asyncio.Event().wait()


@dataclass
class MySession(BaseSession):  # type: ignore[misc]
    """What a connection remembers between statements."""

    schemas: Schemas
    variables: Any = field(default_factory=fresh_variables)
    username: str | None = None
    database: str | None = None
    notes: tuple[tuple[str, str], ...] = ()
    """What SHOW WARNINGS tells: the level of each note, and its words."""
    connection_id: int = 0
    token: str = ""
    """The hash of the token that opened the session: another one of the same name does not keep it open."""
    address: str = ""
    left: Callable[[], Awaitable[object]] = field(default=_never)
    """Returns when the client has gone."""
    seats: Seats = field(default_factory=Seats)
    seated_as: str | None = None
    """Whose session it is counted as."""
    _desk: FrontDesk | None = None
    """Of the vault that the present statement is about."""
    _schema: str = ""
    """What that vault is called here."""

    @property
    def desk(self) -> FrontDesk:
        if self._desk is None:
            raise MysqlError("no database is selected; USE one of SHOW DATABASES, or connect with it", NO_DATABASE)
        return self._desk

    @property
    def tables(self) -> LinkedTables:
        return self.desk.vault.linked

    def sit_down(self) -> None:
        """Count the session as its user's. Raises MysqlError where they have too many."""
        assert self.username is not None
        self.seats.take(self.username)
        self.seated_as = self.username

    def stand_up(self) -> None:
        if self.seated_as is not None:
            self.seats.leave(self.seated_as)
            self.seated_as = None

    def idle_seconds(self) -> float:
        """For how long the client may be silent between two statements."""
        return float(self.variables.get_variable("wait_timeout"))

    async def reset(self) -> None:
        self.variables, self.database, self.notes = fresh_variables(), self.schemas.default, ()

    async def use(self, database: str) -> None:
        there = [*self.databases(), INFORMATION]
        found = next((name for name in there if name.lower() == database.lower()), None)
        if found is None:
            raise MysqlError(f"there is no database {shown(database)}; there is {', '.join(there[:-1])}", 1049)
        self.database = found

    async def handle_query(self, sql: str, attrs: dict[str, str]) -> ResultSet:  # noqa: ARG002
        """Answer a statement. Whoever was revoked in the meantime is told so, and nothing else."""
        come = RequestOrigin(self.address)
        before, outcome = origin.set(come), "answered"
        try:
            return await self._handled(sql)
        except MysqlError as error:
            outcome = error.kind if isinstance(error, MysqlRefusal) else str(int(error.code))
            raise
        finally:
            origin.reset(before)
            if self._desk is not None:
                log_outcome(self._desk.vault.path, come, outcome)
            self._desk = None

    async def _handled(self, sql: str) -> ResultSet:
        try:
            opened = await anyio.to_thread.run_sync(self.opened)
            user = next(iter(opened.values()))
            self.schemas.turns.bucket.take(user.name)
            ansi_quotes = "ANSI" in self.variables.get_variable("sql_mode").upper()
            async with self.schemas.turns.at_work(user, self.left), AsyncExitStack() as closing:
                statement = await anyio.to_thread.run_sync(read_statement, sql, ansi_quotes)
                schema = self._schema_of(statement, opened)
                if schema is not None:
                    user = opened[schema]
                    await self._enter(schema, closing)
                found = await self._answer(statement, user)
        except MysqlError:
            raise
        except DiscreetError as error:
            raise MysqlRefusal(error) from None
        except Exception:
            raise MysqlError(FAILED) from None
        return found.at_most(int(self.variables.get_variable("sql_select_limit"))).to_result()

    def opened(self) -> dict[str, User]:
        """The schemas that the session's token opens as of now, and as whom."""
        found = self.schemas.users(self.username or "")
        now = datetime.now(UTC)
        theirs = {name: user for name, user in found.items() if user.token == self.token and not user.is_expired(now)}
        if not theirs:
            raise AccessDenied("your token was revoked or has expired; ask the custodian for another")
        return theirs

    def databases(self) -> list[str]:
        return [self.schemas.default] if self.schemas.default is not None else list(self.opened())

    async def _enter(self, schema: str, closing: AsyncExitStack) -> None:
        """Have the vault of a schema at hand until a statement is answered. Opening it may take its time."""
        using = self.schemas.using(schema)
        self._desk, self._schema = await anyio.to_thread.run_sync(using.__enter__), schema
        closing.push(using.__exit__)

    @asynccontextmanager
    async def within(self) -> AsyncIterator[None]:
        """The vault of the schema in use, for what is no statement."""
        try:
            async with AsyncExitStack() as closing:
                if self.database in (opened := await anyio.to_thread.run_sync(self.opened)):
                    await self._enter(str(self.database), closing)
                elif self.schemas.default in opened:
                    await self._enter(str(self.schemas.default), closing)
                yield
        finally:
            self._desk = None

    def _schema_of(self, statement: TokenList, opened: Mapping[str, User]) -> str | None:
        """The schema that a statement is about: the one that it names, or the one in use. Raises where it names two, or
        one that the token does not open."""
        if self.schemas.default is not None:
            return self.schemas.default
        named = schemas_named(statement) - set(SYSTEM)
        if len(named) > 1:
            raise UnsupportedQuery("a statement is about one vault; ask each for itself, and join the answers")
        known = {name.lower(): name for name in opened}
        for name in named:
            if name not in known:
                raise MysqlError(f"your token opens no database {shown(name)}; see SHOW DATABASES", NO_ACCESS)
            return known[name]
        return self.database if self.database in opened else None

    async def _answer(self, statement: TokenList, user: User) -> ClientRows:
        tokens = statement.tokens
        if not tokens:
            raise MysqlError("there is no statement; ask with one SELECT", 1065)
        before, self.notes = self.notes, ()
        if tokens[0].is_word("show"):
            listed = self.variables.list()
            show = partial(show_server, databases=self.databases()) if self._desk is None else self.catalogue.show
            _require_schema(statement, self._desk)
            found = await anyio.to_thread.run_sync(lambda: show(statement, variables=listed, notes=before))
        else:
            found = await self._other(statement, tokens, user)
        self.notes = before if statement.begins("show", "warnings") else _levelled(found)
        return found

    async def _other(self, statement: TokenList, tokens: list[Token], user: User) -> ClientRows:
        match tokens[0].value:
            case "set":
                await anyio.to_thread.run_sync(partial(set_variables, statement, self.variables, self._value_of))
                return ClientRows()
            case "use" if len(tokens) == 2:
                await self.use(tokens[1].value)
                return ClientRows()
            case "describe" | "desc" | "explain" if len(tokens) > 1 and not tokens[1].is_word(
                "select", "with", "format"
            ):
                return self.catalogue.describe(tokens[1:])
            case "describe" | "desc" | "explain" if len(tokens) > 1 and tokens[1].is_word("select", "with"):
                return explained(await self._explained(statement, 1, user))
            case "describe" | "desc" | "explain" if _is_format(tokens):
                found = await self._explained(statement, 4, user)
                return explained_as_json(found) if tokens[3].value == "json" else explained(found)
            case word if word in NOTHING_TO_DO:
                return ClientRows()
            case "select" if not self._is_of_table(tokens):
                return await anyio.to_thread.run_sync(partial(self._evaluated, statement))
        of_table = self._of_table(statement)
        intervals = of_table != statement or bool(self.variables.get_variable("discreet_intervals"))
        return await self._asked(self._standard(of_table), user, intervals)

    def _standard(self, statement: TokenList) -> str:
        return standard_text(statement, self._schema, self.tables.names)

    @property
    def catalogue(self) -> Catalogue:
        lookups = self.desk.vault.lookups.current()
        return Catalogue(self.tables, lookups, self._schema, self.databases())

    def _information(self) -> Tables:
        """information_schema: the tables of every schema, and the look-up tables of the one at hand."""
        own = [] if self._desk is None else [self.catalogue]
        databases = self.databases()
        others = [name for name in databases if not own or name != own[0].database]
        tables = [(name, self.schemas.tables(name)) for name in others]
        found = [Catalogue(linked, {}, name, databases) for name, linked in tables if linked is not None]
        return information_schema([*own, *found], databases)

    def _of_table(self, statement: TokenList) -> TokenList:
        """A statement over views with intervals as one over the tables themselves."""
        for view, table in Catalogue(self.tables).views.items():
            statement = renamed(statement, view, table.name)
        return statement

    def _is_of_table(self, tokens: Sequence[Token]) -> bool:
        """Whether a SELECT reads anything but the catalogue. One that names no table reads nothing."""
        sources = [after for token, after in pairwise(tokens) if token.is_word("from", "join")]
        if self.database == "information_schema":
            return any(source.value in map(str.lower, self.databases()) for source in sources)
        own = () if self._desk is None else tuple(map(str.lower, self.tables.names))
        system = {name for name in SYSTEM if name not in own}
        return any(source.value not in system and not source.is_sign("(") for source in sources)

    def _evaluated(self, statement: TokenList) -> ClientRows:
        name = f"{self.username}@discreet"
        about = {
            "version": VERSION,
            "database": self.database,
            "schema": self.database,
            "connection_id": self.connection_id,
            **dict.fromkeys(("user", "current_user", "session_user", "system_user"), name),
        }
        return evaluate(statement, partial(value_of, self.variables), about, self._information())

    async def _asked(self, text: str, user: User, intervals: bool) -> ClientRows:
        overs, text = await anyio.to_thread.run_sync(self.desk.vault.asked_of, text)
        domain = overs[0].domain
        if len(overs) == 1:
            keys = key_columns(self.tables[domain.name], self.tables)
            sampled = await anyio.to_thread.run_sync(partial(look, text, domain, keys))
            if sampled is not None:
                return sampled
        wish = wish_of(self.variables)
        asked, ends = await anyio.to_thread.run_sync(without_ends, text, _names(overs)) if intervals else (text, ())
        answer = await self.desk.answer(user, "ask", {"sql": asked, **wish}, lambda vault: vault.ask(asked, **wish))
        self._require_answered(answer)
        return await anyio.to_thread.run_sync(partial(answered, answer, domain, intervals, ends))

    def _require_answered(self, answer: Answer) -> None:
        """Raise BudgetExceeded where a number is none because too little is left, unless such numbers may be NULL."""
        said = self.variables.get_variable("discreet_null_unanswered")
        if (self.desk.vault.policy.null_unanswered if said is None else said) or not _is_unanswered(answer):
            return
        why = "; ".join(answer.footnotes())
        raise BudgetExceeded(f"{why}. SET discreet_null_unanswered = 1 shows such numbers as NULL, and the rest")

    async def _explained(self, statement: TokenList, skipped: int, user: User) -> Explanation:
        """What the SELECT would cost that comes after so many words."""
        text = self._standard(_after_first(self._of_table(statement), skipped)).strip()
        overs, text = await anyio.to_thread.run_sync(self.desk.vault.asked_of, text)
        asked, _ = await anyio.to_thread.run_sync(without_ends, text, _names(overs))
        return await anyio.to_thread.run_sync(partial(self.desk.explain, user, asked, wish_of(self.variables)))

    def _value_of(self, written: Sequence[Token]) -> Cell:
        """The value of an expression over variables, as a SET has them."""
        space = Token("space", " ", " ")
        spaced = [piece for token in written for piece in (token, space)]
        found = self._evaluated(TokenList((Token("word", "SELECT", "select"), space, *spaced)))
        return found.rows[0][0]


def _names(overs: Sequence[Vault]) -> tuple[str, ...]:
    """The attributes of the tables that a statement is about."""
    return tuple(dict.fromkeys(name for over in overs for name in over.domain.names))


def _require_schema(statement: TokenList, desk: FrontDesk | None) -> None:
    """Raise where a SHOW is of a schema's own things, and there is none."""
    tokens = [token for token in statement.tokens[1:] if not token.is_word(*BESIDE)]
    if desk is None and tokens and tokens[0].is_word("tables", "table", "columns", "fields", "create"):
        raise MysqlError("no database is selected; USE one of SHOW DATABASES, or connect with it", NO_DATABASE)


def _is_unanswered(answer: Answer) -> bool:
    """Whether a number could not be answered: too little is left, and nothing that was released comes near."""
    return any(row.is_unanswered for row in samples(answer.rows))


def _is_short(answer: Answer) -> bool:
    """Whether a number is not what was asked for, because too little was left for that."""
    return any(row.is_unanswered or row.is_near for row in samples(answer.rows))


def _levelled(found: ClientRows) -> tuple[tuple[str, str], ...]:
    return tuple(("Warning" if found.is_short else "Note", note) for note in found.notes)


def _is_format(tokens: Sequence[Token]) -> bool:
    """Whether a statement begins with EXPLAIN FORMAT = … SELECT."""
    return (
        len(tokens) > 4
        and tokens[1].is_word("format")
        and tokens[2].is_sign("=")
        and tokens[4].is_word("select", "with")
    )


def _after_first(statement: TokenList, skipped: int) -> TokenList:
    """The SELECT of an EXPLAIN SELECT, after so many words of its own."""
    places = [place for place, token in enumerate(statement.written) if token.kind != "space"]
    return TokenList(statement.written[places[skipped] :])


@lru_cache(REMEMBERED)
def _question(text: str, domain: Domain) -> Question:
    return parse(text, domain)


def answered(answer: Answer, domain: Domain, intervals: bool, ends: tuple[AskedEnd, ...] = ()) -> ClientRows:
    """An answer as rows: the columns in the order they were asked for, on request each noisy one with its interval, and
    each line with where its numbers come from. Where `ends` were asked for by name, there are those and no more."""
    if ends:
        return with_ends(answered(answer, domain, False), answered(answer, domain, True), ends)
    if answer.is_statement:
        return _statement_rows(answer, intervals)
    question = _question(answer.text, domain)
    whole = _whole_counts(answer, question)
    columns = []
    for column in question.columns:
        if isinstance(column, GroupColumn):
            columns.append(label_column(column.name, group_attribute(column.attribute, domain)))
        else:
            columns.append((whole_column if column.name in whole else number_column)(column.name))
            extra = ("_low", "_high", "_shrunken") if intervals else ()
            columns += [number_column(f"{column.name}{end}") for end in extra]
            columns += [whole_column(f"{column.name}_may_be_zero")] * intervals
    if intervals:
        columns += [text_column("discreet_kind"), text_column("discreet_answered_for")]
    rows = []
    for labels, numbers in answer.lines:
        cells: list[Cell] = []
        found = {row.column: row for row in numbers}
        for column in question.columns:
            if isinstance(column, GroupColumn):
                cells.append(
                    label_cell(group_attribute(column.attribute, domain), labels[question.by.index(column.attribute)])
                )
            else:
                row = found[column.name]
                cells.append(int(row.value) if column.name in whole and row.value is not None else row.value)
                cells += (row.low, row.high, row.shrunken, int(row.may_be_zero)) if intervals else ()
        if intervals:
            cells += answer.origins(list(found.values()))
        rows.append(tuple(cells))
    return ClientRows(tuple(columns), tuple(rows), tuple(answer.footnotes()), _is_short(answer))


def _whole_counts(answer: Answer, question: Question) -> set[str]:
    """The counts of an answer that are whole in every line: whole numbers to clients, too."""
    counts = {c.name for c in question.columns if not isinstance(c, GroupColumn) and isinstance(c.query, Count)}
    return counts - {
        row.column
        for _, numbers in answer.lines
        for row in numbers
        if row.value is not None and not float(row.value).is_integer()
    }


def _statement_rows(answer: Answer, intervals: bool) -> ClientRows:
    """The rows of an answer whose columns are what a public half made of them."""
    made = {"text": text_column, "date": text_column, "whole": whole_column, "number": number_column}
    kinds = dict(zip(answer.by, answer.label_kinds, strict=True))
    columns = []
    for name in answer.order:
        if name in kinds:
            columns.append(made[kinds[name]](name))
        else:
            ends = ("", "_low", "_high") if intervals else ("",)
            columns += [number_column(f"{name}{end}") for end in ends]
            columns += [whole_column(f"{name}_may_be_zero")] * intervals
    if intervals:
        columns += [text_column("discreet_kind"), text_column("discreet_answered_for")]
    rows = []
    for labels, numbers in answer.lines:
        cells: list[Cell] = []
        of_label, of_number = dict(zip(answer.by, labels, strict=True)), {row.column: row for row in numbers}
        for name in answer.order:
            if name in kinds:
                cells.append(_typed(of_label[name], kinds[name]))
            else:
                row = of_number[name]
                cells.append(row.value)
                cells += (row.low, row.high, int(row.may_be_zero)) if intervals else ()
        if intervals:
            cells += answer.origins(numbers)
        rows.append(tuple(cells))
    return ClientRows(tuple(columns), tuple(rows), tuple(answer.footnotes()), _is_short(answer))


def _typed(label: str | None, kind: LabelKind) -> Cell:
    if label is None or kind in ("text", "date"):
        return label
    return int(label) if kind == "whole" else float(label)


def explained(found: Explanation) -> ClientRows:
    """What asking would cost, a line for each aggregate."""
    columns = (text_column("aggregate"), text_column("from"), number_column("halfwidth"), number_column("scale"),
               number_column("cost"), number_column("left"), whole_column("more"))  # fmt: skip
    rows = tuple(
        (f.column, ", ".join(f.kinds), f.halfwidth, f.scale, float(found.cost), float(found.left), found.more)
        for f in found.forecasts
    )
    return ClientRows(columns, rows, found.notes)


def explained_as_json(found: Explanation) -> ClientRows:
    """The same as EXPLAIN FORMAT=JSON has it: all that is foreseen, in one cell."""
    text = json.dumps(found, ensure_ascii=False, default=plain)
    return ClientRows((text_column("EXPLAIN"),), ((text,),), found.notes)
