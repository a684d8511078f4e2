"""Statements with a public half: what they are answered with, what they cost, and intervals for whatever comes out."""

from fractions import Fraction

import duckdb
import pytest

from discreet.errors import BudgetExceeded, DiscreetError, UnsupportedQuery

EXACTLY = {"scale": "0.00001"}
STATEMENTS = [
    "SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY sex",
    "SELECT COUNT(*) FILTER (WHERE age > 4) * 100.0 / COUNT(*) AS share FROM people",
    "SELECT age, COUNT(*) AS n FROM people GROUP BY age HAVING COUNT(*) > 600",
    "SELECT age, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM people) AS share FROM people GROUP BY age",
    "WITH w AS (SELECT * FROM people WHERE age > 4) SELECT sex, COUNT(*) AS n FROM w GROUP BY sex",
    "SELECT MAX(n) - MIN(n) AS spread FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) AS t",
    "SELECT a.age, a.n * 1.0 / b.n AS r FROM (SELECT age, COUNT(*) n FROM people WHERE sex = 'F' GROUP BY age) a "
    "JOIN (SELECT age, COUNT(*) n FROM people WHERE sex = 'M' GROUP BY age) b ON a.age = b.age",
    "SELECT 'all' AS who, COUNT(*) AS n FROM people UNION ALL "
    "SELECT sex, COUNT(*) FROM people WHERE sex = 'F' GROUP BY sex",
    "SELECT age, sex, COUNT(*) AS n FROM people WHERE sex IN ('F', 'M') GROUP BY ROLLUP (age, sex)",
    "SELECT age, sex, GROUPING(age, sex) AS g, COUNT(*) AS n FROM people GROUP BY CUBE (age, sex)",
    "SELECT age, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM people GROUP BY age",
    "SELECT age, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY age) AS more FROM people GROUP BY age",
    "SELECT sex, SQRT(COUNT(*)) AS root FROM people GROUP BY sex",
    "SELECT DISTINCT age FROM people",
    "SELECT age FROM people GROUP BY age HAVING COUNT(*) > 600",
    "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people)",
    "SELECT age, AVG(income) - AVG(AVG(income)) OVER () AS above FROM people GROUP BY age",
    "SELECT COUNT(*) / 0 AS never FROM people",
    "SELECT n FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) AS t",
    "SELECT sex, n FROM (SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age) AS t",
    "SELECT sex, SUM(COALESCE(income, 0)) AS s, AVG(COALESCE(income, age, 5)) AS m FROM people GROUP BY sex",
    "SELECT COUNT(DISTINCT (sex, age)) AS pairs, COUNT(DISTINCT (sex, age % 3)) AS threes FROM people",
]


@pytest.fixture(scope="module")
def truth(people):
    engine = duckdb.connect()
    engine.register("people", people.assign(income=people.income))
    return engine


def cells(table, names):
    lines = zip(*(table[name] for name in names), strict=True)
    return sorted((tuple(None if cell == "(missing)" else cell for cell in line) for line in lines), key=str)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_without_noise_it_is_what_duckdb_makes_of_the_rows(make_vault, truth, sql):
    vault = make_vault(epsilon=6_000_000)
    answer = vault.ask(sql, **EXACTLY)
    reference = truth.execute(sql.replace("/ 0", "/ NULLIF(0, 0)")).to_arrow_table().to_pydict()
    found = answer.to_arrow().to_pydict()
    assert list(answer.order) == list(reference)
    numbers, labels = answer.columns, answer.by
    expected = {
        **{name: [x if x is None or is_number(x) else str(x) for x in reference[name]] for name in labels},
        **{name: [None if x is None else round(float(x), 6) for x in reference[name]] for name in numbers},
    }
    got = {**found, **{name: [None if x is None else round(x, 6) for x in found[name]] for name in numbers}}
    assert cells(got, reference) == cells(expected, reference)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_explain_says_what_is_then_spent_and_asking_again_is_free_and_the_same(vault, sql):
    told = vault.explain(sql, scale=20)
    first = vault.ask(sql, scale=20)
    assert first.cost == told.cost if told.is_exact else first.cost <= told.cost
    again = vault.ask(sql, scale=20)
    assert again.cost == 0
    shown, before = ([(r.labels, r.value, r.low, r.high) for r in answer.rows] for answer in (again, first))
    assert shown == before


