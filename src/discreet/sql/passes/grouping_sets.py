"""GROUP BY as the sets of groups that it stands for: one, or several by ROLLUP, CUBE and GROUPING SETS."""

from collections.abc import Callable, Sequence
from itertools import product

from sqlglot import exp

from discreet.errors import UnsupportedQuery

Key = Callable[[exp.Expression], str]
"""The name of an expression among what is grouped by."""


def grouping_sets(clause: exp.Group | None, key: Key, most: int) -> list[tuple[str, ...]]:
    """The sets, each as keys in order; more than `most` are refused."""
    if clause is None:
        return [()]
    parts = [clause.args.get(part) or [] for part in ("expressions", "rollup", "cube", "grouping_sets")]
    items = [_sets(node, key) for node in _written_before([node for part in parts for node in part])]
    sets = list(dict.fromkeys(tuple(dict.fromkeys(_joined(chosen))) for chosen in product(*items)))
    if len(sets) > most:
        raise UnsupportedQuery(f"GROUP BY makes {len(sets)} sets of groups, and at most {most} are answered")
    return sets


def _written_before(nodes: list[exp.Expression]) -> list[exp.Expression]:
    """GROUP BY a, b WITH ROLLUP, or WITH CUBE, as ROLLUP (a, b)."""
    after = [node for node in nodes if isinstance(node, exp.Rollup | exp.Cube) and not node.expressions]
    if not after:
        return nodes
    plain = [node for node in nodes if not isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)]
    if len(after) > 1 or len(plain) + 1 < len(nodes):
        raise UnsupportedQuery("WITH ROLLUP goes with a plain GROUP BY a, b; write GROUPING SETS for more")
    return [type(after[0])(expressions=plain)]


def _sets(node: exp.Expression, key: Key) -> list[tuple[str, ...]]:
    """The sets that one item of GROUP BY stands for."""
    match node:
        case exp.Rollup():
            items = [_set(one, key) for one in node.expressions]
            return [_joined(items[:size]) for size in range(len(items), -1, -1)]
        case exp.Cube():
            items = [_set(one, key) for one in node.expressions]
            chosen = sorted(product((True, False), repeat=len(items)), key=sum, reverse=True)
            return [_joined([one for one, is_in in zip(items, inside, strict=True) if is_in]) for inside in chosen]
        case exp.GroupingSets():
            return [one for inner in node.expressions for one in _sets(inner, key)]
    return [_set(node, key)]


def _set(node: exp.Expression, key: Key) -> tuple[str, ...]:
    return tuple(key(one) for one in (node.expressions if isinstance(node, exp.Tuple) else [node]))


def _joined(sets: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(key for one in sets for key in one)
