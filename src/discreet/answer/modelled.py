"""Answers read from a published model: free, sharper than least squares, and biased. They say so.

A count, a sum or an average is a sum over cells of one cuboid of the model, that of all attributes that the question
names. Its model range is made of the same sums over simulated releases (`ModelledCube.replicates`); where a statement
has a public half, that is run over each of them. Everything here is public: nothing is handed in that could spend.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.answer.answer import Desk
from discreet.answer.chosen import at_once
from discreet.answer.grid import codes_of_groups
from discreet.answer.halves import BlockAnswer, Evaluated, PublicHalf, Result, label_text
from discreet.answer.label_kinds import label_kind
from discreet.answer.matching import same_lines
from discreet.answer.past import groups_to_plan
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation, Row
from discreet.answer.rows import asked_region
from discreet.answer.scales import elementary, parts_of_mean, value_range
from discreet.answer.statement import dry_run, reply
from discreet.cube.modelled import PublishedModel, bounds
from discreet.deadline import still_wanted
from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.model.model import Model
from discreet.model.size import MOST_CELLS
from discreet.query.cells import Amount, Labelling
from discreet.query.query import Combination, Count, Group, Mean, Query, Sum, grain_of, group_attribute
from discreet.sql.question import AggregateColumn, GroupColumn, Question
from discreet.sql.sandbox import prepare, run_prepared
from discreet.sql.split import LINE, Statement, Stepwise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

READ_FROM = "modelled: biased, and sharper than least squares; the ranges are model ranges, from simulated releases"
IN_BINS = "in sums and averages, a number in a bin counts as the bin's middle"
COUNTED = "a model has counts, sums and averages; ask for these, or without the estimate modelled"


def ask_modelled(
    asked: Question | Statement | Stepwise,
    wish: Wish,
    models: Sequence[PublishedModel],
    desk: Desk,
    ranged: Callable[[PublishedModel], PublishedModel],
) -> Answer:
    """Answer from the model that covers a question best. Raises UnsupportedQuery, with what would, where none does.

    `ranged` gives the model that was chosen its simulated releases, which take long to make.
    """
    covered = _covered(asked, models, desk)
    model = ranged(covered.model)
    reading, notes = _ModelReading(model, desk), list(covered.notes)
    if isinstance(covered.asked, Question):
        return _answer(covered.asked, reading, wish, notes)
    result = _Half(covered.asked, reading, wish, notes).result()
    return reply(covered.asked, result, wish, desk, Fraction(0), model.guarantee)


def explain_modelled(
    asked: Question | Statement | Stepwise, wish: Wish, models: Sequence[PublishedModel], desk: Desk
) -> Explanation:
    """From which model a question would be answered; refused as `ask_modelled` refuses it. It is free."""
    covered = _covered(asked, models, desk)
    left = min(desk.left(question.where) for question in covered.questions)
    return Explanation(
        covered.asked.text, (), wish.confidence, desk.ledger.budget, Fraction(0), True, left, None, covered.notes
    )


@dataclass(frozen=True)
class _Covered:
    """A question with the model that answers it best, and what is to be said of that."""

    asked: Question | Statement
    questions: tuple[Question, ...]
    model: PublishedModel
    notes: tuple[str, ...]


def _covered(asked: Question | Statement | Stepwise, models: Sequence[PublishedModel], desk: Desk) -> _Covered:
    if isinstance(asked, Stepwise):
        raise UnsupportedQuery(
            "a model does not answer a question with a sub-query in its WHERE; ask the sub-query by itself, and write "
            "its number here"
        )
    if isinstance(asked, Statement):
        dry_run(asked, desk)
    questions = (asked,) if isinstance(asked, Question) else tuple(block.question for block in asked.blocks)
    names = _attributes(questions, desk)
    model = _best(names, models, desk.domain)
    notes = dict.fromkeys([*asked.notes, READ_FROM, *_notes(names, model, questions, desk)])
    return _Covered(asked, questions, model, tuple(notes))


def _attributes(questions: Iterable[Question], desk: Desk) -> tuple[str, ...]:
    """The attributes that questions tell rows apart by, in the domain's order."""
    found: set[str] = set()
    for question in questions:
        for column in question.aggregates:
            for query in elementary(column.query, desk):
                found |= _attributes_of(query, desk.domain)
    return tuple(name for name in desk.domain.names if name in found)