@pytest.mark.parametrize("sql", STATEMENTS)
def test_every_noisy_number_has_an_interval_around_it(vault, sql):
    for row in vault.ask(sql, scale=20).rows:
        if row.value is not None:
            assert row.low is not None
            assert row.high is not None
            assert row.low <= row.value <= row.high


def test_a_plain_question_costs_and_answers_as_before(make_vault):
    plain = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    vault = make_vault(epsilon=10)
    answer = vault.ask(plain, scale=20)
    assert (answer.order, answer.is_statement) == (("sex", "n"), False)
    assert answer.cost == Fraction(1, 20)


def test_the_blocks_of_a_statement_are_one_charge(vault):
    before = vault.ledger.charges
    vault.ask("SELECT COUNT(*) FILTER (WHERE age > 4) * 1.0 / COUNT(*) AS r FROM people", scale=20)
    assert vault.ledger.charges == before + 1


def test_a_total_that_follows_from_its_groups_is_not_paid_for(vault):
    answer = vault.ask(
        "SELECT age, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS r FROM people GROUP BY age", scale=20
    )
    assert answer.cost == Fraction(1, 20)
    assert sum(row.value for row in answer.rows) == pytest.approx(1)


def test_a_roll_up_costs_as_much_as_its_finest_lines_and_adds_up(vault):
    answer = vault.ask("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (age, sex)", scale=20)
    assert answer.cost == Fraction(1, 20)
    n = {row.labels: row.value for row in answer.rows}
    fine = [row for row in answer.rows if row.kind == "measured"]
    assert n[None, None] == pytest.approx(sum(row.value for row in fine))
    assert {row.kind for row in answer.rows} == {"measured", "derived"}


@pytest.mark.parametrize("within", [30, 100])
def test_a_roll_up_within_a_bound_costs_no_more_than_each_level_on_its_own(make_vault, within):
    vault = make_vault(epsilon=100)
    told = vault.explain("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (age, sex)", within=within)
    levels = [
        "SELECT COUNT(*) FROM people", "SELECT age, COUNT(*) FROM people GROUP BY age",
        "SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex",
    ]  # fmt: skip
    assert told.cost <= sum(vault.explain(sql, within=within).cost for sql in levels)
    answer = vault.ask(told.text, within=within)
    assert answer.cost == told.cost
    assert all((row.high - row.low) / 2 <= within * 1.001 for row in answer.rows)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) || 'x' || nosuch(3) AS t FROM people",
        "SELECT COUNT(*) / nosuch AS t FROM people",
        "SELECT t.nosuch FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) t",
        "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT nosuch FROM people)",
    ],
)
def test_what_is_refused_spends_nothing(vault, sql):
    for verb in (vault.explain, vault.ask):
        with pytest.raises(DiscreetError):
            verb(sql, scale=20)
    assert not vault.ledger.charges


def test_a_statement_beyond_the_budget_is_refused_and_spends_nothing(vault):
    for verb in (vault.explain, vault.ask):
        with pytest.raises(BudgetExceeded):
            verb("SELECT COUNT(*) FILTER (WHERE age > 4) * 1.0 / COUNT(*) AS r FROM people", scale="0.1")
    assert not vault.ledger.charges


def test_lines_that_were_chosen_by_noise_say_so_and_have_wider_intervals(vault):
    every = vault.ask("SELECT age, COUNT(*) * 2 AS n FROM people GROUP BY age", scale=20)
    some = vault.ask("SELECT age, COUNT(*) * 2 AS n FROM people GROUP BY age HAVING COUNT(*) > 600", scale=20)
    assert not any(row.chosen for row in every.rows)
    assert all(row.chosen for row in some.rows)
    assert any("chosen by noise" in note for note in some.notes)
    width = {row.labels: row.high - row.low for row in every.rows}
    assert all(row.high - row.low > width[row.labels] for row in some.rows)


def test_a_limit_that_leaves_nothing_out_chooses_nothing(vault):
    answer = vault.ask("SELECT age, COUNT(*) / 2 AS n FROM people GROUP BY age ORDER BY n LIMIT 1000", scale=20)
    assert not any(row.chosen for row in answer.rows)


def test_a_linear_number_has_the_exact_interval_of_a_plain_one(vault):
    plain = vault.ask("SELECT COUNT(*) FROM people", scale=20)
    double = vault.ask("SELECT COUNT(*) * 0.5 + 7 AS half FROM people", scale=20)
    assert double.value == plain.value / 2 + 7
    assert double.interval() == tuple(end / 2 + 7 for end in plain.interval())


