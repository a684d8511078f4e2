"""The MySQL port, as clients see it: PyMySQL, SQLAlchemy with pandas, and the mysql program."""

import json
import os
import shutil
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from unittest.mock import ANY

import pandas as pd
import pymysql
import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pymysql.constants import FIELD_TYPE

from discreet.ledger.spend import UNITS
from discreet.server.auth import add_user, allow_mysql, revoke_user
from discreet.server.log import last_asked
from discreet.server.mysql.connection import GuardedConnection
from discreet.server.wire import tls_context
from discreet.vault import Vault
from tests.patience import PATIENCE
from tests.server.mysql_clients import rows, served_over_mysql

COUNTS = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture
def server(folder):
    with served_over_mysql(folder) as found:
        yield found


@pytest.fixture
def ada(server):
    with server.connect() as connection:
        yield connection


def test_an_answer_is_the_vaults_own_and_asked_again_it_is_free(server, ada):
    found, names = rows(ada, COUNTS)
    assert names == ["sex", "n"]
    assert [sex for sex, _ in found] == ["F", "M", None]
    again = server.vault.ask(COUNTS)
    assert [row.value for row in again.rows] == [n for _, n in found]
    assert again.kind == "repeated"
    entries = server.entries
    assert rows(ada, COUNTS)[0] == found
    assert rows(ada, "SHOW WARNINGS")[0] == [("Note", "1105", "spent nothing")]
    assert server.entries == entries


def test_a_whole_statement_has_typed_columns_with_nulls_and_intervals(ada):
    asked = """
        WITH w AS (SELECT * FROM `people` WHERE `age` < 3) -- the young
        SELECT 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS `share`, `age`, `sex` FROM `w`
        GROUP BY `age`, `sex` HAVING COUNT(*) > -1000000 ORDER BY `age`, `sex`;
    """
    found, names = rows(ada, asked)
    assert names == ["share", "age", "sex"]
    assert [(age, sex) for _, age, sex in found] == [(age, sex) for age in (0, 1, 2) for sex in ("F", "M", None)]
    assert all(0 <= share <= 100 for share, _, _ in found)
    rows(ada, "SET @@discreet_intervals = 1")
    again, names = rows(ada, asked)
    assert names[:4] == ["share", "share_low", "share_high", "share_may_be_zero"]
    assert all(line[1] <= line[0] <= line[2] for line in again)
    told, _ = rows(ada, "EXPLAIN WITH w AS (SELECT * FROM people WHERE age < 3) SELECT COUNT(*) * 2 AS n FROM w")
    assert [line[0] for line in told] == ["COUNT(*)"]


def test_columns_come_in_the_order_they_were_asked_for_with_numbers_where_labels_are_numbers(ada):
    asked = "SELECT COUNT(*) AS n, `people`.`age` AS `how old` FROM `discreet`.`people` WHERE age < 3 GROUP BY age"
    found, names = rows(ada, asked)
    assert names == ["n", "how old"]
    assert [age for _, age in found] == [0, 1, 2]


def test_intervals_and_accuracy_are_asked_for_by_variables_of_the_session(server, ada):
    rows(ada, "SET discreet_intervals = 1, SESSION discreet_within = 30, @@session.discreet_confidence = 0.9")
    [(n, low, high, shrunken, may_be_zero, kind, about)], names = rows(ada, "SELECT COUNT(*) n FROM people")
    assert names[:5] == ["n", "n_low", "n_high", "n_shrunken", "n_may_be_zero"]
    assert names[5:] == ["discreet_kind", "discreet_answered_for"]
    assert (shrunken, may_be_zero, kind, about) == (None, 0, "measured", "")
    answer = server.vault.ask("SELECT COUNT(*) n FROM people", within=30, confidence="0.9")
    assert (n, low, high) == (answer.value, *answer.interval())
    assert high - low <= 60
    young = server.vault.count(age=(0, 5))
    server.vault.measure(young, scale=Fraction(UNITS, server.vault.ledger.left(young.where)))
    rows(ada, "SET discreet_relax = on")
    [(*_, kind, about)], _ = rows(ada, "SELECT COUNT(*) n FROM people WHERE age < 3")
    assert (kind, bool(about)) == ("relaxed", True)
    rows(ada, "SET discreet_relax = 0")
    with pytest.raises(pymysql.err.MySQLError, match="BudgetExceeded"):
        rows(ada, "SELECT COUNT(*) n FROM people WHERE age < 3")
    rows(ada, "SET discreet_intervals = DEFAULT, discreet_within = DEFAULT")
    assert rows(ada, "SELECT @@discreet_intervals, @@discreet_within")[0] == [(0, None)]


