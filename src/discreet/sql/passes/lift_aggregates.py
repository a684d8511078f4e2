"""Lift aggregates: of each SELECT over rows, its groups and aggregates become a private SELECT, and the rest is a query
over the table of noisy answers that this one becomes."""

from dataclasses import dataclass, field

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.passes.grouping_sets import grouping_sets
from discreet.sql.passes.tables import Domains, domain_of
from discreet.sql.passes.tree import (
    OUTER,
    is_aggregate,
    is_aggregated,
    lines_of,
    map_children,
    output_of,
    place_among,
    rewrite_selects,
    text_of,
)
from discreet.sql.syntax import NULLS_LAST, OWN, place_of, refused

MOST_BLOCKS = 20
TABLE, LINE, GROUPING_SET = f"{OWN}b", f"{OWN}line", f"{OWN}set"
"""What a SELECT calls its block; the number of a line in it; which of several GROUP BYs it is from."""


@dataclass(frozen=True)
class PrivateSelect:
    """Groups and aggregates over the table, and the name of the table that its noisy answer becomes."""

    name: str
    select: exp.Select
    is_declared: bool
    """Whether nothing but the groups is asked for: those that the domain declares."""
    domain: Domain
    """Of the table that it is over."""


def lift_aggregates(tree: exp.Query, domains: Domains) -> tuple[exp.Query, list[PrivateSelect]]:
    """The public half of a statement, and the private SELECTs that it reads, each over one table; the same SELECT is
    one of them."""
    private: dict[str, PrivateSelect] = {}

    def lifted(select: exp.Select) -> exp.Select:
        lifter = _Lifter(select, domain_of(select, domains))
        public = lifter.public_select()
        names = []
        for keys in lifter.sets:
            block, is_declared = lifter.private_select(keys), not lifter.calls
            key = f"{is_declared} {block.sql('duckdb')}"
            private.setdefault(key, PrivateSelect(f"{TABLE}{len(private)}", block, is_declared, lifter.domain))
            names.append(private[key].name)
        public.set("from_", exp.From(this=lifter.source(names)))
        return public

    public = rewrite_selects(tree, lifted)
    if len(private) > MOST_BLOCKS:
        raise UnsupportedQuery(f"the statement has more than {MOST_BLOCKS} SELECTs over the table; ask in parts")
    return public, [*private.values()]