def test_a_multiple_of_a_mean_has_its_interval_and_a_sum_with_a_mean_one_by_draws(vault):
    sql = "SELECT AVG(income) AS a, 3 - 2 * AVG(income) AS b, AVG(income) + COUNT(*) AS c FROM people"
    mean, turned, added = vault.ask(sql, scale=20).rows
    assert mean.low < mean.value < mean.high
    assert [turned.low, turned.value, turned.high] == pytest.approx(
        [3 - 2 * mean.high, 3 - 2 * mean.value, 3 - 2 * mean.low]
    )
    assert added.low < added.value < added.high
    assert mean.high - mean.low < added.high - added.low


def test_a_mean_moves_with_the_count_that_it_is_divided_by(vault):
    sql = "SELECT AVG(income) * COUNT(income) AS product, SUM(income) * SUM(income) / SUM(income) AS total FROM people"
    product, total = vault.ask(sql, scale=200).rows
    # The count is no more in it, nor is its noise: both are the sum in every draw, and have the ends of the same draws.
    assert [product.low, product.value, product.high] == pytest.approx([total.low, total.value, total.high], rel=1e-9)


def test_a_sub_query_is_answered_first_within_the_bound_that_explain_names(vault):
    sql = "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people)"
    told = vault.explain(sql, scale=20)
    assert not told.is_exact
    answer = vault.ask(sql, scale=20)
    assert 0 < answer.cost <= told.cost
    assert any("answered first" in note for note in answer.notes)


def test_what_costs_as_much_as_a_noisy_value_says_is_refused_before_that_value_is_bought(vault):
    sql = "SELECT SUM(age * (SELECT COUNT(*) FROM people)) AS x FROM people"
    before = vault.ledger.head
    for ask in (vault.explain, vault.ask):
        with pytest.raises(UnsupportedQuery, match="ask the sub-query by itself, and write its number here"):
            ask(sql, within=2000)
    assert vault.ledger.head == before
    told = vault.explain(sql, scale=50)
    assert vault.ask(sql, scale=50).cost <= told.cost


def test_an_answer_of_any_shape_is_written_in_every_form(vault):
    answer = vault.ask("SELECT COUNT(*) / 2 AS n, sex, age > 4 AS old FROM people GROUP BY ALL", scale=20)
    assert answer.order == ("n", "sex", "old")
    assert answer.by == ("sex", "old")
    headers, lines = answer.table()
    assert headers[:2] == ["sex", "old"]
    assert len(lines) == len(answer.lines) == 6
    assert answer.to_csv().splitlines()[0] == "n,n_low,n_high,sex,old,kind,answered_for"
    assert answer.to_json()["rows"][0]["labels"].keys() == {"sex", "old"}
    assert answer.to_arrow().num_rows == 6


def test_labels_alone_are_an_answer_too(vault):
    answer = vault.ask("SELECT age FROM people GROUP BY age ORDER BY COUNT(*) DESC LIMIT 3", scale=20)
    assert len(answer.lines) == 3
    assert answer.columns == ()
    assert answer.to_arrow().column_names == ["age", "kind", "answered_for"]


def test_a_higher_confidence_has_wider_intervals_and_draws_no_more(vault):
    sql = "SELECT COUNT(*) FILTER (WHERE age > 4) * 100.0 / COUNT(*) AS share FROM people"
    widths = []
    for confidence in ("0.5", "0.95", "0.999999"):
        low, high = vault.ask(sql, scale=20, confidence=confidence).interval()
        widths.append(high - low)
    assert widths[0] < widths[1] < widths[2] < 12 * widths[1]


INJECTED = (
    """SELECT COUNT(*) AS n, EXTRACT("year FROM DATE '2020-01-01') AS y FROM discreet_b0 discreet_b; CREATE MACRO """
    """main.sqrt(x) AS 42; SELECT 1 AS n, 2 AS y, 0 AS discreet_line; --" FROM DATE '2020-01-01') AS y FROM people"""
)
"""A quoted name that the parser takes for a unit of time, with statements in it."""


