"""The spend map for domains of any size: the histogram of the relaxation paper, kept as a tree.

The domain is parted into at most θ boxes, the buckets, each with an upper bound on the spend of its points: the sum of
all charges that meet it. A bucket without room for another charge like the last one is split, so that its parts count
only the charges that meet them. [relaxation, Section 3.2, Figures 2 and 4]

Beyond the paper: charges have amounts of their own; a charge may be many disjoint boxes, and counts once where several
of them meet one bucket; and a bucket is split until its parts have room or are known exactly, not once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger import bucket_tree
from discreet.ledger.boxes import Ints, corners, layers, meeting_units, units_of
from discreet.ledger.bucket_tree import Tree
from discreet.ledger.spend import MAX_UNITS, Cost, Refusal

MOST_BUCKETS = 100_000
"""θ, where nothing else is said: beyond it the paper saw no gain."""

MOST_PAGES = 2**21
"""When notes of charges that cross buckets fill so many pages (128 MiB), splitting ends as if θ were reached."""

KEPT = ("state", "nodes", "notes", "first", "lows", "highs", "units")
"""What a tree is besides its domain's shape."""

Whole = TypeVar("Whole", np.int32, np.int64)
CutRule = Literal["larger", "sum"]


class BucketedSpend:
    """A SpendMap that never undercounts, in bounded memory. `cut_by="sum"` chooses cuts as the paper does."""

    def __init__(
        self, domain: Domain, limit: int, most_buckets: int = MOST_BUCKETS, cut_by: CutRule = "larger"
    ) -> None:
        self.limit = limit
        self._whole = domain.everything.boxes[0]
        self._everywhere = 0
        self._charges = 0
        self._tree = _one_bucket(domain.shape, most_buckets, cut_by)

    @property
    def spent_max(self) -> int:
        return self._everywhere + self._regional_max

    @property
    def overdrawn(self) -> bool:
        return self.spent_max > self.limit

    @property
    def buckets(self) -> Iterator[tuple[Box, int]]:
        """Each bucket with its counter: no point of it has more units spent."""
        for node in range(self._tree.state[bucket_tree.NODES]):
            if self._tree.nodes[node, bucket_tree.LEFT] == 0:
                yield self._box(node), self._everywhere + self._counter(node)

    def left(self, region: Region) -> int:
        if not region:
            return self.limit
        lows, highs = corners(self._tree.shape, [(box, 0) for box in region.boxes])
        most = -1
        for low, high in zip(lows, highs, strict=True):
            most, _ = bucket_tree.fullest.sized(self._steps)(self._tree, low, high, most)
        return max(self.limit - self._everywhere - int(most), 0)

    def refusal(self, cost: Cost) -> Refusal | None:
        pieces = [piece for piece in cost.regional if piece[1]]
        lows, highs = corners(self._tree.shape, pieces)
        room = self.limit - self._everywhere - cost.everywhere
        if cost.everywhere and self._regional_max > room:
            return self._refused(self._whole, cost.everywhere)
        if not pieces or self._regional_max + sum(units for _, units in pieces) <= room:
            return None
        largest, units = max(pieces, key=lambda piece: piece[1])
        if units > room:
            return self._refused(largest, cost.everywhere + units)
        steps = len(pieces) ** 2 * self._tree.shape.size
        layer = layers.sized(steps)(lows, highs)
        meeting = meeting_units.sized(steps)(lows, highs, units_of(pieces), layer, 2 * MAX_UNITS)
        for i, needed in enumerate(meeting.tolist()):
            _, found = bucket_tree.fullest.sized(self._steps)(self._tree, lows[i], highs[i], room - needed)
            if found >= 0:
                return self._refused(pieces[i][0], cost.everywhere + needed)
        return None

    def _refused(self, piece: Box, needed: int) -> Refusal:
        lows, highs = corners(self._tree.shape, [(piece, 0)])
        counter, bucket = bucket_tree.fullest.sized(self._steps)(self._tree, lows[0], highs[0], -1)
        where = self._box(bucket).intersect(piece)
        assert where is not None, "the fullest bucket of a box meets it"
        return Refusal(max(self.limit - self._everywhere - int(counter), 0), needed, where)

    def add(self, cost: Cost) -> None:
        """Count a cost layer by layer of disjoint boxes, then split what has no room for such a charge again."""
        lows, highs = corners(self._tree.shape, cost.regional)
        # By units, the most first: where boxes of a layer meet one bucket, it counts the first.
        order = sorted(range(len(cost.regional)), key=lambda i: -cost.regional[i][1])
        lows, highs, units = lows[order], highs[order], units_of(cost.regional)[order]
        layer = layers.sized(len(units) ** 2 * self._tree.shape.size)(lows, highs)
        tops = [int(units[layer == number].max()) for number in range(layer.max(initial=-1) + 1)]
        if self._regional_max + sum(tops) > 2 * MAX_UNITS:
            raise OverflowError("more was spent than any limit allows")
        self._everywhere += cost.everywhere
        for number in range(layer.max(initial=-1) + 1):
            self._count(lows[layer == number], highs[layer == number], units[layer == number])
        room = self.limit - self._everywhere - cost.everywhere
        if cost.everywhere:
            self._split(np.zeros_like(self._tree.shape), self._tree.shape - 1, room)
        for low, high, amount in zip(lows, highs, units.tolist(), strict=True):
            self._split(low, high, room - amount)

    def replay(self, costs: Iterable[Cost]) -> None:
        for cost in costs:
            self.add(cost)

    def left_by(self, axes: Sequence[int]) -> Ints:
        chosen = np.array(axes, dtype=np.int64)
        most = np.zeros(self._tree.shape[chosen], dtype=np.int64)
        bucket_tree.project.sized(most.size * self._tree.state[bucket_tree.BUCKETS])(
            self._tree, chosen, most.reshape(-1)
        )
        return np.maximum(self.limit - self._everywhere - most, 0)

    def stated(self) -> dict[str, Any]:
        # With the room that arrays have besides: it says when splitting ends. The stack is as long as there are nodes.
        arrays = {name: getattr(self._tree, name) for name in KEPT}
        return {"everywhere": self._everywhere, "charges": self._charges, "tree": arrays}

    def restore(self, stated: Mapping[str, Any]) -> None:
        tree = self._tree._replace(**{name: np.asarray(stated["tree"][name]) for name in KEPT})
        for name in KEPT:
            mine, other = getattr(self._tree, name), getattr(tree, name)
            if mine.dtype != other.dtype or mine.shape[1:] != other.shape[1:]:
                raise ValueError("a map of another domain")
        self._tree = tree._replace(stack=np.zeros((len(tree.nodes), 4), dtype=np.int64))
        self._everywhere, self._charges = int(stated["everywhere"]), int(stated["charges"])

    @property
    def _steps(self) -> int:
        """The work of passing once over all nodes."""
        return int(self._tree.state[bucket_tree.NODES]) * self._tree.shape.size

    @property
    def _regional_max(self) -> int:
        return int(self._tree.nodes[0, bucket_tree.FULLEST])

    def _counter(self, bucket: int) -> int:
        above = bucket_tree.covers_above.sized(self._steps)(self._tree, bucket)
        return int(above + self._tree.nodes[bucket, bucket_tree.FULLEST])

    def _box(self, bucket: int) -> Box:
        low, high = bucket_tree.box_of.sized(self._steps)(self._tree, bucket)
        return Box(tuple(low.tolist()), tuple(high.tolist()))

    def _count(self, lows: Ints, highs: Ints, units: Ints) -> None:
        """Count disjoint boxes as one charge, and keep them as long as a bucket may be split."""
        if not self._settled and self._enlarge_notes(self._tree.state[bucket_tree.BUCKETS]):
            self._keep(lows, highs, units)
        bucket_tree.count.sized(self._steps * len(units))(self._tree, self._charges, lows, highs, units)
        self._charges += 1

    def _keep(self, lows: Ints, highs: Ints, units: Ints) -> None:
        tree = self._tree
        start = tree.first[self._charges]
        stop = start + len(units)
        tree = tree._replace(
            first=_roomy(tree.first, self._charges + 2),
            lows=_roomy(tree.lows, stop),
            highs=_roomy(tree.highs, stop),
            units=_roomy(tree.units, stop),
        )
        tree.first[self._charges + 1] = stop
        tree.lows[start:stop], tree.highs[start:stop], tree.units[start:stop] = lows, highs, units
        self._tree = tree

    def _split(self, low: Ints, high: Ints, room: int) -> None:
        split = bucket_tree.split_full.sized(self._steps * (self._charges + 1))
        while (wanting := split(self._tree, low, high, room)) != bucket_tree.NOTHING:
            if wanting == bucket_tree.NODES_WANTING:
                tree, twice = self._tree, 2 * len(self._tree.nodes)
                self._tree = tree._replace(nodes=_roomy(tree.nodes, twice), stack=_roomy(tree.stack, twice))
            elif not self._enlarge_notes(len(self._tree.notes)):
                return
        if self._settled:
            self._settle()

    def _enlarge_notes(self, pages: int) -> bool:
        """Make room for more pages of notes; False where that is too much, and splitting has come to its end."""
        wanted = self._tree.state[bucket_tree.PAGES] + pages
        if wanted > MOST_PAGES:
            self._settle()
            return False
        self._tree = self._tree._replace(notes=_roomy(self._tree.notes, wanted))
        return True

    @property
    def _settled(self) -> bool:
        """Whether no bucket will be split any more."""
        return bool(self._tree.state[bucket_tree.BUCKETS] >= self._tree.state[bucket_tree.MOST_BUCKETS])

    def _settle(self) -> None:
        """Keep the buckets as they are, and forget what only splitting needs."""
        tree = self._tree
        tree.state[bucket_tree.MOST_BUCKETS] = tree.state[bucket_tree.BUCKETS]
        tree.nodes[:, bucket_tree.SPLITTABLE] = bucket_tree.NONE
        tree.nodes[:, bucket_tree.NOTES], tree.nodes[:, bucket_tree.NOTED] = -1, 0
        nothing = np.zeros((0, len(tree.shape)), dtype=np.int64)
        self._tree = tree._replace(
            notes=np.zeros((0, bucket_tree.PAGE + 1), dtype=np.int32), lows=nothing, highs=nothing, units=nothing[:, 0]
        )


def _one_bucket(shape: tuple[int, ...], most_buckets: int, cut_by: CutRule) -> Tree:
    nodes = np.zeros((64, bucket_tree.COLUMNS), dtype=np.int64)
    nodes[0, [bucket_tree.NOTES, bucket_tree.LAST]] = -1
    nodes[0, bucket_tree.SPLITTABLE] = bucket_tree.NONE
    return Tree(
        shape=np.array(shape, dtype=np.int64),
        state=np.array([1, 1, most_buckets, 0, -1, cut_by == "sum"], dtype=np.int64),
        nodes=nodes,
        notes=np.zeros((64, bucket_tree.PAGE + 1), dtype=np.int32),
        first=np.zeros(64, dtype=np.int64),
        lows=np.zeros((64, len(shape)), dtype=np.int64),
        highs=np.zeros((64, len(shape)), dtype=np.int64),
        units=np.zeros(64, dtype=np.int64),
        stack=np.zeros((64, 4), dtype=np.int64),
    )


def _roomy(array: NDArray[Whole], rows: int) -> NDArray[Whole]:
    """An array with at least so many rows: the same one, or a copy of twice its size or more."""
    if rows <= len(array):
        return array
    longer = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
