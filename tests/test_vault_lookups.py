"""Public look-up tables: added once with their digest, joined by their key."""

import duckdb
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import EVERYTHING, app_of
from discreet.errors import DomainError, UnsupportedQuery, VaultError
from discreet.ledger.ledger import Ledger
from discreet.server.mysql.catalogue import Catalogue
from discreet.server.mysql.text import read_statement
from discreet.sql.split import split
from discreet.vault.vault import Vault

DOMAIN = """
name = "visits"
[attributes.code]
kind = "category"
values = ["250", "401", "V45"]
outside = "other"
null = true
source = "a test"
[attributes.days]
kind = "integer"
low = 1
high = 3
source = "a test"
"""
ICD = "code,chapter,chronic\n250,Endocrine,1\n401,Circulatory,1\n999,Other,0\n"
DAYS = "n,word\n1,one\n2,two\n3,three\n"


@pytest.fixture
def vault(tmp_path):
    (tmp_path / "visits.toml").write_text(DOMAIN)
    (tmp_path / "icd9.csv").write_text(ICD)
    (tmp_path / "words.csv").write_text(DAYS)
    rows = pd.DataFrame({"code": ["250"] * 4 + ["401"] * 3 + ["V45"] * 2 + ["X"] + [None], "days": [1, 2] * 5 + [3]})
    given = {"table": rows, "domain": tmp_path / "visits.toml", "epsilon": 6_000_000, "neighbours": "add-remove"}
    made = Vault.init(tmp_path / "vault", **given)
    made.lookups.add(tmp_path / "icd9.csv", name="icd9", key="code")
    made.lookups.add(tmp_path / "words.csv", name="words", key="n")
    return made


def lines(vault, sql):
    answer = vault.ask(sql, scale="0.00001")
    return [(*labels, *(row.value for row in rows)) for labels, rows in answer.lines]


