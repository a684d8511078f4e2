"""What the passes ask of a syntax tree: its SELECTs, its aggregates, its texts and names."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from discreet.sql.syntax import OWN

ROWS = f"{OWN}rows"
"""The vault's table, as the passes call it: a WITH may have given its own name to something else."""
LINES = f"{OWN}lines"
"""The lines of people that a private SELECT reads, in its FROM."""
OUTER = f"{OWN}outer"
"""A function around what a sub-query names of the groups of the SELECT that it stands in."""
OURS = "ours"
"""A mark at a sub-query in FROM whose name no statement may give."""
LATERAL = "lateral"
"""A mark at a sub-query in FROM that names columns of the tables before it."""
LONGEST_NAME = 60
AGGREGATE_PARTS = (exp.Filter, exp.WithinGroup, exp.AggFunc)
NAMED_AGGREGATES = frozenset({"regr_avgx", "regr_avgy", "regr_count", "regr_sxx", "regr_sxy", "regr_syy", "regr_r2"})
WINDOW_MODIFIERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)

Change = Callable[[exp.Expression], exp.Expression]


def text_of(node: exp.Expression) -> str:
    return str(node.sql("duckdb", comments=False))


def name_of(output: exp.Expression) -> str:
    """What an output column is called: its alias, its column's name, or what it is, as it was written."""
    if output.alias:
        return str(output.alias)
    node = output.unalias().unnest()
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count"
    if isinstance(node, exp.AggFunc) and isinstance(node.this, exp.Column) and not node.expressions:
        return f"{node.key}_{node.this.name}"
    return text_of(node).lower()[:LONGEST_NAME]


def output_of(node: exp.Expression, name: str) -> exp.Alias:
    """An output column of this name. A sub-query, which the parser would give the name itself, stands in it too."""
    inner = node.copy()
    if isinstance(inner, exp.Subquery):
        inner.set("alias", None)
    return exp.Alias(this=inner, alias=exp.to_identifier(name, quoted=True))


def literal_of(value: object) -> exp.Expression:
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | float() | Decimal():
            text = format(abs(value), "f") if isinstance(value, Decimal) else repr(abs(value))
            number = exp.Literal.number(text)
            return exp.Neg(this=number) if value < 0 else number
    return exp.Literal.string(str(value))


def qualifier_of(table: exp.Expression) -> str:
    return str(table.alias_or_name).lower()


def is_star(node: exp.Expression) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def conjuncts(condition: exp.Expression | None) -> list[exp.Expression]:
    """The conditions that an AND is made of."""
    if condition is None:
        return []
    inner = condition.unnest()
    return [one.unnest() for one in inner.flatten()] if isinstance(inner, exp.And) else [inner]


def place_among(node: exp.Expression, outputs: Sequence[exp.Expression]) -> int | None:
    """The place, from 0, that a number in GROUP BY or ORDER BY means."""
    is_number = isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit()
    return int(node.this) - 1 if is_number and 1 <= int(node.this) <= len(outputs) else None


# Sub-queries


def inner_queries(node: exp.Expression, leave: Sequence[exp.Expression] = ()) -> list[exp.Expression]:
    """The outermost sub-queries in the expressions of a node; not those of its WITH, nor those to leave."""
    found: list[exp.Expression] = []
    waiting = [child for key, child in reversed([*children(node)]) if key != "with_"]
    left = {id(one) for one in leave}
    while waiting:
        inner = waiting.pop()
        if id(inner) in left:
            continue
        if isinstance(inner, exp.Query):
            found.append(inner)
        else:
            waiting += list(inner.iter_expressions(reverse=True))
    return found


def children(node: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    for key, value in node.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expression):
                yield key, child


def sources_of(select: exp.Select) -> list[exp.Expression]:
    """What a SELECT reads: FROM and its joins."""
    source = select.args.get("from_")
    return [*([source.this] if source else []), *(join.this for join in select.args.get("joins") or [])]


def reads_rows(select: exp.Expression) -> bool:
    """Whether it is a SELECT over the vault's rows, once they are inlined, or over people's lines."""
    if not isinstance(select, exp.Select):
        return False
    return lines_of(select) is not None or [one.name for one in sources_of(select)] == [ROWS]


def lines_of(select: exp.Select) -> exp.Select | None:
    """The SELECT that makes the lines of people which a SELECT reads; None where it reads something else."""
    sources = sources_of(select)
    if len(sources) == 1 and isinstance(sources[0], exp.Subquery) and sources[0].alias == LINES:
        return sources[0].this
    return None


def value_queries(select: exp.Select) -> list[exp.Expression]:
    """The sub-queries whose values a private SELECT needs, and those that the lines need which it reads."""
    lines = lines_of(select)
    return (
        inner_queries(select) if lines is None else [*inner_queries(select, sources_of(select)), *inner_queries(lines)]
    )


def rewrite_selects(tree: exp.Query, change: Callable[[exp.Select], exp.Query]) -> exp.Query:
    """A tree with its SELECTs over rows changed, what stands inside another first."""
    for found in _inside_out(tree):
        changed = change(found)
        if found is tree:
            tree = changed
        else:
            found.replace(changed)
    return tree


