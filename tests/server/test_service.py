"""The HTTP API of a vault: each route says what the vault says, to whom it may, in one shape."""

import json
import shutil
from fractions import Fraction

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from discreet.cli import app as command_line
from discreet.cube.cube import Cube
from discreet.release.gate import Gate
from discreet.server.app import create_app
from discreet.server.auth import add_user, list_users
from discreet.server.log import LOG, last_asked
from discreet.server.shelf import MOST_OPEN, Shelf
from discreet.vault import Vault
from tests.server.conftest import finished

COUNT = {"sql": "SELECT COUNT(*) FROM people WHERE age >= 50", "scale": 20}


@pytest.fixture
def cube(users):
    """A published cube, called one."""
    boss = users("boss", "custodian")
    assert boss.post("cubes/one", json={"epsilon": "0.5", "cuboids": 2}).status_code == 202
    assert finished(boss, "one")["state"] == "done"
    return users("ana")


@pytest.fixture(scope="module")
def shown(tmp_path_factory, people_template):
    """The same for those that are refused: nothing changes. The vault, and clients of an analyst and a custodian."""
    vault = Vault.open(shutil.copytree(people_template, tmp_path_factory.mktemp("shown") / "vault"))
    (vault.path / "cubes").mkdir()
    vault.cubes.publish(vault.cubes.plan(epsilon="0.5", cuboids=2)).save(vault.path / "cubes" / "one")
    app = create_app(vault, slot=0, rate=0, deadline=None)
    tokens = (add_user(vault.path, name, role) for name, role in (("ana", "analyst"), ("boss", "custodian")))
    ana, boss = (
        TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")
        for token in tokens
    )
    return vault, ana, boss


def test_an_answer_is_what_the_command_line_prints(people, users):
    measured = users("ana").post("ask", json=COUNT)
    assert measured.status_code == 200
    assert measured.json()["kind"] == "measured"
    assert measured.json()["cost"] == "0.1"
    printed = CliRunner().invoke(command_line, ["ask", str(people.path), COUNT["sql"], "--scale", "20", "--json"])
    repeated = users("ana").post("ask", json=COUNT)
    assert repeated.json() == json.loads(printed.output)
    assert repeated.json()["kind"] == "repeated"
    assert repeated.json()["value"] == measured.json()["value"]


@pytest.mark.parametrize(
    ("path", "arguments"),
    [("budget", ["budget"]), ("ledger", ["ledger", "show"]), ("facts", ["fact", "list"])],
)
def test_what_is_public_is_what_the_command_line_prints(people, users, path, arguments):
    users("ana").post("ask", json=COUNT)
    printed = json.loads(CliRunner().invoke(command_line, [*arguments, str(people.path), "--json"]).output)
    found = users("ana").get(path).json()
    assert {key: found[key] for key in printed} == printed


def test_a_free_answer_is_not_kept_beyond_the_next_entry_of_the_journal(users):
    ana, ben = users("ana"), users("ben")
    first = ana.post("ask", json=COUNT).json()
    repeated = [user.post("ask", json=COUNT).json() for user in (ana, ben, ana)]
    assert [answer["kind"] for answer in repeated] == ["repeated"] * 3
    assert {answer["value"] for answer in repeated} == {first["value"]}
    sharper = ana.post("ask", json={**COUNT, "scale": 5}).json()
    assert sharper["kind"] == "measured"
    assert ben.post("ask", json=COUNT).json()["value"] == sharper["value"]


