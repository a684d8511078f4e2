"""Statements made of the listed questions: parts of one put into another, wrapped, joined, and worded otherwise.

Most parse and many mean something; what must never be answered is among the parts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tests.questions.listed import never_answered, questions, unanswered
from tests.trust.fuzzing import mutated

LARGEST_PART = 40
"""Nodes of a part that is put elsewhere: statements shall not grow without end."""
ODD = """
0 -1 1 100 1e308 -1e309 9223372036854775808 0.1 1e-400 NULL TRUE 'F' 'X' '' '250' 'é' '2023-01-01' '%' '_' '\\'
DATE'2023-02-30' INTERVAL'1'YEAR (1/0) CAST('x'AS\tINTEGER) REPEAT('a',9) [1,2] {'a':1} age diag_1 patient region_group
e'a)' e'\\'' $$a)$$ $t$a'$$b$t$ 'a''b)' "a)b(" "a""b" x'41'
"""
ODD_VALUES = ODD.split()
VOCABULARY = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS UNION ALL INTERSECT EXCEPT JOIN LEFT CROSS NATURAL LATERAL
ON USING( DISTINCT CASE WHEN THEN ELSE END COUNT(*) COUNT(DISTINCT SUM( AVG( STDDEV( CORR( MEDIAN( MODE( OVER( PARTITION
RANK() LAG( ROLLUP( CUBE( GROUPING SETS( QUALIFY FILTER(WHERE EXISTS( IN( NOT LIKE ILIKE BETWEEN AND OR IS NULL CAST( ::
TRY_CAST( EXTRACT( DATE_TRUNC( INTERVAL COALESCE( NULLIF( REGEXP_MATCHES( || + - * / // % ** ( ) [ ] { } , . ; : ? $1 '
" ` -- /* */ people encounters icd9 months regions occupations patient rowid age sex income diag_1 * read_csv( getenv(
random() now() current_setting( duckdb_tables() generate_series(1,1000000000) RECURSIVE VALUES unnest( list(
struct_pack( COLUMNS(*) PIVOT UNPIVOT TABLESAMPLE ASOF POSITIONAL EXCLUDE REPLACE lambda x: -> @ # ~ ^ & | << >> :=
=> PRAGMA "a)b(" "it's" "a""b" "" `a)` `a``b` $$a)$$ $t$'$t$ $$ e'a)' e'\\')' 'a'')' '''' x'41' U&'\\0041'
/*)*/ /*'*/ /*/*)*/*/ /*+x*/
"""
COMMENTS = ["--)\n", "--'\n", "-- \\\n", "/*\n--*/", "#)\n", "/*;*/;"]
"""With a line's end in them."""
WORDS = [word.encode() for word in (*VOCABULARY.split(), *COMMENTS)]


@dataclass
class Parts:
    """What the statements about one table are made of."""

    statements: list[exp.Expression] = field(default_factory=list)
    answered: list[exp.Expression] = field(default_factory=list)
    """Those of them that are answered by now: every other statement is made of one."""
    conditions: list[exp.Expression] = field(default_factory=list)
    values: list[exp.Expression] = field(default_factory=list)
    aggregates: list[exp.Expression] = field(default_factory=list)


@cache
def parts_of(table: str) -> Parts:
    found = Parts()
    for question in (*questions(), *never_answered()):
        if question.table == table:
            try:
                tree = sqlglot.parse_one(question.sql.replace("`", '"').rstrip("; \n"), read="duckdb")
            except SqlglotError:
                continue
            found.statements.append(tree)
            if not question.refused and question.name not in unanswered():
                found.answered.append(tree)
            for node in tree.walk():
                _sort(node, found)
    return found


def _sort(node: exp.Expression, found: Parts) -> None:
    if sum(1 for _ in node.walk()) > LARGEST_PART:
        return
    if isinstance(node, exp.AggFunc | exp.Window | exp.Filter):
        found.aggregates.append(node)
    elif isinstance(node, exp.Predicate | exp.Connector | exp.Not):
        found.conditions.append(node)
    elif isinstance(node, exp.Func | exp.Binary | exp.Column | exp.Literal | exp.Case):
        found.values.append(node)


