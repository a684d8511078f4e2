"""SmartNoise SQL over a pandas frame. Its noise is OpenDP's, so drawing is not measured again."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import snsql
from numpy.typing import NDArray

from bench.peers.workload import Question, Reply, Table, in_order

PACKAGE = "smartnoise-sql"
BUDGET = "added up in memory, without a limit"
DELTA = 1e-9
"""Groups that are rare are left out, which takes a δ."""


def reader(table: Table, share: float) -> Any:
    columns = {
        name: {"type": "int", "lower": 0, "upper": size - 1}
        for name, size in zip(table.names, table.sizes, strict=True)
    }
    described = {"": {"": {"people": {"row_privacy": True, "rows": len(table.rows), **columns}}}}
    frame = pd.DataFrame({name: table.rows[:, at] for at, name in enumerate(table.names)})
    return snsql.from_df(frame, privacy=snsql.Privacy(epsilon=share, delta=DELTA), metadata=described)


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    sql = reader(table, epsilon / len(masks))

    def noisy(mask: int) -> NDArray[np.float64]:
        if not mask:
            return np.array(counted(sql, "SELECT COUNT(*) AS n FROM people").value)
        names = ", ".join(table.columns(mask))
        lines = sql.execute(f"SELECT {names}, COUNT(*) AS n FROM people GROUP BY {names}")[1:]
        found = np.array(lines, np.float64).reshape(len(lines), 1 + mask.bit_count())
        return in_order(table, mask, found[:, :-1].astype(np.int64), found[:, -1])

    return ((mask, noisy(mask)) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    sql = reader(table, epsilon / many)
    return lambda question: counted(sql, f"SELECT COUNT(*) AS n FROM people WHERE {question.where}")


def counted(sql: Any, statement: str) -> Reply:
    """A count that might be of few people is left out like any group, and there is no line for it."""
    lines = sql.execute(statement)[1:]
    return Reply(float(lines[0][0])) if lines else Reply(0.0, "without a line")
