"""From codes to values of a column, and back: what a synthetic row shows where the domain has a code.

Categories and whole numbers show their own values, and periods their first day, as the domain says that dates are
written: a vault over such rows has the same domain. A bin shows a number drawn evenly between its ends, on the
attribute's grain where it has one; an open bin is taken to be as wide as its neighbour, or 1 wide where it is alone. A
missing value is null. What lies outside the declared values is shown by something outside: the text `(other)`, the
whole number after the last, the number 1 above the last edge (or below the first, where the last is open).
"""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.attribute import OTHER, Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.model.rows import uniform
from discreet.noise.bits import Bits

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

RULE = (
    "a number in a bin is drawn evenly between the bin's ends; an open bin is taken to be as wide as its neighbour; "
    "a missing value is null"
)
DIGITS_OF_GRAIN = 9
"""A number on a grain is rounded to so many digits of it: 161 · 0.01 is 1.61, and not 1.6099999999999999."""


def column_of(attribute: Attribute, codes: Codes, bits: Bits) -> pa.Array:
    """The values of a column for these codes."""
    missing = codes == attribute.null_code if attribute.null_code is not None else np.zeros(codes.size, bool)
    match attribute:
        case Category():
            words = pa.array([*_written(attribute), _outside_text(attribute)], pa.string())
            places = pa.array(np.minimum(codes, attribute.cells), mask=missing)
            return words.take(places)
        case Integer():
            return pa.array(attribute.low + np.minimum(codes, attribute.cells), pa.int64(), mask=missing)
        case Bins():
            return pa.array(_in_bins(attribute, codes, uniform(codes.size, bits)), pa.float64(), mask=missing)
    raise AssertionError(attribute.kind)


def codes_of(attribute: Attribute, column: pa.ChunkedArray) -> Codes:
    """The codes of a column that was made here. Raises ValueError where a value has none."""
    missing = column.is_null().to_numpy()
    outside = -1 if attribute.other_code is None else attribute.other_code
    match attribute:
        case Category():
            known = {value: code for code, value in enumerate(_written(attribute))}
            codes = np.array([known.get(value, outside) for value in column.to_pylist()], np.int64)
        case Integer():
            values = column.fill_null(0).to_numpy().astype(np.int64)
            inside = (values >= attribute.low) & (values <= attribute.high)
            codes = np.where(inside, values - attribute.low, outside)
        case Bins():
            numbers = column.fill_null(0.0).to_numpy().astype(np.float64)
            places = np.searchsorted(_ends(attribute), numbers, side="right") - 1
            codes = np.where((places >= 0) & (places < attribute.cells), places, outside)
        case _:
            raise AssertionError(attribute.kind)
    codes[missing] = outside if attribute.null_code is None else attribute.null_code
    if codes.size and codes.min() < 0:
        raise ValueError(f"column {attribute.name} has a value that the domain does not declare")
    return codes


def _written(attribute: Category) -> Sequence[str]:
    if not isinstance(attribute, Date):
        return attribute.values
    return [attribute.written(code) for code in range(attribute.cells)]


def _outside_text(attribute: Category) -> str:
    text = OTHER
    while text in attribute.values:
        text += "_"
    return text


def _ends(attribute: Bins) -> Numbers:
    ends = [
        -np.inf if place == 0 else np.inf if edge is None else float(edge) for place, edge in enumerate(attribute.edges)
    ]
    if attribute.edges[0] is not None:
        ends[0] = float(attribute.edges[0])
    return np.array(ends)


def _in_bins(attribute: Bins, codes: Codes, shares: Numbers) -> Numbers:
    low, high = _closed(attribute)
    places = np.minimum(codes, attribute.cells - 1)
    drawn = low[places] + shares * (high - low)[places]
    if attribute.grain is not None:
        grain = float(attribute.grain)
        drawn = np.round(low[places] + np.floor((drawn - low[places]) / grain) * grain, _places(grain))
    # Rounding may reach the end of a bin, which is the next one's.
    drawn = np.minimum(drawn, np.nextafter(high[places], -np.inf))
    if attribute.other_code is not None:
        outside = high[-1] + 1 if attribute.edges[-1] is not None else low[0] - 1
        drawn[codes == attribute.other_code] = outside
    return drawn


def _places(grain: float) -> int:
    return DIGITS_OF_GRAIN - math.floor(math.log10(grain))


def _closed(attribute: Bins) -> tuple[Numbers, Numbers]:
    """The ends of every bin, open ones as wide as their neighbours."""
    edges = [None if edge is None else float(edge) for edge in attribute.edges]
    if edges[0] is None and edges[-1] is None and len(edges) == 2:
        edges = [0.0, 1.0]
    if edges[0] is None:
        edges[0] = edges[1] - (edges[2] - edges[1] if len(edges) > 2 and edges[2] is not None else 1.0)  # type: ignore[operator]
    if edges[-1] is None:
        edges[-1] = edges[-2] + (edges[-2] - edges[-3] if len(edges) > 2 and edges[-3] is not None else 1.0)  # type: ignore[operator]
    ends = np.array(edges, np.float64)
    return ends[:-1], ends[1:]