@pytest.mark.parametrize("day", ["", "-01"], ids=["its name", "its first day"])
def test_a_period_is_joined_by_its_name_or_its_first_day(tmp_path, day):
    months = (
        '[attributes.month]\nkind = "date"\nlow = 2026-01-01\nhigh = 2026-03-31\nperiod = "month"\nsource = "a test"\n'
    )
    (tmp_path / "visits.toml").write_text(f'name = "visits"\n{months}')
    (tmp_path / "seasons.csv").write_text(f"month,season\n2026-01{day},cold\n2026-02{day},cold\n2026-03{day},warm\n")
    rows = pd.DataFrame({"month": ["2026-01-05"] * 3 + ["2026-02-07"] * 2 + ["2026-03-31"]})
    given = {"table": rows, "domain": tmp_path / "visits.toml", "epsilon": 6_000_000, "neighbours": "add-remove"}
    vault = Vault.init(tmp_path / "vault", **given)
    vault.lookups.add(tmp_path / "seasons.csv", name="seasons", key="month")
    joined = "FROM visits JOIN seasons ON visits.month = seasons.month"
    assert lines(vault, f"SELECT season, COUNT(*) {joined} GROUP BY 1 ORDER BY 1") == [("cold", 5), ("warm", 1)]
    assert lines(vault, f"SELECT COUNT(*) {joined} WHERE season = 'warm'") == [(1,)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT i.chapter, COUNT(*) AS n FROM visits v JOIN icd9 i ON v.code = i.code GROUP BY 1 ORDER BY 1",
            [("Circulatory", 3), ("Endocrine", 4)],
        ),
        (
            "SELECT chapter, COUNT(*) AS n FROM visits LEFT JOIN icd9 USING (code) GROUP BY 1 ORDER BY n, chapter",
            [("Circulatory", 3), ("Endocrine", 4), (None, 4)],
        ),
        ("SELECT COUNT(*) AS n FROM visits v, icd9 i WHERE v.code = i.code AND i.chronic = 1 AND v.days = 1", [(4,)]),
        (
            "SELECT w.word, i.chapter, COUNT(*) AS n FROM visits v JOIN words w ON w.n = v.days "
            "JOIN icd9 i ON i.code = v.code GROUP BY 1, 2 HAVING COUNT(*) > 1.5 ORDER BY 3, 1",
            [("one", "Circulatory", 2), ("one", "Endocrine", 2), ("two", "Endocrine", 2)],
        ),
        (
            "SELECT i.chapter, t.n FROM (SELECT code, COUNT(*) AS n FROM visits GROUP BY code) t "
            "JOIN icd9 i ON i.code = t.code ORDER BY t.n",
            [("Circulatory", 3), ("Endocrine", 4)],
        ),
        ("SELECT SUM(v.days * i.chronic) AS n FROM visits v LEFT JOIN icd9 i ON v.code = i.code", [(10,)]),
    ],
)
def test_a_look_up_table_is_joined_by_its_key(vault, sql, expected):
    assert lines(vault, sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits v JOIN icd9 i ON v.days = i.chronic",
        "SELECT COUNT(*) FROM visits v, icd9 i",
        "SELECT COUNT(*) FROM visits v RIGHT JOIN icd9 i ON v.code = i.code",
        "SELECT COUNT(*) FROM visits v JOIN (VALUES (1, 2), (2, 3)) AS b(lo, hi) ON v.days BETWEEN lo AND hi",
        "SELECT COUNT(*) FROM visits WHERE days IN (SELECT chronic, code FROM icd9)",
        "SELECT COUNT(*) FROM visits WHERE days = (SELECT chronic FROM icd9)",
        "SELECT COUNT(*) FROM visits, generate_series(1, 1000000000) AS g(i)",
        *(
            f"SELECT COUNT(*) FROM generate_series({series}) AS g(d), (SELECT COUNT(*) AS n FROM visits) AS t"
            for series in (
                "1, 5, 0",
                "DATE '2024-01-31', DATE '2024-06-05', INTERVAL '1 month'",
                "DATE '2024-01-05', DATE '2024-06-05', INTERVAL '1 month 1 day'",
                "DATE '2024-01-05', DATE '2024-06-05', INTERVAL '1 month' + INTERVAL '1 day'",
                "DATE '2024-01-05', DATE '2024-06-05', NULL",
            )
        ),
        "SELECT COUNT(*) FROM visits JOIN (VALUES (random())) AS r(x) ON r.x = visits.days",
        "SELECT COUNT(*) FROM visits WHERE code IN (SELECT * FROM read_csv('icd9.csv'))",
        "SELECT COUNT(*) FROM (SELECT chapter FROM icd9) AS t",
        "SELECT COUNT(*) FROM visits v JOIN icd9 i ON v.code = i.code WHERE i.nosuch = 1",
        "SELECT * FROM icd9",
        # What is said beside a table's name is done or refused, never left out.
        "SELECT COUNT(*) FROM visits v JOIN icd9 i JOIN words w ON w.word = 'one' ON v.code = i.code",
        "SELECT COUNT(*) FROM visits v JOIN icd9 AS i(chapter, code, chronic) ON v.code = i.chapter",
        "SELECT COUNT(*) FROM visits AS v(days, code) JOIN icd9 AS i ON v.code = i.code",
    ],
)
def test_another_join_is_refused_and_spends_nothing(vault, sql):
    before = vault.ledger.charges
    with pytest.raises(UnsupportedQuery):
        vault.ask(sql, scale=10)
    assert vault.ledger.charges == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("code,a\n1,x\n1,y\n", r"bad\.csv: line 3: code: '1' is on line 2 too"),
        ("code,a\n,x\n", r"bad\.csv: line 2: code: a line needs its key"),
        ("code,a\n1\n", r"bad\.csv: line 2: 1 cells, not 2"),
        ("nokey,a\n1,x\n", r"bad\.csv: line 1: there is no column 'code'; there are nokey, a"),
        ("code,code\n1,x\n", r"bad\.csv: line 1: two columns have one name"),
        ("", r"bad\.csv: not CSV"),
        ("code,\udcff", "not CSV|surrogates"),
    ],
)
def test_a_file_that_is_no_code_list_is_refused(vault, tmp_path, content, words):
    path = tmp_path / "bad.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnsupportedQuery, match=words):
        vault.lookups.add(path, name="bad", key="code")
    assert "bad" not in vault.lookups.current()


