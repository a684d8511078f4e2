"""The best that is public: the one number for a region, whoever asks and however, until something new is released.

Where all that was released is in the `joint` system, and it is unless there is very much of it, that is the best linear
unbiased estimate of all. What the system has no room for (see `parts.py`) joins it by its precision where it is of the
very region; and where the nearest answers by themselves make a sharper estimate (`derive`), it is that one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import inf

from discreet.answer.derive import Derived, derive
from discreet.answer.draws import Laws, draws_of
from discreet.answer.estimate import ROUNDED, without_rounding
from discreet.answer.index import Answers
from discreet.answer.joint import NEGLIGIBLE, Joined, JointSystem, Terms
from discreet.answer.past import PastAnswer
from discreet.domain.region import Region
from discreet.noise.law import Noise
from discreet.noise.spread import Draws, Mixture, Spread, gathered, halfwidth, rounded_down
from discreet.query.marginals import Source

JUDGED = (Fraction(9, 10), Fraction(19, 20), Fraction(999, 1000))
"""The confidences at which the widths of intervals are compared."""
WORTH = 0.02
"""Less variance is given up for intervals that are narrower by more than this."""
DIGITS = 13
"""Of a number: further ones are the arithmetic's rounding, and differ from one way to compute it to another."""
WHOLE = 1e-9
"""Least squares, of counts that cancel, misses a whole number by less."""


@dataclass(frozen=True)
class Best:
    """An unbiased estimate, with the draws of noise in it, the measurements and the facts that it is made of."""

    value: float
    variance: float
    draws: Spread = ()
    sources: frozenset[Source] = frozenset()
    facts: frozenset[int] = frozenset()

    @property
    def as_mixture(self) -> Spread:
        """Its draws, of which less is told."""
        laws = [draw.law for draw in self.draws if not isinstance(draw.law, Mixture)]
        if len(laws) < len(self.draws) or not laws:
            return self.draws
        least = min(laws, key=lambda law: law.scale_squared)
        largest = max(draw.variance / draw.count for draw in self.draws)
        return (Draws(1.0, Mixture(self.variance, least, rounded_down(self.variance / largest))),)

    @property
    def is_one_draw(self) -> bool:
        """Whether it is a number as it was measured."""
        if len(self.draws) != 1 or isinstance(self.draws[0].law, Mixture):
            return False
        return self.draws[0].count == 1 and abs(self.draws[0].weight - 1) <= NEGLIGIBLE


def best(targets: Sequence[Terms], past: Answers, laws: Laws, enough: float = inf) -> list[Best | None]:
    """The best public estimate of each sum of boxes; None where there is none. It depends on the boxes and on what was
    released, on nothing else. Where it is above `enough`, it may be None as well."""
    of_somebody = [terms for terms in targets if terms]
    past.groups.look_up([box for terms in of_somebody for _, box in terms])
    found = [_least_variance(of_somebody, past, laws, enough)]
    numbers = iter(_chosen(found, of_somebody, past, laws))
    return [_rounded(next(numbers)[0]) if terms else Best(0.0, 0.0) for terms in targets]


def best_of(targets: Sequence[Terms], past: Answers, laws: Laws) -> list[tuple[Best | None, JointSystem | None]]:
    """The same where all that was released is in the joint system; and by which system each is had, or None where it
    is as it was measured."""
    past.groups.look_up([box for terms in targets for _, box in terms])
    found = [_estimates(past.joint, targets, laws)]
    systems = [past.joint, *past.simpler, past.joint.without_parts]
    return [
        (_rounded(one), None if place is None else systems[place]) for one, place in _chosen(found, targets, past, laws)
    ]


def _chosen(
    found: list[list[Best | None]], targets: Sequence[Terms], past: Answers, laws: Laws
) -> list[tuple[Best | None, int | None]]:
    """Of the estimates that were `found`, of those by the simpler systems, and of those by marginals alone, in this
    order, the best of each target; and the place of the one that it is, None where it is none of them."""
    found = [*found, *(_estimates(joint, targets, laws) for joint in past.simpler)]
    widths = _Widths()
    chosen = [
        _narrowest(choices, terms, past, laws, widths)
        for choices, terms in zip(zip(*found, strict=True), targets, strict=True)
    ]
    if past.joint.parts and past.joint.marginals.tables:
        found.append(_estimates(past.joint.without_parts, targets, laws))
        chosen = [_told_better(one, other, widths) for one, other in zip(chosen, found[-1], strict=True)]
    return [
        (one, next((place for place, other in enumerate(choices) if one is not None and other is one), None))
        for one, choices in zip(chosen, zip(*found, strict=True), strict=True)
    ]


