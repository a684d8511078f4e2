"""Limits: how sure anyone may become that a person has a value, one for each sensitive value.

The seed's f' [buckets, Definition 2]. A limit is a share of a bucket, exact: 0.29 means 29/100, so that a bucket of 100
may hold 29 and not 28.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any, SupportsIndex

from discreet.errors import InvalidLimits
from discreet.exact import parse_exact

Number = Fraction | Decimal | int | float | str

GRAMMAR = 'a limit is a number, or linear in the frequency f: "0.1", "8*f", "min(1, 8*f + 0.02)"'

CAPPED = re.compile(r"min\((?:1,(?P<first>[^,()]+)|(?P<second>[^,()]+),1)\)")
NUMBER = r"(?:\d+/\d+|\d+\.?\d*|\.\d+)"
TERM = re.compile(rf"(?:(?P<before>{NUMBER})\*)?f(?:\*(?P<after>{NUMBER}))?|(?P<constant>{NUMBER})")


@dataclass(frozen=True)
class Limits:
    """A value of frequency f may have the share min(1, slope·f + offset) of a bucket; some values have their own.

    Raises InvalidLimits where slope or offset is negative, or both are 0, or a value's own limit is not in (0, 1].
    """

    slope: Fraction
    offset: Fraction
    own: tuple[tuple[str, Fraction], ...] = ()

    def __post_init__(self) -> None:
        if self.slope < 0 or self.offset < 0 or self.slope == self.offset == 0:
            raise InvalidLimits(f"a limit does not fall with the frequency, and is above 0: {GRAMMAR}")
        for value, limit in self.own:
            if not 0 < limit <= 1:
                raise InvalidLimits(f"the limit of {value} is {limit_words(limit)}; it must be above 0 and at most 1")

    @classmethod
    def linear(cls, slope: Number, offset: Number = 0) -> "Limits":
        """min(1, slope·f + offset), the seed's θ·f + 0.02. A slope of 1 or more can always be met."""
        return cls(exact_number(slope), exact_number(offset))

    @classmethod
    def constant(cls, limit: Number) -> "Limits":
        """The same limit for every value; 1 where only values with their own limit are sensitive."""
        return cls(Fraction(0), exact_number(limit))

    @classmethod
    def parse(cls, text: str, own: Iterable[str] = ()) -> "Limits":
        """Limits as the command line writes them: "min(1, 8*f + 0.02)", and "HIV=0.02" for each value of its own."""
        compact = re.sub(r"\s+", "", text.lower())
        capped = CAPPED.fullmatch(compact)
        terms = (capped["first"] or capped["second"] if capped else compact).split("+")
        matches = [TERM.fullmatch(term) for term in terms]
        slope = offset = Fraction(0)
        for match in matches:
            if match is None:
                raise InvalidLimits(f"{text!r} is not understood; {GRAMMAR}")
            if match["constant"]:
                offset += exact_number(match["constant"])
            else:
                slope += exact_number(match["before"] or 1) * exact_number(match["after"] or 1)
        limits = cls(slope, offset)
        for line in own:
            value, equals, limit = line.rpartition("=")
            if not equals:
                raise InvalidLimits(f'{line!r} is not understood; a value\'s own limit is written "HIV=0.02"')
            limits = limits.with_value(value.strip(), limit)
        return limits

    def with_value(self, value: str, limit: Number) -> "Limits":
        """The same limits, but this one for a value; 1 says that the value is not sensitive."""
        others = tuple(pair for pair in self.own if pair[0] != value)
        return replace(self, own=(*others, (value, exact_number(limit))))

    def of(self, values: Sequence[str], counts: Sequence[SupportsIndex]) -> tuple[Fraction, ...]:
        """The limit of each value in a table with so many of each.

        Raises InvalidLimits where a limit is below the value's frequency, naming all such values: then, and only then,
        no buckets at all keep the limits [buckets, Lemma 1]. It speaks of the table's counts, so it is for the
        custodian's eyes.
        """
        self.check_names(values)
        # Python's integers: a Fraction of NumPy's would overflow.
        exact, own = [index(count) for count in counts], dict(self.own)
        total = sum(exact)
        limits = []
        for value, count in zip(values, exact, strict=True):
            frequency = Fraction(count, total) if total else Fraction(0)
            limit = min(Fraction(1), self.slope * frequency + self.offset)
            limits.append(own.get(value, limit))
        check_eligible(values, exact, limits)
        return tuple(limits)

    def __str__(self) -> str:
        terms = [f"{limit_words(self.slope)}*f"] * (self.slope > 0) + [limit_words(self.offset)] * (self.offset > 0)
        return f"min(1, {' + '.join(terms)})" if self.slope else terms[0]

    def to_json(self) -> dict[str, Any]:
        return {"limits": str(self), "own": {value: limit_words(limit) for value, limit in self.own}}

    def check_names(self, values: Sequence[str]) -> None:
        """Raise InvalidLimits where a value has its own limit and is not among these."""
        known = set(values)
        for value, _ in self.own:
            if value not in known:
                near = difflib.get_close_matches(value, map(str, values), n=3)
                hint = f"did you mean {' or '.join(near)}?" if near else "name a value of the sensitive attribute"
                raise InvalidLimits(f"there is no value {value!r} to limit; {hint}")


def limits_from_json(body: Mapping[str, Any]) -> Limits:
    limits = Limits.parse(body["limits"])
    return replace(limits, own=tuple((value, Fraction(limit)) for value, limit in body["own"].items()))


def check_eligible(values: Sequence[str], counts: Sequence[int], limits: Sequence[Fraction]) -> None:
    """Raise InvalidLimits, naming the offenders, unless every limit is at least its value's frequency."""
    total = sum(counts)
    offenders = [
        f"{value} (limit {limit_words(limit)}, frequency {count}/{total})"
        for value, count, limit in zip(values, counts, limits, strict=True)
        if limit * total < count
    ]
    if offenders:
        raise InvalidLimits(
            f"a value cannot be rarer in every bucket than in the table, but {_listed(offenders)} would have to be; "
            "give each a limit not below its frequency"
        )


def exact_number(value: Number) -> Fraction:
    """The number that a person means: 0.29 and "0.29" are 29/100. Raises InvalidLimits where it is none."""
    try:
        return value if isinstance(value, Fraction) else parse_exact(str(value))
    except ValueError:
        raise InvalidLimits(f"{value!r} is no finite number; {GRAMMAR}") from None


def limit_words(limit: Fraction) -> str:
    """A limit as people write it: 0.02, or 1/3 where decimals do not end within twelve digits."""
    scaled = limit * 10**12
    if scaled.denominator != 1:
        return str(limit)
    return f"{Decimal(scaled.numerator).scaleb(-12).normalize():f}"


def _listed(offenders: Sequence[str], most: int = 5) -> str:
    more = f" and {len(offenders) - most} more" if len(offenders) > most else ""
    return ", ".join(offenders[:most]) + more