def test_the_view_with_intervals_is_the_table_whatever_the_session_sets(server, ada):
    found, names = rows(ada, COUNTS.replace("people", "`discreet`.`people_with_intervals`"))
    assert names[:5] == ["sex", "n", "n_low", "n_high", "n_shrunken"]
    assert all(low <= n <= high for _, n, low, high, *_ in found)
    entries = server.entries
    assert rows(ada, COUNTS) == ([line[:2] for line in found], ["sex", "n"])
    qualified = "SELECT People_With_Intervals.sex, COUNT(*) AS n FROM people_with_intervals GROUP BY 1"
    assert [line[:4] for line in rows(ada, qualified)[0]] == [line[:4] for line in found]
    assert server.entries == entries


def test_a_chart_asks_for_the_ends_of_an_interval_by_name_and_gets_no_other_column(server, ada):
    asked = "SELECT sex, n_low, COUNT(*) AS n, `n_high` AS `at most` FROM people_with_intervals GROUP BY sex"
    found, names = rows(ada, asked)
    assert names == ["sex", "n_low", "n", "at most"]
    answer = server.vault.ask(COUNTS)
    assert answer.kind == "repeated"
    assert found == [(line[0], row.low, row.value, row.high) for line, row in zip(found, answer.rows, strict=True)]
    wrapped = "SELECT sex, SUM(n) AS s, s_low, s_high FROM (SELECT sex, COUNT(*) AS n FROM people_with_intervals " \
              "GROUP BY sex) AS t GROUP BY sex"  # fmt: skip
    again, names = rows(ada, wrapped)
    assert names == ["sex", "s", "s_low", "s_high"]
    assert [line[:2] for line in again] == [(sex, n) for sex, _, n, _ in found]
    assert all(low <= s <= high for _, s, low, high in again)
    assert rows(ada, f"EXPLAIN {asked}")[1][0] == "aggregate"
    with pytest.raises(pymysql.Error, match="m_low is neither in GROUP BY"):
        rows(ada, "SELECT sex, m_low, COUNT(*) AS n FROM people_with_intervals GROUP BY sex")


@pytest.fixture
def spent(folder):
    """A connection whose quota is gone, where nothing that was released comes near an average."""
    with served_over_mysql(folder, quota="0.1") as server, server.connect() as connection:
        rows(connection, "SELECT COUNT(*) FROM people")
        yield server, connection


AVERAGES = [
    "SELECT AVG(income) AS a FROM people WHERE age < 13",
    "SELECT 2 * a AS b FROM (SELECT AVG(income) AS a FROM people WHERE age < 13) AS t",
]


@pytest.mark.parametrize("sql", AVERAGES)
def test_a_number_for_which_too_little_is_left_is_an_error_and_no_empty_cell(spent, sql):
    server, connection = spent
    entries = server.entries
    with pytest.raises(pymysql.Error, match="would cost more than is left there") as refusal:
        rows(connection, sql)
    assert refusal.value.args[0] == 1226
    assert "SET discreet_null_unanswered = 1" in refusal.value.args[1]
    assert server.entries == entries


@pytest.mark.parametrize("sql", AVERAGES)
def test_it_is_null_with_a_warning_where_the_session_or_the_policy_says_so(spent, sql):
    server, connection = spent
    rows(connection, "SET discreet_null_unanswered = 1")
    with connection.cursor() as cursor:
        cursor.execute(sql)
        assert cursor.fetchall() == ((None,),)
        assert cursor.warning_count
    told = rows(connection, "SHOW WARNINGS")[0]
    assert {level for level, _, _ in told} == {"Warning"}
    assert "would cost more than is left there" in told[0][2]
    rows(connection, "SET discreet_null_unanswered = DEFAULT")
    object.__setattr__(server.vault, "policy", replace(server.vault.policy, null_unanswered=True))
    assert rows(connection, sql)[0] == [(None,)]
    rows(connection, "SET discreet_null_unanswered = 0")
    with pytest.raises(pymysql.Error, match="would cost more"):
        rows(connection, sql)