def rounded(value: float) -> float:
    """Without the arithmetic's rounding: a count, or a sum in whole grains, that is all but whole is whole."""
    return without_rounding(float(f"{value:.{DIGITS}g}"), WHOLE / ROUNDED)


def _rounded(one: Best | None) -> Best | None:
    return None if one is None else replace(one, value=rounded(one.value))


def _told_better(one: Best | None, alone: Best | None, widths: "_Widths") -> Best | None:
    """An estimate, or that of marginals alone, where much less of its width is given away to draws that are not told
    one by one: what was asked for beside them is not to make an answer wider."""
    if one is None or alone is None:
        return one or alone
    given_up = 1.0 if alone.variance <= one.variance else 1 + WORTH
    return alone if widths.usual(alone) * given_up < widths.usual(one) else one


def _narrowest(
    choices: Sequence[Best | None], terms: Terms, past: Answers, laws: Laws, widths: "_Widths"
) -> Best | None:
    """Of several estimates the one with the least variance, unless its intervals are wider than another's: combinations
    of draws have thicker middles than single ones, and what was bought within some width is to stay within it. None is
    wider than what a cube says, or than what was measured."""
    found = [one for one in choices if one is not None]
    if not any(one.is_one_draw for one in found):
        found += [one for one in [_as_measured(terms, past, laws)] if one is not None]
    found.sort(key=lambda one: one.variance)
    while len(found) > 1 and not all(widths.is_narrower(found[0], other) for other in found[1:]):
        found = found[1:]
    return found[0] if found else None


def _as_measured(terms: Terms, past: Answers, laws: Laws) -> Best | None:
    """The sum of the numbers that were asked for as what they are; None where some were not."""
    if len(terms) == 1:
        [(times, box)] = terms
        answer = past.measured(Region((box,)))
        if answer is None:
            return None
        draws: Spread = (Draws(abs(times), laws(answer.source)),)
        return Best(times * answer.value, times**2 * answer.variance, draws, frozenset({answer.source}))
    regions: dict[Region, int] = {}
    for times, box in terms:
        regions[Region((box,))] = regions.get(Region((box,)), 0) + times
    if len({times for times, _ in terms}) == 1 and len(terms) > 1:
        whole = Region.of(box for _, box in terms)
        regions = {whole: terms[0][0]} if past.measured(whole) is not None else regions
    found = [(times, past.measured(region)) for region, times in regions.items()]
    answers = [(float(times), answer) for times, answer in found if answer is not None]
    if len(answers) < len(found) or not _are_independent([answer for _, answer in answers]):
        return None
    draws = gathered(Draws(times, laws(answer.source)) for times, answer in answers)
    made = Derived.of(answers)
    return Best(made.value, made.variance, draws, frozenset(answer.source for _, answer in answers))


def _are_independent(answers: Sequence[PastAnswer]) -> bool:
    """Whether they are of other measurements, or other groups of one."""
    return all(
        one.source != other.source or not one.where.intersect(other.where) for one, other in combinations(answers, 2)
    )


def _is_plainly_narrower(own: Spread, other: Spread) -> bool:
    """Whether both are mixtures of the same kind, of which one has less variance, as evenly spread."""
    if len(own) != 1 or len(other) != 1:
        return False
    one, two = own[0].law, other[0].law
    if not isinstance(one, Mixture) or not isinstance(two, Mixture) or one.least is not two.least:
        return False
    return own[0].variance <= other[0].variance and one.evenly >= two.evenly


SpreadKey = tuple[tuple[float, int, int], ...]
"""Weights, laws by their names in memory, and counts."""


@dataclass(frozen=True)
class _Widths:
    """Which spreads are narrower than which: many groups have the same ones. Spreads are kept, so that the names of
    their laws stay their own."""

    _known: dict[SpreadKey, tuple[Spread, list[float]]] = field(default_factory=dict)
    _compared: dict[tuple[SpreadKey, SpreadKey], tuple[Spread, bool]] = field(default_factory=dict)

    def is_narrower(self, own: Best, measured: Best) -> bool:
        """Whether an estimate's intervals are never wider than another's."""
        keys = _key(own.draws), _key(measured.draws)
        if keys not in self._compared:
            self._compared[keys] = own.draws, self._compare(own, measured)
        return self._compared[keys][1]

    def _compare(self, own: Best, measured: Best) -> bool:
        if own.draws == measured.draws or _is_plainly_narrower(own.draws, measured.draws):
            return True
        most = [width * (1 + NEGLIGIBLE) for width in self._of(measured.draws)]
        # What holds for every such sum is soon computed, and mostly suffices.
        return any(
            all(halfwidth(draws, confidence) <= width for confidence, width in zip(JUDGED, most, strict=True))
            for draws in (own.as_mixture, own.draws)
        )

    def usual(self, one: Best) -> float:
        """At 95%."""
        return self._of(one.draws)[1]

    def _of(self, draws: Spread) -> list[float]:
        """At the confidences of JUDGED."""
        key = _key(draws)
        if key not in self._known:
            self._known[key] = draws, [halfwidth(draws, confidence) for confidence in JUDGED]
        return self._known[key][1]


