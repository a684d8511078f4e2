"""The OpenAPI document: complete, with examples, behind a token; and schemathesis finds nothing that breaks it."""

import shutil
from dataclasses import fields

import jsonschema_rs
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks

from discreet import replies
from discreet.remote.results import RemoteForecast, RemoteRow
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.vault import Vault

HELD = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.response_headers_conformance,
]


@pytest.fixture(scope="module")
def api(tmp_path_factory, people_template):
    """The application of a vault that has published, and the headers of its custodian."""
    folder = tmp_path_factory.mktemp("openapi")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        yield published(Vault.open(shutil.copytree(people_template, folder / "vault")))


def published(vault):
    for folder in ("cubes", "rows", "buckets"):
        (vault.path / folder).mkdir()
    cube = vault.cubes.publish(vault.cubes.plan(epsilon=1, cuboids=2), estimate="modelled")
    cube.save(vault.path / "cubes" / "one")
    vault.rows.publish(cube, rows=50).save(vault.path / "rows" / "one.parquet")
    vault.buckets.publish(sensitive="income", limits="0.9", out=vault.path / "buckets" / "one", columns=["age"])
    headers = {"Authorization": f"Bearer {add_user(vault.path, 'boss', 'custodian')}"}
    return create_app(vault, slot=0, rate=0, deadline=None), headers


@pytest.fixture(scope="module")
def document(api):
    app, headers = api
    return TestClient(app, headers=headers).get("/api/v1/openapi.json").json()


def test_every_route_says_what_it_does_and_takes_a_token(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["description"].endswith("."), path
            assert operation["security"] == ([] if path.endswith(("/health", "/ready")) else [{"token": []}])


def test_every_request_has_an_example(document):
    shown = document["components"]["schemas"]
    for name in ("QuestionAsked", "NewFact", "CubeWish", "CubeOrder", "SubsetsAsked", "BucketsAsked",
                 "BucketsOrder", "NewUser", "RowsOrder"):  # fmt: skip
        body = shown[name]
        assert "examples" in body or any("examples" in field for field in body["properties"].values()), name


def test_every_key_of_a_reply_is_described(document):
    """Replies are closed: what is sent besides what is described breaks its description, and the tests below."""
    shown = document["components"]["schemas"]
    replied = {name: body for name, body in shown.items() if name.endswith("Json")}
    assert {"AnswerJson", "RowJson", "ExplanationJson", "BudgetJson", "JobJson", "RefusalJson"} <= replied.keys()
    assert all(body["additionalProperties"] is False for body in replied.values())
    assert (
        replied["RowJson"]["properties"]["too_noisy"]["description"] == "whether its interval is as wide as the number"
    )


@pytest.mark.parametrize(("read", "described"), [(RemoteRow, replies.RowJson), (RemoteForecast, replies.ForecastJson)])
def test_the_client_reads_every_key_that_is_described(read, described):
    assert {own.name for own in fields(read)} == described.__annotations__.keys()


def test_a_stranger_does_not_see_the_document(api):
    app, _ = api
    assert TestClient(app).get("/api/v1/openapi.json").status_code == 401


def operations(api):
    app, headers = api
    described = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=headers)
    return [found.ok() for found in described.get_all_operations()]


def test_nothing_that_is_sent_breaks_the_server_or_its_description(api):
    _, headers = api
    for operation in operations(api):

        @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def sent(case):
            case.validate_response(case.call(headers=headers), checks=HELD)

        sent()


EXAMPLES = {"name": "one", "file": "datapackage.json", "charge": "3"}


def test_what_is_there_answers_as_it_is_described(api, document):
    """Made-up names find nothing: here every GET is sent for what there is."""
    app, headers = api
    queries = {"/budget/map": {"rows": "sex", "columns": "income"}, "/cubes/{name}/cuboid": {"by": ["sex", "income"]}}
    with TestClient(app, headers=headers) as client:  # begun, so that it is ready
        for path, methods in document["paths"].items():
            if "get" not in methods or path.endswith(("/sulq", "/jobs/{name}")):
                continue
            query = next((found for end, found in queries.items() if path.endswith(end)), {})
            reply = client.get(path.format(**EXAMPLES), params=query)
            assert reply.status_code == 200, (path, reply.text)
            described = methods["get"]["responses"]["200"]["content"]
            kind = reply.headers["content-type"].partition(";")[0]
            assert kind in described, path
            if "$ref" in described[kind].get("schema", {}):
                wanted = {"$ref": described[kind]["schema"]["$ref"], "components": document["components"]}
                jsonschema_rs.validate(wanted, reply.json())


@pytest.mark.parametrize("path", ["/ask", "/explain"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE age >= 65",
        "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex",
        "SELECT age, COUNT(*) AS n FROM people GROUP BY age ORDER BY n DESC LIMIT 3",
        "SELECT MEDIAN(income) FROM people",
    ],
)
def test_what_is_asked_is_answered_as_it_is_described(api, document, path, sql):
    app, headers = api
    reply = TestClient(app, headers=headers).post(f"/api/v1{path}", json={"sql": sql, "scale": 40})
    assert reply.status_code == 200, reply.text
    described = document["paths"][f"/api/v1{path}"]["post"]["responses"]["200"]["content"]["application/json"]
    jsonschema_rs.validate({**described["schema"], "components": document["components"]}, reply.json())
