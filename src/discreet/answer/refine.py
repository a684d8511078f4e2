"""Refined answers: one best linear estimate for each number, from facts and everything that was released. Free."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from discreet.answer.answer import Desk, Picked, Settled
from discreet.answer.combine import Combined, combine
from discreet.answer.estimate import Estimate, in_grains
from discreet.answer.grid import Terms
from discreet.answer.past import groups_of
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer
from discreet.answer.rows import Rows
from discreet.answer.scales import parts_of_mean
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.facts.facts import Fact
from discreet.noise.spread import Draws, gathered
from discreet.query.query import Combination, Count, Mean, Quantile, Sum
from discreet.sql.question import Measure, Question

UNDETERMINED = "nothing that was released or is known determines some numbers (–); without refine they are measured"


@dataclass
class _Refining:
    """The numbers of a question as they are settled, and what they are made of."""

    desk: Desk
    facts: Sequence[Fact]
    settled: Settled = field(default_factory=Settled)
    made_of: list[Combined] = field(default_factory=list)


def refine(question: Question, wish: Wish, desk: Desk, facts: Sequence[Fact]) -> Answer:
    """Answer from what is public alone, as sharply as linear estimates can. Never measures, never spends.

    Intervals hold as they do for every combination of independent draws; a number that facts alone determine is exact.
    Raises UnsupportedQuery where nothing public determines any number.
    """
    settled, origins = settle_free([question], desk, facts)
    notes = [*question.notes]
    rows = Rows(settled, wish.confidence, desk, notes).of(question)
    if rows and all(row.value is None for row in rows):
        raise UnsupportedQuery(
            "nothing that was released or is known determines this; ask without refine, which measures it"
        )
    if any(row.value is None for row in rows):
        notes.append(UNDETERMINED)
        rows = [replace(row, kind="derived") if row.value is None else row for row in rows]
    notes += origins
    return Answer(
        text=question.text,
        by=tuple(question.name_of(attribute) for attribute in question.by),
        columns=tuple(column.name for column in question.aggregates),
        rows=tuple(rows),
        confidence=wish.confidence,
        cost=desk.ledger.budget.amount_of(0),
        budget=desk.ledger.budget,
        guarantee=desk.ledger.promise(desk.ledger.spent_max),
        notes=tuple(dict.fromkeys(notes)),
        domain=desk.domain,
    )


def settle_free(questions: Sequence[Question], desk: Desk, facts: Sequence[Fact]) -> tuple[Settled, list[str]]:
    """The numbers of some questions as far as public things determine them, and what they are made of, in words."""
    desk.known.refresh()
    refining = _Refining(desk, facts)
    for question in questions:
        for column in question.aggregates:
            _settle(column.query, question, refining)
    return refining.settled, _origins(refining.made_of)


def _settle(measure: Measure, question: Question, refining: _Refining) -> None:
    desk, settled = refining.desk, refining.settled
    match measure:
        case Count() | Sum():
            groups = [(codes, region) for codes, region in groups_of(measure.by, measure.where, desk.domain) if region]
            found = _estimates(measure, [((1, region),) for _, region in groups], refining)
            settled.numbers.update({(measure, codes): one for (codes, _), one in zip(groups, found, strict=True)})
        case Mean():
            for part in parts_of_mean(measure, desk):
                _settle(part, question, refining)
        case Quantile():
            for codes, region in groups_of(measure.by, measure.where, desk.domain):
                known = desk.known.quantile(replace(measure, where=region, by=()))
                settled.numbers[measure, codes] = None if known is None else Picked(known[1], known[0], "repeated")
        case Combination(terms=terms):
            if len({query.of if isinstance(query, Sum) else None for _, query in terms}) > 1:
                for _, query in terms:
                    _settle(query, question, refining)
                return
            groups = list(groups_of(question.by, question.where, desk.domain))
            targets = [_within(region, measure) for _, region in groups]
            found = _estimates(terms[0][1], targets, refining)
            settled.combinations.update({(measure, codes): one for (codes, _), one in zip(groups, found, strict=True)})


def _within(group: Region, measure: Combination) -> Terms:
    """The regions that a combination adds up, within a group."""
    return tuple((times, region) for times, query in measure.terms if (region := group.intersect(query.where)))


def _estimates(quantity: Count | Sum, targets: Sequence[Terms], refining: _Refining) -> list[Estimate | None]:
    """Facts are counts: sums are made of released sums alone."""
    desk = refining.desk
    facts = refining.facts if isinstance(quantity, Count) else ()
    found = combine(targets, desk.known.of(quantity), facts, desk.domain)
    refining.made_of += [one for one in found if one is not None]
    estimates: list[Estimate | None] = []
    for one, terms in zip(found, targets, strict=True):
        covered = Region.of(box for _, region in terms for box in region.boxes)
        if one is None:
            estimates.append(None)
            continue
        draws = gathered(Draws(weight, desk.known.noise(source), count) for weight, source, count in one.draws)
        estimate = Estimate(one.value, one.variance, "derived", covered, draws, sources=one.sources)
        estimates.append(in_grains(estimate, desk.grain(quantity)))
    return estimates


def _origins(made_of: Sequence[Combined]) -> list[str]:
    """What the numbers are made of, in words."""
    sources = frozenset[object]().union(*(one.sources for one in made_of))
    facts = sorted(frozenset[int]().union(*(one.facts for one in made_of)))
    parts = [f"{len(sources)} measurement{'s' * (len(sources) != 1)}"] if sources else []
    if facts:
        parts.append(f"fact{'s' * (len(facts) > 1)} {', '.join(map(str, facts))}")
    notes = [f"made of {' and '.join(parts)}"] if parts else []
    if not all(one.complete for one in made_of):
        notes.append("so much was released that only the answers nearest to each region were combined")
    return notes
