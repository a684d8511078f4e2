"""Functions and forms of other databases, as DuckDB writes them: TO_CHAR as STRFTIME, WIDTH_BUCKET as CASE; and lists
of quantiles as a column for each.

They are spelled out before anything else reads the statement.
"""

from collections.abc import Sequence
from itertools import accumulate

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.passes.tree import place_among
from discreet.sql.syntax import place_of, refused

CALLS = (exp.ToChar, exp.SafeDivide, exp.ApproxDistinct, exp.WidthBucket, exp.Bracket)
LISTS = (exp.Array, exp.Tuple)
LISTED = (*LISTS, exp.ApproxQuantiles)
COUNTED_FROM_0 = (exp.DataType.Type.UNKNOWN, exp.DataType.Type.ARRAY)
MOST_LEVELS = 50
FORMATS = (
    *(("YYYY", "%Y"), ("MM", "%m"), ("DDD", "%j"), ("DD", "%d"), ("HH24", "%H"), ("MI", "%M"), ("SS", "%S")),
    *(("FMMonth", "%B"), ("Mon", "%b"), ("FMDay", "%A"), ("Dy", "%a"), ("YY", "%y"), ("IYYY", "%G"), ("IW", "%V")),
)
"""What TO_CHAR calls the parts of a date, and STRFTIME."""


def spelled(tree: exp.Expression) -> exp.Expression:
    """The same statement in DuckDB's words."""
    if tree.find(*CALLS, *LISTED) is None:
        return tree
    tree = tree.copy()
    for node in [*tree.find_all(*CALLS)]:
        said = _element(node) if isinstance(node, exp.Bracket) else _spelled(node)
        if said is not None:
            node.replace(said)
    for call in [*tree.find_all(*LISTED)]:
        select = call.parent_select
        if isinstance(select, exp.Select):
            _spread(select)
    return tree


def _spread(select: exp.Select) -> None:
    """A column for each level of the lists of quantiles that a SELECT asks for; what it says of columns by their places
    means the same ones after it."""
    outputs = [_each_level(output) for output in select.expressions]
    if all(len(one) == 1 and one[0] is output for one, output in zip(outputs, select.expressions, strict=True)):
        return
    first = [1, *accumulate(map(len, outputs), initial=1)][1:]
    for part in (select.args.get("group"), select.args.get("order")):
        for item in part.expressions if part is not None else ():
            node = item.this if isinstance(item, exp.Ordered) else item
            place = place_among(node, select.expressions)
            if place is not None:
                node.replace(exp.Literal.number(first[place]))
    select.set("expressions", [one for each in outputs for one in each])


def _spelled(node: exp.Expression) -> exp.Expression:
    match node:
        case exp.ToChar():
            return _strftime(node)
        case exp.SafeDivide():
            above, below = (exp.paren(node.args[part].copy()) for part in ("this", "expression"))
            return exp.paren(exp.Div(this=above, expression=exp.Nullif(this=below, expression=exp.Literal.number(0))))
        case exp.ApproxDistinct():
            return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]), big_int=True)
    return _bucket(node)


def _strftime(node: exp.ToChar) -> exp.Expression:
    """TO_CHAR(date, 'YYYY-MM'). Names that are padded with blanks, and formats of numbers, are none of a date here."""
    form = node.args.get("format")
    rest, made = str(form.this) if isinstance(form, exp.Literal) and form.is_string else "?", ""
    while rest:
        part = next(((name, code) for name, code in FORMATS if rest.startswith(name)), None)
        if part is None and rest[0].isalnum():
            raise refused(node, "TO_CHAR of a date, with YYYY, MM, DD, HH24, MI, SS, Mon, Dy, IYYY and IW")
        made += part[1] if part else rest[0].replace("%", "%%")
        rest = rest[len(part[0]) if part else 1 :]
    return exp.TimeToStr(this=node.this.copy(), format=exp.Literal.string(made))