def test_a_question_with_weights_is_answered_and_again_for_nothing(users):
    first, again = (users("ana").post("ask", json={**COUNT, "weights": {"age": 2}}) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json()["kind"] == "repeated"


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_a_number_that_json_has_not_is_refused_and_leaves_the_log_readable(users, number):
    body = json.dumps(COUNT).replace("20", number)
    assert users("ana").post("ask", content=body).status_code == 400
    assert users("boss", "custodian").post("cubes/plan", content=f'{{"epsilon": {number}}}').status_code == 400
    assert users("boss", "custodian").get("log").json() == {"asked": []}


def test_explaining_spends_nothing_and_tells_the_cost(people, users):
    told = users("ana").post("explain", json=COUNT).json()
    assert (told["cost"], told["left"], told["more"]) == ("0.1", "10", 100)
    assert people.budget().spent == 0


def test_a_description_does_not_say_where_the_table_is(people, users):
    told = users("ana").get("describe")
    assert told.json()["attributes"][0]["name"] == "age"
    assert str(people.path.parent) not in told.text
    assert "parquet" not in told.text


def test_errors_do_not_say_where_the_vault_is(people, users):
    told = users("ana").get("sulq")
    assert told.json()["error"]["message"].startswith("VAULT has no budget of queries")
    assert str(people.path) not in told.text


def test_the_ledger_and_the_releases_come_in_pages(users):
    ana = users("ana")
    for age in (10, 20, 30):
        ana.post("ask", json={**COUNT, "sql": f"SELECT COUNT(*) FROM people WHERE age < {age}"})
    first = ana.get("ledger", params={"limit": 4}).json()
    rest = ana.get("ledger", params={"limit": 4, "after": first["next"]}).json()
    assert [entry["seq"] for entry in first["entries"] + rest["entries"]] == [1, 2, 3, 4, 5, 6, 7]
    assert first["entries"][1]["what"].endswith("asked by ana")
    assert rest["next"] is None
    page = ana.get("releases", params={"limit": 2}).json()
    after = ana.get("releases", params={"limit": 2, "after": page["next"]}).json()
    assert [line["charge"] for line in page["releases"] + after["releases"]] == [2, 4, 6]
    assert page["releases"][0]["by"] == "ana"
    one = ana.get("releases/2").json()
    assert one["charge"] == 2
    assert one["receipt"] == page["releases"][0]["receipt"]


def test_what_is_left_by_region_is_a_map(people, users):
    users("ana").post("ask", json={"sql": "SELECT COUNT(*) FROM people WHERE sex = 'F'", "scale": 2})
    told = users("ana").get("budget/map", params={"rows": "sex", "columns": "income"}).json()
    assert told["row_labels"] == ["F", "M", "(missing)"]
    assert told["left"] == people.budget_map("sex", "income").tolist()
    assert told["left"][0][0] < told["left"][1][0]


SPENDING = [
    ("ask", COUNT),
    ("sulq/ask", {"predicate": "sex = 'F'", "subsets": ["everyone"]}),
    ("facts", {"sql": "SELECT COUNT(*) FROM people", "value": 600}),
    ("cubes/one", {"epsilon": 1}),
]


@pytest.mark.parametrize(("path", "body"), SPENDING)
def test_an_auditor_spends_nothing(people, users, path, body):
    reply = users("eye", "auditor").post(path, json=body)
    assert reply.status_code == 403
    assert reply.json()["error"]["kind"] == "AccessDenied"
    assert people.ledger.head.seq == 1


@pytest.mark.parametrize(("path", "body"), SPENDING[2:])
def test_an_analyst_does_not_do_what_is_the_custodians(people, users, path, body):
    assert users("ana").post(path, json=body).status_code == 403
    assert people.ledger.head.seq == 1


def test_an_auditor_sees_the_log_and_an_analyst_does_not(users):
    users("ana").post("ask", json=COUNT)
    users("ben").post("ask", json={**COUNT, "sql": "nonsense"})
    assert users("ana").get("log").status_code == 403
    told = users("eye", "auditor").get("log").json()["asked"]
    assert [(line["user"], line["verb"], line.get("sql")) for line in told] == [
        ("ana", "ask", COUNT["sql"]),
        ("ben", "ask", "nonsense"),
        ("ana", "denied", None),
    ]
    of_ana = users("eye", "auditor").get("log", params={"user": "ana"}).json()["asked"]
    assert [line["verb"] for line in of_ana] == ["ask", "denied"]


def test_the_log_is_only_the_owners_and_a_half_line_is_passed_over(people, users):
    users("ana").post("ask", json=COUNT)
    log = people.path / LOG
    assert log.stat().st_mode & 0o777 == 0o600
    with open(log, "a") as file:
        file.write('{"at": "20')
    assert [line["user"] for line in last_asked(people.path, 100)] == ["ana"]


def test_who_i_am_and_what_i_have_spent(users):
    ana = users("ana", quota="0.25", expires="30d")
    ana.post("ask", json=COUNT)
    told = ana.get("me").json()
    assert (told["name"], told["role"], told["quota"], told["spent"]) == ("ana", "analyst", "0.25", "0.1")
    assert "token" not in told


def test_a_fact_is_added_by_a_custodian_and_listed_for_all(users):
    boss = users("boss", "custodian")
    would = boss.post("facts", json={"cuboid": ["sex"], "values": [200, 200, 200], "dry_run": True})
    assert (would.status_code, would.json()["stops"]) == (200, False)
    assert not boss.get("facts").json()["facts"]
    added = boss.post("facts", json={"cuboid": ["sex"], "values": [200, 200, 200]})
    assert added.status_code == 201
    [fact] = users("ana").get("facts").json()["facts"]
    assert fact["what"] == "cuboid sex"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"sql": "SELECT COUNT(*) FROM people"},
        {"cuboid": ["sex"], "values": [[200, 200], [200]]},
        {"cuboid": ["sex"], "values": [0.5, 200, 200]},
        {"cuboid": ["sex"], "values": ["x"]},
        {"cuboid": ["sex"], "values": [2**70, 1, 1]},
        {"cuboid": ["nothing"], "values": [1]},
        {"sql": "SELECT COUNT(*) FROM people", "value": -1},
    ],
)
def test_a_fact_that_makes_no_sense_is_refused(people, users, body):
    assert users("boss", "custodian").post("facts", json=body).status_code == 400
    assert people.ledger.head.seq == 1