def test_what_one_explains_changes_nothing_of_what_others_are_answered(vault):
    with pytest.raises(DiscreetError, match="is not understood here"):
        vault.explain(INJECTED, scale=20)
    [row] = vault.ask("SELECT SQRT(COUNT(*)) AS root FROM people", scale=20).rows
    assert row.value == pytest.approx(6000**0.5, abs=2)


@pytest.mark.parametrize("wish", [{"scale": 20}, {"within": 2000}, {}], ids=["scale", "within", "policy"])
@pytest.mark.parametrize("nothing", ["10 * 0", "age - age", "NULL / 1000", "CASE WHEN age > 100 THEN 1 END", "0"])
def test_a_sum_of_nothing_is_0_and_free(vault, nothing, wish):
    sql = f"SELECT SUM({nothing}) AS s FROM people WHERE sex IS NULL"
    assert vault.explain(sql, **wish).cost == 0
    answer = vault.ask(sql, **wish)
    assert ([row.value for row in answer.rows], answer.cost) == ([0], 0)


@pytest.mark.parametrize(
    "output",
    [
        "CAST(COUNT(*) AS BIGINT) * 2000000000000000",
        "LEFT('abc', CAST(COUNT(*) AS BIGINT) * 1000000)",
        "'a' SIMILAR TO CASE WHEN COUNT(*) > 100 THEN '(' ELSE 'a' END",
        "DATE '2020-01-01' + INTERVAL (CAST(COUNT(*) AS BIGINT) * 100000) YEAR",
    ],
)
def test_what_fails_for_the_noisy_numbers_alone_is_null_and_not_refused_after_it_was_paid_for(vault, output):
    sql = f"SELECT {output} AS odd, COUNT(*) AS n FROM people"
    told = vault.explain(sql, scale=20)
    answer = vault.ask(sql, scale=20)
    assert answer.cost == told.cost
    assert answer.to_arrow().to_pydict()["odd"] in ([None], ["(missing)"])


T = "(SELECT age, COUNT(*) AS n FROM people GROUP BY age) AS t"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT (SELECT n FROM {T}) AS x",
        f"SELECT sex, (SELECT n FROM {T} WHERE t.age > 2) AS x FROM people GROUP BY sex",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people GROUP BY age)",
        "SELECT COUNT(*) FROM people WHERE age IN (1, (SELECT age FROM people GROUP BY age))",
        "SELECT AVG(income) FROM people WHERE age > (SELECT AVG(age) FROM people GROUP BY sex)",
    ],
)
def test_one_value_with_several_lines_is_refused_before_anything_is_spent(vault, sql):
    for verb in (vault.explain, vault.ask):
        with pytest.raises(UnsupportedQuery, match=r"stands for one value has several lines.*; MAX\(…\) of it"):
            verb(sql, scale=20)
    assert vault.ledger.spent_max == 0


@pytest.mark.parametrize("bound", [0, 100, 1_000_000])
def test_one_value_of_lines_that_noise_chose_is_null_where_there_are_several_and_explain_says_so(vault, bound):
    sql = f"SELECT (SELECT n FROM {T} WHERE n > {bound}) AS x, (SELECT COUNT(*) FROM {T} WHERE n > {bound}) AS many"
    told = vault.explain(sql, scale=20)
    assert any("several lines, as noise decides" in note for note in told.notes)
    answer = vault.ask(sql, scale=20)
    assert answer.cost == told.cost
    found = answer.to_arrow().to_pydict()
    assert (found["x"] == [None]) == (found["many"] != [1])


@pytest.mark.parametrize("bound", [0, 100, 1_000_000])
def test_a_value_for_a_condition_is_null_where_noise_leaves_several_or_none(vault, bound):
    sql = (
        f"SELECT COUNT(*) AS n FROM people WHERE age > (SELECT age FROM people GROUP BY age HAVING COUNT(*) > {bound})"
    )
    told = vault.explain(sql, scale=20)
    assert any("several lines, as noise decides" in note for note in told.notes)
    answer = vault.ask(sql, scale=20)
    assert answer.cost <= told.cost
    assert answer.only.value == 0
    assert any("came out as NULL" in note for note in answer.notes)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT age, MAX(CAST(n AS INTEGER)) * 20000000 AS x FROM {T} GROUP BY age",
        f"SELECT COUNT(*) AS n FROM people WHERE age > (SELECT MAX(CAST(n AS INTEGER)) * 20000000 FROM {T})",
        f"SELECT COUNT(*) AS n FROM people WHERE age IN (SELECT CASE WHEN n > 50 THEN 1e300 END FROM {T})",
        f"SELECT SUM(n) OVER (ORDER BY age ROWS BETWEEN 50 - CAST(n AS INT) PRECEDING AND CURRENT ROW) AS s FROM {T}",
    ],
)
def test_what_only_the_numbers_that_came_out_make_fail_is_a_line_of_nulls(vault, sql):
    told = vault.explain(sql, scale=20)
    for _ in range(2):
        answer = vault.ask(sql, scale=20)
        assert answer.cost <= told.cost
        assert {row.value for row in answer.rows} == {None}
        assert len(answer.lines) == 1
        assert any("no answer, but NULL" in note for note in answer.notes)
        assert answer.to_json()["rows"]
        assert answer.to_csv()


