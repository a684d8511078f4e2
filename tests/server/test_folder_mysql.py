"""A folder of vaults over MySQL: each is a schema, for whoever has a token in it."""

import shutil
import socket
import subprocess

import pymysql
import pytest

from discreet.server.auth import add_user, allow_mysql, revoke_user, share_user
from discreet.server.run import many
from discreet.server.wire import serving_mysql
from discreet.vault import Vault
from tests.patience import PATIENCE
from tests.server.mysql_clients import rows
from tests.server.test_folder import AT_ONCE, make_vault


@pytest.fixture(scope="module")
def offices(tmp_path_factory):
    """Two vaults, one of which is called as its table is; ana has one token for both, bo for one."""
    folder = tmp_path_factory.mktemp("served") / "offices"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder.parent))
        for name in ("health", "people"):
            allow_mysql(make_vault(folder, name).path)
        yield folder


@pytest.fixture(scope="module")
def tokens(offices):
    found = {"ana": add_user(offices / "health", "ana", "analyst"), "bo": add_user(offices / "people", "bo", "auditor")}
    share_user(offices / "people", "ana", "analyst", offices / "health", quota="0.5")
    return found


@pytest.fixture(scope="module")
def port(offices):
    listening = socket.create_server(("127.0.0.1", 0))
    with serving_mysql(many(offices, AT_ONCE, None, "").schemas, listening):
        yield listening.getsockname()[1]


@pytest.fixture
def connect(port, tokens):
    opened = []

    def connected(user="ana", database=None, password=None):
        opened.append(pymysql.connect(host="127.0.0.1", port=port, user=user, password=password or tokens[user],
                                      database=database, connect_timeout=PATIENCE, read_timeout=PATIENCE))  # fmt: skip
        return opened[-1]

    yield connected
    for connection in opened:
        connection.close()


def charges(offices, name):
    return Vault.open(offices / name).ledger.charges


def test_a_session_without_a_schema_sees_which_there_are_for_its_token(connect):
    ana, bo = connect(), connect("bo")
    assert rows(ana, "SHOW DATABASES")[0] == [("health",), ("people",), ("information_schema",)]
    assert rows(bo, "SHOW DATABASES")[0] == [("people",), ("information_schema",)]
    assert rows(ana, "SELECT DATABASE(), 1 + 1")[0] == [(None, 2)]
    listed = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
    assert rows(ana, listed)[0] == [("health", "people"), ("people", "people")]
    assert rows(bo, listed)[0] == [("people", "people")]
    assert len(rows(ana, "SELECT * FROM information_schema.columns WHERE table_schema = 'health'")[0]) == 6
    for statement in ("SELECT COUNT(*) FROM people", "SHOW TABLES", "DESCRIBE people"):
        with pytest.raises(pymysql.MySQLError) as refused:
            rows(ana, statement)
        assert refused.value.args[0] == 1046


def test_a_schema_is_chosen_at_the_connection_by_use_or_before_a_tables_name(connect, offices):
    before = {name: charges(offices, name) for name in ("health", "people")}
    ana = connect(database="health")
    assert rows(ana, "SELECT DATABASE()")[0] == [("health",)]
    rows(ana, "SELECT COUNT(*) AS n FROM people WHERE age < 20")
    assert charges(offices, "health") == before["health"] + 1
    rows(ana, "SELECT people.sex, COUNT(*) FROM people.people WHERE people.people.age < 30 GROUP BY people.sex")
    assert charges(offices, "people") == before["people"] + 1
    rows(ana, "USE people")
    rows(ana, "SELECT COUNT(*) AS n FROM people WHERE people.age < 40")
    assert charges(offices, "people") == before["people"] + 2
    rows(ana, "SELECT COUNT(*) FROM `health`.`people` WHERE `health`.`people`.`age` < 50")
    assert charges(offices, "health") == before["health"] + 2
    ana.select_db("health")
    assert rows(ana, "SELECT DATABASE()")[0] == [("health",)]


def test_tables_and_columns_of_another_schema_are_listed_by_its_name(connect):
    ana = connect(database="health")
    for statement in ("SHOW TABLES", "SHOW TABLES FROM people", "SHOW TABLES IN `people`"):
        assert rows(ana, statement)[0] == [("people",), ("people_with_intervals",)]
    for statement in ("DESCRIBE people.people", "SHOW COLUMNS FROM people FROM people", "SHOW COLUMNS FROM people"):
        assert [line[0] for line in rows(ana, statement)[0]] == ["age", "sex", "income"]
    assert "CREATE TABLE" in rows(ana, "SHOW CREATE TABLE people.people")[0][0][1]
    cost = rows(ana, "EXPLAIN SELECT COUNT(*) FROM people.people WHERE age < 10")[0]
    assert len(cost) == 1


