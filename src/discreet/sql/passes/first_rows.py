"""First rows: ROW_NUMBER() OVER (PARTITION BY id ORDER BY …) <= m, so that at most m rows of each person count.

A SELECT takes the first of a person's rows by WHERE of the one around it that numbers them, or by QUALIFY. Each of such
rows is a line of its person: see `per_person.py`.
"""

from dataclasses import replace

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import EACH_PERIOD
from discreet.sql.passes.per_person import is_person
from discreet.sql.passes.qualify import Names
from discreet.sql.passes.relation import TableRows
from discreet.sql.passes.tables import rows_of
from discreet.sql.passes.tree import conjuncts, is_aggregated
from discreet.sql.syntax import only, place_of

FORM = "write ROW_NUMBER() OVER (PARTITION BY {person} ORDER BY …) AS r, and in the SELECT around it WHERE r <= 3"


def first_rows(select: exp.Select, names: Names, domain: Domain) -> tuple[exp.Select, Names] | None:
    """The same SELECT over the first rows of each person; None where it does not choose them by their number."""
    parts = ["where"] if names.rows.numbered is not None else []
    if select.args.get("qualify") and not is_aggregated(select) and not select.args.get("distinct"):
        parts.append("qualify")
    for part in parts:
        clause = select.args.get(part)
        conditions = [_without_aliases(one, select) for one in conjuncts(None if clause is None else clause.this)]
        meant = [names.column(one) for one in conditions]
        chosen = [place for place, one in enumerate(meant) if one.find(exp.RowNumber) is not None]
        if not chosen:
            continue
        [place, *more] = chosen
        found = None if more else _numbering(meant[place], domain)
        if domain.each_period:
            raise UnsupportedQuery(f"{EACH_PERIOD}{place_of(select)}")
        if found is None or names.rows.lines is not None:
            form = FORM.format(person=domain.person or "id")
            raise UnsupportedQuery(f"rows are chosen by the number that a person's have{place_of(select)}: {form}")
        return _over_first(select, names, part, conditions[:place] + conditions[place + 1 :], *found)
    return None


def _over_first(
    select: exp.Select, names: Names, part: str, others: list[exp.Expression], window: exp.Window, most: int
) -> tuple[exp.Select, Names]:
    rows, over = names.rows, select.copy()
    before = rows.where
    if part == "qualify" and select.args.get("where"):
        before = (*before, names.column(select.args["where"].this))
        over.set("where", None)
    elif part == "where" and rows.numbered != before:
        raise UnsupportedQuery(f"rows are numbered before another condition{place_of(select)}; choose them first")
    over.set(part, _clause(part, others))
    lines = exp.Select(
        expressions=[exp.alias_(exp.column(one.name), one.name, quoted=True) for one in names.domain.attributes],
        from_=exp.From(this=rows_of(names.domain)),
        where=exp.Where(this=exp.and_(*(one.copy() for one in before))) if before else None,
        group=exp.Group(expressions=[]),
        qualify=exp.Qualify(this=exp.LTE(this=window.copy(), expression=exp.Literal.number(most))),
    )
    kept = [one for one in over.expressions if one.find(exp.RowNumber) is None]
    over.set("expressions", kept)
    columns = {name: node for name, node in rows.columns.items() if node.find(exp.Window) is None}
    return over, replace(names, rows=TableRows(rows.table, columns, (), rows.is_open, rows.joined, lines=lines))


def _without_aliases(node: exp.Expression, select: exp.Select) -> exp.Expression:
    """QUALIFY may name a number of the same SELECT."""
    numbers = {one.alias.lower(): one.this for one in select.expressions if one.find(exp.RowNumber) is not None}

    def meant(inner: exp.Expression) -> exp.Expression:
        is_named = isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in numbers
        return numbers[inner.name.lower()].copy() if is_named else inner

    return node.copy().transform(meant)


def _clause(part: str, conditions: list[exp.Expression]) -> exp.Expression | None:
    kind = exp.Where if part == "where" else exp.Qualify
    return kind(this=exp.and_(*(one.copy() for one in conditions))) if conditions else None


def _numbering(condition: exp.Expression, domain: Domain) -> tuple[exp.Window, int] | None:
    """The window and the largest number of a condition r = 1, r <= m or r < m."""
    left, right = condition.args.get("this"), condition.args.get("expression")
    window = left.unnest() if isinstance(left, exp.Expression) else None
    number = right.unnest() if isinstance(right, exp.Expression) else None
    if not isinstance(number, exp.Literal) or not number.is_int or not is_numbering(window, domain):
        return None
    assert isinstance(window, exp.Window)
    most = int(number.this) - isinstance(condition, exp.LT)
    is_first = isinstance(condition, exp.LTE | exp.LT) or (isinstance(condition, exp.EQ) and most == 1)
    return (window, most) if is_first and most >= 1 else None


def is_numbering(node: exp.Expression | None, domain: Domain) -> bool:
    """Whether it numbers the rows of each person."""
    if not isinstance(node, exp.Window) or not isinstance(node.this, exp.RowNumber):
        return False
    only(node, ("this", "partition_by", "order", "over"), "ROW_NUMBER() OVER (PARTITION BY … ORDER BY …)")
    parts = node.args.get("partition_by") or []
    return len(parts) == 1 and is_person(parts[0], domain) and node.args.get("order") is not None
