"""The sandbox runs queries over what it is handed, and nothing else."""

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from discreet.errors import UnsupportedQuery
from discreet.sql import sandbox
from discreet.sql.sandbox import run
from tests.patience import PATIENCE

TABLE = pa.table({"g": ["x", "y", None], "n": [4.0, 0.0, -1.0]})
TOGETHER = ", ".join(f"b0 AS a{place}" for place in range(9))
"""So many tables that their lines are 19,683 together."""


def ran(text: str, seconds: float = PATIENCE) -> list[tuple[object, ...]]:
    found = run(sqlglot.parse_one(text, read="duckdb"), {"b0": TABLE}, seconds)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT g, n FROM b0 ORDER BY n", [(None, -1.0), ("y", 0.0), ("x", 4.0)]),
        ("SELECT SUM(n) FROM b0", [(3.0,)]),
        ("SELECT n / SUM(n) OVER () FROM b0 ORDER BY 1 DESC LIMIT 1", [(4 / 3,)]),
        ("WITH w AS (SELECT * FROM b0 WHERE n > 0) SELECT COUNT(*) FROM w", [(1,)]),
        ("SELECT 7 // 2, 7 / 2, 2 ** 3", [(3, 3.5, 8.0)]),
        ("SELECT CASE WHEN g LIKE 'x%' THEN 1 ELSE 0 END FROM b0 ORDER BY g", [(1,), (0,), (0,)]),
        ("SELECT STRING_AGG(g, ', ' ORDER BY n) FROM b0", [("y, x",)]),
        (
            "SELECT STRING_AGG(g, ', ') FILTER (WHERE n > 0), LISTAGG(g, ',') FILTER (WHERE n > 9) FROM b0",
            [("x", None)],
        ),
        (f"SELECT STRING_AGG(a0.g, ', ') FROM {TOGETHER}", [("(longer than 10,000 characters)",)]),
        ("SELECT t.k FROM b0, (SELECT b0.n * 2 AS k) AS t ORDER BY 1", [(-2.0,), (0.0,), (8.0,)]),
    ],
)
def test_a_query_over_its_tables_is_answered(text, expected):
    assert ran(text) == expected


