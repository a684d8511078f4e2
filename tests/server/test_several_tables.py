"""A vault over several tables behind a server: the same questions, prices and refusals through HTTP, `Client` and
MySQL, alone and in a folder of vaults."""

import json
import re
import shutil
import socket
import subprocess
from functools import cache

import pymysql
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from discreet.client import Client
from discreet.errors import UnknownTable
from discreet.server.app import create_app
from discreet.server.auth import add_user, allow_mysql
from discreet.server.log import last_asked
from discreet.server.run import many
from discreet.server.wire import serving_mysql
from discreet.vault import Vault
from tests.patience import PATIENCE
from tests.server.conftest import finished, served
from tests.server.hospital import TABLES, make_hospital
from tests.server.mysql_clients import rows, serving
from tests.server.test_folder import AT_ONCE, bearer, make_vault

JOINED = "SELECT p.sex, COUNT(*) AS n FROM encounters e JOIN patients p ON e.patient = p.patient GROUP BY p.sex"
ALONE = "SELECT sex, COUNT(*) AS n FROM encounters GROUP BY sex"


@pytest.fixture
def vault(tmp_path):
    return make_hospital(tmp_path / "hospital")


@pytest.fixture
def users(vault):
    app = create_app(vault, slot=0, rate=0, deadline=None)

    @cache
    def client(name, role="analyst", quota=None):
        token = add_user(vault.path, name, role, quota=quota)
        return TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")

    return client


def asked(client, sql, **wish):
    return client.post("ask", json={"sql": sql, **wish}).json()


def test_each_table_and_a_join_along_its_key_are_asked_over_http_at_the_price_that_explain_says(users, vault):
    ana = users("ana")
    for name, rows_of_one in zip(TABLES, (1, 3, 5), strict=True):
        wish = {"sql": f"SELECT COUNT(*) FROM {name} WHERE sex = 'F'", "scale": 50}
        told, answer = (ana.post(verb, json=wish).json() for verb in ("explain", "ask"))
        assert float(told["cost"]) == float(answer["cost"]) == rows_of_one / 50
    counts = asked(ana, JOINED, scale=50)
    assert [row["labels"]["sex"] for row in counts["rows"]] == ["F", "M"]
    assert asked(ana, ALONE, scale=50)["cost"] == "0"
    assert [line["verb"] for line in last_asked(vault.path, 3)] == ["ask", "ask", "ask"]


def test_what_is_no_question_about_one_table_is_refused_with_what_to_do_and_nothing_is_spent(users, vault):
    ana, before = users("ana"), vault.ledger.charges
    for sql, words in [
        ("SELECT COUNT(*) FROM encounters a JOIN encounters b ON a.patient = b.patient", "not joined with itself"),
        ("SELECT COUNT(*) FROM encounters e JOIN patients p ON e.ward = p.sex", "no key of these tables"),
        ("SELECT COUNT(*) FROM visits", "there are patients, encounters, prescriptions"),
    ]:
        refused = ana.post("ask", json={"sql": sql})
        assert refused.status_code == 400
        assert words in refused.json()["error"]["message"]
    assert vault.ledger.charges == before


def test_the_description_lists_the_tables_and_describes_the_one_that_is_named(users):
    ana = users("ana")
    whole = ana.get("describe").json()
    assert [(one["name"], one["max_rows"], one["parent"], one["key"]) for one in whole["tables"]] == [
        ("patients", 1, None, None),
        ("encounters", 3, "patients", None),
        ("prescriptions", 5, "encounters", "encounter"),
    ]  # fmt: skip
    assert whole["tables"][2]["attributes"] == ["drug", "ward", "sex", "age"]
    of_one = ana.get("describe", params={"table": "Encounters"}).json()
    assert of_one["name"] == "encounters"
    assert [attribute["name"] for attribute in of_one["attributes"]] == ["ward", "sex", "age"]
    unknown = ana.get("describe", params={"table": "encounter"})
    assert (unknown.status_code, unknown.json()["error"]["kind"]) == (400, "UnknownTable")
    assert "did you mean encounters" in unknown.json()["error"]["message"]


