"""The cells of a wide cube as rows: by their cuboid and its values, not with a column for each of very many dimensions.

`value1` is a label of the cuboid's first dimension, `value2` of its second, and so on; null where it has no such one.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.query.lattice import Lattice

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

Numbers = NDArray[Any]

OWN = 3
"""Columns beside the values: the cuboid, the count or sum, and its variance."""


def value_columns(lattice: Lattice, masks: Mapping[int, Any]) -> list[str]:
    """A column for each dimension that a cuboid of these may have."""
    most = max(len(lattice.axes(mask)) for mask in masks)
    return [f"value{place + 1}" for place in range(most)]


def wide_schema(values: list[str], measure: str, kind: np.dtype[Any]) -> pa.Schema:
    words = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            pa.field("cuboid", words),
            *(pa.field(name, words) for name in values),
            pa.field(measure, pa.from_numpy_dtype(kind)),
            pa.field("variance", pa.float64()),
        ]
    )


def wide_groups(
    cube: "Cube", cuboids: Mapping[int, Numbers], variances: Mapping[int, float], schema: pa.Schema, rows: int
) -> Iterator[pa.Table]:
    """Row groups of about so many rows, each with the names of its own cuboids alone."""
    labels = sorted({label for dimension in cube.dimensions for label in dimension.labels})
    place_of = {label: place for place, label in enumerate(labels)}
    codes = [np.array([place_of[label] for label in d.labels], np.int32) for d in cube.dimensions]
    words = pa.array(labels, pa.string())
    for group in _together(cuboids, rows):
        sizes = [cuboids[mask].size for mask in group]
        names = [",".join(map(str, cube.plan.lattice.names_of(mask))) for mask in group]
        places = np.repeat(np.arange(len(group), dtype=np.int32), sizes)
        yield pa.Table.from_arrays(
            [
                pa.DictionaryArray.from_arrays(pa.array(places), pa.array(names, pa.string())),
                *(
                    pa.DictionaryArray.from_arrays(pa.array(column, mask=column < 0), words)
                    for column in _values(cube.plan.lattice, group, codes, len(schema) - OWN)
                ),
                pa.array(np.concatenate([cuboids[mask].reshape(-1) for mask in group])),
                pa.array(np.repeat([variances[mask] for mask in group], sizes)),
            ],
            schema=schema,
        )


def _together(cuboids: Mapping[int, Numbers], rows: int) -> Iterator[list[int]]:
    group: list[int] = []
    gathered = 0
    for mask, cells in cuboids.items():
        group.append(mask)
        gathered += cells.size
        if gathered >= rows:
            yield group
            group, gathered = [], 0
    if group:
        yield group


def _values(lattice: Lattice, group: list[int], codes: list[NDArray[np.int32]], columns: int) -> list[Numbers]:
    """The labels' places, a column for each dimension that a cuboid may have; −1 where it has none."""
    parts: list[list[Numbers]] = [[] for _ in range(columns)]
    for mask in group:
        axes, index = lattice.axes(mask), _index(lattice.shape(mask))
        for place, part in enumerate(parts):
            here = codes[axes[place]][index[place]] if place < len(axes) else np.full(lattice.cells(mask), -1, np.int32)
            part.append(here)
    return [np.concatenate(part) for part in parts]


@lru_cache(maxsize=64)
def _index(shape: tuple[int, ...]) -> list[Numbers]:
    """The index of every cell, in row-major order, along each axis."""
    return [index.reshape(-1) for index in np.indices(shape, np.int32)]