def test_a_look_up_table_stays_as_it_is(vault, tmp_path):
    vault.lookups.add(tmp_path / "icd9.csv", name="icd9", key="code")
    (tmp_path / "icd9.csv").write_text(ICD + "7,x,1\n")
    with pytest.raises(VaultError, match="already"):
        vault.lookups.add(tmp_path / "icd9.csv", name="icd9", key="code")
    with pytest.raises(VaultError, match="name of the vault's table"):
        vault.lookups.add(tmp_path / "icd9.csv", name="visits", key="code")
    [file] = (vault.path / "lookups").glob("icd9-*.csv")
    file.write_text(ICD.replace("Endocrine", "Other"))
    with pytest.raises(VaultError, match="not the one that was added"):
        vault.lookups.current()


def test_the_audit_knows_look_up_tables(vault):
    audit = audit_vault(vault.path)
    assert audit.holds, audit.findings


def test_the_command_line_adds_lists_and_asks(vault, tmp_path):
    vault.ledger.close()
    (tmp_path / "more.csv").write_text("code,title\n250,Diabetes\n")
    run, app = CliRunner(), app_of(EVERYTHING)
    home = str(vault.path)
    added = run.invoke(app, ["lookup", "add", home, str(tmp_path / "more.csv"), "--name", "more", "--key", "code"])
    assert added.exit_code == 0, added.output
    listed = run.invoke(app, ["lookup", "list", home])
    assert "icd9" in listed.output
    assert "more" in listed.output
    asked = run.invoke(app, ["ask", home, "SELECT m.title, COUNT(*) AS n FROM visits v JOIN more m ON m.code = v.code "
                             "GROUP BY m.title", "--scale", "0.00001"])  # fmt: skip
    assert "Diabetes" in asked.output, asked.output


def test_an_unknown_table_names_the_look_up_tables_that_there_are(vault, tmp_path):
    with pytest.raises(
        UnsupportedQuery, match=r"no table 'airlines'.*ask FROM visits, and join it with .*: icd9, words$"
    ):
        vault.ask("SELECT a.name, COUNT(*) FROM visits JOIN airlines AS a ON a.code = visits.code GROUP BY a.name")
    given = {"table": pd.DataFrame({"code": ["250"], "days": [1]}), "epsilon": 1, "neighbours": "add-remove"}
    bare = Vault.init(tmp_path / "bare", domain=tmp_path / "visits.toml", **given)
    with pytest.raises(UnsupportedQuery, match="discreet lookup add"):
        bare.ask("SELECT a.name, COUNT(*) FROM visits JOIN airlines AS a ON a.code = visits.code GROUP BY a.name")


