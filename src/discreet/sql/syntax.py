"""SQL text → one SELECT's syntax tree, or a refusal in bounded time and in our own words.

The tokens are bounded before the parser sees them, and its steps while it runs. The few deep recursions that these
bounds leave (a row of NOTs) end in RecursionError, which is refused as well. The dialect is DuckDB's: what the sandbox
runs was read as it is written.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from discreet.errors import UnsupportedQuery
from discreet.sql.tokens import check_nothing_is_missing, check_order_of_nulls, read_tokens, shown

OWN = "discreet_"
"""How names begin that no statement may give."""
MOST_DIGITS = 38
STEPS_PER_TOKEN = 20
NOT_UNDERSTOOD = "the SQL was not understood; ask with one plain SELECT"
NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)  # Decimal takes no longer exponents

A_COLUMN_EACH = "PIVOT (use COUNT(*) FILTER (WHERE …), a column for each value)"
JOINED = "LATERAL (use a sub-query in FROM that is grouped, and join by its groups)"

NAMES = {
    "with_": "WITH (a sub-query)",
    "joins": "a join",
    "laterals": JOINED,
    "distinct": "DISTINCT",
    "having": "HAVING",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "into": "INTO",
    "locks": "a lock such as FOR UPDATE",
    "sample": "a sample",
    "pivots": A_COLUMN_EACH,
    "columns": "a list of its columns",
    "hint": "a hint",
    "db": "a schema before the table's name",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "all": "GROUP BY ALL",
    "symmetric": "BETWEEN SYMMETRIC",
    "query": "a sub-query",
    "expressions": "more than one argument",
    "limit_options": "PERCENT or WITH TIES",
}
"""Parts of a statement that the parser keeps under names of its own."""

KINDS: tuple[tuple[type[exp.Expression], str], ...] = (
    (exp.Lateral, JOINED),
    (exp.SetOperation, "UNION, INTERSECT or EXCEPT"),
    (exp.Query, "a sub-query"),
    (exp.Exists, "a sub-query"),
    (exp.SubqueryPredicate, "ANY or ALL"),
    (exp.Window, "a window (OVER)"),
    (exp.Star, "*"),
    (exp.Distinct, "DISTINCT"),
    (exp.Case, "CASE"),
    (exp.Cast, "CAST"),
    (exp.Null, "NULL (use IS NULL)"),
    (exp.NullSafeEQ, "IS DISTINCT FROM"),
    (exp.NullSafeNEQ, "IS DISTINCT FROM"),
    (exp.Placeholder, "a placeholder"),
    (exp.Parameter, "a placeholder"),
    (exp.Div, "division"),
    (exp.Add, "arithmetic"),
    (exp.Sub, "arithmetic"),
    (exp.Mul, "arithmetic"),
    (exp.Mod, "arithmetic"),
    (exp.Tuple, "a tuple"),
    (exp.Fetch, "FETCH (use LIMIT)"),
)


def read_where(text: str, table: str) -> exp.Select:
    """The syntax tree of a SELECT with a text as its condition; places in it are counted from the condition's start."""
    select = read_select(f"SELECT COUNT(*) FROM {table} WHERE\n{text}", lines_before=1)
    for node in select.walk():
        if "line" in node.meta:
            node.meta["line"] -= 1
    return select


def read_select(text: str, lines_before: int = 0) -> exp.Select:
    """The syntax tree of the one SELECT that the text holds. Some lines may be ours, not the analyst's."""
    tokens = read_tokens(text)
    return one_select(query_of(tokens, text, lines_before), tokens)


def one_select(tree: exp.Query, tokens: list[Token]) -> exp.Select:
    """A query that is one plain SELECT; others are refused."""
    check_order_of_nulls(tokens)
    if not isinstance(tree, exp.Select):
        raise refused(tree, "one SELECT")
    if tree.args.get("with_"):
        raise UnsupportedQuery("WITH (a sub-query) is not supported here; supported: one SELECT")
    return tree


def read_query(text: str) -> exp.Query:
    """The same of one query of any form: WITH, UNION and sub-queries too."""
    return query_of(read_tokens(text), text)