def test_a_text_of_several_lines_is_taken_to_be_as_long_as_it_may_be():
    with pytest.raises(UnsupportedQuery, match="texts of more than 100,000 characters"):
        ran("SELECT REPLACE(STRING_AGG(g, ','), 'x', 'aaaaaaaaaaa') FROM b0")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 / 0",
        "SELECT 1 % 0",
        "SELECT 1 // 0",
        "SELECT n / (n - n) FROM b0 LIMIT 1",
        "SELECT SQRT(-1.0)",
        "SELECT LN(0)",
        "SELECT LOG(-1)",
        "SELECT LOG(2, -1)",
        "SELECT CAST('a' AS INTEGER)",
        "SELECT 'a'::DATE",
        "SELECT MAKE_DATE(2020, 13, 1)",
        "SELECT SQRT(MIN(n)) FROM b0",
        "SELECT SQRT(MIN(n) OVER ()) FROM b0 LIMIT 1",
        "SELECT LN((SELECT MIN(n) FROM b0))",
        "SELECT CAST(n AS BIGINT) * 9223372036854775807 FROM b0 WHERE n = 4",
        "SELECT 9223372036854775807 + CAST(n AS BIGINT) FROM b0 WHERE n = 4",
        "SELECT CAST(n AS TINYINT) * 100::TINYINT FROM b0 WHERE n = 4",
        "SELECT LEFT(g, CAST(n AS BIGINT) * 2000000000) FROM b0 WHERE n = 4",
        "SELECT SUBSTRING(g, CAST(n AS BIGINT) * 2000000000) FROM b0 WHERE n = 4",
        "SELECT g SIMILAR TO ('(' || g) FROM b0 WHERE n = 4",
        "SELECT REGEXP_REPLACE(g, '(' || g, 'y') FROM b0 WHERE n = 4",
        "SELECT DATE '2020-01-01' + CAST(n AS INT) * 1000000000 FROM b0 WHERE n = 4",
        "SELECT DATE '2020-01-01' + CAST(n AS INT) * 1000000 FROM b0 WHERE n = 4",
        "SELECT DATE '2020-01-01' + INTERVAL (n * 10000) YEAR FROM b0 WHERE n = 4",
        "SELECT DATE '2020-01-01' + INTERVAL (n * 10000000) YEAR FROM b0 WHERE n = 4",
    ],
)
def test_what_would_fail_is_null(text):
    assert ran(text) == [(None,)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "READ_CSV"),
        ("SELECT * FROM read_parquet('x')", "READ_PARQUET"),
        ("SELECT * FROM read_text('/etc/passwd')", "read_text"),
        ("SELECT * FROM glob('*')", "glob"),
        ("SELECT * FROM generate_series(1, 1000000000000)", "GENERATE_SERIES"),
        ("SELECT * FROM range(10)", "GENERATE_SERIES"),
        ("SELECT UNNEST([1, 2])", "EXPLODE"),
        ("SELECT * FROM duckdb_settings()", "duckdb_settings"),
        ("SELECT * FROM duckdb_tables", "duckdb_tables"),
        ("SELECT * FROM information_schema.tables", "information_schema"),
        ("SELECT * FROM '/etc/passwd'", "/etc/passwd"),
        ('SELECT * FROM "/etc/passwd"', "/etc/passwd"),
        ("SELECT * FROM pragma_version()", "pragma_version"),
        ("SELECT getenv('HOME')", "getenv"),
        ("SELECT random()", "RAND"),
        ("SELECT now()", "now"),
        ("SELECT CURRENT_DATE", "CURRENT"),
        ("SELECT today()", "today"),
        ("SELECT uuid()", "UUID"),
        ("SELECT nextval('s')", "nextval"),
        ("SELECT current_setting('threads')", "current_setting"),
        ("SELECT query('SELECT 1')", "query"),
        ("SELECT repeat('x', 1000000000)", "REPEAT"),
        ("WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a FROM r) SELECT * FROM r", "RECURSIVE"),
        ("WITH duckdb_tables AS (SELECT 1) SELECT * FROM duckdb_tables", "engine's own"),
        ("ATTACH 'x.db'", "ATTACH"),
        ("INSTALL httpfs", "INSTALL"),
        ("PRAGMA version", "PRAGMA"),
        ("SET threads = 2", "SET"),
        ("COPY b0 TO 'x.csv'", "COPY"),
        ("CREATE TABLE t AS SELECT 1", "CREATE"),
        ("INSERT INTO b0 VALUES (1)", "INSERT"),
        ("SELECT CAST(1 AS BLOB)", "VARBINARY"),
        ("SELECT [1, 2]", "ARRAY"),
        ("SELECT * FROM b0 TABLESAMPLE 10%", "TABLESAMPLE|name and an alias"),
        ("SELECT * FROM people", "people"),
    ],
)
def test_what_is_on_no_list_is_refused_by_name(text, named):
    with pytest.raises(UnsupportedQuery, match=f"(?i){named}"):
        ran(text)


def test_the_settings_cannot_be_changed_and_files_cannot_be_read_even_past_the_lists():
    from discreet.sql.sandbox import _database

    for text in (
        "SET threads = 2",
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH 'x.db'",
        "COPY (SELECT 1) TO 'x'",
    ):
        with pytest.raises(duckdb.Error):
            _database().cursor().execute(text)


def test_a_statement_without_end_is_stopped():
    many = " CROSS JOIN ".join(f"b0 t{i}" for i in range(24))
    with pytest.raises(UnsupportedQuery, match=r"takes longer than 0\.2 seconds"):
        ran(f"SELECT SUM(t1.n * t2.n) FROM {many}", seconds=0.2)


