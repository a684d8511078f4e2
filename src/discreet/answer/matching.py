"""Which lines of one table are which of another, by their labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]


def same_lines(result: "pa.Table", drawn: "pa.Table", labels: Sequence[str], draw: Ints) -> Ints:
    """For each line of `drawn`, the line of `result` with the same labels; −1 for none. Of several with the same labels
    the first of a draw is the first of the result, and so on: requires that both come in one order."""
    keys = _keys(result, drawn, labels)
    own, others = keys[: result.num_rows], keys[result.num_rows :]
    count = int(keys.max(initial=-1)) + 1
    number = _times_before(draw * count + others)
    order, size = np.argsort(own, kind="stable"), np.bincount(own, minlength=count)
    first = np.cumsum(size) - size
    is_there = number < size[others]
    found = np.full(drawn.num_rows, -1, np.int64)
    found[is_there] = order[first[others[is_there]] + number[is_there]]
    return found


def has_lines_apart(table: "pa.Table", labels: Sequence[str]) -> bool:
    """Whether no two lines have the same labels."""
    return bool(len(np.unique(_keys(table, table.slice(0, 0), labels))) == table.num_rows)


def _keys(one: "pa.Table", other: "pa.Table", labels: Sequence[str]) -> Ints:
    """A number for each line of both tables: the same for the same labels."""
    import pyarrow as pa

    keys = np.zeros(one.num_rows + other.num_rows, np.int64)
    for name in labels:
        both = pa.chunked_array([*one.column(name).chunks, *other.column(name).chunks], one.schema.field(name).type)
        codes = both.combine_chunks().dictionary_encode("encode").indices.to_numpy()
        together = keys * (int(codes.max(initial=0)) + 1) + codes
        keys = np.unique(together, return_inverse=True)[1].reshape(-1)
    return keys


def _times_before(keys: Ints) -> Ints:
    """How often each key was there before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else np.zeros(0, np.int64)
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.r_[starts, len(keys)]))
    return found