def query_of(tokens: list[Token], text: str, lines_before: int = 0) -> exp.Query:
    """The same of a text that was parted into tokens."""
    first = tokens[0]
    if first.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        begun = A_COLUMN_EACH if first.text.upper() == "PIVOT" else f"a statement that begins with {shown(first.text)}"
        raise UnsupportedQuery(f"{begun} is not supported here; supported: one SELECT")
    if [token.text.upper() for token in tokens[1:2]] == ["TOP"] and tokens[2:3] and tokens[2].text.isdigit():
        raise UnsupportedQuery(f"TOP is not supported here; write ORDER BY … LIMIT {tokens[2].text}")
    check_nothing_is_missing(tokens)
    try:
        [tree] = _BoundedParser(len(tokens)).parse(tokens, text)
    except ParseError as error:
        raise UnsupportedQuery(_syntax_message(error, lines_before)) from None
    except RecursionError:
        raise UnsupportedQuery("the statement is nested too deeply; write it flatter") from None
    except Exception:
        # The parser's own slips on broken input, of any kind: its words say nothing to an analyst.
        raise UnsupportedQuery(NOT_UNDERSTOOD) from None
    if not isinstance(tree, exp.Query):
        raise refused(tree, "one SELECT")
    for call in tree.find_all(exp.Anonymous):
        if str(call.this).lower().startswith(OWN):
            raise refused(call, "functions by their own names")
    return tree


NULLS_LAST = "nulls_last"


class _Endless(Exception):
    """The parser took more steps than any statement needs."""


