"""The mistakes that are tried: each function of a file, with one place of it changed.

Only what functions do is changed: not constants of a module, defaults, decorators, annotations, assertions, or the
words of errors, of which most changes change nothing that a test should notice.
"""

import ast
import copy
from collections.abc import Iterator
from itertools import accumulate

from mutants.mutant import PACKAGE, ROOT, Mutant

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor",
    "minimum": "maximum", "maximum": "minimum", "bisect_left": "bisect_right", "bisect_right": "bisect_left",
}  # fmt: skip
SYMMETRIC = {*CALLED, "isinstance", "issubclass", "getattr", "hasattr", "gcd", "lcm", "zip", "add", "cast"} - {
    "bisect_left",
    "bisect_right",
}
"""Functions of which swapped arguments mean the same, or are no Python."""

Change = tuple[ast.AST, str, str]
"""A node, what stands instead of it, and the kind of mistake."""


def mutants_of(path: str) -> list[Mutant]:
    """Every mutant of a file of the package."""
    source = (ROOT / PACKAGE / path).read_bytes()
    begins = list(accumulate((len(line) for line in source.splitlines(keepends=True)), initial=0))

    def place(line: int, column: int) -> int:
        return begins[line - 1] + column

    return [
        Mutant(path, place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset), after, kind)
        for node, after, kind in _in_functions(ast.parse(source))
    ]


def _in_functions(tree: ast.AST) -> Iterator[Change]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _in_body(node)
        elif isinstance(node, ast.ClassDef):
            yield from _in_functions(node)


def _in_body(function: ast.FunctionDef) -> Iterator[Change]:
    returns = ast.unparse(function.returns) if function.returns else ""
    for statement in function.body:
        yield from _in(statement, returns)


def _in(node: ast.AST, returns: str) -> Iterator[Change]:
    """The changes to a node and to what is in it."""
    match node:
        case ast.FunctionDef():
            yield from _in_body(node)
        case ast.Raise():
            yield node, "pass", "statement dropped"
        case ast.JoinedStr() | ast.Assert() | ast.arguments() | ast.keyword(arg="strict" | "copy" | "missing_ok"):
            return
        case ast.AnnAssign(value=value):
            if value is not None:
                yield from _in(value, returns)
        case _:
            yield from _of_statement(node, returns)
            yield from _of_expression(node)
            for child in ast.iter_child_nodes(node):
                yield from _in(child, returns)


def _of_statement(node: ast.AST, returns: str) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, "pass", "statement dropped"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            constants = {"bool": ("True", "False"), "int": ("0",), "float": ("0.0",), "Fraction": ("Fraction(0)",)}
            for constant in constants.get(returns, ()):
                yield node, f"return {constant}", "constant returned"
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield test, f"(not ({ast.unparse(test)}))", "condition negated"


def _of_expression(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in COMPARED[type(op)]:
                    yield node, _with(node, "ops", [*ops[:at], other(), *ops[at + 1 :]]), "comparison changed"
        case ast.BinOp(op=op, left=left, right=right) if not (_is_text(left) or _is_text(right)):
            if type(op) in COMPUTED:
                yield node, _with(node, "op", COMPUTED[type(op)]()), "operator changed"
        case ast.BoolOp(op=op):
            yield node, _with(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And()), "and, or"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, f"({ast.unparse(operand)})", "sign or negation dropped"
        case ast.Constant(value=bool(value)):
            yield node, str(not value), "constant changed"
        case ast.Constant(value=int(value)):
            yield node, str(value + 1), "off by one"
        case ast.Call():
            yield from _of_call(node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from _unfiltered(node)


def _of_call(node: ast.Call) -> Iterator[Change]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in CALLED:
        called = ast.unparse(node.func).removesuffix(name) + CALLED[name]
        yield node.func, called, "function changed"
    match node.args:
        case [first, second, *rest] if name not in SYMMETRIC:
            if ast.Starred not in (type(first), type(second)) and ast.dump(first) != ast.dump(second):
                yield node, _with(node, "args", [second, first, *rest]), "arguments swapped"


def _unfiltered(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Iterator[Change]:
    for at, part in enumerate(node.generators):
        if part.ifs:
            changed = copy.deepcopy(node)
            changed.generators[at].ifs = []
            yield node, ast.unparse(changed), "filter dropped"


def _with(node: ast.AST, field: str, value: object) -> str:
    """The text of a node with another value of one of its fields."""
    changed = copy.copy(node)
    setattr(changed, field, value)
    return f"({ast.unparse(changed)})"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
