"""Vaults that were asked much already: little is left, and much is known."""

import pytest

BESIDE = "WITH a AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex), b AS (SELECT {by}, SUM(age) AS m FROM people "
BESIDE += "GROUP BY {by}) SELECT a.sex, b.age, a.n AS n, b.m AS m FROM a {join}"


@pytest.mark.parametrize(
    ("by", "join"), [("age", "CROSS JOIN b"), ("sex, age", "JOIN b ON a.sex = b.sex")], ids=["apart", "within"]
)
def test_groups_of_two_kinds_share_points_and_what_is_explained_of_them_is_spent(make_vault, by, join):
    vault = make_vault(epsilon=1)
    sql = BESIDE.format(by=by, join=join)
    told = vault.explain(sql, scale=1.5)
    answer = vault.ask(sql, scale=1.5)
    assert told.cost == answer.cost
    assert 0 < answer.cost <= 1
    # The first kind fits as a whole, and the second, but for the sums of small ages, does not fit beside it.
    assert all(row.value is not None for row in answer.rows if row.column == "n")
    assert any(row.value is None for row in answer.rows if row.column == "m")


def test_asking_for_more_makes_no_earlier_answer_wider(make_vault):
    vault = make_vault(epsilon=100)

    def widths():
        grouped = vault.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", scale=5).rows[0]
        total = vault.ask("SELECT COUNT(*) AS n FROM people", scale=5).rows[0]
        return [row.high - row.low for row in (grouped, total)]

    before = widths()
    for sql in (
        "SELECT age // 10 AS decade, COUNT(*) FROM people GROUP BY decade",
        "SELECT COUNT(*) FROM people WHERE age > 50 AND sex = 'F'",
        "SELECT CASE WHEN age < 20 THEN 'young' ELSE 'old' END AS part, COUNT(*) FROM people GROUP BY part",
        "SELECT age, COUNT(*) FROM people WHERE sex = 'F' GROUP BY age",
        "SELECT age, COUNT(*) FROM people GROUP BY age",
    ):
        vault.ask(sql, scale=5)
        now = widths()
        assert all(new <= old * 1.01 for new, old in zip(now, before, strict=True)), sql
        before = now
