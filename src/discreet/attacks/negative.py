"""The negative-association attack: values that go with nobody like a person are struck out of the person's bucket."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from discreet.microdata.associations import BY_CHANCE, ERRORS, learn_associations
from discreet.microdata.buckets import Buckets
from discreet.microdata.measure import MOST_CODES

MOST_SHOWN = 10


@dataclass(frozen=True)
class Exclusion:
    """People with a code are taken not to have a value: it is that much rarer among them, at most."""

    column: str
    label: str
    value: str
    rate: float
    at_most: float


@dataclass(frozen=True, eq=False)
class NegativeAttack:
    """What can be excluded, and what it does to people's buckets."""

    exclusions: int
    by_chance: float
    """How many of them come by chance on average, at most: each pair of a code and a value is a test, and where none is
    rarer than is needed to strike it out, one in 740 fails."""
    strongest: tuple[Exclusion, ...]
    people: int
    touched: int
    """People for whom some value of their bucket is struck out."""
    above: int
    """People for whom what is left of a bucket passes a value's limit."""
    most: float
    """The strongest belief in a sensitive value that comes of it, as a multiple of its limit."""
    ratios: Any

    @property
    def warns(self) -> bool:
        return self.above > 0

    def to_json(self) -> dict[str, Any]:
        kept = ("exclusions", "by_chance", "people", "touched", "above", "most")
        strongest = [asdict(exclusion) for exclusion in self.strongest]
        return {"kind": "negative", **{name: getattr(self, name) for name in kept}, "strongest": strongest}

    def plot(self, path: str | Path) -> None:
        """Draw how many people have a largest belief of how much of its limit."""
        from discreet.picture.curves import histogram_picture
        from discreet.picture.save import save_picture

        note = f"{self.exclusions} associations learnt from the tables; beyond 1 a limit is passed"
        picture = histogram_picture(
            {"after striking out": self.ratios},
            "Negative associations",
            note,
            "largest belief, in multiples of its limit",
        )
        save_picture(picture, path)


def attack_by_exclusion(buckets: Buckets) -> NegativeAttack:
    """Learn which values go with nobody who has a code, strike them out, and look at what is left."""
    names = [name for name in buckets.columns if buckets.domain[name].size <= MOST_CODES]
    sizes = [buckets.domain[name].size for name in names]
    bucket, value = buckets.listing
    values = len(buckets.limits)
    ones = np.ones(len(bucket), np.int64)
    listed = sparse.csr_array((ones, (bucket, value)), shape=(len(buckets.size_of), values))
    people = [buckets.codes(name) for name in names]
    associations = learn_associations(people, buckets.bucket, listed, sizes)
    common = np.bincount(value, minlength=values) > 0
    found: list[Exclusion] = []
    excluded, tests = [], 0
    for name, codes, size, association in zip(names, people, sizes, associations, strict=True):
        seen = np.bincount(codes, minlength=size) > 0
        pairs = association.excluded & seen[:, None] & common
        excluded.append(pairs)
        tests += int((np.isfinite(association.error) & seen[:, None] & common).sum())
        upper = association.rate + ERRORS * association.error
        found += [
            Exclusion(
                name,
                buckets.domain[name].label(code),
                buckets.domain[buckets.sensitive].label(which),
                float(max(association.rate[code, which], 0)),
                float(upper[code, which]),
            )
            for code, which in np.argwhere(pairs).tolist()
        ]
    ratios, touched = _struck_out(buckets, people, excluded)
    found.sort(key=lambda exclusion: exclusion.at_most)
    return NegativeAttack(
        exclusions=len(found),
        by_chance=tests * BY_CHANCE,
        strongest=tuple(found[:MOST_SHOWN]),
        people=len(ratios),
        touched=touched,
        above=int((ratios > 1 + 1e-9).sum()),
        most=float(ratios.max(initial=0)),
        ratios=ratios,
    )


def _struck_out(buckets: Buckets, people: list[Any], excluded: list[Any]) -> tuple[Any, int]:
    """For each person, the largest belief over its limit after striking out; and for how many there was anything."""
    size_of, limits = buckets.size_of, np.array([float(limit) for limit in buckets.limits])
    ratios = np.zeros(len(buckets.bucket))
    touched = 0
    step = max(1, (1 << 24) // len(limits))
    lines, starts = buckets.listed, np.cumsum(size_of) - size_of
    first_line = np.searchsorted(lines.bucket, np.arange(len(size_of) + 1))
    per = max(1, step // int(size_of.max()))
    for first in range(0, len(size_of), per):
        last = min(first + per, len(size_of))
        some = slice(first_line[first], first_line[last])
        table = np.zeros((last - first, len(limits)))
        table[lines.bucket[some] - first, lines.value[some]] = lines.times[some]
        whom = slice(starts[first], starts[last - 1] + size_of[last - 1])
        mine = table[buckets.bucket[whom] - first]
        gone = np.zeros(mine.shape, np.bool_)
        for codes, pairs in zip(people, excluded, strict=True):
            gone |= pairs[codes[whom]]
        touched += int((gone & (mine > 0)).any(axis=1).sum())
        left = np.where(gone, 0, mine)
        # Somebody has one of the values listed: a person for whom all are struck out was misjudged.
        left = np.where(left.any(axis=1, keepdims=True), left, mine)
        ratios[whom] = (left / left.sum(axis=1, keepdims=True) / limits).max(axis=1)
    return ratios, touched
