"""A domain to fill in: names, types and what the table's own description declares, never a value that a row has."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import pyarrow as pa

from discreet.domain.attribute import Kind
from discreet.domain.date import Period, begins
from discreet.domain.read import NAME
from discreet.domain.write import attribute_lines, key_text, quoted, value_text
from discreet.errors import DomainError
from discreet.table.coding import stored_type, type_in_words
from discreet.table.declared import Allowed, Declared, RangeEnd
from discreet.table.open import open_source
from discreet.table.source import Source

LONGEST_TITLE = 200
TRUTHS = Allowed(("false", "true"))
BY_TYPE = "true or false, by its type"
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Wishes:
    """What a draft is to have besides: attributes of another domain by name, a source for all that have none, some
    columns only, and where an editor finds the schema of domains."""

    reuse: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = ""
    only: Collection[str] = ()
    schema: str = ""


def propose(table: object, name: str | None = None, wishes: Wishes | None = None) -> str:
    """TOML with a table for each column. What nothing declares is left to the custodian."""
    wishes = wishes or Wishes()
    name = _name_of(table) if name is None else name
    if not NAME.fullmatch(name):
        raise DomainError("a table's name in SQL has letters, digits and _, and does not begin with a digit")
    source = open_source(table)
    for column in wishes.only:
        source.require(column)
    lines = [*heading(wishes), f'name = "{name}"']
    for block in blocks(source, wishes):
        lines += ["", *block]
    return "\n".join(lines) + "\n"


def heading(wishes: Wishes) -> list[str]:
    """What stands above every draft."""
    return [
        *([f"#:schema {wishes.schema}"] if wishes.schema else []),
        "# Fill in what is missing from public documents, never from the data: values read off the data leak it.",
        "# A column that nobody needs to ask about is best left out.",
    ]


def blocks(
    source: Source, wishes: Wishes, below: tuple[str, ...] = (), without: Mapping[str, str] = NOTHING
) -> list[list[str]]:
    """The lines for each column of a table, of several tables the one that they are `below`; `without` has columns that
    are no attributes of it, and why."""
    declared = source.declared()
    wanted = [column for column in source.columns if not wishes.only or column in wishes.only]
    found = []
    for column in wanted:
        said = declared.get(column, Declared())
        if column in without:
            found.append([f"# {key_text(column)} {without[column]}"])
        elif column in wishes.reuse:
            found.append(list(attribute_lines(column, wishes.reuse[column], below)))
        elif said.key and column not in wishes.only:
            found.append([f"# {key_text(column)} is the key of the table: an id is no attribute, see init --id"])
        else:
            found.append(_blank(column, stored_type(source.columns[column]), said, wishes.source, below))
    if not wishes.only:
        found += [[f"# {key_text(column)} is {why}"] for column, why in source.unread.items()]
    return found


def _blank(column: str, kind: pa.DataType, said: Declared, source: str, below: tuple[str, ...]) -> list[str]:
    proposal, limits = _coded(kind, said)
    lines = [f"[{'.'.join(map(key_text, (*below, 'attributes', column)))}]"]
    if title := _one_line(said.title):
        lines.append(f"# {title}")
    words = _one_line(said.words) or type_in_words(kind)
    lines.append(f'kind = "{proposal}"  # the column is {words}; integer | category | bins | date')
    filled, values = _values(proposal, limits, said)
    lines += values
    if said.null:
        lines.append("null = true")
    if source or limits is TRUTHS:
        return [*lines, f"source = {quoted(source or BY_TYPE)}"]
    return [
        *lines,
        f"source = {quoted(said.by)}  # is that public?" if filled and said.by else 'source = ""  # required',
    ]


def _coded(kind: pa.DataType, said: Declared) -> tuple[Kind, Allowed]:
    """The kind that suits a column, and its limits. A list is a category, unless it is whole numbers in a row."""
    proposal = said.kind or _kind_of(kind)
    limits = said.limits
    if limits.values is None:
        return proposal, TRUTHS if pa.types.is_boolean(kind) else limits
    if proposal == "integer" and limits.values and all(re.fullmatch("-?[0-9]{1,15}", text) for text in limits.values):
        numbers = sorted(map(int, limits.values))
        if numbers == list(range(numbers[0], numbers[-1] + 1)):
            return "integer", Allowed(low=RangeEnd(Decimal(numbers[0])), high=RangeEnd(Decimal(numbers[-1])))
    return "category", limits


def _kind_of(kind: pa.DataType) -> Kind:
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "bins"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    return "category"


def _values(kind: Kind, limits: Allowed, said: Declared) -> tuple[bool, list[str]]:
    """The lines that say which values there are, and whether nothing is left to say."""
    match kind:
        case "category" if said.book:
            listed = f"{{file = {quoted(said.book)}, list = {quoted(said.book_list)}}}"
            return True, [f"values_from = {listed if said.book_list else quoted(said.book)}"]
        case "category" if limits.values:
            truths = [value == "true" for value in limits.values] if set(limits.values) <= {"true", "false"} else None
            lines = [f"values = {value_text(truths or limits.values)}"]
            return True, [*lines, f"booleans = {quoted(said.booleans)}"] if said.booleans and truths else lines
        case "category":
            return False, ["values = []  # in order; or a hierarchy"]
        case "integer":
            low, high = _whole(limits.low, 1), _whole(limits.high, -1)
            known = low is not None and high is not None
            outside = [] if known else ['outside = "drop"  # drop | clamp | other']
            return known, [_line("low", low), _line("high", high), *outside]
        case "date":
            return _period(limits)
        case "bins":
            return _edges(limits)


def _line(key: str, value: object) -> str:
    return f"# {key} =" if value is None else f"{key} = {value_text(value)}"


def _whole(bound: RangeEnd | None, inward: int) -> int | None:
    """The first whole number from an end of a range on."""
    if bound is None or isinstance(bound.value, date):
        return None
    whole = int(bound.value.to_integral_value("ROUND_CEILING" if inward > 0 else "ROUND_FLOOR"))
    return whole + inward if whole == bound.value and not bound.included else whole


def _day(bound: RangeEnd | None, inward: int) -> date | None:
    if bound is None or not isinstance(bound.value, date):
        return None
    return bound.value if bound.included else bound.value + timedelta(inward)


def _period(limits: Allowed) -> tuple[bool, list[str]]:
    low, high = _day(limits.low, 1), _day(limits.high, -1)
    suits = [
        period
        for period in get_args(Period)
        if period != "week" and (low is None or begins(low, period)) and _ends(high, period)
    ]
    return low is not None and high is not None, [
        "# low = 2020-01-01  # the first day of a period" if low is None else _line("low", low),
        "# high = 2029-12-31  # the last day of one" if high is None else _line("high", high),
        f'period = "{"month" if "month" in suits else suits[-1]}"  # day | week | month | quarter | year',
    ]


def _ends(day: date | None, period: Period) -> bool:
    return day is None or day == date.max or begins(day + timedelta(1), period)


def _edges(limits: Allowed) -> tuple[bool, list[str]]:
    low, high = limits.low, limits.high
    grain = "# grain = 1  # the unit to round to, for SUM and AVG"
    if low is None or high is None or isinstance(low.value, date) or isinstance(high.value, date):
        ends = [f"from {low.value}" if low else "", f"to {high.value}" if high else ""]
        declared = "; declared " + " ".join(filter(None, ends)) if any(ends) else ""
        return False, [f"edges = []  # half-open [a, b); -inf or inf at an end opens it{declared}", grain]
    top = ['outside = "clamp"  # so that the top edge itself is in the last bin'] if high.included else []
    return True, [f"edges = {value_text([low.value, high.value])}  # divide it into the bins to ask by", *top, grain]


def _one_line(text: str) -> str:
    """A text as a comment can have it."""
    shown = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return shown if len(shown) <= LONGEST_TITLE else shown[: LONGEST_TITLE - 1] + "…"


def _name_of(table: object) -> str:
    path = str(table).partition("?")[0] if isinstance(table, str | Path) else "people"
    stem = re.sub(r"\W", "_", Path(path).name.partition(".")[0], flags=re.ASCII)
    return stem if stem[:1].isalpha() else f"t_{stem}"