def test_the_budget_is_one_and_its_map_is_by_table(users):
    ana, boss = users("ana"), users("boss", "custodian")
    asked(ana, "SELECT COUNT(*) FROM patients WHERE sex = 'F'", scale=2)
    asked(ana, "SELECT COUNT(*) FROM encounters WHERE sex = 'M' AND ward = 'a'", scale=3)
    budget = boss.get("budget").json()
    assert (budget["spent"], budget["left"], budget["by_user"]) == ("1", "3", {"ana": "1"})
    maps = {name: boss.get("budget/map", params={"rows": "sex", "columns": "age", "table": name}).json()["left"]
            for name in TABLES}  # fmt: skip
    assert maps["patients"] == maps["encounters"] == maps["prescriptions"] == [[3.5] * 10, [3.0] * 10]
    by_ward = boss.get("budget/map", params={"rows": "sex", "columns": "ward", "table": "encounters"}).json()
    assert by_ward["left"] == [[3.5, 3.5, 3.5], [3.0, 4.0, 4.0]]
    missing = boss.get("budget/map", params={"rows": "sex", "columns": "ward", "table": "patients"})
    assert missing.json()["error"]["kind"] == "DomainError"
    metrics = boss.get("metrics").text
    assert "discreet_budget_spent 1\n" in metrics
    assert "discreet_charges 2\n" in metrics


def test_elsewhere_is_what_is_left_of_whoever_spent_least_in_all_tables(users, vault):
    ana = users("ana")
    asked(ana, "SELECT COUNT(*) FROM prescriptions WHERE drug = 'x'", scale=5)
    budget = ana.get("budget").json()
    assert (budget["left"], budget["elsewhere"]) == ("3", "4")
    assert [vault.table(name).budget().elsewhere for name in TABLES] == [4, 4, 4]


def test_releases_of_all_tables_come_in_order_and_say_which_they_are_of(users):
    ana = users("ana")
    for name in ("prescriptions", "patients", "encounters"):
        asked(ana, f"SELECT COUNT(*) FROM {name}", scale=50)
    lines = ana.get("releases").json()["releases"]
    assert [line["table"] for line in lines] == ["prescriptions", "patients", "encounters"]
    assert all(f"FROM {line['table']}" in line["what"][0] for line in lines)
    [only] = ana.get("releases", params={"table": "patients"}).json()["releases"]
    assert only == lines[1]
    release = ana.get(f"releases/{lines[2]['charge']}").json()
    assert (release["table"], release["charge"]) == ("encounters", lines[2]["charge"])
    first, second = (ana.get("releases", params={"limit": 1, "after": after}).json() for after in (0, 3))
    assert (first["releases"], second["releases"]) == ([lines[0]], [lines[1]])
    told = [entry["what"] for entry in ana.get("ledger").json()["entries"] if entry["kind"] == "charge"]
    assert [re.search(r"FROM (\w+)", what)[1] for what in told] == ["prescriptions", "patients", "encounters"]


def test_a_quota_holds_over_all_tables_together(users):
    bo = users("bo", quota="0.1")
    assert float(asked(bo, "SELECT COUNT(*) FROM patients", scale=20)["cost"]) == 0.05
    refused = bo.post("ask", json={"sql": "SELECT COUNT(*) FROM encounters", "scale": 50, "relax": False})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "QuotaExceeded")


def test_what_is_not_done_over_several_tables_is_refused_in_words(users):
    boss = users("boss", "custodian")
    job = boss.post("buckets/made", json={"sensitive": "age", "limits": "0.5"})
    error = finished(boss, job.json()["id"])["error"] if job.status_code == 202 else job.json()["error"]
    assert error["kind"] == "UnsupportedQuery"
    assert "this one is over patients, encounters, prescriptions" in error["message"]


def test_every_table_parameter_is_in_the_openapi_document_and_replies_keep_to_it(users):
    ana = users("ana")
    document = ana.get("openapi.json").json()
    for path in ("describe", "budget/map", "releases"):
        parameters = document["paths"][f"/api/v1/{path}"]["get"]["parameters"]
        assert "table" in [parameter["name"] for parameter in parameters]
    asked(ana, "SELECT COUNT(*) FROM encounters", scale=50)
    schemas = document["components"]["schemas"]
    for path, name in (("describe", "DescriptionJson"), ("releases", "ReleasesJson")):
        assert set(ana.get(path).json()) <= set(schemas[name]["properties"])
    assert set(ana.get("releases").json()["releases"][0]) <= set(schemas["ReleaseLineJson"]["properties"])
    assert set(ana.get("describe").json()["tables"][0]) == set(schemas["LinkedTableJson"]["properties"])