def _key(draws: Spread) -> SpreadKey:
    return tuple((draw.weight, id(draw.law), draw.count) for draw in draws)


def _least_variance(targets: Sequence[Terms], past: Answers, laws: Laws, enough: float) -> list[Best | None]:
    joint = past.joint
    if joint.is_trivial and all(times == 1 for terms in targets for times, _ in terms):
        return [_derived(terms, past, laws, enough) for terms in targets]
    own = _estimates(joint, targets, laws)
    if joint.is_whole:
        return own
    return [
        _sharper(_with_groups(one, terms, joint.left_out, past, laws), terms, past, laws, enough)
        for one, terms in zip(own, targets, strict=True)
    ]


def _estimates(joint: JointSystem, targets: Sequence[Terms], laws: Laws) -> list[Best | None]:
    @cache
    def sharpest(sources: frozenset[Source]) -> Noise:
        return min((laws(source) for source in sources), key=lambda law: law.scale_squared)

    @cache
    def mixture(variance: float, largest: float, sources: frozenset[Source]) -> Spread:
        evenly = rounded_down(variance / largest) if largest else 1  # that of noise too small for floats is 0
        return (Draws(1.0, Mixture(variance, sharpest(sources), evenly)),)

    return [None if one is None else _of_joint(one, laws, mixture) for one in joint.estimates(targets)]


def _with_groups(own: Best | None, terms: Terms, left_out: frozenset[Source], past: Answers, laws: Laws) -> Best | None:
    """An estimate together with those of GROUP BYs that are not in it, each by its precision."""
    if not left_out or len(terms) != 1 or terms[0][0] != 1 or (own is not None and not own.variance):
        return own
    box = terms[0][1]
    totals = [block.total(box) for block in past.groups.aligned(box) if block.source in left_out]
    if not totals:
        return own
    precision = sum(1 / total.variance for total in totals) + (0.0 if own is None else 1 / own.variance)
    groups = Derived.of([(1 / total.variance / precision, total) for total in totals])
    draws = draws_of(groups.terms, past, laws)
    sources = frozenset(total.source for total in totals)
    if own is None:
        return Best(groups.value, groups.variance, draws, sources)
    share = 1 / own.variance / precision
    return Best(
        share * own.value + groups.value,
        1 / precision,
        gathered([*(draw.times(share) for draw in own.draws), *draws]),
        own.sources | sources,
        own.facts,
    )


def _sharper(own: Best | None, terms: Terms, past: Answers, laws: Laws, enough: float) -> Best | None:
    """An estimate, or what single answers make where that has less variance."""
    most = enough if own is None else min(enough, own.variance)
    other = _derived(terms, past, laws, most)
    if own is None or other is None:
        return own or other
    return other if other.variance < own.variance else own


def _derived(terms: Terms, past: Answers, laws: Laws, enough: float) -> Best | None:
    """What single answers make of a region; sums of several with different factors are added up elsewhere."""
    if any(times != 1 for times, _ in terms):
        return None
    region = Region((terms[0][1],)) if len(terms) == 1 else Region.of(box for _, box in terms)
    derived = derive(region, past, enough=enough)
    if derived is None:
        return None
    draws = draws_of(derived.terms, past, laws)
    return Best(derived.value, derived.variance, draws, frozenset(answer.source for _, answer in derived.terms))


def _of_joint(one: Joined, laws: Laws, mixture: Callable[[float, float, frozenset[Source]], Spread]) -> Best:
    draws: Spread = ()
    variance = max(one.variance, 0.0)  # of numbers that cancel the arithmetic's rounding may leave less than nothing
    if variance and one.draws is not None:
        draws = gathered(Draws(weight, laws(source), count) for weight, source, count in one.draws)
    elif variance:
        draws = mixture(variance, one.largest, one.sources)
    return Best(one.value, variance, draws, one.sources, one.facts)