class _BoundedParser(DuckDB.Parser):  # type: ignore[misc]
    """The parser, stopped after a number of steps that grows with the tokens alone: on some broken statements, such as
    `FROM people x (a, NOT`, it would go back and forth for ever. Whole statements take less than 2 steps a token.

    `%` binds as `*` does, as the engine has it; sqlglot's would read 1 + a % 2 as (1 + a) % 2."""

    TERM = {token: kind for token, kind in DuckDB.Parser.TERM.items() if token != TokenType.MOD}  # noqa: RUF012
    FACTOR = {**DuckDB.Parser.FACTOR, TokenType.MOD: exp.Mod}  # noqa: RUF012

    def __init__(self, tokens: int) -> None:
        self.steps_left = STEPS_PER_TOKEN * tokens
        super().__init__(dialect="duckdb")

    def _advance(self, times: int = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _Endless
        super()._advance(times)

    def _parse_disjunction(self) -> exp.Expression | None:
        """What comes after WITH ROLLUP is no further group: sqlglot's would take the LIMIT there for a column."""
        before = [token.token_type for token in self._tokens[max(self._index - 2, 0) : self._index]]
        if before in ([TokenType.WITH, TokenType.ROLLUP], [TokenType.WITH, TokenType.CUBE]):
            return None
        found: exp.Expression | None = super()._parse_disjunction()
        return found

    def _parse_ordered(self, parse_method: Callable[[], exp.Expression | None] | None = None) -> exp.Ordered | None:
        """A key of ORDER BY, with a mark where NULLS LAST was written: without it groups are in the domain's order."""
        found: exp.Ordered | None = super()._parse_ordered(parse_method)
        written = [token.text.upper() for token in self._tokens[max(self._index - 2, 0) : self._index]]
        if found is not None and written == ["NULLS", "LAST"]:
            found.meta[NULLS_LAST] = True
        return found


def _syntax_message(error: ParseError, lines_before: int) -> str:
    for place in error.errors:
        word, line, end = place.get("highlight"), place.get("line"), place.get("col")
        if word and end and line and line > lines_before:
            column = max(end - len(word) + 1, 1)
            return f"the SQL was not understood at {shown(word)}, line {line - lines_before}, column {column}"
    return NOT_UNDERSTOOD


def only(node: exp.Expression, parts: tuple[str, ...], supported: str) -> None:
    """Refuse a node that has other parts than these, and say what is supported."""
    for part, value in node.args.items():
        if part not in parts and value:
            name = NAMES.get(part, part.strip("_").replace("_", " ").upper())
            raise UnsupportedQuery(f"{name} is not supported here; supported: {supported}")


def only_named(table: exp.Table, supported: str) -> None:
    """Refuse a table that is more than its name and another one for it: a sample of it, say, a join inside another one,
    or names of its columns, whose order nobody declared."""
    only(table, ("this", "alias"), supported)
    alias = table.args.get("alias")
    if alias is not None:
        only(alias, ("this",), f"{supported} AS a_name, and its columns by their own names")


NO_AGGREGATE = (
    "the statement has no aggregate, and single rows are never shown; ask for COUNT(*), or for another of its groups"
)
INSTEAD = {
    "DATE_FORMAT": "STRFTIME(date, '%Y-%m')",
    "TO_CHAR": "STRFTIME(date, '%Y-%m')",
    "FORMAT_DATE": "STRFTIME(date, '%Y-%m')",
    "TO_DATE": "DATE '2026-01-31'",
    "TO_TIMESTAMP": "TIMESTAMP '2026-01-31 00:00:00'",
    "LOGICAL_OR": "COUNT_IF(condition), whose interval says whether it may be 0",
    "LOGICAL_AND": "COUNT_IF(NOT condition), whose interval says whether it may be 0",
    "STRING_AGG": "SELECT STRING_AGG(x, ', ') FROM (SELECT x, COUNT(*) AS n … GROUP BY x) WHERE n > 100, say",
    "LIST": "STRING_AGG(x, ', ' ORDER BY …) over groups, which is a text",
    "ARRAY_AGG": "STRING_AGG(x, ', ' ORDER BY …) over groups, which is a text",
    "ARRAY": "QUANTILE(x, [0.25, 0.5, 0.75]) in the SELECT list, or IN ('a', 'b')",
    "ANY_VALUE": "it into GROUP BY: single rows are never shown",
    "FIRST": "it into GROUP BY: single rows are never shown",
    "LAST": "it into GROUP BY: single rows are never shown",
}
"""Functions of other databases, and what says the same here."""


def refused(node: exp.Expression | None, supported: str) -> UnsupportedQuery:
    """The refusal of a node by its name, with what may stand there."""
    instead = INSTEAD.get(_name(node).removeprefix("the function ").strip("'").upper())
    hint = f"; write {instead}" if instead else ""
    return UnsupportedQuery(f"{_name(node)} is not supported here{place_of(node)}{hint}; supported: {supported}")


def place_of(node: exp.Expression | None) -> str:
    """Where a node begins, as a refusal says it; nothing where the parser does not know."""
    for inner in () if node is None else node.dfs():
        if inner.meta.get("line", 0) > 0:
            column = inner.meta["col"] - inner.meta["end"] + inner.meta["start"]
            return f", line {inner.meta['line']}, column {max(column, 1)}"
    return ""


def _name(node: exp.Expression | None) -> str:
    for kind, name in KINDS:
        if isinstance(node, kind):
            return name
    match node:
        case None:
            return "an empty argument"
        case exp.GroupConcat():
            return "STRING_AGG"
        case exp.Anonymous():
            return f"the function {shown(str(node.this))}"
        case exp.Column():
            return f"the column {shown(node.name)}"
        case exp.Literal() | exp.Boolean():
            return f"the value {shown(str(node.this))}"
        case exp.Func():
            return f"the function {node.sql_name()}"
    return shown(str(node.sql("duckdb", comments=False)))


def literal(node: exp.Expression, instead: str) -> Fraction | str | bool:
    """The value of a literal, numbers exactly. `instead` says what may stand here."""
    inner, sign = node.unnest(), 1
    while isinstance(inner, exp.Neg):
        inner, sign = inner.this.unnest(), -sign
    match inner:
        case exp.Literal(is_string=False):
            return sign * exact_number(inner.this)
        case exp.Literal() if inner is node.unnest():
            return str(inner.this)
        case exp.Boolean() if inner is node.unnest():
            return bool(inner.this)
    raise refused(inner, instead)


def exact_number(text: str) -> Fraction:
    """A number as written, exactly. One of more than MOST_DIGITS digits is refused before it can take time or space."""
    if len(text) < MOST_DIGITS and text.isascii() and text.isdigit():
        return Fraction(int(text))
    if len(text) <= 2 * MOST_DIGITS and NUMBER.fullmatch(text):
        value = Decimal(text)
        if abs(value.adjusted()) < MOST_DIGITS:
            return Fraction(value)
    raise UnsupportedQuery(f"{shown(text)} is not a decimal number of at most {MOST_DIGITS} digits")
