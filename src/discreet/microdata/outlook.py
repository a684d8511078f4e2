"""Whether limits can be met, as far as that is known before a row is read: from the limits and the declared values.

A value's limit is met where its frequency f is at most it [buckets, Lemma 1]. With min(1, a·f + b) that is
f ≤ b/(1 − a), and any f where a ≥ 1; frequencies add up to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidLimits
from discreet.microdata.limits import Limits, limit_words


@dataclass(frozen=True)
class Outlook:
    """How frequent each value may be for its limit to be met: 1 is any frequency. Public: no row was read for it."""

    most: tuple[tuple[str, Fraction], ...]

    @property
    def always(self) -> bool:
        """Whether every table meets the limits."""
        return all(share == 1 for _, share in self.most)

    @property
    def possible(self) -> bool:
        """Whether any table does."""
        return sum(share for _, share in self.most) >= 1

    def __str__(self) -> str:
        if self.always:
            return "These limits can be met, whatever the table holds."
        if not self.possible:
            return "No table meets these limits: the shares that its values may have do not add up to 1."
        bounded = sorted({share for _, share in self.most if share < 1})
        if len(bounded) == 1 and all(share < 1 for _, share in self.most):
            return f"These limits are met where no value is more frequent than {limit_words(bounded[0])}."
        strictest = [f"{value} at most {limit_words(share)}" for value, share in self.most if share == bounded[0]]
        more = f", and {len(strictest) - 3} more alike" if len(strictest) > 3 else ""
        return f"These limits are met where values are rare enough; the strictest: {', '.join(strictest[:3])}{more}."


def outlook(limits: Limits, values: Sequence[str]) -> Outlook:
    """What is known of limits for these values. Raises InvalidLimits where one is named that is not among them."""
    limits.check_names(values)
    own = dict(limits.own)
    usual = Fraction(1) if limits.slope >= 1 else min(Fraction(1), limits.offset / (1 - limits.slope))
    return Outlook(tuple((value, own.get(value, usual)) for value in values))


def require_possible(limits: Limits, values: Sequence[str]) -> None:
    """Raise InvalidLimits where no table at all meets the limits."""
    found = outlook(limits, values)
    if not found.possible:
        raise InvalidLimits(f"{str(found).rstrip('.')}; raise them, for example to min(1, 8*f + 0.02)")
