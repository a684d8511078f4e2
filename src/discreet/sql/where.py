"""WHERE and FILTER: syntax tree → Condition, by an allow-list."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.errors import UnsupportedQuery
from discreet.sql.compare import Bound, Verdict, is_among, is_missing, is_within, number, ordered
from discreet.sql.condition import AllOf, AnyOf, Atom, Condition
from discreet.sql.scope import Scope
from discreet.sql.syntax import literal, only, refused
from discreet.sql.tokens import shown

CONDITIONS = "AND, OR, NOT, IN, BETWEEN, IS NULL, TRUE, FALSE, and = <> < <= > >= of a column and a value"
VALUES = "a number, a text in single quotes, TRUE or FALSE"

ORDERINGS = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def read_condition(node: exp.Expression, scope: Scope, wanted: bool = True) -> Condition:
    """Where the tree's condition is `wanted`, true or false; a point where it is unknown is in neither."""
    node = node.unnest()
    match node:
        case exp.And() | exp.Or():
            return _connective(node, scope, wanted)
        case exp.Not():
            return read_condition(node.this, scope, not wanted)
        case exp.Boolean():
            return AllOf(()) if bool(node.this) == wanted else AnyOf(())
        case exp.EQ() | exp.NEQ():
            column, value, _ = _sides(node, scope)
            axis = scope.axis(column)
            verdict = is_among(scope.domain.attributes[axis], [value])
            return _atom(axis, verdict, wanted == isinstance(node, exp.EQ))
        case exp.In():
            only(node, ("this", "expressions"), "IN (values)")
            axis = _axis(node.this, scope)
            values = [literal(value, VALUES) for value in node.expressions]
            if not values:
                raise UnsupportedQuery("IN () holds no values; name at least one")
            return _atom(axis, is_among(scope.domain.attributes[axis], values), wanted)
        case exp.Between():
            only(node, ("this", "low", "high"), "BETWEEN a value AND a value")
            axis = _axis(node.this, scope)
            attribute = scope.domain.attributes[axis]
            between = ordered(attribute)
            low, high = (number(attribute, literal(node.args[end], VALUES)) for end in ("low", "high"))
            return _atom(axis, is_within(between, Bound(low, False), Bound(high, False)), wanted)
        case exp.Is(expression=exp.Null()):
            axis = _axis(node.this, scope)
            return _atom(axis, is_missing(scope.domain.attributes[axis]), wanted)
    if type(node) in ORDERINGS:
        ordering = _ordering(node, scope, wanted)
        return _atom(ordering.axis, is_within(ordering.attribute, *ordering.bounds), True)
    if isinstance(node, exp.Column):
        axis = scope.axis(node)
        if (truth := _truth(scope.domain.attributes[axis])) is not None:
            return _atom(axis, is_among(scope.domain.attributes[axis], [truth]), wanted)
        raise UnsupportedQuery(f"{shown(node.name)} alone is not a condition; compare it with a value")
    raise refused(node, CONDITIONS)


def _truth(attribute: Attribute) -> Fraction | bool | None:
    """What a column is where it is true by itself: TRUE, or 1 of 0 and 1; None where it is no yes-or-no column."""
    match attribute:
        case Category(values=values) if sorted(values) == ["false", "true"]:
            return True
        case Category(values=values) if sorted(values) == ["0", "1"]:
            return Fraction(1)
        case Integer(low=0, high=1):
            return Fraction(1)
    return None


def _atom(axis: int, verdict: Verdict, wanted: bool) -> Atom:
    if wanted:
        return Atom(axis, verdict.true, verdict.notes)
    return Atom(axis, verdict.false, verdict.notes + verdict.notes_if_false)


@dataclass(frozen=True)
class _Ordering:
    """A column below or above a value."""

    axis: int
    attribute: Integer | Bins
    sign: str
    value: Fraction

    @property
    def bounds(self) -> tuple[Bound | None, Bound | None]:
        bound = Bound(self.value, strict=len(self.sign) == 1)
        return (bound, None) if self.is_low else (None, bound)

    @property
    def is_low(self) -> bool:
        return self.sign[0] == ">"

    @property
    def opposite(self) -> "_Ordering":
        return _Ordering(self.axis, self.attribute, OPPOSITE[self.sign], self.value)


def _ordering(node: exp.Expression, scope: Scope, wanted: bool) -> _Ordering:
    """The comparison as it must hold: where x < 5 is to be false, x >= 5 is to be true, and unknown stays unknown."""
    column, value, mirrored = _sides(node, scope)
    axis = scope.axis(column)
    attribute = scope.domain.attributes[axis]
    sign = ORDERINGS[type(node)]
    sign = MIRRORED[sign] if mirrored else sign
    return _Ordering(axis, ordered(attribute), sign if wanted else OPPOSITE[sign], number(attribute, value))


def _connective(node: exp.And | exp.Or, scope: Scope, wanted: bool) -> Condition:
    """AND or OR of any number of parts; where it is to be false, De Morgan's rule swaps them."""
    every = isinstance(node, exp.And) == wanted
    parts: list[Condition] = []
    orderings: dict[int, list[_Ordering]] = {}
    for part in node.flatten():
        if type(part) in ORDERINGS:
            ordering = _ordering(part, scope, wanted)
            orderings.setdefault(ordering.axis, []).append(ordering)
        else:
            parts.append(read_condition(part, scope, wanted))
    for along_axis in orderings.values():
        parts += _paired(along_axis, every)
    return AllOf(tuple(parts)) if every else AnyOf(tuple(parts))


def _paired(orderings: Sequence[_Ordering], every: bool) -> list[Condition]:
    """Bounds on one column. Two that enclose a range of bins are one condition, as BETWEEN is: each moved to the
    nearest edge on its own, they could meet, and the range would be gone."""
    lows = [ordering for ordering in orderings if ordering.is_low == every]
    highs = [ordering for ordering in orderings if ordering.is_low != every]
    attribute = orderings[0].attribute
    if isinstance(attribute, Bins) and len(lows) == len(highs) == 1:
        low, high = (lows[0], highs[0]) if every else (lows[0].opposite, highs[0].opposite)
        return [_atom(low.axis, is_within(attribute, low.bounds[0], high.bounds[1]), every)]
    return [_atom(one.axis, is_within(attribute, *one.bounds), True) for one in orderings]


def _axis(node: exp.Expression, scope: Scope) -> int:
    column = node.unnest()
    if not isinstance(column, exp.Column):
        raise refused(column, f"a column of {scope.domain.name}")
    return scope.axis(column)


def _sides(node: exp.Expression, scope: Scope) -> tuple[exp.Column, Fraction | str | bool, bool]:
    """The column and the value of a comparison, and whether the value stands on the left."""
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(left, exp.Column) and isinstance(right, exp.Column):
        scope.axis(left)
        if right.this.args.get("quoted"):
            raise UnsupportedQuery(f"{shown(right.name)} is in double quotes, as columns are; texts take single quotes")
        scope.axis(right)
        raise UnsupportedQuery("two columns cannot be compared; compare a column with a value")
    if isinstance(left, exp.Column):
        return left, literal(right, VALUES), False
    if isinstance(right, exp.Column):
        return right, literal(left, VALUES), True
    raise refused(
        next((side for side in (left, right) if not isinstance(side, exp.Literal)), left), "a column and a value"
    )
