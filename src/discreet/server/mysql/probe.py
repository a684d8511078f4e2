"""SELECTs that do not touch the table: what tools ask on connecting, and the catalogue in information_schema.

SQLite evaluates them, in a database in memory that is made for one statement and holds nothing but the catalogue. It
may only select; its steps, its time and the size of its values are bounded, and so is LIKE, which is our own.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from time import monotonic
from typing import Any, TypeAlias

from mysql_mimic import ResultColumn

from discreet.errors import UnsupportedQuery
from discreet.server.mysql.columns import ClientRows, number_column, text_column, whole_column
from discreet.server.mysql.dates import convert_zone, time_as, time_between
from discreet.server.mysql.text import Token, TokenList, quoted, standard
from discreet.sql.tokens import shown

Tables: TypeAlias = Mapping[str, tuple[Sequence[str], Sequence[Sequence[Any]]]]
"""Of each table by its qualified name: the names of its columns, and its rows."""

MOST_STEPS, STEPS_AT_ONCE = 2_000_000, 100
MOST_SECONDS = 2.0
"""Looked at between so many steps: one step may search the longest value for another."""
MOST_LENGTH = 1 << 16
MOST_LIKE_STEPS = 5_000_000
"""Of all LIKEs of a statement: characters of a text times characters of a pattern."""
MOST_ROWS = 10_000
ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
SLOW = ("glob", "regexp", "match", "load_extension")
"""Functions whose time no count of steps bounds, or that are none of a client's business."""
COLLATIONS = ("utf8_bin", "utf8_general_ci", "utf8mb3_bin", "utf8mb3_general_ci", "utf8mb4_bin", "utf8mb4_general_ci",
              "utf8mb4_unicode_ci", "utf8mb4_0900_ai_ci", "latin1_swedish_ci")  # fmt: skip