def _bucket(node: exp.Expression) -> exp.Expression:
    """WIDTH_BUCKET(x, low, high, n): 0 below, n + 1 from the high end on."""
    value, low, high, count = (node.args[part].copy() for part in ("this", "min_value", "max_value", "num_buckets"))
    if not all(isinstance(one.unnest(), exp.Literal | exp.Neg) for one in (low, high, count)):
        raise refused(node, "WIDTH_BUCKET(x, low, high, count) with numbers for low, high and count")
    share = f"({value.sql('duckdb')} - ({low.sql()})) * {count.sql()} / (({high.sql()}) - ({low.sql()}))"
    text = (
        f"CASE WHEN {value.sql('duckdb')} < {low.sql()} THEN 0 WHEN {value.sql('duckdb')} >= {high.sql()} "
        f"THEN {count.sql()} + 1 ELSE CAST(FLOOR({share}) AS INT) + 1 END"
    )
    return exp.maybe_parse(text, dialect="duckdb")


def _each_level(output: exp.Expression) -> Sequence[exp.Expression]:
    """An output of a list of quantiles as one for each level, named after it."""
    call = output.unalias().unnest()
    levels = _levels(call)
    if levels is None:
        return [output]
    if not 0 < len(levels) <= MOST_LEVELS:
        raise UnsupportedQuery(f"a list of quantiles has 1 to {MOST_LEVELS} levels{place_of(call)}")
    of = next(call.find_all(exp.Column), None)
    name = output.alias or (f"quantile_{of.name}" if of is not None else "quantile")
    return [exp.alias_(_at_level(call, level), f"{name}_{level.sql()}", quoted=True) for level in levels]


def _element(bracket: exp.Bracket) -> exp.Expression | None:
    """QUANTILE(x, [0.25, 0.5])[2], counted from 1."""
    levels = _levels(bracket.this.unnest())
    if levels is None or len(bracket.expressions) != 1:
        return None
    place, kind = bracket.expressions[0], bracket.this.type
    # The parser counts from 0, of what it does not know to be a number.
    first = 0 if kind is not None and kind.this in COUNTED_FROM_0 else 1
    if not isinstance(place, exp.Literal) or not place.is_int or not first <= int(place.this) < len(levels) + first:
        raise UnsupportedQuery(f"that is no place in this list of quantiles{place_of(bracket)}; the first one is [1]")
    return _at_level(bracket.this.unnest(), levels[int(place.this) - first])


def _levels(call: exp.Expression) -> list[exp.Expression] | None:
    """The levels that are listed in a call; None where it has no list."""
    match call:
        case exp.Filter():
            return _levels(call.this.unnest())
        case exp.ApproxQuantiles() if isinstance(call.expression, exp.Literal) and call.expression.is_int:
            parts = int(call.expression.this)
            if not 0 < parts < MOST_LEVELS:
                raise UnsupportedQuery(f"APPROX_QUANTILES takes 1 to {MOST_LEVELS - 1} parts{place_of(call)}")
            return [exp.Literal.number(f"{place / parts:.12g}") for place in range(parts + 1)]
        case exp.WithinGroup() if isinstance(call.this, exp.PercentileCont | exp.PercentileDisc):
            listed = call.this.this
        case exp.Quantile() | exp.ApproxQuantile():
            listed = call.args.get("quantile") or call.args.get("expression")
        case exp.PercentileCont() | exp.PercentileDisc():
            listed = call.expression
        case _:
            return None
    inner = listed.unnest() if isinstance(listed, exp.Expression) else None
    return list(inner.expressions) if isinstance(inner, LISTS) else None


def _at_level(call: exp.Expression, level: exp.Expression) -> exp.Expression:
    if isinstance(call, exp.ApproxQuantiles):
        return exp.Quantile(this=call.this.copy(), quantile=level.copy())
    found = call.copy()
    for listed in found.find_all(*LISTS):
        if not listed.find_ancestor(*LISTS):
            listed.replace(level.copy())
            break
    return found
