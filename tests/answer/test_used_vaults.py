"""Vaults that were asked much already: little is left, and much is known."""

import pytest

from discreet.errors import BudgetExceeded

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


class TestWhatIsLeftOut:
    """Numbers that can no longer be bought: those of another region are not taken for a line's own."""

    @pytest.fixture
    def vault(self, make_vault):
        vault = make_vault(epsilon=2)
        vault.ask("SELECT COUNT(*) FROM people WHERE age >= 6", scale="0.51")
        return vault

    def test_a_line_has_its_own_number_or_none_and_no_total_is_made_without_it(self, vault):
        answer = vault.ask("SELECT age // 2 AS pair, COUNT(*) AS n FROM people GROUP BY ROLLUP (pair)", scale=20)
        numbers = {row.labels[0]: row.value for row in answer.rows}
        assert all(numbers[pair] is not None for pair in ("0", "1", "2"))
        assert all(numbers[pair] is None for pair in ("3", "4", None))
        assert not any(row.is_near for row in answer.rows)

    @pytest.mark.parametrize(
        "number", ["SUM(n)", "MAX(n)", "100.0 * n / SUM(n) OVER ()"], ids=["total", "largest", "shares"]
    )
    def test_what_needs_all_lines_is_refused_and_nothing_is_spent(self, vault, number):
        before = vault.ledger.spent_max, vault.ledger.charges
        sql = f"SELECT {number} AS x FROM (SELECT age // 2 AS pair, COUNT(*) AS n FROM people GROUP BY pair) AS t"
        for ask in (vault.explain, vault.ask):
            with pytest.raises(BudgetExceeded, match=r"allows COUNT\(\*\) within"):
                ask(sql, scale=20)
        assert (vault.ledger.spent_max, vault.ledger.charges) == before

    def test_lines_are_not_ordered_by_numbers_of_other_regions(self, vault):
        answer = vault.ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age ORDER BY n DESC LIMIT 4", scale=20)
        assert not any(row.is_near for row in answer.rows)


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
