"""The public half of a statement as one query for every draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from discreet.answer.halves import DRAW, DRAWS, columns_read
from discreet.sql.sandbox import Prepared, prepare

RESULT = "discreet_result"


@dataclass(frozen=True, eq=False)
class SharedTree:
    """A tree that is known again by being the same object: comparing trees takes longer than writing them."""

    tree: exp.Query

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedTree) and self.tree is other.tree

    def __hash__(self) -> int:
        return id(self.tree)


@lru_cache(256)
def prepared_for_draws(
    shared: SharedTree, blocks: tuple[str, ...], lookups: tuple[str, ...], kept: tuple[str, ...] | None
) -> tuple[Prepared, frozenset[str] | None]:
    """A query for every draw, and the columns that it reads; None where it reads all."""
    tree = shared.tree
    if kept is None or not _is_plain(tree):
        return prepare(_for_each_draw(tree, blocks), (*blocks, *lookups, DRAWS)), columns_read(tree)
    whole = _at_once(tree, kept)
    return prepare(whole, (*blocks, *lookups, DRAWS)), columns_read(whole)


def _is_plain(tree: exp.Query) -> bool:
    """Whether it looks at the lines of one block, each by itself or in windows, and keeps all."""
    parts = {part for part, value in tree.args.items() if value}
    return (
        isinstance(tree, exp.Select)
        and parts <= {"expressions", "from_", "where", "order", "kind"}
        and not any(tree.find_all(exp.Subquery, exp.Exists))
        and sum(1 for _ in tree.find_all(exp.Query)) == 1
        and not any(window.args.get("alias") or window.args.get("first") for window in tree.find_all(exp.Window))
    )


def _at_once(tree: exp.Query, kept: Sequence[str]) -> exp.Query:
    """The query for every draw: over all lines of all draws, with windows within each draw."""
    whole = tree.copy()
    whole.set("order", None)
    whole.set("expressions", [one for one in whole.selects if one.alias_or_name in kept])
    for window in whole.find_all(exp.Window):
        # First: the lines are in the order of the draws, and a sort that finds them so takes half the time.
        window.set("partition_by", [exp.column(DRAW), *(window.args.get("partition_by") or [])])
    whole.append("expressions", exp.column(DRAW))
    return whole


def _for_each_draw(tree: exp.Query, blocks: Sequence[str]) -> exp.Select:
    """The query for every draw: FROM d, LATERAL (the query over the blocks' lines of that draw)."""
    inner = tree.copy()
    for table in list(inner.find_all(exp.Table)):
        if table.name in blocks:
            own = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.to_table(table.name)))
            own = own.where(exp.column(DRAW).eq(exp.column(DRAW, table=DRAWS)))
            table.replace(own.subquery(table.alias_or_name))
    outputs = [exp.column(DRAW, table=DRAWS), exp.Column(this=exp.Star(), table=exp.to_identifier(RESULT))]
    whole = exp.Select(expressions=outputs, from_=exp.From(this=exp.to_table(DRAWS)))
    lateral = exp.Lateral(this=inner.subquery(), alias=exp.TableAlias(this=exp.to_identifier(RESULT)))
    whole.append("joins", exp.Join(this=lateral))
    return whole