def test_clients_are_shown_the_look_up_tables(vault):
    catalogue = Catalogue(vault.linked, vault.lookups.current())

    def shown(sql):
        return [*catalogue.show(read_statement(sql), (), ()).rows]

    assert shown("SHOW TABLES") == [("visits",), ("visits_with_intervals",), ("icd9",), ("words",)]
    assert [line[:3] for line in shown("SHOW COLUMNS FROM icd9")] == [
        ("code", "varchar(3)", "NO"),
        ("chapter", "varchar(11)", "NO"),
        ("chronic", "bigint", "NO"),
    ]
    assert "CREATE TABLE `icd9`" in shown("SHOW CREATE TABLE icd9")[0][1]
    names, lines = catalogue.tables()["information_schema.columns"]
    places = names.index("TABLE_NAME"), names.index("COLUMN_NAME")
    assert ["icd9", "chapter"] in [[line[place] for place in places] for line in lines]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) AS n FROM visits WHERE code IN (SELECT code FROM icd9 WHERE chronic = 1)", [(7,)]),
        ("SELECT COUNT(*) AS n FROM visits WHERE code NOT IN (SELECT code FROM icd9)", [(3,)]),
        ("SELECT COUNT(*) AS n FROM visits WHERE days > (SELECT MAX(chronic) FROM icd9)", [(6,)]),
        ("SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM icd9 i WHERE i.code = v.code)", [(7,)]),
        (
            "SELECT COUNT(*) AS n FROM visits v WHERE NOT EXISTS (SELECT * FROM icd9 WHERE code = v.code AND "
            "chronic = 1)",
            [(4,)],  # the one without a code is among them
        ),
        ("SELECT days, COUNT(*) AS n FROM visits GROUP BY days ORDER BY n DESC FETCH FIRST 1 ROWS ONLY", [("1", 5)]),
        (
            "SELECT p.word, COUNT(*) AS n FROM visits JOIN (VALUES (1, 'once'), (2, 'twice')) AS p(k, word) "
            "ON p.k = visits.days GROUP BY p.word ORDER BY 1",
            [("once", 5), ("twice", 5)],
        ),
        (
            "SELECT b.name, COUNT(*) AS n FROM visits v JOIN (VALUES ('few', 0, 1), ('many', 2, 9)) AS b(name, lo, hi) "
            "ON v.days BETWEEN b.lo AND b.hi GROUP BY b.name ORDER BY 1",
            [("few", 5), ("many", 6)],
        ),
        (
            "WITH b(name, most) AS (VALUES ('few', 1)) SELECT COALESCE(name, '-') AS k, COUNT(*) AS n FROM visits "
            "LEFT JOIN b ON days <= most GROUP BY 1 ORDER BY 1",
            [("-", 6), ("few", 5)],
        ),
        ("SELECT COUNT(*) AS n FROM visits v LEFT JOIN icd9 i ON v.code = i.code AND i.chronic = 1", [(11,)]),
        (
            "SELECT i.chapter, COUNT(*) AS n FROM visits v JOIN icd9 i ON LOWER(v.code) = LOWER(i.code) GROUP BY 1 "
            "ORDER BY 1",
            [("Circulatory", 3), ("Endocrine", 4)],
        ),
        (
            "SELECT u.chapter, COUNT(*) AS n FROM visits v JOIN (SELECT code, chapter FROM icd9 WHERE chronic = 1) "
            "AS u ON u.code = v.code GROUP BY 1 ORDER BY 1",
            [("Circulatory", 3), ("Endocrine", 4)],
        ),
        (
            "SELECT g.i AS d, COALESCE(t.n, 0) AS n FROM generate_series(2, 5) AS g(i) LEFT JOIN "
            "(SELECT days, COUNT(*) AS n FROM visits GROUP BY days) AS t ON t.days = g.i ORDER BY 1",
            [("2", 5), ("3", 1), ("4", 0), ("5", 0)],
        ),
        (
            "SELECT STRFTIME(g.d, '%m') AS m, t.n FROM generate_series(TIMESTAMP '2026-01-01', TIMESTAMP '2026-05-01', "
            "INTERVAL 2 MONTH) AS g(d), (SELECT COUNT(*) AS n FROM visits) AS t ORDER BY 1",
            [("01", 11), ("03", 11), ("05", 11)],
        ),
        *(
            (
                f"SELECT COUNT(*) AS k, MIN(g.d) AS a, MAX(g.d) AS b FROM generate_series({series}) AS g(d), "
                "(SELECT COUNT(*) AS n FROM visits) AS t",
                [expected],
            )
            for series, expected in (
                ("5, 1, (-2)", ("3", "1", "5")),
                ("1, 3, 2 - 3", ("0", None, None)),
            )
        ),
        *(
            (
                f"SELECT COUNT(*) AS k, STRFTIME(MAX(g.d), '%m-%d %H') AS b FROM generate_series({series}) AS g(d), "
                "(SELECT COUNT(*) AS n FROM visits) AS t",
                [expected],
            )
            for series, expected in (
                ("DATE '2024-01-31', DATE '2024-02-05', INTERVAL 1 DAY", ("6", "02-05 00")),
                ("DATE '2023-12-29', DATE '2024-01-20', INTERVAL '1 week'", ("4", "01-19 00")),
                ("TIMESTAMP '2024-01-31 10:00:00', TIMESTAMP '2024-02-02', INTERVAL '6 hours'", ("7", "02-01 22")),
                ("DATE '2024-02-05', DATE '2024-01-20', -INTERVAL '3 days'", ("6", "02-05 00")),
                ("DATE '2024-05-28', DATE '2024-01-01', -INTERVAL '1 month'", ("5", "05-28 00")),
            )
        ),
        (
            "SELECT b.name, COUNT(*) AS n FROM visits v JOIN (VALUES ('few', -0.5, 1.5), ('many', 1.5, 99)) "
            "AS b(name, lo, hi) ON v.days > b.lo AND v.days < b.hi GROUP BY b.name ORDER BY 1",
            [("few", 5), ("many", 6)],
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE days >= (SELECT AVG(days) FROM visits JOIN (VALUES (1), (2)) "
            "AS k(d) ON k.d = days)",
            [(6,)],
        ),
        (
            "SELECT days, COUNT(*) AS n FROM visits GROUP BY days HAVING COUNT(*) = (SELECT MAX(n) FROM (SELECT days, "
            "COUNT(*) AS n FROM visits GROUP BY days) AS t) ORDER BY 1",
            [("1", 5), ("2", 5)],  # the n of the sub-query is its own, and not the statement's
        ),
    ],
)
def test_public_tables_that_a_statement_writes_down_or_reads_alone_cost_nothing_and_are_joined(vault, sql, expected):
    told, found = vault.explain(sql, scale="0.00001"), lines(vault, sql)
    assert [tuple(one if isinstance(one, str | None) else round(one, 6) for one in line) for line in found] == expected
    assert told.cost <= vault.ledger.budget.amount_of(vault.ledger.spent_max) or not told.is_exact