def _attributes_of(query: Query, domain: Domain) -> set[str]:
    if not isinstance(query, Count | Sum):
        raise UnsupportedQuery(COUNTED)
    whole = domain.everything.boxes[0]
    found = {
        name
        for axis, name in enumerate(domain.names)
        if any((box.low[axis], box.high[axis]) != (whole.low[axis], whole.high[axis]) for box in query.where.boxes)
    }
    for group in query.by:
        match group:
            case str():
                found.add(group)
            case Labelling():
                found.update(group.table.attributes)
            case _:
                raise UnsupportedQuery(COUNTED)
    match query:
        case Sum(of=str(of)):
            found.add(of)
        case Sum(of=Amount() as amount):
            found.update(amount.attributes, amount.in_grains)
    # An attribute with one value tells nobody apart, and no cube has it.
    return {name for name in found if domain[name].size > 1}


def _best(names: tuple[str, ...], models: Sequence[PublishedModel], domain: Domain) -> PublishedModel:
    """Of the models with all these attributes: one that measured them together, and on which most was spent."""
    covering = [model for model in models if set(names) <= set(model.cube.cube.names)]
    if not covering:
        raise UnsupportedQuery(_what_would(names, models))
    cells = prod(domain[name].size for name in names)
    if cells > MOST_CELLS:
        raise UnsupportedQuery(
            f"this question tells {cells:,} cells apart, and at most {MOST_CELLS:,} are read from a model; name fewer "
            "attributes in one question"
        )
    return max(covering, key=lambda model: (model.cube.is_measured(*names), model.spent, model.charge))


def _what_would(names: tuple[str, ...], models: Sequence[PublishedModel]) -> str:
    would = f"`discreet cube publish … --for model --dimensions {','.join(names)} --estimate modelled` publishes one"
    if not models:
        return f"no model of this table was published; {would}, or ask without the estimate modelled"
    have = "; ".join(dict.fromkeys(", ".join(model.cube.cube.names) for model in models))
    return (
        f"no published model has {', '.join(names)}: there are models of {have}; {would}, or ask without the estimate "
        "modelled"
    )


def _notes(names: tuple[str, ...], model: PublishedModel, questions: Sequence[Question], desk: Desk) -> list[str]:
    found = [f"read from the model of release {model.charge}"]
    if not model.cube.is_measured(*names):
        found.append(
            f"{', '.join(names)} were never measured together: how they interact is what the measured ones imply, and "
            "the truth may lie outside of the ranges"
        )
    columns = (column for question in questions for column in question.aggregates)
    summed = {query.of for column in columns for query in elementary(column.query, desk) if isinstance(query, Sum)}
    if any(_has_bins(of, desk.domain) for of in summed):
        found.append(IN_BINS)
    return found


def _has_bins(of: str | Amount, domain: Domain) -> bool:
    return isinstance(domain[of], Bins) if isinstance(of, str) else bool(of.in_grains)


@dataclass(frozen=True)
class _ModelReading:
    """Numbers read from a model and from its simulated releases: arrays with the model's own in line 0."""

    model: PublishedModel
    desk: Desk

    @cached_property
    def _models(self) -> list[Model]:
        return [self.model.cube.model, *self.model.cube.replicates]

    def column(self, column: AggregateColumn, codes: Ints) -> Floats:
        """The numbers of an aggregate, a line for each release and a column for each group with these codes; nan where
        there is none."""
        match column.query:
            case Mean() as mean:
                total, count = (self._sums(query, codes) for query in parts_of_mean(mean, self.desk))
                average: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
                return average
            case Combination(terms=terms):
                found = [times * self._sums(query, codes) for times, query in terms]
                return np.asarray(np.sum(found, axis=0), np.float64)
            case Count() | Sum() as query:
                return self._sums(query, codes)
        raise UnsupportedQuery(COUNTED)

    def ends(self, column: AggregateColumn, numbers: Floats, confidence: float) -> tuple[Floats, Floats]:
        """The model range of every group."""
        low, high = bounds(numbers[0], numbers[1:], confidence, least=-np.inf)
        match column.query:
            case Count():
                return np.maximum(low, 0.0), high
            case Mean(of=of):
                least, most = map(float, value_range(of, self.desk.domain))
                return np.clip(low, least, most), np.clip(high, least, most)
        return low, high

    def _sums(self, query: Count | Sum, codes: Ints) -> Floats:
        """A count or a sum by groups."""
        domain = self.desk.domain
        lattice = self.model.cube.cube.plan.lattice
        mask = lattice.mask(*_attributes_of(query, domain))
        mesh = _Mesh(domain, tuple(map(str, lattice.names_of(mask))))
        groups, place = np.unique(mesh.groups(query.by), return_inverse=True)
        wanted = _flat(codes.T, query.by, domain, (len(codes),))
        at = np.minimum(np.searchsorted(groups, wanted), groups.size - 1)
        is_there = groups[at] == wanted
        weights = mesh.weights(query)
        found = np.zeros((len(self._models), len(wanted)))
        for line, model in enumerate(self._models):
            still_wanted()
            cells = model.cuboid(mask) * weights
            sums = np.bincount(place.reshape(-1), cells.reshape(-1), minlength=groups.size)
            found[line] = np.where(is_there, sums[at], 0.0)
        return found