def test_a_number_for_a_region_nearby_comes_with_warnings_that_tools_show(spent):
    _, connection = spent
    rows(connection, "SELECT COUNT(*) FROM people WHERE age < 10")
    told = rows(connection, "SHOW WARNINGS")[0]
    assert {level for level, _, _ in told} == {"Warning"}
    assert any("for the region beside them" in note for _, _, note in told)


FREE = [
    ("SELECT 1", [(1,)]),
    ("select 1 from dual", [(1,)]),
    ("/* a tool */ SELECT @@version_comment LIMIT 1", [("Discreet: a private statistical database",)]),
    (
        "/* mysql-connector-j-8.4.0 */SELECT  @@session.auto_increment_increment AS auto_increment_increment, "
        "@@character_set_client AS character_set_client, @@interactive_timeout AS t, @@lower_case_table_names AS l, "
        "@@max_allowed_packet AS p, @@net_write_timeout AS w, @@performance_schema AS s, @@sql_mode AS m",
        [(1, "utf8mb4", 600, 1, 1 << 20, 30, 0, "")],
    ),
    ("SHOW CREATE TABLE `discreet`.`people`", [("people", ANY)]),  # Superset names the database, too
    ('SELECT name from mysql.help_topic WHERE name like "SHOW %"', []),
    ("SELECT DATABASE(), CURRENT_USER()", [("discreet", "ada@discreet")]),
    ("SELECT @@session.transaction_isolation AS level", [("READ-COMMITTED",)]),
    ("SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1", [("test plain returns",)]),
    (
        "SELECT CONVERT('7', SIGNED INTEGER) AS a, CAST('8' AS UNSIGNED) AS b, CONVERT(LEFT('99', 1), CHAR) AS c",
        [(7, 8, "9")],
    ),
    ("SELECT UCASE('a') AS a, LCASE('B') AS b, LOCATE('b', 'abc') AS c, RIGHT('abc', 2) AS d", [("A", "b", 2, "bc")]),
    ("SELECT LEAST(3, 2) AS a, GREATEST(3, 2) AS b, LEAST(1, NULL) AS c, RIGHT('abc', 0) AS d", [(2, 3, None, "")]),
    ("SET NAMES utf8mb4", []),
    ("SET autocommit = 1, sql_mode = 'ANSI_QUOTES'", []),
    ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", []),
    ("/*!40101 SET character_set_results = NULL */", []),
    ("START TRANSACTION", []),
    ("COMMIT", []),
    ("USE discreet", []),
    ("SHOW DATABASES", [("discreet",), ("information_schema",)]),
    ("SHOW TABLES", [("people",), ("people_with_intervals",)]),
    ("SHOW FULL TABLES WHERE Table_type = 'VIEW'", [("people_with_intervals", "VIEW")]),
    ("SHOW CREATE TABLE people_with_intervals", [("people_with_intervals", ANY, "utf8mb4", "utf8mb4_general_ci")]),
    ("SELECT * FROM people_with_intervals LIMIT 10", []),
    ("SELECT table_name, is_updatable FROM information_schema.views", [("people_with_intervals", "NO")]),
    ("DESCRIBE people_with_intervals sex", [("sex", "varchar(9)", "YES", "", None, "")]),
    ("SHOW FULL TABLES FROM `discreet` WHERE Table_type = 'BASE TABLE'", [("people", "BASE TABLE")]),
    ("SHOW TABLES LIKE 'x%'", []),
    ("SHOW VARIABLES LIKE 'discreet\\_wi%'", [("discreet_within", None)]),
    ("SHOW SESSION STATUS", []),
    ("SHOW INDEX FROM people", []),
    ("SHOW CHARACTER SET LIKE 'utf8%'", [("utf8mb4", "", "utf8mb4_general_ci", "4")]),
    ("SHOW PROCEDURE STATUS WHERE Db = 'discreet'", []),
    ("SHOW FULL PROCESSLIST", []),
    ("SHOW GRANTS FOR CURRENT_USER()", [("GRANT SELECT ON `discreet`.* TO CURRENT_USER",)]),
    ("DESCRIBE people sex", [("sex", "varchar(9)", "YES", "", None, "")]),
    ("SHOW COLUMNS FROM people FROM discreet LIKE 'a%'", [("age", "bigint", "NO", "", None, "")]),
    (
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE()",
        [("people", "BASE TABLE"), ("people_with_intervals", "VIEW")],
    ),
    (
        "SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME LIKE 'peopl_' ORDER BY 1",
        [("age", "bigint"), ("income", "double"), ("sex", "varchar")],
    ),
    ("SELECT * FROM people LIMIT 1", []),
    ("SELECT people.age, 'x' FROM people WHERE 1 <> 1 LIMIT 0, 200", []),
    ("SELECT DISTINCT sex FROM people WHERE sex <> 'F' ORDER BY sex DESC", [("M",)]),
    ("SELECT sex FROM people GROUP BY sex LIMIT 2", [("F",), ("M",)]),
    ("SELECT DISTINCT income FROM people LIMIT 1 OFFSET 1", [("[10000, 25000)",)]),
]


