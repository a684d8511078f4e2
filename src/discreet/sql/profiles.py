"""SELECT … GROUP BY person → profiles; and what a question asks of their lines, as one about the table.

The SELECT around such lines is read over their own domain, by the same parser as any other; what it asks is then
written in terms of the table's regions and of what people's rows come to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.query.cells import Amount, CellTable, Labelling
from discreet.query.profiles import PersonGroup, Profiles
from discreet.query.query import Combination, Count, Distinct, Group, People, ProfileSum, Quantile, Sum
from discreet.sql.aggregate import Grouping, read_aggregate, read_terms
from discreet.sql.amount import read_labelling
from discreet.sql.condition import MOST_CELLS, AllOf, Condition, atoms, region_of
from discreet.sql.question import AggregateColumn, Column, GroupColumn, Measure, Question
from discreet.sql.scope import Scope
from discreet.sql.traits import ReadTrait, reachable, read_first, read_own, read_trait
from discreet.sql.where import read_condition
from discreet.sql.where_text import identifier

ANSWERED = "of people's lines COUNT(*), SUM and AVG are answered"


@dataclass(frozen=True)
class ReadProfiles:
    """The lines of people that an inner SELECT makes, and where their rows are."""

    profiles: Profiles
    where: Region
    domain: Domain
    """Of the table."""
    rows: dict[str, Count | Sum | Combination]
    """Of traits that are sums: what they add up to over all lines, as a question about rows."""
    notes: tuple[str, ...]

    @property
    def lines(self) -> Domain:
        return self.profiles.domain_of(self.domain)


def read_profiles(select: exp.Select, domain: Domain) -> ReadProfiles:
    """What the inner SELECT asks. Raises as `parse` does."""
    scope = Scope.over(domain)
    clause = select.args.get("where")
    where: Condition = AllOf(()) if clause is None else read_condition(clause.this, scope)
    region = region_of(where, domain, MOST_CELLS)
    notes = [note for atom in atoms(where) for note in atom.notes]
    keys: list[tuple[str, str | Labelling]] = []
    for node in select.args["group"].expressions:
        key, said = _key(node, scope)
        keys.append((str(node.sql("duckdb")), key))
        notes += said
    first, said_of_order = read_first(select.args.get("qualify"), scope)
    read_one = read_trait if first is None else read_own
    read = [read_one(one.this, one.alias, scope, region) for one in select.expressions]
    if first is not None:
        many = "the first row" if first.most == 1 else f"the first {first.most:,} rows"
        notes.append(f"of each {domain.person} {many} by {first.text}; of equal ones, those with the least values")
        notes += said_of_order
    by = tuple(key for _, key in keys)
    rows = {one.trait.attribute.name: _rows(one, Grouping(scope, where, region, by, MOST_CELLS)) for one in read}
    profiles = Profiles(tuple(one.trait for one in read), tuple(keys), first)
    profiles.require_in_domain(domain)
    notes += [note for one in read for note in one.notes]
    sums = {name: query for name, query in rows.items() if query is not None}
    return ReadProfiles(profiles, region, domain, sums, tuple(dict.fromkeys(notes)))


def _key(node: exp.Expression, scope: Scope) -> tuple[str | Labelling, tuple[str, ...]]:
    inner = node.unnest()
    if isinstance(inner, exp.Column) and scope.derived_of(inner) is None:
        return scope.attribute(inner).name, ()
    return read_labelling(inner, scope)


def _rows(read: ReadTrait, groups: Grouping) -> Count | Sum | Combination | None:
    """A sum over all lines of how many rows each has, or of what those add up to, is one of rows: a row that comes or
    goes moves it by its own amount alone."""
    if read.trait.fold != "sum":
        return None
    query = read_aggregate(read_terms(read.call), groups).query
    return query if isinstance(query, Count | Sum | Combination) else None


def of_lines(question: Question, read: ReadProfiles) -> Question:
    """A question over the domain of lines as one about the table."""
    asked = _Asked(read)
    columns: list[Column] = []
    for column in question.columns:
        if isinstance(column, GroupColumn):
            columns.append(GroupColumn(column.name, asked.group(column.attribute)))
        else:
            columns.append(AggregateColumn(column.name, asked.measure(column.query)))
    return replace(
        question,
        by=tuple(map(asked.group, question.by)),
        where=asked.where(question.where),
        columns=tuple(columns),
        notes=tuple(dict.fromkeys([*read.notes, *question.notes])),
    )


@dataclass(frozen=True)
class _Asked:
    read: ReadProfiles

    def group(self, group: Group) -> Group:
        """A group of lines: a key of theirs, or what people's rows come to."""
        keys, lines = dict(self.read.profiles.keys), self.read.lines
        if isinstance(group, str):
            return keys[group] if group in keys else PersonGroup(_whole(group, lines))
        assert isinstance(group, Labelling)
        return PersonGroup(group)

    def measure(self, query: Measure) -> Measure:
        match query:
            case Count():
                return self._added(query, None)
            case Sum(of=str() as name):
                rows = self._of_rows(query, name)
                return rows if rows is not None else self._added(query, _amount(name, self.read.lines))
            case Sum(of=Amount() as amount) if not amount.terms:
                return self._added(query, amount)
            case Combination(terms=((times, Count() as count),)):
                return self._added(count, _constant(times, self.read.lines))
        raise UnsupportedQuery(
            f"{ANSWERED}, and no {_called(query)}, with WHERE and FILTER of their columns; for others GROUP BY the "
            "column, and count its lines"
        )

    def where(self, kept: Region) -> Region:
        """Where rows can be whose lines are kept: what is asked of keys says it."""
        read, lines = self.read, self.read.lines
        found = read.where if kept else Region(())
        for axis, (_, key) in enumerate(read.profiles.keys):
            codes = sorted({code for box in kept.boxes for code in range(box.low[axis], box.high[axis] + 1)})
            if not kept or len(codes) == lines.attributes[axis].size:
                continue
            if isinstance(key, str):
                sections = [read.domain.slab(key, code, code) for code in codes]
            else:
                sections = [key.section(read.domain.everything, read.domain, code) for code in codes]
            found = found.intersect(Region.of(box for section in sections for box in section.boxes))
        return found

    def _added(self, query: Count | Sum, of: Amount | None) -> ProfileSum | People:
        """What lines add up to, of no more traits than that takes: equal questions are equal, whatever else is beside
        them. Where all lines count, it is people with a row."""
        least, most = 0, 1
        if of is not None:
            adds = reachable(of.table, query.where, self.read.lines)
            least, most = min([0, *adds]), max([0, *adds])
        by = tuple(map(self.group, query.by))
        asked = [group.labelling.table for group in by if isinstance(group, PersonGroup)]
        asked += [] if of is None else [of.table]
        profiles, kept = _needed(self.read.profiles, query.where, asked, self.read.lines)
        is_one = profiles.first is None or profiles.first.most == 1
        if of is None and is_one and not profiles.traits and {key for _, key in profiles.keys} <= set(by):
            return People(self.where(query.where), by)
        return ProfileSum(profiles, self.where(query.where), kept, by, of, least, most)

    def _of_rows(self, query: Sum, name: str) -> Count | Sum | Combination | None:
        """The same number as a question about rows, where all lines are asked of that there are."""
        lines, rows = self.read.lines, self.read.rows.get(name)
        attribute = lines[name]
        declared = attribute.size == attribute.cells or lines.slab(name, 0, attribute.cells - 1)
        if rows is None or any(isinstance(group, PersonGroup) for group in map(self.group, query.by)):
            return None
        if query.where != (lines.everything if declared is True else declared):
            return None
        return _by(rows, tuple(map(self.group, query.by)))