def test_intervals_that_cannot_be_drawn_are_missing_and_the_numbers_are_there(vault, monkeypatch):
    def refuse(*_):
        raise UnsupportedQuery("the statement takes longer than 10 seconds; ask for less at once")

    monkeypatch.setattr("discreet.answer.drawn_intervals.run_prepared", refuse)
    answer = vault.ask("SELECT sex, 1.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY sex", scale=20)
    assert all(row.value is not None and row.low is None and row.high is None for row in answer.rows)
    assert any("share: no interval" in note for note in answer.notes)


@pytest.mark.parametrize("output", ["MIN(n)", "MAX(n) - MIN(n)", "SUM(n) / COUNT(*)"])
def test_an_output_over_results_needs_no_alias(vault, output):
    assert vault.ask(f"SELECT {output} FROM {T}", scale=20).only.value is not None


def test_a_sub_query_alone_is_an_output_beside_groups(vault):
    answer = vault.ask(f"SELECT sex, (SELECT MAX(n) FROM {T}) AS x FROM people GROUP BY sex", scale=20)
    assert len(answer.rows) == len([*answer.rows]) == 3
    assert all(row.value is not None and row.low is not None for row in answer.rows)


NESTED = [
    "SELECT * FROM (SELECT age, 1.0 * SUM(income) / COUNT(*) AS r FROM people GROUP BY age ORDER BY r DESC LIMIT 3) t",
    "WITH x AS (SELECT age, COUNT(*) AS n, AVG(income) AS m FROM people GROUP BY age) "
    "SELECT age, m FROM (SELECT * FROM x ORDER BY m DESC LIMIT 2) AS t",
    "WITH x AS (SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex), "
    "y AS (SELECT age, sex, n, ROW_NUMBER() OVER (PARTITION BY sex ORDER BY n DESC) AS k FROM x) "
    "SELECT age, sex, n FROM y WHERE k <= 1",
]


@pytest.mark.parametrize("sql", NESTED)
def test_lines_that_an_inner_query_chose_have_intervals_though_other_noise_would_choose_others(vault, sql):
    for row in vault.ask(sql, scale=100).rows:
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.value <= row.high
        assert row.low < row.high


def test_a_number_without_an_interval_says_why(vault):
    sql = "SELECT age, SQRT(COUNT(*) - 600) AS x FROM people GROUP BY age"
    answer = vault.ask(sql, scale=20)  # of numbers around 0, which other noise would have made negative
    assert any(row.value is not None and None in (row.low, row.high) for row in answer.rows)
    assert any("have no interval, or half of one" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT (sex, 1) AS x, COUNT(*) AS n FROM people GROUP BY sex", "x is no single text, number or date"),
        ("SELECT INTERVAL 1 DAY AS x, COUNT(*) AS n FROM people", "x is no single text, number or date"),
        (
            "SELECT a.*, b.* FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS a JOIN "
            "(SELECT sex, COUNT(*) AS m FROM people GROUP BY sex) AS b ON a.sex = b.sex",
            "two columns are called sex",
        ),
    ],
)
def test_what_no_cell_of_a_table_shows_is_refused_before_anything_is_spent(vault, sql, words):
    with pytest.raises(UnsupportedQuery, match=words):
        vault.ask(sql, scale=5)
    assert vault.ledger.spent_max == 0


