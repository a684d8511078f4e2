"""What the engine says of a statement, in our words."""

import re

import pytest

from discreet.errors import DiscreetError
from discreet.sql.engine_words import ANY_OTHER, MEANINGS, in_our_words

T = "(SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age) AS t"
STATEMENTS = [
    (f"SELECT (SELECT n FROM {T}) AS x", "has several lines; MAX"),
    (f"SELECT (SELECT sex, n FROM {T} LIMIT 1) AS x", "has one column"),
    (f"SELECT t.zz FROM {T}", "no column 'zz'"),
    (f"SELECT zz FROM {T}", "no column 'zz'"),
    (f"SELECT * EXCLUDE (zz) FROM {T}", "no column 'zz'"),
    (f"SELECT w.sex FROM {T}", "no table 'w'"),
    (f"SELECT sex FROM {T} JOIN {T.replace('AS t', 'AS u')} ON t.age = u.age", "as in a.sex"),
    (f"SELECT t.sex FROM {T} JOIN {T} ON TRUE", "two results are called 't'"),
    (f"SELECT sex, SUM(n) FROM {T}", "neither in GROUP BY nor in an aggregate"),
    (f"SELECT sex FROM {T} WHERE SUM(n) > 3", "cannot stand here; calculate it in a WITH"),
    (f"SELECT sex FROM {T} WHERE SUM(n) OVER () > 3", "cannot stand here; calculate it in a WITH"),
    (f"SELECT SUM(SUM(n)) FROM {T}", "cannot stand here; calculate it in a WITH"),
    (f"SELECT n, DENSE_RANK() FROM {T}", "cannot stand here; calculate it in a WITH"),
    (f"SELECT UPPER(n) FROM {T}", "CAST them"),
    (f"SELECT sex + 1 FROM {T}", "CAST them"),
    (f"SELECT CASE WHEN n > 1 THEN sex ELSE n END AS x FROM {T}", "CAST one of them"),
    ("SELECT sex, COUNT(*) FROM people GROUP BY sex UNION SELECT COUNT(*) FROM people", "name as many in each"),
    (f"SELECT sex, n FROM {T} ORDER BY 5", "name the column"),
    (f"SELECT n FROM {T} WHERE n = 'abc'", "TRY_CAST"),
    (f"SELECT n FROM {T} WHERE REGEXP_MATCHES(sex, '(')", "before each sign"),
    (f"SELECT SUM(n) OVER (ROWS BETWEEN -2 PRECEDING AND 1 FOLLOWING) FROM {T}", "write constants"),
    (f"SELECT SUM(n) OVER w FROM {T}", "no window 'w'"),
    (f"SELECT QUANTILE(n, n) FROM {T}", "a constant"),
    (f"SELECT NTILE(0) OVER (ORDER BY n) FROM {T}", "within what the function takes"),
    (f"SELECT n & 1 FROM {T}", "'n & 1' is not supported here, line 1, column 8"),
]
ENGINES = re.compile(
    r"(?i)duckdb|sqlglot|binder|INT32|INT64|FROM clause!|candidate|delimited|identifier|exception|discreet_|bitwise"
)


@pytest.mark.parametrize(("sql", "words"), STATEMENTS)
def test_a_statement_that_the_engine_refuses_is_refused_in_our_words_with_what_to_write(vault, sql, words):
    with pytest.raises(DiscreetError) as refusal:
        vault.ask(sql, scale=20)
    assert words in str(refusal.value)
    assert not ENGINES.search(str(refusal.value))
    assert vault.ledger.spent_max == 0


def test_every_meaning_says_what_to_write_and_what_is_not_known_is_not_repeated():
    assert all(";" in meaning or "has to be" in meaning for _, meaning in MEANINGS)
    assert in_our_words("Internal Error: assertion failed in row 17 of 'Ada'") == ANY_OTHER
    assert in_our_words('Binder Error: Referenced column "discreet_draw" not found') == ANY_OTHER
