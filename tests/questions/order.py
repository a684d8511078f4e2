"""Whether lines are in the order that a statement's own ORDER BY says."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

import sqlglot
from sqlglot import exp

from discreet.domain.attribute import Category
from discreet.domain.domain import Domain

Cell = str | float | None
Key = tuple[str, bool]
"""An output column, and whether it descends."""


def order_of(sql: str, names: Sequence[str]) -> list[Key] | None:
    """The outermost ORDER BY in terms of output columns, as far as it goes; None where it has others."""
    tree = sqlglot.parse_one(sql.replace("`", '"').rstrip("; \n"), read="duckdb")
    shown = {projection.unalias().sql().lower(): projection.alias_or_name for projection in tree.selects}
    order = tree.args.get("order")
    found = []
    for ordered in order.expressions if order else ():
        key, by_name = ordered.this, {name.lower(): name for name in names}
        if isinstance(key, exp.Literal) and key.is_int:
            name = names[int(key.this) - 1]
        else:
            column = key.name if isinstance(key, exp.Column) else ""
            name = by_name.get(column.lower()) or shown.get(key.sql().lower(), "")
        if name not in names:
            return None
        found.append((name, bool(ordered.args.get("desc"))))
    return found


def is_ordered(lines: Sequence[Mapping[str, Cell]], keys: Sequence[Key], domain: Domain) -> bool:
    """Whether lines stand as the keys say: texts by their letters, or in the domain's order. NULLs stand anywhere."""
    either = [({}, _rank(name, lines, domain)) for name, _ in keys]
    ranks = [dict(zip((name for name, _ in keys), chosen, strict=True)) for chosen in product(*either)]
    return any(all(_follows(one, other, keys, rank) for one, other in pairwise(lines)) for rank in ranks)


def _follows(
    one: Mapping[str, Cell], other: Mapping[str, Cell], keys: Sequence[Key], ranks: Mapping[str, Mapping[str, int]]
) -> bool:
    for name, descending in keys:
        first, second = ([ranks[name].get(str(line[name]), line[name]) for line in (one, other)])[
            :: -1 if descending else 1
        ]
        if first is None or second is None:
            return True
        if first != second:
            return bool(first < second)  # type: ignore[operator]
    return True


def _rank(name: str, lines: Sequence[Mapping[str, Cell]], domain: Domain) -> dict[str, int]:
    """The places of a column's texts in the category that has them all."""
    texts = {str(line[name]) for line in lines if line[name] is not None} - {"(other)"}
    for attribute in domain.attributes:
        if isinstance(attribute, Category) and texts and texts <= set(attribute.values):
            return {label: code for code, label in enumerate(attribute.labels)}
    return {}