@pytest.mark.parametrize("column", ["sex", "income"])
@pytest.mark.parametrize("way", ["", "ASC", "DESC"])
@pytest.mark.parametrize("nulls", ["NULLS FIRST", "NULLS LAST"])
@pytest.mark.parametrize("number", ["COUNT(*)", "COUNT(*) * 1.5"])
def test_nulls_are_where_duckdb_has_them_where_that_is_said(vault, truth, column, way, nulls, number):
    sql = f"SELECT {column} AS x, {number} AS n FROM people GROUP BY {column} ORDER BY {column} {way} {nulls}"
    found = [row.labels[0] for row in vault.ask(sql, scale=5).rows]
    of_rows = [line[0] for line in truth.execute(sql).fetchall()]
    assert found.index(None) == (0 if of_rows[0] is None else len(found) - 1)
    if column == "sex":
        truly = [None if isinstance(one, float) else one for one in of_rows]
        assert found == truly


@pytest.mark.parametrize("kind", ["ROLLUP", "CUBE"])
@pytest.mark.parametrize("cut", ["LIMIT 3", "OFFSET 9", "LIMIT 3 OFFSET 1", "ORDER BY age DESC LIMIT 2"])
def test_what_comes_after_with_rollup_cuts_its_lines(vault, kind, cut):
    every = vault.ask(f"SELECT age, COUNT(*) AS n FROM people GROUP BY age WITH {kind}", scale=5)
    some = vault.ask(f"SELECT age, COUNT(*) AS n FROM people GROUP BY age WITH {kind} {cut}", scale=5)
    labels = [row.labels[0] for row in every.rows]
    expected = {
        "LIMIT 3": labels[:3],
        "OFFSET 9": labels[9:],
        "LIMIT 3 OFFSET 1": labels[1:4],
        "ORDER BY age DESC LIMIT 2": ["9", "8"],
    }
    assert [row.labels[0] for row in some.rows] == expected[cut]


def test_lines_that_no_label_tells_apart_have_their_own_intervals(vault):
    """They had those of other lines: run for all draws at once, the lines of a draw came in another order."""
    times = "CASE sex WHEN 'F' THEN 1 WHEN 'M' THEN 9 ELSE 5 END"
    inner = f"FROM (SELECT sex, COUNT(*) * {times} AS n FROM people GROUP BY sex) AS t"
    told, untold = vault.ask(f"SELECT sex, n {inner}", scale=3), vault.ask(f"SELECT n {inner}", scale=3)
    assert [row.value for row in told.rows] == [row.value for row in untold.rows]
    for one, other in zip(told.rows, untold.rows, strict=True):
        width = one.high - one.low
        assert abs(one.low - other.low) < width / 2  # 99 draws, and others: of another line it would be hundreds off
        assert abs(one.high - other.high) < width / 2


def test_nulls_come_first_where_that_is_asked_for(vault):
    answer = vault.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex NULLS FIRST LIMIT 1", scale=5)
    assert [row.labels for row in answer.rows] in ([(None,)], [("NULL",)])


def test_a_number_of_a_statement_that_is_as_wide_as_its_interval_is_too_noisy_to_read(vault):
    answer = vault.ask(
        "SELECT age, 100.0 * COUNT(*) FILTER (WHERE sex = 'F') / COUNT(*) AS x FROM people GROUP BY age", scale=900
    )
    wide = [row for row in answer.rows if (row.high or 0) - (row.low or 0) >= 2 * abs(row.value or 0)]
    assert wide
    assert all(row.is_too_noisy for row in wide if None not in (row.low, row.high, row.value))
    assert any("too noisy to read" in note for note in answer.notes)


