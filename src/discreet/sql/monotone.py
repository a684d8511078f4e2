"""Which expressions only rise, or only fall, with the one column that is in them."""

from sqlglot import exp

RISING = (exp.Floor, exp.Ceil, exp.Round, exp.Sqrt, exp.Cbrt, exp.Exp, exp.Ln, exp.Paren)
COMPARED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
NUMBERS = frozenset(["TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "FLOAT", "DOUBLE", "DECIMAL"])


def is_monotone(node: exp.Expression) -> bool:
    """Whether an expression over one column is sure to be monotone in it: by its form, on the safe side."""
    match node:
        case exp.Column():
            return "leaf" not in node.meta
        case exp.Neg() | exp.Not():
            return is_monotone(node.this)
        case exp.Cast() | exp.TryCast():
            return node.to.this.name in NUMBERS and is_monotone(node.this)
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = node.this, node.expression
            return (is_constant(right) and is_monotone(left)) or (is_constant(left) and is_monotone(right))
        case exp.Div() | exp.IntDiv():
            return is_constant(node.expression) and is_monotone(node.this)
        case exp.Greatest() | exp.Least():
            varying = [part for part in (node.this, *node.expressions) if not is_constant(part)]
            return len(varying) == 1 and is_monotone(varying[0])
    if isinstance(node, COMPARED):
        left, right = node.this, node.expression
        return (is_constant(right) and is_monotone(left)) or (is_constant(left) and is_monotone(right))
    if isinstance(node, RISING):
        further = [part for name, part in node.args.items() if name != "this" and isinstance(part, exp.Expression)]
        return all(map(is_constant, further)) and is_monotone(node.this)
    return False


def is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column) is None


def in_orderings(node: exp.Expression) -> exp.Expression:
    """The same with = <> IN and BETWEEN of constants as <= and >=, which are monotone where their sides are."""
    return node.copy().transform(_ordered)


def _ordered(node: exp.Expression) -> exp.Expression:
    match node:
        case exp.EQ() | exp.NEQ() if is_constant(node.expression) or is_constant(node.this):
            both = [kind(this=node.this.copy(), expression=node.expression.copy()) for kind in (exp.GTE, exp.LTE)]
            equal = exp.paren(exp.and_(*both, copy=False))
            return equal if isinstance(node, exp.EQ) else exp.Not(this=equal)
        case exp.In() if node.expressions and all(map(is_constant, node.expressions)):
            either = [_ordered(exp.EQ(this=node.this.copy(), expression=one.copy())) for one in node.expressions]
            return exp.paren(exp.or_(*either, copy=False))
        case exp.Between() if is_constant(node.args["low"]) and is_constant(node.args["high"]):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
            return exp.paren(exp.and_(low, high, copy=False))
    return node
