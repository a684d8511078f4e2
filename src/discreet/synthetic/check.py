"""How far a file of synthetic rows is from what was released: by cuboid, from the model and from least squares."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.cube import Cube
from discreet.errors import UnsupportedQuery
from discreet.synthetic.rows import SyntheticRows

Cells = NDArray[np.float64]

CHECKED = 3
"""Cuboids of up to so many dimensions are looked at."""


@dataclass(frozen=True)
class Distance:
    """A cuboid of the rows beside what was released: total variation distances, and the largest difference in rows."""

    dimensions: tuple[str, ...]
    measured_together: bool
    from_model: float
    from_least_squares: float | None
    """From the published cuboid, with its noise; None where none holds it."""
    largest_in_rows: float


@dataclass(frozen=True)
class RowsCheck:
    """All distances, the largest first."""

    rows: int
    same_release: bool
    """Whether the rows were drawn from this cube's release, and from no other."""
    distances: tuple[Distance, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "same_release": self.same_release,
            "by_dimensions": self.by_dimensions(),
            "cuboids": [asdict(distance) for distance in self.distances],
        }

    def by_dimensions(self) -> list[dict[str, Any]]:
        """Means and largest by number of dimensions."""
        found = []
        for order in sorted({len(distance.dimensions) for distance in self.distances}):
            own = [distance for distance in self.distances if len(distance.dimensions) == order]
            released = [one.from_least_squares for one in own if one.from_least_squares is not None]
            found.append(
                {
                    "dimensions": order,
                    "cuboids": len(own),
                    "measured_together": sum(one.measured_together for one in own),
                    "from_model": float(np.mean([one.from_model for one in own])),
                    "from_least_squares": float(np.mean(released)) if released else None,
                    "largest_in_rows": max(one.largest_in_rows for one in own),
                }
            )
        return found


def check_rows(rows: SyntheticRows, cube: Cube) -> RowsCheck:
    """Compare rows with a cube, in every cuboid of up to three dimensions that both have. Public, and free."""
    codes, lattice = rows.codes(), cube.plan.lattice
    shared = [axis for axis, dimension in enumerate(cube.dimensions) if dimension.name in codes]
    if not shared:
        raise UnsupportedQuery("these rows and this cube have no column in common")
    masks = [mask for mask in lattice.choose(min(CHECKED, lattice.dimensions)) if mask]
    both = sum(1 << axis for axis in shared)
    modelled = cube.modelled.model
    made = modelled.cuboids([mask for mask in masks if not mask & ~both])
    distances = [_distance(cube, mask, cells, modelled.total, codes, len(rows)) for mask, cells in made.items()]
    return RowsCheck(
        len(rows),
        (rows.about["receipt"], rows.about.get("earlier", [])) == (str(cube.origin.receipt), list(cube.origin.earlier)),
        tuple(sorted(distances, key=lambda one: -one.from_model)),
    )


def _distance(
    cube: Cube, mask: int, modelled: Cells, total: float, codes: dict[str, NDArray[np.int64]], rows: int
) -> Distance:
    lattice = cube.plan.lattice
    names = tuple(cube.dimensions[axis].name for axis in lattice.axes(mask))
    places = np.ravel_multi_index([codes[name] for name in names], lattice.shape(mask))
    counted = np.bincount(places, minlength=lattice.cells(mask)).reshape(lattice.shape(mask)) / rows
    shares = modelled / total if total > 0 else np.zeros_like(modelled)
    held = any(not mask & ~published for published in cube.plan.published)
    return Distance(
        names,
        any(not mask & ~source for source in cube.plan.source_masks),
        float(np.abs(counted - shares).sum() / 2),
        _from_released(counted, cube.least_squares.cells_of(mask)) if held else None,
        float(np.abs(counted - shares).max() * rows),
    )


def _from_released(counted: Cells, released: Cells) -> float | None:
    above = np.maximum(released, 0.0)
    whole = above.sum()
    return float(np.abs(counted - above / whole).sum() / 2) if whole > 0 else None