IN_RANGE = {
    "SELECT age, AVG(income) AS x, RANK() OVER (ORDER BY AVG(income) DESC) AS r FROM people GROUP BY age": (0, 50),
    "WITH t AS (SELECT age, AVG(income) AS m FROM people GROUP BY age) SELECT MAX(m) AS x FROM t WHERE m > 1": (0, 50),
    "SELECT age, AVG(income) AS x FROM people GROUP BY age HAVING COUNT(*) > 10": (0, 50),
    "SELECT age, ROUND(AVG(income), 1) AS x FROM people GROUP BY age ORDER BY x DESC LIMIT 3": (0, 50),
    "SELECT AVG(m) AS x FROM (SELECT age, AVG(income) AS m FROM people GROUP BY age) AS t": (0, 50),
    "SELECT age, AVG(m) OVER () AS x FROM (SELECT age, AVG(income) AS m FROM people GROUP BY age) AS t": (0, 50),
    "SELECT age, RANK() OVER (ORDER BY COUNT(*) DESC) AS x FROM people GROUP BY age": (1, 10),
    "SELECT age, NTILE(4) OVER (ORDER BY COUNT(*)) AS x FROM people GROUP BY age": (1, 4),
    "SELECT COUNT(*) AS x FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) AS t WHERE n > 600": (0, 10),
    "SELECT age, 100.0 * COUNT(*) FILTER (WHERE sex = 'F') / COUNT(*) AS x FROM people GROUP BY age": (0, 100),
    "SELECT sex, 1 - 1.0 * COUNT(*) FILTER (WHERE age > 0) / COUNT(*) AS x FROM people GROUP BY sex": (0, 1),
    "SELECT sex, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS x FROM people GROUP BY sex": (0, 100),
    "SELECT age, sex, COUNT(*)::DECIMAL / SUM(COUNT(*)) OVER (PARTITION BY age) AS x FROM people GROUP BY 1, 2": (0, 1),
    "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) / SUM(COUNT(*)) OVER () AS x FROM people GROUP BY age": (0, 1),
    "SELECT age, 100 * SUM(income) / SUM(SUM(income)) OVER () AS x FROM people GROUP BY age": (0, 100),
    "SELECT sex, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM people) AS x FROM people GROUP BY ROLLUP (sex)": (0, 100),
    "WITH t AS (SELECT COUNT(*) AS n FROM people), g AS (SELECT sex, COUNT(*) AS m FROM people GROUP BY sex) "
    "SELECT sex, m / n AS x FROM g CROSS JOIN t": (0, 1),
    "SELECT sex, COUNT(*) FILTER (WHERE age > 3) / COUNT(*) AS x FROM people GROUP BY CUBE (sex, age)": (0, 1),
}


@pytest.mark.parametrize("scale", [20, 5000])
@pytest.mark.parametrize(("sql", "ends"), IN_RANGE.items())
def test_numbers_and_intervals_of_statements_stay_in_what_the_domain_allows(vault, sql, ends, scale):
    answer = vault.ask(sql, scale=scale)
    rows = [row for row in answer.rows if row.column == "x" and row.value is not None]
    for row in rows:
        assert ends[0] <= row.low <= row.value <= row.high <= ends[1]
    if "OVER (ORDER BY COUNT" in sql:
        assert all(row.low == int(row.low) and row.high == int(row.high) for row in rows)


def test_a_share_that_may_be_more_than_all_is_not_cut(vault):
    sql = "SELECT 100.0 * COUNT(*) / COUNT(*) FILTER (WHERE sex = 'F') AS x FROM people"
    assert vault.ask(sql, scale=20).only.value > 100


def test_numbers_that_are_whole_but_for_rounding_are_whole(vault):
    for scale in (3, 4, 5):
        vault.measure(vault.count(by="age"), scale=scale)
    vault.measure(vault.count(by=("age", "sex")), scale=4)
    within = " + ".join(f"COUNT(*) FILTER (WHERE sex {sex})" for sex in ("= 'F'", "= 'M'", "IS NULL"))
    ages = " - ".join(f"COUNT(*) FILTER (WHERE age {ages})" for ages in ("< 5", "< 4", "= 4"))
    for sql in (f"SELECT age, {within} - COUNT(*) AS n FROM people GROUP BY age", f"SELECT {ages} AS n FROM people"):
        found = vault.ask(sql, scale=100).to_arrow()
        assert {*found["n"].to_pylist()} == {0}  # and neither 2e-10 nor -1.1e-13


def test_numbers_without_any_noise_have_intervals_without_width(make_vault):
    vault = make_vault(epsilon=6_000_000)
    for by in (("age", "sex"), ("sex", "income"), ("age", "income"), "sex", "age"):
        vault.ask(f"SELECT COUNT(*) FROM people GROUP BY {by if isinstance(by, str) else ', '.join(by)}", **EXACTLY)
    for sql in ("SELECT COUNT(*) - COUNT(income) AS n FROM people WHERE sex = 'F'",
                "SELECT COUNT(*) FILTER (WHERE age < 5) - COUNT(*) FILTER (WHERE age < 4) "
                "- COUNT(*) FILTER (WHERE age = 4) AS n FROM people"):  # fmt: skip
        row = vault.ask(sql, **EXACTLY).only
        assert row.low <= row.value == round(row.value) <= row.high
        assert row.high - row.low < 1e-6
