"""The noisy numbers that a public half makes as they are shown: cut to what they may be, without rounding errors."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import ROUNDED
from discreet.sql.ranges import Range

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]


def without_rounding(table: "pa.Table", name: str, added: Floats | float) -> "pa.Table":
    """The table with what is all but whole in a column as whole numbers: thirds of counts add up to 4749.999999999."""
    import pyarrow as pa

    column = table.column(name)
    if not pa.types.is_float64(column.type):
        return table
    values = column.to_numpy()
    nearest = np.rint(values)
    with np.errstate(invalid="ignore"):
        is_rounding = (nearest != values) & (np.abs(values - nearest) <= ROUNDED * np.fmax(np.abs(values), added))
    if not is_rounding.any():
        return table
    whole = pa.array(np.where(is_rounding, nearest, values), mask=column.is_null().to_numpy())
    return table.set_column(table.schema.get_field_index(name), name, whole)


def within(table: "pa.Table", name: str, own: Range) -> "pa.Table":
    """The table with the numbers of a column cut to what they lie between: noise makes 103% of a part of a whole."""
    import pyarrow as pa  # takes long to import, and a client is quick
    import pyarrow.compute as pc

    column = table.column(name)
    if own.is_open or not pa.types.is_floating(column.type):
        return table
    cut = column
    for end, to in ((own.low, pc.max_element_wise), (own.high, pc.min_element_wise)):
        if math.isfinite(end):
            cut = to(cut, pa.scalar(end, column.type), skip_nulls=False)
    return table.set_column(table.schema.get_field_index(name), name, cut)
