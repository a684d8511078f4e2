"""Which draws of noise an answer is made of, with which weights: what `noise/spread.py` makes its interval of."""

from collections.abc import Callable, Iterable

from discreet.answer.index import Answers
from discreet.answer.past import PastAnswer
from discreet.noise.law import Noise
from discreet.noise.spread import Draws, Spread, gathered
from discreet.query.marginals import Source

Laws = Callable[[Source], Noise]
"""The noise in each number of a released measurement, in whole grains: `Known.noise`."""


def draws_of(terms: Iterable[tuple[float, PastAnswer]], past: Answers, laws: Laws) -> Spread:
    """The noise in a sum of independent released answers, each times its share."""
    residuals = {together.source: together for together in past.residuals}
    draws: list[Draws] = []
    for share, answer in terms:
        together = residuals.get(answer.source)
        if together is None:
            law = laws(answer.source)
            # The groups of a GROUP BY that were added up have equal noise.
            draws.append(Draws(share, law, round(answer.variance / law.variance)))
        else:
            parts = together.shares(answer.where)
            draws += [Draws(share * weight, laws(source), count) for weight, source, count in parts]
    return gathered(draws)
