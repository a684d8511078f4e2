"""Dates, coded to periods of a calendar: days, weeks, months, quarters or years between two days.

A moment belongs to the day that it is in a stated time zone; a date, or a time without a zone, to the day that it says.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from discreet.domain.attribute import Bins, Category, Kind

Period = Literal["day", "week", "month", "quarter", "year"]
Late = Literal["drop", "refuse"]
"""What becomes of appended rows of periods that are closed: they are left out, or the append is refused."""
EPOCH = date(1970, 1, 1).toordinal()
ISO = "YYYY-MM-DD"
TIME = (
    r"(?:[T ](?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
    r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?)?"
)
"""A time behind a date, of 24 hours or of 12 with AM and PM, which may say how far from UTC it is."""
FIELDS = {"YYYY": r"(?P<year>\d{4})", "MM": r"(?P<month>\d\d?)", "DD": r"(?P<day>\d\d?)"}


@dataclass(frozen=True, kw_only=True)
class Days(Bins):
    """The same periods as bins of days, for comparisons; values are written as dates."""

    grows: bool = False

    def value_text(self, value: Fraction) -> str:
        day = date.fromordinal(min(int(value), date.max.toordinal())).isoformat()
        time = str(datetime.min + timedelta(seconds=float(value % 1 * 86_400)))[11:]
        return f"'{day} {time}'" if value % 1 else f"'{day}'"


@dataclass(frozen=True, kw_only=True)
class Date(Category):
    """Periods from `low` to `high`, one code each; a value is the first day of its period."""

    kind: ClassVar[Kind] = "date"
    values: tuple[str, ...] = field(init=False)
    low: date
    high: date
    period: Period = "day"
    zone: str = "UTC"
    format: str = ISO
    """How text writes a date: YYYY, MM and DD with what stands between them."""
    grows: bool = False
    """Whether rows are appended period by period: `high` is as far as that can go."""
    late: Late = "drop"

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "values", tuple(start.isoformat() for start in periods(self.low, self.high, self.period))
        )
        super().__post_init__()

    @cached_property
    def days(self) -> Days:
        """The periods as bins of days, counted from 1 January of the year 1."""
        edges = tuple(Fraction(day + EPOCH) for day in self.edges_in_days)
        return Days(
            name=self.name, source=self.source, edges=edges, outside=self.outside, null=self.null, grows=self.grows
        )

    @cached_property
    def edges_in_days(self) -> tuple[int, ...]:
        """The first day of every period, and the day behind the last, counted from 1970."""
        starts = [date.fromisoformat(value).toordinal() for value in self.values]
        return tuple(day - EPOCH for day in (*starts, self.high.toordinal() + 1))

    @cached_property
    def edges_in_seconds(self) -> tuple[int, ...]:
        """The same as moments, in seconds from 1970: when those days begin in the zone."""
        return tuple(self.moment_of(day) for day in self.edges_in_days)

    def moment_of(self, day: int) -> int:
        """When a day, counted from 1970, begins in the zone: in seconds from 1970."""
        try:
            midnight = datetime.combine(date.fromordinal(day + EPOCH), datetime.min.time(), ZoneInfo(self.zone))
            return day * 86_400 - round((midnight.utcoffset() or timedelta()).total_seconds())
        except (OverflowError, ValueError):  # at the ends of the calendar
            return day * 86_400

    def code(self, value: str) -> int | None:
        """The code of the period that a day lies in, also by the period's name; None where there is none."""
        by_name = self.named_code(value)
        day = day_of(value, ISO) if by_name is None else None
        return by_name if day is None else self.code_of_day(day)

    def named_code(self, name: str) -> int | None:
        """The code of a period by what it is called, 2026-Q1 say."""
        return self._names.get(name)

    def until(self, last: int) -> "Date":
        """The same with the periods up to one of them: their codes are what they were."""
        return replace(self, high=date.fromordinal(self.edges_in_days[last + 1] - 1 + EPOCH))

    def code_of_day(self, day: int) -> int | None:
        place = bisect_right(self.edges_in_days, day) - 1
        return place if 0 <= place < self.cells else None

    @cached_property
    def _names(self) -> dict[str, int]:
        return {self._cell_label(code): code for code in range(self.cells)}

    def written(self, code: int) -> str:
        """The first day of a period as text writes dates here."""
        year, month, day = self.values[code].split("-")
        return self.format.replace("YYYY", year).replace("MM", month).replace("DD", day)

    def day_in(self, text: bytes) -> int | float | None:
        """The day, from 1970, that a text writes; None where it writes none. A moment with a distance from UTC is a
        number of seconds instead, as a float."""
        return _read_day(text, self._written)

    @cached_property
    def _written(self) -> re.Pattern[str]:
        return written_as(self.format)

    @cached_property
    def missing_days(self) -> tuple[int, ...]:
        """Those of the texts for missing values that are days."""
        found = (self.day_in(text.encode()) for text in self.notation.missing)
        return tuple(day for day in found if isinstance(day, int))

    def _cell_label(self, code: int) -> str:
        start = date.fromisoformat(self.values[code])
        match self.period:
            case "day":
                return self.values[code]
            case "week":
                year, week, _ = start.isocalendar()
                return f"{year:04d}-W{week:02d}"
            case "month":
                return self.values[code][:7]
            case "quarter":
                return f"{start.year:04d}-Q{(start.month + 2) // 3}"
            case "year":
                return self.values[code][:4]


