"""What a public half says of the labels of an attribute, as the private half would mean it.

In the tables of noisy answers a code of a codebook is the text that people read, `250 Diabetes mellitus`, and a period
is its name, `2026-Q1`. Where a public query compares such a column with values, or calculates with a date, the values
are taken for what they name: HAVING and an outer WHERE mean what WHERE means.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import sqlglot
from sqlglot import exp

from discreet.domain.attribute import Attribute, Category
from discreet.domain.date import Date, Period
from discreet.domain.domain import Domain
from discreet.sql.beside import as_equality, write_values
from discreet.sql.codes import Codes
from discreet.sql.condition import Atom, atoms
from discreet.sql.moments import DAYS, MOMENTS
from discreet.sql.passes.tree import LATERAL, children, inner_queries, qualifier_of, sources_of
from discreet.sql.question import GroupColumn, Question
from discreet.sql.scope import Scope
from discreet.sql.where import is_ordinary, read_condition

CONDITIONS = (exp.EQ, exp.NEQ, exp.In, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
OF_DATES = (
    *(exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfWeek),
    *(exp.DayOfWeekIso, exp.DayOfYear, exp.Dayname, exp.Monthname, exp.LastDay, exp.DateTrunc, exp.TimestampTrunc),
    *(exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TimeToStr, exp.TsOrDsToDate, exp.Add, exp.Sub),
)
NAMED_OF_DATES = frozenset({"date_part", "datepart", "strftime", "date_diff", "datediff", "date_trunc", "datetrunc"})
FIRST_DAY: Mapping[Period, str] = {
    "day": "CAST(x AS DATE)",
    "week": "CAST(STRPTIME(x || '-1', '%G-W%V-%u') AS DATE)",
    "month": "CAST(x || '-01' AS DATE)",
    "quarter": "MAKE_DATE(CAST(LEFT(x, 4) AS BIGINT), 3 * CAST(RIGHT(x, 1) AS BIGINT) - 2, 1)",
    "year": "CAST(x || '-01-01' AS DATE)",
}
"""The first day of a period by its name x, as SQL."""

Labelled = Category | Literal["nothing"]
"""Whose labels a column holds; nothing where it is NULL, which goes with any."""
Columns = Mapping[str, Labelled]


def meant_labels(
    public: exp.Query, questions: Mapping[str, tuple[Question, Domain]]
) -> tuple[exp.Query, tuple[str, ...]]:
    """A public half over the answers of these questions, with values as their labels are written; and notes where days
    were moved to the edges of periods."""
    tables = {name.lower(): _labels_of(question, domain) for name, (question, domain) in questions.items()}
    if not any(tables.values()):
        return public, ()
    meaning = _Meaning([])
    public = public.copy()
    meaning.query(public, tables, {})
    return public, tuple(meaning.notes)


def _labels_of(question: Question, domain: Domain) -> Columns:
    groups = [c for c in question.columns if isinstance(c, GroupColumn) and isinstance(c.attribute, str)]
    found = {column.name.lower(): domain[str(column.attribute)] for column in groups}
    return {
        name: attribute
        for name, attribute in found.items()
        if isinstance(attribute, Category) and (isinstance(attribute, Date) or any(attribute.titles))
    }


@dataclass
class _Meaning:
    """Rewrites a query in place."""

    notes: list[str]

    def query(self, query: exp.Expression, tables: Mapping[str, Columns], outer: Columns) -> Columns:
        """Rewrite a query; whose labels its columns hold."""
        if isinstance(query, exp.Subquery):
            return self.query(query.this, tables, outer)
        inner = dict(tables)
        clause = query.args.get("with_")
        for cte in clause.expressions if clause else ():
            found = self.query(cte.this, inner, outer)
            inner[cte.alias.lower()] = _renamed(found, cte.this, cte.args.get("alias"))
        if isinstance(query, exp.SetOperation):
            left, right = (self.query(side, inner, outer) for side in (query.this, query.expression))
            pairs = zip(query.this.named_selects, query.expression.named_selects, strict=False)
            sides = {one.lower(): (left.get(one.lower()), right.get(other.lower())) for one, other in pairs}
            return {name: one for name, (own, other) in sides.items() if (one := _either(own, other)) is not None}
        return self._select(query, inner, outer) if isinstance(query, exp.Select) else {}

    def _select(self, select: exp.Select, tables: Mapping[str, Columns], outer: Columns) -> Columns:
        columns: dict[str, Labelled] = dict(outer)
        every: dict[str, Labelled] = {}
        for source in sources_of(select):
            is_table = isinstance(source, exp.Table)
            around = columns if source.meta.get(LATERAL) else outer
            inner = tables.get(source.name.lower(), {}) if is_table else self.query(source, tables, around)
            under = source.this if isinstance(source, exp.Subquery) else source
            inner = _renamed(inner, under, source.args.get("alias"))
            every |= inner
            columns |= {**inner, **{f"{qualifier_of(source)}.{name}": of for name, of in inner.items()}}
        sources = [one for one in sources_of(select) if isinstance(one, exp.Subquery)]
        queries = inner_queries(select, sources)
        for query in queries:
            self.query(query, tables, columns)
        for key, child in [*children(select)]:
            if key not in ("with_", "from_"):
                self._rewrite(child, columns, {id(one) for one in (*sources, *queries)})
        outputs: dict[str, Labelled] = {}
        for output in select.expressions:
            if output.is_star:
                outputs |= every
            elif (of := _labelled(output.unalias().unnest(), columns)) is not None:
                outputs[output.alias_or_name.lower()] = of
        return outputs

    def _rewrite(self, node: exp.Expression, columns: Columns, leave: set[int]) -> None:
        """Rewrite the conditions and the calculations with dates in an expression, from the inside out."""
        if id(node) in leave:
            return

        def known(column: exp.Column) -> Attribute | None:
            of = _labelled(column, columns)
            return of if isinstance(of, Category) else None

        equal = as_equality(node, lambda column: of if isinstance(of := known(column), Date) else None)
        if equal is not None:
            node.replace(equal)
            node = equal
        for _, child in [*children(node)]:
            self._rewrite(child, columns, leave)
        changed = self._condition(node, columns) if isinstance(node, CONDITIONS) else None
        if changed is not None:
            node.replace(changed)
        else:
            write_values(node, known, _label)
        if _is_of_dates(node):
            for _, child in [*children(node)]:
                of = _labelled(child.unnest(), columns)
                if isinstance(of, Date):
                    child.replace(_first_day(child.unnest(), of))

    def _condition(self, node: exp.Expression, columns: Columns) -> exp.Expression | None:
        """A comparison of labels with values by the labels of what is meant; None where it is another."""
        sides = [side for side in (node.this, node.args.get("expression")) if isinstance(side, exp.Expression)]
        found = [(side.unnest(), of) for side in sides if (of := _labelled(side.unnest(), columns)) is not None]
        column, attribute = found[0] if len(found) == 1 else (node, "nothing")
        if not isinstance(attribute, Category):
            return None
        if isinstance(attribute, Date):
            return self._among_periods(node, column, attribute)
        if isinstance(node, exp.EQ | exp.NEQ | exp.In):
            for text in _values(node, column):
                code = attribute.code(text.this) if isinstance(text, exp.Literal) and text.is_string else None
                if code is not None:
                    text.replace(exp.Literal.string(attribute.label(code)))
        return None

    def _among_periods(self, node: exp.Expression, column: exp.Expression, attribute: Date) -> exp.Expression | None:
        """A comparison of a period with days as one of its name, names being in the order of their periods; with other
        dates as one of its first day."""
        scope = Scope.over(Domain("t", (attribute,)))
        asked = node.copy()
        for own in [*asked.find_all(exp.Column)]:
            if own == column:
                own.replace(exp.column(exp.to_identifier(attribute.name, quoted=True)))
        if is_ordinary(asked, scope):
            found = [read_condition(asked, scope, wanted) for wanted in (True, False)]
            true, false = (next(one for one in atoms(each) if isinstance(one, Atom)) for each in found)
            self.notes += true.notes
            held = _within(column, attribute, true.codes)
            if attribute.other_code is None:
                return held
            differs = _within(column, attribute, false.codes)  # of other values some comparisons are unknown
            return exp.Case().when(held, exp.true(), copy=False).when(differs, exp.false(), copy=False)
        if any(_makes_dates(value) for value in _values(node, column)):
            column.replace(_first_day(column, attribute))
        return None


def _label(attribute: Attribute, text: str) -> str | None:
    """A value, or the first day of a period, as its label."""
    assert isinstance(attribute, Category)
    is_other_day = isinstance(attribute, Date) and text not in attribute.values
    code = None if is_other_day else attribute.code(text)
    return None if code is None else attribute.label(code)


def _either(one: Labelled | None, other: Labelled | None) -> Labelled | None:
    if one == "nothing" or one is other:
        return other
    return one if other == "nothing" else None


def _renamed(found: Columns, query: exp.Expression, alias: exp.Expression | None) -> Columns:
    names = [column.name.lower() for column in alias.args.get("columns") or ()] if alias is not None else []
    own = [name.lower() for name in query.named_selects] if names and isinstance(query, exp.Query) else []
    given = dict(zip(own, names, strict=False))
    return {given.get(name, name): labelled for name, labelled in found.items()}


def _labelled(node: exp.Expression, columns: Columns) -> Labelled | None:
    if isinstance(node, exp.Null):
        return "nothing"
    if not isinstance(node, exp.Column):
        return None
    return columns.get(f"{node.table}.{node.name}".lower() if node.table else node.name.lower())


def _within(column: exp.Expression, attribute: Date, codes: Codes) -> exp.Expression:
    """Whether a column's period is among these codes; unknown where it has none."""
    either: list[exp.Expression] = []
    for low, high in codes:
        if low < attribute.cells:
            ends = (attribute.label(low), attribute.label(min(high, attribute.cells - 1)))
            texts = [exp.Literal.string(end) for end in ends]
            either.append(exp.Between(this=column.copy(), low=texts[0], high=texts[1]))
        if attribute.other_code is not None and low <= attribute.other_code <= high:
            other = exp.Literal.string(attribute.label(attribute.other_code))
            either.append(exp.EQ(this=column.copy(), expression=other))
    none = exp.In(this=column.copy(), expressions=[exp.Literal.string("")])
    return exp.paren(exp.or_(*either, copy=False), copy=False) if either else none


def _values(node: exp.Expression, column: exp.Expression) -> list[exp.Expression]:
    """What a comparison compares a column with; not what a sub-query finds."""
    if node.args.get("query"):
        return []
    return [side.unnest() for _, side in children(node) if side.unnest() is not column]


def _makes_dates(node: exp.Expression) -> bool:
    """Whether a calculation is one with dates; a sub-query's are its own."""
    if isinstance(node, exp.Query | exp.Subquery):
        return False
    return _is_of_dates(node) or _is_date(node) or any(_makes_dates(child) for _, child in children(node))


def _is_of_dates(node: exp.Expression) -> bool:
    return isinstance(node, OF_DATES) or (isinstance(node, exp.Anonymous) and str(node.this).lower() in NAMED_OF_DATES)


def _is_date(node: exp.Expression) -> bool:
    return isinstance(node, exp.Cast) and node.to.is_type(*DAYS, *MOMENTS)


def _first_day(column: exp.Expression, attribute: Date) -> exp.Expression:
    day = sqlglot.parse_one(FIRST_DAY[attribute.period], dialect="duckdb")
    for name in [*day.find_all(exp.Column)]:
        name.replace(column.copy())
    return day
