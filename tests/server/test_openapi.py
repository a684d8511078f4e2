"""The OpenAPI document: complete, with examples, behind a token; and schemathesis finds nothing that breaks it."""

import shutil

import jsonschema_rs
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks

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
    return create_app(vault, slot=0, rate=0), headers


@pytest.fixture(scope="module")
def document(api):
    app, headers = api
    return TestClient(app, headers=headers).get("/api/v1/openapi.json").json()


def test_every_route_says_what_it_does_and_takes_a_token(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["description"].endswith("."), path
            assert operation["security"] == ([] if path.endswith("/health") else [{"token": []}])


def test_every_request_has_an_example(document):
    shown = document["components"]["schemas"]
    for name in ("Question", "NewFact", "CubeWish", "CubeOrder", "SubsetsAsked", "BucketsAsked",
                 "BucketsOrder", "NewUser", "RowsOrder"):  # fmt: skip
        body = shown[name]
        assert "examples" in body or any("examples" in field for field in body["properties"].values()), name


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
    client = TestClient(app, headers=headers)
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