def periods(low: date, high: date, period: Period) -> list[date]:
    """The first days of all periods from one that begins with `low` to one that ends with `high`."""
    if period in ("day", "week"):
        step = 1 if period == "day" else 7
        return [date.fromordinal(day) for day in range(low.toordinal(), high.toordinal() + 1, step)]
    months = {"month": 1, "quarter": 3, "year": 12}[period]
    first, last = low.year * 12 + low.month - 1, high.year * 12 + high.month - 1
    return [date(month // 12, month % 12 + 1, 1) for month in range(first, last + 1, months)]


NAMED = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)|-Q(?P<quarter>[1-4])|-W(?P<week>\d\d))?", re.ASCII)


def days_named(name: str) -> tuple[int, int] | None:
    """The first and the last day, from 1970, of a period by its name: 2026, 2026-Q1, 2026-01, 2026-W05."""
    found = NAMED.fullmatch(name)
    if found is None:
        return None
    year = int(found["year"])
    try:
        if found["week"]:
            monday = date.fromisocalendar(year, int(found["week"]), 1).toordinal() - EPOCH
            return monday, monday + 6
        month = int(found["month"] or 3 * int(found["quarter"] or 1) - 2)
        months = 1 if found["month"] else 3 if found["quarter"] else 12
        first, next_month = date(year, month, 1), date(year, month + months - 1, 28) + timedelta(days=4)
    except (ValueError, OverflowError):
        return None
    return first.toordinal() - EPOCH, next_month.replace(day=1).toordinal() - 1 - EPOCH


def begins(day: date, period: Period) -> bool:
    """Whether a period begins with a day. Weeks begin on Mondays."""
    match period:
        case "day":
            return True
        case "week":
            return day.weekday() == 0
        case "month":
            return day.day == 1
        case "quarter":
            return day.day == 1 and day.month % 3 == 1
        case "year":
            return (day.month, day.day) == (1, 1)


def written_as(form: str) -> re.Pattern[str]:
    """The pattern of a date's text; `form` has YYYY, MM and DD, each at most once, and other characters as they are."""
    parts = re.split("(YYYY|MM|DD)", form)
    return re.compile("".join(FIELDS.get(part, re.escape(part)) for part in parts) + TIME, re.ASCII)


def moment_of(text: str, zone: str) -> Fraction | None:
    """The moment, in days from 1970 and parts of one, that a text in ISO's form writes; one that says how far from UTC
    it is, as clocks in the zone show it."""
    read = _read_time(text.encode(), written_as(ISO))
    if read is None:
        return None
    seconds = read.day * 86_400 + read.seconds
    if read.away is not None:
        seconds -= read.away
        try:
            offset = ZoneInfo(zone).utcoffset(datetime.fromtimestamp(int(seconds), UTC))
        except (OverflowError, ValueError, OSError):  # at the ends of the calendar
            offset = None
        seconds += Fraction(round((offset or timedelta()).total_seconds()))
    return seconds / 86_400


def day_of(text: str, form: str) -> int | None:
    """The day, from 1970, that a text writes without a distance from UTC."""
    day = _read_day(text.encode(), written_as(form))
    return day if isinstance(day, int) else None


def _read_day(text: bytes, pattern: re.Pattern[str]) -> int | float | None:
    read = _read_time(text, pattern)
    if read is None or read.away is None:
        return None if read is None else read.day
    return float(read.day * 86_400 + int(read.seconds) - read.away)


@dataclass(frozen=True)
class _ReadTime:
    """What a text writes: a day from 1970, seconds of that day, and how many it is ahead of UTC, where it says so."""

    day: int
    seconds: Fraction
    away: int | None


def _read_time(text: bytes, pattern: re.Pattern[str]) -> _ReadTime | None:
    try:
        found = pattern.fullmatch(text.decode().strip(" ")) if len(text) < 100 else None
        if found is None:
            return None
        said = {key: value for key, value in found.groupdict().items() if value is not None}
        day = date(int(said["year"]), int(said.get("month", 1)), int(said.get("day", 1))).toordinal() - EPOCH
        if not _is_time(said):
            return None
    except (ValueError, OverflowError):
        return None
    if "hour" not in said:
        return _ReadTime(day, Fraction(0), None)
    whole = _hour(said) * 3600 + int(said["minute"]) * 60 + int(said.get("second", 0))
    away = said.get("zone", "").replace(":", "")
    offset = int(away[1:3]) * 3600 + int(away[3:5] or 0) * 60 if away[:1] in ("+", "-") else 0
    part = said.get("part", "0")
    ahead = None if "zone" not in said else -offset if away[0] == "-" else offset
    return _ReadTime(day, whole + Fraction(int(part), 10 ** len(part)), ahead)


def _is_time(said: dict[str, str]) -> bool:
    limits = {"hour": 24, "minute": 60, "second": 61}
    in_halves = "half" not in said or 1 <= int(said["hour"]) <= 12
    return in_halves and all(int(said[key]) < limit for key, limit in limits.items() if key in said)


def _hour(said: dict[str, str]) -> int:
    """The hour of 24; 12 AM is midnight."""
    hour = int(said["hour"])
    return hour if "half" not in said else hour % 12 + (12 if said["half"] in "Pp" else 0)
