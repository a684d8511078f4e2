"""The corruption attack on buckets: somebody knows the values of some people in a bucket, and strikes them out."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import UnsupportedQuery
from discreet.microdata.buckets import Buckets
from discreet.microdata.corruption import Corruption, corruption

MOST_KNOWN = 1000


@dataclass(frozen=True)
class CorruptionAttack:
    """What knowing 0, 1, … people of a bucket brings, and the values that suffer most."""

    steps: tuple[Corruption, ...]
    worst: tuple[tuple[str, float, float], ...]
    """(value, its limit, the strongest belief in it), the farthest above its limit first."""
    fakes: int

    @property
    def warns(self) -> bool:
        return self.steps[-1].above > 0

    def to_json(self) -> dict[str, Any]:
        worst = [{"value": value, "limit": limit, "belief": belief} for value, limit, belief in self.worst]
        return {"kind": "corruption", "fakes": self.fakes, "steps": [asdict(s) for s in self.steps], "worst": worst}

    def plot(self, path: str | Path) -> None:
        """Draw the strongest belief by the number of people known."""
        from discreet.picture.curves import curves_picture
        from discreet.picture.save import save_picture

        known = [step.known for step in self.steps]
        picture = curves_picture(
            {
                "strongest belief": (known, [step.most for step in self.steps]),
                "if all values of a bucket differed": (known, [step.if_distinct for step in self.steps]),
            },
            "Corruption",
            f"{self.fakes} fakes in each bucket",
            "people known in a bucket",
            "belief in a value",
        )
        save_picture(picture, path)


def attack_by_corruption(buckets: Buckets, known: int) -> CorruptionAttack:
    """Everything that somebody gains who knows up to `known` people of a bucket. Exact: no learning, no sampling."""
    if not 0 <= known <= MOST_KNOWN:
        raise UnsupportedQuery(f"known is a number of people in a bucket, from 0 to {MOST_KNOWN}")
    steps = tuple(corruption(buckets.listed, buckets.limits, number) for number in range(known + 1))
    strongest = np.zeros(len(buckets.limits))
    np.maximum.at(strongest, buckets.listed.value, buckets.listed.belief(known))
    labels = buckets.domain[buckets.sensitive].labels
    present = np.flatnonzero(strongest).tolist()
    present.sort(key=lambda value: strongest[value] / float(buckets.limits[value]), reverse=True)
    worst = tuple((labels[value], float(buckets.limits[value]), float(strongest[value])) for value in present[:10])
    return CorruptionAttack(steps, worst, buckets.fakes)