def test_a_cube_is_planned_published_listed_and_described(people, cube):
    plan = cube.post("cubes/plan", json={"epsilon": "0.5", "cuboids": 2}).json()
    assert sum(one["share"] or 0 for one in plan["cuboids"]) == pytest.approx(1)
    [line] = cube.get("cubes").json()["cubes"]
    assert (line["name"], line["dimensions"]) == ("one", {"age": 100, "sex": 3, "income": 4})
    about = cube.get("cubes/one").json()
    loaded = Cube.load(people.path / "cubes" / "one")
    assert about["cells"] == loaded.describe()["cells"]
    assert {tuple(one["dimensions"]) for one in about["lattice"] if one["published"]} >= {("age", "sex"), ()}
    assert people.budget().by_user == {"boss": Fraction(1, 2)}


def test_a_cuboid_and_a_slice_are_those_of_the_cube(people, cube):
    loaded = Cube.load(people.path / "cubes" / "one")
    found = cube.get("cubes/one/cuboid", params={"by": ["income", "sex"], "confidence": 0.9}).json()
    assert found["count"] == loaded["income", "sex"].values.tolist()
    assert found["halfwidth"] == loaded.halfwidth("income", "sex", confidence=0.9)
    part = cube.get("cubes/one/cuboid", params={"by": "sex", "slice": "income=[0, 10000)"}).json()
    assert part["count"] == loaded.slice(income="[0, 10000)")["sex"].values.tolist()
    assert part["slice"] == {"income": "[0, 10000)"}
    assert cube.get("cubes/one/cuboid").json()["count"] == float(loaded[()].values)


def test_sums_by_groups_are_those_of_the_cube(people, cube):
    folder = people.path / "cubes" / "one"
    loaded = Cube.load(folder).grouped("sex", "income", confidence=0.9)
    found = cube.get("cubes/one/groups", params={"by": ["sex", "income"], "confidence": 0.9}).json()
    for key, expected in (("count", loaded.sums), ("low", loaded.low), ("high", loaded.high)):
        assert found[key] == expected.values.tolist()
    assert found["variance"] == loaded.variance.values.tolist()
    part = cube.get("cubes/one/groups", params={"by": "sex", "slice": "income=[0, 10000)"}).json()
    assert part["labels"] == {"sex": ["F", "M", "(missing)"]}


