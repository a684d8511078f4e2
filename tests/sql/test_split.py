"""A statement is split into private blocks and one public query over their answers."""

import pytest

from discreet.errors import DiscreetError, UnsupportedQuery
from discreet.sql.question import Question
from discreet.sql.split import Statement, Stepwise, Values, read, split


def halves(text, domain):
    """The public query, with the names of blocks and their columns shortened."""
    found = split(text, domain)
    assert isinstance(found, Statement)
    return found.public.sql("duckdb").replace("discreet_b.", "").replace("discreet_", ""), found


@pytest.mark.parametrize(
    ("text", "public", "blocks"),
    [
        (
            "SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY sex",
            'SELECT k0 AS "sex", 100.0 * a0 / SUM(a0) OVER () AS "share" FROM b0 AS b',
            1,
        ),
        (
            "SELECT sex, COUNT(*) n FROM people GROUP BY sex HAVING n > 10 ORDER BY COUNT(*) / 2 LIMIT 3",
            'SELECT k0 AS "sex", a0 AS "n" FROM b0 AS b WHERE (a0) > 10 ORDER BY a0 / 2 LIMIT 3',
            1,
        ),
        (
            "WITH w AS (SELECT age AS a FROM people WHERE age > 30) SELECT COUNT(*) * 0.5 AS h FROM w WHERE a < 60",
            'SELECT a0 * 0.5 AS "h" FROM b0 AS b',
            1,
        ),
        (
            "SELECT age, MODE(sex) AS m FROM people GROUP BY age",
            'SELECT k0 AS "age", (SELECT ARG_MAX(counted.value, counted.n) FROM (SELECT k0 AS "value", a0 AS "n", '
            'k1 AS "g0" FROM b0 AS b) AS counted WHERE counted.g0 IS NOT DISTINCT FROM k0) AS "m" FROM b1 AS b',
            2,
        ),
        (
            "SELECT p.sex, COUNT(*) / (SELECT COUNT(*) FROM people q WHERE q.age = 3 AND q.sex = p.sex) AS r "
            "FROM people p GROUP BY p.sex",
            'SELECT k0 AS "sex", a0 / (SELECT COALESCE(SUM(grouped."count"), 0) AS "count" FROM (SELECT a0 AS "count", '
            'k0 AS "k0" FROM b0 AS b) AS grouped WHERE grouped.k0 = k0) AS "r" FROM b1 AS b',
            2,
        ),
        (
            "SELECT WIDTH_BUCKET(age, 0, 9, 5) AS b, QUANTILE(age, [0.5, 0.9]) AS q FROM people GROUP BY 1 ORDER BY 1",
            'SELECT k0 AS "b", a0 AS "q_0.5", a1 AS "q_0.9" FROM b0 AS b ORDER BY k0_code',
            1,
        ),
        (
            "SELECT (SELECT COUNT(*) FROM people) / (SELECT COUNT(*) FROM people WHERE sex = 'F') AS r",
            'SELECT (SELECT a0 AS "count" FROM b0 AS b) / (SELECT a0 AS "count" FROM b1 AS b) AS r',
            2,
        ),
        (
            "SELECT sex, COUNT(*) / 2 AS h FROM people GROUP BY sex UNION ALL SELECT 'all', COUNT(*) / 2 FROM people",
            'SELECT k0 AS "sex", a0 / 2 AS "h" FROM b0 AS b UNION ALL SELECT \'all\' AS "\'all\'", '
            'a0 / 2 AS "count(*) / 2" FROM b1 AS b',
            2,
        ),
        (
            "SELECT MAX(n) AS most FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS t",
            'SELECT MAX(n) AS most FROM (SELECT k0 AS "sex", a0 AS "n" FROM b0 AS b) AS t',
            1,
        ),
    ],
)
def test_what_is_done_with_noisy_numbers_is_left_as_a_query_over_blocks(people, text, public, blocks):
    written, found = halves(text, people)
    assert written == public
    assert len(found.blocks) == blocks


def test_the_same_select_is_one_block(people):
    _, found = halves("SELECT (SELECT COUNT(*) FROM people) * 1.0 / (SELECT COUNT(*) FROM PEOPLE p) AS r", people)
    assert len(found.blocks) == 1


def test_rows_that_a_sub_query_selects_are_those_of_one_where(people):
    _, found = halves(
        "SELECT COUNT(*) / 2 AS h FROM (SELECT * FROM (SELECT age AS a, sex FROM people WHERE age > 30) t "
        "WHERE a < 60) u WHERE sex = 'F'",
        people,
    )
    plain = read("SELECT COUNT(*) FROM people WHERE age > 30 AND age < 60 AND sex = 'F'", people)
    assert isinstance(plain, Question)
    assert found.blocks[0].question.where == plain.where


