"""The lattice of cuboids: every set of dimensions, as a bit mask, and which of them to publish. [cubes, Section 2.1.1]

Bit i of a mask is dimension i. Mask A is an ancestor of mask B, A ⪯ B, where A's dimensions are among B's: A's cells
are sums of B's. An array over all masks is indexed by them, so that dimension i is the axis of stride 2^i.
"""

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import DomainError, UnsupportedQuery

Label = str | int
"""What a dimension is called: its attribute's name, or its index where there are only sizes."""

Cuboids = Literal["all"] | int | Iterable[Label | Iterable[Label]]
"""Which cuboids: all of them, those of at most so many dimensions, or a list, each with its dimensions."""

Weights = Mapping[tuple[Label, ...], float | ArrayLike]
"""How much a cuboid matters; or each of its cells, in an array with an axis for each of its dimensions."""

OTHERS = "others"
"""Every cuboid that is not named, where expected variances are given."""

MAX_DIMENSIONS = 20
"""With more dimensions than this, cuboids of a few of them are chosen: plans keep a few numbers for each cuboid."""
MAX_CUBOIDS = 1 << MAX_DIMENSIONS


@dataclass(frozen=True)
class Lattice:
    """Dimensions with their numbers of values; without names they go by their index. Raises DomainError."""

    sizes: tuple[int, ...]
    names: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        object.__setattr__(self, "names", tuple(self.names) or tuple(range(len(self.sizes))))
        if not self.sizes:
            raise DomainError("a cube needs at least one dimension")
        if len(self.names) != len(self.sizes):
            raise DomainError(f"there are {len(self.sizes)} sizes and {len(self.names)} names: one name a dimension")
        for name, size in zip(self.names, self.sizes, strict=True):
            if size < 2:
                raise DomainError(
                    f"dimension {name} has {size} value{'s' if size != 1 else ''}; it needs at least 2: leave it out"
                )
        repeated = sorted({str(name) for name, times in Counter(self.names).items() if times > 1})
        if repeated:
            raise DomainError(f"dimension {', '.join(repeated)} is named twice")

    @property
    def dimensions(self) -> int:
        return len(self.sizes)

    @property
    def base(self) -> int:
        """The cuboid of all dimensions."""
        return (1 << self.dimensions) - 1

    def axes(self, mask: int) -> tuple[int, ...]:
        axes = []
        while mask:
            axes.append((mask & -mask).bit_length() - 1)
            mask &= mask - 1
        return tuple(axes)

    def mask(self, *names: Label) -> int:
        """The cuboid with these dimensions, in any order; an unknown one raises with the near ones."""
        mask = 0
        for name in names:
            bit = 1 << self._axis(name)
            if mask & bit:
                raise UnsupportedQuery(f"dimension {name} is given twice in one cuboid")
            mask |= bit
        return mask

    @cached_property
    def _axes(self) -> dict[Label, int]:
        return {name: axis for axis, name in enumerate(self.names)}

    def _axis(self, name: Label) -> int:
        if name in self._axes:
            return self._axes[name]
        known = [str(known) for known in self.names]
        near = difflib.get_close_matches(str(name), known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
        raise UnsupportedQuery(f"the cube has no dimension {name!r}; {hint}")

    def names_of(self, mask: int) -> tuple[Label, ...]:
        return tuple(self.names[axis] for axis in self.axes(mask))

    def words(self, mask: int) -> str:
        """A cuboid as it is written on the command line: for messages."""
        return f"cuboid {','.join(map(str, self.names_of(mask))) or 'total'}"

    def shape(self, mask: int) -> tuple[int, ...]:
        """The shape of a cuboid: one axis for each of its dimensions."""
        return tuple(self.sizes[axis] for axis in self.axes(mask))

    def cells(self, mask: int) -> int:
        return math.prod(self.shape(mask))

    def magnification(self, ancestor: int, source: int) -> int:
        """mag(C, C'): how many cells of the source make one cell of its ancestor. [cubes, 3.1]"""
        if ancestor & ~source:
            raise UnsupportedQuery(f"{self.words(ancestor)} cannot be computed from {self.words(source)}")
        return self.cells(source & ~ancestor)

    def degree(self, mask: int) -> int:
        """deg(C): how many base cells make one cell of a cuboid. [cubes, 4.8]"""
        return self.magnification(mask, self.base)

    def ancestors(self, mask: int) -> Iterator[int]:
        """Every cuboid that can be computed from this one, itself first."""
        ancestor = mask
        while True:
            yield ancestor
            if not ancestor:
                return
            ancestor = (ancestor - 1) & mask

    @cached_property
    def cell_counts(self) -> NDArray[np.float64]:
        """The number of cells of every cuboid, indexed by its mask."""
        counts = np.ones(1)
        for size in self.sizes:
            counts = np.concatenate([counts, counts * size])
        return counts

    def choose(self, cuboids: Cuboids) -> tuple[int, ...]:
        """The masks to publish, in ascending order. Raises UnsupportedQuery where the choice is empty or repeats."""
        if cuboids == "all":
            if self.dimensions > MAX_DIMENSIONS:
                raise UnsupportedQuery(
                    f"a cube of {self.dimensions} dimensions has {2.0**self.dimensions:.1e} cuboids; choose those of a "
                    f"few dimensions each, such as 3, or a cube of at most {MAX_DIMENSIONS} dimensions"
                )
            return tuple(range(1 << self.dimensions))
        if isinstance(cuboids, int) and not isinstance(cuboids, bool):
            return self._up_to(cuboids)
        if isinstance(cuboids, str | bool):
            raise UnsupportedQuery(f"cuboids are 'all', a number of dimensions, or a list; not {cuboids!r}")
        masks: set[int] = set()
        for names in cuboids:
            mask = self.mask(*((names,) if isinstance(names, str | int) else names))
            if mask in masks:
                raise UnsupportedQuery(f"{self.words(mask)} is given twice")
            masks.add(mask)
        if not masks:
            raise UnsupportedQuery("no cuboid to publish: name at least one, or say 'all'")
        return tuple(sorted(masks))

    def _up_to(self, most: int) -> tuple[int, ...]:
        if not 0 <= most <= self.dimensions:
            raise UnsupportedQuery(f"cuboids of at most {most} dimensions; give a number from 0 to {self.dimensions}")
        counts = np.cumsum([float(math.comb(self.dimensions, count)) for count in range(most + 1)])
        if counts[-1] > MAX_CUBOIDS:
            fits = int(np.searchsorted(counts, MAX_CUBOIDS, side="right")) - 1
            raise UnsupportedQuery(
                f"there are {counts[-1]:,.0f} cuboids of at most {most} of {self.dimensions} dimensions; "
                f"choose those of at most {fits}, which are {counts[fits]:,.0f}"
            )
        axes = range(self.dimensions)
        return tuple(
            sorted(
                sum(1 << axis for axis in chosen) for count in range(most + 1) for chosen in combinations(axes, count)
            )
        )

    def weigh(
        self, published: Sequence[int], weights: Weights | None, of_cells: Literal["max", "sum"] = "max"
    ) -> tuple[float, ...]:
        """A weight for each published cuboid: 1 where none is given. Weights are finite and above 0.

        Where cells have weights, the cuboid's is their largest: the cells of a cuboid have one variance, so the largest
        w_a × variance is that of the heaviest. Or it is their sum: of all cells, the weight of those that are precise.
        """
        by_mask = {self.mask(*names): self._weight(names, given, of_cells) for names, given in (weights or {}).items()}
        unpublished = by_mask.keys() - published
        for mask in by_mask:
            if mask in unpublished:
                raise UnsupportedQuery(f"{self.words(mask)} has a weight, but is not published")
        return tuple(float(by_mask.get(mask, 1)) for mask in published)

    def _weight(self, names: tuple[Label, ...], given: float | ArrayLike, of_cells: Literal["max", "sum"]) -> float:
        words = self.words(self.mask(*names))
        try:
            cells = np.asarray(given, float)
        except (TypeError, ValueError):
            raise UnsupportedQuery(f"the weight of {words} is a number, or an array of them") from None
        shape = tuple(self.sizes[self._axis(name)] for name in names)
        if cells.ndim and cells.shape != shape:
            raise UnsupportedQuery(f"the weights of {words} have the shape {cells.shape}; its cells have {shape}")
        if not ((cells > 0) & (cells < math.inf)).all():
            raise UnsupportedQuery(f"the weight of {words} must be above 0 and finite")
        return float(cells.max() if of_cells == "max" else cells.sum())

    def expect(
        self, published: Sequence[int], expected: Mapping[tuple[Label, ...] | str, float] | None
    ) -> tuple[float, ...]:
        """The variance that is expected of each published cuboid: that of OTHERS where a cuboid has none of its own.

        1 for all where nothing is expected. Raises UnsupportedQuery unless each has one, finite and above 0.
        """
        if not expected:
            return (1.0,) * len(published)
        own = {names: variance for names, variance in expected.items() if names != OTHERS}
        by_mask = {self.mask(*names): variance for names, variance in own.items()}
        for mask, variance in by_mask.items():
            self._require_positive(variance, f"the variance expected of {self.words(mask)}")
        for mask in by_mask.keys() - published:
            raise UnsupportedQuery(f"{self.words(mask)} has an expected variance, but is not published")
        missing = next((mask for mask in published if mask not in by_mask), None)
        if missing is not None and OTHERS not in expected:
            raise UnsupportedQuery(
                f"{self.words(missing)} has no expected variance; each published cuboid needs one, "
                f"or all others together: {OTHERS}=100"
            )
        others = expected.get(OTHERS, 1.0)
        self._require_positive(others, "the variance expected of the others")
        return tuple(float(by_mask.get(mask, others)) for mask in published)

    def _require_positive(self, number: float, what: str) -> None:
        if not 0 < number < math.inf:
            raise UnsupportedQuery(f"{what} must be above 0 and finite")

    @property
    def cube_shape(self) -> tuple[int, ...]:
        """The one array that holds every cuboid: slot 0 of an axis is `*`, slots 1 … n are its values."""
        return tuple(size + 1 for size in self.sizes)

    @property
    def cube_bytes(self) -> int:
        """The size of that array in float64, known before anything is spent."""
        return 8 * math.prod(self.cube_shape)

    def cuboid_of(self, cube: NDArray[np.float64], mask: int) -> NDArray[np.float64]:
        """A cuboid as a view of the one array; the apex too is an array, without axes."""
        index = tuple(slice(1, None) if mask >> axis & 1 else 0 for axis in range(self.dimensions))
        return cube[(*index, ...)]
