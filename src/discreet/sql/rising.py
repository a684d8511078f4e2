"""Quantiles of an expression that only rises, or only falls, with a column: the expression of the column's quantile.

A column in bins has no single values that an expression could be counted by; but what keeps the order of its values
keeps their ranks, and what turns it round has the rank from the other end. It is then calculated with in public.
"""

from fractions import Fraction

from sqlglot import exp

from discreet.domain.attribute import Bins
from discreet.errors import DiscreetError
from discreet.sql.monotone import NUMBERS, is_constant
from discreet.sql.scope import Scope
from discreet.sql.syntax import exact_number

RISING = (exp.Floor, exp.Ceil, exp.Round, exp.Cbrt, exp.Paren)
PERCENTILES = (exp.PercentileCont, exp.PercentileDisc)
OTHER_END = {exp.Min: exp.Max, exp.Max: exp.Min, exp.Median: exp.Median}


def of_ranked_column(node: exp.Expression, scope: Scope) -> exp.Expression | None:
    """The same by the quantile of a column in bins; None where it is no quantile, or not of such an expression. FILTER
    stays on it."""
    call = node.this.unnest() if isinstance(node, exp.Filter) else node
    of = _ranked(call)
    if of is None or isinstance(of.unnest(), exp.Column) or not _is_of_bins(of, scope):
        return None
    turn = _turn(of)
    if turn is None:
        return None
    [column] = of.find_all(exp.Column)
    quantile = _with_rank_of(call, column.copy(), is_turned=turn < 0)
    if isinstance(node, exp.Filter):
        quantile = exp.Filter(this=quantile, expression=node.expression.copy())
    whole = exp.paren(of.copy(), copy=False)
    next(iter(whole.find_all(exp.Column))).replace(quantile)
    return whole


def _ranked(call: exp.Expression) -> exp.Expression | None:
    """What a quantile is of."""
    if isinstance(call, exp.WithinGroup):
        ordered = call.expression.expressions
        is_one = isinstance(call.this, PERCENTILES) and len(ordered) == 1 and not ordered[0].args.get("desc")
        return ordered[0].this if is_one else None
    is_quantile = isinstance(call, (*OTHER_END, *PERCENTILES, exp.Quantile, exp.ApproxQuantile))
    return call.this if is_quantile and not call.args.get("expressions") else None


def _is_of_bins(of: exp.Expression, scope: Scope) -> bool:
    columns = [*of.find_all(exp.Column)]
    if len(columns) != 1 or of.find(exp.AggFunc, exp.Query) is not None:
        return False
    try:
        return scope.derived_of(columns[0]) is None and isinstance(scope.attribute(columns[0]), Bins)
    except DiscreetError:
        return False  # it is refused where it is read


def _turn(node: exp.Expression) -> int | None:
    """1 where an expression rises with its one column, or stays; −1 where it falls; None where that is not plain."""
    match node:
        case exp.Column():
            return 1
        case exp.Neg():
            return _times(-1, _turn(node.this))
        case exp.Cast() | exp.TryCast():
            return _turn(node.this) if node.to.this.name in NUMBERS else None
        case exp.Add() if is_constant(node.this):
            return _turn(node.expression)
        case exp.Sub() if is_constant(node.this):
            return _times(-1, _turn(node.expression))
        case exp.Add() | exp.Sub() if is_constant(node.expression):
            return _turn(node.this)
        case exp.Mul() if is_constant(node.this):
            return _times(_sign(node.this), _turn(node.expression))
        case exp.Mul() | exp.Div() | exp.IntDiv() if is_constant(node.expression):
            return _times(_sign(node.expression), _turn(node.this))
    if isinstance(node, RISING):
        further = [part for name, part in node.args.items() if name != "this" and isinstance(part, exp.Expression)]
        return _turn(node.this) if all(map(is_constant, further)) else None
    return None


def _times(sign: int | None, turn: int | None) -> int | None:
    return None if sign is None or turn is None else sign * turn


def _sign(node: exp.Expression) -> int | None:
    """The sign of a number as it is written; None for 0, and for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        return _times(-1, _sign(node.this))
    value = exact_number(node.this) if isinstance(node, exp.Literal) and not node.is_string else Fraction(0)
    return None if not value else 1 if value > 0 else -1


def _with_rank_of(call: exp.Expression, column: exp.Expression, is_turned: bool) -> exp.Expression:
    """The same quantile of a column; `is_turned`: that from the other end."""
    found = call.copy()
    if type(call) in OTHER_END:
        return (OTHER_END[type(call)] if is_turned else type(call))(this=column)
    holder, name = found, "quantile" if found.args.get("quantile") is not None else "expression"
    if isinstance(found, exp.WithinGroup):
        found.expression.expressions[0].set("this", column)
        holder, name = found.this, "this"
    else:
        found.set("this", column)
    level = holder.args.get(name)
    if is_turned and level is not None:
        holder.set(name, _rest(level))
    return found


def _rest(level: exp.Expression) -> exp.Expression:
    """1 less a level that is a number; other levels are refused where they are read."""
    value = exact_number(level.this) if isinstance(level, exp.Literal) and not level.is_string else None
    if value is None or not 0 <= value <= 1:
        return level.copy()
    digits = len(level.this.partition(".")[2])
    return exp.Literal.number(f"{float(1 - value):.{digits}f}")