@dataclass
class _Lifter:
    """One SELECT over rows: what it groups by and its aggregates, each under the name of its column in the block."""

    select: exp.Select
    domain: Domain
    keys: dict[str, str] = field(default_factory=dict)
    groups: dict[str, exp.Expression] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    aggregates: dict[str, exp.Expression] = field(default_factory=dict)
    sets: list[tuple[str, ...]] = field(default_factory=list)

    # The public half

    def public_select(self) -> exp.Select:
        select = self.select
        if is_aggregated(select):
            self.sets = grouping_sets(select.args.get("group"), self._key, MOST_BLOCKS)
        else:
            self.sets = [tuple(dict.fromkeys(self._key(output.unalias()) for output in select.expressions))]
        outputs = [output_of(self._public(one.this), one.alias) for one in select.expressions]
        tree = exp.Select(expressions=outputs)
        tree.set("with_", select.args.get("with_"))
        for part, kept, kind in (("having", "where", exp.Where), ("qualify", "qualify", exp.Qualify)):
            if select.args.get(part) is not None:
                tree.set(kept, kind(this=self._public(select.args[part].this)))
        order = select.args.get("order")
        if order is not None:
            tree.set("order", exp.Order(expressions=[key for one in order.expressions for key in self._ordered(one)]))
        for part in ("limit", "offset", "distinct"):
            if select.args.get(part) is not None:
                tree.set(part, select.args[part].copy())
        return tree

    def _ordered(self, ordered: exp.Ordered) -> list[exp.Ordered]:
        """Groups are in the domain's order, as in a plain question: by their codes, of which that of NULL is the last
        one, or the first where they descend, unless NULLS FIRST or NULLS LAST says otherwise."""
        copied, node, outputs = ordered.copy(), ordered.this, self.select.expressions
        place = place_among(node, outputs)
        key = self.keys.get(text_of((node if place is None else outputs[place].unalias()).unnest()))
        if key is not None and not self.select.args.get("distinct"):
            copied.set("this", exp.column(f"{key}_code", table=TABLE))
            is_first = bool(ordered.args.get("nulls_first"))
            if is_first or ordered.meta.get(NULLS_LAST):
                is_null = exp.Is(this=exp.column(key, table=TABLE), expression=exp.Null())
                return [exp.Ordered(this=is_null, desc=is_first), copied]
        elif place is None:
            copied.set("this", self._public(node))
        return [copied]

    def _public(self, node: exp.Expression) -> exp.Expression:
        """An expression over attributes as one over a block's columns."""
        if isinstance(node, exp.Query):
            return self._query(node)
        key = self.keys.get(text_of(node.unnest())) if self.keys and not isinstance(node, exp.Literal) else None
        if key is not None:
            return exp.column(key, table=TABLE)
        if isinstance(node, exp.Grouping):
            return self._grouping(node)
        if isinstance(node, exp.Column):
            if isinstance(node.this, exp.Star):
                raise refused(node.this, "columns of GROUP BY and aggregates")
            raise UnsupportedQuery(
                f"{node.name} is neither in GROUP BY nor in an aggregate{place_of(node)}; single rows are never shown"
            )
        if is_aggregate(node):
            return exp.column(self._call(node), table=TABLE)
        return map_children(node, self._public)

    def _query(self, node: exp.Query) -> exp.Expression:
        """A sub-query of results, with what it names of the groups around it as columns of their block."""
        found = node.copy()
        for outer in [*found.find_all(exp.Anonymous)]:
            if outer.this == OUTER:
                outer.replace(self._public(outer.expressions[0]))
        return found

    def _grouping(self, node: exp.Grouping) -> exp.Expression:
        """GROUPING(a, b): a bit for each, 1 where the line's set does not group by it."""
        keys = [self.keys.get(text_of(one.unnest())) for one in node.expressions]
        if None in keys:
            raise UnsupportedQuery(f"GROUPING takes what GROUP BY groups by{place_of(node)}")
        values = [int("".join(str(int(key not in chosen)) for key in keys), 2) for chosen in self.sets]
        if len(values) == 1:
            return exp.Literal.number(values[0])
        case = exp.Case(this=exp.column(GROUPING_SET, table=TABLE))
        for place, value in enumerate(values):
            case.append("ifs", exp.If(this=exp.Literal.number(place), true=exp.Literal.number(value)))
        return case

    def source(self, names: list[str]) -> exp.Expression:
        """What the public SELECT reads: its block, or one for each set of groups."""
        if len(names) == 1:
            return exp.alias_(exp.to_table(names[0]), TABLE, table=True)
        union: exp.Query | None = None
        for place, (name, keys) in enumerate(zip(names, self.sets, strict=True)):
            part = self._part(place, name, keys)
            union = part if union is None else exp.union(union, part, distinct=False, copy=False)
        assert union is not None
        return union.subquery(TABLE, copy=False)

    def _part(self, place: int, name: str, keys: tuple[str, ...]) -> exp.Select:
        """The lines of one set of groups, with NULL for what it does not group by."""
        groups = [*self.groups, *(f"{key}_code" for key in self.groups)]
        there = {*keys, *(f"{key}_code" for key in keys)}
        columns: list[exp.Expression] = [
            exp.column(one) if one in there else exp.alias_(exp.null(), one) for one in groups
        ]
        columns += [exp.column(call) for call in self.aggregates]
        columns += [exp.alias_(exp.Literal.number(place), GROUPING_SET), exp.column(LINE)]
        return exp.Select(expressions=columns, from_=exp.From(this=exp.to_table(name)))

    # The private half

    def private_select(self, keys: tuple[str, ...]) -> exp.Select:
        """The SELECT of one set of groups, as `parse.py` reads it."""
        groups = {key: node for key, node in self.groups.items() if key in keys}
        calls = self.aggregates or {"a0": exp.Count(this=exp.Star())}
        outputs = [exp.alias_(node.copy(), name) for name, node in {**groups, **calls}.items()]
        block = exp.Select(expressions=outputs, from_=exp.From(this=exp.to_table(self.domain.name)))
        if lines_of(self.select) is not None:
            block.set("from_", self.select.args["from_"].copy())
        if self.select.args.get("where"):
            block.set("where", self.select.args["where"].copy())
        if groups:
            block.set("group", exp.Group(expressions=[node.copy() for node in groups.values()]))
        return block

    def _key(self, node: exp.Expression) -> str:
        node = node.unnest()
        key = self.keys.setdefault(text_of(node), f"k{len(self.keys)}")
        self.groups.setdefault(key, node)
        return key

    def _call(self, node: exp.Expression) -> str:
        call = self.calls.setdefault(text_of(node), f"a{len(self.calls)}")
        self.aggregates.setdefault(call, node)
        return call