def shapes(draw: Random, table: str, number: int) -> Iterator[str]:
    """So many statements: half of parts put elsewhere, a quarter with words changed, a quarter with bytes."""
    parts = parts_of(table)
    for place in range(number):
        text = _rearranged(draw, parts)
        if place % 4 == 2:
            words = text.split(" ")
            for _ in range(draw.randrange(1, 4)):
                spot = draw.randrange(len(words) + 1)
                words[spot : spot + draw.randrange(2)] = [draw.choice(WORDS).decode()] * draw.choice((1, 1, 1, 20))
            text = " ".join(words)
        elif place % 4 == 3:
            text = mutated(draw, text.encode(), WORDS, 3).decode("utf-8", "replace")
        yield text


def _rearranged(draw: Random, parts: Parts) -> str:
    tree = draw.choice(draw.choice((parts.statements, parts.answered))).copy()
    for _ in range(draw.randrange(4)):
        changed = draw.choice(CHANGES)(draw, tree, parts)
        tree = tree if changed is None else changed
    try:
        return tree.sql("duckdb")
    except (
        SqlglotError,
        TypeError,
        ValueError,
        AttributeError,
    ):  # parts that sqlglot cannot write in each other's place
        return draw.choice(parts.statements).sql("duckdb")


def _swapped(draw: Random, tree: exp.Expression, parts: Parts) -> exp.Expression | None:
    """A part in the place of another of its kind; sometimes of any kind."""
    sorts = [parts.conditions, parts.values, parts.aggregates]
    kinds = [(exp.Predicate, exp.Connector), (exp.Func, exp.Binary, exp.Column, exp.Literal), (exp.AggFunc,)]
    which = draw.randrange(3)
    spots = [node for node in tree.find_all(*kinds[which]) if node.parent is not None]
    if spots:
        other = sorts[which if draw.random() < 0.8 else draw.randrange(3)]
        draw.choice(spots).replace(draw.choice(other).copy())
    return None


def _oddly_valued(draw: Random, tree: exp.Expression, _parts: Parts) -> exp.Expression | None:
    spots = list(tree.find_all(exp.Literal))
    if spots:
        draw.choice(spots).replace(exp.Var(this=draw.choice(ODD_VALUES)))
    return None


def _wrapped(draw: Random, tree: exp.Expression, parts: Parts) -> exp.Expression | None:
    """A statement around the statement, or another one beside it."""
    if not isinstance(tree, exp.Query):
        return None
    inner, condition = tree.sql("duckdb"), draw.choice(parts.conditions).sql("duckdb")
    column, total = draw.choice(parts.values).sql("duckdb"), draw.choice(parts.aggregates).sql("duckdb")
    text = draw.choice(
        (
            f"SELECT * FROM ({inner}) AS t",
            f"SELECT * FROM ({inner}) AS t WHERE {condition}",
            f"SELECT {column} AS k, {total} AS v FROM ({inner}) AS t GROUP BY 1",
            f"SELECT {total} AS v FROM ({inner}) AS t",
            f"WITH w AS ({inner}) SELECT w.*, RANK() OVER (ORDER BY 1) AS place FROM w",
            f"WITH w AS ({inner}) SELECT a.* FROM w AS a CROSS JOIN w AS b",
            f"{inner} UNION ALL {inner}",
            f"SELECT ({inner}) AS v",
            f"SELECT DISTINCT * FROM ({inner}) AS t ORDER BY 1 DESC LIMIT 3",
        )
    )
    return _read(text)


def _clause(draw: Random, tree: exp.Expression, parts: Parts) -> exp.Expression | None:
    """Another condition, group, order or limit."""
    selects = list(tree.find_all(exp.Select))
    if not selects:
        return None
    select = draw.choice(selects)
    condition, value, aggregate = (draw.choice(sort) for sort in (parts.conditions, parts.values, parts.aggregates))
    match draw.randrange(6):
        case 0:
            select.where(condition.copy(), copy=False)
        case 1:
            select.having(exp.GT(this=aggregate.copy(), expression=exp.Literal.number(draw.randrange(100))), copy=False)
        case 2:
            select.order_by(draw.choice((aggregate, value)).copy(), copy=False)
        case 3:
            select.select(exp.alias_(aggregate.copy(), f"x{draw.randrange(9)}"), copy=False)
        case 4:
            select.group_by(value.copy(), copy=False)
        case _:
            select.limit(draw.choice((0, 1, 3)), copy=False)
    return None


def _read(text: str) -> exp.Expression | None:
    try:
        return sqlglot.parse_one(text, read="duckdb")
    except SqlglotError:
        return None


CHANGES: tuple[Callable[[Random, exp.Expression, Parts], exp.Expression | None], ...] = (
    _swapped, _swapped, _swapped, _oddly_valued, _wrapped, _clause, _clause,
)  # fmt: skip
