"""Every question and answer has an address; whoever opens one spends nothing, and sees no more than by asking."""

import io
import json
from urllib.parse import urlencode

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from discreet.errors import QuotaExceeded
from discreet.ledger.asker import Asker
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.console.charts import line_chart
from discreet.server.console.table import BarLine

HERE = {"origin": "http://testserver"}
GROUPS = {"sql": "SELECT sex, COUNT(*) FROM people GROUP BY sex", "within": "60"}


@pytest.fixture
def enter(people):
    app = create_app(people, slot=0, rate=0, deadline=None)

    def signed_in(role, quota=None):
        client = TestClient(app, follow_redirects=False)
        token = add_user(people.path, f"{role}-{quota}", role, quota=quota)
        client.post("/login", data={"token": token}, headers=HERE)
        return client

    return signed_in


def address(fields, **more):
    return f"/ask?{urlencode({**fields, **more})}"


def test_an_address_with_a_question_that_costs_shows_its_price_and_a_button_and_spends_nothing(people, enter):
    client = enter("analyst")
    for path in (address(GROUPS), f"/ask/download?{urlencode(GROUPS)}", address(GROUPS, sure="1", chart="heat")):
        text = client.get(path).text
        assert "Answer</h2>" not in text
    assert "measured × 3" in client.get(address(GROUPS)).text
    assert client.get(f"/ask/download?{urlencode(GROUPS)}").status_code == 409
    assert people.ledger.charges == 0


def test_an_answer_is_at_the_address_of_its_question_from_then_on(people, enter):
    client, other = enter("analyst"), enter("custodian")
    asked = client.post("/ask", data={**GROUPS, "mode": "sql"}, headers=HERE).text
    charged = people.ledger.charges
    again = other.get(address(GROUPS)).text
    for label in ("F", "M"):
        assert f">{label}</th>" in asked
        assert f">{label}</th>" in again
    assert "spent nothing" in again
    assert people.ledger.charges == charged


def test_who_may_not_ask_is_shown_no_answer_by_an_address(enter):
    enter("analyst").post("/ask", data={**GROUPS, "mode": "sql"}, headers=HERE)
    auditor = enter("auditor")
    assert "Answer</h2>" not in auditor.get(address(GROUPS)).text
    assert auditor.get(f"/ask/download?{urlencode(GROUPS)}").status_code == 409


def test_a_reader_is_charged_for_nothing_whatever_is_left(people):
    reader = Asker("ana", spends=False)
    with pytest.raises(QuotaExceeded, match="spends nothing"):
        people.asked_by(reader).measure(people.count(), scale=5)
    assert people.ledger.charges == 0


def test_an_answer_is_taken_along_in_every_form(enter):
    client = enter("analyst")
    client.post("/ask", data={**GROUPS, "mode": "sql"}, headers=HERE)
    files = {
        form: client.get(f"/ask/download?{urlencode({**GROUPS, 'format': form})}")
        for form in ("csv", "parquet", "json", "png", "svg")
    }
    assert {form: reply.status_code for form, reply in files.items()} == dict.fromkeys(files, 200)
    lines = files["csv"].text.splitlines()
    assert lines[0].startswith("sex,count,count_low,count_high")
    assert pq.read_table(io.BytesIO(files["parquet"].content)).num_rows == len(lines) - 1
    assert len(json.loads(files["json"].text)["rows"]) == len(lines) - 1
    assert files["png"].content.startswith(b"\x89PNG")
    assert "<svg" in files["svg"].text
    assert client.get(f"/ask/download?{urlencode({**GROUPS, 'format': 'exe'})}").status_code == 400


def test_long_answers_are_sorted_searched_and_turned_over(enter):
    client = enter("analyst")
    ages = {"sql": "SELECT age, COUNT(*) FROM people GROUP BY age", "within": "60"}
    client.post("/ask", data={**ages, "mode": "sql"}, headers=HERE)

    def labels(**view):
        text = client.get(address(ages, **view), headers={"X-Part": "1"}).text
        return [line.split("<")[0] for line in text.split('<th scope="row">')[1:]]

    first = labels()
    assert len(first) == 100
    assert labels(sort="-age")[0] == "99"
    assert labels(find="47") == ["47"]
    assert labels(page="7") == labels(page="1")
    assert labels(sort="nothing", chart="none", page="x") == first
    by_count = client.get(address(ages, sort="-count"), headers={"X-Part": "1"}).text
    assert 'aria-sort="descending"' in by_count
    assert sorted(labels(sort="-count")) == sorted(labels(sort="count"))
    assert labels(sort="age") == [str(age) for age in range(100)]
    assert '<svg class="chart"' in client.get(address(ages, chart="line")).text


def test_a_heat_map_of_an_answer_crosses_what_cannot_be_told_from_nobody(enter):
    client = enter("analyst")
    two = {"sql": "SELECT age, sex, COUNT(*) FROM people WHERE age < 20 GROUP BY age, sex", "within": "60"}
    client.post("/ask", data={**two, "mode": "sql"}, headers=HERE)
    text = client.get(address(two, chart="heat")).text
    assert 'class="unsure"' in text


def test_who_signs_in_comes_to_the_whole_address_that_was_shared(people):
    client = TestClient(create_app(people, slot=0, rate=0, deadline=None), follow_redirects=False)
    to_login = client.get(address(GROUPS)).headers["location"]
    page = client.get(to_login).text
    token = add_user(people.path, "ana", "analyst")
    onward = page.split('name="next" value="')[1].split('"')[0].replace("&amp;", "&")
    entered = client.post("/login", data={"token": token, "next": onward}, headers=HERE)
    assert entered.headers["location"] == address(GROUPS)


def test_a_line_chart_holds_every_interval_and_ends_where_nothing_is_known():
    lines = [BarLine((str(i),), None if i == 2 else 10.0 * i, 10.0 * i - 15, 10.0 * i + 15) for i in range(5)]
    chart = line_chart("age", "count", lines)
    assert len(chart.lines) == len(chart.bands) == 2
    heights = [float(part.split()[1]) for line in chart.bands for part in line[1:-1].replace("L", "|").split("|")]
    assert all(chart.top <= height <= chart.base for height in heights)
    assert line_chart("age", "count", []) is None
