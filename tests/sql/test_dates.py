"""Dates in WHERE: comparisons at the edges of periods, and a note wherever a period is the least that is known."""

from datetime import date

import pytest

from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.parse import parse
from discreet.sql.where_text import where_text

MONTHS = Date(name="seen", source="s", low=date(2024, 1, 1), high=date(2024, 12, 31), period="month", null=True)
DAYS = Date(name="seen", source="s", low=date(2024, 1, 1), high=date(2024, 1, 31))


def codes_of(where, attribute=MONTHS):
    domain = Domain("t", (attribute,))
    question = parse(f"SELECT COUNT(*) FROM t WHERE {where}", domain)
    codes = [code for code in range(attribute.size) if (code,) in question.where]
    return codes, question.notes, where_text(question.where, domain)


CONDITIONS = [
    ("seen >= '2024-03-01'", range(2, 12), 0),
    ("seen >= DATE '2024-03-01'", range(2, 12), 0),
    ("seen > '2024-02-29'", range(2, 12), 0),
    ("seen < '2024-03-01'", range(2), 0),
    ("seen <= '2024-02-29'", range(2), 0),
    ("seen BETWEEN '2024-02-01' AND '2024-03-31'", range(1, 3), 0),
    ("seen BETWEEN DATE '2024-02-03' AND DATE '2024-03-30'", range(1, 3), 1),
    ("seen >= '2024-02-10' AND seen < '2024-02-20'", [1], 1),
    ("NOT seen < '2024-03-01'", range(2, 12), 0),
    ("seen = '2024-05'", [4], 0),
    ("seen = '2024-05-01'", [4], 0),
    ("seen = DATE '2024-05-17'", [4], 1),
    ("seen <> '2024-05'", [0, 1, 2, 3, *range(5, 12)], 0),
    ("seen IN ('2024-05', '2024-07-01')", [4, 6], 0),
    ("seen > '2024-05'", range(5, 12), 0),
    ("seen <= '2024-05'", range(5), 0),
    ("'2024-05' <= seen", range(4, 12), 0),
    ("seen = '2030-01-01'", [], 2),
    ("seen > '2030-01-01'", [], 2),
    ("seen <= '9999-12-31'", range(12), 1),
    ("seen IS NULL", [12], 0),
    ("'2024-03-01' > seen", range(2), 0),
    ("CASE seen WHEN '2024-05' THEN 1 WHEN '2024-07-01' THEN 1 ELSE 0 END = 1", [4, 6], 0),
    ("CASE (seen) WHEN '2024-05' THEN FALSE ELSE TRUE END", [*range(4), *range(5, 13)], 0),
    ("CASE seen WHEN NULL THEN 1 WHEN '2024-05' THEN 2 ELSE 3 END = 3", [*range(4), *range(5, 13)], 0),
    ("CASE WHEN FALSE THEN seen ELSE '2024-05' END = '2024-05'", range(13), 0),
    ("CASE WHEN seen IS NULL THEN '2024-07' ELSE seen END = '2024-07'", [6, 12], 1),
    ("IF(seen IS NULL, '2024-07', seen) = '2024-07-01'", [6, 12], 1),
    ("NULLIF(seen, '2024-05') IS NULL", [4, 12], 0),
    ("NULLIF(seen, '2024-Q2') IS NULL", [3, 4, 5, 12], 0),
    ("NULLIF(seen, DATE '2024-05-17') IS NULL", [4, 12], 1),
    ("NULLIF('2024-05', seen) IS NULL", [4], 0),
    ("NULLIF(seen, NULL) IS NULL", [12], 0),
    ("seen IS DISTINCT FROM '2024-05'", [*range(4), *range(5, 13)], 0),
    ("seen IS NOT DISTINCT FROM '2024-05-01'", [4], 0),
    ("'2024-Q1' IS NOT DISTINCT FROM seen", [0, 1, 2], 0),
    ("seen IS DISTINCT FROM NULL", range(12), 0),
    ("COALESCE(seen, '2024-03') = '2024-03'", [2, 12], 1),
    ("COALESCE(seen, '2024-03') IN ('2024-03', '2024-05')", [2, 4, 12], 1),
    ("COALESCE(seen, '2024-03') BETWEEN '2024-03' AND '2024-05'", [2, 3, 4, 12], 1),
    ("GREATEST(seen, '2024-05') = '2024-05'", [*range(5), 12], 1),
    ("LEAST('2024-05', seen) < '2024-05'", range(4), 0),
    ("(seen, 1) IN (('2024-05', 1), ('2024-07-01', 1), ('2024-08', 2))", [4, 6], 0),
    ("(seen, 1) = ('2024-Q1', 1)", [0, 1, 2], 0),
    ("(seen, 1) <> ('2024-05', 1)", [0, 1, 2, 3, *range(5, 12)], 0),
    ("'2024-05' IN (seen, NULLIF(seen, '2024-01'))", [4], 1),
]


@pytest.mark.parametrize(("where", "codes", "notes"), CONDITIONS)
def test_a_comparison_with_a_date_is_a_range_of_periods(where, codes, notes):
    found, told, text = codes_of(where)
    assert (found, len(told)) == (list(codes), notes), told
    if found:
        assert codes_of(text)[0] == found or text == ""


def test_days_are_compared_exactly():
    assert codes_of("seen BETWEEN '2024-01-05' AND '2024-01-07'", DAYS)[:2] == ([4, 5, 6], ())
    assert codes_of("seen = '2024-01-05'", DAYS)[:2] == ([4], ())
    assert codes_of("seen > '2024-01-30'", DAYS)[2] == "seen >= '2024-01-31'"


@pytest.mark.parametrize("where", ["COALESCE(seen, '2024-03') = '2024-Q1'", "LEAST(seen, '2024-03') IN ('2024-W05')"])
def test_the_name_of_no_single_period_is_refused_where_one_is_compared(where):
    with pytest.raises(UnsupportedQuery, match="is not one month of seen; write it as '2024-01' is"):
        codes_of(where)


@pytest.mark.parametrize(
    "where",
    [
        *("seen > 3", "seen = 'soon'", "seen > '2024-13'", "seen = TRUE", "seen < '2024-02-30'"),
        *("NULLIF(seen, 'soon') IS NULL", "seen IS DISTINCT FROM 'soon'", "(seen, 1) IN (('soon', 1))"),
    ],
)
def test_what_is_no_date_is_refused_with_one(where):
    with pytest.raises(UnsupportedQuery, match="seen holds dates; compare it with '2024-01-01' say"):
        codes_of(where)