def test_the_catalogue_and_the_probes_of_tools_are_answered_from_the_domain_and_never_spend(server, ada):
    entries = server.entries
    for sql, expected in FREE:
        assert rows(ada, sql)[0] == expected, sql
    assert server.entries == entries
    assert last_asked(server.vault.path, 100) == []


def test_columns_without_a_name_are_called_what_was_asked_for(ada):
    assert rows(ada, "SELECT @@autocommit, 1, @@foreign_key_checks, VERSION() v") == (
        [(0, 1, 1, "8.0.29-discreet")],
        ["@@autocommit", "1", "@@foreign_key_checks", "v"],
    )


def test_a_sample_of_rows_is_empty_has_the_right_columns_and_says_why(ada):
    assert rows(ada, "SELECT * FROM people LIMIT 1") == ([], ["age", "sex", "income"])
    [(_, _, note)], _ = rows(ada, "SHOW WARNINGS")
    assert "single rows are never shown" in note


def test_what_an_answer_would_cost_is_explained_for_nothing(server, ada):
    entries = server.entries
    rows(ada, "SET discreet_scale = 20")
    [(name, _, _, scale, cost, left, more)], _ = rows(ada, "EXPLAIN SELECT COUNT(*) AS n FROM people")
    assert (name, scale, cost, left, more) == ("n", 20.0, 0.05, 10.0, 200)
    assert server.entries == entries


REFUSED = [
    ("SELECT COUNT(*) FROM people WHERE salary > 1", 1054, "DomainError: people has no attribute 'salary'"),
    ("SELECT sex, COUNT(*) FROM people", 1235, "sex is neither in GROUP BY nor in an aggregate"),
    ("SELECT * FROM (SELECT * FROM people) AS t", 1235, "the statement has no aggregate"),
    ("SELECT * FROM people JOIN people p", 1235, "a join of rows is not supported"),
    ("SELECT COUNT(*) FROM others", 1146, "there is no table 'others'"),
    ("SELECT 1; SELECT 2", 1235, "more than one statement"),
    ("SELECT 'abc", 1235, "ends within quotes"),
    ("DROP TABLE people", 1235, "begins with 'DROP'"),
    ("KILL 1", 1235, "begins with 'KILL'"),
    ("LOAD DATA LOCAL INFILE 'x' INTO TABLE people", 1235, "begins with 'LOAD'"),
    ("SELECT LOAD_FILE('/etc/passwd')", 1235, "no such function"),
    ("SELECT load_extension('x')", 1235, "not authorized"),
    ("SELECT x FROM information_schema.tables, people", 1235, "no such table"),
    ("SELECT zeroblob(1000000000)", 1235, "too big"),
    ("SELECT " + "+".join(["1"] * 30_000), 1235, "the server's own SQL"),
    ("SELECT COUNT(*) FROM " + ", ".join(f"information_schema.columns c{i}" for i in range(16)), 1235, "too long"),
    ("SELECT 1 " + " " * 70_000, 1235, "longer than"),
    ("SET discreet_within = 0", 1231, "must be above 0"),
    ("SET discreet_confidence = 1.5", 1231, "between 0 and 1"),
    ("SET discreet_intervals = 7", 1231, "is 1"),
    ("SET discreet_witin = 5", 1235, "discreet_within"),
    ("SET GLOBAL sql_mode = ''", 1235, "a session sets its own"),
    ("SET character_set_results = 'klingon'", 1235, "no character set"),
    ("SELECT @@nothing", 1235, "there is no variable"),
    ("DESCRIBE others", 1146, "there is no table 'others'"),
    ("SHOW MASTER STATUS", 1235, "SHOW 'MASTER'"),
    ("USE mysql", 1049, "there is no database 'mysql'"),
    ("", 1065, "there is no statement"),
]  # fmt: skip