def test_a_client_has_the_verbs_of_a_vault_over_a_table(vault):
    token = add_user(vault.path, "ana", "analyst")
    with served(vault) as [address]:
        ana = Client(address, token)
        answer = ana.ask(JOINED, scale=50)
        assert answer.cost == vault.explain(ALONE, scale=40).cost * 4 / 5
        assert [row.value for row in vault.ask(ALONE, scale=50).rows] == [row.value for row in answer.rows]
        visits = ana.table("encounters")
        own = vault.table("encounters").describe()
        assert visits.describe() == {key: own[key] for key in own if key not in ("vault", "table")}
        assert visits.budget_map("sex", "ward").values.tolist() == vault.table("encounters").budget_map(
            "sex", "ward"
        ).tolist()  # fmt: skip
        assert [line["table"] for line in ana.releases()] == ["encounters"]
        assert list(ana.table("patients").releases()) == []
        with pytest.raises(UnknownTable, match="there is no table"):
            ana.table("x").describe()


@pytest.fixture
def service(vault):
    with serving(vault) as found:
        yield found


@pytest.fixture
def ada(service):
    with service.connect(database="discreet") as connection:
        yield connection


def test_each_table_is_a_table_of_the_schema_with_a_view_beside_it(ada, service):
    entries = service.entries
    views = [f"{name}_with_intervals" for name in TABLES]
    assert rows(ada, "SHOW TABLES")[0] == [(name,) for name in (*TABLES, *views)]
    assert rows(ada, "SHOW FULL TABLES WHERE Table_type = 'VIEW'")[0] == [(name, "VIEW") for name in views]
    assert [line[:4] for line in rows(ada, "DESCRIBE encounters")[0]] == [
        ("encounter", "varchar(255)", "NO", "PRI"),
        ("patient", "varchar(255)", "NO", "MUL"),
        ("ward", "varchar(1)", "NO", ""),
        ("sex", "varchar(1)", "NO", ""),
        ("age", "bigint", "NO", ""),
    ]
    assert rows(ada, "DESCRIBE patients")[0][0][:4] == ("patient", "varchar(255)", "NO", "PRI")
    assert rows(ada, "SELECT * FROM prescriptions LIMIT 5")[1] == ["encounter", "drug", "ward", "sex", "age"]
    assert rows(ada, "SELECT patients.patient, patients.sex FROM patients LIMIT 5") == ([], ["patient", "sex"])
    assert rows(ada, "SELECT DISTINCT p.sex FROM encounters e JOIN patients p ON e.patient = p.patient")[0] == [
        ("F",), ("M",)]  # fmt: skip
    listed = "SELECT table_name, COUNT(*) FROM information_schema.columns GROUP BY table_name ORDER BY 1"
    assert dict(rows(ada, listed)[0])["encounters_with_intervals"] == 5
    assert service.entries == entries


def test_tools_find_how_the_tables_are_joined(ada):
    usage = (
        "SELECT table_name, column_name, referenced_table_name, referenced_column_name FROM "
        "information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL AND table_schema = DATABASE()"
    )
    assert rows(ada, usage)[0] == [("encounters", "patient", "patients", "patient"),
                                   ("prescriptions", "encounter", "encounters", "encounter")]  # fmt: skip
    kinds = "SELECT table_name, constraint_type FROM information_schema.table_constraints"
    assert sorted(rows(ada, kinds)[0]) == [("encounters", "FOREIGN KEY"), ("encounters", "PRIMARY KEY"),
                                           ("patients", "PRIMARY KEY"), ("prescriptions", "FOREIGN KEY")]  # fmt: skip
    joined = (
        "SELECT k.column_name FROM information_schema.referential_constraints r JOIN "
        "information_schema.key_column_usage k "
        "ON r.unique_constraint_name = k.constraint_name AND r.referenced_table_name = k.table_name ORDER BY 1"
    )
    assert rows(ada, joined)[0] == [("encounter",), ("patient",)]
    assert [line[:5] for line in rows(ada, "SHOW INDEX FROM patients")[0]] == [
        ("patients", "0", "PRIMARY", "1", "patient")
    ]
    assert rows(ada, "SHOW KEYS FROM prescriptions")[0] == []
    assert (
        "FOREIGN KEY (`patient`) REFERENCES `patients` (`patient`)"
        in rows(ada, "SHOW CREATE TABLE encounters")[0][0][1]
    )