@dataclass(frozen=True)
class _Mesh:
    """The cells of a cuboid: the codes of each of its attributes, along an axis of its own."""

    domain: Domain
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.domain[name].size for name in self.names)

    def codes(self, name: str) -> Ints:
        """Of each cell; that of an attribute with one value is 0."""
        axes = [-1 if own == name else 1 for own in self.names]
        return np.arange(self.domain[name].size).reshape(axes)

    def groups(self, by: tuple[Group, ...]) -> Ints:
        """The number of each cell's group: its codes as digits."""
        codes = [self.codes(group) if isinstance(group, str) else self._labelled(group) for group in by]
        return _flat(codes, by, self.domain, self.shape)

    def _labelled(self, group: Group) -> Ints:
        assert isinstance(group, Labelling), "others were refused"
        return group.table.at(self.codes)

    def weights(self, query: Count | Sum) -> Floats:
        """What a row of each cell adds."""
        inside = self._inside(query.where).astype(np.float64)
        match query:
            case Count():
                return inside
            case Sum(of=str(of)):
                return inside * _values(self.domain[of])[self.codes(of)]
            case Sum(of=Amount() as amount):
                grains = amount.of_rows(self.codes, lambda name: _grains(self.domain[name])[self.codes(name)])
                return inside * (grains * float(amount.grain))
        raise AssertionError(query)

    def _inside(self, where: Region) -> NDArray[np.bool_]:
        inside = np.zeros(self.shape, np.bool_)
        axes = [self.domain.axis(name) for name in self.names]
        for box in where.boxes:
            inside[tuple(slice(box.low[axis], box.high[axis] + 1) for axis in axes)] = True
        return inside


def _flat(codes: Iterable[Ints], by: tuple[Group, ...], domain: Domain, shape: tuple[int, ...]) -> Ints:
    """Codes of groups as one number: digits of a number whose places have the groups' sizes."""
    found = np.zeros(shape, np.int64)
    for own, group in zip(codes, by, strict=True):
        found = found * group_attribute(group, domain).size + own
    return found


def _values(attribute: Attribute) -> Floats:
    """What a row with each code adds to a sum: its number, the middle of its bin; nothing for missing and others."""
    grain_of(attribute)  # raises where an attribute has no sum
    values = np.zeros(attribute.size)
    match attribute:
        case Integer():
            values[: attribute.cells] = attribute.low + np.arange(attribute.cells)
        case Bins():
            edges = np.array([float(edge) for edge in attribute.edges if edge is not None])
            values[: attribute.cells] = (edges[:-1] + edges[1:]) / 2
    return values


def _grains(attribute: Attribute) -> Ints:
    """The same in whole grains."""
    return np.rint(_values(attribute) / float(grain_of(attribute))).astype(np.int64)


def _answer(question: Question, reading: _ModelReading, wish: Wish, notes: list[str]) -> Answer:
    """A plain SELECT: its groups, ordered and cut by the modelled numbers."""
    desk, domain = reading.desk, reading.desk.domain
    groups = list(groups_to_plan(question.by, question.where, domain))
    codes = np.array([own for own, _ in groups], np.int64).reshape(len(groups), len(question.by))
    numbers = [reading.column(column, codes) for column in question.aggregates]
    places = _ordered(question, codes, numbers)
    confidence, chosen = wish.confidence, len(places) < len(groups) and _is_by_number(question)
    if chosen:
        confidence = at_once(confidence, len(groups))
        notes.append(f"lines are chosen by their numbers: the ranges are as wide as for all {len(groups):,} at once")
    ends = [
        reading.ends(column, own, float(confidence)) for column, own in zip(question.aggregates, numbers, strict=True)
    ]
    named = [group_attribute(group, domain).labels for group in question.by]
    rows = [
        Row(
            tuple(own[code] for own, code in zip(named, groups[place][0], strict=True)),
            column.name,
            _number(own[0, place]),
            _number(low[place]),
            _number(high[place]),
            "modelled",
            asked := asked_region(column, groups[place][1], question),
            asked,
            chosen=chosen,
        )
        for place in places.tolist()
        for column, own, (low, high) in zip(question.aggregates, numbers, ends, strict=True)
    ]
    return Answer(
        text=question.text,
        by=tuple(question.name_of(group) for group in question.by),
        columns=tuple(column.name for column in question.aggregates),
        rows=tuple(rows),
        confidence=wish.confidence,
        cost=Fraction(0),
        budget=desk.ledger.budget,
        guarantee=reading.model.guarantee,
        notes=tuple(dict.fromkeys(notes)),
        domain=domain,
        order=tuple(column.name for column in question.columns),
        label_kinds=tuple(label_kind(group, domain) for group in question.by),
    )