def test_lines_that_a_with_makes_are_counted_as_well():
    many = ", ".join(f"w t{i}" for i in range(24))
    with pytest.raises(UnsupportedQuery, match=r"takes longer than 0\.2 seconds"):
        ran(f"WITH w AS (SELECT n FROM b0) SELECT SUM(t1.n * t2.n) FROM {many}", seconds=0.2)


def test_a_result_that_memory_would_not_hold_is_not_fetched():
    many = ", ".join(f"w t{i}" for i in range(16))
    with pytest.raises(UnsupportedQuery, match="makes more than 10,000,000 lines"):
        ran(f"WITH w AS (SELECT n FROM b0) SELECT t1.n FROM {many}", seconds=PATIENCE)


def test_a_statement_that_is_stopped_while_its_lines_come_is_refused_as_any_other():
    # Its first lines are there at once, so that the engine is stopped in the midst of handing over.
    many = ", ".join(f"w t{i}" for i in range(14))
    slow = " + ".join(f"LEVENSHTEIN(t{i}.g || '{'ab' * 40}', t{i + 1}.g || '{'ba' * 40}')" for i in range(1, 13))
    with pytest.raises(UnsupportedQuery, match=r"takes longer than 0\.5 seconds"):
        ran(f"WITH w AS (SELECT n, g FROM b0) SELECT t0.n FROM {many} WHERE t0.n = 2 OR {slow} < 0", seconds=0.5)


def test_a_result_of_few_wide_lines_is_not_fetched_either(monkeypatch):
    monkeypatch.setattr(sandbox, "MOST_BYTES", 1 << 20)
    many = ", ".join(f"w t{i}" for i in range(8))
    text = f"WITH w AS (SELECT n FROM b0) SELECT CONCAT('{'x' * 2000}', t1.n) AS t FROM {many}"
    with pytest.raises(UnsupportedQuery, match="GB of lines"):
        ran(text)


@pytest.mark.parametrize(
    "failure",
    [
        OSError("Out of Memory Error: ArrowBuffer: failed to allocate 268435456 bytes\nPossible solutions:"),
        OSError("Invalid Input Error: Arrow Appender: The maximum total string size for regular string buffers"),
        OSError("Conversion Error: no words of these are told"),
        pa.ArrowInvalid("a batch that cannot be read"),
        pa.ArrowMemoryError("realloc of size 9 failed"),
    ],
    ids=lambda failure: str(failure)[:20],
)
def test_whatever_goes_wrong_while_lines_come_is_a_refusal(failure, monkeypatch):
    def failing(_: object) -> pa.Table:
        raise failure

    monkeypatch.setattr(sandbox, "_fetched", failing)
    with pytest.raises(UnsupportedQuery) as refused:
        ran("SELECT n FROM b0")
    assert "Error" not in str(refused.value)


def test_lines_whose_texts_are_too_long_together_are_refused_before_they_are_made():
    wide = [f"'{'x' * 5000}' AS t{i}" for i in range(100)]
    half = f"WITH u AS (SELECT {', '.join(wide[:60])} FROM b0)"
    assert len(ran(f"{half} SELECT * FROM u")) == 3
    whole = f"SELECT {', '.join(wide)} FROM b0"
    for text in (whole, f"{half} SELECT u.*, v.* FROM u, u v", f"{half} SELECT * FROM u, u v"):
        with pytest.raises(UnsupportedQuery, match="texts of more than 400,000 in a line"):
            ran(text)


def grown(step: str, times: int) -> str:
    """The column g, a step made of it, another one made of that, and so on."""
    text = "g"
    for _ in range(times):
        text = step.replace("@", text)
    return text


