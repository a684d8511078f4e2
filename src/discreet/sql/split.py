"""SQL text → the two halves of a statement: private blocks, and one public query over their noisy answers.

A block is one SELECT of groups and aggregates over the table, as `parse.py` reads it. Everything else (HAVING,
arithmetic of aggregates, windows, ORDER BY of expressions, DISTINCT, LIMIT, UNION, joins between results, sub-queries
of results) is left as a query over tables of noisy answers, a block each.

A sub-query whose value a block needs (`WHERE age > (SELECT AVG(age) …)`) is a statement of its own, answered first.

The passes on the way are in `sql/passes`, a module each, and `_split` has them in order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.sql.dialects import spelled
from discreet.sql.lineage import Lineage
from discreet.sql.lookup import Lookup, Lookups, no_lookups
from discreet.sql.parse import parse_select
from discreet.sql.passes.answer_first import Known, Values, fill_answers, single_values, unanswered
from discreet.sql.passes.decorrelate import decorrelate
from discreet.sql.passes.expand_aggregates import expand_aggregates
from discreet.sql.passes.inline_rows import inline_rows
from discreet.sql.passes.lift_aggregates import LINE, TABLE, PrivateSelect, lift_aggregates
from discreet.sql.passes.meant_labels import meant_labels
from discreet.sql.passes.name_outputs import name_outputs, output_names
from discreet.sql.passes.one_value import one_value
from discreet.sql.passes.prune_ctes import prune_ctes, tables_in
from discreet.sql.passes.public_tables import known_publicly, public_tables
from discreet.sql.passes.regions_chosen import regions_chosen
from discreet.sql.passes.spell_out import spell_out
from discreet.sql.passes.tables import Domains, domains_of
from discreet.sql.passes.tree import text_of
from discreet.sql.question import AggregateColumn, GroupColumn, Question
from discreet.sql.sandbox import check
from discreet.sql.syntax import one_select, place_of, query_of, read_query
from discreet.sql.tokens import read_tokens

__all__ = ["LINE", "TABLE", "Block", "Known", "Statement", "Stepwise", "Values", "noise_of", "read", "split"]

MOST_STEPS = 4
"""Sub-queries that are answered first inside one another: planning a statement takes longer with each."""
DECLARED = "the values are those that the domain declares: which of them occur is not looked up"


@dataclass(frozen=True)
class Block:
    """One private SELECT of a statement, and the name of the table that its noisy answer becomes."""

    name: str
    question: Question
    table: str
    """The name of the vault's table that it is over."""
    calls: Mapping[str, str] = field(default_factory=dict)
    """What its numbers are, as SQL."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement in its two halves. `names` are its output columns."""

    text: str
    blocks: tuple[Block, ...]
    public: exp.Query
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    """Public tables that the public half reads."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The vault's tables that its blocks are over."""
        return tuple(dict.fromkeys(block.table for block in self.blocks))


@dataclass(frozen=True, eq=False)
class Stepwise:
    """A statement with sub-queries that must be answered first; `then` makes the rest of their answers."""

    text: str
    first: Mapping[str, "Statement | Stepwise"]
    singles: Mapping[str, exp.Expression]
    """Those of them that stand for one value."""
    regions: Mapping[str, int]
    """How many regions the values of each could choose, at most."""
    then: Callable[[Known], "Statement | Stepwise"]


def read(text: str, domain: Domain, lookups: Lookups = no_lookups) -> "Question | Statement | Stepwise":
    """What a text asks: one plain SELECT over the table, or a statement in its halves. Raises as `parse` does."""
    tokens = read_tokens(text)
    tree = query_of(tokens, text)
    try:
        return parse_select(one_select(tree, tokens), text, domain)
    except (UnsupportedQuery, DomainError):
        return _split_whole(tree, _Context(text, domains_of(domain), lookups()))


def split(text: str, domain: Domain, lookups: Mapping[str, Lookup] | None = None) -> Statement | Stepwise:
    """The halves of a statement, or what has to be answered before they are known. Raises as `parse` does."""
    return _split_whole(read_query(text), _Context(text, domains_of(domain), lookups or {}))


def read_over(text: str, domains: Sequence[Domain]) -> "Question | Statement | Stepwise":
    """What a text asks that is about these tables, where no look-up tables are. Raises as `parse` does."""
    return read(text, domains[0]) if len(domains) == 1 else split_over(text, domains, {})


def split_over(text: str, domains: Sequence[Domain], lookups: Mapping[str, Lookup]) -> Statement:
    """The halves of a statement over several tables, each of whose private blocks is over one. Raises as `parse` does;
    also where an answer would have to be there before what is asked of another table is known."""
    found = _split_whole(read_query(text), _Context(text, domains_of(*domains), lookups))
    assert isinstance(found, Statement)
    return found