def _is_by_number(question: Question) -> bool:
    return any(isinstance(question.columns[key.column], AggregateColumn) for key in question.order_by)


def _ordered(question: Question, codes: Ints, numbers: Sequence[Floats]) -> Ints:
    """The places of the groups that are shown, in their order; what has no number comes last."""
    places = np.arange(len(codes))
    for key in reversed(question.order_by):
        column = question.columns[key.column]
        if isinstance(column, GroupColumn):
            own = codes[places, question.by.index(column.attribute)].astype(np.float64)
        else:
            own = numbers[question.aggregates.index(column)][0, places]
        places = places[np.argsort(-own if key.descending else own, kind="stable")]
    stop = None if question.limit is None else question.offset + question.limit
    return places[question.offset : stop]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass
class _Half:
    """A statement's public half over modelled numbers, and over those of every simulated release."""

    statement: Statement
    reading: _ModelReading
    wish: Wish
    notes: list[str]

    def result(self) -> Result:
        half = self._over(0)
        found, lineage = half.evaluated(), half.lineage
        if lineage.deep or (lineage.own and not half.is_direct):
            raise UnsupportedQuery(
                "a model range cannot follow what this statement chooses by its numbers; ask for the numbers, and "
                "choose among them"
            )
        confidence = self.wish.confidence
        if lineage.own:
            confidence = at_once(confidence, half.candidates)
            self.notes.append(
                f"lines are chosen by their numbers: the ranges are as wide as for all {half.candidates:,} at once"
            )
        made = self._direct(found) if half.is_direct else self._matched(found)
        ends = {
            name: bounds(found.floats(name), made[name], float(confidence), least=-np.inf) for name in found.numbers
        }
        where = self.statement.blocks[0].question.where

        def row(name: str, line: int) -> Row:
            low, high = (_number(end[line]) for end in ends[name])
            labels = tuple(label_text(found.listed(own)[line]) for own in found.labels)
            value = _number(found.floats(name)[line])
            return Row(labels, name, value, low, high, "modelled", where, where, chosen=lineage.own, line=line)

        return Result(found, row, tuple(self.notes))

    @cached_property
    def _numbers(self) -> list[tuple[Ints, list[Floats]]]:
        """Of each block its groups' codes, and its numbers of all releases."""
        found = []
        for block in self.statement.blocks:
            codes = codes_of_groups(block.question.by, block.question.where, self.reading.desk.domain)
            found.append((codes, [self.reading.column(column, codes) for column in block.question.aggregates]))
        return found

    @property
    def _releases(self) -> range:
        return range(1, 1 + len(self.reading.model.cube.replicates))

    def _over(self, release: int) -> PublicHalf:
        answers, start = [], 0
        for block, (codes, numbers) in zip(self.statement.blocks, self._numbers, strict=True):
            answers.append(BlockAnswer(block, codes, tuple(own[release] for own in numbers), start))
            start += len(codes)
        return PublicHalf(self.statement, answers, self.wish.confidence, self.reading.desk)

    def _direct(self, found: Evaluated) -> dict[str, Floats]:
        """Where every line is one of a block: the same lines of every release, whatever is chosen there."""
        tables = [block.name for block in self.statement.blocks] + [own.name for own in self.statement.lookups]
        prepared = prepare(self._over(0).unchosen, tables)
        made: dict[str, list[Floats]] = {name: [] for name in found.numbers}
        for release in self._releases:
            drawn = run_prepared(prepared, self._over(release).tables())
            place = np.argsort(drawn.column(LINE).to_numpy())[found.lines]
            again = Evaluated(found.columns, drawn)
            for name, own in made.items():
                own.append(again.floats(name)[place])
        return {name: np.array(own) for name, own in made.items()}

    def _matched(self, found: Evaluated) -> dict[str, Floats]:
        """Elsewhere lines are told apart by their labels."""
        made: dict[str, list[Floats]] = {name: [] for name in found.numbers}
        for release in self._releases:
            again = self._over(release).evaluated()
            lines = same_lines(found.table, again.table, found.labels, np.zeros(again.count, np.int64))
            for name, own in made.items():
                values = np.full(found.count, np.nan)
                values[lines[lines >= 0]] = again.floats(name)[lines >= 0]
                own.append(values)
        return {name: np.array(own) for name, own in made.items()}
