"""The MySQL port under other people's drivers, each as Debian ships it: JDBC, ODBC, R, Node and Go.

Where one is missing its tests are skipped, with a line that says how to get it; where CI is set they fail.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.server.mysql_clients import served_over_mysql

JDBC = Path("/usr/share/java/mariadb-java-client.jar")
NODE_MYSQL = Path("/usr/share/nodejs/mysql")
GO_PATH = Path("/usr/share/gocode")
ODBC = [*Path("/usr/lib").glob("*/odbc/libmaodbc.so")]
COUNTS = "SELECT sex, COUNT(*) AS n, n_low, n_high FROM people_with_intervals GROUP BY sex"


@pytest.fixture
def server(folder):
    with served_over_mysql(folder) as found:
        yield found


def require(found, package):
    if not found:
        needed = f"this needs {package}: apt-get install {package}"
        pytest.fail(needed, pytrace=False) if os.environ.get("CI") else pytest.skip(needed)


@pytest.fixture
def jdbc(server):
    """A connection by MariaDB's Connector/J, which is Metabase's driver, in a Java process of its own."""
    require(JDBC.exists(), "libmariadb-java")
    from py4j.java_gateway import JavaGateway

    gateway = JavaGateway.launch_gateway(classpath=str(JDBC), die_on_exit=True)
    try:
        gateway.jvm.java.lang.Class.forName("org.mariadb.jdbc.Driver")
        url = f"jdbc:mariadb://127.0.0.1:{server.port}/discreet"
        yield gateway.jvm.java.sql.DriverManager.getConnection(url, "ada", server.token)
    finally:
        gateway.shutdown()


def table_of(found):
    """The rows of a ResultSet, each as texts, and the names of its columns."""
    about = found.getMetaData()
    places = range(1, about.getColumnCount() + 1)
    rows = []
    while found.next():
        rows.append([found.getString(place) for place in places])
    return rows, [about.getColumnLabel(place) for place in places]


def test_jdbc_lists_describes_asks_and_prepares(server, jdbc):
    catalogue = jdbc.getMetaData()
    listed, _ = table_of(catalogue.getTables("discreet", None, "%", None))
    assert sorted((line[2], line[3]) for line in listed) == [("people", "TABLE"), ("people_with_intervals", "VIEW")]
    described, _ = table_of(catalogue.getColumns("discreet", None, "people", "%"))
    assert [line[3] for line in described] == ["age", "sex", "income"]
    entries = server.entries
    for found in (
        catalogue.getIndexInfo("discreet", None, "people", False, False),
        catalogue.getPrimaryKeys("discreet", None, "people"),
        catalogue.getImportedKeys("discreet", None, "people"),
        catalogue.getExportedKeys("discreet", None, "people"),
        catalogue.getBestRowIdentifier("discreet", None, "people", 0, True),
        catalogue.getTablePrivileges("discreet", None, "people"),
        catalogue.getProcedures("discreet", None, "%"),
        catalogue.getFunctions("discreet", None, "%"),
        catalogue.getSchemas(),
    ):
        assert table_of(found)[0] == []
    assert ["discreet"] in table_of(catalogue.getCatalogs())[0]
    assert ["VIEW"] in table_of(catalogue.getTableTypes())[0]
    assert server.entries == entries
    rows, names = table_of(jdbc.createStatement().executeQuery(COUNTS))
    assert names == ["sex", "n", "n_low", "n_high"]
    answer = server.vault.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    assert [[sex, float(n), float(low), float(high)] for sex, n, low, high in rows] == [
        [sex, row.value, row.low, row.high] for sex, row in zip(("F", "M", None), answer.rows, strict=True)
    ]
    prepared = jdbc.prepareStatement("SELECT COUNT(*) AS n FROM people WHERE age >= ? AND sex = ?")
    prepared.setInt(1, 40)
    prepared.setString(2, "F")
    [[over_forty]], _ = table_of(prepared.executeQuery())
    [row] = server.vault.ask("SELECT COUNT(*) AS n FROM people WHERE age >= 40 AND sex = 'F'").rows
    assert float(over_forty) == row.value


def test_a_refusal_reaches_jdbc_with_its_number_and_words(jdbc):
    from py4j.protocol import Py4JJavaError

    with pytest.raises(Py4JJavaError) as refusal:
        jdbc.createStatement().executeQuery("SELECT COUNT(*) FROM nobody")
    assert refusal.value.java_exception.getErrorCode() == 1146
    assert "there is no table" in refusal.value.java_exception.getMessage()


def test_odbc_asks_by_isql(server, tmp_path):
    require(ODBC and shutil.which("isql"), "odbc-mariadb and unixodbc")
    (tmp_path / "odbc.ini").write_text(
        f"[vault]\nDriver = {ODBC[0]}\nServer = 127.0.0.1\nPort = {server.port}\nDatabase = discreet\n"
    )
    environment = {**os.environ, "ODBCINI": str(tmp_path / "odbc.ini")}
    command = ["isql", "vault", "ada", server.token, "-b", "-d,"]
    found = subprocess.run(
        command, input=f"{COUNTS}\n", capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert found.returncode == 0, found.stdout + found.stderr
    answer = server.vault.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    lines = [line.split(",") for line in found.stdout.splitlines() if line.count(",") == 3]
    assert [float(line[1]) for line in lines] == [row.value for row in answer.rows]
    help_ = subprocess.run(command, input="help\n", capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert "people_with_intervals" in help_.stdout


NODE = """
const pool = require('mysql').createPool({host: '127.0.0.1', port: +process.env.PORT, user: 'ada',
                                          password: process.env.TOKEN, database: 'discreet'});