@pytest.mark.parametrize(
    "series",
    [
        "1, 5",
        "5, 1, -2",
        "5, 1, 1 - 3",
        "5, 1",
        "DATE '2026-01-30', DATE '2026-03-02', INTERVAL 1 DAY",
        "DATE '2026-01-31', DATE '2026-03-02', INTERVAL '1' WEEK",
        "DATE '2026-01-31', DATE '2026-03-02', INTERVAL '3 days'",
        "TIMESTAMP '2026-01-31 20:00:00', TIMESTAMP '2026-02-02', INTERVAL 6 HOUR",
        "DATE '2026-03-31', DATE '2026-01-30', -INTERVAL 1 DAY",
        "DATE '2026-03-31', DATE '2026-01-30', INTERVAL (-1) DAY",
        "DATE '2026-01-28', DATE '2027-01-28', INTERVAL 1 MONTH",
        "DATE '2026-12-28', DATE '2020-01-28', -INTERVAL 1 QUARTER",
    ],
)
def test_a_series_is_what_duckdb_makes_of_it(vault, series):
    sql = f"SELECT g.i, t.n FROM generate_series({series}) AS g(i), (SELECT COUNT(*) AS n FROM visits) AS t"
    [made] = split(sql, vault.domain).lookups
    assert list(made.columns["i"]) == [one for (one,) in duckdb.sql(f"FROM generate_series({series})").fetchall()]


@pytest.mark.parametrize("step", ["INTERVAL 1 MONTH", "-INTERVAL 1 MONTH", "INTERVAL 2 YEARS", "INTERVAL 1 QUARTER"])
def test_a_series_of_months_from_a_day_that_not_all_of_them_have_is_refused(vault, step):
    with pytest.raises(UnsupportedQuery, match="begins with a day that all months have, 1 to 28"):
        vault.explain(
            f"SELECT g.d, t.n FROM generate_series(DATE '2026-01-29', DATE '2026-06-30', {step}) AS g(d), "
            "(SELECT COUNT(*) AS n FROM visits) AS t"
        )


@pytest.mark.parametrize("step", ["INTERVAL '1 month 1 day'", "INTERVAL 1 MONTH + INTERVAL 1 DAY"])
def test_a_series_by_months_and_days_at_once_is_refused(vault, step):
    with pytest.raises(UnsupportedQuery, match="a series in time has steps of one unit"):
        vault.explain(
            f"SELECT g.d, t.n FROM generate_series(DATE '2026-01-05', DATE '2026-06-30', {step}) AS g(d), "
            "(SELECT COUNT(*) AS n FROM visits) AS t"
        )


