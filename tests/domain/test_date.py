"""Dates: periods of a calendar, what they are called, and which declarations are off it."""

from datetime import date

import pytest

from discreet.domain.conditions import region_where
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.errors import DomainError
from tests.domain.test_read import one

DATE = 'kind = "date"\nsource = "handbook"\n'
PERIODS = [
    ("day", "2024-02-28", "2024-03-01", ["2024-02-28", "2024-02-29", "2024-03-01"]),
    ("week", "2024-12-23", "2025-01-05", ["2024-W52", "2025-W01"]),
    ("month", "2023-12-01", "2024-02-29", ["2023-12", "2024-01", "2024-02"]),
    ("quarter", "2023-10-01", "2024-03-31", ["2023-Q4", "2024-Q1"]),
    ("year", "2023-01-01", "2024-12-31", ["2023", "2024"]),
]


@pytest.mark.parametrize(("period", "low", "high", "labels"), PERIODS)
def test_a_range_of_days_is_a_code_for_each_period(period: str, low: str, high: str, labels: list[str]) -> None:
    for quote in ("", '"'):
        lines = f'low = {quote}{low}{quote}\nhigh = {quote}{high}{quote}\nperiod = "{period}"\n'
        [attribute] = parse_domain(one(DATE + lines)).attributes
        assert isinstance(attribute, Date)
        assert attribute.labels == tuple(labels)
        assert attribute.code(low) == 0
        assert attribute.code(high) == attribute.cells - 1
        assert [attribute.code(label) for label in labels] == list(range(attribute.cells))
        assert [attribute.code(value) for value in attribute.values] == list(range(attribute.cells))
        assert attribute.code("1999-01-01") is None


REFUSED = [
    ("low = 2024-01-01\n", "line 2: attributes.x.high: required: a day of the calendar"),
    ("low = 2024-02-30\nhigh = 2024-12-31\n", "line 5, column 7: 2024-02-30 is no day of the calendar"),
    ('low = "2024-02-30"\nhigh = 2024-12-31\n', "attributes.x.low: required: a day of the calendar"),
    ("low = 2024-01-01T00:00:00\nhigh = 2024-12-31\n", "attributes.x.low: required: a day of the calendar"),
    ("low = 2025-01-01\nhigh = 2024-12-31\n", "attributes.x.low: low = 2025-01-01 is after high = 2024-12-31"),
    ('low = 2024-01-02\nhigh = 2024-12-31\nperiod = "month"\n', "low: 2024-01-02 is not the first day of a month"),
    ('low = 2024-01-01\nhigh = 2024-12-30\nperiod = "year"\n', "high: 2024-12-30 is not the last day of a year"),
    ('low = 2024-01-02\nhigh = 2024-12-29\nperiod = "week"\n', "is not the first day of a week, a Monday"),
    ("low = 0001-01-01\nhigh = 9999-12-31\n", "attributes.x.high: lies more than 1,000,000 days behind low"),
    ('low = 2024-01-01\nhigh = 2024-12-31\nperiod = "hour"\n', "must be one of day, week, month, quarter, year"),
    ('low = 2024-01-01\nhigh = 2024-12-31\nzone = "Europe/Zermatt"\n', "attributes.x.zone: must be a time zone"),
    ('low = 2024-01-01\nhigh = 2024-12-31\nzone = "../../etc/passwd"\n', "attributes.x.zone: must be a time zone"),
    ('low = 2024-01-01\nhigh = 2024-12-31\nformat = "DD.MM"\n', "attributes.x.format: must say how text writes a date"),
    ('low = 2024-01-01\nhigh = 2024-12-31\nformat = "MM-MM-YYYY"\n', "attributes.x.format: must say how"),
    ('low = 2024-01-01\nhigh = 2024-12-31\nvalues = ["x"]\n', "attributes.x.values: unknown key; date allows"),
]


@pytest.mark.parametrize(("lines", "message"), REFUSED)
def test_a_range_off_the_calendar_is_refused_by_line_and_key(lines: str, message: str) -> None:
    with pytest.raises(DomainError) as refusal:
        parse_domain(one(DATE + lines))
    assert message in str(refusal.value)


def test_the_whole_calendar_is_a_range_of_years() -> None:
    [attribute] = parse_domain(one(DATE + 'low = 0001-01-01\nhigh = 9999-12-31\nperiod = "year"\n')).attributes
    assert (attribute.cells, attribute.label(0), attribute.label(9998)) == (9999, "0001", "9999")


def test_conditions_in_python_take_days_and_names_of_periods() -> None:
    made = Date(name="x", source="s", low=date(2024, 1, 1), high=date(2024, 12, 31), period="month", null=True)
    domain = Domain("t", (made,))
    for wanted, codes in [
        (date(2024, 3, 15), [2]),
        ("2024-03", [2]),
        (["2024-03-01", "2024-12", None], [2, 11, 12]),
        (("2024-02-01", date(2024, 4, 30)), [1, 2, 3]),
        (None, [12]),
    ]:
        region = region_where(domain, {"x": wanted})
        assert [code for code in range(13) if (code,) in region] == codes
    for wanted in (("2024-02-02", "2024-04-30"), "2025-01-01", ("x", "y"), 3):
        with pytest.raises(DomainError):
            region_where(domain, {"x": wanted})
