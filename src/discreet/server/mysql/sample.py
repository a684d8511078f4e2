"""SELECTs without an aggregate, with which tools look at a table: told from the domain, and nothing is spent.

A sample of rows is empty, with the right columns: single rows are never shown. A list of distinct values is the list of
the declared ones, whether or not anybody has them: which do is not public.
"""

from functools import lru_cache
from math import prod

from mysql_mimic import ResultColumn
from sqlglot import exp

from discreet.answer.past import groups_of
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import group_attribute
from discreet.server.mysql.columns import (
    Cell,
    ClientRows,
    label_cell,
    label_column,
    sample_column,
    text_column,
    whole_column,
)
from discreet.sql.parse import parse
from discreet.sql.question import GroupColumn, Question
from discreet.sql.scope import Scope
from discreet.sql.syntax import only, read_query

NO_ROWS = "single rows are never shown; ask for aggregates, such as COUNT(*)"
DECLARED = "these are the declared values, whether or not anybody has them"
MOST_VALUES = 10_000
REMEMBERED = 64
"""Statements: dashboards send the same ones, and reading SQL takes longer than answering what is known."""


@lru_cache(REMEMBERED)
def look(text: str, domain: Domain, keys: tuple[str, ...] = ()) -> ClientRows | None:
    """What a SELECT shows that asks for no aggregate; None where it asks for one. `keys` are columns of the table that
    are no attributes: they are listed, and nothing that is in them is."""
    select = read_query(text)
    if not isinstance(select, exp.Select) or select.args.get("with_") or not _is_table(select):
        return None
    outputs = [output.unalias().unnest() for output in select.expressions]
    if not all(map(_is_shown, outputs)):
        return None
    if select.args.get("distinct") or select.args.get("group"):
        return _values(select, domain)
    only(select, ("expressions", "from_", "where", "order", "limit", "offset"), "a sample of the table's columns")
    return ClientRows(tuple(_sampled(select, Scope.of(select, domain), keys)), (), (NO_ROWS,))


def _is_shown(output: exp.Expression) -> bool:
    """Whether what is listed is of one row by itself: a column, a constant, or a function of them."""
    if isinstance(output, exp.Column | exp.Star | exp.Literal | exp.Boolean):
        return True
    beyond = (exp.AggFunc, exp.Anonymous, exp.Window, exp.Query, exp.Star)
    return isinstance(output, exp.Func) and output.find(*beyond) is None


def _is_table(select: exp.Select) -> bool:
    """Whether it is of one table by its name, not of what another SELECT makes."""
    source = select.args.get("from_")
    return source is not None and isinstance(source.this, exp.Table) and not select.args.get("joins")


def _sampled(select: exp.Select, scope: Scope, keys: tuple[str, ...]) -> list[ResultColumn]:
    columns, known = [], set(map(str.lower, keys))
    for output in select.expressions:
        node = output.unalias().unnest()
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            columns += [text_column(name) for name in keys]
            columns += [sample_column(attribute.name, attribute) for attribute in scope.domain.attributes]
        elif isinstance(node, exp.Column) and node.name.lower() in known:
            columns.append(text_column(output.alias or node.name))
        elif isinstance(node, exp.Column):
            attribute = scope.attribute(node)
            columns.append(sample_column(output.alias or attribute.name, attribute))
        elif isinstance(node, exp.Func):
            for column in node.find_all(exp.Column):
                scope.attribute(column)
            columns.append(text_column(output.alias or node.sql(dialect="duckdb")))
        else:
            name = output.alias or str(node.this)
            columns.append(text_column(name) if getattr(node, "is_string", False) else whole_column(name))
    return columns


def _values(select: exp.Select, domain: Domain) -> ClientRows:
    """The declared values of the columns: those that the WHERE leaves, ordered and cut as asked."""
    question = parse(_counted(select), domain)
    names = [group_attribute(group, domain) for group in question.by]
    if prod(attribute.size for attribute in names) > MOST_VALUES:
        raise UnsupportedQuery(f"these columns have more than {MOST_VALUES:,} values together; ask for fewer columns")
    found = [codes for codes, _ in groups_of(question.by, question.where, domain)]
    for key in reversed(question.order_by):
        column = question.columns[key.column]
        if not isinstance(column, GroupColumn):
            raise UnsupportedQuery("ORDER BY takes the columns that are listed")
        axis = question.by.index(column.attribute)
        found.sort(key=lambda codes, axis=axis: codes[axis], reverse=key.descending)  # type: ignore[misc]
    stop = None if question.limit is None else question.offset + question.limit
    rows = tuple(_cells(question, domain, codes) for codes in found[question.offset : stop])
    listed = [column for column in question.columns if isinstance(column, GroupColumn)]
    return ClientRows(
        tuple(label_column(c.name, group_attribute(c.attribute, domain)) for c in listed),
        rows,
        (DECLARED, *question.notes),
    )


def _counted(select: exp.Select) -> str:
    """The same statement as a count of its groups, which is what the vault can read; nobody counts them."""
    counted = select.copy()
    if counted.args.get("distinct"):
        only(counted.args["distinct"], (), "DISTINCT")
        counted.set("distinct", None)
        if counted.args.get("group") is None:
            counted.set("group", exp.Group(expressions=[output.unalias().copy() for output in counted.expressions]))
    return str(counted.select(exp.Count(this=exp.Star()).as_("_count"), copy=False).sql(dialect="duckdb"))


def _cells(question: Question, domain: Domain, codes: tuple[int, ...]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for column in question.columns:
        if isinstance(column, GroupColumn):
            attribute = group_attribute(column.attribute, domain)
            cells.append(label_cell(attribute, attribute.label(codes[question.by.index(column.attribute)])))
    return tuple(cells)
