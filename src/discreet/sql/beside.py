"""Values beside a column in other forms than a comparison: NULLIF, IS DISTINCT FROM, CASE x WHEN, tuples, COALESCE,
GREATEST. A period's name and a code's label are no values to the engine, which would find them equal to nothing.

What is = by another name is written as =, so that it means what = means. In all other forms a text is written as the
column's values are, where it names one of them.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.domain.attribute import Attribute
from discreet.sql.passes.tree import children

Known = Callable[[exp.Column], Attribute | None]
"""The attribute that a column holds values of; None where they are compared as they are."""
Writing = Callable[[Attribute, str], str | None]
"""A text as values of an attribute are written; None where it is none of them."""

PAIRS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif)
COMPARISONS = (*PAIRS, exp.In, exp.Between)


def as_equality(node: exp.Expression, known: Known) -> exp.Expression | None:
    """A form that compares a known column with a constant for being equal, by =; None where it is none."""
    match node:
        case exp.Nullif():
            equal = _equal(node.this, node.expression, known)
            return equal and exp.Case(ifs=[exp.If(this=equal, true=exp.null())], default=node.this.copy())
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            equal = _equal(node.this, node.expression, known)
            held = equal and exp.Coalesce(this=exp.paren(equal), expressions=[exp.false()])
            return exp.not_(held) if held and isinstance(node, exp.NullSafeNEQ) else held
        case exp.Case() if node.this is not None:
            ifs = [one for one in node.args["ifs"] if not isinstance(one.this, exp.Null)]  # which nothing is equal to
            equals = [_equal(node.this, one.this, known) for one in ifs]
            if not ifs or None in equals:
                return None
            made = [exp.If(this=equal, true=one.args["true"].copy()) for equal, one in zip(equals, ifs, strict=True)]
            return exp.Case(ifs=made, default=node.args.get("default"))
        case exp.EQ() | exp.NEQ():
            equal = _equal_rows(node.this, node.expression, known)
            return exp.not_(exp.paren(equal)) if equal and isinstance(node, exp.NEQ) else equal
        case exp.In() if node.expressions:
            rows = [_equal_rows(node.this, one, known) for one in node.expressions]
            return None if None in rows else exp.paren(exp.or_(*rows))
    return None


def by_equalities(node: exp.Expression, known: Known) -> exp.Expression:
    """An expression with all such forms in it by =."""
    found = as_equality(node, known) or node.copy()
    for _, child in [*children(found)]:
        child.replace(by_equalities(child, known))
    return found


def _equal(one: exp.Expression, other: exp.Expression, known: Known) -> exp.Expression | None:
    sides = one.unnest(), other.unnest()
    for column, value in (sides, sides[::-1]):
        is_constant = not isinstance(value, exp.Null) and value.find(exp.Column, exp.Query) is None
        if is_constant and isinstance(column, exp.Column) and known(column) is not None:
            return exp.EQ(this=column.copy(), expression=value.copy())
    return None


def _equal_rows(one: exp.Expression, other: exp.Expression, known: Known) -> exp.Expression | None:
    """(a, b) = (1, 2), where one of the columns is known."""
    left, right = one.unnest(), other.unnest()
    if not isinstance(left, exp.Tuple) or not isinstance(right, exp.Tuple):
        return None
    pairs = [*zip(left.expressions, right.expressions, strict=False)]
    if len(left.expressions) != len(right.expressions) or all(_equal(*pair, known) is None for pair in pairs):
        return None
    return exp.and_(*(exp.EQ(this=own.copy(), expression=value.copy()) for own, value in pairs))


def write_values(node: exp.Expression, known: Known, written: Writing) -> list[tuple[Attribute, str]]:
    """Write the texts that stand beside values of a known column as these are written, in place. Which of those that
    are compared are none of them."""
    strange = []
    for members in _side_by_side(node):
        attribute = next((found for one in members if (found := _held(one, known)) is not None), None)
        if attribute is None:
            continue
        for value in map(exp.Expression.unnest, members):
            if isinstance(value, exp.Literal) and value.is_string:
                text = written(attribute, str(value.this))
                if text is not None:
                    value.set("this", text)
                elif isinstance(node, COMPARISONS):
                    strange.append((attribute, str(value.this)))
    return strange


def _side_by_side(node: exp.Expression) -> list[Sequence[exp.Expression]]:
    """What a form compares, or takes one of; tuples place by place."""
    found: list[Sequence[exp.Expression]] = []
    match node:
        case exp.In() if not node.args.get("query"):
            found = [[node.this, *node.expressions]]
        case exp.Between():
            found = [[node.this, node.args["low"], node.args["high"]]]
        case exp.Coalesce() | exp.Greatest() | exp.Least():
            found = [[node.this, *node.expressions]]
        case exp.Case():
            compared = [] if node.this is None else [node.this, *(one.this for one in node.args["ifs"])]
            found = [compared, _results(node)]
        case exp.If() if not isinstance(node.parent, exp.Case):
            found = [_results(node)]
        case _ if isinstance(node, PAIRS):
            found = [[node.this, node.expression]]
    return [place for members in found for place in _by_place(members)]


def _by_place(members: Sequence[exp.Expression]) -> list[Sequence[exp.Expression]]:
    rows = [one.unnest() for one in members]
    if not rows or not all(isinstance(row, exp.Tuple) for row in rows):
        return [members]
    return [*zip(*(row.expressions for row in rows), strict=False)]


def _results(node: exp.Expression) -> list[exp.Expression]:
    """What CASE and IF come to."""
    if isinstance(node, exp.If):
        found = [node.args["true"], node.args.get("false")]
    else:
        found = [*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")]
    return [one for one in found if one is not None]


def _held(node: exp.Expression, known: Known) -> Attribute | None:
    """Whose values an expression has."""
    inner = node.unnest()
    match inner:
        case exp.Column():
            return known(inner)
        case exp.Nullif():
            return _held(inner.this, known)
        case exp.Coalesce() | exp.Greatest() | exp.Least():
            parts = [inner.this, *inner.expressions]
        case exp.Case() | exp.If():
            parts = _results(inner)
        case _:
            return None
    return next((found for one in parts if (found := _held(one, known)) is not None), None)
