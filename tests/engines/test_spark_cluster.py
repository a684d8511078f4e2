"""A table that a Spark cluster's catalogue names: on a real standalone master and worker, in processes of their own."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.xdist_group("spark cluster")

SETTINGS = """
spark.driver.memory 512m
spark.executor.memory 512m
spark.cores.max 1
spark.sql.shuffle.partitions 1
spark.default.parallelism 1
spark.ui.enabled false
"""
DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
outside = "other"
source = "a test"
"""
# There is one Spark in a process, and that of the other tests is a local one.
ANALYST = """
import json, sys
from pyspark.sql import SparkSession

from discreet.domain.read import read_domain
from discreet.errors import TableError
from discreet.query.query import Count
from discreet.vault import Vault
from tests.populations import live_table, population

master, uri = sys.argv[1], f"{sys.argv[1]}?table=people"
rows = "id % 10 AS age, CASE id % 3 WHEN 0 THEN 'F' WHEN 1 THEN 'M' ELSE 'X' END AS sex"
spark = SparkSession.builder.master(master).getOrCreate()
spark.range(600).selectExpr(*rows.split(", ")).write.saveAsTable("people")

domain = read_domain("people.toml")
queries = [Count(domain.everything, by) for by in ((), ("sex",), ("age", "sex"))]
taken = [answer.tolist() for answer in population(uri, domain).evaluate(queries)]
live = live_table(uri, domain)
live.require(queries)
told = {
    "master": spark.sparkContext.master,
    "taken": taken,
    "live": [answer.tolist() for answer in live.evaluate(queries)],
    "same": live_table(uri, domain).id == live.id,
    "other": live_table(uri, domain, bytes(32)).id != live.id,
    "refused": [],
}
spark.table("people").where("age < 5").createOrReplaceGlobalTempView("young")
spark.sql("CREATE VIEW few AS SELECT * FROM people LIMIT 7")
for view in ("global_temp.young", "few"):
    told[view] = population(f"{master}?table={view}", domain).rows.size
    try:
        live_table(f"{master}?table={view}", domain)
    except TableError as refusal:
        told["refused"].append(str(refusal))

made = dict(table=uri, domain="people.toml", epsilon=100, neighbours="replace")
vault, here = Vault.init("vault", **made), Vault.init("here", **made, live=True)
asked = "SELECT COUNT(*) FROM people WHERE age < 5"
told["answers"] = [each.ask(asked, scale=1).value for each in (vault, here)]
told["location"] = vault.location
spark.range(300).selectExpr(*rows.split(", ")).write.insertInto("people")
told["after"] = Vault.open("vault").ask("SELECT COUNT(*) FROM people WHERE age < 3", scale=1).value
try:
    Vault.open("here").ask("SELECT COUNT(*) FROM people WHERE age < 3", scale=1)
except TableError as refusal:
    told["refusal"] = str(refusal)
for each in (vault, here):
    each.refresh()
told["refreshed"] = [each.ask(asked, scale=1).value for each in (vault, here)]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def cluster(spark_installed, tmp_path_factory):
    """The address of a master with one worker, and the environment to reach it in; both are gone at the end."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "spark-defaults.conf").write_text(f"{SETTINGS}spark.sql.warehouse.dir {folder}/warehouse\n")
    environment = {
        **os.environ,
        "SPARK_HOME": str(spark_installed),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    daemons = []

    def start(kind, said, *arguments):
        """Start one, and wait for what its log says when it is ready."""
        log = folder / f"{kind}.log"
        command = [spark_installed / "bin" / "spark-class", f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments]
        with log.open("w") as out:
            settings = {"env": environment, "cwd": folder, "stdout": out, "stderr": out, "start_new_session": True}
            daemons.append(subprocess.Popen([*command, *options], **settings))
        wait_until(lambda: daemons[-1].poll() is not None or re.search(said, log.read_text()))
        if found := re.search(said, log.read_text()):
            return found[0]
        return pytest.fail(f"Spark's {kind} did not start:\n{log.read_text()[-2000:]}", pytrace=False)

    try:
        master = start("Master", r"spark://127\.0\.0\.1:\d+")
        start("Worker", "Successfully registered", "--cores", "1", "--memory", "1g", master)
        yield master, environment
    finally:
        for daemon in reversed(daemons):  # each with the executors that it started
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()


@pytest.fixture(scope="module")
def told(cluster, tmp_path_factory):
    """What a process found there."""
    master, environment = cluster
    folder = tmp_path_factory.mktemp("analyst")
    (folder / "people.toml").write_text(DOMAIN)
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    environment = {**environment, "XDG_STATE_HOME": str(folder / "state"), "PYTHONPATH": path}
    settings = {"env": environment, "cwd": folder, "capture_output": True, "text": True, "timeout": 2 * PATIENCE}
    done = subprocess.run([sys.executable, "-c", ANALYST, master], check=False, **settings)
    assert done.returncode == 0, done.stderr[-4000:]
    return master, json.loads(done.stdout.splitlines()[-1])


def test_counts_and_marginals_are_exact_from_a_snapshot_and_live(told):
    master, found = told
    assert found["master"] == master
    assert found["taken"] == found["live"] == [600, [200, 200, 200], [[20, 20, 20]] * 10]


def test_files_are_recognised_by_the_key(told):
    assert told[1]["same"]
    assert told[1]["other"]


def test_views_of_the_catalogue_are_snapshotted_and_not_read_live(told):
    assert (told[1]["global_temp.young"], told[1]["few"]) == (300, 7)
    assert len(told[1]["refused"]) == 2
    assert all("Leave out --live, and a snapshot is taken" in refusal for refusal in told[1]["refused"])


def test_a_snapshot_stays_as_it_was_and_a_live_table_that_grew_is_refused_until_a_refresh(told):
    """Noise of scale 1 is beyond 60 once in e^60."""
    master, found = told
    assert found["location"] == f"{master}?table=people"
    assert all(abs(answer - 300) < 60 for answer in found["answers"])
    assert abs(found["after"] - 180) < 60
    assert "the table has changed since the vault was made, or last refreshed" in found["refusal"]
    assert all(abs(answer - 450) < 60 for answer in found["refreshed"])