def test_sqlalchemy_inspects_the_tables_and_their_keys(service):
    engine = sa.create_engine(f"mysql+pymysql://ada:{service.token}@127.0.0.1:{service.port}/discreet")
    entries, seen = service.entries, sa.inspect(engine)
    assert sorted(seen.get_table_names()) == sorted(TABLES)
    assert sorted(seen.get_view_names()) == sorted(f"{name}_with_intervals" for name in TABLES)
    assert seen.get_pk_constraint("patients")["constrained_columns"] == ["patient"]
    [foreign] = seen.get_foreign_keys("prescriptions")
    assert (foreign["constrained_columns"], foreign["referred_table"]) == (["encounter"], "encounters")
    metadata = sa.MetaData()
    metadata.reflect(engine)
    visits, people = metadata.tables["encounters"], metadata.tables["patients"]
    asked = sa.select(people.c.sex, sa.func.count().label("n")).select_from(visits.join(people)).group_by(people.c.sex)
    assert service.entries == entries
    with engine.connect() as connection:
        found = connection.execute(asked).all()
    engine.dispose()
    assert [sex for sex, _ in found] == ["F", "M"]
    assert [row.value for row in service.vault.ask(ALONE).rows] == [n for _, n in found]


BY_TOOLS = [
    # Metabase: a join that it was told of by the foreign key, over aliases in quotes
    "SELECT `Patients - Patient`.`sex` AS `Patients - Patient__sex`, COUNT(*) AS `count` FROM `encounters` "
    "LEFT JOIN `patients` AS `Patients - Patient` ON `encounters`.`patient` = `Patients - Patient`.`patient` "
    "GROUP BY `Patients - Patient`.`sex` ORDER BY `Patients - Patient`.`sex` ASC",
    # Superset: a virtual dataset over a join
    "SELECT sex AS sex, count(*) AS `COUNT(*)` FROM (SELECT e.ward, p.sex FROM discreet.encounters e JOIN "
    "discreet.patients p ON e.patient = p.patient) AS virtual_table GROUP BY sex ORDER BY `COUNT(*)` DESC LIMIT 1000",
    # Tableau: every name quoted, three tables
    "SELECT `patients`.`sex` AS `sex`, SUM(1) AS `n` FROM `prescriptions` INNER JOIN `encounters` ON "
    "(`prescriptions`.`encounter` = `encounters`.`encounter`) INNER JOIN `patients` ON (`encounters`.`patient` = "
    "`patients`.`patient`) GROUP BY 1",
]


@pytest.mark.parametrize("sql", BY_TOOLS)
def test_joins_as_tools_write_them_are_answered(ada, service, sql):
    found, _ = rows(ada, sql)
    assert sorted(line[0] for line in found) == ["F", "M"]
    assert service.vault.ledger.charges == 1
    assert rows(ada, sql)[0] == found
    assert service.vault.ledger.charges == 1


def test_views_with_intervals_are_joined_as_their_tables_are(ada):
    found, names = rows(ada, JOINED.replace("encounters e", "encounters_with_intervals e").replace(
        "patients p", "patients_with_intervals p"))  # fmt: skip
    assert names[:4] == ["sex", "n", "n_low", "n_high"]
    assert all(low <= n <= high for _, n, low, high, *_ in found)
    again, names = rows(ada, "SELECT sex, COUNT(*) AS n, n_low FROM encounters_with_intervals GROUP BY sex")
    assert names == ["sex", "n", "n_low"]
    assert [line[1:] for line in again] == [line[1:3] for line in found]


def test_the_mysql_program_asks_over_a_join_and_is_refused_in_words(service):
    program = next(filter(None, map(shutil.which, ("mariadb", "mysql"))), None)
    if program is None:
        pytest.skip("needs the mariadb client: apt-get install mariadb-client")
    run = [program, "-h", "127.0.0.1", "-P", str(service.port), "-u", "ada", f"-p{service.token}", "discreet"]
    told = subprocess.run([*run, "-e", f"DESCRIBE prescriptions; {JOINED}"], capture_output=True, text=True,
                          timeout=PATIENCE, check=True).stdout  # fmt: skip
    assert "encounter\tvarchar(255)\tNO\tMUL" in told
    assert "sex\tn" in told
    refused = subprocess.run([*run, "-e", "SELECT COUNT(*) FROM encounters a JOIN encounters b USING (patient)"],
                             capture_output=True, text=True, timeout=PATIENCE, check=False)  # fmt: skip
    assert "not joined with itself" in refused.stderr
    assert refused.returncode


def test_explain_of_a_join_over_mysql_is_that_of_its_table(ada, service):
    [line], names = rows(ada, f"EXPLAIN {JOINED}")
    told = dict(zip(names, line, strict=True))
    assert told["cost"] == pytest.approx(float(service.vault.explain(ALONE).cost))
    [[text]] = rows(ada, f"EXPLAIN FORMAT=JSON {JOINED}")[0]
    assert json.loads(text)["aggregates"][0]["column"] == "n"


