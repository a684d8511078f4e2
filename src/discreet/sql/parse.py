"""SQL text → Question, by an allow-list: what is not named here or in the rooms below is refused by name.

Conditions that the codes cannot tell exactly are answered nearly, with a note: see `compare.py`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.query.query import Group, group_attribute, group_name
from discreet.sql.aggregate import AGGREGATES, Grouping, Term, read_aggregate, read_terms
from discreet.sql.amount import expression_text, read_labelling
from discreet.sql.compare import declares
from discreet.sql.condition import MOST_CELLS, AllOf, Atom, Condition, atoms, region_of
from discreet.sql.passes.tree import lines_of
from discreet.sql.profiles import of_lines, read_profiles
from discreet.sql.question import AggregateColumn, Column, GroupColumn, OrderKey, Question
from discreet.sql.scope import Scope
from discreet.sql.syntax import NO_AGGREGATE, exact_number, only, read_select, read_where, refused
from discreet.sql.tokens import shown
from discreet.sql.where import read_condition
from discreet.sql.where_text import identifier

MOST_AGGREGATES = 50
MOST_GROUPS = 100_000
MOST_ROWS = 2**53
CLAUSES = "SELECT … FROM … WHERE … GROUP BY … ORDER BY … LIMIT … OFFSET …, of one table"


def parse(text: str, domain: Domain) -> Question:
    """The question that one SELECT over the domain asks. Anything else raises UnsupportedQuery, and an unknown column
    DomainError, in bounded time and with words that depend on the text and the domain alone."""
    return parse_select(read_select(text), text, domain)


def parse_select(select: exp.Select, text: str, domain: Domain) -> Question:
    """The same of a syntax tree: that of a whole statement, or of one private block of it."""
    only(select, ("expressions", "from_", "where", "group", "order", "limit", "offset"), CLAUSES)
    lines = lines_of(select)
    if lines is not None:
        read = read_profiles(lines, domain)
        over = select.copy()
        over.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(read.lines.name, quoted=True))))
        return of_lines(parse_select(over, text, read.lines), read)
    scope = Scope.of(select, domain)
    grouped = _group_by(select, scope)
    by = tuple(dict.fromkeys(grouped.groups.values()))
    outputs = [
        (output, [] if _is_group(output, grouped, scope) else read_terms(output.unalias()))
        for output in select.expressions
    ]
    calls = sum(len(terms) for _, terms in outputs)
    if calls > MOST_AGGREGATES:
        raise UnsupportedQuery(
            f"the statement has {calls} aggregates, and at most {MOST_AGGREGATES} are answered at once"
        )
    clause = select.args.get("where")
    where: Condition = AllOf(()) if clause is None else read_condition(clause.this, scope)
    most_cells = MOST_CELLS // max(calls, 1)
    groups = Grouping(scope, where, region_of(where, domain, most_cells), by, most_cells)
    columns, column_notes = _columns(outputs, groups, grouped)
    notes = [note for atom in atoms(where) for note in atom.notes] + [*grouped.notes] + column_notes
    if not groups.region:
        notes.append(f"no point of the domain satisfies the WHERE: {_why_empty(where, domain)}")
    return Question(
        text=text,
        by=by,
        where=groups.region,
        columns=columns,
        order_by=_order_by(select, columns, groups, grouped),
        limit=_row_number(select, "limit"),
        offset=_row_number(select, "offset") or 0,
        notes=tuple(dict.fromkeys(notes)),
    )


def _why_empty(where: Condition, domain: Domain) -> str:
    """That no row can be there; and what is declared of columns of which a comparison holds for no value, where it did
    not say that itself."""
    nowhere = [
        axis
        for atom in atoms(where)
        if not atom.notes and not (atom.codes if isinstance(atom, Atom) else atom.held.any())
        for axis in ((atom.axis,) if isinstance(atom, Atom) else atom.axes)
    ]
    declared = [declares(domain.attributes[axis]) for axis in dict.fromkeys(nowhere)]
    return "; ".join(["the region is empty on every table", *filter(None, declared)])


def parse_predicate(text: str, domain: Domain) -> tuple[Region, tuple[str, ...]]:
    """The region in which a condition holds, as after WHERE, and notes where that differs from what was asked.

    Raises as `parse` does.
    """
    select = read_where(text, identifier(domain.name))
    only(select, ("expressions", "from_", "where"), "a condition, as after WHERE")
    where = read_condition(select.args["where"].this, Scope.of(select, domain))
    notes = [note for atom in atoms(where) for note in atom.notes]
    return region_of(where, domain), tuple(dict.fromkeys(notes))


@dataclass(frozen=True)
class _Grouped:
    """What GROUP BY groups by, under its text; and notes."""

    groups: dict[str, Group]
    notes: tuple[str, ...] = ()


def _group_by(select: exp.Select, scope: Scope) -> _Grouped:
    """The attributes and expressions of GROUP BY: themselves, their aliases, or their places in the SELECT list."""
    clause = select.args.get("group")
    if clause is None:
        return _Grouped({})
    only(clause, ("expressions",), "GROUP BY of columns and expressions")
    aliases = {output.alias.lower(): output.this for output in select.expressions if isinstance(output, exp.Alias)}
    groups: dict[str, Group] = {}
    notes: list[str] = []
    for node in clause.expressions:
        part = node.unnest()
        if isinstance(part, exp.Literal):
            part = select.expressions[_place(part, len(select.expressions))].unalias().unnest()
        elif isinstance(part, exp.Column) and not part.table and not scope.knows(part):
            part = aliases.get(part.name.lower(), part).unnest()
        if isinstance(part, exp.Column) and scope.derived_of(part) is None:
            name = scope.attribute(part).name
            groups[name] = name
        else:
            group, said = read_labelling(part, scope)
            groups[expression_text(part, scope)] = group
            notes += said
    count = prod(group_attribute(group, scope.domain).size for group in set(groups.values()))
    if count > MOST_GROUPS:
        raise UnsupportedQuery(
            f"GROUP BY makes {count:,} groups, and at most {MOST_GROUPS:,} are answered; group by fewer columns, or "
            "have a cube of them published"
        )
    return _Grouped(groups, tuple(notes))


def _is_group(output: exp.Expression, grouped: _Grouped, scope: Scope) -> bool:
    """Whether an output column is one of the groups: a column, or an expression of GROUP BY again."""
    node = output.unalias().unnest()
    if isinstance(node, exp.Column) and scope.derived_of(node) is None:
        return True
    is_plain = grouped.groups and node.find(exp.AggFunc, exp.Query, exp.Star) is None
    return bool(is_plain) and expression_text(node, scope) in grouped.groups


def _columns(
    outputs: Sequence[tuple[exp.Expression, list[Term]]], groups: Grouping, grouped: _Grouped
) -> tuple[tuple[Column, ...], list[str]]:
    columns: list[Column] = []
    notes: list[str] = []
    taken = Counter(output.alias.lower() for output, _ in outputs if isinstance(output, exp.Alias))
    if taken and max(taken.values()) > 1:
        raise UnsupportedQuery(f"two output columns are called {shown(taken.most_common(1)[0][0])}")
    for output, terms in outputs:
        node = output.unalias().unnest()
        if isinstance(node, exp.Column) and groups.scope.derived_of(node) is None:
            attribute = _grouped(node, groups)
            columns.append(GroupColumn(output.alias or _free_name(attribute, taken), attribute))
        elif not terms:
            group = grouped.groups[expression_text(node, groups.scope)]
            columns.append(GroupColumn(output.alias or _free_name(group_name(group), taken), group))
        else:
            aggregate = read_aggregate(terms, groups)
            columns.append(AggregateColumn(output.alias or _free_name(aggregate.name, taken), aggregate.query))
            notes += aggregate.notes
    if not any(isinstance(column, AggregateColumn) for column in columns):
        raise UnsupportedQuery(NO_AGGREGATE)
    return tuple(columns), notes


def _grouped(column: exp.Column, groups: Grouping) -> str:
    if isinstance(column.this, exp.Star):
        raise refused(column.this, AGGREGATES)
    attribute = groups.scope.attribute(column).name
    if attribute not in groups.by:
        raise UnsupportedQuery(f"{attribute} is neither in GROUP BY nor in an aggregate; single rows are never shown")
    return attribute


def _free_name(name: str, taken: Counter[str]) -> str:
    """The name, or the name with the first number from 2 that makes it unlike the others; it is taken from then on."""
    free, number = name, 1
    while taken[free.lower()]:
        number += 1
        free = f"{name}_{number}"
    taken[free.lower()] += 1
    return free


def _order_by(
    select: exp.Select, columns: Sequence[Column], groups: Grouping, grouped: _Grouped
) -> tuple[OrderKey, ...]:
    clause = select.args.get("order")
    if clause is None:
        return ()
    only(clause, ("expressions",), "ORDER BY of output columns")
    keys = []
    for ordered in clause.expressions:
        only(ordered, ("this", "desc", "nulls_first"), "ORDER BY of output columns")
        place = _ordered_column(ordered.this.unnest(), columns, groups, grouped)
        keys.append(OrderKey(place, bool(ordered.args.get("desc"))))
    return tuple(keys)


def _ordered_column(node: exp.Expression, columns: Sequence[Column], groups: Grouping, grouped: _Grouped) -> int:
    """The output column that ORDER BY means: by its place, its name, or the same expression again."""
    if isinstance(node, exp.Literal):
        return _place(node, len(columns))
    if isinstance(node, exp.Column):
        for place, column in enumerate(columns):
            if not node.table and column.name.lower() == node.name.lower():
                return place
    if isinstance(node, exp.Column) and groups.scope.derived_of(node) is None:
        attribute = groups.scope.attribute(node).name
        found = [place for place, column in enumerate(columns) if getattr(column, "attribute", None) == attribute]
    elif _is_group(node, grouped, groups.scope):
        group = grouped.groups[expression_text(node, groups.scope)]
        found = [place for place, column in enumerate(columns) if getattr(column, "attribute", None) == group]
    else:
        query = read_aggregate(read_terms(node), groups).query
        found = [place for place, column in enumerate(columns) if getattr(column, "query", None) == query]
    if not found:
        names = ", ".join(column.name for column in columns)
        raise UnsupportedQuery(f"ORDER BY takes output columns; there are {names}")
    return found[0]


def _place(node: exp.Literal, columns: int) -> int:
    """The place, from 0, that a number in GROUP BY or ORDER BY means."""
    value = None if node.is_string else exact_number(node.this)
    if value is None or value.denominator != 1 or not 1 <= value <= columns:
        raise UnsupportedQuery(f"{shown(node.this)} is not the place of an output column; they are 1 to {columns}")
    return int(value) - 1


def _row_number(select: exp.Select, part: str) -> int | None:
    clause = select.args.get(part)
    if clause is None:
        return None
    if not isinstance(clause, exp.Limit | exp.Offset):
        raise refused(clause, "LIMIT and OFFSET with whole numbers")
    only(clause, ("expression",), "LIMIT and OFFSET with whole numbers")
    node = clause.expression.unnest()
    value = exact_number(node.this) if isinstance(node, exp.Literal) and not node.is_string else Fraction(1, 2)
    if value.denominator != 1 or value > MOST_ROWS:
        raise UnsupportedQuery(f"{part.upper()} takes a whole number of rows")
    return int(value)