def _split_whole(tree: exp.Query, context: "_Context") -> Statement | Stepwise:
    try:
        return _split(spelled(tree), context, {})
    except RecursionError:
        raise UnsupportedQuery("the statement is nested too deeply; write it flatter") from None


@dataclass(frozen=True)
class _Context:
    """What a statement is read against."""

    text: str
    domains: Domains
    lookups: Mapping[str, Lookup]


def _split(written: exp.Query, context: _Context, known: Known, depth: int = 0) -> Statement | Stepwise:
    """All passes, in order; of a sub-query that is answered first, so many steps before the last."""
    if depth > MOST_STEPS:
        raise UnsupportedQuery(
            f"sub-queries whose values others need are more than {MOST_STEPS} deep; ask the innermost by itself, and "
            "write its number"
        )
    domains = context.domains
    plain = decorrelate(spell_out(written, context.lookups), domains)
    tree, lookups = public_tables(plain, context.lookups, domains)
    tree = inline_rows(tree, domains, lookups)
    tree = expand_aggregates(tree, domains)
    public, private = lift_aggregates(tree, domains)
    public = name_outputs(prune_ctes(public))
    read = tables_in(public)
    private = [one for one in private if one.name in read]
    if not private:
        names = " or ".join(domain.name for domain in domains.values())
        raise UnsupportedQuery(f"the statement asks nothing of the table; ask FROM {names}")
    waiting = {text: query for one in private for text, query in unanswered(one.select, known).items()}
    singles = {text: query for one in private for text, query in single_values(one.select).items()}
    public_values = known_publicly(waiting, singles, lookups)
    known = {**known, **public_values}
    waiting = {text: query for text, query in waiting.items() if text not in public_values}
    if waiting and len(domains) > 1:
        person = next((domain.person for domain in domains.values() if domain.person), "id")
        raise UnsupportedQuery(
            f"what is asked of one table depends on the answer of a sub-query{place_of(next(iter(waiting.values())))}, "
            "which is not done over two tables at once; ask the sub-query by itself, and write its number. Who has "
            f"rows in a table is counted there: COUNT(DISTINCT {person}) of it"
        )
    if waiting:
        inner = replace(context, lookups=lookups)
        first = {text: _split(query, inner, {}, depth + 1) for text, query in waiting.items()}
        singles = {text: query for text, query in singles.items() if text in first}
        regions: dict[str, int] = {}
        for one in private:
            for text, count in regions_chosen(one.select, one.domain).items():
                if text in first:
                    regions[text] = regions.get(text, 1) * count
        return Stepwise(
            context.text, first, singles, regions, lambda values: _split(written, context, {**known, **values}, depth)
        )
    blocks = [_block(one, fill_answers(one.select, known, one.domain), context.text) for one in private]
    public, moved = meant_labels(
        public, {block.name: (block.question, domains[block.table.lower()]) for block in blocks}
    )
    check(public, [*(block.name for block in blocks), *lookups])
    used = tuple(lookup for name, lookup in lookups.items() if name in read)
    public, said = one_value(public, noise_of(blocks, used))
    notes = dict.fromkeys([*said, *moved, *(note for block in blocks for note in block.question.notes)])
    return Statement(context.text, tuple(blocks), public, output_names(public), tuple(notes), used)


def noise_of(blocks: Sequence[Block], lookups: Sequence[Lookup], lines: Sequence[float] = ()) -> dict[str, Lineage]:
    """Which columns are noisy of the tables that a public half reads; how many lines blocks have, if said."""
    found = {one.name: Lineage(dict.fromkeys(one.columns, False), lines=len(one.lines)) for one in lookups}
    for block, count in zip(blocks, lines or [math.inf] * len(blocks), strict=True):
        columns = {LINE: False}
        for column in block.question.columns:
            noisy = isinstance(column, AggregateColumn)
            columns |= {column.name: noisy} if noisy else {column.name: False, f"{column.name}_code": False}
        found[block.name] = Lineage(columns, lines=count)
    return found


def _block(private: PrivateSelect, select: exp.Select, text: str) -> Block:
    """A private SELECT as a question."""
    question = parse_select(select, text, private.domain)
    if private.is_declared:
        columns = tuple(column for column in question.columns if isinstance(column, GroupColumn))
        notes = [DECLARED, *question.notes] if question.by else question.notes
        question = replace(question, columns=columns, notes=tuple(notes))
    calls = {one.alias: text_of(one.this) for one in select.expressions if isinstance(one, exp.Alias)}
    return Block(private.name, question, private.domain.name, calls)
