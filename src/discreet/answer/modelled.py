"""Answers read from the model of everything public: free, sharper than least squares, and biased. They say so.

A count, a sum or an average is a sum over cells of one cuboid of the model, that of all attributes that the question
names. Its model range is made of the same sums over simulated releases (`PublicModel.replicates`); where a statement
has a public half, that is run over each of them. Everything here is public: nothing is handed in that could spend.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.answer.chosen import at_once
from discreet.answer.desk import Desk
from discreet.answer.grid import codes_of_groups
from discreet.answer.halves import BlockAnswer, Evaluated, PublicHalf, Result, label_text
from discreet.answer.label_kinds import label_kind
from discreet.answer.matching import same_lines
from discreet.answer.past import groups_to_plan
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation, Row
from discreet.answer.scales import elementary, parts_of_mean, value_range
from discreet.answer.single_rows import asked_region
from discreet.answer.statement import reply
from discreet.answer.steps import dry_run
from discreet.cube.modelled import bounds, not_together
from discreet.cube.public_model import PublicModel, require_fit
from discreet.deadline import still_wanted
from discreet.domain.domain import Domain
from discreet.errors import DeadlinePassed, UnsupportedQuery
from discreet.model.everything import Everything
from discreet.model.model import Model
from discreet.model.size import MOST_CELLS
from discreet.query.mesh import COUNTED, Mesh, attributes_of, flat, has_bins
from discreet.query.query import Combination, Count, Mean, Sum, group_attribute
from discreet.sql.question import AggregateColumn, GroupColumn, Question
from discreet.sql.sandbox import prepare, run_prepared
from discreet.sql.split import LINE, Statement, Stepwise

MOST_NAMED = 12
"""Releases that a note names, at most."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

READ_FROM = "modelled: biased, and sharper than least squares; the ranges are model ranges, from simulated releases"
MADE = (
    "the model that this is read from was made for the first time since something was released, which took longer than "
    "the server's deadline; it is kept now, and nothing was spent: ask again"
)
IN_BINS = "in sums and averages, a number in a bin counts as the bin's middle, and the ranges do not doubt that"


def ask_modelled(
    asked: Question | Statement | Stepwise,
    wish: Wish,
    of: Everything,
    desk: Desk,
    fitted: Callable[[], PublicModel],
) -> Answer:
    """Answer from the model of everything public. Raises UnsupportedQuery, with what would, where that tells nothing.

    `fitted` is that model with its simulated releases, which take long to make.
    """
    covered = _covered(asked, of, desk)
    require_fit(of)
    model = fitted()
    reading, notes = _ModelReading(model, desk), list(covered.notes)
    if isinstance(covered.asked, Question):
        return _answer(covered.asked, reading, wish, notes)
    result = _Half(covered.asked, reading, wish, notes).result()
    return reply(covered.asked, result, wish, desk, Fraction(0), model.guarantee)


def explain_modelled(asked: Question | Statement | Stepwise, wish: Wish, of: Everything, desk: Desk) -> Explanation:
    """From what a question would be answered; refused as `ask_modelled` refuses it. It is free."""
    covered = _covered(asked, of, desk)
    require_fit(of)
    left = min(desk.left(question.where) for question in covered.questions)
    return Explanation(
        covered.asked.text, (), wish.confidence, desk.ledger.budget, Fraction(0), True, left, None, covered.notes
    )


@dataclass(frozen=True)
class _Covered:
    """A question that the model tells of, and what is to be said of that."""

    asked: Question | Statement
    questions: tuple[Question, ...]
    notes: tuple[str, ...]


def _covered(asked: Question | Statement | Stepwise, of: Everything, desk: Desk) -> _Covered:
    if isinstance(asked, Stepwise):
        raise UnsupportedQuery(
            "a model does not answer a question with a sub-query in its WHERE; ask the sub-query by itself, and write "
            "its number here"
        )
    if isinstance(asked, Statement):
        dry_run(asked, desk)
    questions = (asked,) if isinstance(asked, Question) else tuple(block.question for block in asked.blocks)
    names = _attributes(questions, desk)
    _require_covered(names, of, desk.domain)
    notes = dict.fromkeys([*asked.notes, READ_FROM, *_notes(names, of, questions, desk)])
    return _Covered(asked, questions, tuple(notes))


def _attributes(questions: Iterable[Question], desk: Desk) -> tuple[str, ...]:
    """The attributes that questions tell rows apart by, in the domain's order."""
    found: set[str] = set()
    for question in questions:
        for column in question.aggregates:
            for query in elementary(column.query, desk):
                found |= attributes_of(query, desk.domain)
    return tuple(name for name in desk.domain.names if name in found)


def _require_covered(names: tuple[str, ...], of: Everything, domain: Domain) -> None:
    """Raise where the model tells nothing of an attribute, or too many cells would be told apart."""
    missing = [name for name in names if name not in of.names]
    if missing:
        raise UnsupportedQuery(
            f"nothing that was released tells of {', '.join(missing)}; `discreet cube publish … --for model "
            f"--dimensions {','.join(names)}` does, or ask without the estimate modelled"
        )
    cells = prod(domain[name].size for name in names)
    if cells > MOST_CELLS:
        raise UnsupportedQuery(
            f"this question tells {cells:,} cells apart, and at most {MOST_CELLS:,} are read from a model; name fewer "
            "attributes in one question"
        )


def _notes(names: tuple[str, ...], of: Everything, questions: Sequence[Question], desk: Desk) -> list[str]:
    found = [_what_is_in(of)]
    if names and not of.is_measured(names):
        found.append(f"{not_together(names)}, and the truth may lie outside of the ranges")
    columns = (column for question in questions for column in question.aggregates)
    summed = {query.of for column in columns for query in elementary(column.query, desk) if isinstance(query, Sum)}
    if any(has_bins(own, desk.domain) for own in summed):
        found.append(IN_BINS)
    return found


def _what_is_in(of: Everything) -> str:
    """Which releases and facts the model is made of, the first of many."""
    named = ", ".join(map(str, of.releases[:MOST_NAMED]))
    more = f" and {len(of.releases) - MOST_NAMED:,} more" if len(of.releases) > MOST_NAMED else ""
    facts = f" and {len(of.facts)} fact{'s' * (len(of.facts) > 1)}" if of.facts else ""
    left = of.left_out + of.facts_left_out
    without = f"; {left:,} number{'s' * (left > 1)} or facts were too much for it and are left out" if left else ""
    return f"the model of everything public: release{'s' * (len(of.releases) > 1)} {named}{more}{facts}{without}"


@dataclass(frozen=True)
class _ModelReading:
    """Numbers read from a model and from its simulated releases: arrays with the model's own in line 0."""

    model: PublicModel
    desk: Desk

    @cached_property
    def _models(self) -> list[Model]:
        models = [self.model.model, *self.model.replicates]
        try:
            still_wanted()
        except DeadlinePassed:
            raise DeadlinePassed(MADE) from None
        return models

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
        lattice = self.model.of.lattice
        mask = lattice.mask(*attributes_of(query, domain))
        mesh = Mesh(domain, tuple(map(str, lattice.names_of(mask))))
        groups, place = np.unique(mesh.groups(query.by), return_inverse=True)
        wanted = flat(codes.T, query.by, domain, (len(codes),))
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
        return range(1, 1 + len(self.reading.model.replicates))

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
