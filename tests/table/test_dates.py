"""Dates, times and texts that write them: the same periods in every engine, and moments by a stated zone."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.notation import Notation
from discreet.errors import DomainError
from discreet.table.fit import fit_source
from discreet.table.open import open_source
from tests.populations import points, population
from tests.table.test_notation import ENGINES, as_csv

MONTHS = Date(
    name="x", source="s", low=date(2024, 1, 1), high=date(2024, 3, 31), period="month", outside="other", null=True
)
JANUARY, FEBRUARY, MARCH, OTHER, MISSING = range(5)
ZURICH = replace(MONTHS, zone="Europe/Zurich")
CASES = {
    "dates": (MONTHS, pa.array([date(2024, 1, 31), date(2024, 2, 1), date(2023, 12, 31), None]), [0, 1, 3, MISSING]),
    "texts": (
        MONTHS,
        pa.array(["2024-01-31", "2024-2-1", "2024-03-31 23:59:59", "2024-02-30", "soon", "2024-04-01T00:00"]),
        [0, 1, 2, MISSING, MISSING, OTHER],
    ),
    "texts in another order": (
        replace(MONTHS, format="DD.MM.YYYY"),
        pa.array(["31.01.2024", "1.2.2024", "2024-02-01"]),
        [0, 1, MISSING],
    ),
    "numbers": (
        replace(MONTHS, format="YYYYMMDD"), pa.array([20240131, 20240201, 2024, None]), [0, 1, MISSING, MISSING],
    ),
    "moments with a distance from UTC": (
        ZURICH,
        pa.array(["2024-01-31T23:30:00Z", "2024-01-31T22:59:59Z", "2024-02-01T00:30:00+02:00", "2024-01-31T23:30:00"]),
        [1, 0, 0, 0],
    ),
    "moments as databases and offices write them": (
        ZURICH,
        pa.array(
            ["2024-01-31 23:30:00+00", "2024-01-31 23:30:00 UTC", "2024-02-01 00:30:00 +0200", "2024-02-01 11:30 PM",
             "2024-01-31 12:59:59 AM", "2024-01-31 11:30:00 PM +00:00", "2024-01-31 0:30 AM", "2024-01-31 13:00 PM"]
        ),
        [1, 1, 0, 1, 0, 1, MISSING, MISSING],
    ),
    "missing marks": (
        replace(MONTHS, notation=Notation(missing=("2024-01-01", "?"))),
        pa.array(["?", "2024-01-01", "2024-01-02", "2024-01-01 12:00"]),
        [MISSING, MISSING, 0, MISSING],
    ),
    "clamped": (
        replace(MONTHS, outside="clamp"), pa.array([date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 2)]), [0, 2, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
@pytest.mark.parametrize("case", CASES)
def test_a_date_is_its_period_in_every_engine(case, engine, tmp_path):
    attribute, column, codes = CASES[case]
    taken = population(engine(pa.table({"x": column}), tmp_path), Domain("t", (attribute,)))
    assert [code for (code,) in points(taken)] == codes


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine is not as_csv], ids=lambda e: e.__name__)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_is_in_the_period_that_it_is_in_at_its_zone(engine, unit, tmp_path):
    zone = ZoneInfo("Europe/Zurich")
    hours = [datetime(2024, 1, 31, 20, tzinfo=UTC) + timedelta(hours=hour) for hour in range(8)]
    hours += [datetime(2024, 3, 31, 20, tzinfo=UTC) + timedelta(hours=hour) for hour in range(8)]
    expected = [min(hour.astimezone(zone).month - 1, OTHER) for hour in hours]
    column = pa.array(hours, pa.timestamp(unit, "UTC"))
    taken = population(engine(pa.table({"x": column}), tmp_path), Domain("t", (ZURICH,)))
    assert [code for (code,) in points(taken)] == expected
    local = pa.array([hour.replace(tzinfo=None) for hour in hours], pa.timestamp(unit))
    (tmp_path / "local").mkdir()
    taken = population(engine(pa.table({"x": local}), tmp_path / "local"), Domain("t", (ZURICH,)))
    assert [code for (code,) in points(taken)] == [min(hour.month - 1, OTHER) for hour in hours]


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "Asia/Beirut", "Africa/Cairo", "America/Havana", "Asia/Tehran"])
def test_days_begin_where_the_clock_skips_midnight_too(zone):
    days = Date(name="x", source="s", low=date(2017, 1, 1), high=date(2018, 12, 31), zone=zone, outside="other")
    hours = [datetime(2017, 1, 2, tzinfo=UTC) + timedelta(minutes=30 * n) for n in range(48 * 720)]
    taken = population(pa.table({"x": pa.array(hours, pa.timestamp("s", "UTC"))}), Domain("t", (days,)))
    expected = [(hour.astimezone(ZoneInfo(zone)).date() - date(2017, 1, 1)).days for hour in hours]
    assert [code for (code,) in points(taken)] == expected


def test_other_types_are_refused_by_name():
    with pytest.raises(DomainError, match="'x' is double, but the domain says date, which needs dates, times"):
        population(pa.table({"x": [1.5]}), Domain("t", (MONTHS,)))


def test_fit_tells_dates_that_cannot_be_read_and_the_format_that_would_read_them():
    months = replace(MONTHS, outside="drop", null=False)
    values = ["31.01.2024", "1.2.2024", "soon", None, "2024-01-05", "2025-01-01"]
    [column] = fit_source(open_source(pa.table({"x": values})), Domain("t", (months,))).columns
    assert (column.outside, column.missing, column.unreadable, column.lost) == (1, 1, 3, 5)
    assert column.advice[0] == 'format = "DD.MM.YYYY" would read 2 rows'
    for kind in (pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.date32()):
        moments = pa.array([datetime(2024, 1, 5), datetime(2025, 1, 1), None], kind)
        [column] = fit_source(open_source(pa.table({"x": moments})), Domain("t", (months,))).columns
        assert (column.outside, column.missing, column.unreadable) == (1, 1, 0)