@pytest.mark.parametrize(
    "outputs",
    [
        grown("REPLACE(@, 'x', 'xxxxxxxxxx')", 9),
        grown(r"REGEXP_REPLACE(@, '(.)', '\1\1', 'g')", 20),
        grown("(@ || @)", 12),
        grown("CONCAT_WS(@, 'a', @)", 8),
        "g AS a0, " + ", ".join(f"a{i} || a{i} AS a{i + 1}" for i in range(30)),
        "LEVENSHTEIN(a, a) FROM (SELECT REPLACE(g, 'x', 'xxxxxxxxxxxxxxxx') AS a FROM b0) t, (SELECT g",
        "g FROM (WITH a AS (SELECT REPLACE(g, 'x', g) AS g FROM b0), b AS (SELECT REPLACE(g, 'x', g) AS g FROM a) "
        "SELECT REPLACE(g, 'x', g) AS g FROM b) t, (SELECT g",
    ],
    ids=["replace", "regexp_replace", "||", "concat_ws", "aliases", "levenshtein", "with"],
)
def test_texts_that_grow_without_end_are_refused(outputs):
    with pytest.raises(UnsupportedQuery, match="texts of more than 100,000 characters"):
        ran(f"SELECT {outputs} FROM b0{') u' * outputs.endswith('(SELECT g')}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT COALESCE(CAST(g AS INTEGER), 5) + n FROM b0 WHERE n = 4", 9.0),
        ("SELECT COALESCE(CAST(n AS BIGINT) * 9223372036854775807, 5) + n FROM b0 WHERE n = 4", 9.0),
        ("SELECT LEFT(g, COALESCE(CAST(g AS INTEGER), 1)) FROM b0 WHERE n = 4", "x"),
        ("SELECT SUM(n) + SUM(COALESCE(CAST(n AS BIGINT) * 9223372036854775807, 1)) FROM b0 WHERE n = 4", 5.0),
        ("SELECT n FROM b0 ORDER BY n DESC LIMIT 3 - 2", 4.0),
    ],
)
def test_what_fails_is_null_where_it_fails_and_not_further_out(text, expected):
    assert ran(text) == [(expected,)]


@pytest.mark.parametrize(("sign", "part"), [("%n", "000001000"), ("%f", "000001")])
def test_a_moment_of_any_unit_is_read(sign, part):
    [(found,)] = ran(f"SELECT STRPTIME('2020-01-02 {part}', '%Y-%m-%d {sign}')")
    assert str(found).startswith("2020-01-02 00:00:00.000001")


def test_texts_that_people_make_are_not():
    text = "SELECT REPLACE(REPLACE(UPPER(g), 'X', 'an x'), 'Y', 'a y') || ' (' || g || ')' FROM b0 WHERE n = 4"
    assert ran(text) == [("an x (x)",)]


INJECTED = "year FROM DATE '2020-01-01') FROM b0; CREATE MACRO sqrt(x) AS 42; SELECT (1"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT EXTRACT(\"{INJECTED}\" FROM DATE '2020-01-01') FROM b0",
        "SELECT DATE '2020-01-01' + INTERVAL 1 \"day + (SELECT 1 FROM duckdb_settings())\" FROM b0",
        "SELECT DATE '2020-01-01' + INTERVAL (n) \"day, (SELECT 1 FROM duckdb_settings())\" FROM b0",
        "SELECT DATE_ADD(DATE '2020-01-01', INTERVAL 3 \"day, 1\") FROM b0",
        "SELECT LAST_DAY(DATE '2020-01-01', \"month), (1\") FROM b0",
        'SELECT CAST(n AS DECIMAL("3), 1")) FROM b0',
    ],
)
def test_no_name_is_taken_for_a_word_of_the_query(text):
    with pytest.raises(UnsupportedQuery, match="is not understood here"):
        ran(text)
    assert ran("SELECT SQRT(n) FROM b0 WHERE n = 4") == [(2.0,)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n AS e'x, (SELECT 1 FROM duckdb_settings()) AS y' FROM b0 WHERE n = 4",
        "SELECT n AS $$x, (SELECT 1 FROM duckdb_settings()) AS y$$ FROM b0 WHERE n = 4",
        "SELECT n FROM b0 AS $$x, duckdb_settings()$$ WHERE n = 4",
        "SELECT n FROM b0 AS t(e'g, n', n) WHERE n = 4",
    ],
)
def test_a_name_is_a_name_however_it_is_quoted(text):
    assert ran(text) == [(4.0,)]