def _needed(profiles: Profiles, kept: Region, asked: Sequence[CellTable], lines: Domain) -> tuple[Profiles, Region]:
    """Profiles without the traits that no line is told by, and what is kept of such lines."""
    whole, read = lines.everything.boxes[0], {name for table in asked for name in table.attributes}
    axes = [*range(len(profiles.keys))]
    for axis, attribute in enumerate(lines.attributes[len(axes) :], len(axes)):
        ends = {(box.low[axis], box.high[axis]) for box in kept.boxes}
        if attribute.name in read or not ends <= {(whole.low[axis], whole.high[axis])}:
            axes.append(axis)
    traits = tuple(trait for place, trait in enumerate(profiles.traits, len(profiles.keys)) if place in axes)
    boxes = (Box(tuple(box.low[axis] for axis in axes), tuple(box.high[axis] for axis in axes)) for box in kept.boxes)
    return replace(profiles, traits=traits), Region.of(boxes)


def _by(query: Count | Sum | Combination, by: tuple[Group, ...]) -> Count | Sum | Combination:
    """A question about rows with other groups than those of lines."""
    if isinstance(query, Combination):
        return Combination(tuple((times, replace(term, by=by)) for times, term in query.terms))
    return replace(query, by=by)


def _whole(name: str, lines: Domain) -> Labelling:
    """All values of a column of lines, as its labelling."""
    attribute = lines[name]
    values: list[object] = list(range(attribute.low, attribute.high + 1)) if isinstance(attribute, Integer) else []
    values = values or list(attribute.labels[: attribute.cells])
    if set(values) == {"true", "false"}:
        values = [value == "true" for value in values]
    if attribute.null:
        values.append(None)
    own = np.arange(attribute.size, dtype=np.int64)
    return Labelling(identifier(name), CellTable((name,), (own,), own), tuple(values))


def _amount(name: str, lines: Domain) -> Amount:
    """The value of a column of lines, as what it adds."""
    attribute = lines[name]
    if not isinstance(attribute, Integer):
        raise UnsupportedQuery(f"{name} is a bin or a label in a line: it can be counted and grouped by, not added up")
    own = np.arange(attribute.size, dtype=np.int64)
    values = np.where(own < attribute.cells, own + attribute.low, 0)
    return Amount(identifier(name), CellTable.of((name,), (own,), values))


def _called(query: Measure) -> str:
    if isinstance(query, Distinct):
        return "COUNT(DISTINCT …)"
    return "MIN, MAX or quantile" if isinstance(query, Quantile) else "sum of several of them"


def _constant(times: int, lines: Domain) -> Amount:
    first = lines.attributes[0]
    table = CellTable((first.name,), (np.zeros(first.size, np.int64),), np.array([times], np.int64))
    return Amount(str(times), table)
