"""Models over HTTP, in the console and over MySQL's variables: cubes, questions, rows."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from discreet.cube.cube import Cube
from discreet.errors import InvalidNoise
from discreet.server.mysql.variables import fresh_variables, wish_of
from discreet.synthetic.rows import SyntheticRows
from tests.server.conftest import finished

ORDER = {"epsilon": "2", "planner": "model", "dimensions": ["sex", "income"], "estimate": "modelled"}
COUNT = "SELECT sex, COUNT(*) FROM people GROUP BY sex"


@pytest.fixture
def boss(users):
    """A custodian, of a vault with a modelled cube called one."""
    found = users("boss", "custodian")
    assert found.post("cubes/one", json=ORDER).status_code == 202
    assert finished(found, "one")["state"] == "done"
    return found


def page(client: TestClient, path: str) -> str:
    reply = client.get(f"http://testserver{path}", headers={"accept": "text/html"})
    assert reply.status_code == 200, reply.text
    return reply.text


def test_a_modelled_cuboid_is_that_of_the_cubes_model_with_its_range(people, boss):
    cube = Cube.load(people.path / "cubes" / "one")
    found = boss.get("cubes/one/cuboid", params={"by": ["sex", "income"], "estimate": "modelled"}).json()
    low, high = cube.modelled.range("sex", "income")
    assert np.allclose(found["modelled"], cube.modelled["sex", "income"])
    assert found["low"][0] == pytest.approx(low.values[0].tolist(), rel=1e-6)
    assert found["high"][0] == pytest.approx(high.values[0].tolist(), rel=1e-6)
    assert found["measured_together"] is True
    assert "biased" in found["note"]
    part = boss.get("cubes/one/cuboid", params={"slice": "sex=F", "estimate": "modelled"}).json()
    assert part["modelled"] == pytest.approx(sum(found["modelled"][0]))
    told = boss.get("cubes/one/download", params={"by": "sex", "estimate": "modelled"}).text
    assert told.splitlines()[0] == '"sex","modelled","low","high"'
    assert boss.get("cubes/one/cuboid", params={"estimate": "best"}).status_code == 400


def test_the_files_of_a_modelled_cube_are_all_handed_out(people, boss, tmp_path):
    folder = people.path / "cubes" / "one"
    for file in folder.iterdir():
        reply = boss.get(f"cubes/one/files/{file.name}")
        assert reply.status_code == 200
        (tmp_path / "one").mkdir(exist_ok=True)
        (tmp_path / "one" / file.name).write_bytes(reply.content)
    assert Cube.load(tmp_path / "one").model is not None


def test_a_cube_without_a_model_has_no_modelled_cuboid(users):
    boss = users("boss", "custodian")
    boss.post("cubes/plain", json={"epsilon": "0.5", "dimensions": ["sex"]})
    assert finished(boss, "plain")["state"] == "done"
    refused = boss.get("cubes/plain/cuboid", params={"by": "sex", "estimate": "modelled"})
    assert refused.status_code == 400
    assert "without a model" in refused.json()["error"]["message"]
    assert boss.get("cubes/plain/files/model.parquet").status_code == 404
    assert boss.post("rows/some", json={"cube": "plain"}).status_code == 400
    assert "Modelled" not in page(boss, "/cube/plain")


def test_questions_are_answered_from_a_model_for_nothing(people, boss):
    spent = people.ledger.spent_max
    body = {"sql": COUNT, "estimate": "modelled"}
    answer = boss.post("ask", json=body).json()
    assert answer["kind"] == "modelled"
    assert answer["cost"] == "0"
    assert boss.post("ask", json=body).json() == answer
    assert boss.post("explain", json=body).json()["cost"] == "0"
    assert people.ledger.spent_max == spent
    refused = boss.post("ask", json={"sql": "SELECT AVG(age) FROM people", "estimate": "modelled"})
    assert refused.status_code == 400
    assert "--dimensions age" in refused.json()["error"]["message"]
    assert boss.post("ask", json={**body, "within": 3}).status_code == 400


def test_rows_are_drawn_listed_checked_and_downloaded(people, boss, users, tmp_path):
    head = people.ledger.spent_max
    assert users("ana").post("rows/some", json={"cube": "one"}).status_code == 403
    assert boss.post("rows/some", json={"cube": "one", "rows": 500, "seed": 2}).status_code == 202
    assert finished(boss, "some")["state"] == "done"
    [line] = boss.get("rows").json()["rows"]
    assert (line["name"], line["rows"], line["seed"]) == ("some", 500, 2)
    assert "No row is a person" in boss.get("rows/some").json()["what"]
    (tmp_path / "some.parquet").write_bytes(boss.get("rows/some/file").content)
    assert len(SyntheticRows.load(tmp_path / "some.parquet")) == 500
    assert boss.get("rows/some/check").json()["same_release"] is True
    assert people.ledger.spent_max == head
    assert boss.post("rows/some", json={"cube": "one"}).status_code == 400
    assert boss.get("rows/none").status_code == 404
    too_many = boss.post("rows/many", json={"rows": 10**15})
    assert (too_many.status_code, boss.get("jobs/many").status_code) == (400, 404)
    assert "ask for at most" in too_many.json()["error"]["message"]
    assert "no row is a person" in page(boss, "/rows")
    assert boss.post("rows/all", json={"rows": 40}).status_code == 202
    assert finished(boss, "all")["state"] == "done"
    assert boss.get("rows/all").json()["model"]["releases"] == list(people.model.of.releases)
    assert boss.get("rows/all/check").status_code == 200


def test_the_console_has_a_switch_between_estimates_that_says_what_they_mean(boss):
    unbiased, modelled = page(boss, "/cube/one?d.sex=by"), page(boss, "/cube/one?d.sex=by&estimate=modelled")
    assert "least squares" in unbiased
    assert "Modelled: the same released numbers" in modelled
    assert "estimate=modelled" in unbiased
    assert "model range at 95%" in modelled
    heat = page(boss, "/cube/one?d.sex=by&d.income=by&view=heat&estimate=modelled")
    assert "modelled" in heat
    told = page(boss, f"/ask?sql={COUNT}&estimate=modelled")
    assert "free" in told
    assert "the model of everything public: release" in told


def test_a_session_of_mysql_chooses_the_estimate():
    variables = fresh_variables()
    assert wish_of(variables)["estimate"] == "unbiased"
    variables.set("discreet_estimate", "MODELLED")
    assert wish_of(variables)["estimate"] == "modelled"
    variables.set("discreet_estimate", None)
    assert wish_of(variables)["estimate"] == "unbiased"
    with pytest.raises(InvalidNoise, match="discreet_estimate"):
        variables.set("discreet_estimate", "best")


def test_what_to_measure_is_chosen_as_one_goes_over_http_too(people, users):
    boss = users("boss", "custodian")
    order = {"epsilon": "2", "planner": "adaptive", "dimensions": ["sex", "income"]}
    planned = boss.post("cubes/plan", json=order).json()
    assert planned["candidates"] == [["sex", "income"]]
    assert planned["affordable"]
    assert boss.post("cubes/chosen", json={**order, "estimate": "modelled"}).status_code == 202
    assert finished(boss, "chosen")["state"] == "done"
    about = boss.get("cubes/chosen").json()
    assert about["planner"] == "adaptive"
    assert about["charges"] == [entry.seq for entry in people.ledger.entries() if entry.kind == "charge"]
    assert "ε = 2" in about["guarantee"]
    listed = boss.get("cubes").json()["cubes"]
    assert [one["guarantee"] for one in listed] == [about["guarantee"]]
    refused = boss.post("cubes/none", json={**order, "dimensions": ["sex"]})
    assert (refused.status_code, "nothing to choose among" in refused.text) == (400, True)
    assert "then</dt><dd>rounds" in page(boss, "/plan?planner=adaptive&dimensions=sex&dimensions=income")