def test_what_cannot_be_answered_is_refused_in_the_vaults_words_under_mysqls_numbers(server, ada):
    entries = server.entries
    for sql, code, words in REFUSED:
        with pytest.raises(pymysql.Error) as refusal:
            rows(ada, sql)
        assert refusal.value.args[0] == code, (sql[:80], refusal.value)
        assert words in refusal.value.args[1], sql[:80]
    assert rows(ada, "SELECT 1")[0] == [(1,)]
    assert server.entries == entries


def test_budget_and_quota_hold_here_too(folder):
    with served_over_mysql(folder, epsilon=1, quota="0.5") as server, server.connect() as ada:
        rows(ada, "SET discreet_scale = 2")
        assert len(rows(ada, "SELECT COUNT(*) FROM people WHERE age < 50")[0]) == 1
        assert len(rows(ada, "SELECT COUNT(*) FROM people WHERE age < 40")[0]) == 1
        assert any("ada has a quota of ε = 0.5" in note for _, _, note in rows(ada, "SHOW WARNINGS")[0])
        assert server.vault.ledger.charges == 1
        rows(ada, "SET discreet_scale = DEFAULT")
        with pytest.raises(pymysql.Error, match="QuotaExceeded") as refusal:
            rows(ada, "SELECT MEDIAN(age) FROM people")
        assert refusal.value.args[0] == 1226
        assert [line["user"] for line in last_asked(server.vault.path, 100)] == ["ada"] * 3


def test_many_clients_at_once_overspend_nothing(folder):
    with served_over_mysql(folder, epsilon=1) as server:

        def ask(i):
            with server.connect() as connection:
                rows(connection, "SET discreet_scale = 10")
                try:
                    return rows(connection, f"SELECT COUNT(*) FROM people WHERE age < {50 + i}")[0]
                except pymysql.Error as refusal:
                    return refusal.args[0]

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(16)))
        assert all(isinstance(answer, list) or answer == 1226 for answer in found)
        assert 0 <= server.vault.budget().left < 1


def test_an_auditor_may_look_but_not_ask(server):
    token = add_user(server.vault.path, "otto", "auditor")
    with server.connect("otto", token) as otto:
        assert rows(otto, "SHOW TABLES")[0] == [("people",), ("people_with_intervals",)]
        with pytest.raises(pymysql.Error, match="may look but not ask") as refusal:
            rows(otto, COUNTS)
        assert refusal.value.args[0] == 1142


def test_nobody_enters_with_anything_but_their_own_living_token(server):
    other = add_user(server.vault.path, "bob", "analyst")
    for user, password in [("ada", "x"), ("ada", ""), ("ada", other), ("eve", server.token), ("", ""), ("bob", "")]:
        with pytest.raises(pymysql.err.OperationalError) as refusal:
            server.connect(user, password)
        assert refusal.value.args[0] == 1045
        assert "access denied" in refusal.value.args[1]
    with pytest.raises(pymysql.err.OperationalError, match="no database 'elsewhere'"):
        server.connect(database="elsewhere")