def test_a_name_of_a_with_means_what_is_nearest(vault):
    sql = (
        "SELECT (SELECT COUNT(*) FROM (WITH b AS (SELECT code FROM icd9 WHERE chronic = 1) SELECT v.days FROM visits v "
        "JOIN b ON b.code = v.code) AS t) AS x, (SELECT COUNT(*) FROM (WITH b AS (SELECT code FROM icd9) SELECT v.days "
        "FROM visits v JOIN b ON b.code = v.code) AS t) AS y"
    )
    with pytest.raises(UnsupportedQuery, match="a join of rows"):
        vault.ask(sql, scale=10)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ('SELECT COUNT(*) FROM visits WHERE code = "V45"', "texts go in single quotes, as in 'V45'"),
        ('SELECT COUNT(*) FROM visits WHERE code IN ("v45", "401")', "texts go in single quotes, as in 'V45'"),
        ("SELECT DATE_FORMAT(days, '%Y') AS y, COUNT(*) FROM visits GROUP BY 1", r"write STRFTIME\(date, '%Y-%m'\)"),
        ("SELECT TO_CHAR(days, 'YYYY') AS y, COUNT(*) FROM visits GROUP BY 1", "CAST them to what it does"),
        ("SELECT COUNT(*) FROM visits WHERE days > TO_DATE('2024-01-01', 'YYYY-MM-DD')", "write DATE '2026-01-31'"),
        ("SELECT days, BOOL_OR(code = '250') AS b FROM visits GROUP BY days", r"write COUNT_IF\(condition\)"),
        ("SELECT days, ANY_VALUE(code) AS c FROM visits GROUP BY days", "write it into GROUP BY"),
    ],
)
def test_what_other_databases_write_is_refused_with_what_to_write_here(vault, sql, hint):
    with pytest.raises((UnsupportedQuery, DomainError), match=hint):
        vault.explain(sql)


def test_a_sub_query_for_each_line_of_a_look_up_table_is_joined_by_its_groups(vault):
    sql = "SELECT n, (SELECT COUNT(*) FROM visits v WHERE v.days = w.n) AS x FROM words w ORDER BY n"
    assert lines(vault, sql) == [("1", 5), ("2", 5), ("3", 1)]


@pytest.mark.parametrize(
    "asked",
    [
        "COUNT(*)",
        "2 * COUNT(*)",
        "COUNT(*) + 1",
        "COUNT(*) FILTER (WHERE days > 1)",
        "COUNT(DISTINCT days)",
        "APPROX_COUNT_DISTINCT(days)",
        "REGR_COUNT(days, days)",
        "SUM(days)",
        "COALESCE(SUM(days), -1)",
        "CASE WHEN COUNT(*) > 3 THEN 1 ELSE 0 END",
        "SUM(days) / COUNT(*)",
        "MAX(days)",
    ],
)
def test_a_sub_query_for_a_line_that_has_no_rows_is_what_it_is_of_no_rows(vault, asked):
    sub = f"(SELECT {asked} FROM visits v WHERE v.code = u.c)"
    sql = f"SELECT u.c, {sub} AS x FROM (VALUES ('250'), ('999')) u(c) ORDER BY 1"
    rows = pd.DataFrame({"code": ["250"] * 4, "days": [1, 2] * 2})
    with duckdb.connect() as engine:
        engine.register("visits", rows)
        expected = engine.execute(sql).fetchall()
    assert lines(vault, sql) == [(code, value if value is None else pytest.approx(value)) for code, value in expected]


def test_what_was_refused_for_want_of_a_look_up_table_is_answered_once_it_is_there(vault, tmp_path):
    sql = "SELECT m.title, COUNT(*) AS n FROM visits v JOIN marks m ON v.code = m.code GROUP BY 1"
    for _ in range(2):
        with pytest.raises(UnsupportedQuery, match="there is no table 'marks'"):
            vault.explain(sql)
    (tmp_path / "marks.csv").write_text("code,title\n250,sugar\n401,pressure\n")
    vault.lookups.add(tmp_path / "marks.csv", name="marks", key="code")
    assert vault.explain(sql, scale=10).cost > 0


def test_of_two_that_are_added_at_once_both_are_there(vault, tmp_path, monkeypatch):
    """The note that names all of them is written in a turn: another one that came in between is not left out."""
    other, note = Vault.open(vault.path), Ledger.note_after
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(DAYS)

    def late(*given):
        monkeypatch.setattr(Ledger, "note_after", note)
        other.lookups.add(tmp_path / "two.csv", name="two", key="n")
        return note(*given)

    monkeypatch.setattr(Ledger, "note_after", late)
    vault.lookups.add(tmp_path / "one.csv", name="one", key="n")
    assert set(vault.lookups.current()) == {"icd9", "words", "two", "one"}
    monkeypatch.setattr(Ledger, "note_after", late)
    (tmp_path / "two.csv").write_text(ICD)
    other = Vault.open(vault.path)
    head = vault.ledger.head
    with pytest.raises(VaultError, match="there is a look-up table two already"):
        vault.lookups.add(tmp_path / "two.csv", name="two", key="code")
    assert vault.ledger.head == head
