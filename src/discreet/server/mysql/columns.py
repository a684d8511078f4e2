"""A domain's attributes as columns of MySQL: their types, and what an answer's labels become."""

from dataclasses import dataclass, replace
from typing import Any

from mysql_mimic import ColumnType, ResultColumn, ResultSet

from discreet.domain.attribute import Attribute, Bins, Category, Integer

Cell = str | int | float | None


@dataclass(frozen=True)
class ClientRows:
    """Rows for a client. `notes` is what SHOW WARNINGS tells of them: as warnings where numbers are not what was asked
    for, because too little budget or quota is left."""

    columns: tuple[ResultColumn, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    is_short: bool = False

    def at_most(self, rows: int) -> "ClientRows":
        """The same cut to so many rows."""
        return self if len(self.rows) <= rows else replace(self, rows=self.rows[:rows])

    def to_result(self) -> ResultSet:
        return ResultSet(list(self.rows), list(self.columns))


def text_column(name: str) -> ResultColumn:
    return ResultColumn(name, ColumnType.VAR_STRING)


def whole_column(name: str) -> ResultColumn:
    return ResultColumn(name, ColumnType.LONGLONG)


def number_column(name: str) -> ResultColumn:
    """A column of doubles. Whole ones are written without decimals: a count is read as 42, not as 42.0."""
    return ResultColumn(name, ColumnType.DOUBLE, text_encoder=_number_bytes, binary_encoder=None)


def _number_bytes(_: object, value: Any) -> bytes:
    number = float(value)
    return (str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)).encode()


def is_whole(attribute: Attribute) -> bool:
    """Whether every label is a whole number, or missing."""
    return isinstance(attribute, Integer) and attribute.outside != "other"


def label_column(name: str, attribute: Attribute) -> ResultColumn:
    """The column of a GROUP BY's labels."""
    return whole_column(name) if is_whole(attribute) else text_column(name)


def label_cell(attribute: Attribute, label: str | None) -> Cell:
    """A label as a cell: missing values are NULL, unless a declared value is written like them."""
    if label is None:
        return None
    declared = isinstance(attribute, Category) and attribute.code(label) is not None
    if attribute.null_code is not None and label == attribute.label(attribute.null_code) and not declared:
        return None
    return int(label) if is_whole(attribute) else label


def sample_column(name: str, attribute: Attribute) -> ResultColumn:
    """The column of a table's rows, had any been shown."""
    match attribute:
        case Integer():
            return whole_column(name)
        case Bins():
            return number_column(name)
    return text_column(name)


def type_name(attribute: Attribute) -> str:
    """Bins are numbers to a catalogue, so that tools offer sums and ranges of them."""
    match attribute:
        case Integer():
            return "bigint"
        case Bins():
            return "double"
    return f"varchar({max((len(label) for label in attribute.labels), default=1)})"


def comment(attribute: Attribute) -> str:
    """What is public about a column, in a line."""
    match attribute:
        case Integer():
            what = f"{attribute.low} to {attribute.high}"
        case Bins():
            what = f"in {attribute.cells} bins"
        case _:
            what = f"{attribute.cells} values"
    return f"{what}; {attribute.source}"