def test_no_statement_takes_memory_from_another_that_runs_at_the_same_time():
    held = "SELECT a.range + b.range AS n FROM range(100000) a, range(100) b ORDER BY n"
    with sandbox._alone(60) as one:
        taken = one.sql(held).to_arrow_reader(1)  # sorted, and kept by the engine as long as somebody reads
        next(taken)
        used = "SELECT SUM(memory_usage_bytes) FROM duckdb_memory()"
        with sandbox._alone(60) as other:
            [(elsewhere,)] = other.execute(used).fetchall()
        [(here,)] = one.cursor().execute(used).fetchall()
        assert elsewhere < 1 << 20 < here
        del taken


def test_a_database_is_used_again_unless_it_was_stopped():
    with sandbox._alone(60):
        pass
    last = sandbox._idle[-1]
    for text in ("SELECT no_such_thing", "SELECT * FROM nowhere", "SELECT CAST('x' AS INTEGER)"):
        with pytest.raises(duckdb.Error), sandbox._alone(60) as one:
            one.execute(text)
        assert sandbox._idle[-1] is last, text  # the statement's own fault
    with pytest.raises(duckdb.Error), sandbox._alone(0) as one:
        one.execute("SELECT COUNT(*) FROM range(10000000000) a, range(10000000000) b")
    assert last not in sandbox._idle


def test_the_engine_is_given_one_select_and_nothing_else():
    from discreet.sql.sandbox import Prepared, run_prepared

    for text in ("SELECT 1; SELECT 2", "CREATE TABLE t AS SELECT 1", "CREATE MACRO sqrt(x) AS 42; SELECT 1"):
        with pytest.raises((AssertionError, ValueError)):
            run_prepared(Prepared(text), {"b0": TABLE})
    assert ran("SELECT SQRT(n) FROM b0 WHERE n = 4") == [(2.0,)]


def test_deep_nesting_is_refused():
    with pytest.raises(UnsupportedQuery, match="nested too deeply"):
        ran("SELECT " + " + ".join(["1"] * 200))


def test_a_refusal_says_where():
    with pytest.raises(UnsupportedQuery, match="line 2, column 4"):
        ran("SELECT 1,\n   getenv('HOME')")


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT REPLACE(REPLACE(g, 'a', '{'x' * 300}'), 'x', '{'y' * 300}') FROM b0",
        "WITH t0 AS (SELECT g AS w FROM b0)"
        + "".join(f", t{i} AS (SELECT w || w AS w FROM t{i - 1})" for i in range(1, 20))
        + " SELECT LENGTH(w) FROM t19",
    ],
)
def test_texts_that_grow_beyond_measure_are_refused_before_they_are_made(text):
    with pytest.raises(UnsupportedQuery, match="texts of more than 100,000 characters"):
        ran(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT REPLACE(REPLACE(g, 'a', ' and '), '-', ' to ') FROM b0",
        "SELECT " + " || '-' || ".join(["g"] * 30) + " FROM b0",
        "SELECT CASE " + " ".join(f"WHEN n = {i} THEN REPLACE(g, 'a', 'bb')" for i in range(30)) + " END FROM b0",
        "WITH t AS (SELECT g || '!' AS w FROM b0), u AS (SELECT w || ' ' || w AS w FROM t) SELECT w FROM u",
    ],
)
def test_ordinary_texts_are_put_together(text):
    assert len(ran(text)) == 3
