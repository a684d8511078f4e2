"""SQL text → tokens, checked before the parser sees them.

Length, number and nesting are bounded, hints and further statements refused; so are the omissions that the parser
would forgive, such as `BETWEEN 20 50` or an empty GROUP BY: a question is never guessed.
"""

import re
from itertools import pairwise, zip_longest

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from discreet.errors import UnsupportedQuery

MOST_CHARACTERS = 65_536
MOST_TOKENS = 8_000
DEEPEST_NESTING = 16
SHOWN_CHARACTERS = 40
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

ROLES = {
    TokenType.SELECT: "select",
    TokenType.FROM: "from",
    TokenType.WHERE: "clause",
    TokenType.GROUP_BY: "clause",
    TokenType.ORDER_BY: "clause",
    TokenType.LIMIT: "clause",
    TokenType.OFFSET: "clause",
    TokenType.COMMA: "comma",
    TokenType.PLUS: "sign",
    TokenType.DASH: "sign",
    TokenType.L_PAREN: "open",
    TokenType.R_PAREN: "close",
    TokenType.NUMBER: "value",
    TokenType.STRING: "value",
    TokenType.DOT: "dot",
    TokenType.STAR: "star",
    TokenType.COLON: "odd",
    TokenType.PLACEHOLDER: "odd",
}
"""What a token does for its neighbours; all others are words."""

NEVER_NEIGHBOURS = {
    *(
        (left, right)
        for left in ("select", "from", "clause", "comma", "sign")
        for right in ("from", "clause", "comma", "close", "end")
    ),
    *((left, right) for left in ("value", "close") for right in ("value", "open")),
    *((left, right) for left in ("from", "name") for right in ("star", "odd")),
    ("from", "dot"),
    ("open", "comma"),
}
"""Pairs of roles between which something is missing. A `name` is a word of FROM."""


class _Tokenizer(DuckDB.Tokenizer):  # type: ignore[misc]
    """DuckDB's tokens, with names in `backticks` too, as MySQL's clients write them."""

    IDENTIFIERS = ('"', "`")


def read_tokens(text: str) -> list[Token]:
    """The tokens of the text's one statement."""
    if len(text) > MOST_CHARACTERS:
        raise UnsupportedQuery(f"the SQL is longer than {MOST_CHARACTERS} characters; ask something shorter")
    odd = CONTROL_CHARACTER.search(text)
    if odd:
        raise UnsupportedQuery(f"the SQL holds the control character {odd[0]!a}; leave it out")
    try:
        tokens: list[Token] = _Tokenizer(dialect="duckdb").tokenize(text)
    except TokenError:
        raise UnsupportedQuery("the SQL ends within quotes or a comment") from None
    if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise UnsupportedQuery("there is no statement; ask with one SELECT")
    if len(tokens) > MOST_TOKENS:
        raise UnsupportedQuery(
            f"the SQL has more than {MOST_TOKENS} words and signs; use ranges (BETWEEN), or ask in parts"
        )
    _check_statement(tokens)
    return tokens


def _check_statement(tokens: list[Token]) -> None:
    """Refuse what makes the text more than one plain statement."""
    depth = 0
    for token in tokens:
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            depth += 1
            if depth > DEEPEST_NESTING:
                raise UnsupportedQuery(f"parentheses are nested more than {DEEPEST_NESTING} deep; write it flatter")
        elif kind == TokenType.R_PAREN:
            depth -= 1
        elif kind == TokenType.SEMICOLON:
            raise UnsupportedQuery("there is more than one statement; ask one SELECT at a time")
        if kind == TokenType.HINT:
            raise UnsupportedQuery("hints are not supported; leave them out")


def check_order_of_nulls(tokens: list[Token]) -> None:
    """Refuse NULLS FIRST and LAST, which a plain question does not know: its groups are in the domain's order."""
    for token, following in pairwise(tokens):
        if token.text.upper() == "NULLS" and following.text.upper() in ("FIRST", "LAST"):
            raise UnsupportedQuery("NULLS FIRST and NULLS LAST are not supported; groups are in the domain's order")


def check_nothing_is_missing(tokens: list[Token]) -> None:
    """Refuse a statement in which the parser would fill a gap by itself."""
    role = ""
    for token, following in zip_longest(tokens, tokens[1:]):
        in_from = role in ("from", "name")
        role = ROLES.get(token.token_type, "name" if in_from else "word")
        after = ROLES.get(following.token_type, "word") if following else "end"
        if (role, after) in NEVER_NEIGHBOURS:
            raise not_understood(token)
        # The parser takes `. 5` for 0.5, even after a comparison.
        if role == "dot" and after == "value" and token.end + 1 < following.start:
            raise not_understood(token)


def not_understood(token: Token) -> UnsupportedQuery:
    column = max(token.col - len(token.text) + 1, 1)
    return UnsupportedQuery(f"the SQL was not understood at {shown(token.text)}, line {token.line}, column {column}")


def shown(text: str) -> str:
    """A piece of the analyst's text as a message quotes it: short, and without control characters."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")