@pytest.fixture
def offices(tmp_path):
    folder = tmp_path / "offices"
    folder.mkdir()
    make_vault(folder, "people")
    made = make_hospital(tmp_path / "hospital")
    shutil.copytree(made.path, folder / "hospital")
    return folder


def test_one_of_a_folder_is_over_several_tables(offices):
    token = add_user(offices / "hospital", "ana", "analyst")
    served_folder = many(offices, AT_ONCE, None, "")
    app = served_folder.app()
    client = TestClient(app, headers=bearer(token))
    [line] = client.get("/api/v1/vaults").json()["vaults"]
    assert (line["name"], line["tables"], line["error"]) == ("hospital", list(TABLES), None)
    answer = client.post("/v/hospital/api/v1/ask", json={"sql": JOINED, "scale": 50}).json()
    assert [row["labels"]["sex"] for row in answer["rows"]] == ["F", "M"]
    for name in ("hospital", "people"):
        allow_mysql(offices / name)
    token = add_user(offices / "hospital", "bo", "analyst")
    listening = socket.create_server(("127.0.0.1", 0))
    with serving_mysql(served_folder.schemas, listening):
        bo = pymysql.connect(host="127.0.0.1", port=listening.getsockname()[1], user="bo", password=token,
                             connect_timeout=PATIENCE, read_timeout=PATIENCE)  # fmt: skip
        listed = "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
        assert rows(bo, listed)[0] == [(name,) for name in TABLES]
        qualified = JOINED.replace("encounters e", "hospital.encounters e").replace("patients p", "hospital.patients p")
        assert [line[0] for line in rows(bo, qualified)[0]] == ["F", "M"]
        bo.close()
    assert Vault.open(offices / "hospital").ledger.charges == 1  # what was answered over HTTP


def test_a_service_of_several_workers_starts_over_it(vault):
    token = add_user(vault.path, "ana", "analyst")
    with served(vault, options=("--workers", "2")) as [address]:
        assert Client(address, token).ask("SELECT COUNT(*) FROM prescriptions", scale=50).value is not None


def test_cubes_and_rows_are_of_the_table_that_is_named(users, vault):
    boss = users("boss", "custodian")
    planned = boss.post(
        "cubes/plan", json={"epsilon": "0.5", "table": "encounters", "dimensions": ["ward", "sex"]}
    ).json()
    assert {name for line in planned["cuboids"] for name in line["dimensions"]} == {"ward", "sex"}
    unknown = boss.post("cubes/plan", json={"epsilon": "0.5", "dimensions": ["ward", "sex"]}).json()
    assert "patients has no attribute 'ward'" in unknown["error"]["message"]
    order = {"epsilon": "0.5", "table": "encounters", "dimensions": ["ward", "sex"]}
    job = finished(boss, boss.post("cubes/wards", json=order).json()["id"])
    assert (job["state"], vault.ledger.charge_at(job["charge"]).table) == ("done", "encounters")
    assert [cube["table"] for cube in boss.get("cubes").json()["cubes"]] == ["encounters"]
    drawn = finished(boss, boss.post("rows/drawn", json={"table": "encounters", "rows": 50}).json()["id"])
    assert drawn["state"] == "done"
    assert boss.get("rows/drawn").json()["rows"] == 50
    assert boss.get("running", params={"table": "encounters"}).json() == {"running": []}


def test_facts_are_about_the_table_that_a_statement_names_and_are_listed_by_table(users, vault):
    boss = users("boss", "custodian")
    fact = {"sql": "SELECT COUNT(*) FROM encounters WHERE ward = 'a'", "value": 80}
    would = boss.post("facts", json={**fact, "dry_run": True})
    assert (would.status_code, would.json()["sensitivity"] >= 2) == (200, True)
    assert boss.post("facts", json=fact).status_code == 201
    assert boss.post("facts", json={"cuboid": ["sex"], "values": [60, 60], "table": "patients"}).status_code == 201
    listed = {name: boss.get("facts", params={"table": name}).json()["facts"] for name in TABLES}
    assert {name: [line["kind"] for line in lines] for name, lines in listed.items()} == {
        "patients": ["cuboid"], "encounters": ["count"], "prescriptions": []}  # fmt: skip
    assert [fact.of for fact in vault.ledger.all_facts] == ["encounters", "patients"]
    answer = asked(boss, fact["sql"])
    assert (answer["cost"], answer["rows"][0]["value"]) == ("0", 80)
    both = "SELECT (SELECT COUNT(*) FROM patients) - (SELECT COUNT(*) FROM encounters)"
    assert boss.post("facts", json={"sql": both, "value": 1}).status_code == 400
