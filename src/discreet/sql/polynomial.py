"""Expressions that calculate with columns in bins: polynomials of them, whose coefficients depend on codes alone.

A row has its bins in whole grains beside its codes, so that `income * weight` or `(income - 50000) * (income - 50000)`
can be summed exactly. Each power of the bins has a coefficient that is an expression over codes, and evaluated on the
domain as any other; CASE chooses between polynomials.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from discreet.domain.attribute import Bins
from discreet.errors import UnsupportedQuery
from discreet.sql.monotone import is_constant
from discreet.sql.scope import Scope
from discreet.sql.syntax import place_of, refused

Powers = tuple[str, ...]
"""Attributes in bins that are multiplied, sorted, one as often as its power."""
MOST_POWERS = 16
HIGHEST = 4
POLYNOMIALS = "of columns in bins sums take + - * of them, / by other values, CASE, and COALESCE(column, value)"
WIDE = frozenset(["DOUBLE", "DECIMAL", "FLOAT"])


@dataclass(frozen=True)
class Polynomial:
    """A coefficient for each power; () is that of no bins."""

    terms: dict[Powers, exp.Expression]


def read_polynomial(node: exp.Expression, scope: Scope, is_ordinary: Callable[[exp.Expression], bool]) -> Polynomial:
    """The polynomial that an expression is. Raises UnsupportedQuery where it is none."""
    return _Reader(scope, is_ordinary).read(node)


def has_bins(node: exp.Expression, scope: Scope, is_ordinary: Callable[[exp.Expression], bool]) -> bool:
    """Whether it calculates with a column in bins, and does not only compare it with values."""
    if is_ordinary(node.unnest()):
        return False
    if isinstance(node, exp.Column):
        return scope.derived_of(node) is None and isinstance(scope.attribute(node), Bins)
    return any(has_bins(child, scope, is_ordinary) for child in node.iter_expressions())


@dataclass(frozen=True)
class _Reader:
    scope: Scope
    is_ordinary: Callable[[exp.Expression], bool]

    def read(self, node: exp.Expression) -> Polynomial:
        node = node.unnest()
        if not has_bins(node, self.scope, self.is_ordinary):
            return Polynomial({(): node})
        match node:
            case exp.Column():
                return Polynomial({(self.scope.attribute(node).name,): exp.Literal.number(1)})
            case exp.Neg():
                return _each(self.read(node.this), lambda part: exp.Neg(this=exp.paren(part)))
            case exp.Add() | exp.Sub():
                return _added(self.read(node.this), self.read(node.expression), type(node))
            case exp.Mul():
                return _multiplied(self.read(node.this), self.read(node.expression))
            case exp.Pow() if is_constant(node.expression) and node.expression.sql() in ("2", "3", "4"):
                whole = inner = self.read(node.this)
                for _ in range(int(node.expression.sql()) - 1):
                    whole = _multiplied(whole, inner)
                return whole
            case exp.Div() if not has_bins(node.expression, self.scope, self.is_ordinary):
                divisor = node.expression
                return _each(
                    self.read(node.this), lambda part: exp.Div(this=exp.paren(part), expression=divisor.copy())
                )
            case exp.Cast() | exp.TryCast() if node.to.this.name in WIDE:
                return self.read(node.this)
            case exp.Case():
                return self._case(node)
            case exp.If():
                plain = exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args.get("false"))
                return self._case(plain)
            case exp.Coalesce() if self._is_missing_or_known(node.this.unnest()):
                missing = exp.Is(this=node.this.copy(), expression=exp.null())
                first, *more = node.expressions
                instead = exp.Coalesce(this=first.copy(), expressions=[one.copy() for one in more]) if more else first
                return self._case(exp.Case(ifs=[exp.If(this=missing, true=instead)], default=node.this))
        raise refused(node, POLYNOMIALS)

    def _is_missing_or_known(self, node: exp.Expression) -> bool:
        """Whether it is a column without values outside the declared ones: those are no numbers, and not missing."""
        return isinstance(node, exp.Column) and self.scope.attribute(node).outside != "other"

    def _case(self, node: exp.Case) -> Polynomial:
        """For each power, a CASE between the coefficients of the branches."""
        operand = node.args.get("this")
        tests = [branch.this for branch in node.args["ifs"]]
        if any(has_bins(part, self.scope, self.is_ordinary) for part in (*tests, *([operand] if operand else []))):
            raise refused(node, POLYNOMIALS)
        branches = [self.read(branch.args["true"]) for branch in node.args["ifs"]]
        default = node.args.get("default")
        otherwise = None if default is None else self.read(default)
        powers = dict.fromkeys(power for one in (*branches, *([otherwise] if otherwise else [])) for power in one.terms)
        found = {}
        for power in powers:
            ifs = [
                exp.If(this=test.copy(), true=_of(branch, power)) for test, branch in zip(tests, branches, strict=True)
            ]
            case = exp.Case(ifs=ifs)
            if operand is not None:
                case.set("this", operand.copy())
            if otherwise is not None:
                case.set("default", _of(otherwise, power))
            found[power] = case
        return Polynomial(found)


def _of(polynomial: Polynomial, power: Powers) -> exp.Expression:
    return polynomial.terms[power].copy() if power in polynomial.terms else exp.Literal.number(0)


def _each(polynomial: Polynomial, change: Callable[[exp.Expression], exp.Expression]) -> Polynomial:
    return Polynomial({power: change(part.copy()) for power, part in polynomial.terms.items()})


def _added(one: Polynomial, other: Polynomial, kind: type[exp.Binary]) -> Polynomial:
    powers = dict.fromkeys((*one.terms, *other.terms))
    return Polynomial({p: kind(this=exp.paren(_of(one, p)), expression=exp.paren(_of(other, p))) for p in powers})


def _multiplied(one: Polynomial, other: Polynomial) -> Polynomial:
    terms: dict[Powers, exp.Expression] = {}
    for first, left in one.terms.items():
        for second, right in other.terms.items():
            power = tuple(sorted((*first, *second)))
            part = exp.Mul(this=exp.paren(left.copy()), expression=exp.paren(right.copy()))
            terms[power] = exp.Add(this=terms[power], expression=part) if power in terms else part
    if len(terms) > MOST_POWERS or max(map(len, terms)) > HIGHEST:
        raise UnsupportedQuery(f"a product of too many columns in bins{place_of(one.terms[next(iter(one.terms))])}")
    return Polynomial(terms)
