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
