"""VAR, STDDEV, COVAR, CORR and REGR_… as public formulas of private sums.

With n rows that have both values, and x and y measured from a public number near their middle (c, d), all of these
follow from n and the sums of x−c, y−d, (x−c)², (y−d)² and (x−c)(y−d). A shift changes no variance, and makes the
squares that a row can add, hence the noise, several times smaller.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.exact import number_text
from discreet.query.query import grain_of
from discreet.sql.scope import Scope
from discreet.sql.syntax import only

Formula = Callable[["_Sums"], str]

ONE: dict[type[exp.Expression], Formula] = {
    exp.Variance: lambda s: s.sample_variance,
    exp.VariancePop: lambda s: s.variance,
    exp.Stddev: lambda s: _root(s.sample_variance),
    exp.StddevSamp: lambda s: _root(s.sample_variance),
    exp.StddevPop: lambda s: _root(s.variance),
}
TWO: dict[type[exp.Expression], Formula] = {
    exp.CovarPop: lambda s: f"({s.cross}) / {s.n}",
    exp.CovarSamp: lambda s: f"({s.cross}) / ({s.n} - 1)",
    exp.Corr: lambda s: _between(-1, f"({s.cross}) / {_root(f'({s.xx}) * ({s.yy})')}", 1),
    exp.RegrSlope: lambda s: f"({s.cross}) / ({s.xx})",
    exp.RegrIntercept: lambda s: f"{s.mean_y} - ({s.cross}) / ({s.xx}) * ({s.mean_x})",
    exp.RegrR2: lambda s: _between(0, f"({s.cross}) * ({s.cross}) / (({s.xx}) * ({s.yy}))", 1),
    exp.RegrCount: lambda s: s.n,
    exp.RegrAvgx: lambda s: s.mean_x,
    exp.RegrAvgy: lambda s: s.mean_y,
    exp.RegrSxx: lambda s: s.xx,
    exp.RegrSyy: lambda s: s.yy,
    exp.RegrSxy: lambda s: s.cross,
}
STATISTICS = (*ONE, *TWO)


def as_sums(node: exp.Expression, scope: Scope) -> exp.Expression | None:
    """The same statistic by SUM and COUNT, as SQL; None where it is none of these. FILTER stays on each of them."""
    call = node.this.unnest() if isinstance(node, exp.Filter) else node
    if type(call) not in ONE and type(call) not in TWO:
        return None
    condition = node.expression.this if isinstance(node, exp.Filter) else None
    if type(call) in ONE:
        only(call, ("this",), f"{call.key.upper()} of one expression")
        sums = _Sums(scope, call.this, call.this, condition)
        return _read(ONE[type(call)](sums))
    only(call, ("this", "expression"), f"{call.key.upper()}(y, x)")
    sums = _Sums(scope, call.expression, call.this, condition)
    return _read(TWO[type(call)](sums))


def _read(text: str) -> exp.Expression:
    from sqlglot import parse_one

    return exp.paren(parse_one(text, dialect="duckdb"))


@dataclass(frozen=True)
class _Sums:
    """The sums of a statistic of y on x, as SQL."""

    scope: Scope
    x: exp.Expression
    y: exp.Expression
    condition: exp.Expression | None

    @property
    def n(self) -> str:
        return self._over("COUNT", f"{self._text(self.x)}")

    @property
    def mean_x(self) -> str:
        return f"({self._middle(self.x)} + {self._over('SUM', self._shifted(self.x))} / {self.n})"

    @property
    def mean_y(self) -> str:
        return f"({self._middle(self.y)} + {self._over('SUM', self._shifted(self.y))} / {self.n})"

    @property
    def xx(self) -> str:
        return self._spread(self.x, self.x)

    @property
    def yy(self) -> str:
        return self._spread(self.y, self.y)

    @property
    def cross(self) -> str:
        return self._spread(self.x, self.y)

    @property
    def variance(self) -> str:
        return f"({self.xx}) / {self.n}"

    @property
    def sample_variance(self) -> str:
        return f"({self.xx}) / ({self.n} - 1)"

    def _spread(self, one: exp.Expression, other: exp.Expression) -> str:
        """Σ (x − mean of x)(y − mean of y)."""
        x, y = self._shifted(one), self._shifted(other)
        products = self._over("SUM", f"{x} * {y}")
        return f"{products} - {self._over('SUM', x)} * {self._over('SUM', y)} / {self.n}"

    def _over(self, function: str, argument: str) -> str:
        """An aggregate over the rows that have both values, and meet the condition."""
        parts = [] if self.condition is None else [f"({self.condition.sql('duckdb')})"]
        alone = self.x == self.y
        parts += [held for one in (self.x,) * alone or (self.x, self.y) if (held := self._present(one, alone))]
        return f"{function}({argument})" + (f" FILTER (WHERE {' AND '.join(parts)})" if parts else "")

    def _present(self, node: exp.Expression, alone: bool) -> str:
        """The condition that there is a number; empty where aggregates see to it. To COUNT and IS NULL a value outside
        the declared ones is one, but no sum can hold it."""
        attribute = self._attribute(node)
        if isinstance(attribute, Integer) and attribute.outside == "other":
            return f"{self._text(node)} BETWEEN {attribute.low} AND {attribute.high}"
        if isinstance(attribute, Bins) and attribute.outside == "other":
            ends = [edge for edge in (attribute.edges[0], attribute.edges[-1]) if edge is not None]
            return f"{self._text(node)} BETWEEN {' AND '.join(map(number_text, ends))}" if len(ends) == 2 else ""
        may_be_null = attribute is None or attribute.size > attribute.cells
        return f"{self._text(node)} IS NOT NULL" if may_be_null and not alone else ""

    def _text(self, node: exp.Expression) -> str:
        return f"({node.unnest().sql('duckdb')})"

    def _attribute(self, node: exp.Expression) -> Attribute | None:
        column = node.unnest()
        if not isinstance(column, exp.Column) or self.scope.derived_of(column) is not None:
            return None
        return self.scope.attribute(column)

    def _middle(self, node: exp.Expression) -> str:
        """A number near the middle of what is declared; 0 of expressions."""
        match self._attribute(node):
            case Integer(low=low, high=high):
                return str((low + high) // 2)
            case Bins() as attribute if not attribute.open and attribute.grain is not None:
                first, last = attribute.edges[0], attribute.edges[-1]
                assert first is not None
                assert last is not None
                grain = grain_of(attribute)
                return number_text(Fraction(round((first + last) / 2 / grain)) * grain)
        return "0"

    def _shifted(self, node: exp.Expression) -> str:
        middle = self._middle(node)
        return self._text(node) if middle == "0" else f"({self._text(node)} - ({middle}))"


def _between(least: int, text: str, most: int) -> str:
    """What never lies outside of two numbers but for noise. NULL stays NULL."""
    return f"CASE WHEN {text} < {least} THEN {least} WHEN {text} > {most} THEN {most} ELSE {text} END"


def _root(text: str) -> str:
    """The square root of what is never below 0 but for noise."""
    return f"SQRT(CASE WHEN {text} < 0 THEN 0 ELSE {text} END)"
