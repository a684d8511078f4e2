"""MySQL's way of writing SQL → the standard's, which the vault reads. Linear in the text, which is bounded."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.errors import UnsupportedQuery
from discreet.sql.tokens import MOST_CHARACTERS

Kind = Literal["space", "string", "name", "number", "variable", "word", "sign"]

TOKEN = re.compile(
    r"""(?P<space>\s++|--(?=\s|\Z)[^\n]*+|\#[^\n]*+|/\*(?!!).*?\*/|/\*!\d*+|\*/)
    |(?P<string>'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+")
    |(?P<name>`(?:[^`]|``)*+`)
    |(?P<number>(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+)
    |(?P<variable>@@?(?:[\w$.]|`[^`]*+`)++)
    |(?P<word>[^\W\d][\w$]*+)
    |(?P<sign>:=|<=>|<=|>=|<>|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
"""Comments are space; what stands in `/*!50001 … */` is not a comment in MySQL."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
"""What a letter after a backslash means; a sign means itself, but for the two that LIKE knows."""
HINTS = ("sql_no_cache", "sql_cache", "sql_calc_found_rows", "sql_small_result", "sql_big_result", "sql_buffer_result",
         "high_priority", "straight_join")  # fmt: skip
BEFORE_TABLES = ("from", "join", "in", "describe", "desc", "explain", "table", "view")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class Token:
    """A piece of a statement as it was written, and what it means: a text without its quotes, a name in lower case."""

    kind: Kind
    text: str
    value: str

    def is_sign(self, text: str) -> bool:
        return self.kind == "sign" and self.text == text

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.value in words


@dataclass(frozen=True)
class TokenList:
    """The tokens of one statement, spaces and comments included, so that it can be written again as it was."""

    written: tuple[Token, ...]

    @property
    def tokens(self) -> list[Token]:
        return [token for token in self.written if token.kind != "space"]

    def begins(self, *words: str) -> bool:
        found = self.tokens[: len(words)]
        return len(found) == len(words) and all(token.is_word(word) for token, word in zip(found, words, strict=True))


def read_statement(text: str, ansi_quotes: bool = False) -> TokenList:
    """The one statement of a text; `ansi_quotes` says that "…" is a name, as MySQL's mode of that name does."""
    if len(text) > MOST_CHARACTERS:
        raise UnsupportedQuery(f"the SQL is longer than {MOST_CHARACTERS} characters; ask something shorter")
    written = list(_tokens(text, ansi_quotes))
    while written and (written[-1].kind == "space" or written[-1].is_sign(";")):
        written.pop()
    if any(token.is_sign(";") for token in written):
        raise UnsupportedQuery("there is more than one statement; ask one at a time")
    return TokenList(tuple(written))


def _tokens(text: str, ansi_quotes: bool) -> Iterator[Token]:
    for match in TOKEN.finditer(text):
        kind, piece = match.lastgroup, match[0]
        if kind == "string":
            inner = piece[1:-1].replace(piece[0] * 2, piece[0])
            value = ESCAPE.sub(lambda found: ESCAPES.get(found[1], found[1]), inner)
            named = ansi_quotes and piece[0] == '"'
            yield Token("name" if named else "string", piece, value.lower() if named else value)
        elif kind == "name":
            yield Token("name", piece, piece[1:-1].replace("``", "`").lower())
        elif kind == "sign" and piece in "'\"`":
            raise UnsupportedQuery("the SQL ends within quotes or a comment")
        else:
            yield Token(kind, piece, piece.lower())  # type: ignore[arg-type]


def renamed(statement: TokenList, name: str, other: str) -> TokenList:
    """The statement with one name for another, wherever it stands; texts stay as they are."""
    new = Token("name", f"`{other.replace('`', '``')}`", other.lower())
    is_it = [token.kind in ("name", "word") and token.value == name.lower() for token in statement.written]
    return TokenList(tuple(new if found else token for found, token in zip(is_it, statement.written, strict=True)))


def schemas_named(statement: TokenList) -> set[str]:
    """The databases that a statement names before its tables, or by themselves where SHOW takes one."""
    tokens = statement.tokens
    within = _functions(tokens)
    found = {
        token.value
        for before, token, after, function in zip(tokens, tokens[1:], tokens[2:], within, strict=False)
        if before.is_word(*BEFORE_TABLES) and token.kind in ("word", "name") and after.is_sign(".") and not function
    }
    places = [place for place, token in enumerate(tokens[:-1]) if token.is_word("from", "in")]
    if tokens and tokens[0].is_word("show") and places:
        of_schema = any(token.is_word("tables", "status") for token in tokens[: places[0]])
        if of_schema or len(places) > 1:  # SHOW TABLES FROM health, SHOW COLUMNS FROM people FROM health
            found.add(tokens[places[-1] + 1].value)
    return found


def _functions(tokens: Sequence[Token]) -> list[bool]:
    """For each token whether it stands in a function that has a FROM of its own: EXTRACT(YEAR FROM people.born)."""
    inner: list[bool] = []
    found = []
    for before, token in zip((None, *tokens), tokens, strict=False):
        if token.is_sign("("):
            inner.append(before is not None and before.is_word("extract", "trim", "substring", "substr", "overlay"))
        elif token.is_sign(")") and inner:
            inner.pop()
        found.append(bool(inner) and inner[-1])
    return found


def plain_tokens(statement: TokenList, database: str, tables: Collection[str] = ()) -> list[Token]:
    """The statement without hints, and without its database before a table's name; with LIMIT n OFFSET m for MySQL's
    LIMIT m, n. One of
    `tables` may be called as the database is."""
    plain = _without(_unhinted(statement.written), database.lower(), database.lower() in map(str.lower, tables))
    return _offset_last(plain)


def standard(token: Token) -> str:
    """A token as the standard writes it: "name", 'text', no comment."""
    match token.kind:
        case "string":
            return quoted(token.value)
        case "name":
            inner = token.text[1:-1].replace(token.text[0] * 2, token.text[0])
            return '"' + inner.replace('"', '""') + '"'
        case "space":
            return token.text if token.text.isspace() else " "
    return token.text


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _unhinted(tokens: Sequence[Token]) -> list[Token]:
    """Without the words after SELECT that say how MySQL is to go about it."""
    kept: list[Token] = []
    after_select = False
    for token in tokens:
        if after_select and token.is_word(*HINTS):
            continue
        if token.kind != "space":
            after_select = token.is_word("select")
        kept.append(token)
    return kept


def _without(tokens: Sequence[Token], database: str, is_table: bool) -> list[Token]:
    """Without the database before a name. Where a table has the same name, it is the database after FROM or JOIN, and
    before two names: people.people, people.people.age, but not people.age."""
    kept: list[Token] = []
    skip, before = False, None
    following = [*tokens[1:], None, None, None]
    for place, token in enumerate(tokens):
        after, beyond = following[place], following[place + 2]
        if skip:
            skip = False
        elif (
            token.kind in ("word", "name")
            and token.value == database
            and after is not None
            and after.is_sign(".")
            and (
                not is_table
                or (before is not None and before.is_word("from", "join"))
                or (beyond is not None and beyond.is_sign("."))
            )
        ):
            skip = True
        else:
            kept.append(token)
        if token.kind != "space":
            before = token
    return kept


def _offset_last(tokens: list[Token]) -> list[Token]:
    plain = [token for token in tokens if token.kind != "space"][-4:]
    if len(plain) < 4 or not plain[0].is_word("limit") or not plain[2].is_sign(","):
        return tokens
    start = max(place for place, token in enumerate(tokens) if token is plain[0])
    space = Token("space", " ", " ")
    return [*tokens[: start + 1], space, plain[3], space, Token("word", "OFFSET", "offset"), space, plain[1]]