def test_a_download_holds_labels_counts_and_intervals(people, cube, tmp_path):
    loaded = Cube.load(people.path / "cubes" / "one")
    for form, read in (("csv", pyarrow.csv.read_csv), ("parquet", pq.read_table)):
        reply = cube.get("cubes/one/download", params={"by": ["sex", "income"], "format": form})
        (tmp_path / form).write_bytes(reply.content)
        table = read(tmp_path / form).to_pydict()
        assert table["count"] == pytest.approx(loaded["sex", "income"].values.reshape(-1).tolist())
        assert table["sex"][:5] == ["F"] * 4 + ["M"]
        assert table["high"][0] - table["low"][0] == pytest.approx(2 * loaded.halfwidth("sex", "income"))
    whole = cube.get("cubes/one/files/cuboids.parquet")
    assert whole.content == (people.path / "cubes" / "one" / "cuboids.parquet").read_bytes()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("cubes/one/cuboid?by=zzz", 400),
        ("cubes/one/cuboid?by=sex&by=sex", 400),
        ("cubes/one/groups?by=sex_group", 400),
        ("cubes/one/groups?by=sex&by=sex", 400),
        ("cubes/nothing/groups?by=sex", 404),
        ("cubes/one/cuboid?by=age&by=sex&by=income", 400),
        ("cubes/one/cuboid?slice=sex", 400),
        ("cubes/one/cuboid?slice=sex=X", 400),
        ("cubes/one/cuboid?slice=self=X", 400),
        ("cubes/one/cuboid?slice=sex=F&slice=sex=M", 400),
        ("cubes/one/cuboid?by=sex&slice=sex=F", 400),
        ("cubes/one/cuboid?confidence=1", 400),
        ("cubes/one/cuboid?confidence=nan", 400),
        ("cubes/one/download?by=sex&format=exe", 400),
        ("cubes/one/files/key", 400),
        ("cubes/one/files/..%2f..%2fkey", 404),
        ("cubes/two", 404),
        ("cubes/..", 404),
        ("cubes/.one", 400),
        ("cubes/%2e%2e%2fjobs", 404),
        ("cubes/..%5c..", 400),
        ("buckets/..%2fcubes%2fone/files/datapackage.json", 404),
        ("buckets/nothing", 404),
        ("jobs/..%2fkey", 404),
        ("jobs/x%00y", 400),
        ("jobs/none", 404),
        ("releases/0", 400),
        ("releases/99999999999999999999999", 400),
        ("releases/77", 404),
        ("ledger?after=-1", 400),
        ("ledger?limit=100000", 400),
        ("budget/map?rows=age&columns=age", 400),
        ("budget/map?rows=age", 400),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_refused_in_one_shape(shown, path, status):
    _, ana, _ = shown
    reply = ana.get(path)
    assert reply.status_code == status, reply.text
    assert set(reply.json()["error"]) == {"kind", "message"}


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("one", {"epsilon": 1}, 400),
        ("plan2", {}, 400),
        ("plan2", {"epsilon": 1, "charge": 7}, 400),
        ("plan2", {"epsilon": 1, "planner": "magic"}, 400),
        ("plan2", {"epsilon": 1, "cuboids": [["nothing"]]}, 400),
        ("plan2", {"epsilon": "x"}, 400),
        ("..%2fx", {"epsilon": 1}, 404),
        (".x", {"epsilon": 1}, 400),
    ],
)
def test_a_publish_that_makes_no_sense_is_refused_at_once(shown, name, body, status):
    vault, ana, boss = shown
    before = vault.budget().spent
    assert ana.post(f"cubes/{name}", json=body).status_code in (403, status)
    reply = boss.post(f"cubes/{name}", json=body)
    assert reply.status_code == status, reply.text
    assert vault.budget().spent == before