@pytest.mark.parametrize(
    ("groups", "sets"),
    [
        ("ROLLUP (sex, married)", [("sex", "married"), ("sex",), ()]),
        ("CUBE (sex, married)", [("sex", "married"), ("sex",), ("married",), ()]),
        ("GROUPING SETS ((sex), (married), ())", [("sex",), ("married",), ()]),
        ("sex, ROLLUP (married)", [("sex", "married"), ("sex",)]),
        ("sex, married WITH ROLLUP", [("sex", "married"), ("sex",), ()]),
        ("sex, married WITH CUBE", [("sex", "married"), ("sex",), ("married",), ()]),
    ],
)
def test_several_sets_of_groups_are_a_block_each(people, groups, sets):
    _, found = halves(f"SELECT sex, married, COUNT(*) AS n FROM people GROUP BY {groups}", people)
    assert [block.question.by for block in found.blocks] == sets


def test_a_plain_question_is_read_as_before(people):
    assert isinstance(read("SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY 2 DESC LIMIT 1", people), Question)


def test_a_sub_query_that_a_block_needs_is_answered_first(people):
    found = split("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", people)
    assert isinstance(found, Stepwise)
    [text] = found.first
    rest = found.then({text: Values([40.5], are_numbers=True)})
    assert isinstance(rest, Statement)
    assert rest.blocks[0].question.where == read("SELECT COUNT(*) FROM people WHERE age > 40.5", people).where


def test_values_for_in_are_a_list(people):
    found = split(
        "WITH w AS (SELECT sex AS s FROM people GROUP BY sex ORDER BY COUNT(*) LIMIT 1) "
        "SELECT COUNT(*) FROM people WHERE sex IN (SELECT s FROM w)",
        people,
    )
    assert isinstance(found, Stepwise)
    rest = found.then({text: Values(["F"]) for text in found.first})
    assert isinstance(rest, Statement)
    assert rest.blocks[0].question.where == read("SELECT COUNT(*) FROM people WHERE sex = 'F'", people).where


def test_a_sub_query_inside_one_that_is_answered_first_is_answered_before_that(people):
    text = (
        "SELECT COUNT(*) / 2 AS n FROM people WHERE age > (SELECT AVG(age) FROM people WHERE sex IN "
        "(SELECT sex FROM people GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1))"
    )
    found = split(text, people)
    assert isinstance(found, Stepwise)
    [inner] = found.first.values()
    assert isinstance(inner, Stepwise)
    [innermost] = inner.first.values()
    assert isinstance(innermost, Statement)
    assert isinstance(inner.then(dict.fromkeys(inner.first, Values(("F",)))), Statement)


def test_a_sub_query_inside_a_with_is_answered_once_and_before_it(people):
    inner = "SELECT sex, SUM(age) AS s FROM people WHERE age > (SELECT AVG(age) FROM people) GROUP BY sex"
    text = f"WITH w AS ({inner}) SELECT MAX(s) AS m FROM w"
    found = split(text, people)
    assert isinstance(found, Stepwise)
    [first] = found.first.values()
    assert isinstance(first, Statement)
    assert len(first.blocks) == 1
    assert isinstance(found.then(dict.fromkeys(found.first, Values((30,), are_numbers=True))), Statement)
    unread = split(f"WITH w AS ({inner}) SELECT COUNT(*) / 2 AS h FROM people", people)
    assert isinstance(unread, Statement)
    assert len(unread.blocks) == 1


def test_a_sub_query_of_rows_that_nothing_reads_is_not_asked_first(people):
    unread = "SELECT age FROM people WHERE age > (SELECT AVG(age) FROM people)"
    text = f"WITH w AS ({unread}) SELECT COUNT(*) / 2 FROM people"
    assert isinstance(split(text, people), Statement)


