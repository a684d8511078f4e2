"""An answer as a table for other libraries, and as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.domain.attribute import MISSING
from discreet.errors import PictureError
from discreet.sql.question import NULL

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.answer.view import AnswerView, LabelKind, R, ShownColumns


def arrow_of(answer: "AnswerView[R]") -> "pa.Table":
    """A line for each group, its columns as they were asked for: labels as what they are, each aggregate with its low
    and high; and where that comes from."""
    import pyarrow as pa  # takes long to import, and asking needs it not

    shown = answer.in_columns
    if shown is not None:
        return _of_columns(answer, shown)
    lines = answer.lines
    columns: dict[str, pa.Array] = {}
    for name in answer.in_order:
        if name in answer.by:
            place = answer.by.index(name)
            columns[name] = label_array([labels[place] for labels, _ in lines], _kind_of_label(answer, place))
            continue
        mine = [rows[answer.columns.index(name)] for _, rows in lines]
        for end, numbers in (
            ("", [row.value for row in mine]),
            ("_low", [row.low for row in mine]),
            ("_high", [row.high for row in mine]),
        ):
            columns[f"{name}{end}"] = pa.array(numbers, pa.float64())
    kinds, regions = zip(*(answer.origins(rows) for _, rows in lines), strict=True) if lines else ((), ())
    how, answered_for = answer.origin_names
    return pa.table({**columns, how: pa.array(kinds, pa.string()), answered_for: pa.array(regions, pa.string())})


def _kind_of_label(answer: "AnswerView[R]", place: int) -> "LabelKind":
    return answer.label_kinds[place] if answer.label_kinds else "text"


def label_array(labels: Sequence[str | None], kind: "LabelKind") -> "pa.Array":
    """Labels as an Arrow array of their kind, what is missing as null; as texts where one of them is none of it, as
    "(other)" or the name of a code."""
    import pyarrow as pa  # takes long to import, and asking needs it not

    types = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64(), "date": pa.date32()}
    if kind == "text":
        return pa.array(labels, pa.string())
    try:
        known = pa.array([None if label == MISSING else label for label in labels], pa.string())
        return known.cast(types[kind])
    except pa.ArrowInvalid:
        return pa.array(labels, pa.string())


def _of_columns(answer: "AnswerView[R]", shown: "ShownColumns") -> "pa.Table":
    """The same of rows that are kept in columns."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for name in answer.in_order:
        if name in answer.by:
            place = answer.by.index(name)
            columns[name] = label_array(shown.labels[place], _kind_of_label(answer, place))
            continue
        own = shown.numbers[name]
        for end, numbers in (("", own.values), ("_low", own.low), ("_high", own.high)):
            columns[f"{name}{end}"] = pa.array(numbers, pa.float64())
    kind, answered_for = answer.origin_names
    origins = {kind: pa.array(shown.kinds, pa.string()), answered_for: pa.array([""] * len(shown.kinds), pa.string())}
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
