"""Small SuLQ vaults over disjoint columns of one population, and servers of them in processes of their own."""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.vault import Vault
from tests.conftest import PEOPLE_DOMAIN
from tests.patience import PATIENCE, wait_until

N = 20_000
COLUMNS = {"hospital": "smoker", "employer": "absent"}


@pytest.fixture(scope="session", autouse=True)
def unhurried_tools(unhurried):  # noqa: ARG001
    """What tools ask of a catalogue is answered however busy the machine is; how many steps it may take is as ever."""
    with pytest.MonkeyPatch.context() as here:
        here.setattr("discreet.server.mysql.probe.MOST_SECONDS", PATIENCE)
        yield


@pytest.fixture(scope="session")
def population():
    """Whether each of 20,000 people smokes, and whether they are often absent: smokers more often."""
    draw = np.random.default_rng(8)
    smoker = draw.random(N) < 0.5
    return {"smoker": smoker, "absent": draw.random(N) < np.where(smoker, 0.7, 0.3)}


@pytest.fixture(scope="session")
def template(tmp_path_factory, population):
    """A vault with nothing spent; each is made once, and tests get copies."""

    @cache
    def make(name, queries):
        folder, column = tmp_path_factory.mktemp(name), COLUMNS[name]
        table = pa.table({"person": [f"{i:05d}" for i in range(N)], column: population[column]})
        pq.write_table(table, folder / "table.parquet")
        attribute = f'[attributes.{column}]\nkind = "category"\nvalues = ["false", "true"]\nsource = "a test"\n'
        (folder / "domain.toml").write_text(f'name = "{name}"\n{attribute}')
        roster = pa.table({"person": range(N)})
        return Vault.init(folder / name, table=folder / "table.parquet", domain=folder / "domain.toml", id="person",
                          roster=roster, queries=queries, delta=10).path  # fmt: skip

    return make


@pytest.fixture
def make_vault(tmp_path, template):
    def make(name, queries=50):
        return Vault.open(shutil.copytree(template(name, queries), tmp_path / name))

    return make


@pytest.fixture(scope="session")
def people_template(tmp_path_factory):
    """A vault over 600 people with ε = 10, nothing spent."""
    folder = tmp_path_factory.mktemp("people")
    rows = range(600)
    columns = {"age": [i % 100 for i in rows], "sex": [("F", "M", None)[i % 3] for i in rows],
               "income": [float(i * 157 % 100_000) for i in rows]}  # fmt: skip
    pq.write_table(pa.table(columns), folder / "people.parquet")
    (folder / "people.toml").write_text(PEOPLE_DOMAIN)
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        made = Vault.init(folder / "vault", table=folder / "people.parquet", domain=folder / "people.toml", epsilon=10,
                          neighbours="replace")  # fmt: skip
    return made.path


@pytest.fixture
def people(tmp_path, people_template):
    """A vault over 600 people with ε = 10, replace, for one test."""
    return Vault.open(shutil.copytree(people_template, tmp_path / "vault"))


@pytest.fixture
def users(people):
    """A client of one application for each of a custodian, an analyst and an auditor; more by `users(name, role)`."""
    app = create_app(people, slot=0, rate=0, deadline=None)

    @cache
    def client(name, role="analyst", quota=None, expires=None):
        token = add_user(people.path, name, role, quota=quota, expires=expires)
        return TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")

    return client


@contextmanager
def served(*vaults, options=()):
    """`discreet serve` of each, in processes of their own, on free ports of the loopback; their addresses. Without a
    deadline, as all that tests serve: a busy machine is not a bug."""
    command = [
        sys.executable,
        "-c",
        "from discreet.cli import main; main()",
        "serve",
        "--port",
        "0",
        "--deadline",
        "0",
        *options,
    ]
    environment = {**os.environ, "COLUMNS": "200"}
    with ExitStack() as stack:
        processes = []
        for vault in vaults:
            started = subprocess.Popen([*command, str(vault.path)], stdout=subprocess.PIPE, text=True, env=environment)
            processes.append(stack.enter_context(started))
            stack.callback(started.terminate)
        yield [next(line for line in process.stdout if "answers at" in line).split()[-1] for process in processes]


def finished(client, name):
    """A job that was begun, when it is over."""
    return wait_until(lambda: job if (job := client.get(f"jobs/{name}").json())["state"] != "running" else None)


def call(address, path, body=None, token=None):
    """Status and JSON of a request."""
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, data, headers), timeout=PATIENCE) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def hung_up_on(client, asked):
    """Ask without reading until every buffer is full, and the server throws the unread replies away."""
    client.settimeout(PATIENCE)
    try:
        while True:
            client.sendall(asked)
    except ConnectionError:
        return True