def test_a_result_may_have_the_name_of_the_table(people):
    text = "WITH people AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) SELECT MAX(n) AS most FROM people"
    written, _ = halves(text, people)
    assert written == 'WITH people AS (SELECT k0 AS "sex", a0 AS "n" FROM b0 AS b) SELECT MAX(n) AS most FROM people'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT age FROM people", "no aggregate"),
        ("SELECT age, COUNT(*) / 2 FROM people", "neither in GROUP BY nor in an aggregate, line 1, column 8"),
        ("SELECT COUNT(*) / 2 FROM people p JOIN people q ON p.age = q.age", "a join of rows is not supported"),
        ("SELECT COUNT(*) / 2 FROM persons", "there is no table 'persons', line 1, column 26; ask FROM people"),
        ("SELECT ROW_NUMBER() OVER () FROM people", "a window over rows"),
        ("WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT * FROM r", "WITH RECURSIVE"),
        ("SELECT COUNT(*) + getenv('HOME') FROM people", "getenv"),
        ("SELECT COUNT(*) + RANDOM() FROM people", "RAND"),
        ("SELECT 1", "asks nothing of the table"),
        (
            "SELECT * FROM (SELECT age, sex, COUNT(*) n FROM people GROUP BY 1, 2) PIVOT (SUM(n) FOR sex IN ('F','M'))",
            r"PIVOT \(use COUNT\(\*\) FILTER",
        ),
        (
            "SELECT COUNT(*) / 2 FROM people p WHERE age > (SELECT AVG(age) FROM people q WHERE q.sex = p.sex)",
            "a sub-query does not see the tables around it: group it in FROM",
        ),
        ("SELECT p.sex, (SELECT COUNT(*) FROM people q WHERE q.age > p.age) FROM people p GROUP BY p.sex", "around it"),
        (
            "SELECT p.sex, (SELECT COUNT(*) FROM people q WHERE q.age = p.age) FROM people p GROUP BY p.sex",
            "age is neither in GROUP BY nor in an aggregate",
        ),
        (
            "SELECT u.s FROM (VALUES ('F')) AS u(s), (SELECT COUNT(*) n FROM people) AS discreet_grouped",
            "choose another",
        ),
        (
            "SELECT u.s, (SELECT COUNT(*) FROM people p WHERE p.sex = u.s HAVING COUNT(*) > 9) FROM "
            "(VALUES ('F')) AS u(s)",
            "does not see the tables around it",
        ),
        ("SELECT sex, MODE(age) FROM people GROUP BY ROLLUP (sex)", "MODE is not answered beside ROLLUP"),
        ("SELECT QUANTILE(age, [0.5])[2] FROM people", "the first one is \\[1\\]"),
        ("SELECT QUANTILE(age, []) FROM people", "a list of quantiles has 1 to 50 levels"),
        ("SELECT APPROX_QUANTILES(age, 50) FROM people", "takes 1 to 49 parts"),
        ("SELECT TO_CHAR(age, 'Month'), COUNT(*) FROM people GROUP BY 1", "supported: TO_CHAR of a date, with YYYY"),
        (
            "SELECT WIDTH_BUCKET(age, 0, age, 3), COUNT(*) FROM people GROUP BY 1",
            "with numbers for low, high and count",
        ),
        ("SELECT MAD(age) FROM people", "the function 'MAD' is not supported here, line 1, column 8"),
        ("SELECT SUM(DISTINCT age) / 2 FROM people", r"SUM\(DISTINCT …\) is not supported"),
        ("SELECT STRING_AGG(sex, ', ') FROM people", r"SELECT STRING_AGG\(x, ', '\) FROM \(SELECT x, COUNT"),
        (
            "SELECT LIST(n) FROM (SELECT COUNT(*) n FROM people GROUP BY sex) t",
            r"write STRING_AGG\(x, ', ' ORDER BY …\)",
        ),
        (
            "SELECT STRING_AGG(sex, ', ') OVER () FROM (SELECT sex, COUNT(*) n FROM people GROUP BY sex) t",
            "without OVER",
        ),
        ("WITH discreet_b0 AS (SELECT 1 AS a) SELECT * FROM discreet_b0", "choose another"),
        ("SELECT COUNT(*) / 2 FROM people AS p(sex, age)", "a list of its columns is not supported here"),
        ("WITH q AS (SELECT sex FROM people) SELECT COUNT(*) FROM q TABLESAMPLE (10 PERCENT)", "a sample is not"),
        ("WITH q AS (SELECT * FROM people) SELECT COUNT(*) FROM q AS r(a, b)", "name the columns of rows"),
        ("SELECT COUNT(*) / 2 FROM (SELECT age FROM people LIMIT 5) t", "LIMIT"),
        ("SELECT t.age, COUNT(*) / 2 FROM people GROUP BY t.age", "there is no table 't' here"),
        ("SELECT a FROM people UNION ALL SELECT age FROM people", "aggregate each side|attribute 'a'"),
        ("SELECT sex, COUNT(*) / 2 FROM people GROUP BY 3", "is not the place of an output column"),
        ("SELECT COUNT(*) / 2 AS h FROM people GROUP BY COUNT(*)", "GROUP BY takes no aggregates"),
        ("SELECT " + " + ".join(["COUNT(*) / 2"] * 900) + " FROM people", "nested too deeply|too long"),
    ],
)
def test_what_is_neither_half_is_refused_in_words(people, text, words):
    with pytest.raises(DiscreetError, match=words):
        read(text, people)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') f, COUNT(*) FILTER (WHERE sex = 'M') m FROM people GROUP BY age",
        "SELECT b.s, t.n FROM (VALUES ('F')) AS b(s) "
        "JOIN (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) t ON t.sex = b.s",
    ],
)
def test_the_forms_that_refusals_of_pivot_and_lateral_name_are_answered(people, text):
    read(text, people)