def _inside_out(query: exp.Expression) -> list[exp.Select]:
    """The SELECTs over rows, in the order in which they are read: WITH, FROM, then the expressions."""
    if reads_rows(query):
        groups = group_texts(query)
        parts: list[exp.Expression] = [
            *(cte.this for cte in _ctes(query)),
            *(inner for part in public_parts(query) for inner in public_queries(part, groups)),
        ]
        return [*(found for part in parts for found in _inside_out(part)), query]
    if isinstance(query, exp.Subquery):
        return _inside_out(query.this)
    parts = [cte.this for cte in _ctes(query)]
    if isinstance(query, exp.SetOperation):
        parts += [query.this, query.expression]
    if isinstance(query, exp.Select):
        sources = [one for one in sources_of(query) if isinstance(one, exp.Subquery)]
        parts += [*sources, *inner_queries(query, sources)]
    return [found for part in parts for found in _inside_out(part)]


def _ctes(query: exp.Expression) -> list[exp.CTE]:
    clause = query.args.get("with_")
    return clause.expressions if clause else []


# Aggregates


def is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in NAMED_AGGREGATES
    return isinstance(node, AGGREGATE_PARTS)


def has_aggregate(node: exp.Expression) -> bool:
    """Whether an expression has an aggregate over the rows: not that of a window itself, nor one in a sub-query."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        return any(map(has_aggregate, _around_function(node)))
    return is_aggregate(node) or any(has_aggregate(child) for child in node.iter_expressions())


def _around_function(window: exp.Window) -> list[exp.Expression]:
    """The parts of a window beside the function that it applies: the function's arguments, FILTER and OVER."""
    around = [child for key, child in children(window) if key != "this"]
    function = window.this
    while isinstance(function, WINDOW_MODIFIERS):
        around += [child for key, child in children(function) if key != "this"]
        function = function.this
    return [*function.iter_expressions(), *around]


def is_aggregated(select: exp.Select) -> bool:
    """Whether a SELECT makes groups of what it reads, or one of all."""
    return select.args.get("group") is not None or any(map(has_aggregate, public_parts(select)))


# The parts of a SELECT over rows that are computed from its groups and aggregates


def public_parts(select: exp.Select) -> list[exp.Expression]:
    parts = [select.args.get(name) for name in ("having", "qualify", "order")]
    return [*select.expressions, *(part for part in parts if part is not None)]


def group_texts(select: exp.Select) -> set[str]:
    """The texts of what a SELECT over rows groups by."""
    clause = select.args.get("group")
    return set() if clause is None else {text_of(inner.unnest()) for inner in group_items(clause)}


def group_items(node: exp.Expression) -> Iterator[exp.Expression]:
    """The expressions of a GROUP BY, without the ROLLUP, CUBE or GROUPING SETS around them."""
    if isinstance(node, exp.Group):
        parts = [node.args.get(part) or [] for part in ("expressions", "rollup", "cube", "grouping_sets")]
        inner = [one for part in parts for one in part]
    elif isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
        inner = node.expressions
    else:
        yield node
        return
    for one in inner:
        yield from group_items(one)


def public_queries(node: exp.Expression, groups: set[str]) -> list[exp.Expression]:
    """The sub-queries whose results are shown or compared: not those in a group or in an aggregate, which the private
    half needs."""
    if isinstance(node, exp.Query):
        return [node]
    if node.find(exp.Query) is None:  # a look at each, and no text of it
        return []
    if groups and text_of(node.unnest()) in groups:
        return []
    if isinstance(node, exp.Window):
        parts = _around_function(node)
    else:
        parts = [] if is_aggregate(node) else [*node.iter_expressions()]
    return [found for part in parts for found in public_queries(part, groups)]


def map_children(node: exp.Expression, change: Change, leave: Sequence[str] = ()) -> Any:
    """A copy with each part changed; a window's own function is left, and its arguments are changed."""
    if isinstance(node, exp.Window) and "this" not in leave:
        copied = map_children(node, change, ("this", *leave))
        copied.set("this", _map_function(node.this, change))
        return copied
    return with_parts(node, change, leave)


def with_parts(node: exp.Expression, change: Change, leave: Sequence[str] = ()) -> Any:
    """A copy with each part changed, but for those that are left. Each part is copied once: copies of whole trees at
    every level would take the square of what is nested."""
    copied = type(node)()
    copied.comments, copied.type = node.comments, node.type
    copied.meta.update(node.meta)
    for key, value in node.args.items():
        own = _copied if key in leave else change
        if isinstance(value, list):
            copied.set(key, [own(one) if isinstance(one, exp.Expression) else one for one in value])
        else:
            copied.set(key, own(value) if isinstance(value, exp.Expression) else value)
    return copied


def _copied(node: exp.Expression) -> exp.Expression:
    return node.copy()


def _map_function(node: exp.Expression, change: Change) -> exp.Expression:
    if isinstance(node, WINDOW_MODIFIERS):
        copied = map_children(node, change, ("this",))
        copied.set("this", _map_function(node.this, change))
        return copied
    return map_children(node, change)
