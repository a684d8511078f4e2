"""Cubes by groups of hierarchies, for whoever is not in Python: on pages, in downloads, and by a client elsewhere."""

import io
import re
import threading

import numpy as np
import pyarrow.csv
import pytest
import uvicorn
from starlette.testclient import TestClient

from discreet.client import Client
from discreet.cube.cube import Cube
from discreet.errors import UnsupportedQuery
from discreet.server.app import create_app
from discreet.server.auth import add_user
from tests.patience import wait_until


@pytest.fixture
def published(vault_of_people):
    """A vault with a cube of occupations, in groups of two levels, by sex."""
    folder = vault_of_people.path / "cubes" / "work"
    folder.parent.mkdir()
    plan = vault_of_people.cubes.plan(epsilon="0.5", dimensions=["occupation", "sex"])
    vault_of_people.cubes.publish(plan).save(folder)
    return vault_of_people


@pytest.fixture
def cube(published):
    return Cube.load(published.path / "cubes" / "work")


@pytest.fixture
def page(published):
    client = TestClient(create_app(published, slot=0, rate=0, deadline=None))
    token = add_user(published.path, "ana", "analyst")
    client.post("/login", data={"token": token}, headers={"origin": "http://testserver"})
    client.headers["authorization"] = f"Bearer {token}"
    return client


def labels_in(text):
    return re.findall(r'<th scope="row"><a href="[^"]*" data-part="#view">([^<]*)</a>', text)


@pytest.mark.parametrize(
    ("field", "named", "lines"),
    [
        ("*1", "occupation_group1", ["at work", "not at work", "(other)"]),
        ("*2", "occupation_group", ["office", "service", "manual", "learning", "without work", "(other)"]),
    ],
)
def test_a_page_shows_the_groups_of_a_level_with_an_interval_each(page, cube, field, named, lines):
    shown = page.get("/cube/work", params={"d.occupation": field, "view": "table"}).text
    assert labels_in(shown) == lines
    assert "each with its own interval at 95%" in shown
    found = cube.grouped(named)
    cells = re.findall(r'<td class="right( dim)?">([^<]*)</td>', shown)
    numbers = [float(text.replace(",", "").replace("−", "-")) for _, text in cells]
    expected = np.stack([found.sums.values, found.low.values, found.high.values], axis=1).reshape(-1)
    np.testing.assert_allclose(numbers, np.round(expected), atol=1)


def test_a_group_leads_to_those_in_it_and_the_narrowest_to_their_values(page):
    def links(field):
        shown = page.get("/cube/work", params={"d.occupation": field, "view": "table"}).text
        return re.findall(r'<th scope="row"><a href="[^"]*d.occupation=([^&"]*)', shown)

    assert links("*1") == ["%2A2", "%2A2", "15"]
    assert links("*2") == ["%2A"] * 5 + ["15"]


@pytest.mark.parametrize("field", ["*0", "*3", "*x", "*-1", "*²", "*1.5", "**", "*00001"])
def test_a_level_that_is_not_there_is_no_choice(page, field):
    shown = page.get("/cube/work", params={"d.occupation": field, "view": "table"})
    assert shown.status_code == 200
    assert labels_in(shown.text) == []


def test_a_heat_map_by_groups_says_each_interval(page):
    shown = page.get("/cube/work", params={"d.occupation": "*1", "d.sex": "*", "view": "heat"}).text
    assert "data-heat" in shown
    assert "not at work" in shown
    assert " … " in shown


def test_a_download_by_groups_has_the_numbers_of_the_page(page, cube):
    shown = page.get("/cube/work", params={"d.occupation": "*1", "d.sex": "*"}).text
    address = re.search(r'href="([^"]*/download[^"]*csv)"', shown)[1].replace("&amp;", "&")
    table = pyarrow.csv.read_csv(io.BytesIO(page.get(address).content)).to_pydict()
    found = cube.grouped("occupation_group1", "sex")
    assert table["occupation_group1"][:4] == ["at work"] * 3 + ["not at work"]
    for column, expected in (("count", found.sums), ("low", found.low), ("high", found.high)):
        assert table[column] == pytest.approx(expected.values.reshape(-1).tolist())


def test_a_client_elsewhere_has_the_sums_of_the_cube(published, cube):
    server = uvicorn.Server(
        uvicorn.Config(create_app(published, slot=0, rate=0, deadline=None), port=0, log_level="warning")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        token = add_user(published.path, "kim", "analyst")
        remote = Client(f"http://127.0.0.1:{port}", token).cubes.open("work")
        found, own = (
            remote.grouped("occupation_group", "sex", confidence=0.9),
            cube.grouped("occupation_group", "sex", confidence=0.9),
        )
        for part in ("sums", "low", "high", "variance"):
            assert getattr(found, part).equals(getattr(own, part))
        women = remote.slice(sex="F").grouped("occupation_group1").sums
        assert women.equals(cube.slice(sex="F").grouped("occupation_group1").sums)
        with pytest.raises(UnsupportedQuery, match="did you mean occupation_group"):
            remote.grouped("ocupation_group")
    finally:
        server.should_exit = True
        thread.join()