CALLED = ("current_user", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
"""Functions that MySQL calls without parentheses as well."""


def evaluate(
    statement: TokenList, variable: Callable[[str], Any], about: Mapping[str, Any], tables: Tables
) -> ClientRows:
    """The rows of a SELECT over the catalogue, or over nothing. `about` is what functions such as VERSION() say."""
    names: dict[str, str] = {}
    text = "".join(_written(token, variable, names) for token in _called(_cast(statement.written)))
    words = {token.value for token in statement.written}
    named = {name: table for name, table in tables.items() if name.partition(".")[2] in words}
    with closing(_database(named, about)) as database:
        try:
            found = database.execute(text)
            titles = [str(column[0]) for column in found.description or ()]
            rows = found.fetchmany(MOST_ROWS + 1)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise UnsupportedQuery("this takes too long for a look at the catalogue; ask for less") from None
            # Its words quote the analyst's text and the catalogue, which are all there is in the database.
            raise UnsupportedQuery(f"the server's own SQL did not understand it: {shown(str(error))}") from None
    if len(rows) > MOST_ROWS:
        raise UnsupportedQuery(f"this has more than {MOST_ROWS} rows; ask for fewer with LIMIT")
    columns = tuple(_column(names.get(title, title), [row[i] for row in rows]) for i, title in enumerate(titles))
    return ClientRows(columns, tuple(tuple(_cell(value) for value in row) for row in rows))


def _cast(tokens: Sequence[Token]) -> list[Token]:
    """CONVERT(value, type) as CAST(value AS type); all else as it is."""
    written, opened, converts = list(tokens), list[bool](), False
    for place, token in enumerate(tokens):
        if token.is_sign("("):
            opened.append(converts)
        elif token.is_sign(")") and opened:
            opened.pop()
        elif token.is_sign(",") and opened and opened[-1]:
            written[place] = Token("word", " AS ", "as")
        converts = token.is_word("convert") or (converts and token.kind == "space")
        if token.is_word("convert"):
            written[place] = Token("word", "CAST", "cast")
    return written


def _called(tokens: Sequence[Token]) -> list[Token]:
    """CURRENT_USER and its like as calls, LEFT(…) as one, SIGNED INTEGER by one word of the two; all else as it is."""
    plain = [*tokens, Token("space", " ", " ")]
    written: list[Token] = []
    signed = False
    for token, after in pairwise(plain):
        if signed and token.is_word("integer", "int"):
            continue
        signed = token.is_word("signed", "unsigned") or (signed and token.kind == "space")
        if token.is_word("left", "right") and after.is_sign("("):  # words of joins to SQLite, unless they are quoted
            written.append(Token("name", f"`{token.text}`", token.value))
            continue
        bare = token.is_word(*CALLED) and not after.is_sign("(")
        written.append(Token("word", f"{token.text}()", f"{token.value}()") if bare else token)
    return written


def _written(token: Token, variable: Callable[[str], Any], names: dict[str, str]) -> str:
    if token.kind != "variable":
        return standard(token)
    value = variable(token.text)
    text = "NULL" if value is None else str(value) if isinstance(value, int | float) else quoted(str(value))
    # SQLite calls a column by its text: so many spaces tell this variable from others of the same value.
    text = f"({text}{' ' * (len(names) + 1)})"
    names[text] = token.text
    return text


def _database(tables: Tables, about: Mapping[str, Any]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    for schema in sorted({name.partition(".")[0] for name in tables}):
        database.execute(f"ATTACH ':memory:' AS \"{schema}\"")
    for name, (columns, rows) in tables.items():
        schema, _, table = name.partition(".")
        database.execute(f'CREATE TABLE "{schema}"."{table}" ({", ".join(_declared(column) for column in columns)})')
        marks = ", ".join("?" * len(columns))
        database.executemany(f'INSERT INTO "{schema}"."{table}" VALUES ({marks})', rows)
    database.execute("CREATE TABLE dual (dummy)")
    database.execute("INSERT INTO dual VALUES ('X')")
    for collation in COLLATIONS:
        database.create_collation(collation, _order)
    for name, count, function in _functions(about):
        database.create_function(name, count, function, deterministic=True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LENGTH)
    database.set_authorizer(_allowed)
    database.set_progress_handler(_Patience().is_over, STEPS_AT_ONCE)
    return database


class _Patience:
    """Ends with a number of steps, or with the time."""

    def __init__(self) -> None:
        self.left, self.until = MOST_STEPS, monotonic() + MOST_SECONDS

    def is_over(self) -> bool:
        self.left -= STEPS_AT_ONCE
        return self.left < 0 or monotonic() > self.until


def _allowed(action: int, _: str | None, function: str | None, *__: object) -> int:
    return sqlite3.SQLITE_OK if action in ALLOWED and function not in SLOW else sqlite3.SQLITE_DENY


def _declared(column: str) -> str:
    """Names in a catalogue compare in either case."""
    return f'"{column}" COLLATE NOCASE'


def _order(left: str, right: str) -> int:
    return (left.lower() > right.lower()) - (left.lower() < right.lower())


def _functions(about: Mapping[str, Any]) -> list[tuple[str, int, Callable[..., Any]]]:
    now = datetime.now(UTC)
    constants = {
        **about,
        "now": f"{now:%Y-%m-%d %H:%M:%S}",
        "current_timestamp": f"{now:%Y-%m-%d %H:%M:%S}",
        "localtime": f"{now:%Y-%m-%d %H:%M:%S}",
        "localtimestamp": f"{now:%Y-%m-%d %H:%M:%S}",
        "curdate": f"{now:%Y-%m-%d}",
        "current_date": f"{now:%Y-%m-%d}",
        "curtime": f"{now:%H:%M:%S}",
        "current_time": f"{now:%H:%M:%S}",
        "unix_timestamp": int(now.timestamp()),
        "last_insert_id": 0,
        "found_rows": 0,
        "row_count": -1,
    }
    return [
        *((name, 0, lambda value=value: value) for name, value in constants.items()),
        ("if", 3, lambda condition, then, otherwise: then if condition else otherwise),
        ("concat", -1, lambda *parts: None if None in parts else "".join(map(str, parts))),
        ("left", 2, lambda text, length: None if text is None else str(text)[: max(int(length), 0)]),
        (
            "right",
            2,
            lambda text, length: None if text is None else str(text)[-int(length) :] if int(length) > 0 else "",
        ),
        ("ucase", 1, lambda text: None if text is None else str(text).upper()),
        ("lcase", 1, lambda text: None if text is None else str(text).lower()),
        (
            "locate",
            2,
            lambda part, text: None if None in (part, text) else str(text).lower().find(str(part).lower()) + 1,
        ),
        ("least", -1, lambda *values: None if None in values else min(values)),
        ("greatest", -1, lambda *values: None if None in values else max(values)),
        ("char_length", 1, lambda text: None if text is None else len(str(text))),
        ("convert_tz", 3, convert_zone),
        ("timediff", 2, time_between),
        ("time_format", 2, time_as),
        ("isnull", 1, lambda value: int(value is None)),
        ("like", 2, like := _BoundedLike()),
        ("like", 3, like),
    ]


class _BoundedLike:
    """LIKE, for as many steps as a statement may take. It fails then."""

    def __init__(self) -> None:
        self.left = MOST_LIKE_STEPS

    def __call__(self, pattern: Any, text: Any, _escape: str = "\\") -> int | None:
        if pattern is None or text is None:
            return None
        self.left -= len(str(text)) * len(str(pattern))
        if self.left < 0:
            raise OverflowError
        return int(is_like(str(text), str(pattern)))


def is_like(text: str, pattern: str) -> bool:
    """Whether a text fits a LIKE, in either case, in time of at most their lengths' product: no pattern is slow."""
    pieces, wanted = re.findall(r"\\.|.", pattern.lower(), re.DOTALL), text.lower()
    place = piece = 0
    retry = (-1, 0)
    while place < len(wanted):
        if piece < len(pieces) and pieces[piece] == "%":
            piece, retry = piece + 1, (piece + 1, place)
        elif piece < len(pieces) and (pieces[piece] == "_" or pieces[piece][-1] == wanted[place]):
            place, piece = place + 1, piece + 1
        elif retry[0] >= 0:
            # The last % takes one character more: what stood before it need never be tried again.
            retry = (retry[0], retry[1] + 1)
            piece, place = retry
        else:
            return False
    return all(rest == "%" for rest in pieces[piece:])


def _column(title: str, values: Sequence[Any]) -> ResultColumn:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, int) for value in present):
        return whole_column(title)
    if present and all(isinstance(value, int | float) for value in present):
        return number_column(title)
    return text_column(title)


def _cell(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