def test_a_revoked_token_opens_nothing_from_the_next_statement_on_whoever_gets_the_name(server, ada):
    revoke_user(server.vault.path, "ada")
    add_user(server.vault.path, "ada", "analyst")
    with pytest.raises(pymysql.Error, match="revoked or has expired"):
        rows(ada, "SELECT 1")


def test_a_token_from_before_the_port_was_first_on_has_no_second_hash_and_does_not_open_it(folder):
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=1, neighbours="add-remove")
    add_user(vault.path, "early", "analyst")
    assert allow_mysql(vault.path) == ["early"]
    add_user(vault.path, "late", "analyst")
    assert allow_mysql(vault.path) == ["early"]
    assert (folder / "vault" / "users.json").read_text().count('"native": null') == 1


def test_a_user_who_asks_too_fast_is_told_to_wait(folder):
    with served_over_mysql(folder, rate=2) as server, server.connect() as ada:
        assert rows(ada, "SELECT 1")[0] == [(1,)]  # connecting took two of the four that a second allows
        with pytest.raises(pymysql.Error, match="TooManyRequests") as refusal:
            [rows(ada, "SELECT 1") for _ in range(1000)]
        assert refusal.value.args[0] == 1226


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of the loopback's own, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False).sign(key, hashes.SHA256())
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"


def test_with_a_certificate_whoever_does_not_encrypt_is_sent_away(folder, certificate):
    with served_over_mysql(folder, tls_context(*certificate)) as server:
        trusted = ssl.create_default_context(cafile=certificate[0])
        trusted.check_hostname = False
        with server.connect(ssl=trusted) as ada:
            assert len(rows(ada, COUNTS)[0]) == 3
        with pytest.raises(pymysql.err.OperationalError, match="TLS only"):
            server.connect(ssl_disabled=True)


def test_sqlalchemy_and_pandas_read_tables_and_answers(server):
    engine = sa.create_engine(f"mysql+pymysql://ada:{server.token}@127.0.0.1:{server.port}/discreet")
    assert sa.inspect(engine).get_table_names() == ["people"]
    people = sa.Table("people", sa.MetaData(), autoload_with=engine)
    assert [column.name for column in people.columns] == ["age", "sex", "income"]
    frame = pd.read_sql(COUNTS, engine)
    assert list(frame.columns) == ["sex", "n"]
    assert frame["n"].dtype == int
    asked = sa.select(people.c.sex, sa.func.count().label("n")).where(people.c.age >= 18).group_by(people.c.sex)
    bound = pd.read_sql(asked, engine)
    direct = server.vault.ask("SELECT sex, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY sex")
    assert list(bound["n"]) == [row.value for row in direct.rows]
    assert pd.read_sql_table("people", engine).empty
    engine.dispose()


@pytest.fixture(scope="module")
def client():
    found = shutil.which("mysql") or shutil.which("mariadb")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no mysql client; .ci/run installs it")
        pytest.skip("there is no mysql client: install mariadb-client")
    return found


def run_client(client, server, sql, *options, token=None):
    password = f"-p{server.token if token is None else token}"
    command = [client, "-h", "127.0.0.1", "-P", str(server.port), "-u", "ada", password, *options]
    return subprocess.run(command, input=sql, capture_output=True, text=True, timeout=PATIENCE)