def test_a_publish_that_fails_says_so_and_goes_on_from_its_charge(people, users, monkeypatch):
    boss = users("boss", "custodian")
    refused = boss.post("cubes/large", json={"epsilon": 11})  # at once: no job is begun for it
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "BudgetExceeded")
    most = refused.json()["error"]["message"].rpartition("at most ")[2]
    planned = boss.post("cubes/plan", json={"epsilon": 11}).json()
    assert (planned["affordable"], planned["at_most"]) == (False, most)
    assert boss.post("cubes/plan", json={"epsilon": most}).json()["affordable"]
    with monkeypatch.context() as broken:
        broken.setattr(Gate, "_answer", lambda *_: 1 / 0)
        boss.post("cubes/two", json={"epsilon": 1, "cuboids": 1})
        failed = finished(boss, "two")
    assert failed["error"] == {"kind": "EngineError", "message": "the work failed"}
    assert people.budget().pending == (failed["charge"],)
    assert boss.post("cubes/two", json={"charge": failed["charge"]}).status_code == 202
    assert finished(boss, "two")["state"] == "done"
    assert people.budget().spent == 1


def test_a_shelf_keeps_a_few_open_and_notices_what_was_taken_away(people, cube):
    shelf = Shelf(people.path, people.ledger)
    assert shelf.cube("one") is shelf.cube("one")
    assert 1 < MOST_OPEN < 100
    (people.path / "cubes" / "one" / "datapackage.json").unlink()
    assert shelf.cubes() == []
    assert cube.get("cubes/one").status_code == 404


def test_what_is_shown_of_a_cube_is_what_it_promises_by_now(people, cube):
    said = cube.get("cubes/one").json()["guarantee"]
    people.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 200)
    people.facts.add("SELECT COUNT(*) FROM people WHERE age < 50", 300)
    shown = {
        cube.get("cubes/one").json()["guarantee"],
        cube.get("cubes").json()["cubes"][0]["guarantee"],
        cube.get("cubes/one/cuboid").json()["guarantee"],
    }
    [release] = people.releases()
    assert shown == {str(release.guarantee)}
    assert said not in shown


def test_what_is_shown_of_buckets_says_that_they_were_published_again(people, users):
    (people.path / "buckets").mkdir()
    how = {"sensitive": "income", "limits": "0.9", "columns": ["age"]}
    people.buckets.publish(**how, out=people.path / "buckets" / "b")
    ana = users("ana")
    assert ana.get("buckets/b").json()["guarantee"] == "F'-privacy; not differential privacy"
    again = people.buckets.publish(**how, out=people.path / "buckets" / "c", again=True)
    assert "2 times, and limits do not hold together" in str(again.guarantee)
    for name in ("b", "c"):
        assert "2 times, and limits do not hold together" in ana.get(f"buckets/{name}").json()["guarantee"]


def test_buckets_of_the_vaults_own_folder_are_listed_asked_and_downloaded(people, users):
    (people.path / "buckets").mkdir()
    people.buckets.publish(sensitive="income", limits="0.9", out=people.path / "buckets" / "b", columns=["age"])
    ana = users("ana")
    [line] = ana.get("buckets").json()["buckets"]
    assert line["name"] == "b"
    assert "not differential privacy" in line["guarantee"]
    assert ana.get("buckets/b").json() == line
    asked = ana.post("buckets/b/ask", json={"sql": "SELECT COUNT(*) FROM people WHERE age < 50"})
    assert asked.json()["rows"][0][0]["value"] == 300
    assert asked.json()["pairings"] == 0.95
    assert "truth may lie far outside" in asked.json()["caveat"]
    assert ana.get("buckets/b/files/qit.parquet").content[:4] == b"PAR1"
    assert ana.get("buckets/b/files/key").status_code == 400


def test_users_are_listed_with_their_bounds(people):
    run, vault = CliRunner().invoke, str(people.path)
    added = json.loads(
        run(command_line, ["user", "add", vault, "ana", "--quota", "1/5", "--expires", "12h", "--json"]).output
    )
    assert (added["quota"], added["role"]) == ("0.2", "analyst")
    [user] = json.loads(run(command_line, ["user", "list", vault, "--json"]).output)["users"]
    assert user == {key: value for key, value in added.items() if key != "token"}
    assert list_users(people.path)[0].quota == Fraction(1, 5)
    assert f"{float(20 / people.ledger.budget.total):.2g}%" in run(command_line, ["user", "list", vault]).output
    assert json.loads(run(command_line, ["user", "log", vault, "--json"]).output) == {"asked": []}