def test_roles_and_quotas_are_those_of_the_schema(connect):
    bo, ana = connect("bo", "people"), connect(database="people")
    with pytest.raises(pymysql.MySQLError, match="may look but not ask"):
        rows(bo, "SELECT COUNT(*) FROM people")
    rows(ana, "SET discreet_scale = 1, discreet_relax = 0")
    with pytest.raises(pymysql.MySQLError, match="QuotaExceeded"):
        rows(ana, "SELECT COUNT(*) FROM people WHERE age BETWEEN 60 AND 70")
    rows(ana, "SELECT COUNT(*) FROM health.people WHERE age BETWEEN 60 AND 70")


@pytest.mark.parametrize("database", ["health", "none", "../health", "Health"])
def test_a_schema_that_a_token_does_not_open_is_as_good_as_none(connect, database):
    with pytest.raises(pymysql.MySQLError) as refused:
        connect("bo", database)
    assert refused.value.args[0] == 1045
    bo = connect("bo")
    with pytest.raises(pymysql.MySQLError) as refused:
        rows(bo, f"USE `{database}`")
    assert refused.value.args[0] == 1049
    with pytest.raises(pymysql.MySQLError) as refused:
        rows(bo, f"SELECT COUNT(*) FROM `{database}`.people")
    assert refused.value.args[0] == 1044


def test_one_name_may_have_a_token_of_its_own_in_each_schema_and_each_opens_its_own(connect, offices):
    other = {name: add_user(offices / name, "cy", "analyst") for name in ("health", "people")}
    for name, token in other.items():
        assert rows(connect("cy", None, token), "SHOW DATABASES")[0] == [(name,), ("information_schema",)]
        with pytest.raises(pymysql.MySQLError, match="access denied"):
            connect("cy", "health" if name == "people" else "people", token)
    with pytest.raises(pymysql.MySQLError, match="access denied"):
        connect("cy", None, "no")


def test_a_statement_is_about_one_vault(connect):
    both = "SELECT COUNT(*) FROM health.people JOIN people.people ON health.people.age = people.people.age"
    with pytest.raises(pymysql.MySQLError, match="about one vault"):
        rows(connect(), both)


def test_a_from_in_a_function_names_no_schema(connect):
    with pytest.raises(pymysql.MySQLError) as refused:
        rows(connect(database="health"), "SELECT EXTRACT(YEAR FROM people.age), COUNT(*) FROM people GROUP BY 1")
    assert refused.value.args[0] != 1044


def test_schemas_come_and_go_with_their_vaults_and_tokens(connect, offices):
    ana = connect()
    made = make_vault(offices.parent / "beside", "school").path
    shutil.move(made, offices / "school")
    assert ("school",) not in rows(ana, "SHOW DATABASES")[0]
    share_user(offices / "school", "ana", "analyst", offices / "health")
    rows(ana, "USE school")
    rows(ana, "SELECT COUNT(*) FROM people")
    assert charges(offices, "school") == 1
    revoke_user(offices / "school", "ana")
    with pytest.raises(pymysql.MySQLError) as refused:
        rows(ana, "SELECT COUNT(*) FROM people")
    assert refused.value.args[0] == 1046
    shutil.rmtree(offices / "school")
    with pytest.raises(pymysql.MySQLError):
        rows(ana, "USE school")


def test_a_vault_that_cannot_be_opened_is_an_error_of_its_own_schema(connect, offices):
    made = make_vault(offices, "broken").path
    share_user(made, "ana", "analyst", offices / "health")
    (made / "journal.sqlite").write_bytes(b"no journal at all")
    ana = connect()
    with pytest.raises(pymysql.MySQLError, match="broken cannot be opened now"):
        rows(ana, "SELECT COUNT(*) FROM broken.people")
    rows(ana, "SELECT COUNT(*) FROM health.people")
    shutil.rmtree(made)


def test_the_mysql_program_lists_and_asks_by_schema(port, tokens):
    client = shutil.which("mysql") or shutil.which("mariadb")
    assert client is not None, "there is no mysql here: apt-get install mariadb-client"
    said = "SHOW DATABASES; USE health; SHOW TABLES; SELECT COUNT(*) AS n FROM people.people WHERE age < 12"
    command = [client, "--protocol=TCP", "--skip-ssl", "-h", "127.0.0.1", "-P", str(port), "-u", "ana"]
    done = subprocess.run([*command, f"-p{tokens['ana']}", "-e", said], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:4] == ["Database", "health", "people", "information_schema"], done.stderr
    assert lines[4:7] == ["Tables_in_health", "people", "people_with_intervals"]
    assert lines[7] == "n"