def test_the_mysql_program_asks_completes_names_and_shows_notes(client, server):
    found = run_client(client, server, f"{COUNTS};\nSHOW TABLES;\n", "--show-warnings", "--auto-rehash")
    assert (found.returncode, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert lines[0] == "sex\tn"
    assert [line.split("\t")[0] for line in lines[1:4]] == ["F", "M", "NULL"]
    assert float(lines[1].split("\t")[1]) == int(lines[1].split("\t")[1])
    assert any("spent ε" in line for line in lines)
    assert lines[-2:] == ["people", "people_with_intervals"]
    wrong = run_client(client, server, "SELECT 1", token="wrong")
    assert wrong.returncode == 1
    assert "ERROR 1045 (28000): access denied" in wrong.stderr


@pytest.mark.usefixtures("folder")
def test_the_command_serves_both_ports_and_says_whose_tokens_are_too_old():
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=1, neighbours="add-remove")
    add_user(vault.path, "early", "analyst")
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", "vault", "--port", "0"]
    with subprocess.Popen(
        [*command, "--mysql-port", "0", "--deadline", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    ) as process:
        try:
            told = [process.stdout.readline() for _ in range(3)]
            assert "do not open it: early" in told[0]
            assert "http://127.0.0.1:" in told[1]
            port = int(told[2].split("mysql://127.0.0.1:")[1])
            token = add_user(vault.path, "ada", "analyst")
            with pymysql.connect(host="127.0.0.1", port=port, user="ada", password=token) as ada:
                assert rows(ada, "SELECT COUNT(*) AS n FROM people")[1] == ["n"]
        finally:
            process.terminate()


OPENING = [
    "set autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')",  # MariaDB Connector/J
    "set session_track_schema=1,session_track_system_variables='auto_increment_increment'",
    "SET SESSION session_track_transaction_info = 'CHARACTERISTICS', session_track_state_change = ON",
    "SET SQL_SELECT_LIMIT=DEFAULT",  # ODBC
    "SET @@sql_mode = CONCAT(@@sql_mode, ',ANSI'), sql_safe_updates = (1 + 1) / 2",
]


@pytest.mark.parametrize("said", OPENING)
def test_what_drivers_open_with_is_understood(ada, said):
    assert rows(ada, said)[0] == []
    assert rows(ada, "SELECT 1")[0] == [(1,)]


def test_a_set_takes_an_expression_of_variables(ada):
    rows(ada, "SET sql_mode = 'ONLY_FULL_GROUP_BY'")
    rows(ada, "SET autocommit=1, sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')")
    assert rows(ada, "SELECT @@sql_mode")[0] == [("ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES",)]
    with pytest.raises(pymysql.Error, match="did not understand"):
        rows(ada, "SET sql_mode = CONCAT(")


def test_a_session_says_that_it_commits_by_itself_and_that_no_rows_are_affected(ada):
    for commits in (True, False, True):
        ada.autocommit(commits)
        assert ada.get_autocommit() == commits
    last = GuardedConnection.ok_or_eof
    assert rows(ada, "SELECT 1 UNION SELECT 2")[0] == [(1,), (2,)]
    ended = []
    with pytest.MonkeyPatch.context() as here:
        here.setattr(GuardedConnection, "ok_or_eof", lambda self, **said: ended.append(last(self, **said)) or ended[-1])
        rows(ada, "SELECT 1 UNION SELECT 2")
    assert ended[-1][1:2] == b"\0"  # of an EOF without affected rows, or of one that has no warnings


def test_counts_are_whole_numbers_to_clients_too(ada):
    with ada.cursor() as cursor:
        cursor.execute("SELECT sex, COUNT(*) AS n, SUM(income) AS s FROM people GROUP BY sex")
        types = [column[1] for column in cursor.description]
        assert types == [FIELD_TYPE.VAR_STRING, FIELD_TYPE.LONGLONG, FIELD_TYPE.DOUBLE]
        assert all(isinstance(n, int) for _, n, _ in cursor.fetchall())


def test_hints_after_select_are_passed_over_and_rows_are_cut_to_the_sessions_limit(ada):
    rows(ada, COUNTS)
    hinted = COUNTS.replace("SELECT", "SELECT SQL_NO_CACHE /* x */ HIGH_PRIORITY")
    assert rows(ada, hinted)[0] == rows(ada, COUNTS)[0]
    rows(ada, "SET SQL_SELECT_LIMIT = 2")
    assert len(rows(ada, COUNTS)[0]) == 2
    rows(ada, "SET SQL_SELECT_LIMIT = DEFAULT")
    assert len(rows(ada, COUNTS)[0]) == 3


def test_an_explanation_as_json_is_the_vaults_own(server, ada):
    [[text]], names = rows(ada, f"EXPLAIN FORMAT=JSON {COUNTS}")
    assert names == ["EXPLAIN"]
    assert Fraction(json.loads(text)["cost"]) == server.vault.explain(COUNTS).cost
    assert rows(ada, f"EXPLAIN FORMAT=TRADITIONAL {COUNTS}")[0] == rows(ada, f"EXPLAIN {COUNTS}")[0]
