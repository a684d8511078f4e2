"""An answer as a table for other libraries, and as a picture."""

from typing import TYPE_CHECKING

from discreet.errors import PictureError
from discreet.sql.question import NULL

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.answer.view import AnswerView, R, ShownColumns


def arrow_of(answer: "AnswerView[R]") -> "pa.Table":
    """A line for each group: its labels, each aggregate with its low and high, and where that comes from."""
    import pyarrow as pa  # takes long to import, and asking needs it not

    shown = answer.in_columns
    if shown is not None:
        return _of_columns(answer, shown)
    lines = answer.lines
    columns: dict[str, pa.Array] = {
        name: pa.array([labels[place] for labels, _ in lines], pa.string()) for place, name in enumerate(answer.by)
    }
    for place, name in enumerate(answer.columns):
        mine = [rows[place] for _, rows in lines]
        for end, numbers in (
            ("", [row.value for row in mine]),
            ("_low", [row.low for row in mine]),
            ("_high", [row.high for row in mine]),
        ):
            columns[f"{name}{end}"] = pa.array(numbers, pa.float64())
    kinds, regions = zip(*(answer.origins(rows) for _, rows in lines), strict=True) if lines else ((), ())
    kind, answered_for = answer.origin_names
    return pa.table({**columns, kind: pa.array(kinds, pa.string()), answered_for: pa.array(regions, pa.string())})


def _of_columns(answer: "AnswerView[R]", shown: "ShownColumns") -> "pa.Table":
    """The same of rows that are kept in columns."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {
        name: pa.array(labels, pa.string()) for name, labels in zip(answer.by, shown.labels, strict=True)
    }
    for name in answer.columns:
        own = shown.numbers[name]
        for end, numbers in (("", own.values), ("_low", own.low), ("_high", own.high)):
            columns[f"{name}{end}"] = pa.array(numbers, pa.float64())
    count = len(next(iter(shown.numbers.values())).values)
    kind, answered_for = answer.origin_names
    origins = {kind: pa.array([shown.kinds] * count, pa.string()), answered_for: pa.array([""] * count, pa.string())}
    return pa.table({**columns, **origins})


def picture_of(answer: "AnswerView[R]", column: str | None = None) -> "Figure":
    """Lying bars of one aggregate, a group each, with its interval; a line where bars would be too many."""
    from discreet.picture.intervals import interval_picture  # matplotlib takes longer to import than all the rest

    name = answer.columns[0] if column is None else column
    if name not in answer.columns:
        raise PictureError(f"this answer has no column {name}; it has {', '.join(answer.columns)}")
    rows = [row for row in answer.rows if row.column == name and row.value is not None]
    if not rows:
        raise PictureError(f"no group of this answer has a number for {name}")
    ends = [(row.low, row.value, row.high) for row in rows]
    labels = [
        (", ".join(NULL if label is None else label for label in row.texts) or name)
        + (" (another region)" if row.is_near else "")
        for row in rows
    ]
    note = f"{float(answer.confidence):.0%} intervals; {answer.kind}"
    return interval_picture(labels, ends, ", ".join(answer.by), name, answer.text, note)