const rows = sql => new Promise((done, fail) =>
  pool.query(...sql, (error, found) => error ? fail(error) : done(found)));
(async () => {
  const tables = await rows(['SHOW TABLES']);
  const counts = await rows(['SELECT sex, COUNT(*) AS n FROM people WHERE age >= ? GROUP BY sex', [40]]);
  const code = await rows(['SELECT COUNT(*) FROM nobody']).catch(error => error.code);
  console.log(JSON.stringify({tables: tables.map(Object.values).flat(), counts, code}));
  pool.end();
})();
"""


def test_node_asks_by_a_pool_of_its_mysql_driver(server):
    require(NODE_MYSQL.exists() and shutil.which("node"), "node-mysql")
    environment = {**os.environ, "TOKEN": server.token, "PORT": str(server.port), "NODE_PATH": str(NODE_MYSQL.parent)}
    found = subprocess.run(["node", "-e", NODE], capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["tables"] == ["people", "people_with_intervals"]
    assert told["code"] == "ER_NO_SUCH_TABLE"
    answer = server.vault.ask("SELECT sex, COUNT(*) AS n FROM people WHERE age >= 40 GROUP BY sex")
    assert [line["n"] for line in told["counts"]] == [row.value for row in answer.rows]


R = """
vault <- DBI::dbConnect(RMySQL::MySQL(), host = "127.0.0.1", port = {port}L, username = "ada",
                        password = Sys.getenv("TOKEN"), dbname = "discreet")
cat(DBI::dbListTables(vault), "\\n")
people <- dplyr::tbl(vault, "people")
cat(colnames(people), "\\n")
counted <- dplyr::collect(dplyr::summarise(dplyr::group_by(dplyr::filter(people, age >= 40L), sex), n = dplyr::n()))
cat(counted$n, "\\n")
DBI::dbDisconnect(vault)
"""


def test_r_asks_by_rmysql_and_dbplyr(server):
    has_r = (
        shutil.which("Rscript")
        and not subprocess.run(
            ["Rscript", "-e", "library(RMySQL); library(dbplyr)"], capture_output=True, check=False
        ).returncode
    )
    require(has_r, "r-cran-rmysql and r-cran-dbplyr")
    environment = {**os.environ, "TOKEN": server.token}
    script = ["Rscript", "-e", R.replace("{port}", str(server.port))]
    found = subprocess.run(script, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert found.returncode == 0, found.stderr
    tables, columns, counts = found.stdout.splitlines()[:3]
    assert tables.split() == ["people", "people_with_intervals"]
    assert columns.split() == ["age", "sex", "income"]
    answer = server.vault.ask("SELECT sex, COUNT(*) AS n FROM people WHERE age >= 40 GROUP BY sex")
    assert sorted(map(float, counts.split())) == sorted(row.value for row in answer.rows)


GO = """
package main

import (
    "database/sql"
    "encoding/json"
    "errors"
    "os"

    "github.com/go-sql-driver/mysql"
)

func must(err error) {
    if err != nil {
        panic(err)
    }
}

func main() {
    vault, err := sql.Open("mysql", "ada:"+os.Getenv("TOKEN")+"@tcp(127.0.0.1:"+os.Getenv("PORT")+")/discreet")
    must(err)
    must(vault.Ping())
    told := map[string]interface{}{}
    tables, counts := []string{}, []float64{}
    listed, err := vault.Query("SHOW TABLES")
    must(err)
    for listed.Next() {
        var name string
        must(listed.Scan(&name))
        tables = append(tables, name)
    }
    prepared, err := vault.Prepare("SELECT sex, COUNT(*) AS n FROM people WHERE age >= ? GROUP BY sex")
    must(err)
    found, err := prepared.Query(40)
    must(err)
    kinds, err := found.ColumnTypes()
    must(err)
    for found.Next() {
        var sex sql.NullString
        var n int64
        must(found.Scan(&sex, &n))
        counts = append(counts, float64(n))
    }
    var refused *mysql.MySQLError
    if _, err = vault.Query("SELECT COUNT(*) FROM nobody"); !errors.As(err, &refused) {
        panic("not refused")
    }
    told["tables"], told["counts"] = tables, counts
    told["kind"], told["code"] = kinds[1].DatabaseTypeName(), refused.Number
    must(json.NewEncoder(os.Stdout).Encode(told))
}
"""


def test_go_asks_and_prepares_by_its_sql_package(server, tmp_path):
    has_driver = (GO_PATH / "src/github.com/go-sql-driver/mysql").is_dir()
    require(shutil.which("go") and has_driver, "golang-go and golang-github-go-sql-driver-mysql-dev")
    (tmp_path / "ask.go").write_text(GO)
    environment = {**os.environ, "TOKEN": server.token, "PORT": str(server.port), "GOPATH": str(GO_PATH),
                   "GO111MODULE": "off", "GOCACHE": str(tmp_path / "built"), "CGO_ENABLED": "0"}  # fmt: skip
    command = ["go", "run", str(tmp_path / "ask.go")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert (told["tables"], told["code"], told["kind"]) == (["people", "people_with_intervals"], 1146, "BIGINT")
    answer = server.vault.ask("SELECT sex, COUNT(*) AS n FROM people WHERE age >= 40 GROUP BY sex")
    assert told["counts"] == [row.value for row in answer.rows]