def test_a_with_of_rows_is_read_under_the_names_that_its_columns_are_given(people):
    named = "SELECT COUNT(*) AS n FROM q AS r(age, sex) WHERE age = 'F' AND sex > 3"
    [own] = split(f"WITH q AS (SELECT sex, age FROM people) {named}", people).blocks
    [plain] = split("SELECT COUNT(*) AS n FROM people WHERE sex = 'F' AND age > 3", people).blocks
    assert own.question.columns[0].query == plain.question.columns[0].query


def test_more_blocks_than_are_answered_are_refused(people):
    parts = " + ".join(f"(SELECT COUNT(*) FROM people WHERE age = {age})" for age in range(30))
    with pytest.raises(UnsupportedQuery, match="more than 20 SELECTs"):
        split(f"SELECT {parts} AS n", people)


@pytest.mark.parametrize("value", [None, "no such value", "F"])
@pytest.mark.parametrize("condition", ["sex = ({})", "NOT sex <> ({})", "sex IN ({})", "sex NOT IN ({})"])
def test_no_value_that_came_out_makes_the_rest_fail(people, condition, value):
    inner = "SELECT MAX(s) FROM (SELECT sex AS s, COUNT(*) AS n FROM people GROUP BY sex) AS t"
    found = split(f"SELECT COUNT(*) FROM people WHERE {condition.format(inner)}", people)
    assert isinstance(found, Stepwise)
    assert isinstance(found.then(dict.fromkeys(found.first, Values((value,)))), Statement)


@pytest.mark.parametrize("known", [(), (1, 2)])
def test_a_sub_query_that_stands_for_one_value_and_has_none_or_several_is_null(people, known):
    found = split("SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people GROUP BY age)", people)
    assert isinstance(found, Stepwise)
    rest = found.then(dict.fromkeys(found.first, Values(known, are_numbers=True)))
    assert isinstance(rest, Statement)
    assert not rest.blocks[0].question.where.boxes


SINGLES = [
    ("SELECT (SELECT MAX(n) FROM t WHERE n > 5) AS x", False),
    ("SELECT (SELECT n FROM t WHERE n > 5 LIMIT 1) AS x", False),
    ("SELECT (SELECT n FROM t WHERE age = 5) AS x", False),
    ("SELECT (SELECT n FROM t WHERE n > 5) AS x", True),
    ("SELECT (SELECT age FROM t WHERE n = (SELECT MAX(n) FROM t)) AS x", True),
    ("SELECT age, (SELECT u.age FROM t AS u WHERE u.n > t.n) AS x FROM t", True),
    ("SELECT age FROM t ORDER BY (SELECT u.age FROM t AS u WHERE u.n > t.n)", True),
    ("SELECT age FROM t WHERE age > 3 AND n > (SELECT u.n FROM t AS u WHERE u.n > t.n)", True),
    ("SELECT age FROM t WHERE n > 3 AND age IN (SELECT age FROM t WHERE n > 5)", False),
    ("SELECT age FROM t WHERE n IN (1, (SELECT n FROM t WHERE n > 5))", True),
    ("SELECT age FROM t GROUP BY age HAVING MAX(n) > (SELECT n FROM t WHERE n > 5)", True),
    ("SELECT age FROM t WHERE n > ANY (SELECT n FROM t WHERE n > 5)", False),
    ("SELECT (SELECT n FROM t EXCEPT ALL SELECT n FROM t WHERE age = 3) AS x", True),
]


@pytest.mark.parametrize(("sql", "is_null"), SINGLES)
def test_one_value_is_null_where_noise_decides_how_many_there_are(people, sql, is_null):
    found = split(f"WITH t AS (SELECT age, COUNT(*) AS n FROM people GROUP BY age) {sql}", people)
    assert isinstance(found, Statement)
    assert any("may have several lines, as noise decides, line 1, column" in note for note in found.notes) == is_null
    assert ("discreet_lines" in found.public.sql()) == is_null
