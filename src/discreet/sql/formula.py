"""Boolean functions of named attributes, as SQL conditions without values: `a AND (b OR NOT c)`. Text → truth table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.syntax import only, read_where, refused
from discreet.sql.tokens import shown

FORMULAS = "AND, OR, NOT, =, <>, TRUE, FALSE and parentheses, of attributes by their names"
MOST_NAMES = 20

Truth = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Formula:
    """A Boolean function of attributes: its value for every assignment. Bit i of an index says whether the i-th of
    `names` holds."""

    text: str
    names: tuple[str, ...]
    table: Truth


def read_formula(text: str, known: Sequence[str]) -> Formula:
    """The function that a condition over these attributes describes; names are the same in either case, as in SQL.

    Raises UnsupportedQuery for anything else, in bounded time and with words that depend on text and names alone.
    """
    select = read_where(text, "attributes")
    only(select, ("expressions", "from_", "where"), FORMULAS)
    condition = select.args["where"].this
    named = {name.lower(): name for name in known}
    used = dict.fromkeys(_name(column, named) for column in condition.find_all(exp.Column))
    names = tuple(name for name in known if name in used)
    if len(names) > MOST_NAMES:
        raise UnsupportedQuery(f"a formula has at most {MOST_NAMES} attributes, not {len(names)}")
    index = np.arange(1 << len(names))
    holds = {name: (index >> place & 1).astype(np.bool_) for place, name in enumerate(names)}
    table = np.broadcast_to(_truth(condition, named, holds), index.shape).copy()
    return Formula(text, names, table)


def _truth(node: exp.Expression, named: Mapping[str, str], holds: Mapping[str, Truth]) -> Truth:
    node = node.unnest()
    match node:
        case exp.And() | exp.Or():
            every = isinstance(node, exp.And)
            first, *others = (_truth(part, named, holds) for part in node.flatten())
            for other in others:
                first = first & other if every else first | other
            return first
        case exp.Not():
            return ~_truth(node.this, named, holds)
        case exp.EQ() | exp.NEQ():
            differ = _truth(node.this, named, holds) ^ _truth(node.expression, named, holds)
            return ~differ if isinstance(node, exp.EQ) else differ
        case exp.Boolean():
            return np.array(bool(node.this))
        case exp.Column():
            return holds[_name(node, named)]
    raise refused(node, FORMULAS)


def _name(column: exp.Column, named: Mapping[str, str]) -> str:
    only(column, ("this",), FORMULAS)
    if not isinstance(column.this, exp.Identifier):
        raise refused(column.this, FORMULAS)
    name = named.get(column.name.lower())
    if name is None:
        raise UnsupportedQuery(f"there is no attribute {shown(column.name)}; there are {', '.join(named.values())}")
    return name
