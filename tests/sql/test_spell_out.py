"""Forms that say what another one says are read as that one; what only looks like it is not."""

import pytest

from discreet.errors import UnsupportedQuery
from discreet.sql.split import Statement, split

SAME = [
    ("SELECT sex, ANY_VALUE(sex) AS s, COUNT(*) AS n {}", "SELECT sex, sex AS s, COUNT(*) AS n {}", "sex"),
    ("SELECT FIRST(sex) AS s, LAST(sex) AS t, COUNT(*) AS n {}", "SELECT sex AS s, sex AS t, COUNT(*) AS n {}", "sex"),
    ("SELECT UPPER(ANY_VALUE(sex)) AS s, COUNT(*) AS n {}", "SELECT UPPER(sex) AS s, COUNT(*) AS n {}", "sex"),
    ("SELECT age + 1, ANY_VALUE(age + 1) AS b, COUNT(*) {}", "SELECT age + 1, age + 1 AS b, COUNT(*) {}", "1"),
    ("SELECT COUNT(*) AS n {} HAVING ANY_VALUE(sex) = 'F'", "SELECT COUNT(*) AS n {} HAVING sex = 'F'", "sex"),
    ("SELECT COUNT(*) AS n {} ORDER BY ANY_VALUE(sex)", "SELECT COUNT(*) AS n {} ORDER BY sex", "sex"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant", "by"), SAME)
def test_any_value_of_what_is_grouped_by_is_that(written, meant, by, people):
    halves = [split(text.format(f"FROM people GROUP BY {by}"), people) for text in (written, meant)]
    one, other = halves
    assert isinstance(one, Statement)
    assert isinstance(other, Statement)
    assert one.public.sql("duckdb") == other.public.sql("duckdb")
    assert [block.question.columns for block in one.blocks] == [block.question.columns for block in other.blocks]
    assert [block.question.where for block in one.blocks] == [block.question.where for block in other.blocks]


@pytest.mark.parametrize(
    "select",
    [
        "SELECT ANY_VALUE(age) AS s, COUNT(*) FROM people GROUP BY sex",
        "SELECT ANY_VALUE(age) AS s, COUNT(*) FROM people",
        "SELECT ANY_VALUE(sex) FILTER (WHERE age > 3) AS s, COUNT(*) FROM people GROUP BY sex",
        "SELECT ANY_VALUE(sex) OVER () AS s, COUNT(*) FROM people GROUP BY sex",
        "SELECT ANY_VALUE(sex) AS s, COUNT(*) FROM people GROUP BY ROLLUP(sex)",
        "SELECT ANY_VALUE(sex) AS s, COUNT(*) FROM people GROUP BY sex WITH ROLLUP",
        "SELECT ANY_VALUE(sex) AS s, COUNT(*) FROM people GROUP BY CUBE(sex)",
        "SELECT ANY_VALUE(sex) AS s, COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), ())",
        "SELECT FIRST(sex ORDER BY age) AS s, COUNT(*) FROM people GROUP BY sex",
        "SELECT ANY_VALUE(DISTINCT sex) AS s, COUNT(*) FROM people GROUP BY sex",
    ],
)
def test_any_value_of_anything_else_is_refused(select, people):
    with pytest.raises(UnsupportedQuery, match=r"ANY_VALUE|FIRST"):
        split(select, people)
